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

AGENT = Path(__file__).with_name("agent.py")
COUNCIL = str(Path(sys.executable).parent / "council")
AGENTS = ("good", "crash", "hang", "babble", "limit", "costs", "late", "mute")
CAPABILITIES = {"good": "weather", "crash": "prices", "babble": "colour", "limit": "travel"}
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)

_DISK = "size=96m"
_PAGE = 4096
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
    """A workspace on a disk of its own, and a clock that is set.

    Attributes:
        now: The simulated time.
        record: The file in which agents say what they do.
        killed: The tasks whose processes were killed, or those who watched over them.
        shaken_at: When something was killed last.
        counts: How often each thing was done.
    """

    def __init__(self, folder: Path, seed: str) -> None:
        self.disk, self.record = folder / "disk", folder / "runs.jsonl"
        self.now = MONDAY
        self.chance = random.Random(seed)
        self.killed: set[str] = set()
        self.shaken_at: datetime | None = None
        self.counts: Counter[str] = Counter()
        self.disk.mkdir()
        mounting = ["mount", "-t", "tmpfs", "-o", _DISK, "tmpfs", str(self.disk)]
        self.is_mounted = os.geteuid() == 0 and _succeeds(mounting)
        self.root = self.disk / "work"
        (self.root / "memory" / "shared").mkdir(parents=True)
        self._env = {"PATH": f"{Path(COUNCIL).parent}:{os.defpath}", "HOME": str(folder)}
        self._env |= {"LANG": "C.UTF-8", "TERM": "dumb"}
        self.settings = "schemaVersion = 1\n[limits]\nmax_runs_per_council = 30\n"
        for one in AGENTS:
            argv = [sys.executable, str(AGENT), str(self.record), seed, one]
            self.settings += f"[agents.{one}]\nargv = {json.dumps(argv)}\n"
            self.settings += f'capabilities = ["{CAPABILITIES.get(one, one)}"]\n'
            self.settings += 'timeout = "1s"\n' if one == "hang" else ""
        self.write_settings(self.settings)

    def leave(self) -> None:
        """Give the disk back."""
        if self.is_mounted:
            self.kill(1)
            self.rest()
            _succeeds(["umount", str(self.disk)])

    def write_settings(self, text: str) -> None:
        """Save `council.toml`."""
        (self.root / "council.toml").write_text(text, encoding="utf-8")

    @property
    def instant(self) -> str:
        """The simulated time as commands take it."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    # Commands

    def do(self, *words: str, kill_in: float | None = None) -> Ran:
        """Run `council WORDS` as a process, killed after `kill_in` seconds, until nothing runs."""
        ran = self._do(words, kill_in)
        self.rest()
        return ran

    def _do(self, words: tuple[str, ...], kill_in: float | None) -> Ran:
        self.counts["commands"] += 1
        seen = len(self.runs())
        child = self._start(words)
        try:
            out, err = child.communicate(timeout=kill_in)
        except subprocess.TimeoutExpired:
            self.kill(1)
            self.shaken_at = self.now
            child.kill()
            out, err = child.communicate()
            self.killed |= {one["task"] for one in self.runs()[seen:]}
        return Ran(child.returncode, out, err)

    def _start(self, words: tuple[str, ...]) -> subprocess.Popen[str]:
        env = {**self._env, "COUNCIL_ROOT": str(self.root), "COUNCIL_NOW": self.instant}
        argv, pipe = [COUNCIL, *words], subprocess.PIPE
        return subprocess.Popen(argv, cwd=self.root, env=env, stdout=pipe, stderr=pipe, text=True)

    def beat_and_kill(self, seconds: float, share: float) -> None:
        """Beat, and after a while kill that share of all that runs then."""
        self.counts["commands"] += 1
        seen = len(self.runs())
        child = self._start(("heartbeat",))
        time.sleep(seconds)
        if self.kill(share):
            self.shaken_at = self.now
        child.communicate()
        self.rest()
        if self.shaken_at == self.now:  # a run may have lost who watches over it
            self.killed |= {one["task"] for one in self.runs()[seen:]}

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
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        where = ["--root", str(self.root), "--now", self.instant, "--json"]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run([*words, *where])
        texts = []
        for one in (out, err):
            one.flush()
            texts.append(one.buffer.getvalue().decode())  # type: ignore[attr-defined]
        return Ran(code, *texts)

    # Processes

    def rest(self) -> None:
        """Wait until nothing of this workspace runs any more."""
        ends_at = time.monotonic() + _LONGEST_REST_S
        while self._processes() or self._processes():  # who was just begun is seen the second time
            if time.monotonic() > ends_at:
                self.counts["runs without an end"] += 1
                self.kill(1)
            time.sleep(0.01)

    def kill(self, share: float) -> int:
        """Kill that share of what runs here, none of it asked first."""
        mine = self._processes()
        chosen = [one for one in mine if self.chance.random() < share]
        for process, task in chosen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
                self.killed |= {task} - {""}
                self.counts["processes killed"] += 1
        return len(chosen)

    def _processes(self) -> list[tuple[int, str]]:
        """Return the processes of this workspace, each with the task it works for."""
        mine = f"COUNCIL_ROOT={self.root}".encode()
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                environ = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if mine in environ:
                tasks = [one[16:] for one in environ if one.startswith(b"COUNCIL_TASK_ID=")]
                found.append((int(name), tasks[0].decode() if tasks else ""))
        return found

    # What befalls it

    def fill(self) -> None:
        """Leave no room on the disk."""
        with (self.disk / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(_PAGE * 16)):
                pass

    def make_room(self) -> None:
        """Remove what filled the disk."""
        (self.disk / "filler").unlink(missing_ok=True)

    def move(self) -> None:
        """Give the folder of the workspace another name."""
        elsewhere = self.disk / "moved"
        self.root.rename(elsewhere)
        self.root = elsewhere

    # Figures

    def runs(self) -> list[dict[str, Any]]:
        """Return what agents said they were about to do, in order."""
        if not self.record.exists():
            return []
        return [json.loads(one) for one in self.record.read_text().splitlines()]

    def kept_bytes(self) -> int:
        """Return how much `.council` holds."""
        control = self.root / "memory" / "shared" / ".council"
        return sum(one.lstat().st_size for one in control.rglob("*") if one.is_file())

    @staticmethod
    def most_memory() -> int:
        """Return the bytes of the largest process that was waited for."""
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def _succeeds(argv: list[str]) -> bool:
    program = shutil.which(argv[0])
    return bool(program) and not subprocess.run(argv, capture_output=True, check=False).returncode
