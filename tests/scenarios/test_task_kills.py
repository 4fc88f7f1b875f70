"""Tasks under blows: heartbeats and runs that are killed at random."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from tests.cli.commands import wait_until
from tests.scenarios.office import Office


@pytest.fixture
def office(council) -> Office:
    return Office(council)


def _runs_under(root) -> list[int]:
    """Return the processes that work in a workspace: those that supervise runs, and agents."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                environ = file.read()
            if name.isdigit() and os.fsencode(root) in environ and int(name) != os.getpid():
                found.append(int(name))
        except OSError:
            continue
    return found


@pytest.mark.req("XC-001", "PR-556")
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_heartbeats_and_runs_killed_at_random_lose_nothing_and_double_nothing(office, seed):
    chance = random.Random(seed)
    log = office.root / "read.txt"
    hired = {
        one: (["--log", str(log), "--pause", "0.1", "result", f"result=by {one}"], "plan")
        for one in ("ant", "bee")
    }
    office.hire(
        "max_runs = 2\nfailures_before_rest = 0\n[limits]\nfailures_before_rest = 0", **hired
    )
    environ = {"COUNCIL_ROOT": str(office.root)}
    contexts = [office.ask(f"Request {number}", "--caps", "plan") for number in range(4)]
    for _ in range(6):
        beat = office.council.start("heartbeat", env=environ)
        time.sleep(chance.uniform(0.05, 0.5))
        for process in [
            beat.pid,
            *chance.sample(found := _runs_under(office.root), k=min(2, len(found))),
        ]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        beat.communicate()
    done = office.council("heartbeat", "--wait", "1s")
    assert done.code in (0, 7), done.err
    at = 0

    def all_closed() -> bool:
        nonlocal at
        at += 30  # leases of what was killed run out
        later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + at))
        office.council("heartbeat", now=later)
        return not office.do("task", "list")["tasks"]

    wait_until(all_closed)
    for context in contexts:
        answer = office.answer(context)
        assert answer.startswith(("by ", "Not done")), answer
        log_of = office.messages(context)
        assert log_of.count("O1>User S") == 1
        assert sum(one.endswith(">O1 S") for one in log_of) == answer.startswith("by ")
    assert len(office.inbox("User")) == len(contexts)
    lines = (office.root / "memory/shared/protocol/inbox/User.jsonl").read_text().splitlines()
    assert len(lines) == len(contexts)
