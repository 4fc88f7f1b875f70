"""A deliberation of real `command` agents in a workspace, held by the installed command."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

AGENTS = Path(__file__).parent.parent / "agents"
PROGRAM = AGENTS / "deliberates.py"
TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z|\b\d+(m\d+)?s\b")


class Forum:
    """A workspace whose agents are programs, each with its own bad habits."""

    def __init__(self, council) -> None:
        self.council = council
        self.root: Path = council.root
        self.file = self.root / "memory" / "shared" / "council-active-conversation.md"

    def settle(self, *agents: str, head: str = "", **habits: str) -> None:
        """Write the settings: each of `agents`, and those with habits (options of the program)."""
        lines = ["schemaVersion = 1", 'retry_backoff = ["1s", "1s"]', 'run_timeout = "60s"', head]
        for agent in dict.fromkeys((*agents, *habits)):
            argv = [sys.executable, str(PROGRAM), *habits.get(agent, "").split()]
            lines.append(f"[agents.{agent}]\nargv = {json.dumps(argv)}")
        (self.root / "council.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def convene(self, agents: str, *words: str, run: bool = False) -> dict[str, Any]:
        """Open it; with `run` stay until the minutes are written."""
        opened = self.council(
            *("convene", "Shall we do it?", "--procedure", "deliberation", "--agents", agents),
            *words,
            *(("--run",) if run else ("--json",)),
        )
        assert opened.code == 0, opened.err + opened.out
        return {} if run else opened.json()

    def finish(self) -> None:
        done = self.council("heartbeat", "--wait", "4m")
        assert done.code == 0, done.err + done.out

    def play(self, agents: str, *words: str) -> dict[str, Any]:
        """Hold the whole deliberation and return what its minutes hold for programs."""
        self.convene(agents, *words)
        self.finish()
        return self.record()

    def show(self) -> dict[str, Any]:
        shown = self.council("show", "--json")
        assert shown.code == 0, shown.err
        return shown.json()

    def minutes(self) -> str:
        (listed,) = self.council("list", "--archived", "--json").json()
        return (self.root / listed["path"]).read_text(encoding="utf-8")

    def record(self) -> dict[str, Any]:
        """Return the state that lies beside the minutes."""
        (listed,) = self.council("list", "--archived", "--json").json()
        return json.loads((self.root / listed["path"]).with_suffix(".json").read_bytes())

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        found = self.council("events", "tail", "--lines", "2000", "--json").out
        events = [json.loads(line) for line in found.splitlines()]
        return [one for one in events if not kind or one["type"] == kind]


def verdicts(record: dict[str, Any]) -> list[str]:
    """Return the verdict of each round that was judged."""
    return [one["verdict"]["type"] for one in record["rounds"] if one.get("verdict")]


def said(record: dict[str, Any], kind: str = "contribution") -> list[tuple[int, str]]:
    """Return (round, agent) of each entry of that kind, in order."""
    return [(one["tour"], one["agent"]) for one in record["ledger"] if one["kind"] == kind]


def absences(record: dict[str, Any]) -> list[tuple[int, str, str]]:
    """Return (round, agent, reason) of each who was not heard."""
    return [
        (one["tour"], agent, reason)
        for one in record["rounds"]
        for agent, reason in (one.get("absent") or {}).items()
    ]


def without_times(text: str, *ids: str) -> str:
    """Return a text without its instants, durations and ids, for comparing two conversations."""
    for drawn in ids:
        text = text.replace(drawn, "ID")
    text = re.sub(r"\b[0-9a-f]{64}\b|(?<=sha256=)[0-9a-f]{16}\b", "DIGEST", text)
    text = re.sub(r'(?<="nonce": ")[0-9a-f]{32}\b', "NONCE", text)
    text = re.sub(r"\b(c[0-9a-z]{24}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\b", "ID", text)
    return TIMES.sub("TIME", text)
