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
from council.cli.steering import opening
from council.cli.values import Given
from council.councils import kind, rules, service, service_views, session, sight
from council.councils.model import State
from council.councils.opening import members
from council.kernel import ids
from council.kernel.errors import NotFound, Refused
from council.kernel.record import Any
from council.observe import status
from council.runs import heartbeat, places

POLL = 0.03  # seconds between two looks at the journal, or twice as long as a look takes
RESCUE = 5.0  # seconds after which runs that lost their supervisor are looked for
LONG = 1.5  # the same while all places are taken
LOST, UNDECIDED = 8, 9


def ask(app: App, given: Given) -> Said:
    """Ask a council, watch it, and print the decision."""
    if given.gate:
        gate = {"procedure": given.procedure or "deliberation"}
        given = Given({**given.__dict__, **gate, "options": given.options or ["yes", "no"]})
    if given.resume:
        name = service.named(app, given.name or given.topic)
        service.steer(app, name, "resume")
    else:
        asked = opening(app, given)
        if not asked.name and service.is_open(app, service.DEFAULT):
            asked.name = ids.slug(asked.topic, 40) or "question"
        if given.rehearse:
            return _rehearsed(app, asked, given)
        _refuse_in_vain(app, asked)
        name = asked.name or service.DEFAULT
    try:
        for warning in [] if given.resume else service.convene(app, asked)["warnings"]:
            err(f"! {warning}")
        watch = Watch(app, name, app.conversation(name).peek())
        watch.follow()
    except KeyboardInterrupt:
        if not service.is_open(app, name):
            raise
        done = service.steer(app, name, "pause")
        _end_runs(app, name)
        err(f"\ncouncil: paused; to continue: council ask --resume --name {name}")
        return Said(data=done, more={"word": "paused"}, reply="steer", code=130)
    return _told(app, watch.state, given)


def _end_runs(app: App, name: str) -> None:
    """End the runs of a conversation, also those whose supervisor is only starting."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # until it has, their places name this process
    for _ in range(40):
        mine = os.getpid() in places.held(f"{app.state_folder}/places").values()
        heartbeat.end_runs(app, app.conversation(name).peek().runs.by_id.values())
        if not mine:
            break
        time.sleep(0.05)


def _rehearsed(app: App, asked: service.Opening, given: Given) -> Said:
    from council.setup import demo  # late: only here

    more = {k: v for k, v in asked.__dict__.items() if k not in ("topic", "extra") and v}
    ident = demo.rehearse(app, asked.topic, given.seed or 0, **more)["conversationId"]
    state = app.closed(ident).peek()
    Watch(app, state.name, state).show()
    return _told(app, state, given)


def _refuse_in_vain(app: App, asked: service.Opening) -> None:
    """Refuse a council of which fewer than two could ever answer.

    Raises:
        Refused: As above (`nobody-can-answer`).
    """
    found, faults = members(app, asked), []
    for ident in [ident for ident, one in found.items() if not one.person]:
        code, words = programs.fault(status.settings_of(app, ident), app.world, app.root)
        faults += [f"{ident}: {words}"] if code else []
    if faults and len(found) - len(faults) < 2:
        what = f"too few could answer: {'; '.join(faults)}"
        raise Refused("nobody-can-answer", what, "council doctor")


def _told(app: App, state: State, given: Given) -> Said:
    """Return what a conversation that is over came to (`json.md`, `ask`)."""
    row, used = minutes.find(app.root, state.conversation_id), service_views.used(state)
    done: dict[str, Any] = {
        **{"name": state.name, "conversationId": state.conversation_id},
        **session.decision(state),
        **{"outcome": row["outcome"], "minutes": row["path"], "line": row["title"], "used": used},
        "questions": [f"{one} to {other}: {text}" for one, other, text in sight.unanswered(state)],
        "verdict": {k: v for k, v in row.items() if k not in ("path", "decision")},
    }
    code = 1 if done["outcome"] == "nobody-left" else 0
    if given.gate:
        winners = sight.tally(state).winners
        code = 0 if winners == ["A"] else LOST if len(winners) == 1 else UNDECIDED
    cost = f", ${used['usd']:.2f}" if used["usd"] else ""
    more = {"decision": done["decision"] or "No decision.", "cost": cost}
    return Said(data=done, more=more, code=code)


def _gist(text: str) -> str:
    return one_line(text, 160)


class Watch:
    """Follows one conversation to its end and shows what is new."""

    def __init__(self, app: App, name: str, state: State) -> None:
        self.app, self.name, self.state = app, name, state
        self.told: set[tuple[str, object]] = set()
        self.crowded: set[str] = set()  # for whom there was no place at the last heartbeat

    def follow(self) -> None:
        """Show what happens until the conversation is over."""
        document, shown, beaten = self.app.conversation(self.name), -1, -1
        rescue = time.monotonic() + RESCUE
        while True:
            began = time.monotonic()
            try:
                self.state = document.peek()
            except NotFound:
                break
            if self.state.rev != shown:
                shown = self.state.rev
                self.show()
            wake = kind.wake(self.state)
            is_due = beaten != shown and wake is not None and wake <= self.app.now
            if is_due or began > rescue:
                beaten = shown
                self._beat()
                rescue = time.monotonic() + (LONG if self.crowded else RESCUE)
            time.sleep(max(POLL, 2 * (time.monotonic() - began)))
        self.state = service.find(self.app, self.state.conversation_id)
        self.show()

    def _beat(self) -> None:
        self.app.again()
        report = heartbeat.beat(self.app, self.name)
        waiting = {k: v for one in report["conversations"] for k, v in one["waiting"].items()}
        before, self.crowded = self.crowded, {k for k, why in waiting.items() if why == "no-place"}
        for agent, why in waiting.items():
            if agent not in self.crowded - before:  # a place is often free in a moment
                fix = f"council explain {self.name}"
                self._note(f"! {agent} waits: {why} ({fix})")
        for one in report["errors"]:
            self._note(f"! {one['message']} ({one['hint']})")

    def show(self) -> None:
        """Show what was not shown before."""
        state, say = self.state, self._note
        names = {who: f"{one.emoji} {one.name or who}" for who, one in state.participants.items()}
        for one in state.rounds:
            say(f"# {one.phase}, round {one.tour}", one.tour)
            for entry in [entry for entry in state.entries if entry.tour == one.tour]:
                heard, who = entry.heard, names.get(entry.agent, entry.agent).strip()
                said = ": " + _gist(heard.position or heard.recommendation or entry.text)
                is_sealed = state.is_sealed(entry)
                say(f"  ✓ {who}{' has answered (sealed)' if is_sealed else said}", one.tour)
            for agent, why in one.absent.items():
                who = names.get(agent, agent).strip()
                say(f"  ✗ {who}: {_gist(why.words or why.code)}", one.tour)
        for asker, peer, text in [] if state.ended_at else sight.unanswered(state):
            if peer not in state.participants or status.by_hand(self.app, state, peer):
                how = f'council say "…" --name {self.name}'
                say(f"! {asker} asks {peer}: {_gist(text)} (answer: {how})")
        for agent in [a for a in rules.asked(state) if status.by_hand(self.app, state, a)]:
            command = f"council respond --as {agent} --name {self.name} -"
            say(f"  {agent} answers by hand: {command}", state.tour)
        if state.paused_at:
            say(f"! paused: council resume --name {self.name}", state.paused_at)

    def _note(self, line: str, when: object = "") -> None:
        """Print a line once; `when` tells two alike apart."""
        if (line, when) not in self.told:
            self.told.add((line, when))
            err(line)
