"""A council whose members live on two machines, with everything that can break breaking."""

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress

import psycopg
import pytest

from council.kernel.journal import Journal
from tests.machines.servers import BOUND
from tests.machines.workspaces import AGENTS, PEOPLE, Machine

pytestmark = pytest.mark.slow


class Play:
    """Plays a council to its end, breaks something at each of some points, and knows what counts.

    A point is a number of changes in the database.
    """

    def __init__(self, machines: list[Machine], server, seed: int) -> None:
        self.machines, self.server, self.rng = machines, server, random.Random(seed)
        self.acknowledged, self.broken = set[str](), list[str]()

    def seq(self) -> int:
        with psycopg.connect(self.machines[0].url) as connection:
            [(found,)] = connection.execute("SELECT coalesce(max(seq), 0) FROM council.log")
        return int(found)

    def answer(self, person: str, machine: Machine) -> None:
        """Answer as a person would who repeats the command until it is acknowledged."""
        asked = machine.run("context", "--as", person, "--json")
        if asked.returncode or not (now := json.loads(asked.stdout))["mayAnswer"]:
            return
        text = f"{person} says in round {now['tour']} what it thinks."
        words = ("respond", "--as", person, "--task", now["round"], text)
        if self.broken and self.broken[-1] == "command":
            process = machine.start(*words)
            with suppress(subprocess.TimeoutExpired):
                process.wait(self.rng.random() * 2)
            process.kill()
            process.communicate()
            self.broken[-1] += " killed"
        if machine.run(*words).returncode == 0:
            self.acknowledged.add(text)

    def breaks(self, what: str, machine: Machine) -> bool:
        """Break something; return whether it could be."""
        if what == "supervisor":
            pids = machine.supervisors() or [p for one in self.machines for p in one.supervisors()]
            for pid in pids[:1]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return bool(pids)
        if what == "server":
            self.server.kill()
        elif what == "net":
            machine.net.cut(silent=self.rng.random() < 0.5)
            if machine.net.is_cut:
                done = machine.run("respond", "--as", "ann", "This cannot be known.")
                assert done.returncode == 7, done
                machine.net.is_cut = False
        return True

    def play(self, points: list[int]) -> None:
        ends = time.monotonic() + 8 * BOUND
        while not all(one.closed() for one in self.machines):
            assert time.monotonic() < ends, (self.seq(), self.broken)
            for one in self.rng.sample(self.machines, 2):
                self.reach(points)
                done = one.run("heartbeat")
                assert done.returncode in (0, 7), done
                for person, at in PEOPLE.items():
                    if self.machines[at] is one:
                        self.reach(points)
                        self.answer(person, one)

    def reach(self, points: list[int]) -> None:
        kinds = ("command", "supervisor", "server", "net")
        if points and self.seq() >= points[0]:
            what = kinds[len(self.broken) % 4]
            if self.breaks(what, self.rng.choice(self.machines)):
                self.broken.append(what)
                del points[0]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_acknowledged_is_lost_and_nothing_counts_twice(machines, server, seed, tmp_path):
    """Kill commands, supervisors and the server, and cut nets, at ten points of each council."""
    one = machines[seed % 2]
    everybody = ["--agents", ",".join(AGENTS), "--people", ",".join(PEOPLE)]
    one.run("convene", "Which kettle?", *everybody, "--timeout", "9h", code=0)
    play = Play(machines, server, seed)
    play.play([4 + 3 * n + seed for n in range(10)])
    assert len(play.broken) == 10, play.broken
    [ident] = machines[0].closed()
    shown = json.loads(one.run("show", ident, "--json", code=0).stdout)
    said = Counter((entry["agent"], entry["tour"]) for entry in shown["contributions"])
    assert set(said.values()) == {1}, said
    texts = Counter(entry["text"] for entry in shown["contributions"])
    assert {texts[text] for text in play.acknowledged} == {1} and len(play.acknowledged) >= 6
    started = Counter((tmp_path / "runs").read_text().split())
    assert set(started.values()) == {1}, started
    for other in machines:
        other.run("heartbeat", code=0)
    journals = [Journal(f"{other.state}/closed/{ident}") for other in machines]
    assert list(journals[0].raws()) == list(journals[1].raws())
    events = [event for line in journals[0].history() for event in line.events]
    claimed = Counter(event["id"] for event in events if event["type"] == "run.claimed")
    assert set(claimed.values()) == {1} and claimed.keys() >= started.keys()
    pages = [path.read_bytes() for one in machines for path in one.root.glob("conseils/*")]
    assert len(pages) == 2 and pages[0] == pages[1]
