"""The ledger: what agents ask of one another, and who may ask what of whom (document 004).

All messages and calls of a workspace are one document, since its guards span traces. A call is
judged by the ledger, never by its caller's word: how deep it lies, who waits above it, how many its
trace has had, how often this pair has spoken, and whether the same was asked just now. Whoever is
refused is told the code, the guard, and, where time helps, how long to wait.

Events have `type`, `at`, `traceId`, `agentId` (who did it) and, of messages and calls, the fields
of their records:

- `agent.message`, `agent.call.start`; `agent.call.end` and `agent.call.error` (number, outcome).
- `message.seen` (ids): they stood in a prompt of `agentId`, or were read. Older ledgers have
  `message.handed`, `message.read` and `message.answered`.
- `routing.decision`, `artifact.publish`, `artifact.fetch`: for the log alone.
- Of runs: see `runs/work.py`. The run of call 7 is `calls.7.AGENT.1`.
"""

from __future__ import annotations

from council.kernel import ids, times
from council.kernel.errors import Conflict, Invalid, Refused
from council.kernel.record import Any, Record
from council.kernel.times import datetime, timedelta
from council.runs import work as runs
from council.runs.work import Runs, Work

Event = dict[str, Any]

IDENT = "calls"
SUMMARY = 800  # characters of a summary, and of a message that is no artifact
OK, ERROR, TIMEOUT, REJECTED, INVALID = "ok", "error", "timeout", "rejected", "invalid"
KEPT = 100  # ended calls, and messages that were seen, that the state keeps
MINUTE = timedelta(seconds=60)
ACROSS = ("maxDepth", "maxCallsPerTrace")  # a call hands them on to the calls inside of it
_ERRORS = {
    ERROR: {"code": "E30"}, TIMEOUT: {"code": "E20", "guard": "timeoutMs"},
    INVALID: {"code": "E10", "guard": "expectedSchema"},
}  # fmt: skip


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


new = State
EVENTS = (
    *("agent.message", "agent.call.start", "agent.call.end", "agent.call.error"),
    *("message.seen", "message.handed", "message.read", "message.answered"),
    *("routing.decision", "artifact.publish", "artifact.fetch", *runs.TYPES),
)


def evolve(state: State, event: Event) -> None:
    """Fold one event."""
    kind = event["type"]
    body = {key: value for key, value in event.items() if key not in ("type", "agentId")}
    if kind.startswith("run."):
        runs.evolve(state.runs, event)
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


class Lists(Record, settled=True):
    """Who may send something; `*` is everybody."""

    allow: list[str] = ["*"]
    deny: list[str] = []


class Policy(Record, settled=True):
    """An agent's `policy.json`: who may send it what, how far its limits may be loosened."""

    call: Lists = Lists()
    message: Lists = Lists()
    limits: dict[str, int] = {}


def task_hash(target: str, message: str, refs: list[str], session: str) -> str:
    """Return the hash by which the same task is known again; of a message only its words count."""
    from unicodedata import normalize  # late: `status` compares no tasks

    words = " ".join(normalize("NFC", message).split())
    return ids.digest("\n".join((target, words, ",".join(sorted(refs)), session)))


def above(state: State, run: str, sender: str) -> Call | None:
    """Return the call below which a sender stands: that its run answers, or that it is at work on.

    The ledger says it, whatever the sender says: `run` only chooses among several.
    """
    open_ = [one for one in state.open() if one.to_agent_id == sender]
    named = [one for one in open_ if run.startswith(f"{IDENT}.{one.number}.")]
    return next(reversed(named or open_), None)


def limits_of(
    usual: dict[str, int], over: Call | None, wanted: dict[str, int], policy: Policy
) -> dict[str, int]:
    """Return the limits of a call below another: tightened as wanted, loosened where allowed."""
    made = usual | {name: over.limits[name] for name in ACROSS if over}
    for name, value in wanted.items():
        if name not in made:
            raise Invalid("bad-limit", f"no such limit: {name[:40]}", f"one of {', '.join(made)}")
        lower = name != "dedupeWindowMs"  # a tighter one is lower
        best = (max if lower else min)(made[name], policy.limits.get(name, made[name]))
        if value > best if lower else value < best:
            what = f"{name} = {value} is looser than {best}"
            raise Refused("E17", what, "the target's policy.json may allow it", guard="limits")
        made[name] = value
    return made


def repeats(state: State, made: Call, now: datetime) -> Call | None:
    """Return the call that asked the same in the same form, if it has its answer or is at work."""
    window = timedelta(milliseconds=made.limits["dedupeWindowMs"])
    keyed, what = with_key(state.calls, made), (made.task_hash, made.pair(), made.expected_schema)
    same = [one for one in state.calls if (one.task_hash, one.pair(), one.expected_schema) == what]
    same = [o for o in same if not o.status or abs(now - times.instant(o.at)) < window]
    return next((o for o in [*[keyed] * bool(keyed), *same[::-1]] if o.status in ("", OK)), None)


def accept(
    state: State, made: Call | Message, policy: Policy, limits: dict[str, int], now: datetime
) -> list[Event]:
    """Accept a call or message, or refuse it by the first guard that it fails."""
    kind, other = ("call", "inbox") if isinstance(made, Call) else ("message", "workflow")
    sender, target, session = made.from_agent_id, made.to_agent_id, made.session_key.split(":")
    if other in session or not all(ids.is_name(part.lower()) for part in session):
        what = f"no session for a {kind}: {made.session_key[:80]!r}"
        raise Invalid("bad-session", what, "leave --session out")
    lists: Lists = getattr(policy, kind)
    allow, deny = ({one.strip().casefold() for one in x} for x in (lists.allow, lists.deny))
    if {sender, "*"} & deny or not {sender, "*"} & allow:
        what = f"policy.json of {target} lets {sender} send it no {kind}"
        raise Refused("E08", what, f"memory/agents/{target}/policy.json", guard="policy")
    if isinstance(made, Call):
        _check_depth(state, made)
    most, sent = limits["pairRateLimitPerMinute"], [*state.messages, *state.calls]
    mine = sorted(times.instant(one.at) for one in sent if one.pair() == made.pair())
    recent = [at for at in mine if abs(now - at) < MINUTE]  # or the clock was set back
    if len(recent) >= most:
        wait = (recent[-most] if most else now) + MINUTE - now
        what = f"{made.pair()} has had its pairRateLimitPerMinute = {most}"
        ms = max(1, int(wait.total_seconds() * 1000))
        hint = f"wait {(ms + 999) // 1000} s"
        raise Refused("E31", what, hint, guard="pairRateLimitPerMinute", retryAfterMs=ms)
    of: Event = {"type": "agent.message", **made.to_json(), "agentId": sender}
    of |= {"type": "agent.call.start", "number": state.count + 1} if kind == "call" else {}
    return [of]


def _check_depth(state: State, made: Call) -> None:
    limits, line = made.limits, [*made.path, made.to_agent_id]
    shown, alone = " → ".join(line), "answer without it"
    if made.to_agent_id in made.path:
        what = f"a cycle: {shown}; {made.to_agent_id} itself waits for this answer"
        raise Refused("E16", what, alone, guard="cycle", path=line)
    if len(made.path) > limits["maxDepth"] + 1:
        what = f"depth {len(made.path) - 1} is over maxDepth = {limits['maxDepth']}: {shown}"
        raise Refused("E16", what, alone, guard="maxDepth", path=line)
    if state.traces.get(made.trace_id, 0) >= limits["maxCallsPerTrace"]:
        what = f"the trace has had its maxCallsPerTrace = {limits['maxCallsPerTrace']} calls"
        raise Refused("E17", f"{what}: {shown}", alone, guard="maxCallsPerTrace")


def ended(
    one: Call, at: str, status: str, text: str = "", words: str = "", results: tuple[str, ...] = ()
) -> Event:
    """Return the end of a call; `text` is the whole answer, or what there was of one."""
    short = text if len(text) <= SUMMARY else f"{text[: SUMMARY - 1].rstrip()}…"
    keys = ("number", "traceId", "fromAgentId", "toAgentId", "taskHash", "limits")
    return {
        "type": f"agent.call.{'end' if status == OK else 'error'}",
        **{key: value for key, value in one.to_json().items() if key in keys},
        **{"agentId": one.to_agent_id, "at": at, "status": status, "summary": short},
        **{"length": len(text), "results": list(results)},
        "error": {} if status == OK else {**_ERRORS[status], "message": words},
    }


def waiting(state: State, agent: str) -> list[Message]:
    """Return the messages that an agent has not had before its eyes, the most urgent first."""
    mine = [one for one in state.messages if one.to_agent_id == agent and not one.seen]
    return sorted(mine, key=lambda one: (one.priority, one.at))


def seen(state: State, agent: str, now: datetime, until: str) -> list[Event]:
    """Return that an agent has seen its messages of up to an instant."""
    made = {"type": "message.seen", "agentId": agent, "at": times.text(now)}
    mine = [one for one in waiting(state, agent) if one.at <= until]
    return [{**made, "traceId": one.trace_id, "ids": [one.id]} for one in mine]


def due(state: State, now: datetime) -> list[Event]:
    """End calls whose run is gone without an answer, or that found no place in time."""
    at = times.text(now)
    for one in state.open():
        tried = [run for run in state.runs.by_id.values() if run.tour == one.number]
        if tried and tried[-1].outcome == "failed":
            return [ended(one, at, ERROR, words=tried[-1].words)]
        if not tried and one.timeout_at <= at:
            words = f"{one.to_agent_id} could not be started in time"
            return [ended(one, at, TIMEOUT, words=words)]
    return []


def work(state: State, now: datetime) -> list[Work]:
    """Return the runs that open calls ask for: one each."""
    tried, at = {run.tour for run in state.runs.by_id.values()}, times.text(now)
    wanted = [one for one in state.open() if one.timeout_at > at and one.number not in tried]
    return [Work(agent=one.to_agent_id, task="call", tour=one.number) for one in wanted]


def wake(state: State, by_hand: frozenset[str] = frozenset()) -> datetime | None:  # noqa: ARG001
    """Return when the next call runs out of time."""
    ends = [one.timeout_at for one in state.open()]
    return times.instant(min(ends)) if ends else None


def with_key(many: list[Any], made: Sent) -> Any:
    """Return what the sender sent under this key; another text under it is a mistake."""

    def asks(one: Any) -> Any:
        form = getattr(one, "expected_schema", None)
        return one.message.split(), one.to_agent_id, sorted(one.artifact_ids), form

    mine = [one for one in many if made.key and one.key == made.key]
    found = next((one for one in mine[::-1] if one.from_agent_id == made.from_agent_id), None)
    if found and asks(found) != asks(made):
        raise Conflict("key-reused", "this key was used for another text", "use a new key")
    return found
