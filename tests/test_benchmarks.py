"""The benchmarks measure something: each part once, tiny, and what a missed bound comes to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import at_once, growth, heartbeats, results, rooms, sizes, start_up, turns, writing
from benchmarks.measuring import Part, Row, in_turns
from benchmarks.workspaces import COUNCIL, Site
from tests.examples import one_in

TINY: dict[str, Callable[[Path], list[Part]]] = {
    "commands": lambda folder: [start_up.measure(folder, 1)],
    "writes": lambda folder: writing.measure(folder, 1),
    "at once": lambda folder: [at_once.measure(folder, 1, at_once=3)],
    "heartbeats": lambda folder: heartbeats.measure(folder, 1, crowds=(1, 3), due=1),
    "sizes": lambda folder: [sizes.measure(folder, 1, {"10 KB": 10_000, "40 KB": 40_000})],
    "growth": lambda folder: [growth.measure(folder, 5)],
    "turns": lambda folder: [turns.measure(folder, 1)],
    "rooms": lambda folder: [rooms.measure(folder, 1, 50)],
}


@pytest.mark.parametrize("what", one_in(3, TINY))
def test_each_part_measures_something(tmp_path: Path, monkeypatch, what: str):
    monkeypatch.setattr(writing, "ROUNDS", 1)
    for part in TINY[what](tmp_path / "bench"):
        assert part.rows and part.title and part.notes
        for row in part.rows:
            assert row.ms > 0 and row.against_ms > 0 and row.against


def test_what_is_compared_runs_in_turns_and_the_first_round_does_not_count():
    ran: list[str] = []
    taken = iter([99.0, 98.0, 3.0, 30.0, 1.0, 10.0, 2.0, 20.0])

    def run(what: str) -> float:
        ran.append(what)
        return next(taken)

    found = in_turns({"a": lambda: run("a"), "b": lambda: run("b")}, 3)

    assert "".join(ran) == "abababab"
    assert found == {"a": 2.0, "b": 20.0}


def test_a_missed_bound_is_said_in_its_row():
    slow = Row("slow", 9.0, "bare", 2.0, bound=4.0)
    good = Row("good", 8.0, "bare", 2.0, bound=4.0)
    late = Row("late", 201.0, "bare", 20.0, limit_ms=200.0)

    assert (slow.missed, good.missed, late.missed) == (True, False, True)
    part = Part("A part", "What it is.", [slow, good, late])
    for text in (results.table([part]), results.markdown([part], "make bench", 3, Path("/"))):
        lines = {
            name: next(line for line in text.splitlines() if name in line)
            for name in ("slow", "good", "late")
        }
        assert "MISSED" in lines["slow"] and "4.50" in lines["slow"]
        assert "MISSED" not in lines["good"]
        assert "MISSED" in lines["late"] and "200 ms" in lines["late"]


def test_a_conversation_is_as_large_as_wanted_and_sound(tmp_path: Path):
    site = Site(tmp_path).with_agents()
    for size in (12_000, 100_000, 1_000_000):
        site.converse(f"c{size}", size)
        assert abs(site.file(f"c{size}").stat().st_size - size) < size / 5
        site.printed("check", "--name", f"c{size}")


def test_rich_help_is_measured_on_a_terminal(tmp_path: Path):
    assert "╭─" in start_up.shown(Site(tmp_path), COUNCIL, "--help")
