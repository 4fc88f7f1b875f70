"""A trial with the installed command and real processes: killed anywhere, it goes on as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from council.runs import places
from tests.scenarios.workspaces import COMMAND, Workspace

AGENT = r"""
import os, re, sys
prompt = sys.stdin.read()
me, other = os.environ["COUNCIL_AGENT"], {"ada": "bea", "bea": "ada"}[os.environ["COUNCIL_AGENT"]]
number = int(re.search(r"sum of (\d+)", prompt)[1])
said = number + 1 + (me == "bea" and number % 2)
if "## Choice" in prompt:
    print(f"## Choice\nA\n\n## Final Position\nA.\n\n## Confidence\n4\n\n## Agreement with Others\n- @{other}: agree")
elif "## Recommendation" in prompt:
    print("## Consensus Summary\nA.\n\n## Key Insights\n- @ada: sums\n\n## Recommendation\nA.")
elif "## Position" in prompt:
    print(f"## Position\nANSWER: {said}\n\n## Responses to Others\n- @{other}: agree — yes\n\n## Reasoning\nSums.\n\n## Confidence\n4")
else:
    print(f"It is easy.\n\nANSWER: {said}")
"""
ASKED = [
    {"id": f"q{n}", "question": f"What is the sum of {n} and 1?", "answer": n + 1}
    for n in (1, 2, 3)
]
POINTS = [[n, n + 7, n + 14] for n in range(1, 11)]  # revisions after which everything is killed
TRIAL = ["trial", "sums.jsonl", "--arms", "alone,vote,deliberation"]


@pytest.fixture
def sums(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    assert made.run("init", str(tmp_path), "--agents", "ada,bea", "--lang", "en").returncode == 0
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ASKED))
    argv = json.dumps([sys.executable, str(tmp_path / "agent.py")])
    tables = "".join(f"\n[agents.{one}]\nargv = {argv}\n" for one in ("ada", "bea"))
    settings = f'retry_backoff = ["1s"]\n[deliberation]\nmax_rounds = 1\n{tables}'
    (tmp_path / "council.toml").write_text(settings)
    return made


def figures(made: dict[str, Any]) -> dict[str, Any]:
    """Return what of a report does not depend on time and on runs that were lost."""
    cost = ("usd", "tokens", "seconds")
    arms = [{k: v for k, v in row.items() if k not in cost} for row in made["arms"]]
    turned = [(one["arm"], one["id"], one["right"]) for one in made["turned"]]
    return {**made, "arms": arms, "turned": turned, "name": ""}


def revisions(root: Path) -> int:
    paths = root.glob("memory/shared/.council/*/*/journal*.jsonl")
    lines = 0
    for path in paths:
        with suppress(FileNotFoundError):  # it was just filed away
            lines += path.read_bytes().count(b"\n")
    return lines


def kill_at(sums: Workspace, count: int) -> None:
    """Run the trial until there are so many revisions, then kill all that belongs to it."""
    child = subprocess.Popen(
        [*COMMAND, *TRIAL], cwd=sums.root, env=sums.env, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    ends = time.monotonic() + 300
    while child.poll() is None and revisions(sums.root) < count and time.monotonic() < ends:
        time.sleep(0.005)
    folder = str(sums.root / "memory/shared/.council/places")
    for pid in [child.pid, *places.held(folder).values()] * 2:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    child.wait()


@pytest.mark.slow
@pytest.mark.parametrize("points", POINTS)
def test_a_killed_trial_asks_each_question_once_and_reports_the_same(sums, points):
    for count in points:
        kill_at(sums, count)
    done = subprocess.run(
        [*COMMAND, *TRIAL, "--json"], cwd=sums.root, env=sums.env, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert figures(json.loads(done.stdout)) == {
        **{"name": "", "agents": ["ada", "bea"], "questions": 3, "compared": 3, "over": True},
        **{"paused": "", "best": "ada", "changed": 0.0, "errors": []},
        "arms": [
            row("ada", 3, 0, 29.24, 100.0),
            row("bea", 1, 0, 0.84, 90.57),
            row("best", 3, 0, 29.24, 100.0),
            row("vote", 1, 2, 0.84, 90.57),
            row("deliberation", 3, 0, 29.24, 100.0),
        ],
        "differences": [
            apart("vote", "best", 0, 2, -66.67, 0.5),
            apart("deliberation", "best", 0, 0, 0.0, 1.0),
            apart("deliberation", "vote", 2, 0, 66.67, 0.5),
        ],
        "noise": apart("", "", 0, 0, 0.0, 1.0),
        "turned": [("deliberation", "q1", True), ("deliberation", "q3", True)],
    }
    assert len(list(sums.root.glob("conseils/*.md"))) == 3
    (journal,) = sums.root.glob("memory/shared/.council/trials/*/journal*.jsonl")
    events = [e for line in journal.read_text().splitlines() for e in json.loads(line)["events"]]
    keys = [e["key"] for e in events if e["type"] in ("trial.answered", "trial.talked")]
    assert sorted(keys) == sorted({*keys})
    assert len(keys) == 12 + 3


def row(arm: str, right: int, none: int, low: float, high: float) -> dict[str, Any]:
    made = {"arm": arm, "n": 3, "right": right, "none": none}
    return made | {
        k: pytest.approx(v, abs=0.01)
        for k, v in (("accuracy", right / 0.03), ("low", low), ("high", high))
    }


def apart(
    arm: str, against: str, gains: int, losses: int, points: float, p: float
) -> dict[str, Any]:
    low, high = (min(points, 0.0) * 1.5, max(points, 0.0) * 1.5)
    made = {"n": 3, "gains": gains, "losses": losses, "p": p, "verdict": "unclear"}
    made |= {
        "difference": pytest.approx(points, abs=0.01),
        "low": pytest.approx(low),
        "high": pytest.approx(high),
    }
    return {**({"arm": arm, "against": against} if arm else {}), **made}


@pytest.mark.slow
def test_a_paused_trial_is_resumed(sums):
    child = sums.start(*TRIAL)
    while revisions(sums.root) < 6:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert f"council {' '.join(TRIAL[:1])} sums-" in errors
    assert sums.run(*TRIAL).returncode == 4
    kept = revisions(sums.root)
    time.sleep(1)
    assert revisions(sums.root) == kept
    done = sums.run(*TRIAL, "--resume", timeout="")
    assert done.returncode == 0, done.stderr
    assert "| deliberation | 3 of 3 |" in done.stdout
