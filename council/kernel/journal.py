"""The journal of a document: one JSON line a revision, appended under the document's lock.

The line is the commit: once it is synced, it counts. `prev` is the digest of the line before, so
a changed line is noticed. Later segments begin with the state (`journal.jsonl`, then
`journal-REV.jsonl`); the newest one grows. Bytes after the last newline never were a line: they
are what a program or a machine wrote when it died.
"""

from __future__ import annotations

import os
import time
from _collections_abc import Callable, Iterator  # `collections` is slow to import

from council.kernel import codec, files
from council.kernel.errors import Invalid
from council.kernel.ids import digest
from council.kernel.record import Any, Record

Event = dict[str, Any]
DAMAGED = "restore that file, or move it away to begin again, with what a page shows"
SEGMENT = "segment"  # `via` of a line that begins a segment and repeats the revision before
_AT_ONCE = 1 << 15  # bytes that are parsed in one call, with the line at their end
_APPEND = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Line(Record):
    """A revision."""

    rev: int
    mark: str  # 32 hex digits drawn for it, since two clones can both have a revision 3
    op: str  # a key that makes a repetition count once; may be empty
    at: str
    by: str  # an agent's or a person's id, or `external`
    via: str  # `cli`, `http`, `mcp`, `heartbeat`, `edit`, `adopt`, `render` or `segment`
    events: list[Any] = []
    prev: str = ""  # the digest of the line before, "" for the first
    page: str = ""  # the digest of the page made from it, "" if there is none
    was: str = ""  # the digest that the line had before words were removed from it


_USUAL = set(Line._kinds) - {"was"}


class Moved(Exception):  # noqa: N818 - not an error: read and decide again
    """Another revision was appended since the journal was read."""


class Journal:
    """The journal files of a folder.

    `weight` is the newest one's bytes since its state, `last` the digest of the last line.
    """

    def __init__(self, folder: str) -> None:
        self._folder, self.weight = folder, 0
        self._path, self._end, self.last, self._count = f"{folder}/journal.jsonl", 0, "", 0
        self._returns = False

    def fetch(self) -> None:
        """Fetch what other machines recorded: without an engine there are none."""

    def segments(self) -> list[str]:
        """Return the paths of the segments, oldest first."""
        names = [n for n in files.names(self._folder) if n[:7] == "journal" and n[-6:] == ".jsonl"]
        names = [n for n in names if n == "journal.jsonl" or n[8:-6].isdecimal()]
        return [f"{self._folder}/{n}" for n in sorted(names, key=lambda n: (len(n), n))]

    def is_begun(self) -> bool:
        """Return whether there is a whole line; text after the last line end never was."""
        return any(b"\n" in _bytes_of(path) for path in self.segments()[:1])

    def stamp(self) -> tuple[Any, ...]:
        """Return what changes with the newest segment: its path, inode, size and times."""
        for path in self.segments()[-1:]:
            facts = os.stat(path)
            return path, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
        return ()

    def read(self, upto: int | None = None) -> list[Line]:
        """Return the lines of the newest segment, or those up to a revision of its segment."""
        segments = self.segments()
        if upto is not None and segments:
            path = segments[sum(int(path.split("-")[-1][:-6]) <= upto for path in segments[1:])]
            return [line for line in _parsed(path, _lines_of(path))[0] if line.rev <= upto]
        self._path = segments[-1] if segments else f"{self._folder}/journal.jsonl"
        raw = _bytes_of(self._path)
        data, self._returns = _whole(raw), b"\r\n" in raw
        lines, self.last = _parsed(self._path, data)
        self._end, self._count = len(data), len(lines)
        repeated = data.index(b"\n") + 1 if lines and lines[0].via == SEGMENT else 0
        self.weight = len(data) - repeated
        return lines

    def history(self) -> list[Line]:
        """Return all revisions, each once, oldest first."""
        lines: list[Line] = []
        last = ""
        for path in self.segments():
            more, last = _parsed(path, _lines_of(path), last)
            lines += [line for line in more if line.via != SEGMENT or not lines]
        return lines

    def append(self, line: Line, data: bytes = b"") -> tuple[Any, ...]:
        """Add a line durably, with its `prev`; one that begins a segment is the first of a file.

        The caller has the lock and has read. `data`: the bytes of a line that counts already.
        Return the stamp of what is known then; () where others may have added more. If another
        line was added meanwhile: Moved. After an OSError the line was not added.
        """
        if not data:
            line.prev = self.last
            data = row_of(line)
        elif line.prev != self.last:
            raise Moved
        if line.via == SEGMENT:
            self.sync()
            self._path = f"{self._folder}/journal-{line.rev}.jsonl"
            self._write(self._path, data)
            self._end, self.weight, self._count = len(data), 0, 1
        else:
            self._add(data)
        self.last = line.was or digest(data[:-1])
        return self.stamp()

    def _add(self, data: bytes) -> None:
        if self._returns:  # a tool changed the line ends; what was read is written again
            self._write(self._path, _lines_of(self._path))
            self._returns = False
        descriptor = os.open(self._path, _APPEND, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if size < self._end or _whole(os.pread(descriptor, size - self._end, self._end)):
                raise Moved
            try:
                if size > self._end:
                    os.ftruncate(descriptor, self._end)
                files.write_all(descriptor, data, self._end)
                files.sync(descriptor)
            except OSError:
                os.ftruncate(descriptor, self._end)
                raise
        finally:
            os.close(descriptor)
        self._end, self.weight = self._end + len(data), self.weight + len(data)
        self._count += 1
        self._sync_names()

    def _write(self, path: str, data: bytes) -> None:
        files.replace(path, data, 0o600, durable=True, by=f"{self._folder}/segment.new")

    def move(self, folder: str, page: str) -> None:  # noqa: ARG002 - other machines have one
        """Move the document's folder: it is closed. `page` was the path of its page."""
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.rename(self._folder, folder)
        files.sync_folders(os.path.dirname(folder))
        files.sync_folder(os.path.dirname(self._folder))

    def sync(self) -> None:
        """Sync the last line: its program may have died before it did."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if abs(time.time() - os.fstat(descriptor).st_mtime) < 120:  # the system does it in 30 s
                files.sync(descriptor)
                self._sync_names()
        finally:
            os.close(descriptor)

    def _sync_names(self) -> None:
        if self._count < 3:  # not only for the first line: its program may have died before it
            files.sync_folders(self._folder)

    def find(self, key: str, value: str) -> Line | None:
        """Return the first line with this `op` or `page`, of all segments."""
        needle = codec.encoded({key: value})[1:-1]
        for path in self.segments():
            data = _lines_of(path)
            at = data.find(needle)
            if at >= 0:
                return line_of(data[data.rfind(b"\n", 0, at) + 1 : data.find(b"\n", at)])
        return None

    def redact(self, select: Callable[[Event], Event | None]) -> int:
        """Replace events by what `select` returns, if not None; return how many lines changed.

        A line keeps, as `was`, the digest that the next one names.
        """
        changed = {}
        for first, raw in self.raws():
            line = line_of(raw)
            events = [select(event) or event for event in line.events]
            if events != line.events:
                line.was, line.events = first, events
                changed[first] = row_of(line)
        if changed:
            self._replace(changed)
        return len(changed)

    def _replace(self, changed: dict[str, bytes]) -> None:
        """Replace lines, named by the digests that they had first."""
        self.restore([changed.get(first, raw) for first, raw in self.raws()])

    def restore(self, rows: list[bytes]) -> None:
        """Make the files of what all lines are, oldest first."""
        made: dict[str, bytearray] = {}
        path = f"{self._folder}/journal.jsonl"
        for row in rows:
            if made and (line := line_of(row)).via == SEGMENT:
                path = f"{self._folder}/journal-{line.rev}.jsonl"
            made.setdefault(path, bytearray()).extend(row)
        for path, data in made.items():
            if data != _lines_of(path):
                self._write(path, bytes(data))
        for path in [one for one in self.segments() if one not in made]:
            files.remove(path)

    def raws(self) -> Iterator[tuple[str, bytes]]:
        """Yield the digest that each line of all segments had first, and its bytes."""
        for path in self.segments():
            for raw in _lines_of(path).splitlines(keepends=True):
                yield line_of(raw).was or digest(raw[:-1]), raw


def row_of(line: Line) -> bytes:
    """Return a line as its bytes in a file."""
    row = line.to_json()
    if not line.was:
        del row["was"]
    return codec.encoded(row) + b"\n"


def line_of(row: Any) -> Line:
    """Return the line of such bytes, or of their JSON."""
    if row.__class__ is bytes:
        row = codec.loads(row)
    if row.__class__ is not dict or row.keys() != _USUAL:
        return Line.from_json(row)
    row["was"], row["extra"] = "", {}
    line = object.__new__(Line)  # thousands are read: the dict becomes the record
    line.__dict__ = row
    return line


def _bytes_of(path: str) -> bytes:
    found = files.read(path, most=1 << 40)
    return found[0] if found else b""


def _lines_of(path: str) -> bytes:
    return _whole(_bytes_of(path))


def _whole(data: bytes) -> bytes:
    """Return bytes without a torn end: what follows the last newline, and a last line of zeros."""
    data = data[: data.rfind(b"\n") + 1].replace(b"\r\n", b"\n")
    last = data.rfind(b"\n", 0, -1) + 1
    return data[:last] if b"\0" in data[last:] else data


def _parsed(path: str, data: bytes, last: str = "") -> tuple[list[Line], str]:
    """Return the lines of a segment and the digest of the last one; `last` is of the one before.

    Many are parsed in one call, and one by one only to name a bad line.
    """
    lines: list[Line] = []
    at = 0
    while at < len(data):
        end = data.find(b"\n", at + _AT_ONCE) if at + _AT_ONCE < len(data) else len(data) - 1
        part, at = data[at:end], end + 1
        raws = part.split(b"\n")
        try:
            rows = codec.loads(b"[%b]" % part.replace(b"\n", b","))
        except Invalid:
            rows = []
        for raw, row in zip(raws, rows if len(rows) == len(raws) else raws, strict=True):
            try:
                line = line_of(row)
                if line.prev != last and (last or lines or path.endswith("/journal.jsonl")):
                    raise Invalid("", "it does not follow the line before")
            except Invalid as error:
                message = f"{path}: line {len(lines) + 1} is damaged: {error.message}"
                raise Invalid("damaged-journal", message, DAMAGED) from None
            last = line.was or digest(raw)
            lines.append(line)
    return lines, last
