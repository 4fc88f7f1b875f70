"""Every view says the same of who works, waits, rests, is capped or halted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from council.commands.drawing import drawn
from council.commands.glance import standing_view
from council.commands.stage import Stage
from council.core import bounds
from council.core.reasons import said
from council.operations.activity import Activities
from council.operations.gone_runs import gone_runs
from council.operations.heartbeat.gate import halt, note_failure, resume_all
from council.operations.place import Place
from council.operations.reporting.explaining import explain
from council.operations.view import status
from council.store.tally import edit_tally
from council.web.readings.council import council as page_of
from tests.operations.tables import Table, all_is_quiet, script

PAIR = ("ann", "bob")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """A table at which ann is at work until `let_go`; bob answers by hand."""
    table = Table(tmp_path / "workspace")
    os.mkfifo(tmp_path / "go")
    waits = script(f"cat >/dev/null; cat {tmp_path}/go; echo Yes.")
    table.seat({"ann": waits, "bob": {}}, retry_backoff=["1h"])
    yield table
    all_is_quiet()


def let_go(table: Table) -> None:
    """Let the run of ann end."""
    (table.root.parent / "go").write_text("")
    all_is_quiet()


def codes(place: Place) -> dict[str, str]:
    """Return what each participant does, after a check that every view says the same."""
    state = place.conversations.read("active")
    found = {agent: one.code for agent, one in Activities(place).of(state).items()}
    (shown,) = status(place).to_record()["conversations"]
    assert {agent: one["doing"] for agent, one in shown["participants"].items()} == found
    page = page_of(place, {"name": "active"})
    assert {one["id"]: one["doing"] for one in page["agents"]} == found
    return found


def notes(place: Place) -> str:
    """Return what `status` shows of the conversation."""
    (one,) = status(place).standings
    return drawn(*standing_view(one, place.now()))


def next_steps(place: Place) -> str:
    found = explain(place, "active")
    return "\n".join(one.said.text("en") for one in found.nexts)


def shown_by_ask(place: Place, capsys) -> str:
    """Return what `ask` prints of who is asked, to a pipe."""
    capsys.readouterr()
    stage = Stage(quiet=False)
    state = place.conversations.read("active")
    for _ in range(2):
        stage.tick(state, Activities(place).of(state), place.now())
    return capsys.readouterr().out


@pytest.mark.req("FW-004.1")
def test_who_is_at_work_and_who_answers_by_hand_is_said_alike(table: Table, capsys):
    table.convene(agents=PAIR)
    try:
        assert codes(table.place) == {"ann": "running", "bob": "by-hand"}
        assert "thinking" in notes(table.place) and "answering by hand" in notes(table.place)
        assert shown_by_ask(table.place, capsys) == ""
    finally:
        let_go(table)


@pytest.mark.req("FW-004.2")
def test_in_a_copy_of_a_workspace_nobody_is_at_work(table: Table):
    table.convene(agents=PAIR)
    try:
        copy = table.root.parent / "copy"
        shutil.copytree(table.root, copy)
        there = Place(str(copy), table.environ, table.now)
        assert codes(there) == {"ann": "gone", "bob": "by-hand"}
        assert "thinking" not in notes(there)
        assert "its run ended unexpectedly" in notes(there)
        (found,) = [one for one in explain(there, "active").hindrances if one.code == "lost"]
        assert "it is tried again" in found.fix("en")
    finally:
        let_go(table)


@pytest.mark.req("FW-004.2")
def test_a_run_that_ended_since_the_state_was_read_is_not_called_gone(table: Table):
    table.convene(agents=PAIR)
    before = table.place.conversations.read("active")
    let_go(table)

    assert gone_runs(table.place, before.tasks), "its place is free again"
    assert Activities(table.place).of(before)["ann"].code != "gone"


@pytest.mark.req("FW-004.1")
def test_a_halt_is_named_by_all_and_no_start_is_promised(table: Table, capsys):
    halt(table.place, "the bill")
    table.convene(agents=PAIR)
    assert codes(table.place) == {"ann": "halted", "bob": "halted"}
    assert "not started: the workspace is halted" in notes(table.place)
    assert "starts ann" not in next_steps(table.place)
    assert "as soon as a place is free" not in next_steps(table.place)
    assert "no run of ann is started for now" in next_steps(table.place)
    shown = shown_by_ask(table.place, capsys)
    assert shown.count("not started: the workspace is halted") == 1, "it is said once"
    assert "council resume --all" in shown

    resume_all(table.place)
    table.beat()
    assert codes(table.place)["ann"] == "running"
    let_go(table)


@pytest.mark.req("FW-004.1")
def test_a_cap_is_named_by_all_and_no_start_is_promised(table: Table, capsys):
    settings = table.root / "council.toml"
    settings.write_text("[limits]\nmax_runs_per_day = 1\n" + settings.read_text())
    text = settings.read_text().replace('retry_backoff = ["1h"]\n', "")
    settings.write_text(f'retry_backoff = ["1h"]\n{text}')
    edit_tally(table.place.paths, lambda one: bounds.spend(one, "other", table.now, runs=1))
    table.convene(agents=PAIR)
    assert codes(table.place) == {"ann": "capped", "bob": "by-hand"}
    assert "not started: max_runs_per_day = 1 is reached" in notes(table.place)
    assert "starts ann" not in next_steps(table.place)
    assert "no run of ann is started for now" in next_steps(table.place)
    shown = shown_by_ask(table.place, capsys)
    assert "not started: max_runs_per_day = 1 is reached" in shown
    assert "raise it under [limits] in council.toml" in shown

    settings.write_text(settings.read_text().replace("per_day = 1", "per_day = 9"))
    table.beat()
    assert codes(table.place)["ann"] == "running", "the way out that is named works"
    let_go(table)


@pytest.mark.req("FW-004.1")
def test_who_rests_is_named_by_all_with_the_end_of_the_rest(table: Table, capsys):
    for number in range(3):
        note_failure(table.place, "ann", said("broken"), f"some-{number}")
    table.convene(agents=PAIR)
    assert codes(table.place) == {"ann": "resting", "bob": "by-hand"}
    assert "not started: rests until 2026-02-08T20:15:00Z" in notes(table.place)
    assert "the rest of ann is over, and it is started again" in next_steps(table.place)
    assert "starts ann" not in next_steps(table.place)
    assert "council doctor --probe" in shown_by_ask(table.place, capsys)


@pytest.mark.req("FW-004.1")
def test_what_a_cap_keeps_from_a_run_that_was_lost_is_not_promised(table: Table):
    table.convene(agents=PAIR)
    try:
        copy = table.root.parent / "copy"
        shutil.copytree(table.root, copy)
        settings = copy / "council.toml"
        settings.write_text(settings.read_text() + "[limits]\nmax_runs_per_day = 1\n")
        there = Place(str(copy), table.environ, table.now)
        edit_tally(there.paths, lambda one: bounds.spend(one, "other", table.now, runs=1))
        (found,) = [one for one in explain(there, "active").hindrances if one.code == "lost"]
        assert "tried again" not in found.fix("en")
        assert "max_runs_per_day = 1 is reached" in found.fix("en")
    finally:
        let_go(table)


@pytest.mark.req("FW-004.1")
def test_an_agent_that_failed_says_why_and_when_it_is_tried_again(table: Table, capsys):
    table.seat({"ann": script("cat >/dev/null; echo no key >&2; kill -9 $$"), "bob": {}},
               retry_backoff=["30m"])  # fmt: skip
    table.convene(agents=PAIR)
    all_is_quiet()
    assert codes(table.place) == {"ann": "retry", "bob": "by-hand"}
    shown = shown_by_ask(table.place, capsys)
    said = "failed: ended by SIGKILL: no key; next attempt at"
    assert shown.count(said) == 1, "it is said once"
    assert f"{said} 2026-02-08T20:30:00Z" in notes(table.place)

    table.seat({"ann": {"argv": ["no-such-program"]}, "bob": {}})
    table.convene(agents=PAIR, name="other")
    all_is_quiet()
    state = table.read("other")
    assert Activities(table.place).of(state)["ann"].code == "failed"
