"""The draft of version 5 that stands in the V4 chapter: read, never written.

Ten segments: the first seven of V4, then AUTH and TRACE, then DATA. Its
faults carry the codes of V4.

Source: PR-451 to PR-455, A-45, A-46.
"""

from __future__ import annotations

from council.core.protocol.payload import flags_and_pairs
from council.wire import v4
from council.wire.checklist import DATA_CHARS, faults_of, has_no_arrow, refused, told_once
from council.wire.identifiers import is_digits, is_message_id
from council.wire.lines import one_line
from council.wire.parsed import Fault, Parsed, Warned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.wire.checklist import Check

NAME = "V5D"
UNREADABLE = Fault(code="E05", rule="V5D-0")
_COUNT = Fault(code="E03", rule="V5D-1")
_SYSTEM_FLAG = Fault(code="E02", rule="V5D-12", segment=10)
_TRUNCATED = Warned(name="W_DATA_TRUNCATED", segment=10, code="E02")
_HEX = frozenset("0123456789abcdefABCDEF")


def is_hex(text: str, digits: int) -> bool:
    """Tell whether `text` is that many hex digits, in any case."""
    return len(text) == digits and _HEX.issuperset(text)


def _is_auth(text: str) -> bool:
    if text == "-":
        return True
    sid, _, rest = text.partition(":")
    nonce, _, signature = rest.partition(":")
    return (
        _is_numbered(sid, "S", 3)
        and len(nonce) == 4
        and nonce.isascii()
        and nonce.isalnum()
        and is_hex(signature, 8)
    )


def _is_trace(text: str) -> bool:
    if text == "-":
        return True
    parts = text.split(":", 3)
    if len(parts) != 3:
        return False
    trace, parent, seconds = parts
    return (
        _is_numbered(trace, "X", 4)
        and (parent == "-" or is_message_id(parent))
        and len(seconds) == 5
        and is_digits(seconds)
        and int(seconds) < 86_400
    )


def _is_numbered(text: str, letter: str, digits: int) -> bool:
    number = text[1:]
    return text[:1] == letter and len(number) <= digits and is_digits(number) and number[0] != "0"


_CHECKS: tuple[Check, ...] = (
    *(
        (place, code, rule.replace("V4", NAME), fits)
        for place, code, rule, fits in v4.CHECKS
        if place < 7
    ),
    (7, "E05", "V5D-9", _is_auth),
    (8, "E05", "V5D-10", _is_trace),
    (9, "E02", "V5D-11", has_no_arrow),
    (9, "E03", "V5D-13", bool),
)


def parse(text: str) -> Parsed:
    """Read one line of the draft and report every fault of it."""
    line = one_line(text)
    if line is None:
        return refused(NAME, text, UNREADABLE)
    segments = line.split("|", 10)
    if len(segments) != 10:
        return refused(NAME, text, _COUNT)
    errors = faults_of(segments, _CHECKS)
    notes = told_once(v4.notes_of(segments), errors)
    if len(segments[9]) > DATA_CHARS:
        segments[9] = segments[9][:DATA_CHARS]
        notes.append(_TRUNCATED)
    if flags_and_pairs(segments[9])[1].get("SYS", "0") not in ("0", "1"):
        errors.append(_SYSTEM_FLAG)
    return Parsed(NAME, text, segments, errors, notes, fields_of)


def fields_of(segments: list[str]) -> dict[str, Any]:
    """Return the fields of a valid line; `data_mode` names how DATA is meant."""
    auth, trace, data = segments[7:]
    return {
        **v4.fields_of([*segments[:7], data]),
        "auth": None if auth == "-" else _named(auth, "sid", "nonce", "sig"),
        "trace": None if trace == "-" else _named(trace, "trace", "parent", "ts"),
        "data_mode": data_mode(data),
    }


def _named(text: str, *names: str) -> dict[str, str | None]:
    values = (None if value == "-" else value for value in text.split(":"))
    return dict(zip(names, values, strict=True))


def data_mode(data: str) -> str:
    """Return `dict` (`$1`), `ref` (`#CTX42`), `zip` (`~…`) or `text`."""
    if data[:1] == "$" and data[1:2].isdigit():
        return "dict"
    return {"#": "ref", "~": "zip"}.get(data[:1], "text")
