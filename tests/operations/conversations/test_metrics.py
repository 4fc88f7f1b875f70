"""Metrics: figures over all minutes, by hand-made samples, and plots of any width."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.conversations.procedures import Rules
from council.core.deliberation.figures import Outcome, figures, outcome_in
from council.operations.conversations.metrics import metrics, plotted, rate
from council.operations.place import Place
from tests.core.debates import Debate, soft_debate
from tests.operations.reporting.test_minutes import played as council_played
from tests.store.conversations.filed import write
from tests.timing import assert_linear


@pytest.fixture
def place(workspace: Path) -> Place:
    (workspace / "conseils").mkdir(exist_ok=True)
    return Place(str(workspace), {}, None)


def file(place: Place, name: str, debate: Debate) -> Path:
    path = Path(place.root) / "conseils" / f"2026-02-08-{name}.md"
    return Path(write(path, debate.state, debate.now))


def strong(positions: dict[str, str] | str = "Yes.", rounds: int = 1) -> Debate:
    """Return a debate that agrees in round `rounds`."""
    debate = Debate("ann", "bob", rules=Rules(max_rounds=5, stability=False))
    for number in range(1, rounds + 1):
        stance = "agree" if number == rounds else ("disagree", f"reason {number}")
        first, second = ("ann", "bob") if number % 2 else ("bob", "ann")
        debate.turn(first, "Yes.", reasoning=f"Other words each time: {number * 'x'}.")
        debate.turn(second, "Yes.", reasoning=f"{number * 'y'} says another.", **{first: stance})
        if number == rounds and rounds > 1:  # the other one agrees, too
            break
    if debate.state.phase == "DELIBERATE":
        debate.round("Yes.", {})
    debate.vote(positions, {})
    debate.synthesize("## Recommendation\nGo.")
    return debate


def apart() -> Debate:
    """Return a debate of two that never agree."""
    against = {"ann": {"bob": "disagree"}, "bob": {"ann": "disagree"}}
    debate = Debate("ann", "bob", rules=Rules(max_rounds=1))
    debate.round("Yes.", against)
    debate.vote({"ann": "Build it.", "bob": "Never!"}, against)
    debate.synthesize("## Recommendation\nAsk again.")
    return debate


def cancelled() -> Debate:
    debate = Debate("ann", "bob")
    debate.turn("ann", "Yes.")
    debate.cancel()
    return debate


@pytest.mark.req("DL-091")
def test_convergence_rate_is_the_share_of_complete_debates_with_strong_or_soft(
    place: Place,
) -> None:
    for name, debate in (
        ("a", strong()),
        ("b", soft_debate()),
        ("c", apart()),
        ("d", apart()),
        ("e", cancelled()),
    ):
        file(place, name, debate)
    record = metrics(place).to_record()
    assert record["convergenceRate"] == 0.5
    assert (record["complete"], record["cancelled"], record["converged"]) == (4, 1, 2)
    assert record["consensus"] == {"strong": 1, "soft": 1, "none": 2, "cancelled": 1}


@pytest.mark.req("DL-092")
def test_mean_rounds_to_consensus_count_only_those_that_reached_one() -> None:
    found = figures(
        [
            Outcome(procedure="deliberation", consensus="strong", rounds=1),
            Outcome(procedure="deliberation", consensus="soft", rounds=4),
            Outcome(procedure="deliberation", consensus="none", rounds=0),
            Outcome(procedure="deliberation", consensus="strong", rounds=4, cancelled=True),
        ]
    )
    assert found.mean_rounds == 2.5
    assert found.to_record()["roundsToConsensus"] == {"1": 1, "4": 1}


@pytest.mark.req("DL-092")
def test_rounds_to_consensus_are_read_from_the_minutes(place: Place) -> None:
    file(place, "a", strong())
    late = Debate("ann", "bob", "cid", rules=Rules(max_rounds=2, stability=False))
    late.round("Yes.", {"bob": {"ann": "disagree"}, "cid": {"ann": "disagree", "bob": "disagree"}})
    late.round("Yes.", {"ann": {"bob": "agree"}})
    late.vote("Yes.", {})
    late.synthesize("Go.")
    assert [one.verdict["reached"] for one in late.state.rounds if one.verdict] == [
        False,
        True,
        True,
    ]
    file(place, "b", late)
    assert metrics(place).whole.rounds == {1: 1, 2: 1}
    assert metrics(place).to_record()["meanRoundsToConsensus"] == 1.5


@pytest.mark.req("DL-093")
def test_ratings_are_stored_and_their_mean_is_shown(place: Place) -> None:
    file(place, "a", strong())
    file(place, "b", apart())
    assert metrics(place).to_record()["rating"] is None
    for name, stars, who in (("a", 1, "ann"), ("a", 5, "ann"), ("a", 4, "bob"), ("b", 2, "ann")):
        rate(place, name, stars, who)
    record = metrics(place).to_record()
    assert (record["rating"], record["ratings"]) == (3.6667, 3)
    assert "3.67 (3 given)" in metrics(place).to_text()


@pytest.mark.req("DL-094")
@pytest.mark.parametrize(
    ("positions", "distance"),
    [
        ("Build it now.", 0.0),
        ({"ann": "Build it now.", "bob": "Wait for spring."}, 1.0),
        ({"ann": "Build it.", "bob": "Build boats."}, 0.6667),
    ],
)
def test_diversity_is_0_for_equal_final_positions_and_1_for_disjoint_ones(
    place: Place, positions: dict[str, str] | str, distance: float
) -> None:
    path = file(place, "a", strong(positions))
    assert metrics(place).to_record()["diversity"] == distance
    # Minutes whose data do not hold it are measured by their texts.
    beside = path.with_suffix(".json")
    bare = [line for line in beside.read_text("utf-8").split("\n") if line[:7] != ' "diver']
    beside.write_text("\n".join(bare), encoding="utf-8")
    assert metrics(place).to_record()["diversity"] == distance


def test_flips_absences_and_times_are_counted(place: Place) -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=2, stability=False))
    debate.round("Yes.", {"cid": {"ann": "disagree"}})
    debate.turn("bob", "Yes.")
    debate.turn("cid", "Yes.", bob="agree", ann=("agree", "fine"))
    debate.wait(2)
    debate.vote("Yes.", {})
    debate.synthesize("Go.")
    file(place, "a", debate)
    record = metrics(place).to_record()
    assert (record["flips"], record["absences"]) == (1, 1)
    assert record["phases"]["VOTE"] == {"meanSeconds": 180.0, "totalSeconds": 180.0}
    took = timedelta(hours=2, minutes=5).total_seconds()
    assert record["phases"]["DELIBERATE"]["totalSeconds"] == took


def test_each_procedure_has_its_own_figures(place: Place) -> None:
    file(place, "a", apart())
    state = council_played("agreed")
    path = Path(place.root) / "conseils" / "2026-02-08-b.md"
    write(path, state, state.finished_at or state.created_at)
    record = metrics(place).to_record()
    assert list(record["procedures"]) == ["council", "deliberation"]
    council = record["procedures"]["council"]
    assert (council["convergenceRate"], council["meanRoundsToConsensus"]) == (1.0, 3)
    assert council["diversity"] is None
    assert record["procedures"]["deliberation"]["convergenceRate"] == 0.0
    assert record["convergenceRate"] == 0.5


def test_what_is_no_minutes_is_named_and_stops_nothing(place: Place) -> None:
    file(place, "good", strong())
    folder = Path(place.root) / "conseils"

    def broken(name: str, change: Callable[[str], str]) -> None:
        path = file(place, name, strong()).with_suffix(".json")
        path.write_text(change(path.read_text("utf-8")), encoding="utf-8")

    broken("cut", lambda whole: whole[: len(whole) // 2])
    broken("newer", lambda whole: whole.replace('"schemaVersion": 1', '"schemaVersion": 9'))
    broken("odd", lambda whole: whole.replace('"tour": 1,', '"tour": "x",'))
    (folder / "notes.md").write_text("# Notes\n", encoding="utf-8")
    (folder / "bytes.md").write_bytes(b"\xff\x00---")
    (folder / "empty.md").write_bytes(b"")
    (folder / "folder.md").mkdir()
    (folder / "link.md").symlink_to("/dev/zero")
    (folder / "other.txt").write_text("no minutes at all")
    found = metrics(place)
    assert found.whole.count == 1
    named = {Path(path).name for path, _ in found.skipped}
    assert named == {
        "2026-02-08-cut.md",
        "2026-02-08-newer.md",
        "notes.md",
        "bytes.md",
        "empty.md",
        "folder.md",
        "link.md",
        "2026-02-08-odd.md",
    }
    assert all(reason for _, reason in found.skipped)
    assert "passed over: 8" in found.to_text()
    json.dumps(found.to_record())


def test_a_workspace_without_minutes_has_no_figures(place: Place) -> None:
    found = metrics(place)
    assert found.to_record()["convergenceRate"] is None
    assert found.to_text() == "no minutes yet; they come with the first finished conversation"
    (Path(place.root) / "conseils").rmdir()
    assert metrics(place).whole.count == 0


@pytest.mark.long
def test_figures_take_time_proportional_to_the_number_of_minutes(tmp_path: Path) -> None:
    debate = soft_debate()

    def place_of(count: int) -> Place:
        root = tmp_path / str(count)
        (root / "conseils").mkdir(parents=True)
        for number in range(count):
            file(Place(str(root), {}, None), f"debate-{number}", debate)
        return Place(str(root), {}, None)

    few, many = place_of(40), place_of(640)
    assert metrics(many).whole.count == 640
    assert_linear(metrics, few, many, 16)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_text_fits_the_terminal_and_plots_outcomes_and_rounds(place: Place, width: int) -> None:
    for name, debate in (("a", strong()), ("b", soft_debate()), ("c", apart())):
        file(place, name, debate)
    lines = metrics(place).to_text(width).splitlines()
    for title in ("  outcomes", "  rounds to consensus"):
        at = lines.index(title)
        assert "█" in lines[at + 1]
    assert all(len(line) <= width for line in lines if "█" in line)


@given(
    st.lists(
        st.tuples(st.text("ab", min_size=1, max_size=6), st.integers(0, 10**6)),
        max_size=6,
    ),
    st.integers(20, 120),
)
def test_bars_never_leave_the_width_and_are_in_proportion(
    bars: list[tuple[str, int]], width: int
) -> None:
    lines = plotted(bars, width)
    assert len(lines) == len(bars)
    assert all(len(line) <= width for line in lines)
    for (_, value), line in zip(bars, lines, strict=True):
        assert line.endswith(str(value))
        assert (len(line.split()) == 3) == (value > 0)
    lengths = sorted((value, line.count("█")) for (_, value), line in zip(bars, lines, strict=True))
    assert [blocks for _, blocks in lengths] == sorted(blocks for _, blocks in lengths)


def test_an_outcome_counts_every_turn_that_was_missed() -> None:
    debate = Debate("ann", "bob")
    debate.finish()
    assert outcome_in(debate.state).absences == 4
