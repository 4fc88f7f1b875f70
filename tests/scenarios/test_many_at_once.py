"""Many processes at once: forty answers, eight heartbeats, fifty councils that are due."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.commands import at_rest, wait_until

COUNTS = Path(__file__).parent.parent / "agents" / "counts_runs.py"
FOUR = ("henry", "sage", "nova", "blaise")
FOURS = range(4)


def contributions(council, name: str = "active") -> list[tuple[str, int, str]]:
    shown = council("show", name, "--json").json()
    return [(one["agent"], one["tour"], one["text"]) for one in shown["contributions"]]


@pytest.mark.long
@pytest.mark.req("C0-077", "XC-001")
@pytest.mark.parametrize("seal", ["--open", "--sealed"])
def test_forty_processes_that_answer_at_once_are_each_heard_once(council, seal):
    agents = [f"a{number}" for number in range(1, 41)]
    opened = council("convene", "Who is there?", "--agents", ",".join(agents), seal)
    assert opened.code == 0, opened.err

    started = [
        council.start("respond", "--as", agent, "--json", f"I am {agent}.") for agent in agents
    ]
    ended = [process.communicate(timeout=300) for process in started]

    failed = [err for process, (_, err) in zip(started, ended, strict=True) if process.returncode]
    assert not failed
    outcomes = [json.loads(out) for out, _ in ended]
    assert Counter(one["outcome"] for one in outcomes) == {"recorded": 40}
    moved = [one["transition"] for one in outcomes if one["transition"]]
    assert moved == [{"from": "COLLECT", "to": "CHALLENGE"}], "exactly one of them was the last"
    assert Counter(contributions(council)) == Counter(
        (agent, 1, f"I am {agent}.") for agent in agents
    )
    tasks = council.root / "memory" / "agents"
    assert council("heartbeat", "--json").code == 0
    wait_until(lambda: len(list(tasks.glob("*/tasks/*"))) >= 40)
    at_rest(council.root)  # the one who woke them has done so once
    assert len(list(tasks.glob("*/tasks/*"))) == 40, "the prompts of the next round"


@pytest.mark.long
@pytest.mark.req("C0-027", "XC-016")
def test_eight_heartbeats_at_once_wake_each_agent_once_a_round(council, tmp_path):
    log = tmp_path / "runs.log"
    log.touch()
    settings = ["schemaVersion = 1"]
    for agent in FOUR:
        argv = [sys.executable, str(COUNTS), str(log), "0.1"]
        settings.append(f"[agents.{agent}]\nargv = {json.dumps(argv)}")
    (council.root / "council.toml").write_text("\n".join(settings), encoding="utf-8")
    # One participant answers by hand, so that each round waits for us.
    opened = council("convene", "Once?", "--agents", "hand," + ",".join(FOUR), "--open")
    assert opened.code == 0, opened.err

    for tour in (1, 2, 3):
        at_once = [council.start("heartbeat", "--json") for _ in range(8)]
        assert [one.wait(300) for one in at_once] == [0] * 8
        wait_until(lambda tour=tour: answered(council, tour) == set(FOUR))
        at_once = [council.start("heartbeat", "--json") for _ in range(8)]
        assert [one.wait(300) for one in at_once] == [0] * 8
        for process in at_once:
            process.communicate()
        assert council("respond", "--as", "hand", f"Round {tour}.").code == 0

    starts = [line.split()[2] for line in log.read_text().splitlines() if " + " in line]
    runs = Counter((task.split(".")[2], int(task.split(".")[1])) for task in starts)
    assert runs == {(agent, tour): 1 for agent in FOUR for tour in (1, 2, 3)}


def answered(council, tour: int) -> set[str]:
    return {agent for agent, of, _ in contributions(council) if of == tour}


@pytest.mark.slow
@pytest.mark.req("XC-016")
def test_fifty_due_councils_never_have_more_than_max_runs_children(council, tmp_path):
    log, gate = tmp_path / "runs.log", tmp_path / "gate"
    log.touch()
    os.mkfifo(gate)
    short = f'echo "+ $COUNCIL_TASK_ID" >> {log}; sleep 0.03; echo ok; '
    short += f'echo "- $COUNCIL_TASK_ID" >> {log}'
    programs = {
        f"g{number}": f"[ $COUNCIL_TOUR = 2 ] || cat {gate} > /dev/null; echo ok"
        for number in range(4)
    }
    programs.update({f"{side}{number}": short for side in "ab" for number in range(4)})
    settings = ["schemaVersion = 1", "max_runs = 4"]
    for agent, script in programs.items():
        settings.append(f"[agents.{agent}]\nargv = {json.dumps(['/bin/sh', '-c', script])}")
    (council.root / "council.toml").write_text("\n".join(settings), encoding="utf-8")

    def convene(name: str, agents: str, minute: int) -> str:
        opened = council(
            *("convene", name, "--name", name, "--agents", ",".join(f"{agents}{n}" for n in FOURS)),
            *("--phases", "collect,synthesize", "--timeout", "9h", "--json"),
            now=f"2026-02-08T20:{minute:02}:00Z",
        )
        assert opened.code == 0, opened.err
        return str(opened.json()["conversationId"])

    convene("gate", "g", 59)  # takes all places until the gate opens
    ids = {convene(f"c{minute:02}", "ab"[minute % 2], minute): minute for minute in range(50)}
    assert log.read_text() == "", "nothing can run yet"
    with gate.open("w") as opened:
        opened.write("open\n")
    done = council("heartbeat", "--wait", "280s", now="2026-02-08T21:00:00Z", timeout_s=300)
    assert done.code == 0, done.err

    running: set[str] = set()
    most, order = 0, []
    for line in log.read_text().splitlines():
        sign, task = line.split()
        if sign == "+":
            running.add(task)
            conversation, tour, *_ = task.split(".")
            order.append((int(tour), ids[conversation]))
        else:
            running.discard(task)
        most = max(most, len(running))
    assert 2 <= most <= 4
    first = [number for tour, number in order if tour == 1]
    assert Counter(first) == dict.fromkeys(range(50), 4)
    assert len(order) == 50 * 5, "and a synthesis of each"
    late = [abs(at // 4 - number) for at, number in enumerate(first)]
    assert max(late) <= 3, "the oldest first"
    assert len(council("list", "--archived", "--json").json()) == 51
