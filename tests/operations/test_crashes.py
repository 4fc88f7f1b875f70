"""The heartbeat and the runs are killed at every call to the system; nothing is lost or doubled."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from council.operations.conversations.answer import record_answer
from council.operations.conversations.convene import Invitation, convene
from council.operations.heartbeat.beat import beat
from tests.operations.crashes import killed_at
from tests.operations.tables import FOUR, LEASE, SPEAKS, Table, all_is_quiet, turns

ONE_ROUND = ("collect", "synthesize")
TWO_ROUNDS = ("collect", "challenge", "synthesize")
AFTER_BACKOFF = timedelta(minutes=1)
MANY_CALLS = 400


def steps(wide: int) -> list[object]:
    """Return where to begin and how far to jump: a sample always, every call when long ones run."""
    every = [
        pytest.param(start, wide, id=f"every-{wide}th-from-{start}", marks=pytest.mark.long)
        for start in range(2, wide + 1)
    ]
    return [pytest.param(1, wide, id=f"every-{wide}th-from-1"), *every]


def assert_ends_well(table: Table, rounds: int) -> None:
    """Two further heartbeats bring the council to its end, everybody heard once a round."""
    table.beat_to_rest(LEASE)
    table.beat_to_rest(AFTER_BACKOFF)
    assert table.place.conversations.names() == []
    assert not table.live().exists()
    (minutes,) = table.minutes()
    heard = sorted(turns(minutes.read_text(encoding="utf-8")))
    assert [one for one in heard if one[0] <= rounds] == [
        (tour, agent) for tour in range(1, rounds + 1) for agent in sorted(FOUR)
    ]
    assert len(heard) == rounds * len(FOUR) + 1
    assert list(table.root.rglob("*.prompt.md")) == []
    assert not [path for agent in FOUR for path in table.tasks(agent)]


@pytest.mark.long
@pytest.mark.req("XC-001", "C0-021", "C0-033", "C0-037")
@pytest.mark.parametrize(("start", "wide"), steps(20))
def test_convening_killed_at_any_call_loses_nobody(tmp_path: Path, start: int, wide: int):
    for number in range(start, MANY_CALLS, wide):
        table = Table(tmp_path / str(number)).seat_all(SPEAKS)
        wanted = Invitation(topic="Shall we?", phases=ONE_ROUND)
        was_killed = killed_at(number, partial(convene, table.place, wanted))
        all_is_quiet()
        if not table.place.conversations.names() and not table.minutes():
            table.convene(
                "Shall we?", phases=ONE_ROUND
            )  # it was not there yet: a person repeats it
            all_is_quiet()
        assert_ends_well(table, 1)
        if not was_killed:
            return
    raise AssertionError("it never came to its end")


@pytest.mark.long
@pytest.mark.req("XC-001", "C0-027", "C0-033")
@pytest.mark.parametrize(("start", "wide"), steps(20))
def test_heartbeat_killed_at_any_call_loses_nobody(tmp_path: Path, start: int, wide: int):
    for number in range(start, MANY_CALLS, wide):
        table = Table(tmp_path / str(number)).seat_all(SPEAKS, max_runs=3)
        table.seat({agent: {} for agent in FOUR})
        table.convene(phases=TWO_ROUNDS)
        for agent in FOUR:
            record_answer(table.place, "active", agent, f"I am {agent} in round 1.")
        table.seat_all(SPEAKS, max_runs=3)
        was_killed = killed_at(number, partial(beat, table.place))
        all_is_quiet()
        assert_ends_well(table, 2)
        if not was_killed:
            return
    raise AssertionError("it never came to its end")


@pytest.mark.req("XC-001", "C0-030", "C0-031")
@pytest.mark.parametrize(("start", "wide"), steps(7))
def test_archiving_killed_at_any_call_leaves_one_file_of_minutes(
    tmp_path: Path, start: int, wide: int
):
    for number in range(start, MANY_CALLS, wide):
        by_hand: dict[str, dict[str, object]] = {agent: {} for agent in FOUR}
        table = Table(tmp_path / str(number)).seat(by_hand, coordinator="maman")
        table.convene(phases=ONE_ROUND)
        for agent in FOUR:
            record_answer(table.place, "active", agent, f"I am {agent} in round 1.")
        table.beat_to_rest()
        record_answer(table.place, "active", "maman", "So be it.")
        was_killed = killed_at(number, partial(beat, table.place))
        assert_ends_well(table, 1)
        if not was_killed:
            return
    raise AssertionError("it never came to its end")


@pytest.mark.long
@pytest.mark.req("XC-001", "C0-033", "C0-046")
@pytest.mark.parametrize(("start", "wide"), steps(20))
def test_supervisors_killed_at_any_call_lose_nobody(tmp_path: Path, start: int, wide: int):
    for number in range(start, MANY_CALLS, wide):
        table = Table(tmp_path / str(number)).seat_all(SPEAKS)
        wanted = Invitation(topic="Shall we?", phases=ONE_ROUND)
        killed_at(number, partial(convene, table.place, wanted), heirs=True)
        all_is_quiet()
        nobody_died = not table.place.conversations.names()
        assert_ends_well(table, 1)
        if nobody_died:
            return
    raise AssertionError("somebody died every time")
