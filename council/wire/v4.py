"""Version 4: one line of eight segments, with limits and a code segment of its own.

Source: PR-401 to PR-409, PR-416, PR-417, A-40, A-42.
"""

from __future__ import annotations

from council.core.protocol.payload import flags_and_pairs
from council.wire.checklist import (
    DATA_CHARS,
    PRIORITIES,
    STATES,
    faults_of,
    has_no_arrow,
    refused,
    told_once,
    unless_unused,
)
from council.wire.codes import is_known
from council.wire.identifiers import is_code, is_message_id, is_padded, is_task_id, is_v4_route
from council.wire.lines import one_line
from council.wire.parsed import Fault, Parsed, Warned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.wire.checklist import Check

NAME = "V4"
TYPES = ("R", "S", "C", "U", "A", "E", "B", "H")
UNREADABLE = Fault(code="E05", rule="V4-0")
_COUNT = Fault(code="E03", rule="V4-1")
_PADDED_MESSAGE = Warned(name="W_NONCANONICAL", segment=1, code="E05")
_PADDED_TASK = Warned(name="W_NONCANONICAL", segment=4, code="E05")
_UNKNOWN_CODE = Warned(name="W_UNKNOWN_ERR", segment=7, code="E05")
_CODE_MISSING = Warned(name="W_ERR_MISSING", segment=7, code="E05")
_CODE_ELSEWHERE = Warned(name="W_ERR_ON_NON_ERROR", segment=7, code="E05")
_TRUNCATED = Warned(name="W_DATA_TRUNCATED", segment=8, code="E02")


# Zero fits the pattern and not the range: a fault of its own.
_NO_MESSAGE = frozenset(("M0", "M00", "M000", "M0000"))
_NO_TASK = frozenset(("T0", "T00", "T000"))

CHECKS: tuple[Check, ...] = (
    (0, "E05", "V4-2", is_message_id),
    (0, "E04", "V4-2r", lambda msg: msg not in _NO_MESSAGE),
    (1, "E13", "V4-3", is_v4_route),
    (2, "E14", "V4-4", frozenset(TYPES).__contains__),
    (3, "E05", "V4-5", is_task_id),
    (3, "E04", "V4-5r", lambda task: task not in _NO_TASK),
    (4, "E10", "V4-6", PRIORITIES.__contains__),
    (5, "E15", "V4-7", STATES.__contains__),
    (6, "E05", "V4-8", lambda err: err == "-" or is_code(err)),
    (6, "E04", "V4-8r", lambda err: err != "E00"),
    (7, "E02", "V4-10", has_no_arrow),
    (7, "E03", "V4-11", bool),
)


def parse(text: str) -> Parsed:
    """Read one line and report every fault of it; DATA that is too long is cut."""
    line = one_line(text)
    if line is None:
        return refused(NAME, text, UNREADABLE)
    segments = line.split("|", 8)
    if len(segments) != 8:
        return refused(NAME, text, _COUNT)
    errors = faults_of(segments, CHECKS)
    notes = told_once(notes_of(segments), errors)
    if len(segments[7]) > DATA_CHARS:
        segments[7] = segments[7][:DATA_CHARS]
        notes.append(_TRUNCATED)
    return Parsed(NAME, text, segments, errors, notes, fields_of)


def notes_of(segments: list[str]) -> list[Warned]:
    """Return the warnings about the first seven segments."""
    notes = []
    if is_padded(segments[0]):
        notes.append(_PADDED_MESSAGE)
    if is_padded(segments[3]):
        notes.append(_PADDED_TASK)
    is_error, code = segments[2] == "E", segments[6]
    if code == "-":
        if is_error:
            notes.append(_CODE_MISSING)
    else:
        if not is_known(code, NAME):
            notes.append(_UNKNOWN_CODE)
        if not is_error:
            notes.append(_CODE_ELSEWHERE)
    return notes


def fields_of(segments: list[str]) -> dict[str, Any]:
    """Return the fields of a valid line."""
    msg, route, kind, task, pri, state, err, data = segments
    sender, _, target = route.partition(">")
    flags, pairs = flags_and_pairs(data)
    return {
        "msg": msg,
        "from": sender,
        "to": target,
        "type": kind,
        "task": unless_unused(task),
        "pri": unless_unused(pri),
        "state": unless_unused(state),
        "err": unless_unused(err),
        "data": data,
        "flags": flags,
        "pairs": pairs,
    }
