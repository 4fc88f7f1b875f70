"""Who may ask what of whom, and what follows from it: the guards of document 004.

A call is judged by the ledger, never by its caller's word: how deep it lies, who waits above it,
how many its trace has had, how often this pair has spoken, and whether the same was asked just now.
Whoever is refused is told the code, the guard, and, where time helps, how long to wait.
"""

from __future__ import annotations

from council.delegation import model as m
from council.delegation.model import EVENTS, Call, Event, Message, State, evolve
from council.kernel import ids, times
from council.kernel.errors import Conflict, Invalid, Refused
from council.kernel.record import Any, Record
from council.kernel.times import datetime, timedelta
from council.runs.work import Work

__all__ = ["EVENTS", "due", "evolve", "new", "wake", "work"]

new = State
MINUTE = timedelta(seconds=60)
ACROSS = ("maxDepth", "maxCallsPerTrace")  # a call hands them on to the calls inside of it
_ERRORS = {
    m.ERROR: {"code": "E30"},
    m.TIMEOUT: {"code": "E20", "guard": "timeoutMs"},
    m.INVALID: {"code": "E10", "guard": "expectedSchema"},
}


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
    named = [one for one in open_ if run.startswith(f"{m.IDENT}.{one.number}.")]
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
    ago = times.text(now - timedelta(milliseconds=made.limits["dedupeWindowMs"]))
    keyed, what = with_key(state.calls, made), (made.task_hash, made.pair(), made.expected_schema)
    same = [one for one in state.calls if (one.task_hash, one.pair(), one.expected_schema) == what]
    same = [one for one in same if not one.status or one.at > ago] + [keyed] * bool(keyed)
    return next((one for one in same[::-1] if one.status in ("", m.OK)), None)


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
    if {sender, "*"} & {*lists.deny} or not {sender, "*"} & {*lists.allow}:
        what = f"policy.json of {target} lets {sender} send it no {kind}"
        raise Refused("E08", what, f"memory/agents/{target}/policy.json", guard="policy")
    if isinstance(made, Call):
        _check_depth(state, made)
    most, sent = limits["pairRateLimitPerMinute"], [*state.messages, *state.calls]
    mine = sorted(times.instant(one.at) for one in sent if one.pair() == made.pair())
    recent = [at for at in mine if now - at < MINUTE]
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
    short = text if len(text) <= m.SUMMARY else f"{text[: m.SUMMARY - 1].rstrip()}…"
    keys = ("number", "traceId", "fromAgentId", "toAgentId", "taskHash", "limits")
    return {
        "type": f"agent.call.{'end' if status == m.OK else 'error'}",
        **{key: value for key, value in one.to_json().items() if key in keys},
        **{"agentId": one.to_agent_id, "at": at, "status": status, "summary": short},
        **{"length": len(text), "results": list(results)},
        "error": {} if status == m.OK else {**_ERRORS[status], "message": words},
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
            return [ended(one, at, m.ERROR, words=tried[-1].words)]
        if not tried and one.timeout_at <= at:
            words = f"{one.to_agent_id} could not be started in time"
            return [ended(one, at, m.TIMEOUT, words=words)]
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


def with_key(many: list[Any], made: m.Sent) -> Any:
    """Return what the sender sent under this key; another text under it is a mistake."""

    def asks(one: Any) -> Any:
        form = getattr(one, "expected_schema", None)
        return one.message.split(), one.to_agent_id, sorted(one.artifact_ids), form

    mine = [one for one in many if made.key and one.key == made.key]
    found = next((one for one in mine[::-1] if one.from_agent_id == made.from_agent_id), None)
    if found and asks(found) != asks(made):
        raise Conflict("key-reused", "this key was used for another text", "use a new key")
    return found
