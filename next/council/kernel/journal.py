"""The journal of a document: one JSON line a revision, appended under the document's lock.

The line is the commit: once it is synced, it counts. `prev` is the digest of the line before, so
a changed line is found. A journal is one file, or several segments of which each later one begins
with the state (`journal.jsonl`, `journal-REV.jsonl`); the one with the highest number grows.
Bytes after the last newline never were a line: a program or machine died while it wrote them.
"""

from __future__ import annotations

import os
import time

from council.kernel import codec, files
from council.kernel.errors import Invalid
from council.kernel.ids import digest
from council.kernel.record import TYPE_CHECKING, Any, Record

if TYPE_CHECKING:
    from collections.abc import Callable

Event = dict[str, Any]
SEGMENT = "segment"  # `via` of a line that begins a segment and says again what was before
_LARGE = 1 << 20
_WRITTEN_S = 120  # by then the system has written what nobody synced


class Line(Record):
    """A revision.

    Attributes:
        rev: Its number; from 1, or from that of an adopted page.
        mark: 32 hex digits drawn for it, since two clones can both have a revision 3.
        op: A key that makes a repetition count once; may be empty.
        at: When, as text.
        by: An agent's or a person's id, or `external`.
        via: `cli`, `http`, `mcp`, `heartbeat`, `edit`, `render`, `segment`.
        events: What happened.
        prev: The digest of the line before, "" for the first.
        page: The digest of the page made from it, "" where there is none.
        was: The digest that the line had before words were taken out of it.
    """

    rev: int
    mark: str
    op: str
    at: str
    by: str
    via: str
    events: list[Event]
    prev: str
    page: str
    was: str = ""


_USUAL = set(Line._kinds) - {"was"}


class Moved(Exception):  # noqa: N818 - not an error: decide again
    """Another revision was appended since the journal was read."""


class Journal:
    """The journal files in a document's folder.

    Attributes:
        weight: Bytes behind the last line that holds the state.
    """

    def __init__(self, folder: str) -> None:
        self._folder, self.weight = folder, 0
        self._path, self._end, self._last, self._count = f"{folder}/journal.jsonl", 0, "", 0

    def read(self, upto: int | None = None) -> list[Line]:
        """Return the lines of the newest segment, or of the one with revision `upto`.

        Raises:
            Invalid: A line in the middle is damaged (`damaged-journal`).
        """
        segments = self._segments()
        if upto is None:
            return self._newest(segments[-1:])
        first = sum(start <= upto for start, _ in segments[1:])
        for _, path in segments[first : first + 1]:
            return _parsed(path, _lines_of(path))[0]
        return []

    def history(self) -> list[Line]:
        """Return all lines that say something new, of all segments, oldest first."""
        lines: list[Line] = []
        last = ""
        for _, path in self._segments():
            more, last = _parsed(path, _lines_of(path), last)
            lines += [line for line in more if not (lines and line.via == SEGMENT)]
        return lines

    def is_begun(self) -> bool:
        """Return whether there is a line."""
        return any(_lines_of(path) for _, path in self._segments())

    def is_long(self) -> bool:
        """Return whether there are older segments."""
        return len(self._segments()) > 1

    def _segments(self) -> list[tuple[int, str]]:
        names = [n for n in files.names(self._folder) if n[:7] == "journal" and n[-6:] == ".jsonl"]
        numbers = [(int(n[8:-6] or 0) if n[7] == "-" else 0, f"{self._folder}/{n}") for n in names]
        return sorted(numbers)

    def _newest(self, segments: list[tuple[int, str]]) -> list[Line]:
        self._path = segments[0][1] if segments else f"{self._folder}/journal.jsonl"
        data = _lines_of(self._path) if segments else b""
        lines, self._last = _parsed(self._path, data)
        self._end, self._count = len(data), len(lines)
        restated = data.index(b"\n") + 1 if lines and lines[0].via == SEGMENT else 0
        self.weight = len(data) - restated
        return lines

    def append(self, expected: int, line: Line) -> None:
        """Add a line durably; `prev` is set here. The caller holds the lock and has read.

        Args:
            expected: The revision that the line follows; 0 for the first.
            line: The revision.

        Raises:
            Moved: Another line was added meanwhile.
            OSError: The system refuses; the line was not added.
        """
        line.prev = self._last
        data = codec.encoded(_row(line)) + b"\n"
        descriptor = os.open(
            self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            size = os.fstat(descriptor).st_size
            rest = os.pread(descriptor, max(0, size - self._end), self._end)
            if size < self._end or _whole(rest):
                raise Moved
            if size > self._end:
                os.ftruncate(descriptor, self._end)
            try:
                files.write_all(descriptor, data, self._end)
                files.sync(descriptor)
            except OSError:
                os.ftruncate(descriptor, self._end)
                raise
        finally:
            os.close(descriptor)
        if self._count < 2:  # twice: whoever made the file may have died before this
            files.sync_folders(self._folder)
        self._end, self._last = self._end + len(data), digest(data[:-1])
        self.weight, self._count = self.weight + len(data), self._count + 1

    def begin(self, line: Line) -> None:
        """Begin a segment with a line that says the last revision again, and holds the state."""
        self.sync()
        line.prev = self._last
        data = codec.encoded(_row(line)) + b"\n"
        path = f"{self._folder}/journal-{line.rev}.jsonl"
        new = f"{self._folder}/segment.new"
        files.fill(new, data, 0o600, durable=True)
        os.rename(new, path)
        files.sync_folder(self._folder)
        self._path, self._end, self._last = path, len(data), digest(data[:-1])
        self.weight, self._count = 0, 2

    def sync(self) -> None:
        """Sync the last line: its program may have died before it did. Older ones are by now."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if abs(time.time() - os.fstat(descriptor).st_mtime) > _WRITTEN_S:
                return
            files.sync(descriptor)
        finally:
            os.close(descriptor)
        if self._count < 2:
            files.sync_folders(self._folder)

    def find(self, key: str, value: str) -> Line | None:
        """Return the first line with this `op` or `page`, of all segments."""
        needle = codec.encoded({key: value})[1:-1]
        for _, path in self._segments():
            data = _lines_of(path)
            at = data.find(needle)
            if at >= 0:
                start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
                return _line(codec.loads(data[start:end], path))
        return None

    def redact(self, select: Callable[[Event], Event | None]) -> int:
        """Take words out of lines; return how many lines changed.

        Args:
            select: Returns an event without the words, None where there is nothing to take out.
                It also gets the events `adopted`, which hold a whole state.
        """
        count = 0
        for _, path in self._segments():
            rows, changed = [], 0
            for raw in _lines_of(path).splitlines(keepends=True):
                line = _line(codec.loads(raw, path))
                events = [select(event) or event for event in line.events]
                if events != line.events:
                    line.was, line.events = line.was or digest(raw[:-1]), events
                    raw, changed = codec.encoded(_row(line)) + b"\n", changed + 1
                rows.append(raw)
            if changed:
                new = f"{self._folder}/segment.new"
                files.fill(new, b"".join(rows), 0o600, durable=True)
                os.rename(new, path)
                files.sync_folder(self._folder)
            count += changed
        return count


def _row(line: Line) -> Event:
    row = line.to_json()
    if not line.was:
        del row["was"]
    return row


def _line(row: Any) -> Line:
    if row.__class__ is not dict or row.keys() != _USUAL:
        return Line.from_json(row)
    line = object.__new__(Line)  # thousands are read: the dict is the record
    row["was"], row["extra"] = "", {}
    line.__dict__ = row
    return line


def _lines_of(path: str) -> bytes:
    seen = files.read(path, most=1 << 40)
    return _whole(seen.data) if seen else b""


def _whole(data: bytes) -> bytes:
    """Return bytes without a torn end: what is behind the last newline, or a line with zeros."""
    data = data[: data.rfind(b"\n") + 1]
    last = data.rfind(b"\n", 0, -1) + 1
    return data[:last] if b"\0" in data[last:] else data


def _parsed(path: str, data: bytes, last: str = "") -> tuple[list[Line], str]:
    """Return the lines of a segment and the digest of its last line; check the chain.

    Args:
        path: For errors.
        data: Whole lines. They are parsed in one call, and one by one only to name a bad one.
        last: The digest of the line before, where it is known.
    """
    raws, lines = data.split(b"\n")[:-1], []
    try:
        rows = codec.loads(b"[" + data[:-1].replace(b"\n", b",") + b"]")
    except Invalid:
        rows = []
    hashed = digest
    if len(data) > _LARGE:
        import hashlib  # late: its start costs more than it saves with less

        def hashed(data: bytes | str) -> str:
            return hashlib.sha256(data).hexdigest()  # type: ignore[arg-type]

    for number, raw in enumerate(raws, 1):
        try:
            line = _line(rows[number - 1] if len(rows) == len(raws) else codec.loads(raw))
        except Invalid as error:
            raise _damage(path, number, error.message) from None
        if line.prev != last and (last or number > 1):
            raise _damage(path, number, "it does not follow the line before")
        last = line.was or hashed(raw)
        lines.append(line)
    return lines, last


def _damage(path: str, number: int, what: str) -> Invalid:
    return Invalid(
        "damaged-journal",
        f"{path}: line {number} is damaged: {what}",
        "nothing is written until it is repaired: see `council doctor`, or restore a copy",
    )
