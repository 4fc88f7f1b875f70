"""Version 1: a block of lines between an ORCHESTRATOR and a WORKER.

V1 has no table of codes: faults carry E02 of V2, broken initiative E99. A
block is read into six parts: id, from, to, type, task, data; a part whose
line is missing is empty.

Source: PR-102 to PR-111, A-32, A-33.
"""

from __future__ import annotations

from council.wire.checklist import refused
from council.wire.identifiers import is_code, is_long_message_id, is_long_task_id
from council.wire.lines import is_clean, without_final_break
from council.wire.parsed import Fault, Parsed, Warned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "V1"
FIELDS = ("msg", "from", "to", "type", "task", "data")
LINES = ("FROM", "TO", "TYPE", "TASK", "DATA")
ROLES = ("ORCHESTRATOR", "WORKER")
TYPES = ("REQ", "RES", "CLR", "UPD", "ACK", "ERR")
UNREADABLE = Fault(code="E02", rule="V1-0")
_HEADER = Fault(code="E02", rule="V1-1", segment=1)
_ORDER = Fault(code="E02", rule="V1-2")
_EMPTY = Fault(code="E02", rule="V1-3")
_ROLE = Fault(code="E02", rule="V1-4")
_TYPE = Fault(code="E02", rule="V1-5")
_TASK = Fault(code="E02", rule="V1-6")
_NO_CODE = Fault(code="E02", rule="V1-7")
_INITIATIVE = Fault(code="E99", rule="V1-8")
_ACK_EMPTY = Warned(name="W_ACK_EMPTY", segment=6, code="E02")


def parse(text: str) -> Parsed:
    """Read one block and report every fault of it."""
    header, *lines = without_final_break(text).replace("\r\n", "\n").split("\n")
    if not is_clean(header) or not all(map(is_clean, lines)):
        return refused(NAME, text, UNREADABLE)
    found: dict[str, str] = {}
    order = []
    for line in lines:
        name, colon, value = line.partition(":")
        order.append(name if colon else "")
        found.setdefault(name, value.removeprefix(" "))
    is_ack = found.get("TYPE") == "ACK"
    errors = []
    is_bracketed = header[:1] == "[" and header[-1:] == "]"
    msg = header[1:-1] if is_bracketed else header
    if not (is_bracketed and is_long_message_id(msg)):
        errors.append(_HEADER)
    if not _is_ordered(order, is_ack):
        errors.append(_ORDER)
    if any(found.get(name) == "" for name in LINES[:4]) or (found.get("DATA") == "" and not is_ack):
        errors.append(_EMPTY)
    errors += _faults_of(found)
    segments = [msg, *(found.get(name, "") for name in LINES)]
    notes = [_ACK_EMPTY] if is_ack and not found.get("DATA") else []
    return Parsed(NAME, text, segments, errors, notes, fields_of)


def _is_ordered(order: list[str], is_ack: bool) -> bool:
    wanted = [name for name in LINES if name != "TASK" or "TASK" in order]
    return order == wanted or (is_ack and order == wanted[:-1])


def _faults_of(found: dict[str, str]) -> list[Fault]:
    """Return the faults of the values; an empty one has been reported already."""
    sender, target, kind = (found.get(name, "") for name in LINES[:3])
    task, data = found.get("TASK", ""), found.get("DATA", "")
    errors = []
    unknown = any(role and role not in ROLES for role in (sender, target))
    if unknown or (sender and sender == target):
        errors.append(_ROLE)
    if kind and kind not in TYPES:
        errors.append(_TYPE)
    if task and not is_long_task_id(task):
        errors.append(_TASK)
    if kind == "ERR" and data and not starts_with_code(data):
        errors.append(_NO_CODE)
    if sender == "WORKER" and kind == "REQ":
        errors.append(_INITIATIVE)
    return errors


def starts_with_code(data: str) -> bool:
    """Tell whether DATA is a code, alone or before a colon (V1 to V3)."""
    return is_code(data[:3]) and data[3:4] in ("", ":")


def code_fields(data: str) -> dict[str, Any]:
    """Return the fields of an error that carries its code in DATA (V1 to V3)."""
    return {"err": data[:3], "desc": data[4:]}


def fields_of(segments: list[str]) -> dict[str, Any]:
    """Return the fields of a valid block."""
    fields: dict[str, Any] = dict(zip(FIELDS, segments, strict=True))
    fields["task"] = fields["task"] or None
    if fields["type"] == "ERR":
        fields.update(code_fields(fields["data"]))
    return fields


def render(segments: list[str]) -> str:
    """Return the block; an empty TASK has no line."""
    msg, *values = segments
    lines = [f"{name}: {value}" for name, value in zip(LINES, values, strict=True)]
    if not values[3]:
        del lines[3]
    return "\n".join([f"[{msg}]", *lines])
