"""`ask`: open a council, show each answer as it arrives, print the decision.

It reads the journal again and again, and runs the heartbeat itself when something is due, so it
needs no cron. Progress goes to standard error; standard output has the decision alone.
"""

from __future__ import annotations

import os
import signal
import time

from council.agents import programs
from council.app import App
from council.archive import minutes
from council.cli.printing import Said, err, one_line
from council.cli.values import Given
from council.cli.verbs import opening
from council.councils import kind, rules, service, sight, views, words
from council.councils.model import State
from council.councils.opening import members
from council.kernel import ids
from council.kernel.errors import Conflict, NotFound, Refused
from council.kernel.record import TYPE_CHECKING, Any
from council.observe import status
from council.runs import heartbeat, places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from council.kernel.document import Document

POLL = 0.03  # seconds between two looks at the journal, or twice as long as a look takes
RESCUE = 5.0  # seconds after which runs that lost their supervisor are looked for
LONG = 1.5  # the same while all places are taken
LOST, UNDECIDED = 8, 9


def ask(app: App, given: Given) -> Said:
    """Ask a council, watch it, and print the decision."""
    if given.gate:
        own = {"procedure": given.procedure or "deliberation"}
        given.__dict__.update(own, options=given.options or ["yes", "no"])
    asked = opening(app, given) if not given.resume else service.Opening(topic="")
    if not given.resume and not asked.name and app.is_open(service.DEFAULT):
        asked.name = _named_by(asked.topic)
    if given.rehearse and not given.resume:
        from council.setup import demo  # late: only here

        state = app.closed(demo.rehearse(app, asked, given.seed or 0)["conversationId"]).peek()
        _show([], _lines(app, state))
        return _told(app, state, given)
    name = app.find(given.name or given.topic) if given.resume else asked.name or service.DEFAULT
    ident = ""
    try:
        if given.resume:
            service.steer(app, name, "resume")
        else:
            _refuse_in_vain(app, asked)
            try:
                made = service.convene(app, asked)
            except Conflict:  # another one was faster
                if asked.name:
                    raise
                name = asked.name = _named_by(asked.topic)
                made = service.convene(app, asked)
            ident = made["conversationId"]
            for warning in made["warnings"]:
                err(f"! {warning}")
        state = _followed(app, name, ident)
    except KeyboardInterrupt:
        if not app.is_open(name):
            raise
        done = service.steer(app, name, "pause")
        end_runs(app, [app.conversation(name)])
        err(f"\ncouncil: paused; to continue: council ask --resume --name {name}")
        return Said(data=done, more={"word": "paused"}, reply="steer", code=130)
    return _told(app, state, given)


def _named_by(topic: str) -> str:
    return ids.slug(topic, 40) or "question"


def end_runs(app: App, documents: list[Document[Any]]) -> None:
    """End the runs of some documents, also those whose supervisor is only starting."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # until it has, their places name this process
    for _ in range(40):
        mine = os.getpid() in places.held(f"{app.state_folder}/places").values()
        for one in documents:
            heartbeat.end_runs(app, one.peek().runs.by_id.values())
        if not mine:
            break
        time.sleep(0.05)


def _refuse_in_vain(app: App, asked: service.Opening) -> None:
    """Refuse a council of which fewer than two could ever answer."""
    found, faults = members(app, asked), []
    for ident in [ident for ident, one in found.items() if not one.person]:
        code, words = programs.fault(status.settings_of(app, ident), app.world, app.root)
        faults += [f"{ident}: {words}"] if code else []
    if faults and len(found) - len(faults) < 2:
        what = f"too few could answer: {'; '.join(faults)}"
        raise Refused("nobody-can-answer", what, "council doctor")


def _told(app: App, state: State, given: Given) -> Said:
    """Return what a conversation that is over came to (`json.md`, `ask`)."""
    row, used = minutes.find(app.root, state.conversation_id), views.used(state)
    done: dict[str, Any] = {
        **views.fields(state, "name conversation_id"),
        **views.decision(state),
        **{"outcome": row["outcome"], "minutes": row["path"], "line": row["title"], "used": used},
        "questions": [f"{one} → {other}: {text}" for one, other, text in sight.unanswered(state)],
        "verdict": {k: v for k, v in row.items() if k not in ("path", "decision")},
    }
    code = 1 if done["outcome"] == "nobody-left" else 0
    if given.gate:
        winners = sight.tally(state).winners
        code = 0 if winners == ["A"] else LOST if len(winners) == 1 else UNDECIDED
    cost = f", ${used['usd']:.2f}" if used["usd"] else ""
    reply = "ask-fr" if state.lang == "fr" else "ask"
    return Said(data=done, more={"cost": cost}, code=code, reply=reply)


def _followed(app: App, name: str, ident: str) -> State:
    """Show what happens in a conversation until it is over; return its state then."""
    document, told, shown, beaten = app.conversation(name), list[str](), -1, -1
    rescue = time.monotonic() + RESCUE
    while True:
        try:
            state = document.peek()
        except NotFound:
            break
        ident = state.conversation_id
        began = time.monotonic()
        if state.rev != shown:
            shown = state.rev
            _show(told, _lines(app, state))
        wake = kind.wake(state)
        if began > rescue or (beaten != shown and wake is not None and wake <= app.now):
            beaten = shown
            app.again()
            report = heartbeat.beat(app, name)
            waits = [pair for one in report["conversations"] for pair in one["waiting"].items()]
            others = [pair for pair in waits if pair[1] != "no-place"]  # one is free in a moment
            form, how = _words(state)["waits"], f"council explain {name}"
            notes = [f"! {form.format(who=a, why=why, command=how)}" for a, why in others]
            notes += [f"! {one['message']} ({one['hint']})" for one in report["errors"]]
            _show(told, [one for one in notes if one not in told])
            rescue = time.monotonic() + (RESCUE if waits == others else LONG)
        time.sleep(max(POLL, 2 * (time.monotonic() - began)))
    state = service.find(app, ident)
    _show(told, _lines(app, state))
    return state


def _show(told: list[str], lines: Iterable[str]) -> None:
    """Print the lines that are not among those that were told before, and add them to these."""
    before = list(told)
    for line in lines:
        if line in before:
            before.remove(line)
        else:
            told.append(line)
            err(line)


def _lines(app: App, state: State) -> Iterator[str]:
    """Yield all that can be shown of a conversation now."""
    names = {a: f"{one.emoji} {one.name or a}".strip() for a, one in state.participants.items()}
    told, here = _words(state), f"--name {state.name}"
    for one in state.rounds:
        yield "# " + told["round"].format_map(vars(one))
        for entry in [entry for entry in state.entries if entry.tour == one.tour]:
            heard, who = entry.heard, names.get(entry.agent, entry.agent)
            said = heard.position or heard.recommendation or entry.text
            is_sealed = state.is_sealed(entry)
            yield f"  ✓ {who}" + (f" {told['sealed']}" if is_sealed else f": {_gist(said)}")
        for agent, why in one.absent.items():
            yield f"  ✗ {names.get(agent, agent)}: {_gist(why.words or why.code)}"
    for asker, peer, text in [] if state.ended_at else sight.unanswered(state):
        if peer not in names or status.by_hand(app, state, peer):
            how, what = f'council say "…" {here}', {"peer": peer, "text": _gist(text)}
            yield "! " + told["asks"].format(who=asker, command=how, **what)
    for agent in [a for a in rules.asked(state) if status.by_hand(app, state, a)]:
        how = f"council respond --as {agent} {here} -"
        yield "  " + told["hand"].format(who=agent, tour=state.tour, command=how)
    if state.paused_at:
        how = f"council resume {here}"
        yield "! " + told["paused"].format(at=state.paused_at, command=how)


def _words(state: State) -> dict[str, str]:
    return words.load(f"texts/progress-{state.lang}.txt")


def _gist(text: str) -> str:
    return one_line(text, 160)
