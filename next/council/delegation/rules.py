"""Who may ask what of whom, and what follows from it: the guards of document 004.

A call is judged by the ledger, never by its caller's word: how deep it lies, who waits above it,
how many its trace has had, how often this pair has spoken, and whether the same was asked just now.
Whoever is refused is told the code, the guard, and, where time helps, how long to wait.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.delegation import model as m
from council.delegation.model import EVENTS as EVENTS
from council.delegation.model import Call, Event, Message, State
from council.delegation.model import evolve as evolve
from council.delegation.model import new as new
from council.kernel import times
from council.kernel.errors import Conflict, Invalid, Refused
from council.kernel.record import Any, Record
from council.runs.work import Run, Work

MINUTE = 60.0
ACROSS = ("maxDepth", "maxCallsPerTrace")  # a call hands them on to the calls inside of it
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class Policy(Record, settled=True):
    """A target's `policy.json`: who may call it or leave messages, how far limits may be loosened.

    `allow` and `deny` map `call` and `message` to agents; `*` is everybody.
    """

    allow: dict[str, list[str]] = {}
    deny: dict[str, list[str]] = {}
    limits: dict[str, int] = {}

    def check(self, kind: str, sender: str, target: str) -> None:
        """Refuse a sender that may not send that kind."""
        denied, allowed = self.deny.get(kind, []), self.allow.get(kind, ["*"])
        if {sender, "*"} & {*denied} or not {sender, "*"} & {*allowed}:
            what = f"policy.json of {target} lets {sender} send it no {kind}"
            raise guarded("E08", "policy", what, f"memory/agents/{target}/policy.json")


def above(state: State, run: str, sender: str) -> Call | None:
    """Return the call below which a sender stands: that its run answers, or that it is at work on.

    The ledger says it, whatever the sender says: `run` only chooses among several.
    """
    open_ = [one for one in state.calls if one.to_agent_id == sender and not one.status]
    named = [one for one in open_ if run.startswith(f"{m.IDENT}.{one.number}.")]
    return next(iter([*named, *reversed(open_)]), None)


def limits_of(
    usual: dict[str, int], over: Call | None, wanted: dict[str, int], policy: Policy
) -> dict[str, int]:
    """Return the limits of a call below another: tightened as wanted, loosened where allowed.

    Raises:
        Refused: One is to be loosened, and the target's policy does not allow that (`E17`).
        Invalid: There is no such limit.
    """
    made = usual | {name: over.limits[name] for name in ACROSS if over}
    for name, value in wanted.items():
        if name not in made:
            raise Invalid("bad-limit", f"no such limit: {name[:40]}", f"one of {', '.join(made)}")
        lower = name != "dedupeWindowMs"  # a tighter one is lower
        best = (max if lower else min)(made[name], policy.limits.get(name, made[name]))
        if value > best if lower else value < best:
            what = f"{name} = {value} is looser than {best}"
            raise guarded("E17", "limits", what, "the target's policy.json may allow it")
        made[name] = value
    return made


def message(
    state: State, made: Message, policy: Policy, usual: dict[str, int], now: datetime
) -> list[Event]:
    """Leave a message in an inbox; the same key again leaves nothing."""
    known = next((one for one in state.messages if made.key and _is_same_key(one, made)), None)
    if known is not None:
        if known.message != made.message:
            raise Conflict("key-reused", "this key was used for another message", "use a new key")
        return []
    _check_session(made.session_key, ":workflow:", "delegated work, and messages never go there")
    policy.check("message", made.from_agent_id, made.to_agent_id)
    _check_rate(state, made, usual, now)
    event = {"type": "agent.message", "agentId": made.from_agent_id, **made.to_json()}
    return [event, *_answers(state, made)]


def repeats(state: State, made: Call, now: datetime) -> Call | None:
    """Return the call that asked the same in the same form, if it has its answer or is at work."""
    seconds = made.limits["dedupeWindowMs"] / 1000
    for one in reversed(state.calls):
        same = one.task_hash == made.task_hash and one.from_agent_id == made.from_agent_id
        same = same and one.expected_schema == made.expected_schema
        if made.key and _is_same_key(one, made):
            if not same:
                raise Conflict("key-reused", "this key was used for another call", "use a new key")
            return one
        if same and not one.status:
            return one
        if same and one.status == m.OK and m.is_recent(one.at, seconds, now):
            return one
    return None


def call(state: State, made: Call, policy: Policy, now: datetime) -> list[Event]:
    """Accept a call, or refuse it by the first guard that it fails."""
    target, limits, line = made.to_agent_id, made.limits, [*made.path, made.to_agent_id]
    shown = " → ".join(line)
    _check_session(made.session_key, ":inbox:", "an inbox, and delegated work never uses one")
    policy.check("call", made.from_agent_id, target)
    if target in made.path:
        what = f"a cycle: {shown}; {target} itself waits for this answer"
        raise guarded("E16", "cycle", what, "answer without it", path=line)
    if made.depth > limits["maxDepth"]:
        what = f"depth {made.depth} is over maxDepth = {limits['maxDepth']}: {shown}"
        raise guarded("E16", "maxDepth", what, "answer without it", path=line)
    if state.traces.get(made.trace_id, 0) >= limits["maxCallsPerTrace"]:
        what = f"the trace has had its maxCallsPerTrace = {limits['maxCallsPerTrace']} calls"
        raise guarded("E17", "maxCallsPerTrace", f"{what}: {shown}", "answer without it")
    _check_rate(state, made, limits, now)
    made = made.copy(number=state.count + 1)
    event = {"type": "agent.call.start", "agentId": made.from_agent_id, **made.to_json()}
    return [event, *_answers(state, made)]


def ended(
    one: Call, at: str, status: str, text: str = "", results: list[str] | None = None,
    code: str = "", guard: str = "", words: str = "",
) -> Event:  # fmt: skip
    """Return the end of a call; `text` is the whole answer, or what there was of one."""
    error = {"code": code, **({"guard": guard} if guard else {}), "message": words} if code else {}
    short = text if len(text) <= m.SUMMARY else f"{text[: m.SUMMARY - 1].rstrip()}…"
    return {
        "type": f"agent.call.{'end' if status == m.OK else 'error'}",
        **{"number": one.number, "traceId": one.trace_id, "agentId": one.to_agent_id},
        **{"fromAgentId": one.from_agent_id, "toAgentId": one.to_agent_id, "at": at},
        **{"taskHash": one.task_hash, "limits": one.limits, "status": status, "summary": short},
        **{"length": len(text), "artifactIds": results or [], "error": error},
    }


def seen(state: State, agent: str, now: datetime, how: str) -> list[Event]:
    """Return that an agent's messages were `handed` to it in a prompt, or `read` by itself."""
    mine = [one for one in state.messages if one.to_agent_id == agent and not getattr(one, how)]
    at = {"agentId": agent, "at": times.text(now)}
    by_trace = dict.fromkeys(one.trace_id for one in mine)
    return [
        {"type": f"message.{how}", "traceId": trace, **at}
        | {"ids": [one.id for one in mine if one.trace_id == trace]}
        for trace in by_trace
    ]


def waiting(state: State, agent: str) -> list[Message]:
    """Return the messages that an agent has not had before its eyes, the most urgent first."""
    mine = [one for one in state.messages if one.to_agent_id == agent]
    return sorted((one for one in mine if not one.handed and not one.read), key=_urgency)


def due(state: State, now: datetime) -> list[Event]:
    """End calls whose run is gone without an answer, or that found no place in time."""
    for one in [one for one in state.calls if not one.status]:
        last, at = _last_run(state, one), times.text(now)
        if last is not None and last.outcome == "failed":
            return [ended(one, at, m.ERROR, code="E30", words=last.words)]
        if last is None and one.timeout_at <= at:
            words = f"{one.to_agent_id} could not be started in time"
            return [ended(one, at, m.TIMEOUT, code="E20", guard="timeoutMs", words=words)]
    return []


def work(state: State, now: datetime) -> list[Work]:
    """Return the runs that open calls ask for: one, and one more where it is asked again."""
    made = []
    for one in [one for one in state.calls if not one.status and one.timeout_at > times.text(now)]:
        task, last = "question" if one.asked else "call", _last_run(state, one)
        if last is None or (one.asked and last.task != "question" and last.outcome):
            made.append(Work(agent=one.to_agent_id, task=task, tour=one.number))
    return made


def wake(state: State, by_hand: frozenset[str] = frozenset()) -> datetime | None:  # noqa: ARG001
    """Return when the next call runs out of time."""
    open_ = [one.timeout_at for one in state.calls if not one.status]
    return times.instant(min(open_)) if open_ else None


def time_limit(state: State, number: int, now: datetime) -> float:
    """Return the seconds that the run of a call may take."""
    one = state.call(number)
    return max(1.0, (times.instant(one.timeout_at) - now).total_seconds()) if one else 1.0


def checked_trace(trace: str) -> str:
    """Return a trace id that may be part of a file's name.

    Raises:
        Invalid: It is none (`bad-trace`).
    """
    if not 0 < len(trace) <= 64 or set(trace) - _LETTERS or trace[0] in "-_":
        hint = "use letters, digits, - and _, up to 64"
        raise Invalid("bad-trace", f"not a trace id: {trace[:80]!r}", hint)
    return trace


def _check_session(key: str, other: str, why: str) -> None:
    if set(key) - _LETTERS - set(":.@+") or not key[:1].isalnum() or len(key) > 180:
        hint = "use letters, digits and : - _ . @ +, up to 180"
        raise Invalid("bad-session", f"not a session key: {key[:80]!r}", hint)
    if other in f"{key}:":
        raise Invalid("bad-session", f"{key} is {why}", "leave --session out")


def _check_rate(state: State, made: m.Sent, limits: dict[str, int], now: datetime) -> None:
    """Refuse one more message or call of a pair in a sliding minute."""
    most, pair = limits["pairRateLimitPerMinute"], (made.from_agent_id, made.to_agent_id)
    sent: list[Any] = [*state.messages, *state.calls]
    mine = sorted(one.at for one in sent if (one.from_agent_id, one.to_agent_id) == pair)
    recent = [at for at in mine if m.is_recent(at, MINUTE, now)]
    if len(recent) < most:
        return
    oldest = times.instant(recent[-most]) if most else now
    wait = max(1, int((oldest + timedelta(seconds=MINUTE) - now).total_seconds() * 1000))
    what = f"{pair[0]} → {pair[1]} has had its pairRateLimitPerMinute = {most}"
    hint = f"wait {(wait + 999) // 1000} s"
    raise guarded("E31", "pairRateLimitPerMinute", what, hint, retryAfterMs=wait)


def _answers(state: State, made: m.Sent) -> list[Event]:
    """Return which messages are answered by something that goes back to their sender."""
    ids = [
        one.id
        for one in state.messages
        if (one.from_agent_id, one.to_agent_id) == (made.to_agent_id, made.from_agent_id)
        and one.trace_id == made.trace_id
        and not one.answered
    ]
    event = {"type": "message.answered", "traceId": made.trace_id, "agentId": made.from_agent_id}
    return [{**event, "ids": ids, "at": made.at}] if ids else []


def guarded(code: str, guard: str, what: str, hint: str, **more: Any) -> Refused:
    """Return the refusal of a guard, with a code of document 002."""
    return Refused(code, what, hint, guard=guard, **more)


def _is_same_key(one: m.Sent, made: m.Sent) -> bool:
    return (one.key, one.from_agent_id) == (made.key, made.from_agent_id)


def _last_run(state: State, one: Call) -> Run | None:
    mine = [run for run in state.runs.by_id.values() if run.tour == one.number]
    return max(mine, key=lambda run: run.at, default=None)


def _urgency(one: Message) -> tuple[str, str]:
    return one.priority, one.at
