"""The simulated week finds what is broken on purpose, and a short one keeps what it promises."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.week.__main__ import Week


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Week]:
    """A week in which nothing has happened yet but one council, which is over."""
    week = Week(tmp_path / "week", days=1, councils=0, seed="1")
    try:
        words = ("convene", "Shall we?", "--name", "c1", "--phases", "collect,synthesize")
        assert week.machine.do(*words, "--agents", "good,babble").code == 0
        week.people.councils.append("c1")
        yield week
    finally:
        week.machine.leave()


def broken(week: Week) -> dict[str, list[str]]:
    week.promises.look_at_texts(at_the_end=True)
    return {promise: list(found) for promise, found in week.promises.broken.items() if found}


def test_a_council_that_kept_all_is_found_to_have_kept_all(quiet: Week):
    assert broken(quiet) == {}
    assert quiet.promises.look_at_stalls(beaten=True)["conversations"] == []
    assert [one["does"] for one in quiet.machine.runs()] == ["says"] * 3


def test_a_text_that_was_acknowledged_and_is_not_there_is_lost(quiet: Week):
    quiet.people.said.append(("ada-c1-0", "ada", "c1"))

    assert broken(quiet) == {"lost": ["c1/ada-c1-0"]}


def test_a_text_that_stands_twice_in_the_minutes_is_double(quiet: Week):
    (minutes,) = (quiet.machine.root / "conseils").glob("*.md")
    mark = quiet.machine.runs()[0]["mark"]
    minutes.write_text(minutes.read_text() + f"\n> [k:{mark}]\n")

    assert broken(quiet) == {"double": [f"minutes/c1/{mark}"]}


def test_a_text_that_stands_as_somebody_elses_is_wrong(quiet: Week):
    mark = next(one["mark"] for one in quiet.machine.runs() if one["agent"] == "good")
    quiet.people.said.append((mark, "ada", "c1"))
    quiet.machine.runs = list  # type: ignore[method-assign]

    assert broken(quiet) == {"wrong": [f"c1/{mark}"]}


def test_a_run_whose_printed_answer_stands_nowhere_is_lost(quiet: Week):
    runs = quiet.machine.runs()
    quiet.machine.runs = lambda: [*runs, {**runs[0], "tour": 9, "mark": "0"}]  # type: ignore[method-assign]

    assert broken(quiet) == {"lost": [f"c1/9/{runs[0]['agent']}"]}


def test_a_stall_whose_cause_is_not_named_is_found(quiet: Week):
    words = ("convene", "Shall we?", "--name", "c2", "--agents", "good", "--people", "elk")
    assert quiet.machine.do(*words).code == 0

    for fault in ("", "halted"):  # that it is halted is not true, so nothing says so
        quiet.promises.fault = fault
        quiet.promises.look_at_stalls(beaten=True)
        quiet.promises.look_at_stalls(beaten=True)

    # elk answers by hand, as no person of the week does.
    assert list(quiet.promises.broken["unnamed"]) == [
        "explain/nothing/c2/elk",
        "--problems/halted",
    ]


@pytest.mark.slow
def test_in_a_short_week_all_ends_and_nothing_is_lost_double_or_wrong(tmp_path: Path):
    week = Week(tmp_path / "week", days=1, councils=4, seed="2")
    try:
        week.live()
    finally:
        week.machine.leave()

    kept = ("not ended", "lost", "double", "wrong")
    assert {one: week.promises.broken[one] for one in kept} == {one: {} for one in kept}
    assert len(week.promises.stalls) > 0 and week.machine.counts["processes killed"] > 0
