"""What agents ask of one another, as values (document 004).

All messages and calls of a workspace are one document, the ledger, since its guards span traces:
how often a pair speaks, and whether the same was asked just now. Its events, all with `type`, `at`,
`traceId`, `agentId` (who did it), and of messages and calls the fields of their records:

- `agent.message` and `agent.call.start`; `agent.call.asked` (number, fault: its answer has not the
  expected form); `agent.call.end` and `agent.call.error` (number, status, summary, artifactIds,
  error, length: characters of the whole answer).
- `message.handed` (ids: they stood in a prompt of `agentId`), `message.read` (ids) and
  `message.answered` (ids).
- `routing.decision`, `artifact.publish`, `artifact.fetch`: for the log alone.
- Of runs: see `runs/work.py`. The run of call 7 is `calls.7.AGENT.1`.
"""

from __future__ import annotations

from council.kernel import times
from council.kernel.record import Any, Record
from council.runs import work
from council.runs.work import Runs

Event = dict[str, Any]

IDENT = "calls"
SUMMARY = 800  # characters of a summary, and of a message that is no artifact
PRIORITIES = ("P0", "P1", "P2")
OK, ERROR, TIMEOUT, REJECTED, INVALID = "ok", "error", "timeout", "rejected", "invalid"
KEPT = 100  # ended calls, and messages that were read, that the state keeps


class Sent(Record):
    """What a message and a call have in common.

    Attributes:
        artifact_ids: The artifacts that it refers to.
        key: The sender's own; it counts once.
    """

    trace_id: str
    from_agent_id: str
    to_agent_id: str
    session_key: str
    message: str
    at: str
    artifact_ids: list[str] = []
    key: str = ""


class Message(Sent):
    """A message in an inbox; it starts nothing. Instants say when it was handed over and so on."""

    id: str
    priority: str = "P1"
    handed: str = ""
    read: str = ""
    answered: str = ""


class Call(Sent):
    """A call that was accepted, and what came of it.

    Attributes:
        number: From 1; the round of its runs.
        depth: 0 for a call by a person or from a conversation, one more inside of each call.
        path: The agents that wait for its answer, from the first to the caller.
        limits: Those of document 004 that hold for it.
        task_hash: By which the same task is known again.
        expected_schema: The JSON schema of its answer, None for text.
        timeout_at: When its time is up.
        asked: What was wrong with the form of its first answer, "" where nothing was.
        status: "" while under way, else `ok`, `error`, `timeout`, `rejected`, `invalid`.
        summary: At most 800 characters; `length` counts those of the whole.
        results: Artifacts with the whole answer, or with what there was of one.
        error: `{code, guard?, message}`, {} where there is none.
    """

    number: int
    depth: int
    path: list[str]
    limits: dict[str, int]
    task_hash: str
    expected_schema: Any = None
    timeout_at: str = ""
    asked: str = ""
    status: str = ""
    summary: str = ""
    length: int = 0
    results: list[str] = []
    error: dict[str, Any] = {}
    ended_at: str = ""


class State(Record):
    """The ledger: unread messages and the newest others, open calls and the newest others.

    Attributes:
        traces: Trace to the number of calls that it has had.
        count: How many calls and messages there ever were.
    """

    rev: int = 0
    mark: str = ""
    messages: list[Message] = []
    calls: list[Call] = []
    traces: dict[str, int] = {}
    count: int = 0
    runs: Runs = Runs()

    def call(self, number: int) -> Call | None:
        """Return the call of a number, None where it is not kept."""
        return next((one for one in self.calls if one.number == number), None)


def new() -> State:
    """Return an empty ledger."""
    return State()


def evolve(state: State, event: Event) -> None:
    """Fold one event."""
    kind = event["type"]
    body = {key: value for key, value in event.items() if key not in ("type", "agentId")}
    if kind.startswith("run."):
        work.evolve(state.runs, event)
    elif kind == "agent.message":
        state.count += 1
        state.messages.append(Message.from_json(body))
        for past in [one for one in state.messages if one.read or one.handed][:-KEPT]:
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
        for message in state.messages:
            if message.id in event["ids"]:
                setattr(message, kind.partition(".")[2], event["at"])
    elif kind.startswith("agent.call.") and (known := state.call(event["number"])):
        if kind == "agent.call.asked":
            known.asked = event["fault"]
            return
        known.status, known.summary = event["status"], event["summary"]
        known.length, known.results = event["length"], event["artifactIds"]
        known.error, known.ended_at = event["error"], event["at"]


EVENTS = dict.fromkeys(
    (
        *("agent.message", "agent.call.start", "agent.call.asked", "agent.call.end"),
        *("agent.call.error", "message.handed", "message.read", "message.answered"),
        *("routing.decision", "artifact.publish", "artifact.fetch", *work.TYPES),
    )
)


def task_hash(target: str, message: str, refs: list[str], session: str) -> str:
    """Return the hash by which the same task is known again; of a message only its words count."""
    from unicodedata import normalize  # late: `status` compares no tasks

    from council.kernel.ids import digest  # late: as above

    words = " ".join(normalize("NFC", message).split())
    return digest("\n".join((target, words, ",".join(sorted(refs)), session)))


def inbox(agent: str) -> str:
    """Return the session to which messages for an agent go."""
    return f"agent:{agent}:inbox"


def workflow(agent: str, trace: str) -> str:
    """Return the session of the calls of an agent in a trace; never its inbox."""
    return f"agent:{agent}:workflow:{trace}"


def is_recent(at: str, seconds: float, now: Any) -> bool:
    """Return whether an instant as text is less than so many seconds ago."""
    return float((now - times.instant(at)).total_seconds()) < seconds
