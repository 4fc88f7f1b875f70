"""The simulation of judgement: the directions of its effects, small and with a fixed seed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import experiments, judgement
from benchmarks.conformity import ANYONE, BELIEF, REASONS, Setting, wrong_when_unanimous
from benchmarks.experiments import ALONE, FIVE, THREE, Table
from benchmarks.judging import Judged, Share, judged_runs
from benchmarks.whole_machine import through_the_machine
from council.core.deliberation.consensus import STRONG

SEED = 7
RUNS = 1500


def share_of_wrong(setting: Setting, rounds: int = 1) -> Share:
    """Return how many unanimous votes are wrong."""
    wrong = Share()
    for one in judged_runs(setting, SEED, RUNS, (rounds,)):
        if one.verdict.type == STRONG:
            wrong.add(one.is_wrong)
    return wrong


def right_after(setting: Setting, rounds: int) -> tuple[float, float]:
    """Return how often an agent and the most frequent answer are right."""
    runs = list(judged_runs(setting, SEED, RUNS, (rounds,)))
    majority = sum(one.groups[0].position == "A" for one in runs)
    return sum(one.accuracy for one in runs) / RUNS, majority / RUNS


@pytest.mark.parametrize("blind", [True, False])
def test_unanimous_votes_of_three_are_as_often_wrong_as_computed(blind: bool):
    found = share_of_wrong(replace(THREE, blind=blind))

    exact = wrong_when_unanimous(0.6, 4, 0.0 if blind else 0.5)
    assert abs(found.value - exact) < 4 * found.error


def test_a_visible_first_round_makes_far_more_unanimous_votes_wrong():
    blind, visible = (share_of_wrong(replace(THREE, blind=sight)) for sight in (True, False))

    assert 0.01 < blind.value < 0.06
    assert 0.20 < visible.value < 0.30
    assert visible.cases > 2 * blind.cases


@pytest.mark.parametrize(
    "setting", [replace(ALONE, hears=ANYONE, conformity=0.05), replace(ALONE, hears=BELIEF)]
)
def test_rounds_without_evidence_leave_accuracy_and_take_from_the_majority(setting: Setting):
    accuracy, majority = right_after(setting, 1)
    later_accuracy, later_majority = right_after(setting, 5)

    assert abs(later_accuracy - accuracy) < 0.03
    assert later_majority < majority - 0.03


def test_only_reasons_bring_the_majority_above_the_blind_tally():
    _, blind = right_after(ALONE, 1)
    _, conforming = right_after(ALONE, 5)
    _, convinced = right_after(replace(ALONE, hears=REASONS), 5)

    assert abs(conforming - blind) < 0.03
    assert convinced > blind + 0.2


def flagged(setting: Setting) -> tuple[int, int]:
    """Return in how many runs a position flip without a cited reason, and a collapse, is seen."""
    runs: list[Judged] = list(judged_runs(setting, SEED, 300, (3,)))
    uncited = [
        one
        for one in runs
        if any(flip.kind == "position" and not flip.reasoned for flip in one.flips)
    ]
    return len(uncited), sum(one.has_collapsed for one in runs)


def test_giving_way_is_flagged_and_standing_firm_is_not():
    assert flagged(replace(FIVE, conformity=0.0)) == (0, 0)
    uncited, collapsed = flagged(replace(FIVE, conformity=0.75))
    assert uncited > 200
    assert collapsed > 30


def test_who_is_convinced_and_says_by_whom_is_not_flagged():
    uncited, _ = flagged(replace(FIVE, hears=REASONS, conformity=0.75))

    assert uncited == 0


def test_who_stays_is_not_flagged_for_answering_a_peer_that_moved():
    answers = 0
    for one in judged_runs(replace(FIVE, conformity=0.75), SEED, 300, (3,)):
        moved = {(flip.tour, flip.agent) for flip in one.flips if flip.kind == "position"}
        stayed = [flip for flip in one.flips if (flip.tour, flip.agent) not in moved]
        answers += len(stayed)
        assert not any(flip.is_suspect for flip in stayed)
    assert answers > 200


def test_an_advocate_who_speaks_early_breaks_a_visible_chain():
    visible = replace(THREE, blind=False)
    alone = share_of_wrong(visible)
    beside = Share()
    for one in judged_runs(replace(visible, agents=4, advocate=1), SEED, RUNS, (1,)):
        if one.verdict.agree == 3:
            beside.add(one.is_wrong)

    assert beside.value < alone.value - 0.03


@pytest.mark.parametrize(
    "setting",
    [
        THREE,
        replace(THREE, blind=False),
        replace(FIVE, agents=6, advocate=1),
        replace(ALONE, hears=BELIEF),
        replace(FIVE, agents=7, hears=REASONS),
    ],
)
def test_the_whole_machine_judges_as_the_rules_do(setting: Setting):
    found = through_the_machine(setting, SEED, 5)

    assert found.differing == 0
    assert sum(found.reasons.values()) == found.runs == 5


def test_the_same_seed_gives_the_same_page():
    def page() -> str:
        tables: list[Table] = [make(SEED, 20) for make in experiments.EXPERIMENTS]
        return judgement.page(tables, SEED, 20)

    assert page() == page()


def test_shortened_runs_print_all_tables_and_keep_nothing(capsys: pytest.CaptureFixture[str]):
    kept = judgement.KEPT.read_bytes()

    assert judgement.main(["--runs", "20"]) == 0

    assert "A blind first round" in capsys.readouterr().out
    assert judgement.KEPT.read_bytes() == kept


def test_what_is_kept_follows_from_the_usual_runs():
    """The page names its command; a table renamed or added since would not be on it."""
    kept = judgement.KEPT.read_text(encoding="utf-8")

    tables = [make(SEED, 10) for make in experiments.EXPERIMENTS]
    assert "make bench-judgement" in kept
    for table in tables:
        assert f"## {table.title}\n\n{table.notes}\n" in kept
