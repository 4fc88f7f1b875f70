"""Workspaces whose agents are real little programs, for the tests of the operations.

What an operation leaves running is detached and belongs to no process. Here this
process adopts it, so that a test can wait until all of it is over instead of
guessing how long that takes, and can see what runs on between commands.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from council.core.conversations.conversation import Conversation
from council.operations.conversations.convene import Convened, Invitation, convene
from council.operations.heartbeat.beat import Report, beat
from council.operations.place import Place
from council.store.events import tail

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
FOUR = ("henry", "sage", "nova", "blaise")
LEASE = timedelta(minutes=5)
_PR_SET_CHILD_SUBREAPER = 36
# Something of a test before may sleep a minute yet.
_PATIENCE_S = 240

# Says who it is, in which round, and nothing else.
SPEAKS = 'cat >/dev/null; echo "I am $COUNCIL_AGENT in round $COUNCIL_TOUR."'


def adopt_orphans() -> None:
    """Become the parent of whatever is left behind by the processes started from here."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def until(done: Callable[[], object], what: str) -> None:
    """Wait for something that becomes true through another process."""
    ends_at = time.monotonic() + _PATIENCE_S
    while not done():
        assert time.monotonic() < ends_at, f"waited in vain: {what}"
        time.sleep(0.005)


def all_is_quiet() -> None:
    """Wait until everything that was left running from here has ended."""

    def nobody_left() -> bool:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        return False

    until(nobody_left, "something still runs")


def running_processes(root: Path | None = None) -> list[str]:
    """Return the command lines of all living processes that descend from this one.

    With `root` of those alone that work there: a test before may still have some of its own.
    """
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                facts = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if facts[0] not in "ZX":
                parents.setdefault(int(facts[1]), []).append(int(entry))

    def below(pid: int) -> Iterator[int]:
        for child in parents.get(pid, []):
            yield child
            yield from below(child)

    found = []
    for pid in below(os.getpid()):
        try:
            if root is not None and not _works_at(pid, root):
                continue
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def _works_at(pid: int, root: Path) -> bool:
    at = str(root)
    if os.readlink(f"/proc/{pid}/cwd").startswith(at):
        return True
    return at.encode() in Path(f"/proc/{pid}/environ").read_bytes()


def script(text: str) -> dict[str, object]:
    """Return the settings of an agent that is a line of shell."""
    return {"argv": ["/bin/sh", "-c", text]}


class Table:
    """A workspace, its agents, and the operations on it at a chosen time."""

    def __init__(self, root: Path) -> None:
        adopt_orphans()
        self.root = root
        self.now = NOW
        (root / "memory" / "shared").mkdir(parents=True, exist_ok=True)

    def seat(self, agents: dict[str, dict[str, object]], **settings: object) -> Table:
        """Write `council.toml`: agents by id, an empty table for one that answers by hand."""
        lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
        for agent, table in agents.items():
            lines.append(f"[agents.{agent}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()]
        (self.root / "council.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return self

    def seat_all(self, text: str, agents: tuple[str, ...] = FOUR, **settings: object) -> Table:
        """Let all agents be the same line of shell."""
        return self.seat(dict.fromkeys(agents, script(text)), **settings)

    @property
    def place(self) -> Place:
        return Place(str(self.root), self.environ, self.now)

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.root.parent), "LANG": "C.UTF-8"}

    def convene(self, topic: str = "Shall we build it?", **wanted: object) -> Convened:
        wanted.setdefault("people", wanted.get("agents", ()))
        return convene(self.place, Invitation(topic=topic, **wanted))

    def beat(self, after: timedelta = timedelta(0), only: str = "") -> Report:
        """Run one heartbeat, `after` later than the last one."""
        self.now += after
        return beat(self.place, only)

    def beat_to_rest(self, after: timedelta = timedelta(0)) -> Report:
        report = self.beat(after)
        all_is_quiet()
        return report

    def read(self, name: str = "active") -> Conversation:
        return self.place.conversations.read(name)

    def live(self, name: str = "active") -> Path:
        return self.root / "memory" / "shared" / f"council-{name}-conversation.md"

    def tasks(self, agent: str) -> list[Path]:
        """Return what lies in the folder of an agent for it to read."""
        return sorted((self.root / "memory" / "agents" / agent / "tasks").glob("*"))

    def minutes(self) -> list[Path]:
        return sorted((self.root / "conseils").glob("*.md"))

    def events(self, *types: str) -> list[dict[str, object]]:
        """Return the events of some types, all without an argument."""
        found = tail(self.place.paths)
        return [one for one in found if not types or one["type"] in types]

    def has(self, kind: str, agent: str = "", times: int = 1) -> Callable[[], bool]:
        """Return whether an event has come so many times, for `until`."""

        def come() -> bool:
            found = [one for one in self.events(kind) if not agent or one.get("agentId") == agent]
            return len(found) >= times

        return come

    def heard(self, name: str = "active") -> list[tuple[int, str]]:
        """Return (round, agent) of every turn that stands in an open conversation."""
        return turns(self.live(name).read_text(encoding="utf-8"))

    def digest_of_the_tree(self, *without: str) -> str:
        """Return one digest over the names and contents of all files but those named."""
        whole = hashlib.sha256()
        for path in sorted(self.root.rglob("*")):
            if path.name in without:
                continue
            whole.update(str(path).encode())
            if path.is_file():
                whole.update(path.read_bytes())
        return whole.hexdigest()


def turns(text: str) -> list[tuple[int, str]]:
    """Return (round, agent) of every turn in a live file or in minutes, in order."""
    found = []
    for line in text.splitlines():
        if line.startswith("<!--council:entry id="):
            tour, agent = line.removeprefix("<!--council:entry id=").split()[0].split("-", 1)
            found.append((int(tour), agent))
    return found
