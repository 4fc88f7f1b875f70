"""The five programs that people already use, as real processes, in councils of their own.

Each talks to the scripted model server by its own variables or settings, in a folder and a
home that were empty before.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BIN, Council, Ran
from tests.e2e.clients import PROGRAMS, outfit
from tests.e2e.conftest import InstalledClients
from tests.e2e.model_server import INPUT_TOKENS, OUTPUT_TOKENS, ModelServer

pytestmark = pytest.mark.e2e

TOPIC = "Should the tea kitchen get a second kettle?"


class Table(Council):
    """A fresh folder and a fresh home, and on PATH the programs that sit at this table."""

    declares = False

    def __init__(self, tmp_path: Path, clients: InstalledClients) -> None:
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

    def env(self, **given: Any) -> dict[str, str]:
        node = Path(shutil.which("node") or "/usr/bin/node").parent
        path = [BIN, self._bin, node, *filter(os.path.isdir, ("/usr/bin", "/bin"))]
        return {
            **super().env(**given),
            **self._variables,
            "PATH": os.pathsep.join(str(one) for one in path),
        }


@pytest.fixture
def at_table(tmp_path: Path, clients: InstalledClients) -> Table:
    return Table(tmp_path, clients)


def minutes(table: Table) -> str:
    [path] = (table.root / "conseils").glob("*.md")
    return path.read_text(encoding="utf-8")


def test_all_programs_sit_in_one_council_in_a_fresh_folder(at_table, clients, model_server, row):
    names = clients.chosen(*PROGRAMS)
    if len(names) < 2:
        pytest.skip("not chosen")
    with row(", ".join(names), "one ask, fresh folder") as told:
        for one in names:
            at_table.seat(one, model_server.base("answers"))

        done = at_table("ask", TOPIC, "--yes")

        assert done.code == 0, done.out + done.err
        written = minutes(at_table)
        said = [one.said for one in model_server.model_calls() if "# Council:" in one.prompt]
        print(done.out, done.err)
        print(written[-3000:])
