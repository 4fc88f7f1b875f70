"""How to bring a council to a standstill, and to read what two commands say of it."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from tests.cli.commands import wait_until

AGENTS = Path(__file__).parents[1] / "agents"
QUICK = 'retry_backoff = ["1s", "1s"]\n'
NEVER = 'retry_backoff = ["30m", "30m"]\n'


def program(agent: str, *argv: str | Path, more: str = "") -> str:
    """Return the table of an agent that runs a program."""
    words = ", ".join(f'"{one}"' for one in argv)
    return f"[agents.{agent}]\nargv = [{words}]\n{more}"


def python(agent: str, name: str, *words: str | Path, more: str = "") -> str:
    """Return the table of an agent that runs one of the small programs of the tests."""
    return program(agent, sys.executable, AGENTS / name, *words, more=more)


def open_council(
    council, settings: str, *words: str, agents: str = "owl,gecko", gecko_answers: bool = True
) -> None:
    """Open a council of owl, whose program is named, and gecko, whose answer is waited for.

    Args:
        council: The command in its workspace.
        settings: `council.toml`, but for gecko.
        words: More words of `convene`.
        agents: Who takes part; without gecko nothing runs but what `settings` name.
        gecko_answers: Whether gecko can; where it can not, nothing is waited for.
    """
    answering = python("gecko", "echo.py") if "gecko" in agents else ""
    (council.root / "council.toml").write_text(settings + answering)
    done = council("convene", "A weather bot?", "--agents", agents, *words)
    assert done.code == 0, done.err
    if answering and gecko_answers:
        until_told(council, "gecko answered COLLECT")


def explained(council, name: str = "active", *words: str) -> str:
    """Return the explanation as people read it, after a check that it fits their terminal."""
    done = council("explain", name, *words)
    assert done.code == 0, done.err
    assert "{" not in done.out
    lines = done.out.splitlines()
    assert all(len(line) <= 80 or " " not in line.strip(" $|>-") for line in lines), done.out
    return " ".join(done.out.split())


def told(council, name: str = "active", *words: str) -> str:
    done = council("events", "story", name, *words)
    assert done.code == 0, done.err
    return " ".join(done.out.split())


def until_told(council, what: str, name: str = "active", count: int = 1) -> str:
    """Wait until the story says something, and return it."""
    wait_until(lambda: told(council, name).count(what) >= count)
    return told(council, name)


def kinds(council, name: str = "active") -> list[str]:
    return [one["what"] for one in council("explain", name, "--json").json()["hindrances"]]


def end_runs(council) -> None:
    """Kill all that runs for this workspace, until nothing does."""
    mine = f"COUNCIL_ROOT={council.root}".encode()
    wait_until(lambda: not [_kill(one) for one in Path("/proc").iterdir() if _is(one, mine)])


def _is(entry: Path, variable: bytes) -> bool:
    try:
        return entry.name.isdigit() and variable in (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _kill(entry: Path) -> None:
    with suppress(ProcessLookupError):
        os.kill(int(entry.name), signal.SIGKILL)
