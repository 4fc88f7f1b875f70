"""The five programs that people already use, as real processes, in councils of their own.

Each talks to the scripted model server by its own variables or settings, in a folder and a
home that were empty before.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import BIN, Council
from tests.e2e.clients import PROGRAMS, outfit
from tests.e2e.conftest import InstalledClients
from tests.e2e.model_server import INPUT_TOKENS, OUTPUT_TOKENS, ModelServer, Request

pytestmark = pytest.mark.e2e

TOPIC = "Should the tea kitchen get a second kettle?"
TURN_TOKENS = INPUT_TOKENS + OUTPUT_TOKENS
NAMED_WITHIN_S = 30


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

    def settle(self, settings: str, *names: str) -> None:
        """Make a workspace in the fresh folder in which these programs are agents."""
        (self.root / "memory" / "shared").mkdir(parents=True)
        agents = "".join(f'[agents.{one}]\npreset = "{one}"\n' for one in names)
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
        mark = f"HOME={self.home}".encode()
        for one in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in one.read_bytes().split(b"\0"):
                    os.kill(int(one.parent.name), signal.SIGKILL)


@pytest.fixture
def at_table(tmp_path: Path, clients: InstalledClients) -> Iterator[Table]:
    table = Table(tmp_path, clients)
    yield table
    table.end()


def minutes(table: Table) -> str:
    [path] = (table.root / "conseils").glob("*.md")
    return path.read_text(encoding="utf-8")


def as_quoted(text: str) -> str:
    """Return a contribution as it stands in the minutes, without the line of its status."""
    lines = text.removesuffix("\n\nSTATUS: AGREED").splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)


def council_calls(server: ModelServer) -> list[Request]:
    return [one for one in server.model_calls() if "# Council:" in one.prompt]


def test_all_programs_sit_in_one_council_in_a_fresh_folder(at_table, clients, model_server, row):
    names = clients.chosen(*PROGRAMS)
    if len(names) < 2:
        pytest.skip("not chosen")
    with row(f"all {len(names)}", "one ask in a fresh folder") as told:
        for one in names:
            at_table.seat(one, model_server.base("answers"))

        done = at_table("ask", TOPIC, "--yes", "--timeout", "4m")

        assert done.code == 0, done.out + done.err
        written = minutes(at_table)
        said = {one.said for one in council_calls(model_server) if "Position of" in one.said}
        for text in said:
            assert as_quoted(text) in written, text
        told.came_out = f"minutes with {len(said)} whole answers"
        print(at_table("metrics", "--json").out, len(said))


# How each mood ends, and what `explain` may call that.
LIMIT_S = 25
MOST_S = 90
FAILURES = {
    "refuses": ("a bad key", {"key-refused"}),
    "limits": ("a limit", {"limited"}),
    "fails": ("an error of the provider", {"provider"}),
    "says-error": ("an error text as answer", {"no-answer", "exit", "provider"}),
    "hangs": ("a hang", {"no-sign", "too-slow"}),
    "stalls": ("silence amid an answer", {"no-sign", "too-slow"}),
    "babbles": ("an answer without end", {"exit", "too-slow"}),
}


@pytest.mark.parametrize("mood", FAILURES)
def test_the_cause_of_a_failure_is_named_and_its_text_is_no_contribution(
    at_table, clients, model_server, row, mood
):
    scenario, codes = FAILURES[mood]
    names = clients.chosen(*PROGRAMS)
    for one in names:
        at_table.seat(one, model_server.base(mood))
    at_table.settle(f'max_runs = 5\npreset_timeout = "{LIMIT_S}s"', *names)
    asking = at_table.start("ask", TOPIC, "--timeout", "10m", "--agents", ",".join(names))
    named = named_causes(at_table, names, MOST_S)
    asking.kill()
    asking.communicate()
    texts = contributions(at_table)

    faults = []
    for one in names:
        try:
            with row(one, scenario) as told:
                assert one in named, f"nothing named within {MOST_S} s: {named}"
                told.came_out = named[one].said
                assert named[one].code in codes, f"{named[one].code}: {named[one].said}"
                assert named[one].after_s < NAMED_WITHIN_S, (
                    f"named after {named[one].after_s:.0f} s"
                )
                assert one not in texts, f"stands as a contribution: {texts.get(one)}"
        except AssertionError as fault:
            faults.append(f"{one}: {fault}")
    assert not faults, "\n".join(faults)


class Named(NamedTuple):
    """What `explain` named as the cause for an agent, and how long after its first run ended."""

    code: str
    said: str
    after_s: float


def named_causes(table: Table, names: list[str], most_s: float) -> dict[str, Named]:
    """Watch until `explain` has named a cause for each agent, or its first run has answered."""
    named: dict[str, Named] = {}
    ended: dict[str, float] = {}
    answered: set[str] = set()
    began = time.monotonic()
    while set(names) - set(named) - answered and time.monotonic() - began < most_s:
        time.sleep(1)
        for log in (table.root / "memory" / "shared" / ".council" / "runs").glob("*.1.*.1.log"):
            outcome = re.search(r"^outcome: (.*)", log.read_text("utf-8", "replace"), re.MULTILINE)
            agent = log.name.split(".")[-3]
            if outcome and agent not in ended:
                ended[agent] = time.monotonic()
                answered |= {agent} if outcome[1] == "answered" else set()
        explained = table("explain", "--json")
        for one in explained.json()["hindrances"] if explained.code == 0 else ():
            agent = one["agentId"]
            if agent and agent not in named and one["what"] != "rests":
                after_s = time.monotonic() - ended.get(agent, time.monotonic())
                named[agent] = Named(one["what"], one["said"], after_s)
    return named


def contributions(table: Table) -> dict[str, str]:
    """Return what stands as said, by agent."""
    shown = table("show", "--json")
    said = shown.json()["contributions"] if shown.code == 0 else []
    return {one["agent"]: one["text"] for one in said if one["kind"] == "contribution"}
