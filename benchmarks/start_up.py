"""What the installed command costs to start, against the interpreter alone."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring import Part, Row, in_turns, milliseconds, tell
from benchmarks.workspaces import AGENTS, COUNCIL, PASS, Site

STATE_SIZE = 100_000
HOT_BOUND = 5.0  # `architecture.md` section 4, with the plain standard library
HOT = (
    *("respond", "context", "context after an answer", "wait", "turn begin", "turn end"),
    "heartbeat, nothing due",
)
BOUNDS = {
    **dict.fromkeys(HOT, HOT_BOUND),
    "--help, plain": 8.0,
    "--help, rich on a terminal": 15.0,
    "status": 8.0,
}


def measure(folder: Path, rounds: int) -> Part:
    """Measure each command as a process of its own."""
    still = Site(folder / "still").with_agents()
    still.converse("active", STATE_SIZE)
    moving = Site(folder / "moving").with_agents()
    seats = moving.seats(STATE_SIZE, rounds + 1)
    moved = [""]
    room = Site(folder / "room")  # whose agents come by themselves
    (room.root / "council.toml").write_text("".join(f"[agents.{one}]\n" for one in AGENTS))
    room.printed("channel", "create", "chat", "hall", "--members", ",".join(AGENTS))
    runs_of_room = (f"run{number}" for number in range(rounds + 1))
    speaking = ["", ""]

    def turn_begin() -> float:
        turn = ("turn", "begin", "hall", "--json")
        shown = json.loads(room.printed("channel", "show", "hall", "--json"))
        speaking[:] = shown["currentSpeaker"], next(runs_of_room)
        return room.timed((COUNCIL, *turn, "--as", speaking[0], "--run-id", speaking[1]))

    def turn_end() -> float:
        turn = ("turn", "end", "hall", "--json", "--post", "--text", f"Said in {speaking[1]}.")
        return room.timed((COUNCIL, *turn, "--as", speaking[0], "--run-id", speaking[1]))

    def respond() -> float:
        moved[0], agent = next(seats)
        text = f"Yes, says {agent}."
        return moving.timed((COUNCIL, "respond", "--name", moved[0], "--as", agent, text))

    def context_anew() -> float:
        return moving.timed((COUNCIL, "context", "--name", moved[0], "--as", AGENTS[0]))

    runs: dict[str, Callable[[], float]] = {
        "python -c pass": lambda: still.timed(PASS),
        "respond": respond,
        "context": lambda: still.timed((COUNCIL, "context", "--as", "p0")),
        "wait": lambda: still.timed((COUNCIL, "wait", "--as", "p0")),
        "turn begin": turn_begin,
        "turn end": turn_end,
        "heartbeat, nothing due": lambda: still.timed((COUNCIL, "heartbeat")),
        "--help, plain": lambda: still.timed((COUNCIL, "--help")),
        "--help, rich on a terminal": lambda: on_terminal(still, COUNCIL, "--help"),
        "status": lambda: still.timed((COUNCIL, "status")),
        "show": lambda: still.timed((COUNCIL, "show")),
        "context after an answer": context_anew,
    }
    tell(f"start-up: {len(runs)} commands, {rounds} rounds")
    found = in_turns(runs, rounds)
    against = "python -c pass"
    rows = [
        Row(f"council {what}", ms, against, found[against], BOUNDS.get(what))
        for what, ms in found.items()
        if what != against
    ]
    return Part(
        "Commands",
        "Each a process of its own, in a workspace with six agents in `council.toml` that run a "
        "program and have a `SOUL.md`, and one conversation with a state of 100 KB. `respond` "
        "records a new answer, durably. `context` asks again for a prompt that was made before; "
        "after an answer of somebody else it has to be made anew. `wait` is for a turn that "
        "has come; the turns are those of six agents in a channel.",
        rows,
    )


def on_terminal(site: Site, *argv: str) -> float:
    """Return the milliseconds of a command whose output is a terminal."""
    return milliseconds(lambda: shown(site, *argv))


def shown(site: Site, *argv: str) -> str:
    """Run a command on a terminal of its own, which must succeed; return what it shows."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            argv,
            cwd=site.root,
            env={**site.env, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
    finally:
        os.close(theirs)
    pieces = []
    try:
        while piece := os.read(ours, 65536):
            pieces.append(piece)
    except OSError:
        pass  # so the kernel says that nobody holds the other end any more
    finally:
        os.close(ours)
    if process.wait():
        raise SystemExit(f"{' '.join(argv)} failed on a terminal")
    return b"".join(pieces).decode("utf-8", "replace")
