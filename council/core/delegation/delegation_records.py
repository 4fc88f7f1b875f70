"""The ledgers of delegation as JSON, both ways; unknown fields survive.

Source: XC-013.
"""

from __future__ import annotations

from council.core.delegation.delegation import WAITING, Call, Sent, Trace
from council.core.reading import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = 1


def trace_to_record(trace: Trace) -> dict[str, Any]:
    """Return the ledger of a trace as JSON."""
    return {
        **trace.extra,
        "schemaVersion": SCHEMA_VERSION,
        "traceId": trace.trace_id,
        "nextNumber": trace.next_number,
        "calls": [_call_to_record(one) for one in trace.calls],
    }


def _call_to_record(call: Call) -> dict[str, Any]:
    return {
        **call.extra,
        **call.as_json(
            "number caller:fromAgentId target:toAgentId depth path owner session:sessionKey"
            " task_hash message refs:artifactRefs limits brief? state at started_at ended_at"
            " tool_calls result"
        ),
    }


def trace_from_record(record: object, where: str) -> Trace:
    """Read the ledger of a trace.

    Raises:
        InvalidStateError: It cannot be understood; says where.
    """
    read = Reader(record, where)
    read.left.pop("schemaVersion", None)
    trace = Trace(
        trace_id=read.text("traceId", None),
        next_number=read.whole("nextNumber", 1, 1),
        calls=[
            _call_from_record(one, f"{where}, call {number}")
            for number, one in enumerate(read.items("calls"), start=1)
        ],
    )
    trace.extra = read.left
    return trace


def _call_from_record(record: object, where: str) -> Call:
    read = Reader(record, where)
    at = read.instant("at")
    if at is None:
        raise read.fail("at", "a time like 2026-02-08T20:00:00Z")
    limits = read.table("limits")
    if not all(type(value) is int for value in limits.values()):
        raise read.fail("limits", "an object of whole numbers")
    call = Call(
        number=read.whole("number", 0, 1),
        caller=read.text("fromAgentId", None),
        target=read.text("toAgentId", None),
        depth=read.whole("depth", 0),
        path=read.texts("path"),
        owner=read.text("owner"),
        session=read.text("sessionKey", None),
        task_hash=read.text("taskHash", None),
        message=read.text("message"),
        refs=read.texts("artifactRefs"),
        limits=limits,
        brief=read.text("brief"),
        state=read.text("state", WAITING),
        at=at,
        started_at=read.instant("startedAt"),
        ended_at=read.instant("endedAt"),
        tool_calls=read.whole("toolCalls", 0),
        result=read.table("result") or None,
    )
    call.extra = read.left
    return call


def sent_to_record(sent: list[Sent]) -> dict[str, Any]:
    """Return what was let pass lately as JSON."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "sent": [
            one.as_json("at sender:fromAgentId receiver:toAgentId task_hash trace:traceId number")
            for one in sent
        ],
    }


def sent_from_record(record: object, where: str) -> list[Sent]:
    """Read what was let pass lately.

    Raises:
        InvalidStateError: It cannot be understood; says where.
    """
    found = []
    for one in Reader(record, where).items("sent"):
        read = Reader(one, where)
        at = read.instant("at")
        if at is None:
            raise read.fail("at", "a time like 2026-02-08T20:00:00Z")
        found.append(
            Sent(
                at=at,
                sender=read.text("fromAgentId", None),
                receiver=read.text("toAgentId", None),
                task_hash=read.text("taskHash"),
                trace=read.text("traceId"),
                number=read.whole("number", 0),
            )
        )
    return found
