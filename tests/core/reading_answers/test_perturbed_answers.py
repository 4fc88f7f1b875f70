"""However a right answer is written, no part of it is read as something that was not said."""

from __future__ import annotations

import pytest

from tests.core.reading_answers.perturbed_answers import is_whole, make, misread, shown

QUICK = range(1_500)
ALL = range(20_000)


@pytest.mark.req("HR-003", "HR-004", "HR-005", "HR-006", "HR-007")
@pytest.mark.parametrize(
    "seeds", [QUICK, pytest.param(ALL, marks=pytest.mark.slow)], ids=["quick", "all"]
)
def test_no_perturbed_answer_is_misread(seeds: range):
    whole, wrong = 0, []
    for seed in seeds:
        answer = make(seed)
        faults = misread(answer)
        whole += not faults and is_whole(answer)
        if faults:
            wrong.append(f"seed {seed}: {shown(answer, faults)}")

    print(f"{len(seeds)} answers: {whole} read whole, {len(wrong)} misread")
    assert not wrong, "\n\n".join([f"{len(wrong)} answers are misread", *wrong[:5]])


def test_the_same_seed_gives_the_same_answer():
    first, second = make(7), make(7)

    assert (first.text, first.meant, first.changes) == (second.text, second.meant, second.changes)


def test_perturbations_change_the_meaning_of_some_answers_and_leave_that_of_others():
    answers = [make(seed) for seed in range(300)]

    unclear = [one for one in answers if None in one.meant.values()]
    assert 30 < len(unclear) < 270
    assert len({one.text for one in answers}) == len(answers)
