"""Versions 1 to 3: a block of lines, one line of five segments, one line of seven.

V1 is a block between an ORCHESTRATOR and a WORKER, read into six parts: id, from, to, type,
task, data; a part whose line is missing is empty. It has no table of codes: faults carry E02
of V2, broken initiative E99. V2 is a line between `O` and `W`, V3 one between numbered agents.

Source: PR-102 to PR-111, PR-201 to PR-207, PR-301, PR-302, PR-306 to PR-308, PR-316, A-32, A-33,
A-34, A-37.
"""

from __future__ import annotations

from functools import partial

from council.core.record import Any
from council.wire.codes import is_known
from council.wire.forms import (
    PRIORITIES,
    STATES,
    TYPES,
    Form,
    fields_in,
    has_no_arrow,
    warned,
)
from council.wire.identifiers import (
    ends_of,
    is_clean,
    is_code,
    is_long_message_id,
    is_long_task_id,
    without_final_break,
)
from council.wire.parsed import Fault, Parsed, Warned

LINES = ("FROM", "TO", "TYPE", "TASK", "DATA")
ROLES = ("ORCHESTRATOR", "WORKER")


def starts_with_code(data: str) -> bool:
    """Return true if DATA is a code, alone or before a colon (V1 to V3)."""
    return is_code(data[:3]) and data[3:4] in ("", ":")


def _fields_of(version: str, segments: list[str]) -> dict[str, Any]:
    """Return the fields of a valid message; an error carries its code in DATA."""
    fields = fields_in(segments, version)
    fields["task"] = fields["task"] or None
    if fields["type"] in ("E", "ERR"):
        fields |= {"err": fields["data"][:3], "desc": fields["data"][4:]}
    return fields


def _fault(rule: int, segment: int | None = None, code: str = "E02") -> Fault:
    return Fault(code=code, rule=f"V1-{rule}", segment=segment)


UNREADABLE = _fault(0)
_ACK_EMPTY = Warned(name="W_ACK_EMPTY", segment=6, code="E02")


def parse(text: str) -> Parsed:
    """Read one block of V1 and report every fault of it."""
    header, *lines = without_final_break(text).replace("\r\n", "\n").split("\n")
    if not is_clean(header) or not all(map(is_clean, lines)):
        return Parsed("V1", text, [], (UNREADABLE,))
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
        errors.append(_fault(1, segment=1))
    if not _is_ordered(order, is_ack):
        errors.append(_fault(2))
    if any(found.get(name) == "" for name in LINES[:4]) or (found.get("DATA") == "" and not is_ack):
        errors.append(_fault(3))
    errors += _faults_of(found)
    segments = [msg, *(found.get(name, "") for name in LINES)]
    notes = [_ACK_EMPTY] if is_ack and not found.get("DATA") else []
    return Parsed("V1", text, segments, errors, notes, partial(_fields_of, "V1"))


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
        errors.append(_fault(4))
    if kind and kind not in TYPES["V1"]:
        errors.append(_fault(5))
    if task and not is_long_task_id(task):
        errors.append(_fault(6))
    if kind == "ERR" and data and not starts_with_code(data):
        errors.append(_fault(7))
    if sender == "WORKER" and kind == "REQ":
        errors.append(_fault(8, code="E99"))
    return errors


def render(segments: list[str]) -> str:
    """Return the block of V1; an empty TASK has no line."""
    msg, *values = segments
    lines = [f"{name}: {value}" for name, value in zip(LINES, values, strict=True)]
    if not values[3]:
        del lines[3]
    return "\n".join([f"[{msg}]", *lines])


def _judge_v2(segments: list[str], errors: list[Fault]) -> list[Warned]:
    _, role, kind, task, data = segments
    has_code = kind == "E" and starts_with_code(data)
    if not (is_long_task_id(task) or (kind == "A" and task in ("-", ""))):
        errors.append(Fault(code="E02", rule="V2-5", segment=4))
    if kind == "E" and data and not has_code:
        errors.append(Fault(code="E02", rule="V2-6", segment=5))
    if role == "W" and kind == "R":
        errors.append(Fault(code="E99", rule="V2-8", segment=2))
    if not data:
        errors.append(Fault(code="E02", rule="V2-9", segment=5))
    return warned(("W_UNKNOWN_ERR", 5, "E02", has_code and not is_known(data[:3], "V2")))


V2 = Form(
    "V2",
    "E02",
    (
        (0, "E02", "V2-2", is_long_message_id),
        (1, "E02", "V2-3", frozenset("OW").__contains__),
        (2, "E02", "V2-4", frozenset(TYPES["V2"]).__contains__),
    ),
    _judge_v2,
    partial(_fields_of, "V2"),
    rules=("7", "1"),
)


def _judge_v3(segments: list[str], errors: list[Fault]) -> list[Warned]:
    kind, task, data = segments[2], segments[3], segments[6]
    has_code = kind == "E" and starts_with_code(data)
    if kind == "E" and data and not has_code:
        errors.append(Fault(code="E02", rule="V3-10", segment=7))
    return warned(
        # Acknowledgements and broadcasts belong to no task.
        ("W_TASK_MISSING", 4, "E05", task == "-" and kind not in ("A", "B")),
        ("W_UNKNOWN_ERR", 7, "E05", has_code and not is_known(data[:3], "V3")),
    )


V3 = Form(
    "V3",
    "E05",
    (
        (0, "E05", "V3-2", is_long_message_id),
        (1, "E05", "V3-3", lambda route: ends_of(route, "V3")),
        (2, "E05", "V3-4", frozenset(TYPES["V3"]).__contains__),
        (3, "E05", "V3-5", lambda task: task == "-" or is_long_task_id(task)),
        (4, "E05", "V3-6", PRIORITIES.__contains__),
        (5, "E05", "V3-7", STATES.__contains__),
        (6, "E05", "V3-8", bool),
        (6, "E02", "V3-9", has_no_arrow),
    ),
    _judge_v3,
    partial(_fields_of, "V3"),
)
