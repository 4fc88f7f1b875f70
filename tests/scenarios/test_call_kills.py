"""Calls under blows: of many callers at once, most are killed at random."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from council.operations.reporting.explaining import find_problems
from council.store.slots import Slots
from tests.operations.calls import CallTable, call_table, calls
from tests.operations.tables import running_processes, until
from tests.store.processes import forked, status_of

CALLERS = 16
KILLED = 12
ENDS = ("agent.call.end", "agent.call.error")
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
AGENTS = {
    "ant": "cat >/dev/null; sleep 0.1 & sleep 0.1; echo Done.",
    "bee": "trap '' TERM; cat >/dev/null; sleep 0.1; echo Done.",
    "cat": calls("ant"),
    "doe": calls("bee"),
}


def called(table: CallTable, number: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    agent = sorted(AGENTS)[number % len(AGENTS)]
    table.call(agent, f"task {number}", sender=f"caller{number}", trace=f"t{number % 4}")


@pytest.mark.long
@pytest.mark.req("P8-028", "P8-057", "XC-001", "XC-016")
@pytest.mark.parametrize("seed", [1, 2])
def test_callers_killed_at_random_leave_nothing_and_each_start_has_its_end(
    tmp_path: Path, seed: int
):
    chance = random.Random(seed)
    table = call_table(tmp_path / "workspace", **AGENTS)
    callers = [forked(lambda number=number: called(table, number)) for number in range(CALLERS)]
    for child in chance.sample(callers, KILLED):
        time.sleep(chance.uniform(0, 0.15))
        os.kill(child, chance.choice(SIGNALS))
    for child in callers:
        status_of(child)
    slots = Slots(table.place.paths.places, 4)
    until(lambda: not running_processes(table.root) and not slots.running_agents(), "all are gone")

    table.beat()

    starts = Counter(one["data"]["task"] for one in table.events("agent.call.start"))
    ends = Counter(one["data"]["task"] for one in table.events(*ENDS))
    assert starts == ends
    assert max(starts.values(), default=1) == 1
    assert (table.notes(), slots.taken()) == ([], 0)
    assert find_problems(table.place).found == []
    left = sorted(Path(table.place.paths.runs).glob("*"))
    assert [one.name for one in left if one.suffix not in (".log", "")] == []
    for number in range(CALLERS):
        agent = sorted(AGENTS)[number % len(AGENTS)]
        again = table.call(agent, "again", sender=f"caller{number}", trace=f"again{number}")
        assert "Done." in again.summary
