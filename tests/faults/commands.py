"""The real commands, each in a process of its own that can be killed, failed or made worse."""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

# All that commands load when they run: a child must not spend its calls on it.
import council.__main__
import council.cli.app
import council.cli.edge
import council.commands.hot_commands
import council.operations.conversations.answer
import council.operations.conversations.convene
import council.operations.conversations.steer
import council.operations.heartbeat.beat
import council.operations.heartbeat.conversations
import council.operations.heartbeat.queue
import council.operations.heartbeat.running
import council.operations.heartbeat.scans
import council.store.conversations.session
import council.store.conversations.views
import council.store.sharing
import council.store.statefile.edits
import council.store.statefile.handwritten
import council.store.statefile.merging
from council.core.times import render_instant
from tests.faults import tracing


class Ran(NamedTuple):
    """What a command left behind: exit code (minus the signal that killed it), its output."""

    code: int
    out: str
    err: str

    @property
    def was_killed(self) -> bool:
        return self.code == tracing.KILLED

    def record(self) -> dict[str, Any]:
        """Return the JSON document it printed, {} for none or a part of one."""
        try:
            found = json.loads(self.out)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


class Runner:
    """A place from which commands are given: the workspace, an empty home, files for output.

    Args:
        root: The workspace.
        beside: A folder for everything that is not part of it.
    """

    def __init__(self, root: Path, beside: Path) -> None:
        tracing.adopt_orphans()
        self.root = root
        self.beside = beside
        beside.mkdir(parents=True, exist_ok=True)

    def run(
        self,
        *words: str,
        now: datetime,
        rule: list[str] | None = None,
        heirs: bool = False,
        worse: Callable[[], object] | None = None,
        traced: bool = False,
        alone: bool = False,
    ) -> Ran:
        """Run `council WORDS`.

        Args:
            words: The command.
            now: The time it is given.
            rule: What shall happen to it, in the words of strace.
            heirs: Whether that happens to what it detaches, instead of itself.
            worse: Makes the store of that process a bad one.
            traced: Whether its calls are recorded, for `points`.
            alone: Whether what it detaches is spared.
        """

        def work() -> int:
            self._settle_in(words, now)
            if worse is not None:
                worse()
            out = str(self.beside / "calls")
            if heirs:
                tracing.watch_heirs(rule or [], out)
            elif rule is not None or traced:
                tracing.attach(rule or [], out, follow=not alone)
            return _main()

        status = tracing.status_of(tracing.forked(work))
        return Ran(status, self._said("out"), self._said("err"))

    def points(
        self,
        *words: str,
        now: datetime,
        heirs: bool = False,
        worse: Callable[[], object] | None = None,
        calls: tuple[str, ...] = tracing.CALLS,
        alone: bool = False,
    ) -> list[tracing.Point]:
        """Run a command and all that it leaves behind; return its calls to the workspace."""
        for old in self.beside.glob("calls*"):
            old.unlink()
        ran = self.run(*words, now=now, heirs=heirs, worse=worse, traced=True, alone=alone)
        tracing.all_is_quiet()
        assert ran.code == 0, ran
        return tracing.points_in(sorted(self.beside.glob("calls*")), self.root, calls)

    def _settle_in(self, words: tuple[str, ...], now: datetime) -> None:
        os.chdir(self.root)
        for name in list(os.environ):
            if name.startswith("COUNCIL_"):
                del os.environ[name]
        os.environ.update(
            HOME=str(self.beside), LANG="C.UTF-8", TERM="dumb", COUNCIL_NOW=render_instant(now)
        )
        for standard, name in ((1, "out"), (2, "err")):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            descriptor = os.open(self.beside / name, flags)
            os.dup2(descriptor, standard)
            os.close(descriptor)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", write_through=True)
        sys.argv = ["council", *words]

    def _said(self, name: str) -> str:
        path = self.beside / name
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _main() -> int:
    try:
        council.__main__.main()
    except SystemExit as ended:
        code = ended.code
        return code if isinstance(code, int) else 0 if code is None else 1
    except BaseException:
        traceback.print_exc(file=sys.stderr)
        return 1
    return 0
