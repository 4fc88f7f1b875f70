"""Version 2: one line of five segments between `O` and `W`.

Source: PR-201 to PR-207, A-33, A-34.
"""

from __future__ import annotations

from council.wire.checklist import faults_of, refused
from council.wire.codes import is_known
from council.wire.identifiers import is_long_message_id, is_long_task_id
from council.wire.lines import one_line
from council.wire.parsed import Fault, Parsed, Warned
from council.wire.v1 import code_fields, starts_with_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.wire.checklist import Check

NAME = "V2"
FIELDS = ("msg", "role", "type", "task", "data")
ROLES = ("O", "W")
TYPES = ("R", "S", "C", "U", "A", "E")
UNREADABLE = Fault(code="E02", rule="V2-7")
_COUNT = Fault(code="E02", rule="V2-1")
_TASK = Fault(code="E02", rule="V2-5", segment=4)
_NO_CODE = Fault(code="E02", rule="V2-6", segment=5)
_INITIATIVE = Fault(code="E99", rule="V2-8", segment=2)
_EMPTY = Fault(code="E02", rule="V2-9", segment=5)
_UNKNOWN_CODE = Warned(name="W_UNKNOWN_ERR", segment=5, code="E02")

_CHECKS: tuple[Check, ...] = (
    (0, "E02", "V2-2", is_long_message_id),
    (1, "E02", "V2-3", frozenset(ROLES).__contains__),
    (2, "E02", "V2-4", frozenset(TYPES).__contains__),
)


def parse(text: str) -> Parsed:
    """Read one line and report every fault of it."""
    line = one_line(text)
    if line is None:
        return refused(NAME, text, UNREADABLE)
    segments = line.split("|", 5)
    if len(segments) != 5:
        return refused(NAME, text, _COUNT)
    _, role, kind, task, data = segments
    errors = faults_of(segments, _CHECKS)
    if not (is_long_task_id(task) or (kind == "A" and task in ("-", ""))):
        errors.append(_TASK)
    has_code = kind == "E" and starts_with_code(data)
    if kind == "E" and data and not has_code:
        errors.append(_NO_CODE)
    if role == "W" and kind == "R":
        errors.append(_INITIATIVE)
    if not data:
        errors.append(_EMPTY)
    notes = [_UNKNOWN_CODE] if has_code and not is_known(data[:3], NAME) else []
    return Parsed(NAME, text, segments, errors, notes, fields_of)


def fields_of(segments: list[str]) -> dict[str, Any]:
    """Return the fields of a valid line."""
    fields: dict[str, Any] = dict(zip(FIELDS, segments, strict=True))
    fields["task"] = None if fields["task"] in ("-", "") else fields["task"]
    if fields["type"] == "E":
        fields.update(code_fields(fields["data"]))
    return fields
