"""The journal of a document: one line for each revision, only ever added to.

A line that is on the disk is the commit of its revision; what was not written
to its end never happened. Lines are read from the end, so what a command
costs does not grow with the age of a document; all of them are read only for
texts and operations of the past.

Source: XC-001, C0-078, OP-013, `store.md` sections 2, 5 and 9.
"""

from __future__ import annotations

import os
import stat

from council.core import quick_json as json
from council.core.digests import sha256_hex
from council.core.errors import InvalidStateError, NotFoundError
from council.core.record import Record
from council.store import files
from council.store.documents import lines
from council.store.documents.lines import Line, with_hole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FILE = "revisions.jsonl"
_TAIL_BYTES = 16 * 1024


class Tail(Record):
    """The last good line, and what lies after it in the file, which is torn and of no meaning.

    `batch` holds the lines that went to the disk in one sync with it, itself included.
    """

    line: Line
    batch: list[Line]
    torn: bytes = b""

    @property
    def head(self) -> dict[str, Any]:
        """The head of the line."""
        return self.line.head

    @property
    def end(self) -> int:
        """Where the line ends in the file."""
        return self.line.end


def read_tail(path: str) -> Tail | None:
    """Return the last good line, None when there is no journal or no good line in it.

    Raises:
        CouncilError: The system refuses, or something else lies in its place.
    """
    with files.explaining("read", path):
        try:
            descriptor = _opened(path, os.O_RDONLY)
        except FileNotFoundError:
            return _first_version(path)
        try:
            size = os.fstat(descriptor).st_size
            span = _TAIL_BYTES
            while True:
                start = max(0, size - span)
                block = os.pread(descriptor, size - start, start)
                found = last_good(block, start)
                if found is not None or start == 0:
                    return found
                span *= 8
        finally:
            os.close(descriptor)


def _first_version(path: str) -> Tail | None:
    """Return what a journal of version 1 says last; the next command that writes brings it over."""
    if not os.path.lexists(f"{os.path.dirname(path)}/journal.jsonl"):
        return None
    from council.store.documents import version_one

    return last_good(version_one.content(os.path.dirname(path), last_alone=True), 0)


def last_good(block: bytes, offset: int) -> Tail | None:
    """Find the last good line in a block that begins `offset` bytes into the file."""
    end = block.rfind(b"\n") + 1
    while end > 0:
        start = block.rfind(b"\n", 0, end - 1) + 1
        if start == 0 and offset > 0:
            return None  # it may begin before this block
        batch = _batch(block, start, end, offset)
        if batch is None:
            return None
        if batch:
            return Tail(line=batch[-1], batch=batch, torn=block[end:])
        end = start
    return None


def _batch(block: bytes, start: int, end: int, offset: int) -> list[Line] | None:
    """Return a line and those before it that shared its sync, none if not all of them are good.

    A disk may bring a later line to lie before an earlier one. None if they begin before the block.
    """
    found: list[Line] = []
    while True:
        line = lines.decode(block[start : end - 1], offset + start)
        if line is None or (found and line.sum != found[0].head["parent"]):
            return []
        found.insert(0, line)
        if len(found) > found[-1].head.get("batch", 0) or offset + start == 0:
            return found
        end, start = start, block.rfind(b"\n", 0, max(0, start - 1)) + 1
        if start == 0 and offset > 0:
            return None


def append(path: str, end: int, data: bytes, again: int = 0) -> None:
    """Write lines at `end` and bring them to the disk: from here on they are committed.

    This is the one place at which a revision of anything becomes one. When it
    fails, the journal is cut back to `end` and the lines never were.

    Args:
        path: The journal.
        end: Where its last line ends.
        data: The lines.
        again: How many bytes before `end` are written once more in their place: lines
            whose writer died before anybody knew that they are on the disk. After a
            failed sync a kernel may hold pages for clean that never reached it.

    Raises:
        OSError: The system refuses.
    """
    descriptor = _opened(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            if os.fstat(descriptor).st_size != end:
                os.ftruncate(descriptor, end)
            data = os.pread(descriptor, again, end - again) + data
            files.write_all(descriptor, data, end - again)
            files.sync_data(descriptor)
        except OSError as error:
            _cut(descriptor, end)
            error.filename = path
            raise
        except BaseException:
            _cut(descriptor, end)
            raise
    finally:
        os.close(descriptor)
    if not end:
        files.sync_folder(os.path.dirname(path))  # the file has just been made


def _cut(descriptor: int, end: int) -> None:
    try:
        os.ftruncate(descriptor, end)
    except OSError:
        return  # the line stays; its writer reports a failure and a retry finds it


def fold(path: str, most_bytes: int) -> None:
    """Drop the oldest lines of a journal, up to a whole text, where that makes it short enough.

    Raises:
        CouncilError: The system refuses; the journal is untouched.
    """
    found = list(read(path))
    first = next((one for one in reversed(found) if lines.is_whole(one.body)), None)
    if first is not None and first.start and found[-1].end - first.start <= most_bytes:
        files.replace(path, _content(path)[first.start : found[-1].end], mode=0o600)


def thinned(path: str, name: str, kept: set[int]) -> None:
    """Take texts and patches out of a journal; the heads stay, and a named hole for each.

    Args:
        path: The journal.
        name: Why they are gone.
        kept: The revisions of which the text stays, whole.

    Raises:
        CouncilError: The system refuses; the journal is untouched.
    """
    past = Past(path)
    last = {line.head["rev"]: at for at, line in enumerate(past.lines)}
    data = [
        with_hole(line, name, past.known_text(at) if last[line.head["rev"]] == at else None)
        if line.head["rev"] in kept
        else with_hole(line, name)
        for at, line in enumerate(past.lines)
    ]
    files.replace(path, b"".join(data), mode=0o600)


def read(path: str) -> Iterator[Line]:
    """Yield every good line, oldest first; a missing journal has none.

    Raises:
        OSError: The system refuses.
    """
    content, at = _content(path), 0
    while (end := content.find(b"\n", at)) >= 0:
        line = lines.decode(content[at:end], at)
        if line is not None:
            yield line
        at = end + 1


def records(path: str) -> Iterator[dict[str, Any]]:
    """Yield the head of every good line, oldest first.

    Raises:
        OSError: The system refuses.
    """
    return (line.head for line in read(path))


def find_operation(path: str, op_id: str) -> dict[str, Any] | None:
    """Return the head of the line that an operation left, None when it is not in the journal."""
    wanted = b'"op":' + json.dumps(op_id, ensure_ascii=False).encode()
    content = _content(path)
    at = content.rfind(wanted)
    while at >= 0:
        start = content.rfind(b"\n", 0, at) + 1
        end = content.find(b"\n", at)
        line = lines.decode(content[start:end]) if end >= 0 else None
        if line is not None and line.head.get("op") == op_id:
            return line.head
        at = content.rfind(wanted, 0, start)
    return None


class Past:
    """The texts that a document had, as far as they are wanted, and what was taken in.

    Args:
        path: Its journal, which is read when something is asked for.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lines: list[Line] | None = None

    @property
    def lines(self) -> list[Line]:
        """All good lines, oldest first."""
        if self._lines is None:
            with files.explaining("read", self._path):
                self._lines = list(read(self._path))
        return self._lines

    def knows(self, digest: str) -> bool:
        """Return true if a text was a revision, or was saved by somebody and taken in."""
        return any(digest in (one.head["digest"], one.head.get("seen")) for one in self.lines)

    def text(self, digest: str) -> bytes:
        """Return the text of the last revision that has this digest.

        Raises:
            NotFoundError: There is none, or it was taken out.
            InvalidStateError: The journal does not give what it says.
        """
        for at in range(len(self.lines) - 1, -1, -1):
            if self.lines[at].head["digest"] == digest:
                return self.text_at(at)
        raise NotFoundError(f"no text {digest} in {self._path}", "see: council history")

    def text_at(self, at: int) -> bytes:
        """Return the text after a line, by its place among `lines`.

        Raises:
            NotFoundError: It was taken out.
            InvalidStateError: The journal does not give what it says.
        """
        first = at
        while first > 0 and not lines.is_whole(self.lines[first].body):
            first -= 1
        text: bytes | None = None
        for line in self.lines[first : at + 1]:
            try:
                text = lines.text_after(text, line.change)
            except (ValueError, TypeError) as error:
                raise self._damaged(line, str(error)) from None
        last = self.lines[at]
        if text is None:
            raise NotFoundError(
                f"the text of revision {last.head['rev']} was taken out", "see: council history"
            )
        if sha256_hex(text) != last.head["digest"]:
            raise self._damaged(last, "it is not what was written")
        return text

    def known_text(self, at: int) -> bytes | None:
        """Return what `text_at` does, None where it was taken out."""
        try:
            return self.text_at(at)
        except NotFoundError:
            return None

    def saved(self, digest: str) -> bytes | None:
        """Return a text that somebody saved and that was taken in, None where it is not kept."""
        for at in range(len(self.lines) - 1, 0, -1):
            if self.lines[at].head.get("seen") == digest:
                return lines.saved_text(self.known_text(at - 1), self.lines[at].change)
        return None

    def _damaged(self, line: Line, why: str) -> InvalidStateError:
        return InvalidStateError(
            f"{self._path}: revision {line.head['rev']} cannot be read: {why}",
            "restore it from a backup, or take the file as it stands: council adopt",
        )


def _opened(path: str, flags: int) -> int:
    """Open the journal; anything but a regular file is refused at once.

    Raises:
        OSError: The system refuses.
        InvalidStateError: It is a pipe, a device or a folder.
    """
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InvalidStateError(
            f"{path} is not a regular file", "remove it: the conversation goes on from its file"
        )
    return descriptor


def _content(path: str) -> bytes:
    try:
        descriptor = _opened(path, os.O_RDONLY)
    except FileNotFoundError:
        if not os.path.lexists(f"{os.path.dirname(path)}/journal.jsonl"):
            return b""
        from council.store.documents import version_one

        return version_one.content(os.path.dirname(path))
    try:
        return files.read_all(descriptor, os.fstat(descriptor).st_size)
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(descriptor)
