"""The journal of a conversation: one checksummed line for each revision.

A line that is on the disk is the commit of its revision; what was not written
to its end never happened. The journal knows texts only by their digests, and
what it holds of events and results is for it just JSON.

Lines are read from the end, so what a command costs does not grow with the
age of a conversation.

Source: XC-001, C0-078, `store.md` sections 1, 2 (steps 3, 5, 8) and 5.
"""

from __future__ import annotations

import os
import stat

from council.core import quick_json as json
from council.core.digests import sha256_hex
from council.core.errors import InvalidStateError
from council.core.record import Record
from council.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_SUM_KEY = b',"sum":"'
_SUM_CHARS = 16
_TAIL_BYTES = 16 * 1024


class Tail(Record):
    """The last good line: its record, its bytes, and where it begins and ends in the file.

    What lies after `end` is torn and of no meaning; `torn` holds it.
    """

    record: dict[str, Any]
    line: bytes
    start: int
    end: int
    torn: bytes = b""


def encode(record: dict[str, Any]) -> bytes:
    """Return a record as one line with its checksum."""
    body = json.dumps(record, separators=(",", ":")).encode("ascii")[:-1]
    return body + _SUM_KEY + _checksum(body) + b'"}\n'


def decode(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line (without its end), None when it is not whole and genuine."""
    body, key, rest = line.rpartition(_SUM_KEY)
    if not key or rest != _checksum(body) + b'"}':
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    del record["sum"]
    return record


def _checksum(body: bytes) -> bytes:
    return sha256_hex(body)[:_SUM_CHARS].encode("ascii")


def read_tail(path: str) -> Tail | None:
    """Return the last good line, None when there is no journal or no good line in it.

    Raises:
        CouncilError: The system refuses, or something else lies in its place.
    """
    with files.explaining("read", path):
        try:
            descriptor = _opened(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        return _tail_of(descriptor)


def _tail_of(descriptor: int) -> Tail | None:
    """Find the last good line of an open journal, and close it."""
    try:
        size = os.fstat(descriptor).st_size
        span = _TAIL_BYTES
        while True:
            start = max(0, size - span)
            block = os.pread(descriptor, size - start, start)
            found = _last_good(block, start)
            if found is not None or start == 0:
                return found
            span *= 4
    finally:
        os.close(descriptor)


def _last_good(block: bytes, offset: int) -> Tail | None:
    """Find the last good line in a block that begins `offset` bytes into the file."""
    end = block.rfind(b"\n") + 1
    while end > 0:
        start = block.rfind(b"\n", 0, end - 1) + 1
        if start == 0 and offset > 0:
            return None  # it may begin before this block
        record = decode(block[start : end - 1])
        if record is not None:
            return Tail(
                record=record,
                line=block[start:end],
                start=offset + start,
                end=offset + end,
                torn=block[end:],
            )
        end = start
    return None


def append(path: str, end: int, record: dict[str, Any], line: bytes = b"") -> Tail:
    """Write a line at `end` and bring it to the disk: from here on it is committed.

    When that fails, the journal is cut back to `end` and the line never was.

    Args:
        path: The journal.
        end: Where its last good line ends.
        record: What the line says.
        line: What `encode` makes of it, where the caller has done that.

    Raises:
        OSError: The system refuses.
    """
    line = line or encode(record)
    descriptor = _opened(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            if os.fstat(descriptor).st_size != end:
                os.ftruncate(descriptor, end)
            files.write_all(descriptor, line, end)
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
    return Tail(record=record, line=line, start=end, end=end + len(line))


def _cut(descriptor: int, end: int) -> None:
    try:
        os.ftruncate(descriptor, end)
    except OSError:
        return  # the line stays; its writer reports a failure and a retry finds it


def reaffirm(path: str, tail: Tail) -> None:
    """Bring a line to the disk whose writer died before anybody knew that it is there.

    It is written again in its place: after a failed sync a kernel may hold
    pages for clean that never reached the disk.

    Raises:
        OSError: The system refuses.
    """
    descriptor = _opened(path, os.O_WRONLY)
    try:
        files.write_all(descriptor, tail.line, tail.start)
        files.sync_data(descriptor)
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(descriptor)


def find_operation(path: str, op_id: str) -> dict[str, Any] | None:
    """Return the record that an operation left, None when it is not in the journal."""
    wanted = b'"opId":' + json.dumps(op_id).encode("ascii")
    try:
        content = _content(path)
    except FileNotFoundError:
        return None
    at = content.rfind(wanted)
    while at >= 0:
        start = content.rfind(b"\n", 0, at) + 1
        end = content.find(b"\n", at)
        record = decode(content[start:end]) if end >= 0 else None
        if record is not None and record.get("opId") == op_id:
            return record
        at = content.rfind(wanted, 0, start)
    return None


def records(path: str) -> Iterator[dict[str, Any]]:
    """Yield every good line, oldest first; a missing journal has none."""
    try:
        content = _content(path)
    except FileNotFoundError:
        return
    for line in content.split(b"\n")[:-1]:
        record = decode(line)
        if record is not None:
            yield record


def _opened(path: str, flags: int) -> int:
    """Open the journal; anything but a regular file is refused at once.

    Raises:
        OSError: The system refuses.
        InvalidStateError: It is a pipe, a device or a folder.
    """
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InvalidStateError(
            f"{path} is not a regular file", "remove it: the conversation goes on from its file"
        )
    return descriptor


def _content(path: str) -> bytes:
    descriptor = _opened(path, os.O_RDONLY)
    try:
        return files.read_all(descriptor, os.fstat(descriptor).st_size)
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(descriptor)
