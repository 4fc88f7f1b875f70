"""`ask`: open a council, show each answer as it arrives, print the decision.

It reads the journal whenever it grew, and runs the heartbeat itself when something is due, so it
needs no cron. Progress goes to standard error; standard output has the decision alone.
"""

from __future__ import annotations

import os
import sys
import time

from council.app import App
from council.cli import printing
from council.cli.printing import Said, cut
from council.cli.steering import opening
from council.councils import service
from council.councils.model import Entry, State
from council.kernel.errors import NotFound, Refused, Usage
from council.kernel.record import Any

POLL = 0.03  # seconds between two looks at the journal
RESCUE = 5.0  # seconds after which runs without a supervisor are looked for
WON, LOST, UNDECIDED = 0, 8, 9


def ask(
    app: App,
    *,
    resume: bool,
    rehearse: bool,
    seed: int | None,
    gate: bool,
    yes: bool,
    **values: Any,
) -> Said:
    """Ask a council, watch it, and print the decision."""
    del yes  # nothing is confirmed where every ceiling has a default
    if rehearse:
        from council.setup import demo

        demo.rehearse(app, values["topic"], seed or 0)
    if resume:
        name = service.named(app, values["name"] or values["topic"])
        service.resume(app, name, None)
    else:
        if not values["topic"]:
            raise Usage("no-topic", "there is no question", 'council ask "your question"')
        if gate:
            values["procedure"] = values["procedure"] or "deliberation"
            values["options"] = values["options"] or ["yes,no"]
        asked = opening(values)
        _refuse_in_vain(app, asked)
        made = service.convene(app, asked)
        name = made["name"]
        for warning in made["warnings"]:
            printing.err(f"! {warning}")
    watch = Watch(app, name)
    try:
        watch.follow()
    except KeyboardInterrupt:
        printing.err(watch.leave())
        return Said(data=watch.left, code=130)
    done = service.outcome(app, watch.ident)
    code = _gate(done) if gate else 0 if done["answers"] else 1
    return Said(data=done, text=service.outcome_text(done), code=code)


def _refuse_in_vain(app: App, asked: service.Opening) -> None:
    """Refuse a council of which fewer than two could ever answer.

    Raises:
        Refused: As above (`nobody-can-answer`).
    """
    faults = service.unable(app, asked)
    if faults and len(service.members(app, asked)) - len(faults) < 2:
        lines = "; ".join(f"{agent}: {words}" for agent, words in faults.items())
        raise Refused("nobody-can-answer", f"too few could answer: {lines}", "council doctor")


def _gate(done: dict[str, Any]) -> int:
    if done["winners"] == ["A"]:
        return WON
    return LOST if len(done["winners"]) == 1 else UNDECIDED


class Watch:
    """Follows one conversation to its end."""

    def __init__(self, app: App, name: str) -> None:
        self.app, self.name = app, name
        self.document = app.conversation(name)
        self.state: State = self.document.peek()
        self.ident = self.state.conversation_id
        self.told: set[str] = set()
        self.left: dict[str, Any] = {}

    def follow(self) -> None:
        """Show what happens until the conversation is over."""
        seen, rescue = "", 0.0
        while True:
            grown = self._stamp()
            if not grown:
                break
            if grown != seen:
                seen = grown
                try:
                    self.state = self.document.peek()
                except NotFound:
                    break
                self._show()
            if self._is_due() or time.monotonic() > rescue:
                rescue = time.monotonic() + RESCUE
                self._beat()
            time.sleep(POLL)
        past = service.closed(self.app, self.ident)
        if past is not None:
            self.state = past
            self._show()

    def _stamp(self) -> str:
        """Return what changes when the journal grows, "" when the conversation is over."""
        try:
            names = [one for one in os.listdir(self.document.folder) if one.endswith(".jsonl")]
            sizes = [os.stat(f"{self.document.folder}/{one}").st_size for one in sorted(names)]
        except OSError:
            return ""
        return f"{sizes}" if names else ""

    def _is_due(self) -> bool:
        from council.councils import kind

        wake = kind.wake(self.state)
        return wake is not None and wake <= self.app.now and self._is_news(f"due {wake}")

    def _beat(self) -> None:
        from council.runs import heartbeat

        self.app.again()
        report = heartbeat.beat(self.app, self.name)
        for one in report["conversations"]:
            for agent, why in one["waiting"].items():
                fix = f"council explain {self.name}"
                self._note(f"{agent} {why}", f"! {agent} waits: {why} ({fix})")
        for one in report["errors"]:
            self._note(one["message"], f"! {one['message']} ({one['hint']})")

    def _show(self) -> None:
        state = self.state
        for one in state.rounds:
            self._note(f"round {one.tour}", f"# {one.phase}, round {one.tour}")
            for entry in state.entries:
                if entry.tour == one.tour:
                    self._entry(entry)
            for agent, why in one.absent.items():
                words = cut(" ".join((why.words or why.code).split()), 60)
                self._note(f"absent {one.tour} {agent}", f"  ✗ {self._label(agent)}: {words}")
        by_hand = service.by_hand(self.app, state)
        for agent in by_hand:
            command = f"council respond --as {agent} --name {self.name} -"
            self._note(f"hand {state.tour} {agent}", f"  {agent} answers by hand: {command}")
        if state.paused_at:
            self._note(f"paused {state.paused_at}", f"! paused: council resume --name {self.name}")

    def _entry(self, entry: Entry) -> None:
        if self.state.is_sealed(entry):
            self._note(f"{entry.id}", f"  ✓ {self._label(entry.agent)} has answered (sealed)")
            return
        said = service.gist(entry)
        line = f"  ✓ {self._label(entry.agent)}: {cut(' '.join(said.split()), 200)}"
        self._note(f"{entry.id} {len(entry.text)}", line)

    def _label(self, agent: str) -> str:
        one = self.state.participants.get(agent)
        return f"{one.emoji} {one.name}".strip() if one and one.name else agent

    def _is_news(self, fact: str) -> bool:
        is_news = fact not in self.told
        self.told.add(fact)
        return is_news

    def _note(self, fact: str, line: str) -> None:
        if self._is_news(fact):
            printing.err(line)
            sys.stderr.flush()

    def leave(self) -> str:
        """Pause the conversation and end its runs; return what to tell the person."""
        self.left = service.pause(self.app, self.name, end_runs=True)
        return f"\ncouncil: paused; to continue: council ask --resume --name {self.name}"

