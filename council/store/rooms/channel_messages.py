"""The messages of a channel: one JSON object a line, only ever added to.

A message is the line it stands in. Ours say their number. A line that a
person appended with an editor, as JSON or as plain text, has the number after
the line before it: so nothing need be rewritten to take it for a message, and
the next of ours counts on from there. Where the log has lost its end, ours count
on from what was taken notice of, so no number is given twice.

The log is read from its end, so what a command costs does not grow with it; where
much was added that says no number, `long_log` counts it and hands it on in pieces. A
line that its writer did not bring to its end was never acknowledged: the next
writer cuts it off and keeps the bytes apart.

Source: XC-001, A-20, `store.md` section 1.
"""

from __future__ import annotations

import json
import os
import stat

from council.core.errors import InvalidStateError
from council.store import files
from council.store.rooms.message_lines import MOST, Tail, is_torn, numbered, read_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from council.core.rooms.channels import Message

NEWEST = 20
_BLOCK_BYTES = 8 * 1024
_NEAR_BYTES = 128 * 1024


def read_tail(
    path: str,
    begun_at: datetime,
    *,
    count: int = NEWEST,
    after: int = -1,
    note: str = "",
    keeps: bool = False,
) -> Tail:
    """Return the newest messages.

    Args:
        path: The log; one that is not there is empty.
        begun_at: The time of a first line that names none.
        count: How many messages at least, as far as there are so many.
        after: All messages after this one, the first piece of very many; -1 for `count` alone.
        note: Where a place of a long log is remembered, "" for nowhere.
        keeps: Whether to remember one; only under the lock.

    Raises:
        InvalidStateError: It is no regular file.
        CouncilError: The system refuses.
    """
    with files.explaining("read", path):
        try:
            descriptor = _opened(path)
        except FileNotFoundError:
            return Tail()
        try:
            near = _tail_of(descriptor, begun_at, count, after)
            if near is not None:
                return near
            from council.store.rooms import long_log  # few logs are so long and say so little

            return long_log.read(
                descriptor, begun_at, count=count, after=after, note=note, keeps=keeps
            )
        finally:
            os.close(descriptor)


def read_unseen(
    path: str, begun_at: datetime, seen: int, *, note: str = "", keeps: bool = False
) -> Tail:
    """Return the newest messages, at least all of which no notice was taken yet.

    Those are all after `seen`. A log that ends before it was shortened, and the
    lines at its end that say no number may have been added since: it is better
    to hear one again than to sleep on.

    Raises:
        InvalidStateError: It is no regular file.
        CouncilError: The system refuses.
    """
    tail = read_tail(path, begun_at, after=seen, note=note, keeps=keeps)
    if tail.said_id < tail.last_id < seen:
        return read_tail(path, begun_at, after=tail.said_id, note=note, keeps=keeps)
    return tail


def _tail_of(descriptor: int, begun_at: datetime, count: int, after: int) -> Tail | None:
    """Return what the end of a log holds, None where that does not tell enough."""
    size = os.fstat(descriptor).st_size
    span = _BLOCK_BYTES
    while True:
        start = max(0, size - span)
        block = read_at(descriptor, start, size)
        if start:
            block = block[block.find(b"\n") + 1 :] if b"\n" in block else b""
        lines, torn, open_line = _split(block)
        messages, last_id, said_id, first_known = numbered(lines, begun_at, whole=start == 0)
        # Lines of another log bear low numbers: who begins among them counts too low.
        reaches = after < 0 or 0 < first_known <= after + 1 <= last_id + 1
        enough = len(messages) >= count and reaches
        if start == 0 or (enough and first_known):
            kept = [one for one in messages if one.id > after] if after >= 0 else []
            shown = messages[-max(count, len(kept)) :] if count or kept else []
            return Tail(
                messages=shown, last_id=last_id, said_id=said_id, torn=torn, open_line=open_line
            )
        if span >= _NEAR_BYTES and count < MOST:
            return None
        span *= 4


def _split(block: bytes) -> tuple[list[bytes], bytes, bool]:
    """Return the lines, what is torn at the end, and whether the last line lacks its end."""
    whole, _, rest = block.rpartition(b"\n")
    lines = whole.split(b"\n") if whole else []
    if not rest:
        return lines, b"", False
    if is_torn(rest):
        return lines, rest, False
    return [*lines, rest], b"", True


def append(path: str, messages: Sequence[Message], tail: Tail, size: int) -> None:
    """Add messages and bring them to the disk: from here on they hold.

    Args:
        path: The log.
        messages: With their numbers, which follow on `tail`.
        tail: The end as it was read under the lock; what is torn is cut off.
        size: Where the log is cut if that is necessary.

    Raises:
        OSError: The system refuses; the log is as it was.
    """
    data = b"".join(_line(one) for one in messages)
    if tail.open_line:
        data = b"\n" + data
    flags = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK
    descriptor = _regular(files.opened(path, flags), path)
    try:
        if tail.torn:
            os.ftruncate(descriptor, size - len(tail.torn))
        before = os.fstat(descriptor).st_size
        try:
            files.write_all(descriptor, data)
            files.sync_data(descriptor)
        except BaseException as error:
            _cut(descriptor, before)
            if isinstance(error, OSError):
                error.filename = path
            raise
    finally:
        os.close(descriptor)
    if not before:
        files.sync_folder(os.path.dirname(path))


def _cut(descriptor: int, end: int) -> None:
    try:
        os.ftruncate(descriptor, end)
    except OSError:
        return  # the line stays without having been promised


def _line(message: Message) -> bytes:
    text = json.dumps(message.to_record(), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


def every(path: str, begun_at: datetime) -> Iterator[Message]:
    """Yield all messages, oldest first: for minutes, never for a turn."""
    tail = read_tail(path, begun_at, count=MOST)
    yield from tail.messages


def size_of(path: str) -> int:
    """Return how long the log is, 0 where there is none."""
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def _opened(path: str) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return _regular(os.open(path, flags), path)


def _regular(descriptor: int, path: str) -> int:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InvalidStateError(f"{path} is not a regular file", "put the message log back")
    return descriptor
