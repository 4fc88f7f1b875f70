"""What happened, as one envelope; and traces: everything that one request has caused, as one id.

Every change, refusal, retry, late answer and accepted edit is an event. The
rules make events; the store gives them their id and writes them. Which types
there are and what their data hold stands in `event_types`.

What is begun inside a trace belongs to it; what is begun by itself has a trace
of its own, named after it. The W3C trace context wants 32 hexadecimal digits:
an id that has them is the trace id, any other is hashed to one.

Source: IO-002, XC-008, XC-102, P8-082 to P8-084, issue-wide envelope of `requirements.md`.
"""

from __future__ import annotations

from collections.abc import Mapping

from council.core.ids import sha256_hex
from council.core.record import Any, Record

SCHEMA_VERSION = 1


class Event(Record):
    """One thing that happened.

    `type` is `noun.past`; those that document 004 names keep their names.
    `agent` is who did it or whom it concerns, "" for none. `data` holds JSON
    values only.

    `trace` is set where an event belongs to another trace than what it is
    written for. One that passes between two agents names both, the limits that
    hold for it and the hash of its task; one about artifacts bears their ids.
    """

    type: str
    agent: str = ""
    data: dict[str, Any] = {}
    trace: str = ""
    from_agent: str = ""
    to_agent: str = ""
    limits: dict[str, Any] = {}
    task_hash: str = ""
    artifacts: list[str] = []

    def to_line(self, event_id: str, trace: str, conversation: str, at: str) -> dict[str, Any]:
        """Return the event as the JSON object of one line of the event log."""
        record: dict[str, Any] = {
            "schemaVersion": SCHEMA_VERSION,
            "eventId": event_id,
            "traceId": self.trace or trace,
            "conversationId": conversation,
            **self.as_json("agent:agentId? type"),
            "at": at,
        }
        if self.from_agent or self.to_agent:
            record |= self.as_json("from_agent:fromAgentId? to_agent:toAgentId? limits task_hash?")
        if self.artifacts:
            record["artifactIds"] = list(self.artifacts)
        record["data"] = self.data
        return record


# --- Traces: everything that one request has caused, under one id


TRACEPARENT = "traceparent"

_HEX = frozenset("0123456789abcdef")
_SAMPLED = "01"


class TraceContext(Record):
    """What a `traceparent` says: the trace, the span that was under way, the flags."""

    trace: str
    span: str
    flags: str = _SAMPLED


def trace_of(owner: str) -> str:
    """Return the trace of what was begun by itself: the id of a conversation without hyphens.

    Any other id, of a channel say, names its trace as it stands.
    """
    plain = owner.replace("-", "").lower()
    return plain if is_w3c(plain) else owner


def context_of(conversation_id: str) -> str:
    """Return the context by which messages of document 002 name a conversation: 8 characters.

    It is derived and nothing stores it: `S` and seven hexadecimal digits of the id.
    """
    plain = "".join(one for one in conversation_id.lower() if one in _HEX)
    return f"S{plain[:7]:0<7}" if is_w3c(trace_of(conversation_id)) else f"S{span_of(plain)[:7]}"


def is_w3c(trace: str) -> bool:
    """Return true if a trace id is one of the W3C: 32 lower-case hex digits, not all zero."""
    return _is_hex(trace, 32)


def w3c_trace(trace: str) -> str:
    """Return the W3C trace id that stands for a trace."""
    return trace if is_w3c(trace) else sha256_hex(trace.encode("utf-8", "surrogatepass"))[:32]


def span_of(name: str) -> str:
    """Return the W3C span id that stands for a task, a conversation or an event."""
    return sha256_hex(name.encode("utf-8", "surrogatepass"))[:16]


def traceparent(trace: str, task: str) -> str:
    """Return the trace context of a run: its trace, and the task as the span."""
    return f"00-{w3c_trace(trace)}-{span_of(task)}-{_SAMPLED}"


def parse_traceparent(text: str) -> TraceContext | None:
    """Read a `traceparent`; None when there is none, or it is not valid and must be ignored."""
    parts = text.strip().split("-")
    if len(parts) < 4 or not _is_hex(parts[1], 32) or not _is_hex(parts[2], 16):
        return None
    version, flags = parts[0], parts[3]
    if not _is_two_digits(version) or version == "ff" or not _is_two_digits(flags):
        return None
    if version == "00" and len(parts) != 4:
        return None  # a later version may add parts, the first one has four
    return TraceContext(trace=parts[1], span=parts[2], flags=flags)


def trace_around(environ: Mapping[str, str]) -> str:
    """Return the trace that a command was called in, "" when it was called in none."""
    found = parse_traceparent(environ.get(TRACEPARENT, ""))
    return found.trace if found else ""


def _is_hex(text: str, size: int) -> bool:
    return len(text) == size and not set(text) - _HEX and set(text) != {"0"}


def _is_two_digits(text: str) -> bool:
    return len(text) == 2 and not set(text) - _HEX
