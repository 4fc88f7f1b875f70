"""The little agent programs, and a turn to run them with."""

from __future__ import annotations

import os
import select
import sys
from datetime import timedelta
from pathlib import Path

from council.core.agents import AgentSettings
from council.drivers.runs import Run

AGENTS = Path(__file__).parent.parent / "agents"
CONVERSATION = "0b54d5a2-6c1e-4f0e-9d5e-3a1f6f1c2b7d"
BASE = {"PATH": os.environ.get("PATH", ""), "HOME": "/nowhere", "LANG": "C.UTF-8"}
PATIENCE_S = 90


def program(name: str, *arguments: object, **told: object) -> AgentSettings:
    """Return the settings of an agent that is one of the programs under `tests/agents`."""
    argv = [sys.executable, str(AGENTS / f"{name}.py"), *map(str, arguments)]
    return AgentSettings(argv=argv, **told)


def turn(root: Path, **changes: object) -> Run:
    """Return a turn of henry in COLLECT."""
    values: dict[str, object] = {
        "agent": "henry",
        "conversation": CONVERSATION,
        "name": "active",
        "task": f"{CONVERSATION}.1.henry.1",
        "phase": "COLLECT",
        "tour": 1,
        "prompt": "Should we build a weather bot?\n",
        "root": str(root),
        "workspace": str(root / "memory/agents/henry"),
        "timeout": timedelta(seconds=30),
    }
    return Run(**{**values, **changes})


class Fifo:
    """A FIFO that shows when a program has started and when it is gone."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "alive"
        os.mkfifo(self.path)
        self._reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def next(self) -> bytes:
        """Return the next byte, or b"" when every writer is gone."""
        ready, _, _ = select.select([self._reader], [], [], PATIENCE_S)
        assert ready, "nothing happened in time"
        return os.read(self._reader, 1)

    def wait_for_the_end(self) -> None:
        """Wait until every writer is gone, if ever there was one."""
        os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
        while self.next():
            pass

    def close(self) -> None:
        """Let go of the FIFO."""
        os.close(self._reader)
