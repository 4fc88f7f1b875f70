"""A trial with the installed command and real processes: killed anywhere, it goes on as it was."""

import json
import os
import re
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from council.runs import processes
from tests.scenarios.workspaces import Workspace

AGENT = r"""
import os, re, sys
prompt, me = sys.stdin.read(), os.environ["COUNCIL_AGENT"]
number, other = int(re.search(r"sum of (\d+)", prompt)[1]), {"ada": "bea", "bea": "ada"}[me]
said = f"ANSWER: {number + 1 + (me == 'bea' and number % 2)}"
sure = "\n\n## Confidence\n4\n\n"
if "## Choice" in prompt:
    print(f"## Choice\nA\n\n## Final Position\nA.{sure}## Agreement with Others\n- @{other}: agree")
elif "## Recommendation" in prompt:
    print("## Consensus Summary\nA.\n\n## Key Insights\n- @ada: sums\n\n## Recommendation\nA.")
elif "## Position" in prompt:
    print(f"## Position\n{said}\n\n## Responses to Others\n- @{other}: agree — yes")
    print(f"\n## Reasoning\nSums.{sure}")
else:
    print(f"It is easy.\n\n{said}")
"""
ASKED = [
    {"id": f"q{n}", "question": f"What is the sum of {n} and 1?", "answer": n + 1}
    for n in (1, 2, 3)
]
# Revisions after which everything is killed: twice, since a run that is lost thrice is given up.
POINTS = [[n, n + 11] for n in range(1, 16)]
TRIAL = ["trial", "sums.jsonl", "--arms", "alone,vote,deliberation"]


def workspace(root: Path) -> Workspace:
    made = Workspace(root)
    assert made.run("init", str(root), "--agents", "ada,bea", "--lang", "en").returncode == 0
    (root / "agent.py").write_text(AGENT)
    (root / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ASKED))
    argv = json.dumps([sys.executable, str(root / "agent.py")])
    tables = "".join(f"\n[agents.{one}]\nargv = {argv}\n" for one in ("ada", "bea"))
    settings = f'retry_backoff = ["1s"]\n[deliberation]\nmax_rounds = 1\n{tables}'
    (root / "council.toml").write_text(settings)
    return made


@pytest.fixture
def sums(tmp_path: Path) -> Workspace:
    return workspace(tmp_path)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a trial shows that nobody kills."""
    made = figures(workspace(tmp_path_factory.mktemp("whole")).json(*TRIAL))
    right = {row["arm"]: row["right"] for row in made["arms"]}
    assert right == {"ada": 3, "bea": 1, "best": 3, "vote": 1, "deliberation": 3}
    assert made["turned"] == [("deliberation", "q1", True), ("deliberation", "q3", True)]
    return made


def figures(made: dict[str, Any]) -> dict[str, Any]:
    """Return what of a report does not depend on time and on runs that were lost."""
    cost = ("usd", "tokens", "ms")
    arms = [{k: v for k, v in row.items() if k not in cost} for row in made["arms"]]
    turned = [(one["arm"], one["id"], one["right"]) for one in made["turned"]]
    return {**made, "arms": arms, "turned": turned, "name": ""}


def revisions(root: Path) -> int:
    lines = 0
    for path in root.glob("memory/shared/.council/*/*/journal*.jsonl"):
        with suppress(FileNotFoundError):  # it was just filed away
            lines += path.read_bytes().count(b"\n")
    return lines


def kill_at(sums: Workspace, count: int) -> None:
    """Run the trial until there are so many revisions, then kill all that belongs to it."""
    child = sums.start(*TRIAL)
    ends = time.monotonic() + 300
    while child.poll() is None and revisions(sums.root) < count and time.monotonic() < ends:
        time.sleep(0.005)
    folder = str(sums.root / "memory/shared/.council")
    for pid in [child.pid, *processes.held(folder).values()] * 2:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    child.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("points", POINTS)
def test_a_killed_trial_asks_each_question_once_and_reports_the_same(sums, reference, points):
    for count in points:
        kill_at(sums, count)
    assert figures(sums.json(*TRIAL)) == reference
    assert len(list(sums.root.glob("conseils/*.md"))) == 3
    (journal,) = sums.root.glob("memory/shared/.council/trials/*/journal*.jsonl")
    events = [e for line in journal.read_text().splitlines() for e in json.loads(line)["events"]]
    keys = [e["key"] for e in events if e["type"] in ("trial.answered", "trial.talked")]
    assert sorted(keys) == sorted({*keys})
    assert len(keys) == 12 + 3


@pytest.mark.slow
def test_a_paused_trial_is_resumed(sums):
    child = sums.start(*TRIAL)
    while revisions(sums.root) < 6:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    shown, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "! a person paused it; to continue: council trial sums-" in errors
    assert re.search(r"^sums-\w+: \d+ of 15 answers|^# Trial \S+\n\n[1-3] of 3", shown), shown
    assert sums.run(*TRIAL).returncode == 4
    kept = revisions(sums.root)
    time.sleep(1)
    assert revisions(sums.root) == kept
    done = sums.run(*TRIAL, "--resume")
    assert done.returncode == 0, done.stderr
    assert "| deliberation | 3 of 3 |" in done.stdout
    assert max(len(one) for one in done.stdout.splitlines() if one[:1] == "|") <= 80
