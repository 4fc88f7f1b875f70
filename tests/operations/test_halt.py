"""The halt: nothing is started, no agent loses time by it, and it ends for all at once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from council.operations.conversations.answer import respond
from council.operations.heartbeat.gate import halt, read_halt, resume_all
from council.operations.view import status
from tests.examples import one_in
from tests.operations.tables import SPEAKS, Table, all_is_quiet, script

PAIR = ("ann", "bob")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "workspace").seat_all(SPEAKS, PAIR)


def test_a_halted_workspace_starts_nobody_and_says_so(table: Table):
    done = halt(table.place, "the bill")
    table.convene(agents=PAIR)
    report = table.beat_to_rest()

    assert done.changed
    assert report.halted
    assert not report.changed
    assert table.events("task.started") == []
    assert not list((table.root / "memory/shared/.council").glob("runs/*.log"))
    assert status(table.place).halt.reason == "the bill"
    assert [one["data"]["reason"] for one in table.events("council.halted")] == ["the bill"]


def test_agents_that_answer_by_hand_are_not_woken_either_but_are_heard(table: Table):
    table.seat({"ann": {}, "bob": {}})
    halt(table.place)
    table.convene(agents=PAIR)
    assert table.tasks("ann") == []

    respond(table.place, "active", "ann", "I speak all the same.")
    respond(table.place, "active", "bob", "So do I.")
    all_is_quiet()

    assert table.read().phase == "CHALLENGE"


def test_deadlines_of_those_who_wait_stand_still_and_resume_gives_the_time_back(table: Table):
    halt(table.place)
    table.convene(agents=PAIR)
    table.beat_to_rest(timedelta(hours=5))
    assert table.read().phase == "COLLECT"

    table.now += timedelta(minutes=1)
    assert resume_all(table.place).changed
    all_is_quiet()

    assert len(table.minutes()) == 1
    assert table.events("turn.missed") == []
    assert len(table.events("council.resumed")) == 1


def test_an_idle_heartbeat_under_a_halt_writes_nothing(table: Table):
    halt(table.place)
    table.convene(agents=PAIR)
    table.beat_to_rest()
    before = table.digest_of_the_tree()

    table.beat_to_rest(timedelta(minutes=5))

    assert table.digest_of_the_tree() == before


def test_halting_twice_changes_nothing_and_so_does_resuming_what_is_not_halted(table: Table):
    assert halt(table.place, "first").changed
    assert not halt(table.place, "second").changed
    assert read_halt(table.place).reason == "first"
    assert resume_all(table.place).changed
    assert not resume_all(table.place).changed
    all_is_quiet()


@pytest.mark.parametrize(
    "content", one_in(3, [b"", b"\xff\x00", b"[1]", b'{"at": 5}', b"{" * 5000])
)
def test_a_mark_made_by_hand_halts_whatever_it_holds(table: Table, content: bytes):
    mark = table.root / "memory/shared/.council/halted"
    mark.parent.mkdir(parents=True)
    mark.write_bytes(content)

    table.convene(agents=PAIR)
    table.beat_to_rest()

    assert table.events("task.started") == []
    assert read_halt(table.place) is not None
    assert resume_all(table.place).changed
    all_is_quiet()
    assert len(table.minutes()) == 1


def test_a_run_that_was_under_way_ends_and_is_heard(table: Table):
    gate = table.root / "go"
    table.seat({"ann": script(f"while [ ! -e {gate} ]; do sleep 0.05; done; echo yes"), "bob": {}})
    table.convene(agents=PAIR)
    try:
        assert halt(table.place).running == 1
    finally:
        gate.touch()
    all_is_quiet()

    assert table.read().participants["ann"].status == "RESPONDED"
