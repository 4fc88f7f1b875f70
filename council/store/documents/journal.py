"""The journal of a document: one line for each revision, only ever added to.

A line that is on the disk is the commit of its revision; what was not written
to its end never happened. Lines are read from the end, so what a command
costs does not grow with the age of a document; all of them are read only for
texts and operations of the past.

Source: XC-001, C0-078, OP-013, `store.md` sections 2, 5 and 9.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence

from council.core.errors import InvalidStateError, NotFoundError, StorageError
from council.core.ids import sha256_hex
from council.core.record import Any, Record
from council.store import files, lock
from council.store.documents import lines
from council.store.documents.lines import Line, with_hole

FILE = "revisions.jsonl"
# How journals are called that are kept until what another machine purged is taken out here.
BEFORE_PURGE = "before-purge-"
_TAIL_BYTES = 16 * 1024
_FOLD_BYTES = 64 * 1024
_SHARED = "the engine has recorded it; once it can be written here: council engine pull"


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
            descriptor = files.open_regular(path)
        except FileNotFoundError:
            return last_good(_first_version(path, last_alone=True), 0)
        with files.closing(descriptor):
            size = os.fstat(descriptor).st_size
            span = _TAIL_BYTES
            while True:
                start = max(0, size - span)
                block = os.pread(descriptor, size - start, start)
                found = last_good(block, start)
                if found is not None or start == 0:
                    return found
                span *= 8


def _first_version(path: str, *, last_alone: bool = False) -> bytes:
    """Return a journal of version 1; the next command that writes brings it over."""
    folder = os.path.dirname(path)
    if not os.path.lexists(f"{folder}/journal.jsonl"):
        return b""
    from council.store.documents import version_one

    return version_one.content(folder, last_alone=last_alone)


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


def append(
    path: str, end: int, data: bytes, again: int = 0, sealed: Sequence[tuple[str, bytes]] = ()
) -> None:
    """Commit lines: they are on the disk then, at `end`, and before that with the engine, if any.

    This is the one place at which a revision of anything becomes one. When it
    fails, the journal is cut back to `end` and the lines never were, unless an engine has them:
    then the next process that takes the lock brings them.

    Args:
        path: The journal.
        end: Where its last line ends.
        data: The lines.
        again: How many bytes before `end` are written once more in their place: lines
            whose writer died before anybody knew that they are on the disk. After a
            failed sync a kernel may hold pages for clean that never reached it.
        sealed: The sealed texts that the lines name, by digest, which the engine gets with them.

    Raises:
        OSError: The system refuses.
        StorageError: It does, and the engine has the lines.
        CouncilError: The engine refuses, or is not reached.
    """
    is_shared = share(path, data, sealed)
    try:
        add(path, end, data, again)
    except OSError as error:
        if is_shared:
            raise StorageError(files.explained(error, "write", path).message, _SHARED) from None
        raise


def share(path: str, data: bytes, sealed: Sequence[tuple[str, bytes]] = ()) -> bool:
    """Commit lines, and the sealed texts they name, with the engine; return false without one.

    Raises:
        CouncilError: It refuses, or is not reached.
    """
    engine = lock.engine_of(path) if data else None
    if engine is None:
        return False
    engine.commit(path, data, sealed)
    return True


def add(path: str, end: int, data: bytes, again: int = 0) -> None:
    """Do what `append` does, here alone."""
    descriptor = files.regular(files.opened(path, os.O_RDWR | os.O_NONBLOCK, 0o600), path)
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


def is_long(end: int, text: bytes) -> bool:
    """Return true if a journal of `end` bytes is to be made shorter, by the text that stands."""
    return end > max(_FOLD_BYTES, 4 * len(text))


def fold(path: str, end: int, text: bytes) -> None:
    """Drop the oldest lines of a long journal, up to a whole text, where that halves it.

    Raises:
        CouncilError: The system refuses; the journal is untouched.
    """
    found = list(read(path)) if is_long(end, text) else []
    first = next((one for one in reversed(found) if lines.is_whole(one.body)), None)
    if first is not None and first.start and found[-1].end - first.start <= end // 2:
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

    def thin(at: int, line: Line) -> bytes:
        is_last = last[line.head["rev"]] == at
        text = past.known_text(at) if is_last and line.head["rev"] in kept else None
        return lines.written(line) if lines.is_bare(line.body) else with_hole(line, name, text)

    data = [thin(at, line) for at, line in enumerate(past.lines)]
    files.replace(path, b"".join(data), mode=0o600)


def taken_out(
    path: str,
    name: str,
    holds: Callable[[bytes], bool],
    headed: Callable[[dict[str, Any]], dict[str, Any]],
) -> int:
    """Take every body out of a journal that holds something; a named hole stays for each.

    The texts that do not hold it can still be had, and the lines name each other as before.

    Args:
        path: The journal.
        name: Why they are gone.
        holds: Returns true of a text that must go.
        headed: Returns what is to change in a head.

    Returns:
        How many bodies were taken out.

    Raises:
        CouncilError: The system refuses; the journal is untouched.
    """
    data, count = without(Past(path), name, holds, headed)
    files.replace(path, b"".join(data), mode=0o600)
    return count


def without(
    past: Past,
    name: str,
    holds: Callable[[bytes], bool],
    headed: Callable[[dict[str, Any]], dict[str, Any]],
) -> tuple[list[bytes], int]:
    """Return the lines that `taken_out` leaves, and how many bodies are taken out."""
    data: list[bytes] = []
    before: bytes | None = None
    sums: dict[str, str] = {}
    count, is_cut = 0, False
    for line, text in past.texts():
        found = [one for one in (text, lines.saved_text(before, line.change)) if one is not None]
        if text is None and not lines.is_bare(line.body):
            found.append(line.body)
        parent = line.head["parent"]
        made = lines.headed(line, parent=sums.get(parent, parent), **headed(line.head))
        sums[line.sum] = made.sum
        if any(map(holds, found)):
            data.append(with_hole(made, name))
            count, is_cut = count + 1, True
        elif is_cut and not lines.is_whole(line.body):
            data.append(with_hole(made, name, text))
            is_cut = text is None
        else:
            data.append(lines.written(made))
            is_cut = False
        before = text
    return data, count


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


def last_text(path: str) -> tuple[Tail, bytes] | None:
    """Return the last line and the text after it, from no more lines than it takes.

    A line that was not written to its end never was, and what a power cut
    leaves of one, zeros, is none either.

    Returns:
        Nothing where there is no journal.

    Raises:
        ValueError: The journal does not give a text; also TypeError and LookupError.
        OSError: The system refuses.
    """
    content = _bytes_in(path)
    if content is None:
        return None
    tail = last_good(content, 0)
    if tail is None or (b"\n" in tail.torn and b"\0" not in tail.torn):
        raise ValueError("ends with a line that is not what was written")
    needed = [tail.line]
    while not lines.is_whole(needed[-1].body):
        before = last_good(content[: needed[-1].start], 0)
        if before is None:
            raise ValueError("holds no whole text")
        needed.append(before.line)
    text: bytes | None = None
    for line in reversed(needed):
        text = lines.text_after(text, line.change)
    if text is None or sha256_hex(text) != tail.head["digest"]:
        raise ValueError("is not what was written")
    return tail, text


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
        known: Its lines, where they come from elsewhere.
    """

    def __init__(self, path: str, known: list[Line] | None = None) -> None:
        self._path = path
        self._lines = known

    @property
    def lines(self) -> list[Line]:
        """All good lines, oldest first."""
        if self._lines is None:
            with files.explaining("read", self._path):
                self._lines = list(read(self._path))
        return self._lines

    def knows(self, digest: str) -> bool:
        """Return true if a text was a revision, or was saved by a person and taken in."""
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
        last, text = self.lines[at], None
        for _, found in self.texts(first, at + 1):
            text = found
        if text is None:
            raise NotFoundError(
                f"the text of revision {last.head['rev']} was taken out", "see: council history"
            )
        if sha256_hex(text) != last.head["digest"]:
            raise self._damaged(last, "it is not what was written")
        return text

    def texts(self, start: int = 0, end: int | None = None) -> Iterator[tuple[Line, bytes | None]]:
        """Yield every line of a range with its text, None where that was taken out.

        Raises:
            InvalidStateError: A line does not fit the one before it.
        """
        text: bytes | None = None
        for line in self.lines[start:end]:
            try:
                text = lines.text_after(text, line.change)
            except (ValueError, TypeError) as error:
                raise self._damaged(line, str(error)) from None
            yield line, text

    def known_text(self, at: int) -> bytes | None:
        """Return what `text_at` does, None where it was taken out."""
        try:
            return self.text_at(at)
        except NotFoundError:
            return None

    def saved(self, digest: str) -> bytes | None:
        """Return a text that a person saved and that was taken in, None where it is not kept."""
        for at in range(len(self.lines) - 1, 0, -1):
            if self.lines[at].head.get("seen") == digest:
                return lines.saved_text(self.known_text(at - 1), self.lines[at].change)
        return None

    def _damaged(self, line: Line, why: str) -> InvalidStateError:
        return InvalidStateError(
            f"{self._path}: revision {line.head['rev']} cannot be read: {why}",
            "restore it from a backup, or take the file as it stands: council adopt",
        )


def _content(path: str) -> bytes:
    found = _bytes_in(path)
    return _first_version(path) if found is None else found


def _bytes_in(path: str) -> bytes | None:
    try:
        with files.closing(files.open_regular(path)) as descriptor:
            return files.read_all(descriptor, os.fstat(descriptor).st_size)
    except FileNotFoundError:
        return None
    except OSError as error:
        error.filename = path
        raise
