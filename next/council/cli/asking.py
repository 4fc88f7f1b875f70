"""`ask`: open a council, show each answer as it arrives, print the decision.

It reads the journal whenever it grew, and runs the heartbeat itself when something is due, so it
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
from council.councils.model import Entry, State
from council.councils.opening import members
from council.kernel import ids
from council.kernel.errors import NotFound, Refused
from council.kernel.record import Any
from council.observe import status
from council.runs import heartbeat, places

POLL = 0.03  # seconds between two looks at the journal
RESCUE = 5.0  # seconds after which runs that lost their supervisor are looked for
LONG = 1.5  # seconds that all places may be taken before it is said
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
        watch = Watch(app, name)
        watch.follow()
    except KeyboardInterrupt:
        if not service.is_open(app, name):
            raise
        done = service.steer(app, name, "pause")
        _end_runs(app, name)
        err(f"\ncouncil: paused; to continue: council ask --resume --name {name}")
        return Said(data=done, code=130)
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
    state = service.closed(app, ident)
    assert state is not None
    Watch(app, state.name, state).show()
    return _told(app, state, given)


def _refuse_in_vain(app: App, asked: service.Opening) -> None:
    """Refuse a council of which fewer than two could ever answer.

    Raises:
        Refused: As above (`nobody-can-answer`).
    """
    found, faults = members(app, asked), []
    for ident, one in found.items():
        agent = app.settings.agent(ident, app.soul(ident))
        code, words = programs.fault(agent, app.world, app.root)
        if code and not one.person and agent.driver != "manual":
            faults.append(f"{ident}: {words}")
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
    lines = [f"# {done['line']}", "", done["decision"] or "No decision.", ""]
    lines += [f"Against: {one['agent']}: {_gist(one['position'])}" for one in done["dissent"]]
    lines += [f"Open blocker ({one['agent']}): {_gist(one['text'])}" for one in done["blockers"]]
    lines += [f"Open question, {one}" for one in done["questions"]]
    for agent, why in done["absent"].items():
        lines.append(f"Absent: {agent}: {_gist(why['words'] or why['code'])}")
    cost = f", ${used['usd']:.2f}" if used["usd"] else ""
    lines += [f"{used['runs']} runs, {used['tokens']} tokens{cost}", f"minutes: {done['minutes']}"]
    code = 1 if done["outcome"] == "nobody-left" else 0
    if given.gate:
        winners = sight.tally(state).winners
        code = 0 if winners == ["A"] else LOST if len(winners) == 1 else UNDECIDED
    return Said(data=done, text="\n".join(lines), code=code)


def _gist(text: str) -> str:
    return one_line(text, 160)


class Watch:
    """Follows one conversation to its end and shows what is new."""

    def __init__(self, app: App, name: str, state: State | None = None) -> None:
        self.app, self.name = app, name
        self.document = app.conversation(name)
        self.state: State = state or self.document.peek()
        self.told: set[str] = set()
        self.busy: dict[str, float] = {}  # agent to when all places were first seen taken

    def follow(self) -> None:
        """Show what happens until the conversation is over."""
        seen, rescue, due = "", time.monotonic() + RESCUE, True
        while grown := self._stamp():
            if grown != seen:
                seen = grown
                try:
                    self.state = self.document.peek()
                except NotFound:
                    break
                self.show()
            wake = kind.wake(self.state)
            if (due and wake and wake <= self.app.now) or time.monotonic() > rescue:
                self._beat()
                rescue = time.monotonic() + (LONG if self.busy else RESCUE)
                due = False
            due = due or grown != self._stamp()
            time.sleep(POLL)
        self.state = service.closed(self.app, self.state.conversation_id) or self.state
        self.show()

    def _stamp(self) -> str:
        """Return what changes when the journal grows, "" when the conversation is over."""
        folder = self.document.folder
        try:
            names = sorted(one for one in os.listdir(folder) if one.endswith(".jsonl"))
            return f"{names} {os.stat(f'{folder}/{names[-1]}').st_size}" if names else ""
        except OSError:
            return ""

    def _beat(self) -> None:
        self.app.again()
        report = heartbeat.beat(self.app, self.name)
        waiting = {k: v for one in report["conversations"] for k, v in one["waiting"].items()}
        now = time.monotonic()
        self.busy = {k: self.busy.get(k, now) for k, why in waiting.items() if why == "no-place"}
        for agent, why in waiting.items():
            if now - self.busy.get(agent, 0) >= LONG:
                fix = f"council explain {self.name}"
                self._note(f"{agent} {why}", f"! {agent} waits: {why} ({fix})")
        for one in report["errors"]:
            self._note(one["message"], f"! {one['message']} ({one['hint']})")

    def show(self) -> None:
        """Show what was not shown before."""
        state = self.state

        def by_hand(ident: str) -> bool:
            return status.by_hand(self.app, state, ident)

        for one in state.rounds:
            self._note(f"round {one.tour}", f"# {one.phase}, round {one.tour}")
            for entry in state.entries:
                if entry.tour == one.tour:
                    self._entry(entry)
            for agent, why in one.absent.items():
                words = _gist(why.words or why.code)
                self._note(f"absent {one.tour} {agent}", f"  ✗ {self._label(agent)}: {words}")
        for asker, peer, text in [] if state.ended_at else sight.unanswered(state):
            if peer not in state.participants or by_hand(peer):
                how = f'council say "…" --name {self.name}'
                line = f"! {asker} asks {peer}: {_gist(text)} (answer: {how})"
                self._note(f"asked {asker} {peer} {text}", line)
        for agent in filter(by_hand, rules.asked(state)):
            command = f"council respond --as {agent} --name {self.name} -"
            self._note(f"hand {state.tour} {agent}", f"  {agent} answers by hand: {command}")
        if state.paused_at:
            self._note(f"paused {state.paused_at}", f"! paused: council resume --name {self.name}")

    def _entry(self, entry: Entry) -> None:
        who = self._label(entry.agent)
        if self.state.is_sealed(entry):
            self._note(f"sealed {entry.id}", f"  ✓ {who} has answered (sealed)")
            return
        said = _gist(entry.heard.position or entry.heard.recommendation or entry.text)
        self._note(f"{entry.id} {entry.at}", f"  ✓ {who}: {said}")

    def _label(self, agent: str) -> str:
        one = self.state.participants.get(agent)
        return f"{one.emoji} {one.name or agent}".strip() if one else agent

    def _note(self, fact: str, line: str) -> None:
        if fact not in self.told:
            self.told.add(fact)
            err(line)
