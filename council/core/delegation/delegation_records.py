"""The ledgers of delegation as JSON, both ways; unknown fields survive.

Source: XC-013.
"""

from __future__ import annotations

from council.core.delegation.delegation import Call, Sent, Trace
from council.core.reading import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = 1


def trace_to_record(trace: Trace) -> dict[str, Any]:
    """Return the ledger of a trace as JSON."""
    return {"schemaVersion": SCHEMA_VERSION, **trace.to_record()}


def trace_from_record(record: object, where: str) -> Trace:
    """Read the ledger of a trace.

    Raises:
        InvalidStateError: It cannot be understood; says where.
    """
    read = Reader(record, where)
    read.left.pop("schemaVersion", None)
    calls = [
        _call_from_record(one, f"{where}, call {number}")
        for number, one in enumerate(read.items("calls"), start=1)
    ]
    return read.make(Trace, calls=calls)


def _call_from_record(record: object, where: str) -> Call:
    read = Reader(record, where)
    limits = read.table("limits")
    if not all(type(value) is int for value in limits.values()):
        raise read.fail("limits", "an object of whole numbers")
    result = read.table("result") or None
    return read.make(Call, number=read.whole("number", 0, 1), limits=limits, result=result)


def sent_to_record(sent: list[Sent]) -> dict[str, Any]:
    """Return what was let pass lately as JSON."""
    return {"schemaVersion": SCHEMA_VERSION, "sent": [one.to_record() for one in sent]}


def sent_from_record(record: object, where: str) -> list[Sent]:
    """Read what was let pass lately.

    Raises:
        InvalidStateError: It cannot be understood; says where.
    """
    return [Reader(one, where).make(Sent) for one in Reader(record, where).items("sent")]
