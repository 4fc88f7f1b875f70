"""The little agent programs, and a turn to run them with."""

from __future__ import annotations

import json
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


def printed(name: str, text: str, tokens: int = 900) -> str:
    """Return what a program such as `claude` prints for an answer; another prints the answer."""
    if name == "claude":
        usage = {"some-model": {"inputTokens": tokens, "outputTokens": 100}}
        result = {"type": "result", "subtype": "success", "is_error": False, "result": text}
        return json.dumps({**result, "modelUsage": usage, "total_cost_usd": tokens / 100_000})
    if name == "codex":
        message = {"type": "agent_message", "text": text}
        usage = {"input_tokens": tokens, "output_tokens": 100}
        events = {"type": "item.completed", "item": message}, {"type": "turn.completed"}
        return "\n".join(json.dumps(one) for one in (events[0], {**events[1], "usage": usage}))
    return text


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


def with_openclaw(folder: Path) -> dict[str, str]:
    """Return variables with which `openclaw` is the program that says what was recorded."""
    home, programs = folder / "home", folder / "bin"
    (home / ".openclaw").mkdir(parents=True)
    programs.mkdir()
    starts = programs / "openclaw"
    starts.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I "{AGENTS}/openclaw.py" "$@"\n')
    starts.chmod(0o755)
    return {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
