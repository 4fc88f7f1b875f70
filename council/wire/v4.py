"""Version 4: one line of eight segments, with limits and a code segment of its own; and a draft.

The draft of version 5 that stands in the V4 chapter is read, never written: ten segments, the
first seven of V4, then AUTH and TRACE, then DATA. Its faults carry the codes of V4.

Source: PR-401 to PR-409, PR-416, PR-417, PR-451 to PR-455, A-40, A-42, A-45, A-46.
"""

from __future__ import annotations

from council.core.protocol.payload import flags_and_pairs
from council.core.record import Any
from council.wire.forms import (
    DATA_CHARS,
    PRIORITIES,
    STATES,
    TYPES,
    Form,
    common_notes,
    fields_in,
    has_no_arrow,
    told_once,
)
from council.wire.identifiers import (
    ends_of,
    is_code,
    is_digits,
    is_message_id,
    is_task_id,
)
from council.wire.parsed import Fault, Warned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.wire.forms import Check

# Zero fits the pattern and not the range: a fault of its own.
_NO_MESSAGE = frozenset(("M0", "M00", "M000", "M0000"))
_NO_TASK = frozenset(("T0", "T00", "T000"))
_HEX = frozenset("0123456789abcdefABCDEF")

_CHECKS: tuple[Check, ...] = (
    (0, "E05", "V4-2", is_message_id),
    (0, "E04", "V4-2r", lambda msg: msg not in _NO_MESSAGE),
    (1, "E13", "V4-3", lambda route: ends_of(route, "V4")),
    (2, "E14", "V4-4", frozenset(TYPES["V4"]).__contains__),
    (3, "E05", "V4-5", is_task_id),
    (3, "E04", "V4-5r", lambda task: task not in _NO_TASK),
    (4, "E10", "V4-6", PRIORITIES.__contains__),
    (5, "E15", "V4-7", STATES.__contains__),
    (6, "E05", "V4-8", lambda err: err == "-" or is_code(err)),
    (6, "E04", "V4-8r", lambda err: err != "E00"),
    (7, "E02", "V4-10", has_no_arrow),
    (7, "E03", "V4-11", bool),
)


def _judge(segments: list[str], errors: list[Fault]) -> list[Warned]:
    return told_once(common_notes(segments, "V4", "E05"), errors)


V4 = Form(
    "V4",
    "E05",
    _CHECKS,
    _judge,
    lambda segments: fields_in(segments, "V4"),
    count_code="E03",
    too_long="E02",
)


def is_hex(text: str, digits: int) -> bool:
    """Return true if `text` is that many hex digits, in any case."""
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


_DRAFT_CHECKS: tuple[Check, ...] = (
    *(
        (place, code, rule.replace("V4", "V5D"), fits)
        for place, code, rule, fits in _CHECKS
        if place < 7
    ),
    (7, "E05", "V5D-9", _is_auth),
    (8, "E05", "V5D-10", _is_trace),
    (9, "E02", "V5D-11", has_no_arrow),
    (9, "E03", "V5D-13", bool),
)


def _judge_draft(segments: list[str], errors: list[Fault]) -> list[Warned]:
    notes = _judge(segments, errors)
    if flags_and_pairs(segments[9][:DATA_CHARS])[1].get("SYS", "0") not in ("0", "1"):
        errors.append(Fault(code="E02", rule="V5D-12", segment=10))
    return notes


def _draft_fields(segments: list[str]) -> dict[str, Any]:
    """Return the fields of a valid line; `data_mode` names how DATA is meant."""
    auth, trace, data = segments[7:]
    return {
        **fields_in([*segments[:7], data], "V4"),
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


DRAFT = Form(
    "V5D", "E05", _DRAFT_CHECKS, _judge_draft, _draft_fields, count_code="E03", too_long="E02"
)
