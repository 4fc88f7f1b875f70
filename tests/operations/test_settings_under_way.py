"""What is written in `council.toml` holds from the next start, whatever is under way (FW-002)."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import threading
from collections.abc import Callable, Generator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from council.core import bounds
from council.core.agents import AgentSettings
from council.operations.heartbeat.beat import beat
from council.operations.place import Place
from council.store.settings import Settings, load_settings
from tests.conftest import BIN
from tests.operations.calls import CallTable
from tests.operations.tables import SPEAKS, Table, all_is_quiet, script, until

# Waits for the word to go, keeps what it was started with, in the second round waits for the other
# one, says what it used, and speaks.
KEEPS = """
while ! [ -e go ]; do sleep 0.02; done
mkdir -p seen
cat > "seen/prompt.$COUNCIL_AGENT.$COUNCIL_TOUR"
env > "seen/env.$COUNCIL_AGENT.$COUNCIL_TOUR"
echo "$0" > "seen/folder.$COUNCIL_AGENT.$COUNCIL_TOUR"
if [ -e nap ] && [ "$COUNCIL_AGENT$COUNCIL_TOUR" = ann2 ]; then sleep 60; fi
if [ "$COUNCIL_TOUR" = 2 ]; then
  touch "seen/here.$COUNCIL_AGENT"
  for i in $(seq 100); do [ -e seen/here.ann ] && [ -e seen/here.bob ] && break; sleep 0.02; done
  [ -e seen/here.ann ] && [ -e seen/here.bob ] && touch seen/met
  [ -e seen/met ] || rm "seen/here.$COUNCIL_AGENT"
fi
echo "usage tokens=40 usd=0.10" >> "$COUNCIL_REPORT"
echo "I am $COUNCIL_AGENT in round $COUNCIL_TOUR."
"""
ARGV = ["/bin/sh", "-c", KEEPS, "{workspace}"]
NEW_LINE = ["/bin/sh", "-c", 'cat >/dev/null; echo "By the new line."']
SECRET = "SECRET_OF_ANN"


class UnderWay(Table):
    """A council of two whose first runs wait for the word to go."""

    at: datetime | None = None

    @property
    def environ(self) -> dict[str, str]:
        usual = super().environ
        return {**usual, SECRET: "hush", "PATH": f"{self.root}/bin:{usual['PATH']}"}

    def write(self, *, ann: str = "", argv: list[str] = ARGV, top: str = "", end: str = "") -> None:
        line = f"argv = {json.dumps(argv)}\n" if argv else ""
        bob = f"[agents.bob]\nargv = {json.dumps(ARGV)}\n"
        text = f"{top}\n[agents.ann]\n{line}{ann}\n{bob}{end}\n"
        (self.root / "council.toml").write_text(text)

    def begin(self) -> None:
        self.write()
        self.convene(agents=("ann", "bob"))
        until(self.has("task.started", times=2), "two runs")

    def go(self) -> None:
        (self.root / "go").touch()
        all_is_quiet()

    def seen(self, what: str, tour: int) -> str:
        return (self.root / f"seen/{what}.ann.{tour}").read_text()


@pytest.fixture
def table(tmp_path: Path) -> UnderWay:
    return UnderWay(tmp_path / "workspace")


class Kind(NamedTuple):
    """A kind of setting: what is written while two runs are under way, and what shows it."""

    written: dict[str, object]
    shows: Callable[[UnderWay], object]


def no_third_run(table: UnderWay) -> bool:
    return len(table.events("task.started")) == 2


def timed_out(table: UnderWay) -> bool:
    reasons = [one["data"]["reason"] for one in table.events("task.failed")]
    return bool(reasons) and all("time" in str(one) for one in reasons)


def first_and_second(what: str, text: str) -> Callable[[UnderWay], bool]:
    """Return what shows that a text is in what the second run of ann was given, not the first."""
    return lambda table: text in table.seen(what, 2) and text not in table.seen(what, 1)


# The caps as they are reached by the two runs that are under way.
_REACHED = {"runs": "2", "tokens": "80", "usd": "0.20"}
KINDS: dict[str, Kind] = {
    **{
        cap: Kind({"end": f"[limits]\n{cap} = {_REACHED[cap.split('_')[1]]}"}, no_third_run)
        for cap in bounds.CAPS
    },
    "argv": Kind(
        {"argv": NEW_LINE},
        lambda table: "By the new line." in table.minutes()[0].read_text(),
    ),
    "answers": Kind(
        {"argv": [], "ann": 'answers = "answers.md"'},
        lambda table: (
            {one["data"]["driver"] for one in table.events("task.started")}
            == {"command", "scripted"}
        ),
    ),
    "driver": Kind(
        {"ann": 'driver = "manual"'},
        lambda table: table.tasks("ann") != [],
    ),
    "env": Kind({"ann": f'env = ["{SECRET}"]'}, first_and_second("env", "hush")),
    "workspace": Kind({"ann": 'workspace = "house"'}, first_and_second("folder", "house")),
    "preset and model": Kind(
        {"argv": [], "ann": 'preset = "llm"\nmodel = "small"'},
        lambda table: "--model small." in table.minutes()[0].read_text(),
    ),
    "persona": Kind({"ann": 'persona = "You sail."'}, first_and_second("prompt", "You sail.")),
    "answer": Kind({"ann": 'answer = "tool"'}, first_and_second("prompt", "council respond")),
    "paths": Kind(
        {"end": '[paths]\nagents = "people"'}, first_and_second("prompt", "I am an old sailor.")
    ),
    "timeout": Kind({"ann": 'timeout = "1s"'}, timed_out),
    "run_timeout": Kind({"top": 'run_timeout = "1s"'}, timed_out),
    "max_runs": Kind({"top": "max_runs = 1"}, lambda table: not (table.root / "seen/met").exists()),
    "max_text_bytes": Kind(
        {"top": "max_text_bytes = 8"}, lambda table: table.events("task.failed")
    ),
    "hooks": Kind(
        {"end": '[hooks]\nclosed = ["touch", "told"]'},
        lambda table: (table.root / "told").exists(),
    ),
}
QUICK = ("max_runs_per_day", "argv", "env", "hooks")


@pytest.mark.req("FW-002.1")
@pytest.mark.parametrize(
    "kind",
    [pytest.param(one, marks=[] if one in QUICK else pytest.mark.long) for one in KINDS],
)
def test_each_kind_of_setting_holds_from_the_next_start_of_a_council_under_way(
    kind: str, table: UnderWay
):
    written, shows = KINDS[kind]
    (table.root / "answers.md").write_text("Yes, for one reason.\n")
    (table.root / "people/ann").mkdir(parents=True)
    (table.root / "people/ann/SOUL.md").write_text("I am an old sailor.\n")
    program = table.root / "bin/llm"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ncat >/dev/null; echo "By llm with $*."\n')
    program.chmod(0o755)
    table.begin()

    table.write(**written)
    if "timeout" in kind:
        (table.root / "nap").touch()
    table.go()

    assert shows(table)


@pytest.mark.req("FW-002.1")
def test_without_a_change_no_kind_of_setting_shows(table: UnderWay):
    """What the table above waits for must come from the change and from nothing else."""
    table.begin()
    table.go()

    assert len(table.minutes()) == 1
    for kind, (_, shows) in KINDS.items():
        assert not shows(table), kind


# Every setting there is, with another value than the usual one: no line of the file may be left
# out by what looks at it again.
TOPS = {
    "language": '"fr"',
    "coordinator": '"maman"',
    "trust": '"strict"',
    "max_runs": "2",
    "run_timeout": '"9s"',
    "preset_timeout": '"9s"',
    "phase_timeout": '"9s"',
    "retry_backoff": '["9s"]',
    "max_text_bytes": "9",
    "force_network_fs": "true",
    "bindings": '[{ agent = "ann" }]',
}
TABLES = {
    "paths": 'agents = "people"',
    "limits": "max_runs_per_day = 9",
    "hooks": 'closed = ["true"]',
    "channels": "max_cycles = 9",
    "routing": 'dm_scope = "account"',
    "tasks": 'choice_policy = "first"',
    "deliberation": "threshold = 2",
    "protocol": "signed = true",
    "relay": 'token_env = "TOKEN"',
    "serve": "port = 9",
}
AGENTS = {
    "driver": '"manual"',
    "argv": '["true"]',
    "preset": '"claude"',
    "base_url": '"http://127.0.0.1:9/v1"',
    "answer": '"tool"',
    "output": '"claude"',
    "timeout": '"9s"',
    "first_output": '"9s"',
    "env": '["KEY"]',
    "answers": '"answers.md"',
    "gateway": '"http://127.0.0.1:9"',
    "api_key_env": '"KEY"',
    "workspace": '"house"',
    "machines": '["mac"]',
    "name": '"Anna"',
    "emoji": '"🦎"',
    "role": '"lead"',
    "model": '"small"',
    "persona": '"You sail."',
    "capabilities": '["sail"]',
    "handles": '["#sail"]',
}
LINES = {
    **{name: f"{name} = {value}" for name, value in TOPS.items()},
    **{name: f"[{name}]\n{line}" for name, line in TABLES.items()},
    **{f"agents.{name}": f"[agents.ann]\n{name} = {value}" for name, value in AGENTS.items()},
}


def test_the_table_of_settings_names_every_setting():
    elsewhere = {"schema_version", "engine", "agents", "faults", "unread"}  # engine: tests/engine
    assert {*Settings._fields} == {*TOPS, *TABLES} | elsewhere
    assert {*AgentSettings._fields} == {*AGENTS} | {"extra"}


@pytest.mark.req("FW-002.1")
@pytest.mark.parametrize("name", LINES)
def test_a_process_that_goes_on_follows_each_setting_and_its_removal(name: str, tmp_path: Path):
    (tmp_path / "memory/shared/.council").mkdir(parents=True)
    file = tmp_path / "council.toml"
    file.write_text("# nothing yet\n")
    place = Place(str(tmp_path), {}, None)
    usual = place.settings

    file.write_text(f"{LINES[name]}\n")
    place.renew()
    assert place.settings != usual
    assert place.settings == load_settings(str(tmp_path))
    assert place.settings.unread is None

    file.write_text("# nothing any more\n")
    place.renew()
    assert place.settings == usual


@pytest.mark.req("FW-002.1")
def test_a_line_that_is_mended_counts_for_the_next_attempt(tmp_path: Path):
    table = Table(tmp_path / "workspace")
    fails = "while ! [ -e go ]; do sleep 0.02; done; cat >/dev/null; exit 1"
    table.seat_all(fails, ("ann", "bob"), retry_backoff=["1s"])
    table.now = None  # only the clock brings a second attempt about
    table.convene(agents=("ann", "bob"), phases=("collect", "synthesize"))
    until(table.has("task.started", times=2), "two runs")
    table.seat_all(SPEAKS, ("ann", "bob"), retry_backoff=["1s"])
    (table.root / "go").touch()
    all_is_quiet()

    assert len(table.minutes()) == 1
    assert len(table.events("task.failed")) == 2


@pytest.mark.req("FW-002.1")
@pytest.mark.parametrize("cap", ["max_runs_per_day = 1", "max_runs = 4"])
def test_a_call_that_waits_for_a_place_is_judged_by_the_settings_of_its_start(
    cap: str, tmp_path: Path
):
    table = CallTable(tmp_path / "workspace")
    holds = "while ! [ -e go ]; do sleep 0.02; done; cat >/dev/null; echo Done."
    agents = {"ann": script(holds), "bob": script("cat >/dev/null; echo By bob.")}
    table.seat(agents, max_runs=1)

    def call(to: str) -> subprocess.Popen[str]:
        words = [
            f"{BIN}/council",
            "agent",
            "call",
            "--to",
            to,
            "please",
            "--as",
            "user",
            "--trace",
            to,
        ]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*words, "--json"], cwd=table.root, env=table.environ, stdout=pipe, text=True
        )

    first = call("ann")
    until(table.has("agent.call.start"), "a run that holds the only place")
    second = call("bob")
    places = Path(table.place.paths.places)
    until(lambda: list(places.glob("call-*.bob")), "a call that waits")

    file = table.root / "council.toml"
    if cap == "max_runs = 4":
        file.write_text(file.read_text().replace("max_runs = 1", cap))
    else:
        file.write_text(f"{file.read_text()}[limits]\n{cap}\n")
        (table.root / "go").touch()
    answer = json.loads(second.communicate()[0])
    (table.root / "go").touch()
    first.communicate()
    all_is_quiet()

    if cap == "max_runs = 4":
        assert (answer["status"], answer["summary"]) == ("ok", "By bob.")
    else:
        assert answer["status"] == "rejected"
        assert f"{cap} is reached" in answer["error"]["message"]


def save_in_pieces(file: Path, text: str) -> Generator[None]:
    """Write a file as a slow editor does: emptied, then in pieces."""
    with file.open("w") as opened:
        for at in range(0, len(text), 23):
            opened.write(text[at : at + 23])
            opened.flush()
            yield


def put_away(file: Path, instead: Callable[[Path], object]) -> Generator[None]:
    """Put something else in the place of a file for a while; it comes back as it was."""
    kept = file.with_name("kept.toml")
    file.rename(kept)
    instead(file)
    try:
        yield
    finally:
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        kept.replace(file)
    yield


@pytest.mark.long
@pytest.mark.req("FW-002.1", "FW-002.2")
def test_twenty_councils_keep_to_the_cap_while_the_file_is_saved_lost_and_replaced(tmp_path: Path):
    table, file = Table(tmp_path / "workspace"), tmp_path / "workspace/council.toml"
    waits = f"while ! [ -e go ]; do sleep 0.02; done; {SPEAKS}"
    table.now = None
    table.seat_all(waits, ("ann", "bob"), max_runs=4)
    text = f"{file.read_text()}[limits]\nmax_runs_per_day = 30\n"
    file.write_text(text)
    for number in range(20):
        table.convene(f"Number {number}?", name=f"c{number}", agents=("ann", "bob"))
    is_over = threading.Event()

    def disturb() -> None:
        things = [Path.mkdir, os.mkfifo, lambda one: one.symlink_to("gone"), lambda one: None]
        for instead in itertools.cycle(things):
            for steps in (save_in_pieces(file, text), put_away(file, instead)):
                for _ in steps:
                    if is_over.wait(0.05):
                        steps.close()
                        return

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    try:
        (table.root / "go").touch()
        all_is_quiet()
    finally:
        is_over.set()
        disturbing.join()

    assert len(table.events("task.started")) == 30
    assert {one["data"]["driver"] for one in table.events("task.started")} == {"command"}
    assert table.events("task.failed") == []

    file.write_text(text.replace("= 30", "= 300"))
    beat(table.place)
    all_is_quiet()
    assert len(table.minutes()) == 20
