"""Events as spans of OpenTelemetry, in the JSON form of its protocol.

A conversation, a channel or a context is a workflow; a run of an agent, or a
call, is the invocation of an agent inside it; what an agent did through the
tool by itself, a message or an artifact, is the execution of a tool. All other
events stand in the span of what they are about. The span of a run has the id
that its `traceparent` gave to the program, so spans of its own come below it.

The names are those of the semantic conventions; what they have none for stands
under `council.`.

Source: IO-002, IO-003.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from council.core.events import span_of, w3c_trace
from council.core.reasons import read_reason
from council.core.record import Any, Record
from council.core.times import parse_instant

OPERATION = "gen_ai.operation.name"
AGENT_ID = "gen_ai.agent.id"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
WORKFLOW = "gen_ai.workflow.name"
TOOL = "gen_ai.tool.name"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
ERROR = "error.type"
SERVICE = "service.name"

INVOKE_WORKFLOW, INVOKE_AGENT, EXECUTE_TOOL = "invoke_workflow", "invoke_agent", "execute_tool"
_INTERNAL, _CLIENT = 1, 3
_OK, _FAILED = 1, 2

_BEGIN_WORKFLOW = ("conversation.opened", "channel.created", "context.opened")
_END_WORKFLOW = (
    "conversation.finished",
    "conversation.cancelled",
    "conversation.archived",
    "discussion.completed",
    "context.closed",
)
_END_RUN = (
    *("task.failed", "task.lost", "task.refused"),
    *("contribution.recorded", "synthesis.written", "turn.ended"),
)
_TOOLS = ("agent.message", "artifact.publish", "artifact.fetch")
_FAILED_CALL = "agent.call.error"
# What a call has used, and where the event of its end says so.
_USED = {
    INPUT_TOKENS: "inputTokens",
    OUTPUT_TOKENS: "outputTokens",
    "council.tokens": "tokens",
    "council.tool_calls": "toolCalls",
}


class Span(Record):
    """One span; `ended_at` is None while it is under way."""

    trace: str
    id: str
    parent: str = ""
    name: str
    kind: int = _INTERNAL
    started_at: datetime
    ended_at: datetime | None = None
    attributes: dict[str, Any] = {}
    events: list[dict[str, Any]] = []
    error: str = ""

    def to_json(self, last: datetime) -> dict[str, Any]:
        """Return the span in the protocol's JSON; one under way ends at `last`, and says so."""
        is_open = True if self.ended_at is None else None
        status = {} if is_open else {"code": _OK}
        return {
            "traceId": w3c_trace(self.trace),
            "spanId": self.id,
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": _nano(self.started_at),
            "endTimeUnixNano": _nano(max(self.ended_at or last, self.started_at)),
            "attributes": _attributes(
                {**self.attributes, "council.under_way": is_open, ERROR: self.error}
            ),
            "events": self.events,
            "status": {"code": _FAILED, "message": self.error} if self.error else status,
            **({"parentSpanId": self.parent} if self.parent else {}),
        }


class _Spans:
    """What has been read so far: spans by what they are about."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.made: list[Span] = []
        self.workflows: dict[str, Span] = {}
        self.runs: dict[str, Span] = {}
        self.last = datetime.fromtimestamp(0, UTC)

    def take(self, event: dict[str, Any]) -> None:
        """Take one event into account."""
        at = parse_instant(str(event["at"]))
        self.last = max(self.last, at)
        kind, data = str(event["type"]), event.get("data") or {}
        owner = str(event.get("conversationId") or "")
        workflow = self._workflow(event, owner, at) if owner else None
        if kind == "agent.call.start":
            self._call(event, data, at)
        elif kind == "task.started":
            told = {CONVERSATION: owner, "council.driver": data.get("driver")}
            self._invocation(event, str(data.get("task") or ""), "agentId", at, told)
        elif kind in _TOOLS:
            agent = str(event.get("fromAgentId") or event.get("agentId") or "")
            told = {
                TOOL: kind,
                **self._names(agent),
                "council.artifact_ids": event.get("artifactIds"),
            }
            self._begin(event, EXECUTE_TOOL, kind, str(event["eventId"]), at, told).ended_at = at
        run = self._run_of(event, data, owner)
        if kind.startswith("agent.call.") and kind != "agent.call.start":
            if run is not None:
                run.ended_at = at
                if kind == _FAILED_CALL:
                    run.error = str(data.get("code") or data.get("status") or "error")
                run.attributes |= {name: data.get(key) or None for name, key in _USED.items()}
        elif run is not None and kind in _END_RUN:
            run.ended_at = at
            if kind.startswith("task."):
                run.error = read_reason(data.get("reason")).code or kind
        elif workflow is not None and kind in _END_WORKFLOW:
            workflow.ended_at = at
            if "closedReason" in data:
                workflow.attributes["council.closed_reason"] = data["closedReason"]
        span = run or workflow
        if span is not None:
            span.events.append(_span_event(event, at))

    def _begin(
        self, event: dict[str, Any], does: str, what: str, named: str, at: datetime, told: Any
    ) -> Span:
        """Begin a span: what is done to what, the name its id is made of, its record."""
        owner = str(event.get("conversationId") or "")
        span = Span(
            trace=str(event["traceId"]),
            id=span_of(named),
            parent=span_of(owner) if owner and named != owner else "",
            name=f"{does} {what}",
            started_at=at,
            attributes={OPERATION: does, **told},
        )
        self.made.append(span)
        return span

    def _names(self, agent: str) -> dict[str, Any]:
        return {AGENT_ID: agent, AGENT_NAME: self.names.get(agent) or agent}

    def _workflow(self, event: dict[str, Any], owner: str, at: datetime) -> Span:
        if owner not in self.workflows:
            begins = event["type"] in _BEGIN_WORKFLOW
            name = str((event.get("data") or {}).get("name") or "") if begins else ""
            trace = event["traceId"]
            told = {WORKFLOW: name or owner, CONVERSATION: owner, "council.trace_id": trace}
            span = self._begin(event, INVOKE_WORKFLOW, name or owner, owner, at, told)
            self.workflows[owner] = span
        return self.workflows[owner]

    def _call(self, event: dict[str, Any], data: dict[str, Any], at: datetime) -> None:
        caller, hashed = event.get("fromAgentId"), event.get("taskHash")
        told = {"council.from_agent": caller, "council.task_hash": hashed}
        around = self._under_way(event)
        task = str(data.get("task") or event["eventId"])
        span = self._invocation(event, task, "toAgentId", at, told)
        span.kind = _CLIENT
        span.parent = around.id if around else span.parent

    def _under_way(self, event: dict[str, Any]) -> Span | None:
        """Return the run from which a call was made: the newest of the caller in this trace."""
        wanted = (event["traceId"], INVOKE_AGENT, event.get("fromAgentId"), None)
        for span in reversed(self.made):
            told = span.attributes
            if (span.trace, told[OPERATION], told.get(AGENT_ID), span.ended_at) == wanted:
                return span
        return None

    def _invocation(
        self, event: dict[str, Any], task: str, who: str, at: datetime, more: dict[str, Any]
    ) -> Span:
        agent = str(event.get(who) or "")
        told = {**self._names(agent), "council.task": task, **more}
        self.runs[task] = self._begin(event, INVOKE_AGENT, agent, task, at, told)
        return self.runs[task]

    def _run_of(self, event: dict[str, Any], data: dict[str, Any], owner: str) -> Span | None:
        """Return the run that an event belongs to: it names it, or is of its agent and round."""
        kind = str(event["type"])
        task = str(data.get("task") or data.get("runId") or "")
        if task:
            return self.runs.get(task)
        if kind not in _END_RUN:
            return None
        prefix = f"{owner}.{data.get('tour', data.get('cycle'))}.{event.get('agentId')}."
        mine = [one for key, one in self.runs.items() if key.startswith(prefix)]
        return mine[-1] if mine else None


def _span_event(event: dict[str, Any], at: datetime) -> dict[str, Any]:
    told = {f"council.{key}": value for key, value in (event.get("data") or {}).items()}
    told["council.event_id"] = event["eventId"]
    if event.get("agentId"):
        told[AGENT_ID] = event["agentId"]
    return {"timeUnixNano": _nano(at), "name": event["type"], "attributes": _attributes(told)}


def trace_export(
    events: Iterable[dict[str, Any]], *, names: dict[str, str], root_name: str, version: str
) -> dict[str, Any]:
    """Return events as one request of the OpenTelemetry protocol, in its JSON form.

    Args:
        events: The events of the log, oldest first.
        names: What agents are called, by their ids.
        root_name: The name of the workspace's folder.
        version: The version of this program.
    """
    found = _Spans(names)
    for event in events:
        found.take(event)
    resource = {"attributes": _attributes({SERVICE: "council", "council.workspace": root_name})}
    scope = {
        "scope": {"name": "council", "version": version},
        "spans": [one.to_json(found.last) for one in found.made],
    }
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def _nano(instant: datetime) -> str:
    return str(int(instant.timestamp()) * 1_000_000_000)


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": _value(value)}
        for key, value in values.items()
        if value not in (None, "", [], {})
    ]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}  # the protocol writes 64-bit integers as texts
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _attributes(value)}}
    return {"stringValue": "" if value is None else str(value)}
