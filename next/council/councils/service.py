"""The verbs of conversations: one function each, with what `json.md` names as its result.

The command line, HTTP and MCP call these and decide nothing themselves. A verb finds who speaks and
how that is known, lets a pure decision say what happens, and then starts what became due.
"""

from __future__ import annotations

import os
import time

from council.councils import decisions, hearing, kind, procedures, rules, sight
from council.councils.hearing import Stated as Stated
from council.councils.model import Event, Heard, State
from council.councils.opening import Opening as Opening
from council.councils.opening import config, members, warnings
from council.councils.positions import plain
from council.councils.service_views import place, transition, understood
from council.kernel import ids, times
from council.kernel.errors import NotFound, Refusal, Refused, Usage
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from council.app import App
    from council.kernel.document import Change, Document
    from council.runs.work import Run, Work

DEFAULT = "active"
POLL = 0.1  # seconds between two looks of `wait`


# --- which conversation, and who ---


def named(app: App, which: str = "") -> str:
    """Return the name of the open conversation that a word means (see `App.find`).

    "" is COUNCIL_NAME, else the one called `active`, else the only one that is open.
    """
    which = which or app.env.get("COUNCIL_NAME", "") or DEFAULT
    return which if is_open(app, which) else app.find("" if which == DEFAULT else which)


def is_open(app: App, name: str) -> bool:
    """Return whether a conversation of exactly this name is open."""
    return ids.is_name(name) and app.is_there(name)


def find(app: App, which: str, at: int = 0) -> State:
    """Return a conversation, open or over, at a revision (0 is now); see `document`."""
    found = document(app, which)
    if at or found.page:
        state: State = found.peek(at) if at else found.read()
        return state
    past = closed(app, os.path.basename(found.folder))
    if past is not None:
        return past
    from council.archive import minutes  # late: only where a journal is gone

    return State.from_json(minutes.block(minutes.find(app.root, which)["path"]))


def document(app: App, which: str) -> Document[Any]:
    """Return the document of a conversation, open or over; one that is over has no page.

    Raises:
        NotFound: There is none.
        Usage: Several fit.
    """
    try:
        return app.conversation(named(app, which))
    except NotFound:
        if not which:
            raise
        from council.archive import minutes  # late: only for what is over

        return app.closed(minutes.find(app.root, which)["conversation"])


def closed(app: App, ident: str) -> State | None:
    """Return a conversation that is over, None where its journal is gone."""
    try:
        found: State = app.closed(ident).peek()
    except NotFound:
        return None
    return found


def who(app: App, given: str) -> str:
    """Return who speaks: `--as`, else COUNCIL_AGENT, else the agent whose folder one is in.

    Raises:
        Usage: None of these says (`who`).
    """
    found = given or app.env.get("COUNCIL_AGENT", "") or _of_folder(app)
    if not found:
        raise Usage("who", "it is not known who you are", "say --as ID, or set COUNCIL_AGENT")
    return found.strip().casefold()


def person(app: App, given: str = "") -> str:
    """Return who speaks as a person: like `who`, else the login name."""
    return given or app.env.get("COUNCIL_AGENT", "") or app.env.get("USER", "") or "person"


def _of_folder(app: App) -> str:
    try:
        folder = os.path.realpath(os.getcwd())
    except OSError:
        return ""
    above = os.path.realpath(f"{app.root}/memory/agents") + "/"
    return folder.removeprefix(above).partition("/")[0] if folder.startswith(above) else ""


def _origin(app: App, state: State, agent: str) -> str:
    """Return how it is known that an agent speaks: `verified` by a run's token, or `claimed`.

    Raises:
        Refused: The token is another agent's, or of no run here; or claims are refused.
    """
    if app.env.get("COUNCIL_TOKEN"):
        run = _own_run(app, state)
        if run is None:
            raise Refused("unknown-run", f"this run is not one of {state.name}", "print the answer")
        if run.agent != agent:
            raise Refused("not-you", f"this run is {run.agent}'s, not {agent}'s", "leave out --as")
        return "verified"
    from council.agents import settings  # late: `wait` and `context` do not ask

    if settings.load(app.root).trust == "strict":
        hint = 'answer on the page, or set trust = "open" in council.toml'
        raise Refused("not-verified", f"{agent} has to answer from its own run", hint)
    return "claimed"


def _own_run(app: App, state: State) -> Run | None:
    mine = ids.digest(app.env.get("COUNCIL_TOKEN", ""))
    return next((run for run in state.runs.by_id.values() if run.token == mine), None)


# --- the verbs ---


def convene(app: App, opening: Opening, *, dry_run: bool = False) -> dict[str, Any]:
    """Open a conversation and wake its first speakers.

    Raises:
        Usage: A value is not one of its choices, or fewer than two would take part.
        NotFound: An agent is not one of the workspace.
        Conflict: Another conversation of that name is open.
    """
    found = members(app, opening)
    fields: dict[str, Any] = {
        **{"topic": opening.topic, "brief": opening.brief, "procedure": opening.procedure},
        "conversation_id": ids.uuid4(os.urandom(16)),
        "name": ids.checked_name(opening.name or DEFAULT, "name"),
        "lang": opening.lang or app.settings.language or "en",
        **{"config": config(app, opening, found), "participants": found, "at": app.now},
    }
    made: dict[str, Any] = {"path": app.page_of(fields["name"]), "warnings": warnings(found)}
    made |= {"participants": list(found), "dryRun": dry_run}
    if dry_run:
        state = kind.new()
        for event in decisions.opened(state, **fields):
            kind.evolve(state, event)
        return {**place(state), **made, "woken": [], "waiting": {}, "runs": 0}
    change = app.conversation(fields["name"]).change(
        lambda state: decisions.opened(state, **fields), by=person(app), at=app.now, create=True
    )
    after = _follow_up(app, fields["name"], change)
    return {**place(change.state), **made, **after, "runs": len(after["woken"])}


def respond(app: App, name: str, agent: str, text: str, stated: Stated) -> dict[str, Any]:
    """Record the answer of an agent in the round that is open, and start what follows from it.

    Raises:
        Refused: The agent is not asked now, or is not known to be itself.
        Conflict: It has answered otherwise, or the key stands for another text.
        Invalid: The text or a stated value cannot be accepted.
    """
    told = {name: getattr(stated, name) for name in ("amend", "key", "status")}
    told |= {"kind": stated.only, "task": stated.task or app.env.get("COUNCIL_TASK_ID", "")}
    told["round_mark"] = stated.mark or app.env.get("COUNCIL_ROUND", "")
    said, before = hearing.Understood(text=text, heard=Heard()), State()

    def decide(state: State) -> list[Event]:
        nonlocal said, before
        before = state
        told["origin"] = _origin(app, state, agent)
        now = [e for e in state.entries if (e.agent, e.tour) == (agent, state.tour)]
        known = [e for e in now if plain(e.text) == plain(text)]
        if known and not stated.is_answer():  # a repeat is not read again
            said = hearing.Understood(text=text, heard=known[-1].heard)
        elif agent in state.participants or (state.rounds and agent in state.round().order):
            said = hearing.heard(state, agent, text, stated)
        told["question"] = said.question
        if stated.only and state.rounds and stated.only == procedures.kind_of(state.phase):
            told["round_mark"] = told["round_mark"] or state.round().mark  # no other can be meant
        return decisions.respond(state, agent, said.text, said.heard, at=app.now, **told)

    document = app.conversation(name)
    if stated.check:
        events = decide(document.read())
        after: dict[str, Any] = {"outcome": "checked", "transition": None}
        after |= {"minutes": "", "woken": []}
    else:
        try:
            change = document.change(decide, by=agent, at=app.now)
        except Refusal as refusal:
            _keep_refused(app, before, agent, text, refusal)
            raise
        events = change.events
        moved = transition(change.state, events)
        after = {"outcome": decisions.outcome_of(events)}
        after["transition"] = moved and {"from": moved["from"], "to": moved["to"]}
        after |= _follow_up(app, name, change)
    made = next((one for one in events if one.get("agent") == agent and "text" in one), {})
    tour, is_asked = made.get("tour", before.tour), made.get("type") == "asked"
    return {
        **place(before),
        **{"agent": agent, "phase": made.get("phase", before.phase), "tour": tour},
        "task": f"{before.conversation_id}.{tour}.{agent}",
        "understood": understood(said.heard, made.get("status", "")),
        "faults": [one.to_json() for one in said.heard.faults],
        **{"askedAgain": is_asked, "question": said.question if is_asked else ""},
        **after,
    }


def _keep_refused(app: App, state: State, agent: str, text: str, refusal: Refusal) -> None:
    """Put an answer that is refused in its author's folder."""
    folder = f"{app.root}/memory/agents/{agent}/tasks"
    if not text or not ids.is_name(agent) or not os.path.isdir(folder):
        return
    path = f"{folder}/refused-{ids.digest(text)[:8]}.md"
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(f"{state.name} ({state.conversation_id}): {refusal.message}\n\n{text}\n")
    except OSError:
        pass  # the refusal is what its author has to see


def prompt_of(app: App, state: State, agent: str, task: str, run: str | None) -> str:
    """Return what an agent is told; `run` is the id of the run whose output is the answer."""
    from council.councils import prompts  # late: `respond` tells nobody anything

    checklist, names = "", ["COUNCIL.fr.md", "COUNCIL.md"][state.lang != "fr" :]
    for name in names if state.phase == "CHALLENGE" else []:
        try:
            path = f"{app.root}/skills/council/references/{name}"
            with open(path, encoding="utf-8", errors="replace") as file:
                checklist = checklist or file.read(100_000)
        except OSError:
            pass
    return prompts.prompt(state, agent, task, soul=app.soul(agent), checklist=checklist, run=run)


def context(app: App, name: str, agent: str, form: str = "") -> dict[str, Any]:
    """Return what an agent may see now, with the prompt of a task (`form`; "" is what is asked).

    Raises:
        Refused: It takes no part (`not-a-participant`).
    """
    state = app.conversation(name).read()
    now, one = state.round(), decisions.member(state, agent)
    if app.env.get("COUNCIL_TOKEN"):
        _origin(app, state, agent)  # a run sees what its own agent may see
    may, why = agent in rules.asked(state), ""
    task = ("question" if agent in now.asked else procedures.kind_of(state.phase)) if may else ""
    if not may:
        why = "answered" if one and one.status != "WAITING" else "not-your-turn"
        why = "paused" if state.paused_at else "over" if state.ended_at or now.ended_at else why
    seen = [one for one in sight.visible(state, agent) if one.kind != "guidance"]
    keys = ("id", "agent", "phase", "tour", "text")
    return {
        **place(state),
        **{"agent": agent, "task": task, "status": one.status if one else ""},
        **{"mayAnswer": may, "whyNot": why, "blind": now.blind, "round": now.mark},
        **{"topic": state.topic, "brief": state.brief, "deadline": state.timeout_at},
        "participants": [
            {"id": ident, "label": f"{peer.emoji} {peer.name}".strip(), "status": peer.status}
            for ident, peer in state.participants.items()
        ],
        "own": [{"tour": e.tour, "text": e.text} for e in seen if e.agent == agent],
        "contributions": [{k: getattr(e, k) for k in keys} for e in seen if e.agent != agent],
        "prompt": prompt_of(app, state, agent, form or task, None),
    }


def wait(app: App, which: str, agent: str, seconds: float | None) -> dict[str, Any]:
    """Wait until an agent is asked (`turn`), all is over (`over`), or time is up (`timeout`).

    Raises:
        Refused: The agent takes no part (`not-a-participant`).
    """
    ends = time.monotonic() + (seconds or 0)
    try:
        document = app.conversation(named(app, which))
        state = document.read()
    except NotFound:
        past = find(app, which or app.env.get("COUNCIL_NAME", "") or DEFAULT)
        return {**place(past), "agent": agent, "minutes": past.minutes, "outcome": "over"}
    if agent not in (state.config.synthesizer, state.config.coordinator):
        decisions.member(state, agent)
    while True:
        made = {**place(state), "agent": agent, "minutes": state.minutes}
        if state.ended_at:
            return {**made, "outcome": "over"}
        if agent in rules.asked(state):
            return {**made, "outcome": "turn"}
        if seconds is not None and time.monotonic() >= ends:
            return {**made, "outcome": "timeout"}
        time.sleep(POLL)
        try:
            state = document.read()
        except NotFound:
            ended = state.copy(ended_at=times.text(app.now))
            state = closed(app, state.conversation_id) or ended


def say(app: App, name: str, text: str, to: str, by: str, key: str = "") -> dict[str, Any]:
    """Tell the participants something, or one of them; `to` may also name a conversation."""
    if to and not name and is_open(app, to):
        name, to = to, ""
    name = named(app, name)
    change = app.conversation(name).change(
        lambda state: decisions.say(state, text, by, at=app.now, to=to, key=key), by=by, at=app.now
    )
    _follow_up(app, name, change)
    readers = sight.listeners(change.state)
    outcome = "recorded" if change.events else "already-recorded"
    answers = to if to in readers else ""
    return {**place(change.state), "outcome": outcome, "readers": readers, "answers": answers}


def steer(app: App, name: str, verb: str, *words: str, by: str = "", **more: Any) -> dict[str, Any]:
    """Carry out the decision `stop`, `pause`, `resume`, `cancel` or `sign` with its arguments.

    `by` is who decides, "" the person at the terminal.
    """
    decide = getattr(decisions, verb)
    change = app.conversation(name).change(
        lambda state: decide(state, *words, at=app.now, **more), by=by or person(app), at=app.now
    )
    after = _follow_up(app, name, change)
    return {**place(change.state), "outcome": "changed" if change.events else "unchanged", **after}


def halt(app: App, halted: bool) -> dict[str, Any]:
    """Start no agent at all in this workspace, or start agents again."""
    from council.agents import registry  # late: only for these two verbs

    decide = registry.halt if halted else registry.resume
    change = app.registry().change(
        lambda state: decide(state, app.now), by=person(app), at=app.now, create=True
    )
    for name in [] if halted else app.conversations():
        _start(app, name)
    return {"halted": halted, "changed": bool(change.events)}


# --- what follows ---


def _follow_up(app: App, name: str, change: Change) -> dict[str, Any]:
    """Start what a change made due, or file the conversation away.

    Inside a run its supervisor does both, which has the whole environment and outlives the agent.
    """
    state: State = change.state
    woken, waiting, minutes = [], {}, ""
    app.changed(change)
    run = _own_run(app, state) if app.env.get("COUNCIL_TOKEN") else None
    if run is not None:
        _tell_supervisor(app, run)
    elif state.ended_at:
        minutes = _row(app).finish(app, name)
    elif not all(_is_told(app, state, one) for one in kind.work(state, app.now)):
        started = _start(app, name)
        woken, waiting = started.woken, started.waiting
    return {"woken": woken, "waiting": waiting, "minutes": minutes}


def _is_told(app: App, state: State, work: Work) -> bool:
    """Return whether the prompt of a run is in the folder of its agent, which works by hand."""
    run = work.ident(state.conversation_id)
    return os.path.lexists(f"{app.root}/memory/agents/{work.agent}/tasks/{run}.md")


def _start(app: App, name: str) -> Any:
    from council.runs import starting  # late: only where something is due

    return starting.start(app, _row(app), name)


def _row(app: App) -> Any:
    return next(one for one in app.kinds if one.name == "conversation")


def _tell_supervisor(app: App, run: Run) -> None:
    from council.runs import places  # late: only inside a run

    if (pid := places.held(f"{app.state_folder}/places").get(run.id, 0)) > 1:
        from signal import SIGUSR1  # late: see above

        os.kill(pid, SIGUSR1)
