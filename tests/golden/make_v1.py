"""How the workspace of version 1 in `v1/` was made, once, when that version was released.

    python -m tests.golden.make_v1 FOLDER

It is never made anew: what lies in `v1/` is what that version wrote, and every
later one must read it. A new version gets a folder of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

STARTED = "2026-02-08T20:00:00Z"
AGENTS = ("henry", "sage")
# How many rounds are played in each of them, and with which words it was convened.
CONVERSATIONS = {
    "collect": (0, ("--sealed",)),
    "challenge": (1, ("--sealed",)),
    "resolve": (2, ("--open", "--lang", "fr")),
    "synthesize": (3, ("--open", "--mode", "prd", "--synthesizer", "henry")),
    "ended": (4, ("--open", "--mode", "analysis", "--synthesizer", "sage")),
}
SETTINGS = """schemaVersion = 1
language = "en"
max_runs = 2

[agents.henry]
role = "builds"
"""


def opened(root: Path) -> Callable[..., None]:
    """Make an empty workspace and return what runs the real commands in it."""
    (root / "memory" / "shared").mkdir(parents=True)
    (root / "council.toml").write_text(SETTINGS, encoding="utf-8")
    return commands_in(root)


def commands_in(root: Path) -> Callable[..., None]:
    """Return what runs the real commands in a workspace."""
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {"PATH": search, "LANG": "C.UTF-8", "COUNCIL_NOW": STARTED}

    def council(*words: str) -> None:
        argv = [sys.executable, "-m", "council", *words]
        subprocess.run(argv, cwd=root, env=environ, check=True, stdout=subprocess.DEVNULL)

    return council


def make(root: Path) -> None:
    """Make the workspace with the real commands."""
    council = opened(root)
    for name, (rounds, words) in CONVERSATIONS.items():
        council(
            *(
                "convene",
                f"Is {name} — «naïve» or not?",
                "--brief",
                f"All about {name}.\n\n> 1 < 2",
            ),
            *(
                "--name",
                name,
                "--agents",
                ",".join(AGENTS),
                "--cwd",
                "/",
                "--timeout",
                "9h",
                *words,
            ),
        )
        for tour in range(1, min(rounds, 3) + 1):
            for agent in AGENTS:
                said = f"{agent} in round {tour} of {name}.\n\nBLOCKING: {tour} costs <!-- no -->"
                council("respond", "--name", name, "--as", agent, said)
        if rounds == 0:
            council("respond", "--name", name, "--as", "henry", "Seen by nobody yet.")
        if rounds < 4:
            council("inject", "--name", name, "Keep it short.")
        else:
            council("synthesize", "--name", name, "--as", "sage", "## Decision\n\nWe shall not.")
        council("heartbeat")
    shared = root / "memory" / "shared"
    live = shared / "council-challenge-conversation.md"
    live.write_text(
        live.read_text(encoding="utf-8").replace(
            "## Participants", "A remark by hand.\n\n## Participants"
        ),
        encoding="utf-8",
    )
    council("heartbeat")
    clear(root)


def clear(root: Path) -> None:
    """Take out what is of no meaning to another machine or version."""
    shared = root / "memory" / "shared"
    for left in (".council/settings-cache.json", ".council/key", ".council/runs"):
        path = shared / left
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for folder in ("prompts", "displaced"):
        for path in (shared / ".council").glob(f"*/{folder}"):
            shutil.rmtree(path)
    for path in root.rglob("*lock*"):
        path.unlink()


if __name__ == "__main__":
    make(Path(sys.argv[1]))
