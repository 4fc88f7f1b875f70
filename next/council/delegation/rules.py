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
from council.delegation.model import State as new  # noqa: N813 - a kind's function
from council.delegation.model import evolve as evolve
from council.kernel import times
from council.kernel.errors import Conflict, Invalid, Refused
from council.kernel.record import Any, Record
from council.runs.work import Run, Work

__all__ = ["EVENTS", "due", "evolve", "new", "wake", "work"]

MINUTE = timedelta(seconds=60)
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


def guarded(code: str, guard: str, what: str, hint: str, **more: Any) -> Refused:
    """Return the refusal of a guard, with a code of document 002."""
    return Refused(code, what, hint, guard=guard, **more)


def above(state: State, run: str, sender: str) -> Call | None:
    """Return the call below which a sender stands: that its run answers, or that it is at work on.

    The ledger says it, whatever the sender says: `run` only chooses among several.
    """
    open_ = [one for one in state.open() if one.to_agent_id == sender]
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
    if _with_key(state.messages, made):
        return []
    _check_session(made.session_key, ":workflow:", "delegated work, and messages never go there")
    policy.check("message", made.from_agent_id, made.to_agent_id)
    _check_rate(state, made, usual, now)
    event = {"type": "agent.message", "agentId": made.from_agent_id, **made.to_json()}
    return [event, *_answers(state, made)]


def repeats(state: State, made: Call, now: datetime) -> Call | None:
    """Return the call that asked the same in the same form, if it has its answer or is at work."""
    known: Call | None = _with_key(state.calls, made)
    if known is not None:
        return known
    ago = times.text(now - timedelta(milliseconds=made.limits["dedupeWindowMs"]))
    for one in reversed(state.calls):
        of = ((each.task_hash, each.from_agent_id, each.expected_schema) for each in (one, made))
        if next(of) == next(of) and (not one.status or (one.status == m.OK and one.at > ago)):
            return one
    return None


def call(state: State, made: Call, policy: Policy, now: datetime) -> list[Event]:
    """Accept a call, or refuse it by the first guard that it fails."""
    target, limits, line = made.to_agent_id, made.limits, [*made.path, made.to_agent_id]
    shown, alone = " → ".join(line), "answer without it"
    _check_session(made.session_key, ":inbox:", "an inbox, and delegated work never uses one")
    policy.check("call", made.from_agent_id, target)
    if target in made.path:
        what = f"a cycle: {shown}; {target} itself waits for this answer"
        raise guarded("E16", "cycle", what, alone, path=line)
    if made.depth > limits["maxDepth"]:
        what = f"depth {made.depth} is over maxDepth = {limits['maxDepth']}: {shown}"
        raise guarded("E16", "maxDepth", what, alone, path=line)
    if state.traces.get(made.trace_id, 0) >= limits["maxCallsPerTrace"]:
        what = f"the trace has had its maxCallsPerTrace = {limits['maxCallsPerTrace']} calls"
        raise guarded("E17", "maxCallsPerTrace", f"{what}: {shown}", alone)
    _check_rate(state, made, limits, now)
    event = {"type": "agent.call.start", "agentId": made.from_agent_id, **made.to_json()}
    return [{**event, "number": state.count + 1}, *_answers(state, made)]


def ended(
    one: Call, at: str, status: str, text: str = "", results: list[str] | None = None,
    code: str = "", guard: str = "", words: str = "",
) -> Event:  # fmt: skip
    """Return the end of a call; `text` is the whole answer, or what there was of one."""
    error = {"code": code, **({"guard": guard} if guard else {}), "message": words} if code else {}
    short = text if len(text) <= m.SUMMARY else f"{text[: m.SUMMARY - 1].rstrip()}…"
    end = {"status": status, "summary": short, "length": len(text), "error": error}
    keys = ("number", "traceId", "fromAgentId", "toAgentId", "taskHash", "limits")
    return {
        "type": f"agent.call.{'end' if status == m.OK else 'error'}",
        **{key: value for key, value in one.to_json().items() if key in keys},
        **{"agentId": one.to_agent_id, "at": at, "results": results or [], **end},
    }


def seen(state: State, agent: str, now: datetime, how: str) -> list[Event]:
    """Return that an agent's messages were `handed` to it in a prompt, or `read` by itself."""
    mine = [one for one in state.messages if one.to_agent_id == agent and not getattr(one, how)]
    return [
        {"type": f"message.{how}", "traceId": trace, "agentId": agent, "at": times.text(now)}
        | {"ids": [one.id for one in mine if one.trace_id == trace]}
        for trace in dict.fromkeys(one.trace_id for one in mine)
    ]


def waiting(state: State, agent: str) -> list[Message]:
    """Return the messages that an agent has not had before its eyes, the most urgent first."""
    mine = [o for o in state.messages if o.to_agent_id == agent and not (o.handed or o.read)]
    return sorted(mine, key=lambda one: (one.priority, one.at))


def due(state: State, now: datetime) -> list[Event]:
    """End calls whose run is gone without an answer, or that found no place in time."""
    at = times.text(now)
    for one in state.open():
        last = _last_run(state, one)
        if last is not None and last.outcome == "failed":
            return [ended(one, at, m.ERROR, code="E30", words=last.words)]
        if last is None and one.timeout_at <= at:
            words = f"{one.to_agent_id} could not be started in time"
            return [ended(one, at, m.TIMEOUT, code="E20", guard="timeoutMs", words=words)]
    return []


def work(state: State, now: datetime) -> list[Work]:
    """Return the runs that open calls ask for: one, and one more where it is asked again."""
    made = []
    for one in [one for one in state.open() if one.timeout_at > times.text(now)]:
        task, last = "question" if one.asked else "call", _last_run(state, one)
        if last is None or (one.asked and last.task != "question" and last.outcome):
            made.append(Work(agent=one.to_agent_id, task=task, tour=one.number))
    return made


def wake(state: State, by_hand: frozenset[str] = frozenset()) -> datetime | None:  # noqa: ARG001
    """Return when the next call runs out of time."""
    ends = [one.timeout_at for one in state.open()]
    return times.instant(min(ends)) if ends else None


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
    most, sent = limits["pairRateLimitPerMinute"], [*state.messages, *state.calls]
    mine = sorted(times.instant(one.at) for one in sent if one.pair() == made.pair())
    recent = [at for at in mine if now - at < MINUTE]
    if len(recent) >= most:
        wait = (recent[-most] if most else now) + MINUTE - now
        what = f"{made.pair()} has had its pairRateLimitPerMinute = {most}"
        ms = max(1, int(wait.total_seconds() * 1000))
        hint = f"wait {(ms + 999) // 1000} s"
        raise guarded("E31", "pairRateLimitPerMinute", what, hint, retryAfterMs=ms)


def _answers(state: State, made: m.Sent) -> list[Event]:
    """Return which messages are answered by something that goes back to their sender."""
    back = [o for o in state.messages if (o.from_agent_id, o.to_agent_id) == _reversed(made)]
    ids = [one.id for one in back if one.trace_id == made.trace_id and not one.answered]
    event = {"type": "message.answered", "traceId": made.trace_id, "agentId": made.from_agent_id}
    return [{**event, "ids": ids, "at": made.at}] if ids else []


def _reversed(made: m.Sent) -> tuple[str, str]:
    return made.to_agent_id, made.from_agent_id


def _with_key(many: list[Any], made: m.Sent) -> Any:
    """Return what the sender sent under this key; another text under it is a mistake."""
    mine = [one for one in many if made.key and one.key == made.key]
    found = next((one for one in mine if one.from_agent_id == made.from_agent_id), None)
    if found and (found.message, found.to_agent_id) != (made.message, made.to_agent_id):
        raise Conflict("key-reused", "this key was used for another text", "use a new key")
    return found


def _last_run(state: State, one: Call) -> Run | None:
    mine = [run for run in state.runs.by_id.values() if run.tour == one.number]
    return max(mine, key=lambda run: run.at, default=None)
