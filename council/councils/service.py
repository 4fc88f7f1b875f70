"""The verbs of conversations: one function each, with what `json.md` names as its result.

The command line, HTTP and MCP call these and decide nothing themselves. A verb finds who speaks and
how that is known, lets a pure decision say what happens, and then starts what became due. What is
refused, and with which code, is in `decisions.py`, `opening.py` and `App.find`.
"""

from __future__ import annotations

import os
import time

from council.councils import decisions, hearing, kind, model, opening, rules, sight
from council.councils.hearing import Stated as Stated
from council.councils.model import Event, Heard, State, fields
from council.councils.opening import DEFAULT as DEFAULT
from council.councils.opening import Opening as Opening
from council.councils.views import place, transition, understood
from council.kernel import files, ids, times
from council.kernel.errors import Away, NotFound, Refusal, Refused
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from council.app import App
    from council.kernel.document import Change, Document

POLL = 0.1  # seconds between two looks of `wait`
_TAKES = {"stop": "now", "pause": "", "resume": "more", "cancel": "reason", "sign": "approve why"}
FILING = 5.0  # seconds that `wait` gives to whoever writes the minutes


def document(app: App, which: str) -> Document[Any]:
    """Return the document of a conversation, open or over; one that is over has no page."""
    try:
        return app.conversation(app.find(which))
    except NotFound:
        if not which or app.other(which):
            raise
        from council.archive import minutes  # late: only for what is over

        try:
            ident = minutes.find(app.root, which)["conversation"]
        except NotFound:
            found = [one for one in unfiled(app) if which in (one.name, one.conversation_id)]
            if not found:
                raise
            ident = max(found, key=lambda one: one.ended_at or "").conversation_id
        return app.closed(ident)


def unfiled(app: App) -> Iterator[State]:
    """Yield the conversations that are over and whose minutes are gone or damaged."""
    from council.archive import minutes  # late: only for what is over

    filed = {row["conversation"] for row in minutes.rows(app.root)}
    for ident in sorted({*files.names(f"{app.state_folder}/closed")} - filed):
        try:
            state = app.closed(ident).peek()
        except Refusal:
            continue
        if state.minutes:  # contexts are closed there, too, and have none
            yield state


def find(app: App, which: str, at: int = 0) -> State:
    """Return a conversation, open or over, at a revision (0 is now); see `document`."""
    found: Document[State] = document(app, which)
    try:
        return found.read() if found.page and not at else found.peek(at or None)
    except NotFound:
        if found.page or at:
            raise
        from council.archive import minutes  # late: only where a journal is gone

        return State.from_json(minutes.block(minutes.find(app.root, which)["path"]))


def _origin(app: App, state: State, agent: str) -> str:
    """Return how it is known that an agent speaks: `verified` by a run's token, or `claimed`."""
    run = app.own_run(state)
    if app.env.get("COUNCIL_TOKEN") and (run is None or run.agent != agent):
        what = f"this run does not speak for {agent} in {state.name}"
        raise Refused("not-you", what, "leave out --as, or print the answer")
    if run is None and app.settings.trust == "strict":
        hint = 'answer on the page, or set trust = "open" in council.toml'
        raise Refused("not-verified", f"{agent} has to answer from its own run", hint)
    return "verified" if run else "claimed"


def convene(app: App, asked: Opening, *, dry_run: bool = False) -> dict[str, Any]:
    """Open a conversation and wake its first speakers."""
    new = opening.conversation(app, asked)

    def decide(state: State) -> list[Event]:
        return decisions.opened(state, new, at=app.now)

    made: dict[str, Any] = {"path": app.page_of(new.name), "warnings": opening.warnings(app, new)}
    made |= {"participants": list(new.participants), "dryRun": dry_run}
    if dry_run:
        state = kind.new()
        for event in decide(state):
            kind.evolve(state, event)
        return {**place(state), **made, "woken": [], "waiting": {}, "runs": 0}
    made |= _change(app, new.name, decide, app.person(), create=True)[1]
    return {**made, "runs": len(made["woken"])}


def respond(app: App, name: str, agent: str, text: str, stated: Stated) -> dict[str, Any]:
    """Record the answer of an agent in the round that is open, and start what follows from it."""
    said, before = hearing.Understood(text=text, heard=Heard()), State()

    def decide(state: State) -> list[Event]:
        nonlocal said, before
        before, origin = state, _origin(app, state, agent)
        decisions.member(state, agent)
        mine = [e for e in state.entries if (e.agent, e.tour, e.text) == (agent, state.tour, text)]
        if mine and not (stated.amend or agent in state.round().asked):  # it was read before
            said = hearing.Understood(text=text, heard=mine[-1].heard)
        else:
            said = hearing.heard(state, agent, text, stated)
        task = stated.task or app.env.get("COUNCIL_TASK_ID", "")
        if not task and stated.only == model.kind_of(state.phase):
            task = f"{state.conversation_id}.{state.tour}"  # no other round can be meant
        told = stated.copy(task=task)
        return decisions.respond(state, agent, said, told, at=app.now, origin=origin)

    if stated.check:
        events = decide(app.conversation(name).read())
        after: dict[str, Any] = {"outcome": "checked", "minutes": "", "woken": []}
    else:
        try:
            change, after = _change(app, name, decide, agent)
        except Refusal as refusal:
            _keep_refused(app, before, agent, text, refusal)
            raise
        events, after["outcome"] = change.events, decisions.outcome_of(change.events)
    made = next((one for one in events if one.get("agent") == agent and "text" in one), {})
    if not events:  # it was read before, perhaps in another round
        known, mine = decisions.mark(said.text), [e for e in before.entries if e.agent == agent]
        entry = [e for e in mine if known in (*e.parts, decisions.mark(e.text))][-1]
        said, made = said.copy(heard=entry.heard), fields(entry, "tour phase status")
    tour, is_asked = made.get("tour", before.tour), made.get("type") == "asked"
    moved = transition(before, events)
    return {**after, **place(before)} | {
        **{"agent": agent, "phase": made.get("phase", before.phase), "tour": tour},
        "task": f"{before.conversation_id}.{tour}.{agent}",
        "transition": moved and {"from": moved["from"], "to": moved["to"]},
        "understood": understood(said.heard, made.get("status", "")),
        "faults": [one.to_json() for one in said.heard.faults],
        **{"askedAgain": is_asked, "question": said.question if is_asked else ""},
    }


def _keep_refused(app: App, state: State, agent: str, text: str, refusal: Refusal) -> None:
    """Put an answer that is refused in its author's folder."""
    folder = f"{app.root}/memory/agents/{agent}/tasks"
    if text and ids.is_name(agent) and os.path.isdir(folder):
        whole = f"{state.name} ({state.conversation_id}): {refusal.message}\n\n{text}\n"
        path = f"{folder}/refused-{ids.digest(text)[:8]}.md"
        try:
            files.replace(path, whole.encode("utf-8", "replace"))
        except OSError:
            return  # the refusal is what its author has to see
        if isinstance(refusal, Away):
            refusal.hint += f"; the text is in {path}"


def context(app: App, name: str, agent: str, form: str = "") -> dict[str, Any]:
    """Return what an agent may see now, with the prompt of a task (`form`; "" is what is asked)."""
    from council.councils import prompts  # late: `respond` tells nobody anything

    state = app.conversation(name).read()
    now, one = state.round(), decisions.member(state, agent)
    if app.env.get("COUNCIL_TOKEN"):
        _origin(app, state, agent)  # a run sees what its own agent may see
    may, seen = agent in rules.asked(state), sight.visible(state, agent)
    others = [entry for entry in seen if entry.agent != agent and entry.kind != "guidance"]
    task = ("question" if agent in now.asked else model.kind_of(state.phase)) if may else ""
    return {
        **{**place(state), "agent": agent, "task": task, "status": one.status if one else ""},
        **{"mayAnswer": may, "blind": now.blind},
        "round": f"{state.conversation_id}.{state.tour}",
        **{**fields(state, "topic brief"), "deadline": state.timeout_at},
        "contributions": [fields(entry, "id agent phase tour text") for entry in others],
        "prompt": prompts.prompt_of(app, state, agent, form or task, None) + app.news(agent),
    }


def wait(app: App, which: str, agent: str, seconds: float | None) -> dict[str, Any]:
    """Wait until an agent is asked (`turn`), all is over (`over`), or time is up (`timeout`)."""
    ends, filed, document = time.monotonic() + (seconds or 0), 0.0, None
    which = which or app.env.get("COUNCIL_NAME", "") or DEFAULT
    while True:
        try:
            state: State = (document := document or app.conversation(app.find(which))).read()
            which = state.conversation_id
            outcome = "over" if state.ended_at else "turn" if agent in rules.asked(state) else ""
            filed = filed or (time.monotonic() + FILING) * (outcome == "over")
            if outcome == "over" and not state.minutes and time.monotonic() < filed:
                outcome = ""  # its minutes are being written
        except NotFound:
            state, outcome = find(app, which), "over"
        if not outcome and seconds is not None and time.monotonic() >= ends:
            outcome = "timeout"
        if outcome:
            minutes = state.minutes and f"{app.root}/{state.minutes}"
            made = {**place(state), "agent": agent, "minutes": minutes, "outcome": outcome}
            return {**made, "waiting": rules.asked(state)}
        if agent not in (state.config.synthesizer, state.config.coordinator):
            decisions.member(state, agent)
        time.sleep(POLL)


def say(app: App, name: str, text: str, to: str, by: str, key: str = "") -> dict[str, Any]:
    """Tell the participants something, or one of them; `to` may also name a conversation."""
    if to and not name and app.is_open(to):
        name, to = to, ""
    made = steer(app, app.find(name), "say", text, by, by=by, to=to, key=key)
    return {**made, "outcome": "recorded" if made["outcome"] == "changed" else "already-recorded"}


def steer(app: App, name: str, verb: str, *words: str, by: str = "", **more: Any) -> dict[str, Any]:
    """Carry out a decision, such as `stop` or `sign`, of `by`; "" is who is at the terminal."""
    decide: Callable[..., list[Event]] = getattr(decisions, verb)
    change, after = _change(
        app, name, lambda state: decide(state, *words, at=app.now, **more), by or app.person()
    )
    return {**after, "outcome": "changed" if change.events else "unchanged"}


def steered(app: App, which: str, verb: str, by: str, given: dict[str, Any]) -> dict[str, Any]:
    """Carry out a verb of a person with those of the `given` values that it takes."""
    if verb not in _TAKES:
        raise NotFound("not-found", f"no such verb: {verb[:40]!r}", f"use {', '.join(_TAKES)}")
    if "more" in (words := {key: given[key] for key in _TAKES[verb].split() if given.get(key)}):
        words["more"] = times.duration(words["more"])
    return steer(app, app.find(which), verb, *[by] * (verb == "sign"), by=by, **words)


def halt(app: App, halted: bool) -> dict[str, Any]:
    """Start no agent at all in this workspace, or start agents again."""
    from council.agents import registry  # late: only for these two verbs

    change = app.registry().change(
        lambda one: registry.halt(one, halted, app.now), by=app.person(), at=app.now, create=True
    )
    if not halted:
        from council.runs import heartbeat  # late: as above

        heartbeat.beat(app)
    return {"halted": halted, "changed": bool(change.events)}


def _change(
    app: App, name: str, decide: Callable[[State], list[Event]], by: str, create: bool = False
) -> tuple[Change, dict[str, Any]]:
    """Record what is decided, and start what became due or file the conversation away.

    Inside a run its supervisor does that, which has the whole environment and outlives the agent.
    """
    change = app.conversation(name).change(decide, by=by, at=app.now, create=create)
    state, followed = change.state, dict[str, Any]()
    agents, ident = f"{app.root}/memory/agents", state.conversation_id
    owed = kind.work(state, app.now)  # who works by hand has its prompt in its folder
    prompts = [f"{agents}/{one.agent}/tasks/{one.ident(ident)}.md" for one in owed]
    app.changed(change)
    if run := app.own_run(state):
        from council.runs import processes  # late: only inside a run

        if (pid := processes.held(app.state_folder).get(run.id, 0)) > 1:
            from signal import SIGUSR1  # late: as above

            os.kill(pid, SIGUSR1)
    elif state.ended_at or not all(map(os.path.lexists, prompts)):
        from council.councils.row import CONVERSATIONS  # late: only where something is due
        from council.runs import heartbeat  # late: as above

        try:
            followed = heartbeat.serve(app, CONVERSATIONS, name)
        except NotFound:
            followed = {}  # another process filed it away
    made = {"woken": followed.get("woken", []), "waiting": followed.get("waiting", {})}
    return change, {**place(state), **made, "minutes": followed.get("archived", "")}
