"""A table for real clients: a fresh folder, a fresh home, and on PATH those that sit there."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from tests.conftest import BIN, Council
from tests.e2e.clients import outfit


class Needed(Protocol):
    """Where programs are found: the fixture `clients`."""

    def need(self, name: str) -> Path: ...


class Table(Council):
    """A fresh folder and a fresh home, and on PATH the programs that sit at this table."""

    declares = False

    def __init__(self, tmp_path: Path, clients: Needed) -> None:
        super().__init__(tmp_path / "a fresh folder", tmp_path / "home")
        self.root.mkdir()
        self.home.mkdir()
        self._clients = clients
        self._bin = tmp_path / "bin"
        self._bin.mkdir()
        self._variables: dict[str, str] = {}

    def seat(self, name: str, base: str) -> None:
        """Put a program on PATH and point it at a mood of the model server."""
        (self._bin / name).symlink_to(self._clients.need(name))
        self._variables.update(outfit(name, self.home, base))

    def settle(self, settings: str, *names: str, **timeouts_s: int) -> None:
        """Make a workspace in the fresh folder in which these programs are agents."""
        (self.root / "memory" / "shared").mkdir(parents=True)
        agents = "".join(f'[agents.{one}]\npreset = "{one}"\n' for one in names)
        for one, limit_s in timeouts_s.items():
            agents = agents.replace(f"[agents.{one}]", f'[agents.{one}]\ntimeout = "{limit_s}s"')
        (self.root / "council.toml").write_text(f"{settings}\n{agents}", encoding="utf-8")

    def env(self, **given: Any) -> dict[str, str]:
        node = Path(shutil.which("node") or "/usr/bin/node").parent
        path = [BIN, self._bin, node, *filter(os.path.isdir, ("/usr/bin", "/bin"))]
        return {
            **super().env(**given),
            **self._variables,
            "PATH": os.pathsep.join(str(one) for one in path),
        }

    def end(self) -> None:
        """Let nothing more start here, and end what still runs with this home."""
        if (self.root / "memory").exists():
            self("halt")
        while left := self._running():
            for one in left:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)

    def _running(self) -> list[int]:
        """Return the processes that have this home and are not over."""
        mark, found = f"HOME={self.home}".encode(), []
        for one in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):  # of one that is over nothing can be read
                if mark in one.read_bytes().split(b"\0"):
                    found.append(int(one.parent.name))
        return found


def minutes(table: Table) -> str:
    [path] = (table.root / "conseils").glob("*.md")
    return path.read_text(encoding="utf-8")
