"""The messages of a channel: one JSON object a line, only ever added to.

A message is the line it stands in. Ours say their number. A line that a
person appended with an editor, as JSON or as plain text, has the number after
the line before it: so nothing need be rewritten to take it for a message, and
the next of ours counts on from there. Where the log has lost its end, ours count
on from what was taken notice of, so no number is given twice.

The log is read from its end, so what a command costs does not grow with it; where
much was added that says no number, `long_log` counts it and hands it on in pieces. A
line that its writer did not bring to its end was never acknowledged: the next
writer cuts it off and keeps the bytes apart. Whatever else stands in a line, it is
something that was said.

Source: XC-001, A-20, `store.md` section 1.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from council.core.errors import InvalidStateError
from council.core.record import Any, Record
from council.core.rooms.channels import Message, message_from_record
from council.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

SOMEBODY = "somebody"
_FIX = "put the message log back"
DELETES = "deletes"
MOST = 2**53
NEWEST = 20
_OURS = b'{"id":'
_BLOCK_BYTES = 8 * 1024
_NEAR_BYTES = 128 * 1024


class Tail(Record):
    """The end of a log.

    `messages` are the newest, oldest first, `last_id` the number of the last line,
    `said_id` that of the last line which says its own, 0 for none.
    `torn` is what stands after the last whole line and is none, `open_line` says
    that the last line lacks only its end, `more` that this is only the first piece
    of what is new: nothing may be added then.
    """

    messages: list[Message] = []
    last_id: int = 0
    said_id: int = 0
    torn: bytes = b""
    open_line: bool = False
    more: bool = False


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
            descriptor = files.open_regular(path, hint=_FIX)
        except FileNotFoundError:
            return Tail()
        with files.closing(descriptor):
            near = _tail_of(descriptor, begun_at, count, after)
            if near is not None:
                return near
            from council.store.rooms import long_log  # few logs are so long and say so little

            return long_log.read(
                descriptor, begun_at, count=count, after=after, note=note, keeps=keeps
            )


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
    """Return what the end of a log holds, None where that does not say enough."""
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
            shown = wanted(messages, count, after)
            return Tail(
                messages=shown, last_id=last_id, said_id=said_id, torn=torn, open_line=open_line
            )
        if span >= _NEAR_BYTES and count < MOST:
            return None
        span *= 4


def wanted(messages: list[Message], count: int, after: int) -> list[Message]:
    """Return the newest messages, `count` at least and all after a number; -1 asks for none."""
    newer = sum(one.id > after for one in messages) if after >= 0 else 0
    most = max(count, newer)
    return messages[-most:] if most else []


def _split(block: bytes) -> tuple[list[bytes], bytes, bool]:
    """Return the lines, what is torn at the end, and whether the last line lacks its end."""
    whole, _, rest = block.rpartition(b"\n")
    lines = whole.split(b"\n") if whole else []
    if not rest:
        return lines, b"", False
    if is_torn(rest):
        return lines, rest, False
    return [*lines, rest], b"", True


def line_of(message: Message) -> bytes:
    """Return the line that a message is."""
    text = json.dumps(message.to_record(), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


def append(path: str, data: bytes, tail: Tail) -> None:
    """Add a message and bring it to the disk: from here on it holds.

    Args:
        path: The log.
        data: Its line, with its number, which follows on `tail`.
        tail: The end as it was read under the lock; what is torn is cut off.

    Raises:
        OSError: The system refuses; the log is as it was.
    """
    if tail.open_line:
        data = b"\n" + data
    flags = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK
    with files.closing(files.regular(files.opened(path, flags), path, _FIX)) as descriptor:
        before = os.fstat(descriptor).st_size - len(tail.torn)
        if tail.torn:
            os.ftruncate(descriptor, before)
        try:
            files.write_all(descriptor, data)
            files.sync_data(descriptor)
        except BaseException as error:
            with suppress(OSError):  # else the line stays without having been promised
                os.ftruncate(descriptor, before)
            if isinstance(error, OSError):
                error.filename = path
            raise
    if not before:
        files.sync_folder(os.path.dirname(path))


# --- Lines: what each says, and how they are numbered


def read_at(descriptor: int, start: int, end: int) -> bytes:
    """Return the bytes between two places, as far as the file goes."""
    pieces = []
    while start < end:
        piece = os.pread(descriptor, end - start, start)
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)


def is_torn(rest: bytes) -> bool:
    """Distinguish a line of ours that was cut from one that a person left without its end."""
    if b"\x00" in rest:
        return True
    ours = rest.startswith(_OURS) or _OURS.startswith(rest)
    return ours and files.json_object(rest) is None


def own_number(record: dict[str, Any], number: int) -> int:
    """Return the number that a line says it has, 0 if it says none that can follow on `number`."""
    said = record.get("id")
    return said if type(said) is int and number < said < MOST else 0


def numbered(
    lines: list[bytes], begun_at: datetime, *, whole: bool, number: int = 0, said_id: int = 0
) -> tuple[list[Message], int, int, int]:
    """Return messages, the last number, the last that a line says, and the first that is sure.

    Lines before the first with a number of its own are only counted where the block is
    `whole`: it begins with the log, or after the line that has `number`.
    """
    messages: list[Message] = []
    first, at = 1 if whole else 0, begun_at
    for line in lines:
        if not line.strip():
            continue
        record = files.json_object(line)
        own = own_number(record, number) if record is not None else 0
        if not own and not first:
            continue
        number = own or number + 1
        said_id = number if own else said_id
        first = first or number
        message = _message(line, record, number, at)
        at = message.at
        messages.append(message)
    deleted = {one.extra[DELETES] for one in messages if type(one.extra.get(DELETES)) is int}
    kept = [one for one in messages if one.id not in deleted and DELETES not in one.extra]
    return kept, number, said_id, first


def _message(line: bytes, record: dict[str, Any] | None, number: int, at: datetime) -> Message:
    if record is not None:
        try:
            message = message_from_record({**record, "id": number}, default_at=at)
        except InvalidStateError:
            pass  # a line that a person wrote otherwise is still something that was said
        else:
            return message if message.author else message.copy(author=message.agent or SOMEBODY)
    text = line.decode("utf-8", "replace").strip()
    return Message(id=number, at=at, author=SOMEBODY, content=text)
