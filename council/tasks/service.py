"""The verbs of tasks: one function each, with what `json.md` names as its result."""

from __future__ import annotations

import time
from collections.abc import Callable

from council.agents.registry import Registry, Worker
from council.kernel import files, times
from council.kernel.errors import Conflict, NotFound, Refused, Usage
from council.kernel.record import TYPE_CHECKING, Any, camel
from council.runs import heartbeat, starting, tracing
from council.tasks import decisions, joining, prompts
from council.tasks.decisions import Play
from council.tasks.model import BUDGETS, OPEN, Context, Event, Rules
from council.tasks.row import CONTEXTS
from council.tasks.wire import tables, writing
from council.tasks.wire.model import Fault, Message, Parsed, split
from council.tasks.wire.writing import line_of, message_of

if TYPE_CHECKING:
    from council.app import App

POLL = 0.05  # seconds between two looks at a context that is waited for
Result = dict[str, Any]


def rules_of(app: App) -> Rules:
    """Return the table `[tasks]` of the settings; raise Invalid for a wrong value."""
    rows = {camel(name): value for name, value in app.settings.tables.get("tasks", {}).items()}
    timeout = times.duration(str(rows.get("replyTimeout", "1h")))
    rows |= {"replyTimeout": int(timeout.total_seconds())}
    rows |= {"budgets": BUDGETS | rows.get("budgets", {}), "backoff": app.settings.retry_backoff}
    return Rules.from_json(rows, "tasks")


def join(
    app: App, who: str, role: str, caps: list[str], max_depth: int | None, group: str, as_: str = ""
) -> Result:
    """Give an agent a protocol id by its role (`ROLES`), or change what it can do."""
    agent, role = (who or as_).casefold(), role or "worker"
    if not agent:
        raise Usage("usage", "which agent joins?", "council agent join ID --caps web_search")
    if agent not in app.agents():
        what = f"there is no agent {agent[:64]!r}"
        raise NotFound("no-agent", what, f"council agent add {agent}")
    fields, at, ident = {"caps": caps, "maxDepth": max_depth or 4}, times.text(app.now), ""

    def decide(registry: Registry) -> list[Event]:
        nonlocal ident
        known = joining.ROLES.get(role, role)
        events, text = joining.join(registry, agent, known, fields, at, group)
        ident = split(text)[1]["id"]
        return events

    change = app.registry().change(decide, by=agent, at=app.now, create=True)
    worker: Worker = change.state.workers[ident]
    outcome = "registered" if change.events else "unchanged"
    return {"outcome": outcome, "id": ident, "agent": agent, **worker.to_json()}


def request(
    app: App, text: str, caps: list[str], priority: str, complexity: str, ctx: str,
    values: dict[str, str],
) -> Result:  # fmt: skip
    """Give what a user asks for to the worker that fits best, in a new context or `ctx`."""
    rules, priority = rules_of(app), priority or "P1"
    word = complexity or "medium"
    if word not in (*rules.budgets, "unlimited"):
        hint = f"use {', '.join(rules.budgets)} or unlimited"
        raise Usage("usage", f"no such complexity: {word[:20]}", hint)

    previous, opened = "", CONTEXTS.document(app, ctx) if CONTEXTS.knows(app, ctx) else None
    if opened and opened.read().is_full():
        values, previous, ctx, opened = {**values, "prev": ctx}, ctx, "", None  # PR-644

    def decide(play: Play) -> None:
        if values:
            play.add("context.valued", values=values)
        decisions.request(play, text, caps, priority, rules.budgets.get(word))

    return {**_change(app, ctx, decide, "User", opened), "previous": previous}


def _change(app: App, ctx: str, act: Callable[[Play], None], by: str, opened: Any = None) -> Result:
    """Do something in a context (perhaps `opened`), or in a new one; start what it asks for."""
    if ctx and not CONTEXTS.knows(app, ctx):
        fix = "leave out the context for a new one"
        raise Refused("E42", f"{ctx[:20]} is no context", fix, verdict="E42")
    folders = (f"{app.state_folder}/{one}" for one in ("contexts", "closed"))
    taken = [one[1:] for folder in folders for one in files.names(folder) if one[:1] == "S"]
    name = ctx or f"S{1 + max([0, *map(int, filter(str.isdecimal, taken))])}"

    def decide(state: Context) -> list[Event]:
        play = Play(state, app.now)
        if state.closed_at:
            raise Refused("E42", f"{ctx} is closed", f"see: council show {ctx}", verdict="E42")
        if bool(state.name) is not bool(ctx):
            raise Conflict("taken", f"{name} was opened or closed just now", "try again")
        if not ctx:
            facts: Result = {"name": name, "lang": app.settings.language or "en"}
            facts |= {"carrier": one} if (one := tracing.carried(app.env)) else {}
            play.add("context.opened", **facts, rules=rules_of(app).to_json())
        play.take(_news(app, play.state))
        act(play)
        return play.events

    try:
        document = opened or CONTEXTS.document(app, name)
        change = document.change(decide, by=by, at=app.now, create=not ctx)
    except Conflict as error:
        if error.code == "taken" and not ctx:  # another process has opened it
            return _change(app, ctx, act, by)
        raise
    app.changed(change, CONTEXTS)
    if not app.env.get("COUNCIL_TOKEN"):  # inside a run its supervisor does that
        if change.state.closed_at:
            CONTEXTS.finish(app, name)
        elif CONTEXTS.module.work(change.state, app.now):
            starting.start(app, CONTEXTS, name, change.state)
    messages = [message_of(event["line"]) for event in change.events if "line" in event]
    first = {"task": messages[0].task, "message": line_of(messages[0])} if messages else {}
    where = {"outcome": "delivered", "context": name, "task": "", "message": ""}
    return {**where, **first, "to": [one.receiver for one in messages], **_answer(change.state)}


def _news(app: App, state: Context) -> list[Event]:
    """Return who has joined, and how busy they are now."""
    names = [name for name in CONTEXTS.names(app) if name != state.name]
    states = [state, *CONTEXTS.states(app, names).values()]
    busy = [hop.worker for one in states for hop in one.open_hops()]
    loads = {worker: busy.count(worker) for worker in {*busy}}
    return joining.news(state, starting.registry_of(app, True), app.now, loads)


def _answer(state: Context) -> Result:
    questions = [state.tasks[ident].question for ident in state.pending()]
    code = next((one.code for one in state.tasks.values() if one.code), "")
    done = bool(state.closed_at)
    return {"answer": state.answer, "done": done, "verdict": code, "asked": questions}


def wait(app: App, name: str, seconds: float) -> Result:
    """Beat until a context is closed or asks a person, or the time has passed."""
    ends = time.monotonic() + seconds
    while True:
        app.again()
        if not app.env.get("COUNCIL_TOKEN"):  # inside a run its supervisor does that
            heartbeat.beat(app, name)
        state: Context = CONTEXTS.document(app, name).peek()
        if state.closed_at or state.pending() or time.monotonic() > ends:
            return _answer(state)
        time.sleep(POLL)


def _named(app: App, which: str) -> tuple[str, str]:
    """Return context and task that `S1`, `S1/T1` or `T1` names; "" for what it does not name.

    `T1` is that of the one open context that has it; one that waits for a person counts first.
    """
    name, _, task = which.partition("/")
    if CONTEXTS.knows(app, name):
        return name, task
    states = CONTEXTS.states(app, CONTEXTS.names(app))
    having = [one for one, state in states.items() if which in state.tasks]
    having = [one for one in having if which in states[one].pending()] or having
    if len(having) > 1:
        whole = [f"{one}/{which}" for one in having]
        what, hint = f"several contexts have {which}", f"say which: {', '.join(whole)}"
        raise Usage("ambiguous", what, hint, candidates=whole)
    return (having[0], which) if having else ("", "")


def say(app: App, to: str, text: str, by: str) -> Result | None:
    """Answer what a task asks a person; None where `to` names none."""
    (name, task), words = _named(app, to), ""

    def decide(play: Play) -> None:
        nonlocal words
        words = decisions.reply(play, task or next(iter(play.state.pending()), ""), text)

    if not name:
        return None
    return {**_change(app, name, decide, by), "outcome": "recorded", "understood": words}


def cancel(app: App, which: str, why: str, by: str) -> Result | None:
    """Cancel a task, or all of a context; None where `which` names none."""
    name, task = _named(app, which)

    def decide(play: Play) -> None:
        tasks = play.state.tasks
        for ident in [task] if task else [key for key, one in tasks.items() if one.state in OPEN]:
            decisions.cancel(play, ident, why)

    if not name:
        return None
    result = _change(app, name, decide, by)
    state: Context = CONTEXTS.document(app, name).peek()
    awaited = [hop.asked for hop in state.open_hops()]
    heartbeat.end_runs(app, [o for o in state.runs.by_id.values() if o.tour not in awaited])
    return {**result, "outcome": "cancelled"}


def send(app: App, text: str, agent: str, ctx: str = "") -> Result:
    """Play one line by hand: it is checked, judged and followed like any other (PR-503, PR-598).

    A line that does not fit what is known is Refused with the code of V5.
    """
    line, agent = text.strip(), agent or app.env.get("COUNCIL_AGENT", "")
    message = message_of(line)
    if message.kind in "JLKHQ":
        return _registered(app, message, agent)
    worker = starting.registry_of(app, True).workers.get(message.sender)
    if worker and agent not in ("", worker.agent_id):
        raise Refused("not-you", f"{message.sender} is not yours", "send your own lines")
    if worker or app.env.get("COUNCIL_TOKEN"):
        app.check_run(worker.agent_id if worker else "", is_agent=True)
    ctx = ctx or message.context.replace("S0", "")
    ctx = ctx or ("" if message.kind in "RD" else _named(app, message.task)[0])

    def decide(play: Play) -> None:
        state = play.state
        if variable := state.rules.auth_key_env:
            reason = writing.verify(line, app.env.get(variable, ""), state.lines.values())
            _judge("E90" * (reason != "valid"), f": auth is {reason}")
        _judge(decisions.judge(message, state))
        _played(play, message)

    return _change(app, ctx, decide, agent or message.sender)


def resolved(app: App, line: Parsed) -> dict[str, str | None]:
    """Return what the references of a line mean in its context; None is a fault."""
    ctx = str(line.fields.get("ctx"))
    state = CONTEXTS.document(app, ctx).peek() if CONTEXTS.knows(app, ctx) else Context()
    values = state.values(str(line.fields.get("data")))
    line.errors += [Fault(code="E43", rule="PR-545", segment=11)] * (None in values.values())
    return values


def _judge(code: str, why: str = "") -> None:
    if code:
        what = f"{code}: {tables.meanings('V5')[code]}{why}"
        raise Refused(code, what, f"council explain {code}", verdict=code)


def _played(play: Play, message: Message) -> None:
    """Do what a line says that was judged."""
    state, kind, task = play.state, message.kind, message.task or f"T{len(play.state.tasks) + 1}"
    message, is_worker = message.copy(task=task), message.sender[:1] == "W"
    hops = [hop for hop in state.open_hops(task) if hop.worker == message.sender]
    if kind in "RD" and task not in state.tasks:
        called = message.pairs.get("call")
        fields = {"text": message.data, "caps": [called] if called else []}
        play.add("task.created", task=task, **fields, priority=message.priority or "P1")
    if kind == "R":
        decisions.send(play, message)
    elif kind == "D":
        play.add("task.asked", message=message)
    elif kind in "CS" and not is_worker and task in state.pending():
        text = message.pairs.get("choice") or message.pairs.get("answer") or message.data
        decisions.reply(play, task, text)
    elif message.state == "X" and not is_worker and task in state.tasks:
        decisions.cancel(play, task, message.data)
    elif hops:
        _judge(decisions.strange(state, hops[0], message))
        decisions.take(play, hops[0], message, "")
    else:
        play.add("task.noted", message=message)


def _registered(app: App, message: Message, agent: str) -> Result:
    """Play a line to the registry, and return what O1 answers."""
    text = ""

    def decide(registry: Registry) -> list[Event]:
        nonlocal text
        events, text = joining.answer(registry, message, agent, app.now)
        return events

    change = app.registry().change(decide, by=message.sender, at=app.now, create=True)
    kind = "S" if message.kind == "Q" else "A"
    ends = {"sender": message.receiver, "receiver": message.sender, "number": message.number + 1}
    reply = message.copy(**ends, kind=kind, data=text, state="D", code="", context="S0", task="T0")
    line = line_of(reply)
    outcome = {"J": "registered", "L": "left"}.get(message.kind, "changed")
    result: Result = {"outcome": outcome if change.events else "unchanged", "context": ""}
    result |= {"task": "T0", "message": line, "to": [message.sender], "answer": line}
    return {**result, "done": True, "verdict": "", "asked": []}


def prompt(app: App, agent: str, kind: str) -> Result:
    """Return the prompt of an agent as worker, research worker or orchestrator."""
    play = Play(Context(lang=app.settings.language or "en", rules=rules_of(app)), app.now)
    play.take(_news(app, play.state))
    mine = [key for key, one in play.state.workers.items() if one.agent_id == agent]
    ident = "O1" if kind == "orchestrator" else (mine or ["W?"])[0]
    text = prompts.prompt(app, kind, ident, play.state, agent=agent)
    return {"agent": agent, "id": ident, "kind": kind, "prompt": text}
