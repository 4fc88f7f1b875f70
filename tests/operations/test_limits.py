"""Caps on runs and tokens: what is reached starts no agent, says so, and lets time go on."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from council.core import bounds
from council.core.bounds import Spent, Tally
from council.core.reasons import Reason, read_reason
from council.operations.heartbeat.gate import Gate, charge, halt, resume_all
from council.operations.rooms import channels
from council.operations.view import status
from council.store.reason_words import reason_words
from council.store.tally import read_tally
from tests.operations.tables import FOUR, NOW, SPEAKS, Table, all_is_quiet

PAIR = ("ann", "bob")


def seat(tmp_path: Path, limits: str, agents: tuple[str, ...] = PAIR, **settings: object) -> Table:
    table = Table(tmp_path / "workspace").seat_all(SPEAKS, agents, **settings)
    file = table.root / "council.toml"
    file.write_text(file.read_text() + f"[limits]\n{limits}\n")
    return table


@pytest.mark.parametrize("cap", bounds.CAPS)
def test_each_cap_is_reached_by_what_it_counts_and_by_nothing_else(cap: str):
    counts = Tally(today=Spent())
    limits = {cap: 10}
    bounds.spend(counts, "one", NOW, runs=10, tokens=10, usd=10.0)

    assert bounds.reached(counts, limits, "one", NOW) == (cap, 10)
    assert (bounds.reached(counts, limits, "two", NOW) is None) == ("council" in cap)
    tomorrow = NOW + timedelta(days=1)
    assert (bounds.reached(counts, limits, "one", tomorrow) is None) == ("day" in cap)
    assert bounds.reached(counts, {cap: 11}, "one", NOW) is None
    assert bounds.reached(counts, {cap: 0}, "one", NOW) is None


def test_no_more_runs_than_allowed_are_started_even_of_those_due_at_once(tmp_path: Path):
    table = seat(tmp_path, "max_runs_per_council = 3", FOUR)
    table.convene(agents=FOUR)
    all_is_quiet()
    for _ in range(3):
        table.beat_to_rest(timedelta(minutes=1))

    assert len(table.events("task.started")) == 3
    (refused,) = table.events("task.refused")
    reason = read_reason(refused["data"]["reason"])
    assert reason_words(reason) == "not started: max_runs_per_council = 3 is reached"
    (one,) = status(table.place).standings
    assert list(one.failures.values()) == [reason]


def test_a_council_that_may_start_nobody_ends_by_its_deadlines(tmp_path: Path):
    table = seat(tmp_path, "max_runs_per_council = 2")
    table.convene(agents=PAIR)
    all_is_quiet()
    for _ in range(4):
        table.beat_to_rest(timedelta(hours=1, minutes=1))

    assert len(table.events("task.started")) == 2
    assert len(table.minutes()) == 1
    assert "max_runs_per_council = 2 is reached" in table.minutes()[0].read_text()


def test_the_cap_of_a_day_holds_over_conversations_and_ends_with_the_day(tmp_path: Path):
    table = seat(tmp_path, "max_runs_per_day = 2", phase_timeout="1d")
    table.convene(agents=PAIR, phases=("collect",))
    all_is_quiet()
    table.convene("And this?", name="other", agents=PAIR, phases=("collect",))
    all_is_quiet()
    assert len(table.events("task.started")) == 2
    assert status(table.place).reached == ["max_runs_per_day = 2"]

    table.beat_to_rest(timedelta(hours=5))

    assert len(table.events("task.started")) == 4
    assert read_tally(table.place.paths).day == "2026-02-09"


def test_one_that_waited_for_a_place_when_the_cap_was_reached_does_not_stop_time(tmp_path: Path):
    table = seat(tmp_path, "max_runs_per_council = 1", max_runs=1)
    table.convene(agents=PAIR)
    all_is_quiet()
    table.beat_to_rest(timedelta(minutes=1))
    assert [str(one.state) for one in table.read().tasks.values()].count("N") == 0

    table.beat_to_rest(timedelta(hours=1))

    assert table.read().phase == "CHALLENGE"


def test_tokens_that_a_driver_reports_count(tmp_path: Path):
    table = seat(tmp_path, "max_tokens_per_day = 500")
    charge(table.place, ["some-council"], tokens=600)

    table.convene(agents=PAIR)
    all_is_quiet()

    assert table.events("task.started") == []
    assert len(table.events("task.refused")) == 2


@pytest.mark.req("FW-002.1")
@pytest.mark.parametrize("of", ["day", "council"])
def test_a_cap_that_is_set_later_counts_what_was_used_before(of: str, tmp_path: Path):
    reports = f'echo "usage tokens=40" >> "$COUNCIL_REPORT"; {SPEAKS}'
    table = Table(tmp_path / "workspace").seat_all(reports, PAIR)
    table.convene(agents=PAIR, phases=("collect", "synthesize"))
    all_is_quiet()
    ((council, spent),) = read_tally(table.place.paths).councils.items()
    assert (spent.runs, spent.tokens) == (3, 120)

    file = table.root / "council.toml"
    file.write_text(f"{file.read_text()}[limits]\nmax_tokens_per_{of} = 120\n")

    reached = Reason.of("cap", limit=f"max_tokens_per_{of}", most=120)
    assert Gate(table.place, NOW).refuses(council, "ann") == reached


def test_who_waits_for_a_place_when_a_cap_is_reached_is_refused_and_the_phase_goes_on(
    tmp_path: Path,
):
    table = seat(tmp_path, "max_runs_per_day = 2")
    halt(table.place)
    table.convene(agents=PAIR)
    table.beat_to_rest()
    assert len(table.events("task.queued")) == 2
    charge(table.place, ["another", "another"])

    resume_all(table.place)
    all_is_quiet()
    table.beat_to_rest(timedelta(minutes=1))

    assert len(table.events("task.refused")) == 2
    assert table.events("task.started") == []
    table.beat_to_rest(timedelta(hours=1, minutes=1))
    assert table.events("phase.changed")


def test_of_many_counts_those_of_open_councils_and_rooms_are_kept(tmp_path: Path):
    table = seat(tmp_path, "max_runs_per_council = 500")
    halt(table.place)
    table.convene(agents=PAIR)
    channels.create(table.place, "chat", "weather", PAIR)
    conversation = table.read().conversation_id
    charge(table.place, [conversation, "weather", *(f"gone-{number}" for number in range(300))])

    charge(table.place, ["one-more"])

    assert set(read_tally(table.place.paths).councils) == {conversation, "weather", "one-more"}
