"""The council of the second scenario, and how its minutes in `conseils/` were made.

    python -m tests.scenarios.example

holds it anew in a temporary workspace, at a fixed instant and one run at a
time, and writes the minutes to the example. The same council is held by
`test_real_brief.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from council.store.conversations.minutes import with_data

HOUSE = Path(__file__).parent.parent.parent
BRIEF = Path(__file__).parent / "briefs" / "records-of-the-valserine-clinics.md"
PROGRAMS = HOUSE / "tests" / "agents"
EXAMPLE = HOUSE / "conseils" / "example-records-of-the-valserine-clinics.md"
TOPIC = "Where shall the records of the Valserine clinics live from summer 2027?"
EVENING = "2026-11-16T19:30:00Z"
FOUR = ("odile", "anselm", "rosa", "ilse")

# Two ways of answering: by `council respond` inside the run, with a status, and by printing.
_AGENTS = {
    "odile": ("🧾", "adds up", "sums_costs.py", True),
    "anselm": ("📅", "keeps the dates", "checks_dates.py", True),
    "rosa": ("📐", "keeps the constraints", "keeps_constraints.py", True),
    "ilse": ("🔍", "doubts", "doubts.py", False),
    "paul": ("📝", "draws together", "draws_together.py", False),
}


def settings() -> str:
    """Return the settings of the workspace; one run at a time, so the order is always the same."""
    lines = ["schemaVersion = 1", 'language = "en"', "max_runs = 1"]
    for agent, (emoji, role, program, by_tool) in _AGENTS.items():
        argv = [sys.executable, str(PROGRAMS / program), *(["--tool"] if by_tool else [])]
        lines += [
            f"\n[agents.{agent}]",
            f"emoji = {json.dumps(emoji, ensure_ascii=False)}",
            f'role = "{role}"',
            f"argv = {json.dumps(argv)}",
            f'answer = "{"tool" if by_tool else "stdout"}"',
        ]
    return "\n".join(lines) + "\n"


def hold_council(root: Path, council: Callable[..., str]) -> Path:
    """Hold the council in the workspace `root` and return the path of its minutes.

    Args:
        root: The workspace.
        council: Runs `council WORDS` there at the instant `EVENING`; returns what it printed.
    """
    (root / "council.toml").write_text(settings(), encoding="utf-8")
    council(
        *("convene", TOPIC, "--brief-file", str(BRIEF), "--agents", ",".join(FOUR)),
        *("--synthesizer", "paul", "--mode", "analysis", "--cwd", "/"),
    )
    council("heartbeat", "--wait", "5m")
    (listed,) = json.loads(council("list", "--archived", "--json"))
    return root / listed["path"]


def main() -> None:
    """Write the example."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "memory" / "shared").mkdir(parents=True)
        search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

        def council(*words: str) -> str:
            return subprocess.run(
                [sys.executable, "-m", "council", *words],
                cwd=root,
                env={"PATH": search, "LANG": "C.UTF-8", "COUNCIL_NOW": EVENING},
                check=True,
                text=True,
                stdout=subprocess.PIPE,
            ).stdout

        made = hold_council(root, council)
        text = made.read_text(encoding="utf-8")
        data = made.with_suffix(".json").read_text(encoding="utf-8")
    EXAMPLE.parent.mkdir(exist_ok=True)
    beside = EXAMPLE.with_suffix(".json")
    beside.write_text(data, encoding="utf-8")
    EXAMPLE.write_text(with_data(text, beside.name), encoding="utf-8")
    sys.stdout.write(f"{EXAMPLE.relative_to(HOUSE)}\n")


if __name__ == "__main__":
    main()
