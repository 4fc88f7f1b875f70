"""Reading a log of messages in which much was added that was not taken notice of.

A line that names no number counts on from the line before it, so what stands at
the end of many such lines is known only by a process that counts from a place with a
number. Such a place is the line of a message that says its own, or the one that
a note remembers from the last time it was counted. Lines that are only counted
are not made into messages, and of those that are new one piece is returned at a
time: a million of them take neither the memory nor the lock for long.

Source: XC-001, XC-007, A-20.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256

from council.core.errors import CouncilError
from council.core.record import Record
from council.core.times import parse_instant, render_instant
from council.store import files, notes
from council.store.rooms import channel_messages as log

TYPE_CHECKING = False
if TYPE_CHECKING:
    # What counting has come to before a line (number, last said, time), and the line.
    _Line = tuple[int, int, datetime, bytes]

PIECE_LINES = 4096
_PIECE_BYTES = 4 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024
_CHECKED_BYTES = 1024
_MARK_EVERY = 256
_WORTH_A_NOTE_BYTES = 64 * 1024


class Start(Record):
    """A place at which a line begins, and what counting has come to before it.

    `number` is the number of the line before, `said` the last one that a line
    said of itself, `at` the time that a line without one has.
    """

    offset: int
    number: int
    said: int
    at: datetime


def read(
    descriptor: int, begun_at: datetime, *, count: int, after: int, note: str, keeps: bool
) -> log.Tail:
    """Return the newest messages, or the first piece of those after `after`.

    Args:
        descriptor: The log, open for reading.
        begun_at: The time of a line for which none is known.
        count: How many messages at least, as far as there are so many.
        after: All messages after this one, a piece at a time; -1 for `count` alone.
        note: Where a place is remembered, "" for nowhere.
        keeps: Whether to remember one.
    """
    size = os.fstat(descriptor).st_size
    for start in _starts(descriptor, size, begun_at, after, note):
        found, mark = _counted(descriptor, start, size, count, after)
        enough = found.more or (len(found.messages) >= count and found.last_id >= after)
        if enough or not start.offset:
            if keeps and note and mark.offset - start.offset > _WORTH_A_NOTE_BYTES:
                notes.write_text(note, _noted(descriptor, mark))
            return found
    raise AssertionError  # the last place is the beginning of the log


def _counted(
    descriptor: int, start: Start, size: int, count: int, after: int
) -> tuple[log.Tail, Start]:
    """Return what a log holds from a place whose number is known, and a place near its end."""
    lines, rest, more, mark = _walked(descriptor, start, size, count, after)
    last = rest[-1] if rest is not None else b""
    torn = last if last and log.is_torn(last) else b""
    if rest is not None and not torn:
        lines.append(rest)
    number, said, at, _ = lines[0] if lines else (start.number, start.said, start.at, b"")
    messages, last_id, said_id, _ = log.numbered(
        [line for *_, line in lines], at, whole=True, number=number, said_id=said
    )
    found = log.Tail(
        messages=log.wanted(messages, count, after),
        last_id=last_id,
        said_id=said_id,
        torn=torn,
        open_line=bool(last) and not torn,
        more=more,
    )
    return found, mark


def _walked(
    descriptor: int, start: Start, size: int, count: int, after: int
) -> tuple[list[_Line], _Line | None, bool, Start]:
    """Count all lines, or until a piece is full.

    Returns:
        The lines that are of use, what has no end, whether there are more, and a place on the way.
    """
    number, said, at = start.number, start.said, start.at
    counted, room = 0, _PIECE_BYTES
    marks = deque([start], maxlen=2)
    before: deque[_Line] = deque(maxlen=max(count, 1))
    piece: list[_Line] = []
    for offset, line in _lines(descriptor, start.offset, size):
        here = (number, said, at, line)
        if offset < 0:
            return [*before, *piece], here if line else None, False, marks[0]
        if not line.strip():
            continue
        own, at = _facts(line, number, at) if _may_tell(line) else (0, at)
        number, said = own or number + 1, own or said
        if number <= after or after < 0:
            before.append(here)
        elif len(piece) < PIECE_LINES and room > 0:
            piece.append(here)
            room -= len(line)
        else:
            break
        counted += 1
        if counted % _MARK_EVERY == 0:
            end = offset + len(line) + 1
            marks.append(Start(offset=end, number=number, said=said, at=at))
    return [*before, *piece], None, True, marks[0]


def _lines(descriptor: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with the places where they begin; last, at -1, what has no end."""
    parts: list[bytes] = []
    begun = start
    while start < end:
        block = log.read_at(descriptor, start, min(end, start + _BLOCK_BYTES))
        if not block:
            break
        start += len(block)
        first, found, rest = block.partition(b"\n")
        parts.append(first)
        if not found:
            continue
        whole, _, last = rest.rpartition(b"\n")
        for line in (b"".join(parts), *(whole.split(b"\n") if len(rest) > len(last) else ())):
            yield begun, line
            begun += len(line) + 1
        parts = [last]
    yield -1, b"".join(parts)


def _may_tell(line: bytes) -> bool:
    return b'id"' in line or b'at"' in line or b"\\u" in line


def _facts(line: bytes, number: int, at: datetime) -> tuple[int, datetime]:
    """Return the number that a line says of itself, 0 for none, and the time that holds with it."""
    record = files.json_object(line) or {}
    return log.own_number(record, number), _time_of(record.get("at")) or at


def _time_of(text: object) -> datetime | None:
    try:
        return parse_instant(text) if isinstance(text, str) else None
    except CouncilError:
        return None


def _starts(
    descriptor: int, size: int, begun_at: datetime, after: int, note: str
) -> Iterator[Start]:
    """Yield places from which to count, the last one first; in the end that of the log."""
    noted = _from_note(descriptor, size, notes.text_in(note)) if note else None
    if noted is not None and (after < 0 or noted.number <= after):
        yield noted
    place, step = size, _BLOCK_BYTES
    while place > 0:
        end, place = place, max(0, place - step)
        found = _sure_in(log.read_at(descriptor, place, end), place, begun_at, after)
        if found is not None and place:
            yield found
            step *= 2
    yield Start(offset=0, number=0, said=0, at=begun_at)


def _sure_in(block: bytes, place: int, begun_at: datetime, after: int) -> Start | None:
    """Return the first whole line of a block that says its number, if that is early enough."""
    begin = block.find(b"\n") + 1
    while begin:
        hit = block.find(b'id"', begin)
        if hit < 0:
            return None
        begin = block.rfind(b"\n", 0, hit) + 1
        end = block.find(b"\n", hit)
        if end < 0:
            return None
        own = log.own_number(files.json_object(block[begin:end]) or {}, 0)
        if own:
            early = after < 0 or own - 1 <= after
            found = Start(offset=place + begin, number=own - 1, said=0, at=begun_at)
            return found if early else None
        begin = end + 1
    return None


def _noted(descriptor: int, mark: Start) -> str:
    check = _check(descriptor, mark.offset)
    return f"{mark.offset} {mark.number} {mark.said} {render_instant(mark.at)} {check}"


def _from_note(descriptor: int, size: int, text: str) -> Start | None:
    """Return the place that a note remembers, None where the log is another by now."""
    words: Sequence[str] = text.split(" ")
    if len(words) != 5 or not all(one.isdecimal() for one in words[:3]):
        return None
    offset, number, said = (int(one) for one in words[:3])
    at = _time_of(words[3])
    if at is None or not 0 < offset <= size or _check(descriptor, offset) != words[4]:
        return None
    return Start(offset=offset, number=number, said=said, at=at)


def _check(descriptor: int, offset: int) -> str:
    """Return what shows that the log before a place is the one that was counted."""
    before = log.read_at(descriptor, max(0, offset - _CHECKED_BYTES), offset)
    return sha256(before).hexdigest()[:16]
