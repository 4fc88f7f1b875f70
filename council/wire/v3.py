"""Version 3: one line of seven segments between numbered agents.

Source: PR-301, PR-302, PR-306 to PR-308, PR-316, A-37.
"""

from __future__ import annotations

from council.wire.checklist import (
    DEFAULT_PRIORITY,
    PRIORITIES,
    STATES,
    faults_of,
    has_no_arrow,
    refused,
    unless_unused,
)
from council.wire.codes import is_known
from council.wire.identifiers import is_long_message_id, is_long_task_id, is_v3_route
from council.wire.lines import one_line
from council.wire.parsed import Fault, Parsed, Warned
from council.wire.v1 import code_fields, starts_with_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.wire.checklist import Check

NAME = "V3"
TYPES = ("R", "S", "C", "U", "A", "E", "B")
UNREADABLE = Fault(code="E05", rule="V3-0")
_COUNT = Fault(code="E05", rule="V3-1")
_NO_CODE = Fault(code="E02", rule="V3-10", segment=7)
_TASK_MISSING = Warned(name="W_TASK_MISSING", segment=4, code="E05")
_UNKNOWN_CODE = Warned(name="W_UNKNOWN_ERR", segment=7, code="E05")
# Acknowledgements and broadcasts belong to no task.
_WITHOUT_TASK = ("A", "B")

_CHECKS: tuple[Check, ...] = (
    (0, "E05", "V3-2", is_long_message_id),
    (1, "E05", "V3-3", is_v3_route),
    (2, "E05", "V3-4", frozenset(TYPES).__contains__),
    (3, "E05", "V3-5", lambda task: task == "-" or is_long_task_id(task)),
    (4, "E05", "V3-6", PRIORITIES.__contains__),
    (5, "E05", "V3-7", STATES.__contains__),
    (6, "E05", "V3-8", bool),
    (6, "E02", "V3-9", has_no_arrow),
)


def parse(text: str) -> Parsed:
    """Read one line and report every fault of it."""
    line = one_line(text)
    if line is None:
        return refused(NAME, text, UNREADABLE)
    segments = line.split("|", 7)
    if len(segments) != 7:
        return refused(NAME, text, _COUNT)
    kind, task, data = segments[2], segments[3], segments[6]
    errors = faults_of(segments, _CHECKS)
    notes = []
    if task == "-" and kind not in _WITHOUT_TASK:
        notes.append(_TASK_MISSING)
    if kind == "E" and data:
        if not starts_with_code(data):
            errors.append(_NO_CODE)
        elif not is_known(data[:3], NAME):
            notes.append(_UNKNOWN_CODE)
    return Parsed(NAME, text, segments, errors, notes, fields_of)


def fields_of(segments: list[str]) -> dict[str, Any]:
    """Return the fields of a valid line."""
    msg, route, kind, task, pri, state, data = segments
    sender, _, target = route.partition(">")
    fields: dict[str, Any] = {
        "msg": msg,
        "from": sender,
        "to": target,
        "type": kind,
        "task": unless_unused(task),
        "pri": unless_unused(pri),
        "pri_effective": DEFAULT_PRIORITY if pri == "-" else pri,
        "state": unless_unused(state),
        "data": data,
    }
    if kind == "E":
        fields.update(code_fields(data))
    return fields
