"""Random histories over three machines: in the end all have the same, each answer once.

ENGINE_SEED=7 plays the history of that number again.

Source: EN-008.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from datetime import UTC, datetime, timedelta

import pytest

from council.core.ids import task_id
from tests.conftest import Ran
from tests.engine.machines import Machine, Machines, Maker
from tests.faults.invariants import Expected, acknowledged
from tests.faults.ledger import Ledger
from tests.faults.scenes import text_of

PART = "engine, random histories"
NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
_AGENTS = "abcdef"
_HISTORIES = 12
_STEPS = 24
_OFF = (timedelta(minutes=-5), timedelta(0), timedelta(minutes=5))
_LONGEST_STOP_S = 0.3
_MAY_END = (0, 3, 5, 7)  # done; no such task yet; not the time for it; held or not reached
_PATIENCE_S = 60.0

pytestmark = pytest.mark.engine


class History:
    """One history, drawn from a seed."""

    def __init__(self, council: Machines, chance: random.Random, *, is_blind: bool) -> None:
        self.council, self.chance, self.is_blind = council, chance, is_blind
        self.expected, self.now, self.wrong = Expected(), NOW, list[str]()
        self.steps: list[str] = []
        for machine, off in zip(council, chance.sample(_OFF, len(council)), strict=True):
            machine.off = off
        seal = "--sealed" if is_blind else "--open"
        words = ("--people", ",".join(_AGENTS), "--phases", "collect,challenge,synthesize", seal)
        council[0].do("convene", "Shall we?", *words, now=self.now)
        council.quiet()
        self.conversation_id = council[0].watched().conversation_id

    def step(self) -> None:
        self.now += timedelta(seconds=self.chance.randrange(10))
        doing = self.chance.choices(
            (self.answer, self.edit, self.beat, self.stop, self.pull), (5, 3, 2, 2, 1)
        )[0]
        doing()
        if self.is_blind:
            self._peek()

    def _machine(self) -> Machine:
        return self.chance.choice(self.council)

    def _answering(self) -> tuple[str, int, tuple[str, ...]]:
        agent, tour = self.chance.choice(_AGENTS), self.chance.choice((1, 1, 2))
        task = task_id(self.conversation_id, tour, agent, 1)
        words = ("respond", text_of(agent, tour), "--as", agent, "--task", task, "--json")
        return agent, tour, words

    def answer(self) -> None:
        agent, tour, words = self._answering()
        machine = self._machine()
        self._maybe(agent, tour)
        self._note(machine, agent, tour, machine(*words, now=self.now))

    def _maybe(self, agent: str, tour: int) -> None:
        if (agent, tour) not in self.expected.said:
            self.expected.maybe[agent, tour] = text_of(agent, tour)

    def _note(self, machine: Machine, agent: str, tour: int, ran: Ran) -> None:
        self.steps.append(f"{machine.name}: {agent} answers round {tour}: {ran.code}")
        if ran.code not in _MAY_END:
            self.wrong.append(f"{self.steps[-1]} {ran.err.strip()[-300:]}")
        if acknowledged(ran.out):
            self.expected.acknowledge(agent, tour, text_of(agent, tour))

    def edit(self) -> None:
        machine = self._machine()
        words = f"Note {len(self.expected.edits) + 1}."
        machine.save(words)
        self.expected.edits.append(words)
        self.steps.append(f"{machine.name}: {words} is saved")

    def beat(self) -> None:
        self._quietly(self._machine(), "heartbeat")

    def pull(self) -> None:
        self._quietly(self._machine(), "engine", "pull")

    def _quietly(self, machine: Machine, *words: str) -> None:
        ran = machine(*words, now=self.now)
        self.steps.append(f"{machine.name}: {' '.join(words)}: {ran.code}")
        if ran.code != 0:
            self.wrong.append(f"{self.steps[-1]} {ran.err.strip()[-300:]}")

    def stop(self) -> None:
        """Stop an answer anywhere on its way; let another machine work; let it go on."""
        agent, tour, words = self._answering()
        machine, other = self.chance.sample(self.council, 2)
        self._maybe(agent, tour)
        process = machine.start(*words, now=self.now)
        time.sleep(self.chance.uniform(0, _LONGEST_STOP_S))  # this is where chance strikes
        process.send_signal(signal.SIGSTOP)
        self.steps.append(f"{machine.name}: {agent} is stopped in round {tour}")
        try:
            self._quietly(other, "heartbeat")
        finally:
            process.send_signal(signal.SIGCONT)
            out, err = process.communicate(timeout=_PATIENCE_S)
        self._note(machine, agent, tour, Ran(process.returncode, out.decode(), err.decode()))

    def _peek(self) -> None:
        """Look for texts of the blind phase where they must not be yet."""
        for one in self.council:
            state = one.watched().conversations.read("active")
            if state.tour > 1:
                return
        for machine in self.council:
            for agent in _AGENTS:
                found = machine.holding(text_of(agent, 1))
                self.wrong += [
                    f"{machine.name}: the blind text of {agent} stands in {place}"
                    for place in found
                    if "/sealed/" not in place and "/outbox/" not in place
                ]

    def end(self) -> list[str]:
        """Finish the first round, take in all edits, pull; return what is wrong."""
        for agent in _AGENTS:
            task = task_id(self.conversation_id, 1, agent, 1)
            words = ("respond", text_of(agent, 1), "--as", agent, "--task", task, "--json")
            machine = self._machine()
            ran = machine(*words, now=self.now)
            self._maybe(agent, 1)
            self._note(machine, agent, 1, ran)
        for _ in range(2):
            for machine in self.council:
                self._quietly(machine, "heartbeat")
        return [*self.wrong, *self.council.settled(self.expected)]


_TRIED = max(1, _HISTORIES // int(os.environ.get("FAULTS_EVERY") or "1"))


@pytest.mark.req("EN-001", "EN-004", "EN-007", "EN-008")
@pytest.mark.parametrize("is_blind", [False, True], ids=["open", "blind"])
@pytest.mark.parametrize("number", range(_TRIED))
def test_a_random_history_ends_alike_everywhere(
    machines: Maker, ledger: Ledger, number: int, is_blind: bool
):
    seed = int(os.environ.get("ENGINE_SEED") or random.SystemRandom().randrange(10**9)) + number
    history = History(machines(3), random.Random(seed), is_blind=is_blind)
    for _ in range(_STEPS):
        history.step()
        ledger.point([])
    wrong = history.end()
    if wrong:
        ledger.tell(f"ENGINE_SEED={seed - number}: {'; '.join(history.steps)}")
    ledger.point(wrong, f"ENGINE_SEED={seed - number}")
    ledger.assert_clean()


_RUN = """
cat >/dev/null
echo "$COUNCIL_AGENT.$COUNCIL_TOUR" >>{folder}/started
mkdir {folder}/$COUNCIL_AGENT || echo "$COUNCIL_AGENT runs twice at once" >>{folder}/wrong
sleep 0.2
rmdir {folder}/$COUNCIL_AGENT
echo "said by $COUNCIL_AGENT in round $COUNCIL_TOUR"
"""


@pytest.mark.req("EN-006")
def test_heartbeats_on_all_machines_run_each_agent_once(machines: Maker, ledger: Ledger):
    council = machines(3)
    folder = council[0].root.parent / "runs"
    folder.mkdir()
    table = f"argv = {json.dumps(['/bin/sh', '-c', _RUN.format(folder=folder)])}\n"
    seats = "".join(f"[agents.{agent}]\n{table}" for agent in "abc")
    for machine in council:
        machine.configure(seats)
    council[0].do("convene", "Shall we?", "--agents", "a,b,c", "--phases", "collect,synthesize")
    until = time.monotonic() + _PATIENCE_S
    while not council[0].watched().is_archived():
        assert time.monotonic() < until, "the council does not come to its end"
        beating = [machine.start("heartbeat") for machine in council]
        for one in beating:
            one.communicate(timeout=_PATIENCE_S)
    started = (folder / "started").read_text().split()
    wrong = (folder / "wrong").read_text().splitlines() if (folder / "wrong").exists() else []
    wrong += [
        f"{one} ran {started.count(one)} times" for one in {*started} if started.count(one) > 1
    ]
    ledger.point([*wrong, *council.settled()], "afterwards")
    minutes = [machine.watched().minutes() for machine in council]
    ledger.point([] if all(len(one) == 1 for one in minutes) else [f"minutes: {minutes}"])
    ledger.assert_clean()
