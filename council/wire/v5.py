"""Version 5: one line of eleven segments, with depth, context and budget.

Source: PR-502 to PR-506, PR-511, PR-513, PR-521 to PR-535, PR-541, PR-564, PR-572.
"""

from __future__ import annotations

from functools import lru_cache

from council.core.protocol.payload import flags_and_pairs
from council.core.protocol.protocol_ids import is_context
from council.core.record import Any
from council.wire.codes import CODES
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
    warned,
)
from council.wire.identifiers import (
    ends_of,
    ends_with_user,
    is_code,
    is_message_id,
    is_padded,
    is_task_id,
)
from council.wire.parsed import Fault, Warned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.wire.forms import Check

# Two examples use it, no table lists it.
QUERY = "Q"
_KNOWN_CODES = frozenset(CODES["V5"])
_DEPTHS = frozenset("012345-")
_EXCEPTIONAL_DEPTHS = frozenset("45")
# Who typically sends a type; what is not listed anybody sends. A router passes on all types, and
# a request begins with the user.
_SENDERS = {"R": "ORU", "S": "WOR", "B": "OR", "D": "OR", **dict.fromkeys("UHJLKX", "WR")}

_USUAL = frozenset(kind + role for kind in TYPES["V5"] for role in _SENDERS.get(kind, "OWRU"))
_USUAL_DEPTHS = frozenset("0123")


def _is_context(ctx: str) -> bool:
    return ctx == "-" or is_context(ctx)


def _is_budget(budget: str) -> bool:
    return budget == "-" or (
        budget[:1] == "B" and len(budget) < 6 and budget[1:].isdigit() and budget.isascii()
    )


_CHECKS: tuple[Check, ...] = (
    (0, "E10", "V5-2", is_message_id),
    (1, "E13", "V5-3", lambda route: ends_of(route, "V5")),
    (2, "E14", "V5-4", frozenset((*TYPES["V5"], QUERY)).__contains__),
    (3, "E10", "V5-5", is_task_id),
    (4, "E11", "V5-6", PRIORITIES.__contains__),
    (5, "E15", "V5-7", STATES.__contains__),
    (6, "E10", "V5-8", lambda err: err == "-" or is_code(err)),
    (7, "E16", "V5-9", _DEPTHS.__contains__),
    (8, "E10", "V5-10", _is_context),
    (9, "E10", "V5-11", _is_budget),
    (10, "E12", "V5-13", has_no_arrow),
    (10, "E10", "V5-14", bool),
)


def _is_plain(segments: list[str]) -> bool:
    """Return true quickly if there is nothing to report; a False says nothing yet.

    Nearly every line passes here, at half the cost of the checklist.
    """
    msg, route, kind, tid, pri, state, err, depth, ctx, budget, data = segments
    return (
        _kind_of(msg) == "M"
        and len(route) < 13
        and ends_with_user(route) is not None
        and kind + route[0] in _USUAL
        and (tid == "-" or _kind_of(tid) == "T")
        and pri in PRIORITIES
        and state in STATES
        and (err in _KNOWN_CODES if kind == "E" else err == "-")
        and depth in _USUAL_DEPTHS
        and (ctx == "-" or _kind_of(ctx) == "S")
        and (budget == "-" or _kind_of(budget) == "B")
        and 0 < len(data) <= DATA_CHARS
        and ">" not in data
    )


def _kind_of(word: str) -> str:
    # The length comes first, so that only short words are ever remembered.
    return _known_kind(word) if len(word) < 9 else ""


@lru_cache(maxsize=16_384)
def _known_kind(word: str) -> str:
    """Return the letter of an id that is as a writer writes it, else ""."""
    letter = word[:1]
    fits = {"M": is_message_id, "T": is_task_id, "S": _is_context, "B": _is_budget}.get(letter)
    if fits is None or not fits(word) or (letter != "S" and is_padded(word)):
        return ""
    return letter


def _judge(segments: list[str], errors: list[Fault]) -> list[Warned]:
    _, route, kind, _, _, state, _, depth, _, budget, data = segments
    # O1 cancels by U.
    is_usual = route[:1] in _SENDERS.get(kind, route) or (kind, state, route[:1]) == ("U", "X", "O")
    is_deep = depth in _EXCEPTIONAL_DEPTHS
    has_reason = is_deep and bool(flags_and_pairs(data)[1].get("reason"))
    own = warned(
        ("W_SENDER", 2, "", not is_usual),
        ("W_TYPE_Q", 3, "E14", kind == QUERY),
        ("W_DEPTH_DASH", 8, "E16", depth == "-"),
        ("W_DEPTH_EXCEPTIONAL", 8, "" if has_reason else "E16", is_deep),
        ("W_NONCANONICAL", 10, "E10", is_padded(budget)),
    )
    notes = [*common_notes(segments, "V5", "E10"), *own]
    return told_once(sorted(notes, key=lambda one: one.segment), errors)


def _fields_of(segments: list[str]) -> dict[str, Any]:
    """Return the fields of a valid line."""
    fields = fields_in(segments, "V5")
    fields["depth"] = int(fields["depth"] or 0)
    if fields["budget"] is not None:
        fields["budget"] = int(fields["budget"][1:])
    return fields


V5 = Form("V5", "E10", _CHECKS, _judge, _fields_of, too_long="E10", is_plain=_is_plain)
parse, inspect = V5.parse, V5.inspect
