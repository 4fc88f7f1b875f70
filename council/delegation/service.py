"""What agents ask of one another, verb by verb; each returns what `json.md` says of it."""

from __future__ import annotations

import os
import time

from council.archive import artifacts
from council.delegation import ledger, routing
from council.delegation.ledger import Call, Event, Message, State
from council.delegation.row import CALLS
from council.kernel import codec, files, ids, times
from council.kernel.errors import Invalid, NotFound, Refusal, Refused
from council.kernel.record import TYPE_CHECKING, Any, camel
from council.kernel.times import timedelta
from council.runs import heartbeat, starting, supervisor, tracing

if TYPE_CHECKING:
    from council.app import App

POLL, SLACK = 0.005, 20.0  # seconds


def message(
    app: App, text: str, sender: str, to: str, *, trace: str = "", session: str = "",
    refs: list[str] | None = None, priority: str = "P1", key: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Leave a message in an agent's inbox; nothing is started."""
    if (priority := priority or "P1") not in ("P0", "P1", "P2"):
        raise Invalid("bad-priority", f"no such priority: {priority[:20]}", "P0, P1 or P2")
    made, _ = _sent(app, text, sender, to, trace, refs or [])
    session = session or f"agent:{to}:inbox"
    ident, policy = f"msg-{os.urandom(6).hex()}", policy_of(app, to)
    one = Message(**made, id=ident, session_key=session, priority=priority, key=key)

    def decide(state: State) -> list[Event]:
        known = ledger.with_key(state.messages, one)
        return [] if known else ledger.accept(state, one, policy, usual(app), app.now)

    one = ledger.with_key(_change(app, decide, sender).messages, one) or one
    keys, row = ("traceId", "toAgentId", "sessionKey", "priority"), one.to_json()
    facts = {key: row[key] for key in keys}
    return {"status": "stored", "messageId": one.id, **facts, "artifacts": one.artifact_ids}


def call(
    app: App, text: str, sender: str, to: str, *, trace: str = "", session: str = "",
    refs: list[str] | None = None, limits: dict[str, int] | None = None, schema: Any = None,
    key: str = "", accepted: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Run an agent once under the guards, wait for its end, and return what came of it.

    The same call again within the window of deduplication gets the same answer, or waits for it.
    `accepted` is called with the agent where no guard refused it.
    A guard's no is a result; other refusals are raised.
    """
    if schema is not None:
        from council.delegation import schemas  # late: few calls expect a form

        if fault := schemas.result(None, schema)[1]:
            raise Invalid("bad-schema", f"no schema that can be checked: {fault}", "correct it")
    made, over = _sent(app, text, sender, to, trace, refs or [])
    policy, found = policy_of(app, to), list[int]()

    def decide(state: State) -> list[Event]:
        known = ledger.repeats(state, one, app.now)
        found[:] = [known.number] if known else []
        if known is None:
            _check_agent(app, to)
        return [] if known else ledger.accept(state, one, policy, one.limits, app.now)

    try:
        agreed = ledger.limits_of(usual(app), over, limits or {}, policy)
        own = session or f"agent:{to}:workflow:{made['trace_id']}"
        one = Call(
            **made, key=key, session_key=own, limits=agreed, expected_schema=schema, number=0,
            carrier=tracing.carried(app.env),
            timeout_at=times.until(app.now, timedelta(milliseconds=agreed["timeoutMs"])),
            path=[*over.path, over.to_agent_id] if over else [sender],
            task_hash=ledger.task_hash(to, made["message"], made["artifact_ids"], own),
        )  # fmt: skip
        state = _change(app, decide, sender)
    except Refusal as refusal:
        if "guard" not in refusal.more:
            raise
        answer = {"status": ledger.REJECTED, "summary": "", "artifacts": [], "length": 0}
        return {**answer, "error": {**refusal.to_json(), "traceId": made["trace_id"]}}
    if not found:
        _brief(app, state.calls[-1])
    if accepted:
        accepted(to)
    one = _ended(app, (found or [state.count])[0])
    keys, row = ["status", "summary", "traceId", "sessionKey", "length"], one.to_json()
    keys += ["error"] if one.error else []
    return {**{key: row[key] for key in keys}, "artifacts": one.results}


def _check_agent(app: App, to: str) -> None:
    """Refuse an agent that may not be run now: it has no program, rests, or all is halted."""
    agent = app.agent(to)
    if agent.driver == "manual" or agent.faults:
        why = [*agent.faults, f"{to} answers by hand"][0]
        hint = f"leave it a message: council agent message --to {to}"
        raise Refused("E33", why, hint, guard="driver")
    if way := starting.hindrance(app, starting.registry_of(app), agent):
        raise Refused("E33", way.words, "call again later", guard=way.code)


def _ended(app: App, number: int) -> Call:
    """Return a call when it has ended; start its run when a place is free."""
    calls, ends = CALLS.document(app, ledger.IDENT), time.monotonic() + SLACK
    heartbeat.serve(app, CALLS, ledger.IDENT, begin=supervisor.apart())  # a run may have died
    while True:
        state: State = calls.peek()
        one = state.call(number)
        if one.status or time.monotonic() - ends > one.limits["timeoutMs"] / 1000:
            return one.copy(status=one.status or ledger.TIMEOUT)
        if not any(run.tour == number for run in state.runs.by_id.values()):
            starting.start(app, CALLS, ledger.IDENT, state, supervisor.apart())
        time.sleep(POLL)


def inbox(app: App, agent: str, reads: bool) -> list[dict[str, Any]]:
    """Return an agent's messages, the newest last; `reads`: the agent itself looks at them."""
    calls, at = CALLS.document(app, ledger.IDENT), times.text(app.now)
    if not calls.exists():
        return []
    read = _change(app, lambda now: ledger.seen(now, agent, app.now, at), agent) if reads else None
    return [m.to_json() for m in (read or calls.peek()).messages if m.to_agent_id == agent]


def publish(app: App, data: bytes, kind: str, by: str) -> dict[str, Any]:
    """Keep content under its digest; return what is known of it."""
    app.check_run(by)
    if len(kind) > 100 or not kind.isascii() or not kind.isprintable() or "/" not in kind:
        raise Invalid("bad-type", f"no content type: {kind[:40]!r}", "write it like text/plain")
    trace, at = app.env.get("COUNCIL_TRACE", ""), times.text(app.now)
    made = artifacts.publish(app.root, data, kind, by, trace, at).to_json()
    note(app, "artifact.publish", by, trace, artifactIds=[made["artifactId"]])
    return made


def fetch(app: App, ident: str, by: str) -> tuple[bytes, dict[str, Any]]:
    """Return the content of an artifact, and what is known of it."""
    data, facts = artifacts.fetch(app.root, ident), artifacts.about(app.root, ident).to_json()
    note(app, "artifact.fetch", by, facts["traceId"], artifactIds=[ident])
    return data, facts


def note(app: App, kind: str, agent: str, trace: str, **facts: Any) -> None:
    """Write an event of document 004 that changes nothing: about an artifact or a route."""
    event = {"type": kind, "traceId": trace or ledger.IDENT, "agentId": agent, **facts}
    _change(app, lambda _: [{**event, "at": times.text(app.now)}], agent)


def route(
    app: App, facts: list[str] | None = None, check: str = "", strict: bool = False
) -> dict[str, Any]:
    """Return which agent an inbound with those facts goes to and why, or what to `check`."""
    rules_, faults = routing.bindings(app.settings.tables.get("bindings", []))
    agents = {*app.agents()}
    scope = app.settings.tables.get("routing", {}).get("dm_scope", "main")
    if check:
        warnings = routing.check(rules_, agents, scope)
        return {"ok": not (faults or (strict and warnings)), "faults": faults, "warnings": warnings}
    words = ",".join(facts or []).replace(",", " ").split()
    made = routing.route(rules_, routing.facts_of(words), agents, scope)
    note(app, "routing.decision", made["agentId"], "", ruleId=made["ruleId"])
    return {**made, "faults": faults}


def usual(app: App) -> dict[str, int]:
    """Return document 004's limits as council.toml has them."""
    limits = app.settings.limits
    return {camel(name): getattr(limits, name) for name in list(limits._kinds)[-6:]}


def policy_of(app: App, agent: str) -> ledger.Policy:
    """Return an agent's policy: without a file all may write to it, with a broken one nobody."""
    path = f"memory/agents/{agent}/policy.json"
    try:
        data = files.content(f"{app.root}/{path}")
        return ledger.Policy.from_json(codec.loads(data, path) if data is not None else {}, path)
    except Invalid as error:
        fix = f"correct it, or delete it to allow every agent; until then none may call {agent}"
        raise Invalid("bad-policy", error.message, fix) from None


def _sent(
    app: App, text: str, sender: str, to: str, trace: str, refs: list[str]
) -> tuple[dict[str, Any], Call | None]:
    """Return what a message and a call have in common, and the call that the sender works on."""
    text, known = text.strip(), app.agents()
    if to not in known:
        raise NotFound("no-agent", f"no agent {to[:64]!r}", f"one of: {', '.join(known)}")
    if not text:
        raise Invalid("no-text", "nothing to say", "give a text, or - for standard input")
    calls, run = CALLS.document(app, ledger.IDENT), app.env.get("COUNCIL_TASK_ID", "")
    over = ledger.above(calls.peek(), run, sender) if calls.exists() else None
    trace = over.trace_id if over else trace or app.env.get("COUNCIL_TRACE", "")
    trace = trace or f"t-{os.urandom(4).hex()}"
    ids.checked_name(trace.lower(), "trace id")
    app.check_run(ids.checked_name(sender, "agent id"))
    for ref in refs:
        artifacts.fetch(app.root, ref)
    at, kept = times.text(app.now), list(refs)
    if len(text) > ledger.SUMMARY:  # a long text becomes an artifact
        of = (artifacts.TEXT, sender, trace, at)
        kept.append(artifacts.publish(app.root, text.encode(), *of).artifact_id)
        text = f"{text[: ledger.SUMMARY - 100].rstrip()}… (in full: {kept[-1]})"
    made = {"from_agent_id": sender, "to_agent_id": to, "message": text, "trace_id": trace}
    return {**made, "artifact_ids": kept, "at": at}, over


def _brief(app: App, one: Call) -> None:
    """Keep the brief of a hand-off: `memory/shared/briefs/TRACE-FROM-to-TO.json`."""
    name = f"{one.trace_id}-{one.from_agent_id}-to-{one.to_agent_id}"
    bounds = [f"{limit} = {most}" for limit, most in one.limits.items()]
    facts = {"goal": one.message, "inputs": [], "constraints": bounds, "refs": one.artifact_ids}
    data, number = codec.encoded({**facts, "callId": one.number, "at": one.at}) + b"\n", ""
    stem = f"{app.root}/memory/shared/briefs/{name}"
    while not artifacts.put(f"{stem}{number}.json", data):
        number = f"-{int(number[1:] or 1) + 1}"


def _change(app: App, decide: Any, by: str) -> State:
    change = CALLS.document(app, ledger.IDENT).change(decide, by=by, at=app.now, create=True)
    app.changed(change, CALLS)
    return change.state  # type: ignore[no-any-return]
