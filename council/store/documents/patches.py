"""What differs between two texts, as byte ranges of the first.

A conversation changes in a few places at a time: a date, a status, an answer,
some lines of the state block. Between them everything is equal, so equal
stretches are skipped as a whole, and after a difference the nearest line that
both texts have is looked for. The result need not be the smallest, it must be
right: `applied` on it gives the second text again, which its writer checks.

Source: `store.md` section 9.
"""

from __future__ import annotations

_FIRST, _PIECE = 128, 64 * 1024
_LINES = 48
_TELLING_BYTES = 6
_NEAR_BYTES = 32 * 1024

Patch = list[tuple[int, int, bytes]]


def difference(old: bytes, new: bytes) -> Patch:
    """Return ranges of `old`, in order, and what stands in `new` instead of each.

    A range begins and ends where a character does, if both texts are UTF-8.
    """
    found: Patch = []
    at, there = 0, 0
    tail = _equal_before(old, new)
    old_end, new_end = len(old) - tail, len(new) - tail
    while True:
        equal = _equal_from(old, at, old_end, new, there, new_end)
        at, there = at + equal, there + equal
        if at == old_end and there == new_end:
            return found
        start = _character_start(old, at, new, there, equal)
        at, there = at - start, there - start
        to, new_to = _meeting(old, at, old_end, new, there, new_end)
        found.append((at, to, new[there:new_to]))
        at, there = to, new_to


def applied(old: bytes, patch: Patch) -> bytes:
    """Return the text that a patch makes of `old`.

    Raises:
        ValueError: It was not made for such a text.
    """
    whole, at = memoryview(old), 0
    parts: list[bytes | memoryview] = []
    for start, end, text in patch:
        if not at <= start <= end <= len(old):
            raise ValueError(f"no range of this text: {start} to {end}")
        parts += (whole[at:start], text)
        at = end
    return b"".join([*parts, whole[at:]])


def _equal_from(old: bytes, at: int, old_end: int, new: bytes, there: int, new_end: int) -> int:
    """Return how many bytes are equal from two places on."""
    most, equal, size = min(old_end - at, new_end - there), 0, _FIRST
    while equal < most:
        size = min(2 * size, _PIECE, most - equal)
        piece = old[at + equal : at + equal + size]
        if not new.startswith(piece, there + equal):
            return equal + _first_difference(piece, new[there + equal : there + equal + size])
        equal += size
    return most


def _first_difference(one: bytes, other: bytes) -> int:
    """Return where two pieces of one length differ first."""
    low, high = 0, len(one)
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _equal_before(old: bytes, new: bytes) -> int:
    """Return how many bytes at the ends are equal; whole characters of UTF-8."""
    most, equal, size = min(len(old), len(new)), 0, _FIRST
    while equal < most:
        size = min(2 * size, _PIECE, most - equal)
        one = old[len(old) - equal - size : len(old) - equal]
        if not new.endswith(one, 0, len(new) - equal):
            other = new[len(new) - equal - size : len(new) - equal]
            equal += _first_difference(one[::-1], other[::-1])
            break
        equal += size
    while equal and old[len(old) - equal] & 0xC0 == 0x80:
        equal -= 1
    return equal


def _character_start(old: bytes, at: int, new: bytes, there: int, equal: int) -> int:
    """Return how far before a difference the character begins in which it lies."""
    back = 0
    while back < min(equal, 3) and (_is_inside(old, at - back) or _is_inside(new, there - back)):
        back += 1
    return back


def _is_inside(text: bytes, at: int) -> bool:
    return at < len(text) and text[at] & 0xC0 == 0x80


def _meeting(
    old: bytes, at: int, old_end: int, new: bytes, there: int, new_end: int
) -> tuple[int, int]:
    """Return the nearest places, at or after these, from which a line stands in both texts."""
    for reach in (_NEAR_BYTES, max(len(old), len(new))):
        found = [
            (one + other, at + one, there + other)
            for one, other in (
                _nearest(old, at, old_end, new, there, new_end, reach),
                _nearest(new, there, new_end, old, at, old_end, reach)[::-1],
            )
            if one >= 0
        ]
        if found:
            return min(found)[1:]
    return old_end, new_end


def _nearest(
    lines: bytes, at: int, end: int, within: bytes, there: int, within_end: int, reach: int
) -> tuple[int, int]:
    """Return how far on a line of one text stands in it and in the other; twice -1 for none."""
    best, found = min(reach, end - at + within_end - there) + 1, (-1, -1)
    start = at if at == 0 or lines[at - 1 : at] == b"\n" else lines.find(b"\n", at, end) + 1
    for _ in range(_LINES):
        line_end = lines.find(b"\n", start, end) + 1
        if not start or not line_end or start - at >= best:
            break
        if line_end - start >= _TELLING_BYTES:
            line = lines[start:line_end]
            place = within.find(line, there, min(within_end, there + best + len(line)))
            while place > 0 and within[place - 1] != 0x0A:
                place = within.find(line, place + 1, min(within_end, there + best + len(line)))
            if place >= 0 and start - at + place - there < best:
                best = start - at + place - there
                found = (start - at, place - there)
        start = line_end
    return found
