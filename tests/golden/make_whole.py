"""How `whole-0.1.0/` was made, once, by council 0.1.0: a workspace with something of everything.

    python -m tests.golden.make_whole FOLDER

Open councils (one blind, one with failed, resting and capped agents), a deliberation amid its
vote, a paused one, rooms, a discussion, a request with its worker, calls, artifacts, an identity
and minutes of each kind. Like `v1/` it is never made anew: see `make_v1`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

STARTED = "2026-02-08T20:{minute:02}:00Z"
SETTINGS = """schemaVersion = 1
language = "en"
max_runs = 2
retry_backoff = ["1m", "2m"]

[agents.henry]
role = "builds"

[agents.sage]
role = "asks"

[agents.claude]
[agents.gpt]
[agents.glm]

[agents.broken]
argv = ["sh", "-c", "cat >/dev/null; echo no such model >&2; exit 3"]

[agents.absent]
argv = ["no-such-program-anywhere"]

[agents.sound]
argv = ["sh", "-c", "cat >/dev/null; echo 'Yes, it is sound.'"]

[agents.slow]
argv = ["sleep", "300"]

[limits]
max_runs_per_council = 3
failures_before_rest = 1
"""
THREE = ("claude", "gpt", "glm")


def commands_in(root: Path) -> Callable[..., str]:
    """Return what runs the real commands in a workspace, at a minute of the same hour."""
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def council(*words: str, minute: int = 0, code: int | None = 0) -> str:
        environ = {"PATH": search, "LANG": "C.UTF-8", "HOME": str(root / "home")}
        environ["COUNCIL_NOW"] = STARTED.format(minute=minute)
        argv = [sys.executable, "-m", "council", *words]
        done = subprocess.run(argv, cwd=root, env=environ, capture_output=True, text=True)
        if code is not None and done.returncode != code:
            raise SystemExit(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    return council


def turn(stances: str, confidence: int = 4) -> str:
    """Return a structured turn."""
    lines = "".join(
        f"- @{other}: {stance} — for «reasons»\n"
        for other, _, stance in (one.partition("=") for one in stances.split())
    )
    return (
        f"## Position\nTea.\n\n## Responses to Others\n{lines}\n"
        f"## Reasoning\nIt is warm.\n\n## Confidence\n{confidence}\n"
    )


def make_councils(council: Callable[..., str]) -> None:
    """Make councils: ended in each way, open in each phase, paused, with runs that failed."""
    both = ("--agents", "henry,sage", "--cwd", "/", "--timeout", "9h")
    council("convene", "Did all agree?", "--name", "agreed", *both, "--open")
    for agent in ("henry", "sage"):
        council("respond", "--name", "agreed", "--as", agent, "Tea, for it is warm.")
    for agent in ("henry", "sage"):
        council("respond", "--name", "agreed", "--as", agent, "--status", "agreed", "I agree.")
    said = "## Decision\n\nWe serve tea.\n\n## Next step\n\nHenry buys it."
    council("synthesize", "--name", "agreed", "--as", "henry", said)

    council("convene", "Did they not agree?", "--name", "disputed", *both, "--open", minute=1)
    for tour in (1, 2, 3):
        for agent in ("henry", "sage"):
            said = f"Coffee, say I in round {tour}.\n\nBLOCKING: the pot leaks"
            council("respond", "--name", "disputed", "--as", agent, said, minute=1)
    council("synthesize", "--name", "disputed", "--as", "sage", "No decision.", minute=1)

    council("convene", "Was it called off?", "--name", "cancelled", *both, minute=2)
    council("respond", "--name", "cancelled", "--as", "henry", "Half said.", minute=2)
    council("cancel", "cancelled", minute=2)

    council("convene", "Is it sealed?", "--name", "sealed", *both, "--sealed", minute=3)
    council("respond", "--name", "sealed", "--as", "henry", "Seen by nobody yet.", minute=3)
    council("convene", "Is it answered?", "--name", "challenge", *both, minute=3)
    for agent in ("henry", "sage"):
        council("respond", "--name", "challenge", "--as", agent, "A position.", minute=3)
    council("inject", "--name", "challenge", "Keep it short.", minute=3)
    council("convene", "Does it rest?", "--name", "paused", *both, minute=3)
    council("pause", "paused", minute=3)

    runs = "henry,broken,absent,sound"
    words = ("--name", "runs", "--agents", runs, "--cwd", "/", "--timeout", "9h")
    council("convene", "What became of the runs?", *words, minute=4)
    for minute in range(4, 12):
        council("heartbeat", "--wait", "5s", minute=minute, code=None)
    # An agent that failed for good in one council rests in the next.
    council("convene", "Who fails?", "--name", "failing", "--agents", "henry,broken", minute=11)
    for minute in range(11, 17):
        council("heartbeat", "--wait", "5s", minute=minute, code=None)
    council("convene", "Who rests?", "--name", "resting", "--agents", "henry,broken", minute=16)
    council("heartbeat", minute=17, code=None)


def make_deliberations(council: Callable[..., str]) -> None:
    """Make a deliberation that is over, and one amid its vote."""
    for name, minute in (("decided", 18), ("voting", 19)):
        council(
            *("convene", f"Tea or coffee in {name}?", "--procedure", "deliberation"),
            *("--name", name, "--agents", ",".join(THREE), "--cwd", "/", "--timeout", "9h"),
            *("--max-rounds", "1", "--synthesizer", "glm"),
            minute=minute,
        )
        for at, agent in enumerate(THREE):
            stances = " ".join(f"{one}=partial" for one in THREE[:at])
            council("respond", "--name", name, "--as", agent, turn(stances), minute=minute)
        for agent in THREE if name == "decided" else THREE[:1]:
            others = " ".join(f"{one}=agree" for one in THREE if one != agent)
            council("vote", "--name", name, "--as", agent, turn(others, 5), minute=minute)
        if name == "decided":
            said = "## Consensus Summary\nTea.\n\n## Recommendation\nServe tea."
            council("synthesize", "--name", name, "--as", "glm", said, minute=minute)


def make_rooms(council: Callable[..., str]) -> None:
    """Make a room in which somebody has the floor, and a discussion."""
    words = ("--participants", "henry,sage", "--as", "henry")
    council("channel", "create", "chat", "den", *words, minute=20)
    council("channel", "post", "den", "Is it — «naïve»?", "--as", "zoe", minute=20)
    council("turn", "begin", "den", "--as", "henry", "--json", minute=20)
    council("channel", "create", "work", "shed", "--participants", "sound,sage", minute=20)
    council("channel", "post", "shed", "Who mends the roof?", "--as", "zoe", minute=20)


def make_requests(council: Callable[..., str], root: Path) -> None:
    """Make requests of document 002, artifacts, and calls: one over, one cut off, one refused."""
    council("agent", "join", "--as", "sage", "--caps", "research,plan", minute=25)
    words = ("msg", "send", "--user", "What is the news?", "--caps", "research")
    council(*words, minute=25)
    (root / "plan.txt").write_text("A plan of three steps.\n", encoding="utf-8")
    council("artifact", "publish", "plan.txt", "--as", "henry", minute=26)
    call = ("agent", "call", "--as", "henry", "--trace", "t1")
    council(*call, "--to", "sound", "Is this right?", minute=27)
    council(*call, "--to", "absent", "Are you there?", minute=27, code=None)
    environ = {**os.environ, "COUNCIL_NOW": STARTED.format(minute=28)}
    cut_off = subprocess.Popen(
        [sys.executable, "-m", "council", *call, "--to", "slow", "Will this end?"],
        cwd=root,
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    calls = root / "memory/shared/.council/delegation/calls"
    while not (calls.is_dir() and list(calls.iterdir())):
        time.sleep(0.1)
    time.sleep(1)
    os.killpg(cut_off.pid, signal.SIGKILL)
    cut_off.wait()


def make(root: Path) -> None:
    """Make the workspace with the real commands."""
    (root / "memory" / "shared").mkdir(parents=True)
    (root / "council.toml").write_text(SETTINGS, encoding="utf-8")
    council = commands_in(root)
    make_councils(council)
    make_deliberations(council)
    make_rooms(council)
    make_requests(council, root)
    clear(root)


def clear(root: Path) -> None:
    """Take out what is of no meaning to another machine."""
    control = root / "memory" / "shared" / ".council"
    for left in (
        control / "settings-cache.json",
        control / "key",
        root / "home",
        root / "plan.txt",
    ):
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)
    for path in control.glob("*/prompts"):
        shutil.rmtree(path)
    for path in sorted(root.rglob("*lock*")):
        if path.is_file():
            path.unlink()


if __name__ == "__main__":
    make(Path(sys.argv[1]))
