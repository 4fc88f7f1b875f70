"""What agents ask of one another, as values (document 004).

All messages and calls of a workspace are one document, the ledger, since its guards span traces.
Its events have `type`, `at`, `traceId`, `agentId` (who did it) and, of messages and calls, the
fields of their records:

- `agent.message`, `agent.call.start`; `agent.call.end` and `agent.call.error` (number, outcome).
- `message.seen` (ids): they stood in a prompt of `agentId`, or were read. Older ledgers have
  `message.handed`, `message.read` and `message.answered`.
- `routing.decision`, `artifact.publish`, `artifact.fetch`: for the log alone.
- Of runs: see `runs/work.py`. The run of call 7 is `calls.7.AGENT.1`.
"""

from __future__ import annotations

from council.kernel.record import Any, Record
from council.runs import work
from council.runs.work import Runs

Event = dict[str, Any]

IDENT = "calls"
SUMMARY = 800  # characters of a summary, and of a message that is no artifact
OK, ERROR, TIMEOUT, REJECTED, INVALID = "ok", "error", "timeout", "rejected", "invalid"
KEPT = 100  # ended calls, and messages that were seen, that the state keeps


class Sent(Record):
    """What a message and a call have in common; `key` is the sender's own and counts once."""

    trace_id: str
    from_agent_id: str
    to_agent_id: str
    session_key: str
    message: str
    at: str
    artifact_ids: list[str] = []
    key: str = ""

    def pair(self) -> str:
        """Return who sent it to whom."""
        return f"{self.from_agent_id} → {self.to_agent_id}"


class Message(Sent):
    """A message in an inbox; it starts nothing. `seen` is when its agent had it before its eyes."""

    id: str
    priority: str = "P1"
    seen: str = ""


class Call(Sent):
    """A call that was accepted, and what came of it."""

    number: int  # from 1; the round of its runs
    path: list[str]  # the agents that wait for its answer, from the first to the caller
    limits: dict[str, int]
    task_hash: str
    timeout_at: str
    expected_schema: Any = None
    carrier: dict[str, str] = {}  # the trace of its caller (`runs/tracing.py`)
    status: str = ""  # "" while under way
    summary: str = ""
    length: int = 0  # characters of the whole answer
    results: list[str] = []  # artifacts with the whole answer, or with what there was of one
    error: dict[str, Any] = {}  # `{code, guard?, message}`


class State(Record):
    """The ledger: open calls and unread messages, and the newest of the others."""

    rev: int = 0
    mark: str = ""
    name: str = IDENT
    messages: list[Message] = []
    calls: list[Call] = []
    traces: dict[str, int] = {}  # how many calls each trace had
    count: int = 0  # of all calls that there ever were
    runs: Runs = Runs()

    def call(self, number: int) -> Call:
        """Return the call of a number; a KeyError where it is not kept any more."""
        return {one.number: one for one in self.calls}[number]

    def open(self) -> list[Call]:
        """Return the calls that are under way."""
        return [one for one in self.calls if not one.status]


EVENTS = (
    *("agent.message", "agent.call.start", "agent.call.end", "agent.call.error"),
    *("message.seen", "message.handed", "message.read", "message.answered"),
    *("routing.decision", "artifact.publish", "artifact.fetch", *work.TYPES),
)


def evolve(state: State, event: Event) -> None:
    """Fold one event."""
    kind = event["type"]
    body = {key: value for key, value in event.items() if key not in ("type", "agentId")}
    if kind.startswith("run."):
        work.evolve(state.runs, event)
    elif kind == "agent.message":
        state.messages.append(Message.from_json(body))
        for past in [one for one in state.messages if one.seen][:-KEPT]:
            state.messages.remove(past)
    elif kind == "agent.call.start":
        call = Call.from_json(body)
        state.count = call.number
        state.calls.append(call)
        state.traces[call.trace_id] = state.traces.pop(call.trace_id, 0) + 1
        for trace in list(state.traces)[: -10 * KEPT]:
            del state.traces[trace]
        for old in [one for one in state.calls if one.status][:-KEPT]:
            state.calls.remove(old)
    elif kind.startswith("message."):
        for message in [one for one in state.messages if one.id in event["ids"]]:
            message.seen = event["at"]
    elif kind.startswith("agent.call."):
        for known in [one for one in state.calls if one.number == event["number"]]:
            for name in ("status", "summary", "length", "results", "error"):
                setattr(known, name, event[name])
