"""Random histories of rooms with real processes: agents crash, runs and heartbeats are killed.

Agents are lines of shell that speak, pass, fail, answer twice, or kill the process that
supervises them. People post, members come and go, ends of turns are reported again. In the
end no one may have spoken twice, no one may hold the floor for ever, and the room rests.
"""

from __future__ import annotations

import random
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.rooms.channels import TAKES_TURNS, agents_of
from council.operations.heartbeat.beat import beat
from council.operations.rooms import channels, turns
from tests.operations.crashes import killed_at
from tests.operations.halls import Hall
from tests.operations.tables import LEASE, all_is_quiet, script

AGENTS = ("ann", "bob", "cyd", "dan")
MOST_CYCLES = 4
_COUNCIL = f"{sys.executable} -m council"
_FATE = """
cat >/dev/null
say="$COUNCIL_TASK_ID says so"
case $(echo "{seed} $COUNCIL_TASK_ID" | cksum | cut -c3) in
0|1|2) echo "$say" ;;
3|4|5|6) echo NO_REPLY ;;
7) exit 3 ;;
8) kill -9 $PPID ;;
9) {council} turn end "$COUNCIL_CHANNEL" --post --text "$say" >/dev/null; echo "$say" ;;
esac
"""


class History:
    """One random history of one room."""

    def __init__(self, root: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        text = _FATE.format(seed=seed, council=_COUNCIL)
        self.hall = Hall(root).seat(dict.fromkeys(AGENTS, script(text)))
        with (root / "council.toml").open("a") as file:
            file.write(f"[channels]\nmax_cycles = {MOST_CYCLES}\nmax_repeats = 2\n")
        self.hall.room(*AGENTS[:3], "alice")
        self.stirred = 0

    def act(self) -> None:
        """Do one thing, or let the heartbeat die of it, and wait until all is quiet."""
        self.chance.choice(
            [self.post, self.post, self.join_or_leave, self.end_again, self.beat, self.die]
        )()
        all_is_quiet()
        self.hall.now += timedelta(seconds=self.chance.choice((0, 1, 20, 70, 600)))

    def post(self) -> None:
        self.stirred += 1
        self.hall.post(f"Word {self.chance.random()}", by=self.chance.choice(("alice", "zoe")))

    def join_or_leave(self) -> None:
        one = self.chance.choice(AGENTS)
        here = agents_of(self.hall.standing().members)
        place = self.hall.place
        self.stirred += 1
        if one in here:
            channels.change_members(place, "weather", remove=[one])
        else:
            channels.change_members(place, "weather", add=[one])

    def end_again(self) -> None:
        """Report once more the end of a turn that is over."""
        over = self.hall.standing().ended_runs
        if over:
            agent, run = self.chance.choice(over).split()
            outcome = turns.end(self.hall.place, "weather", agent, run, "What?", post=True).outcome
            assert outcome == "already-ended"

    def beat(self) -> None:
        self.hall.beat()

    def die(self) -> None:
        heirs = self.chance.random() < 0.5
        number = self.chance.randrange(1, 60)
        killed_at(number, lambda: beat(self.hall.place), heirs=heirs)

    def come_to_rest(self) -> None:
        for _ in range(40):
            self.hall.beat_to_rest(LEASE)
            channel = self.hall.standing()
            if not channel.speaker or channel.roused_at is None:
                return
        raise AssertionError(f"the room never comes to rest: {channel.speaker} has the floor")

    def check(self) -> None:
        self._check_turns()
        spoken = [one for one in self.hall.said() if one.endswith("says so")]
        assert len(spoken) == len(set(spoken)), "somebody was heard twice"
        channel = self.hall.standing()
        awake = channel.state in TAKES_TURNS and channel.dormant_at is None
        assert bool(channel.speaker) is awake, "a speaker was lost"
        assert not self.hall.beat().changed

    def _check_turns(self) -> None:
        """Follow the events: one has the floor at a time, each once in a cycle, and it ends."""
        known = {str(one["eventId"]): one for one in self.hall.events()}
        done: set[tuple[int, object]] = set()
        floor, cycles = None, 0
        for one in known.values():
            kind, agent, data = one["type"], one["agentId"], one["data"]
            if kind == "floor.given":
                turn = (data["cycle"], agent)
                assert turn not in done, f"{turn} had the floor twice"
                done.add(turn)
                floor = agent
                cycles = data["cycle"]
            elif kind in ("turn.ended", "turn.missed", "task.started"):
                assert agent == floor, f"{agent} speaks while {floor} has the floor"
        assert cycles <= (self.stirred + 1) * (MOST_CYCLES + 1), "a room goes on for ever"


@pytest.mark.req("DG-003", "DG-004", "DG-097", "DG-098", "XC-001")
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 6))]
)
def test_whatever_dies_a_room_has_one_speaker_and_comes_to_rest(tmp_path: Path, seed: int):
    history = History(tmp_path / "workspace", seed)
    for _ in range(12):
        history.act()
    history.come_to_rest()
    history.check()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_more_such_histories(tmp_path: Path, seed: int):
    history = History(tmp_path / "workspace", seed)
    for _ in range(25):
        history.act()
    history.come_to_rest()
    history.check()
