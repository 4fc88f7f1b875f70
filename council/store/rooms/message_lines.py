"""The lines of a log of messages: what each says, and how they are numbered.

Whatever stands in a line, it is something that was said. What is read of a log,
and how, is the matter of `channel_messages` and `long_log`.

Source: A-20, `store.md` section 1.
"""

from __future__ import annotations

import os

from council.core.errors import InvalidStateError
from council.core.nesting import read_json
from council.core.record import Record
from council.core.rooms.channel_records import message_from_record
from council.core.rooms.channels import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

SOMEBODY = "somebody"
DELETES = "deletes"
MOST = 2**53
_OURS = b'{"id":'


class Tail(Record):
    """The end of a log.

    `messages` are the newest, oldest first, `last_id` the number of the last line,
    `said_id` that of the last line which says its own, 0 for none.
    `torn` is what stands after the last whole line and is none, `open_line` tells
    that the last line lacks only its end, `more` that this is only the first piece
    of what is new: nothing may be added then.
    """

    messages: list[Message] = []
    last_id: int = 0
    said_id: int = 0
    torn: bytes = b""
    open_line: bool = False
    more: bool = False


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
    """Tell a line of ours that was cut from one that a person left without its end."""
    if b"\x00" in rest:
        return True
    ours = rest.startswith(_OURS) or _OURS.startswith(rest)
    return ours and parsed(rest) is None


def parsed(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a line is, None for none."""
    try:
        value = read_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


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
        record = parsed(line)
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
            pass  # a line that somebody wrote otherwise is still something that was said
        else:
            return message if message.author else message.copy(author=message.agent or SOMEBODY)
    text = line.decode("utf-8", "replace").strip()
    return Message(id=number, at=at, author=SOMEBODY, content=text)
