"""One line of a journal: everything that is to be known of one revision.

A line is a JSON object of three parts. `head` says what happened: number,
operation, author, time, events, and the digests of the text that results and
of the body. `body` holds the change: the `whole` text, or a `patch` of the
text before it. `sum` is the digest of the head, by which the next line names
the one before it as its `parent`. So the chain holds even where a body was
taken out; what is left in its place is a named hole.

Lines that go to the disk in one sync hold together: `batch` in a head says how
many lines before it must be there too, as a disk may write a later one first.

A tab, which JSON allows between its parts and nowhere inside them, parts head
and body. Texts stand as they are in UTF-8; of one that is no UTF-8 the line is
written in ASCII, with its bytes as lone surrogates.

A patch says what differs between two texts, as byte ranges of the first. A conversation
changes in a few places at a time: a date, a status, an answer, some lines of the state
block. Between them everything is equal, so equal stretches are skipped as a whole, and
after a difference the nearest line that both texts have is looked for. The result need
not be the smallest, it must be right: `applied` on it gives the second text again,
which its writer checks.

Source: C0-078, OP-013, OP-016, `store.md` section 9.
"""

from __future__ import annotations

import json

from council.core.ids import sha256_hex
from council.core.record import Any, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION = 2
BEGINS, _HEAD, _BODY = b'{"sum":"', b'","head":', b',\t"body":'
_SUM_CHARS = 64
_HEAD_BYTES = 700  # of a line besides its body, about
_SMALL_BYTES = 8192
_NAME_BYTES = 200  # of a hole, at most
_COMPACT = (",", ":")
_UNCHANGED = b'{"patch":[]}'


class Line(Record):
    """A whole and genuine line: its parts, its sum, and where it begins and ends in the file."""

    head: dict[str, Any]
    body: bytes
    sum: str
    start: int = 0
    end: int = 0

    @property
    def change(self) -> dict[str, Any]:
        """What the body says: `whole`, `patch` or `hole`, and `saved` for what was taken in."""
        found: dict[str, Any] = json.loads(self.body)
        return found


def made(
    last: Line | None,
    head: dict[str, Any],
    before: bytes | None,
    text: bytes | None,
    saved: bytes | None = None,
) -> tuple[bytes, Line]:
    """Make the line that comes after `last`.

    Args:
        last: The line before it, None for none.
        head: What happened, with the `digest` of the text; number, parent and what
            is reckoned are set here.
        before: The text of the line before, None where it is not known.
        text: The text that results, None where it is the one before.
        saved: What others had written, of which this text is the outcome.

    Returns:
        Its bytes, and the line as it will stand in the file.
    """
    spent = 0 if last is None else int(last.head["spent"])
    body = _UNCHANGED if text is None else _body(before, text, spent, saved)
    head = {
        "v": VERSION,
        "seq": 1 if last is None else last.head["seq"] + 1,
        "parent": "" if last is None else last.sum,
        **head,
        "spent": 0 if is_whole(body) else spent + len(body) + _HEAD_BYTES,
        "body": sha256_hex(body),
    }
    said = dumped(head)
    total = sha256_hex(said)
    data = joined(total, said, body)
    start = 0 if last is None else last.end
    return data, Line(head=head, body=body, sum=total, start=start, end=start + len(data))


def joined(total: str, head: bytes, body: bytes) -> bytes:
    """Return the bytes of a line of which these are the sum, the head and the body."""
    return b"".join((BEGINS, total.encode(), _HEAD, head, _BODY, body, b"}\n"))


def _body(before: bytes | None, text: bytes, spent: int, saved: bytes | None) -> bytes:
    """Return a patch of the text before, or the whole text where the patches outweigh it."""
    change: dict[str, Any] = {}
    if before is not None and saved is not None:
        change["saved"] = _written(difference(before, saved))
    if before is not None:
        patch = difference(before, text)
        body = dumped({"patch": _written(patch), **change})
        heavy = spent + len(body) + _HEAD_BYTES > max(len(text), _SMALL_BYTES)
        # A patch that does not give the text again must never be believed.
        if not heavy and applied(before, patch) == text:
            return body
    return dumped({"whole": _text(text), **change})


def is_whole(body: bytes) -> bool:
    """Return true if a body needs no text before it."""
    return body.startswith(b'{"whole":') or (is_hole(body) and b',"whole":' in body[:_NAME_BYTES])


def text_after(before: bytes | None, change: dict[str, Any]) -> bytes | None:
    """Return the text that a change makes, None where a hole keeps it from being known."""
    if "whole" in change:
        return _bytes(change["whole"])
    if before is None or "patch" not in change:
        return None
    return applied(before, _read(change["patch"]))


def saved_text(before: bytes | None, change: dict[str, Any]) -> bytes | None:
    """Return what others had written, which a revision took in; None for nothing."""
    if before is None or "saved" not in change:
        return None
    return applied(before, _read(change["saved"]))


def decode(data: bytes, start: int = 0) -> Line | None:
    """Return the parts of a line without its end, None when it is not whole and genuine.

    Args:
        data: The line.
        start: Where it begins in its file.
    """
    head_at = len(BEGINS) + _SUM_CHARS + len(_HEAD)
    cut = data.find(_BODY, head_at)
    if cut < 0 or not data.startswith(BEGINS) or not data.endswith(b"}"):
        return None
    said, body = data[head_at:cut], data[cut + len(_BODY) : -1]
    total = sha256_hex(said)
    if data[len(BEGINS) : head_at] != total.encode() + _HEAD:
        return None
    try:
        head = json.loads(said)
    except ValueError:
        return None
    if not isinstance(head, dict) or (head.get("body") != sha256_hex(body) and not is_hole(body)):
        return None
    return Line(head=head, body=body, sum=total, start=start, end=start + len(data) + 1)


def decoded(rows: Iterable[bytes]) -> list[Line]:
    """Return the lines among these, each with its end, that are whole and genuine."""
    return [line for row in rows if (line := decode(row[:-1])) is not None]


def headed(line: Line, **changed: Any) -> Line:
    """Return a line with another head: the sum follows from it, the body stays."""
    head = {**line.head, **changed}
    return line.copy(head=head, sum=sha256_hex(dumped(head)))


def written(line: Line) -> bytes:
    """Return the bytes of a line, its end included."""
    return joined(line.sum, dumped(line.head), line.body)


def is_hole(body: bytes) -> bool:
    """Return true if a body is not the one that was written with its head."""
    return body.startswith(b'{"hole":')


def is_bare(body: bytes) -> bool:
    """Return true if nothing but a name is left of a body."""
    return is_hole(body) and not is_whole(body)


def with_hole(line: Line, name: str, text: bytes | None = None) -> bytes:
    """Return a line whose body is taken out and says so under a name; the chain still holds.

    Args:
        line: The line.
        name: Why nothing, or no patch, is there any more.
        text: The whole text, where that is to be kept; the head says its digest.
    """
    return joined(line.sum, dumped(line.head), hole(name, text))


def hole(name: str, text: bytes | None = None) -> bytes:
    """Return a body of which only a name is left, and the whole text where that is kept."""
    kept = {} if text is None else {"whole": _text(text)}
    return dumped({"hole": name, **kept})


def dumped(
    value: object, separators: tuple[str, str] = _COMPACT, indent: int | None = None
) -> bytes:
    """Return a value as JSON in UTF-8; in ASCII if it holds half a surrogate pair."""
    form: Any = {"separators": separators, "indent": indent}
    try:
        return json.dumps(value, ensure_ascii=False, **form).encode()
    except UnicodeEncodeError:
        return json.dumps(value, **form).encode()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _written(patch: Patch) -> list[list[Any]]:
    return [[start, end, _text(text)] for start, end, text in patch]


def _read(patch: list[list[Any]]) -> Patch:
    return [(start, end, _bytes(text)) for start, end, text in patch]


_FIRST, _PIECE = 128, 64 * 1024
_LINES = 48
_TELLING_BYTES = 6
_NEAR_BYTES = 32 * 1024
_ALONE_BYTES = 1024

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
        same = _equal_before(old[at:to], new[there:new_to])  # the rest of a long line
        found.append((at, to - same, new[there : new_to - same]))
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
    far = max(len(old), len(new))
    # A line that soon stands again, as hints do, may be that of another place.
    for reach, alone in ((_NEAR_BYTES, _ALONE_BYTES), (_NEAR_BYTES, 0), (far, 0)):
        found = [
            (one + other, at + one, there + other)
            for one, other in (
                _nearest(old, at, old_end, new, there, new_end, reach, alone),
                _nearest(new, there, new_end, old, at, old_end, reach, alone)[::-1],
            )
            if one >= 0
        ]
        if found:
            return min(found)[1:]
    return old_end, new_end


def _nearest(
    lines: bytes,
    at: int,
    end: int,
    within: bytes,
    there: int,
    within_end: int,
    reach: int,
    alone: int,
) -> tuple[int, int]:
    """Return how far on a line of one text stands in it and in the other; twice -1 for none.

    The line does not stand again within `alone` bytes.
    """
    best, found = min(reach, end - at + within_end - there) + 1, (-1, -1)
    start = at if at == 0 or lines[at - 1 : at] == b"\n" else lines.find(b"\n", at, end) + 1
    for _ in range(_LINES):
        line_end = lines.find(b"\n", start, end) + 1
        if not start or not line_end or start - at >= best:
            break
        line = lines[start:line_end]
        if len(line) >= _TELLING_BYTES and line not in lines[line_end : line_end + alone]:
            place = within.find(line, there, min(within_end, there + best + len(line)))
            while place > 0 and within[place - 1] != 0x0A:
                place = within.find(line, place + 1, min(within_end, there + best + len(line)))
            if place >= 0 and start - at + place - there < best:
                best = start - at + place - there
                found = (start - at, place - there)
        start = line_end
    return found
