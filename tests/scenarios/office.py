"""A workspace whose agents are workers of document 002: real programs, run by the heartbeat."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from council.core.protocol.registering import Joining
from council.operations.place import Place
from council.operations.protocol import mail, registry
from council.operations.protocol.exchanging import contexts
from council.operations.protocol.mail import log_lines
from council.wire.log_lines import parse_log_line
from tests.cli.commands import wait_until

PROGRAM = Path(__file__).parent.parent / "agents" / "works.py"
PROTOCOL = ("|", "O1", "W1", "W2", "#REF", "#CTX", "B500", "T1")


class Office:
    """Workers by their habits, and what becomes of what they are asked."""

    def __init__(self, council) -> None:
        self.council = council
        self.root: Path = council.root

    def hire(self, head: str = "", **habits: tuple[list[str], str]) -> None:
        """Let workers join in this order: each by the words of its program and what it can do."""
        lines = ["schemaVersion = 1", 'retry_backoff = ["1s", "1s"]', 'run_timeout = "10m"', head]
        for agent, (words, caps) in habits.items():
            argv = [sys.executable, str(PROGRAM), *words] if words else []
            named = f"argv = {json.dumps(argv)}" if argv else 'driver = "manual"'
            lines.append(f"[agents.{agent}]\n{named}\ncapabilities = {json.dumps(caps.split(','))}")
        (self.root / "council.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for agent in habits:
            registry.join(self.place, Joining(agent=agent))

    @property
    def place(self) -> Place:
        """The workspace as this process sees it: what is only looked at needs no command."""
        return Place(str(self.root), {}, None)

    def do(self, *words: str, code: int = 0, **options: Any) -> Any:
        """Run a command and return its JSON."""
        done = self.council(*words, "--json", **options)
        assert done.code == code, done.err + done.out
        return done.json()

    def ask(self, text: str = "A web search: what is new?", *words: str, **options: Any) -> str:
        """Send a request and return its context."""
        return str(self.do("msg", "send", "--user", text, *words, **options)["context"])

    def answer(self, context: str) -> str:
        """Wait until the user has the answer, and return it; it shows no protocol."""
        path = self.root / f"memory/shared/protocol/answers/{context}.md"
        wait_until(path.exists)
        text = path.read_text(encoding="utf-8")
        assert not [mark for mark in PROTOCOL if mark in text], text
        return text.rstrip("\n")

    def shown(self, context: str) -> dict[str, Any]:
        """Return what is known of a context."""
        return dict(contexts(self.place).read(context).exchange.to_record())

    def until(self, context: str, look: Any) -> dict[str, Any]:
        """Wait until a context is so and others know of it, and return it."""

        def looks_so() -> dict[str, Any] | None:
            store = contexts(self.place)
            kept = store.read(context)
            found = dict(kept.exchange.to_record())
            return found if look(found) and store.is_told(kept) else None

        return dict(wait_until(looks_so))

    def begun(self, context: str) -> datetime:
        """Wait until a first run was claimed in a context; return since when that is open."""
        found = self.until(
            context, lambda one: any(r["state"] == "R" for r in one["runs"].values())
        )
        return datetime.fromisoformat(found["openedAt"])

    def attempts(self, context: str, task: str = "T1") -> list[tuple[str, str, str]]:
        """Return worker, state and code of every attempt of a task, in order."""
        return [
            (one["worker"], one["state"], one["code"])
            for hop in self.shown(context)["tasks"][task]["hops"]
            for one in hop["attempts"]
        ]

    def messages(self, context: str) -> list[str]:
        """Return route, type and code of every message of a context, in order."""
        found = [parse_log_line(line) for _, line in log_lines(self.place, context=context)]
        return [f"{one['route']} {one['type']} {one['err']}".removesuffix(" -") for one in found]

    def inbox(self, who: str) -> list[str]:
        """Return the texts of what was sent to an agent."""
        return [one.text for one in mail.inbox(self.place, who)]

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind, each once."""
        found: dict[str, dict[str, Any]] = {}
        for day in sorted((self.root / "memory/shared/events").glob("*.jsonl")):
            for line in day.read_text().splitlines():
                record = json.loads(line)
                if record["type"] == kind:
                    found[record["eventId"]] = record
        return list(found.values())
