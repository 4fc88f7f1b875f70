"""The machine of the week: its clock, its commands, and what befalls it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from council.cli.app import run

AGENTS = ("good", "crash", "hang", "babble", "limit", "costs", "late", "mute")
CAPABILITIES = {"good": "weather", "crash": "prices", "babble": "colour", "limit": "travel"}
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)

_AGENT = Path(__file__).with_name("agent.py")
_COUNCIL = str(Path(sys.executable).parent / "council")
_LONGEST_REST_S = 60


class Ran(NamedTuple):
    """What a command came to; the code is negative where it was killed."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """Return its JSON document, {} where there is none."""
        try:
            return dict(json.loads(self.out))
        except ValueError:
            return {}


class Machine:
    """A workspace on a small disk of its own, where we may mount one, and a clock that is set.

    Attributes:
        now: The simulated time.
        killed: The tasks whose processes, or those that watched over them, were killed.
        shaken_at: When something was killed last.
        counts: How often each thing was done.
    """

    def __init__(self, folder: Path, seed: str) -> None:
        self.now, self.chance = MONDAY, random.Random(seed)
        self.killed: set[str] = set()
        self.shaken_at: datetime | None = None
        self.counts: Counter[str] = Counter()
        self.folder, self._disk, self._record = folder, folder / "disk", folder / "runs.jsonl"
        self._disk.mkdir(parents=True)
        mounting = ["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(self._disk)]
        self.is_mounted = os.geteuid() == 0 and _succeeds(mounting)
        self.root = self._disk / "work"
        (self.root / "memory" / "shared").mkdir(parents=True)
        path = f"{Path(_COUNCIL).parent}:{os.defpath}"
        self._env = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "TERM": "dumb"}
        self.settings = "schemaVersion = 1\n[limits]\nmax_runs_per_council = 30\n"
        for one in AGENTS:
            argv = [sys.executable, str(_AGENT), str(self._record), seed, one]
            self.settings += f"[agents.{one}]\nargv = {json.dumps(argv)}\n"
            self.settings += f'capabilities = ["{CAPABILITIES.get(one, one)}"]\n'
            self.settings += 'timeout = "1s"\n' if one == "hang" else ""
        self.write_settings(self.settings)

    def leave(self) -> None:
        """Give the disk back."""
        self._kill(1)
        self._rest()
        if self.is_mounted:
            _succeeds(["umount", str(self._disk)])

    @property
    def instant(self) -> str:
        """The simulated time as commands take it."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    # Commands

    def do(self, *words: str, kill_in: float | None = None, share: float = 1) -> Ran:
        """Run `council WORDS` as a process, until nothing runs any more.

        Args:
            words: The command.
            kill_in: After how many seconds something is killed, None for never.
            share: Which share of all that runs then is killed.
        """
        self.counts["commands"] += 1
        runs = len(self.runs())
        env = {**self._env, "COUNCIL_ROOT": str(self.root), "COUNCIL_NOW": self.instant}
        argv, pipe = [_COUNCIL, *words], subprocess.PIPE
        child = subprocess.Popen(argv, cwd=self.root, env=env, stdout=pipe, stderr=pipe, text=True)
        if kill_in is not None:
            time.sleep(kill_in)
            if self._kill(share):
                self.shaken_at = self.now
        out, err = child.communicate()
        self._rest()
        if self.shaken_at == self.now:
            self.killed |= {one["task"] for one in self.runs()[runs:]}
        return Ran(child.returncode, out, err)

    def surely(self, *words: str) -> Ran:
        """Run a command as a person does: killed at times, and then given again."""
        if self.chance.random() < 0.15:
            ran = self.do(*words, kill_in=self.chance.uniform(0.01, 0.12))
            if ran.code >= 0:
                return ran
            self.counts["commands repeated"] += 1
        return self.do(*words)

    def look(self, *words: str) -> Ran:
        """Run a command that only reads, in this process: it is loaded already."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        where = ["--root", str(self.root), "--now", self.instant, "--json"]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run([*words, *where])
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read(), err.read())

    # Processes

    def _rest(self) -> None:
        """Wait until nothing of this workspace runs any more."""
        ends_at = time.monotonic() + _LONGEST_REST_S
        while self._processes() or self._processes():  # who was just begun is seen the second time
            if time.monotonic() > ends_at:
                self.counts["runs without an end"] += 1
                self._kill(1)
            time.sleep(0.01)

    def _kill(self, share: float) -> int:
        """Kill that share of what runs here, none of it asked first."""
        chosen = [one for one in self._processes() if self.chance.random() < share]
        for process in chosen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.counts["processes killed"] += len(chosen)
        return len(chosen)

    def _processes(self) -> list[int]:
        mine = f"COUNCIL_ROOT={self.root}".encode()
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):  # it is over, or another user's
                if mine in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    found.append(int(name))
        return found

    # What befalls it

    def write_settings(self, text: str) -> None:
        """Save `council.toml`."""
        (self.root / "council.toml").write_text(text, encoding="utf-8")

    def fill(self) -> None:
        """Leave no room on the disk."""
        with (self._disk / "filler").open("wb", 0) as file, contextlib.suppress(OSError):
            while file.write(bytes(65536)):
                pass

    def make_room(self) -> None:
        """Remove what filled the disk."""
        (self._disk / "filler").unlink()

    def move(self) -> None:
        """Give the folder of the workspace another name."""
        self.root = self.root.rename(self._disk / "moved")

    # Figures

    def runs(self) -> list[dict[str, Any]]:
        """Return what agents said they were about to do, in order."""
        if not self._record.exists():
            return []
        return [json.loads(one) for one in self._record.read_text().splitlines()]

    def kept_mb(self) -> float:
        """Return how much `.council` holds."""
        files = (self.root / "memory" / "shared" / ".council").rglob("*")
        return sum(one.lstat().st_size for one in files if one.is_file()) / 2**20

    @staticmethod
    def most_memory_mb() -> float:
        """Return the size of the largest process that was waited for."""
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _succeeds(argv: list[str]) -> bool:
    is_there = shutil.which(argv[0]) is not None
    return is_there and subprocess.run(argv, capture_output=True, check=False).returncode == 0
