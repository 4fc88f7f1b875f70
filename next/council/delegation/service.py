"""What agents ask of one another, verb by verb; each returns what `json.md` says of it."""

from __future__ import annotations

import os
import time
from datetime import timedelta

from council.agents import souls
from council.archive import artifacts
from council.delegation import model, routing, rules, schemas
from council.delegation.model import Call, Event, Message, State
from council.delegation.row import CALLS
from council.kernel import codec, times
from council.kernel.errors import Invalid, NotFound, Refusal
from council.kernel.record import TYPE_CHECKING, Any, camel
from council.runs import limits as hindrances
from council.runs import starting, supervisor

if TYPE_CHECKING:
    from council.app import App

POLL, SLACK = 0.005, 20.0  # seconds
_TEXT = "text/plain; charset=utf-8"


def message(
    app: App, text: str, sender: str, to: str, *, trace: str = "", session: str = "",
    refs: list[str] | None = None, priority: str = "P1", key: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Leave a message in an agent's inbox; nothing is started.

    Raises:
        Refusal: A guard says no, the agent is unknown, or there is nothing to say.
    """
    if priority not in model.PRIORITIES:
        raise Invalid("bad-priority", f"no such priority: {priority[:20]}", "P0, P1 or P2")
    made = _sent(app, text, sender, to, trace, refs or [])
    made |= {"session_key": session or model.inbox(to), "key": key, "priority": priority}
    ident, policy = f"msg-{os.urandom(6).hex()}", policy_of(app, to)
    found: list[Message] = []

    def decide(state: State) -> list[Event]:
        over = rules.above(state, _run(app), sender)
        one = Message(id=ident, **{**made, "trace_id": over.trace_id if over else made["trace_id"]})
        events = rules.message(state, one, policy, usual(app), app.now)
        same = [old for old in state.messages if (old.key, old.from_agent_id) == (key, sender)]
        found[:] = [one] if events else same
        return events

    _change(app, decide, sender)
    one = found[0]
    return {
        **{"status": "stored", "messageId": one.id, "traceId": one.trace_id, "toAgentId": to},
        **{"sessionKey": one.session_key, "priority": one.priority},
        "artifacts": one.artifact_ids,
    }


def call(
    app: App, text: str, sender: str, to: str, *, trace: str = "", session: str = "",
    refs: list[str] | None = None, limits: dict[str, int] | None = None, schema: Any = None,
    key: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Run an agent once under the guards, wait for its end, and return what came of it.

    The same call again within the window of deduplication gets the same answer, or waits for it.

    Raises:
        Refusal: Something of the call itself is wrong; a guard's no is a result.
    """
    if schema is not None:
        schemas.check(schema)
    settings = app.settings.agent(to, app.soul(to))
    made = _sent(app, text, sender, to, trace, refs or [])
    policy, found, repeated = policy_of(app, to), list[int](), list[bool]()

    def decide(state: State) -> list[Event]:
        over = rules.above(state, _run(app), sender)
        trace_ = over.trace_id if over else made["trace_id"]
        agreed = rules.limits_of(usual(app), over, limits or {}, policy)
        own = session or model.workflow(to, trace_)
        until = times.text(app.now + timedelta(milliseconds=agreed["timeoutMs"]))
        one = Call(
            **{**made, "trace_id": trace_, "session_key": own, "number": 0, "key": key},
            path=[*over.path, over.to_agent_id] if over else [sender],
            depth=over.depth + 1 if over else 0, limits=agreed, timeout_at=until,
            task_hash=model.task_hash(to, made["message"], made["artifact_ids"], own),
            expected_schema=schema,
        )  # fmt: skip
        known = rules.repeats(state, one, app.now)
        repeated[:] = [known is not None]
        if known is None and (settings.driver == "manual" or settings.faults):
            why = settings.faults[0] if settings.faults else f"{to} answers by hand"
            hint = f"leave it a message: council agent message --to {to}"
            raise rules.guarded("E33", "driver", why, hint)
        found[:] = [known.number if known else state.count + 1]
        return [] if known else rules.call(state, one, policy, app.now)

    try:
        _change(app, decide, sender)
    except Refusal as refusal:
        if "guard" not in refusal.more:
            raise
        error = {**refusal.to_json(), "traceId": made["trace_id"]}
        return {"status": model.REJECTED, "summary": "", "artifacts": [], "error": error}
    one = _ended(app, found[0], new=not repeated[0])
    return _result(one) | {"repeated": repeated[0]}


def _ended(app: App, number: int, new: bool) -> Call:
    """Return a call when it has ended; start its run when a place is free."""
    ledger = CALLS.document(app, model.IDENT)
    state = ledger.peek()
    one = _known(state, number)
    if new:
        _brief(app, one)
    ends = time.monotonic() + max(0.0, one.limits["timeoutMs"] / 1000) + SLACK
    while not one.status and time.monotonic() < ends:
        if not any(run.tour == number for run in state.runs.by_id.values()):
            started = starting.start(app, CALLS, model.IDENT, supervisor.apart(app))
            waiting = started.waiting.get(one.to_agent_id, "")
            if waiting not in ("", "no-place"):
                _withdraw(app, one, waiting)
        time.sleep(POLL)
        state = ledger.peek()
        one = _known(state, number)
    return one if one.status else one.copy(status=model.TIMEOUT)


def _withdraw(app: App, one: Call, guard: str) -> None:
    """End a call whose agent may not be run now: all is halted, it rests, a ceiling is reached."""
    agent = app.settings.agent(one.to_agent_id, app.soul(one.to_agent_id))
    why = hindrances.hindrance(app, hindrances.registry_of(app), agent)
    more: Any = {"code": "E33", "guard": guard, "words": why.words if why else guard}
    end = rules.ended(one, times.text(app.now), model.REJECTED, **more)
    _change(app, lambda now: [] if _known(now, one.number).status else [end], "council")


def _known(state: State, number: int) -> Call:
    found = state.call(number)
    if found is None:
        raise NotFound("no-call", f"call {number} is not kept any more", "call again")
    return found


def _result(one: Call) -> dict[str, Any]:
    made: dict[str, Any] = {"status": one.status, "summary": one.summary, "artifacts": one.results}
    made |= {"error": one.error} if one.error else {}
    of = {"traceId": one.trace_id, "callId": one.number, "sessionKey": one.session_key}
    return {**made, **of, "length": one.length, "truncated": one.length > model.SUMMARY}


def inbox(app: App, agent: str, reads: bool) -> list[dict[str, Any]]:
    """Return an agent's messages, the newest last; `reads`: the agent itself looks at them."""
    ledger = CALLS.document(app, model.IDENT)
    if not ledger.exists():
        return []
    state: State = ledger.peek()
    if reads:
        state = _change(app, lambda now: rules.seen(now, agent, app.now, "read"), agent).state
    return [one.to_json() for one in state.messages if one.to_agent_id == agent]


def note(app: App, kind: str, agent: str, trace: str, **facts: Any) -> None:
    """Write an event of document 004 that changes nothing: about an artifact or a route."""
    event = {"type": kind, "traceId": trace, "agentId": agent, "at": times.text(app.now), **facts}
    _change(app, lambda _: [event], agent)


def route(app: App, words: list[str], check: bool = False) -> dict[str, Any]:
    """Return which agent an inbound with those facts goes to and why, or what to check."""
    rules_, faults = routing.bindings(app.settings.tables.get("bindings", []))
    agents = {i: a.capabilities for i, a in souls.agents(app.root, app.settings).items()}
    scope = app.settings.tables.get("routing", {}).get("dm_scope", "main")
    if check:
        found = routing.check(rules_, agents, {}, scope)
        return {"ok": not faults, "faults": faults, "warnings": found}
    made = routing.route(rules_, routing.facts_of(words), agents, app.settings.coordinator, scope)
    note(app, "routing.decision", made["agentId"], model.IDENT, ruleId=made["ruleId"])
    return {**made, "faults": faults}


def usual(app: App) -> dict[str, int]:
    """Return document 004's limits as council.toml has them."""
    limits = app.settings.limits
    names = list(limits._kinds)[-6:]
    return {camel(name): getattr(limits, name) for name in names}


def policy_of(app: App, agent: str) -> rules.Policy:
    """Return an agent's policy; without a file everybody may send it everything.

    Raises:
        Invalid: The file cannot be read: then nobody may (`bad-policy`).
    """
    path = f"memory/agents/{agent}/policy.json"
    data = artifacts.read(f"{app.root}/{path}")
    try:
        table = codec.loads(data) if data else {}
        by_kind = {kind: table.get(kind, {}) for kind in ("call", "message")}
        of = {n: {k: t[n] for k, t in by_kind.items() if n in t} for n in ("allow", "deny")}
        return rules.Policy.from_json({**of, "limits": table.get("limits", {})})
    except (AttributeError, Invalid):
        fix = "correct it; until then nobody may call this agent"
        raise Invalid("bad-policy", f"{path} cannot be read", fix) from None


def _sent(app: App, text: str, sender: str, to: str, trace: str, refs: list[str]) -> dict[str, Any]:
    """Return what a message and a call have in common; a long text becomes an artifact."""
    text, known = text.strip(), souls.agents(app.root, app.settings)
    if to not in known:
        hint = f"one of: {', '.join(known)}"
        raise NotFound("no-agent", f"no agent {to[:64]!r}", hint)
    if not text:
        raise Invalid("no-text", "nothing to say", "give a text, or - for standard input")
    trace = rules.checked_trace(
        trace or app.env.get("COUNCIL_TRACE", "") or f"t-{os.urandom(4).hex()}"
    )
    for ref in refs:
        artifacts.fetch(app.root, ref)
    at, ids = times.text(app.now), list(refs)
    if len(text) > model.SUMMARY:
        of = (sender, trace, at)
        ids.append(artifacts.publish(app.root, text.encode(), _TEXT, *of).artifact_id)
        text = f"{text[: model.SUMMARY - 100].rstrip()}… (in full: {ids[-1]})"
    made = {"from_agent_id": sender, "to_agent_id": to, "message": text}
    made["trace_id"] = rules.checked_trace(trace)
    return {**made, "artifact_ids": ids, "at": at}


def _brief(app: App, one: Call) -> None:
    """Keep the brief of a hand-off: `memory/shared/briefs/TRACE-FROM-to-TO.json`."""
    stem = (
        f"{app.root}/memory/shared/briefs/{one.trace_id}-{one.from_agent_id}-to-{one.to_agent_id}"
    )
    bounds = [f"{name} = {value}" for name, value in one.limits.items()]
    facts = {"goal": one.message, "inputs": [], "constraints": bounds, "refs": one.artifact_ids}
    data, number = codec.encoded({**facts, "callId": one.number, "at": one.at}) + b"\n", 1
    while not artifacts.put(stem + (f"-{number}" if number > 1 else "") + ".json", data):
        number += 1


def _run(app: App) -> str:
    return app.env.get("COUNCIL_TASK_ID", "") if app.env.get("COUNCIL_TOKEN") else ""


def _change(app: App, decide: Any, by: str) -> Any:
    ledger = CALLS.document(app, model.IDENT)
    change = ledger.change(decide, by=by, at=app.now, create=True)
    app.changed(change)
    return change
