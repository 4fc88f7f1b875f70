"""`show --consensus` says whose position is judged, how all others stand to it, and the doubts."""

from __future__ import annotations

import pytest

from council.core.conversations.procedures import Rules
from council.operations.conversations.judging import standing
from council.operations.reporting.minutes import render_minutes
from tests.core.debates import Debate

FOUR = ("ann", "bob", "cid", "dan")
AGREE = {one: dict.fromkeys((x for x in FOUR if x != one), "agree") for one in FOUR}
LONE = {"dan": dict.fromkeys(FOUR[:3], "disagree")}
NO = "Do not ship on Friday."
YES = "Ship on Friday."


def voted(
    positions: dict[str, str] | str,
    matrix: dict[str, dict[str, str]],
    *agents: str,
    lang: str = "en",
) -> Debate:
    debate = Debate(*(agents or FOUR), rules=Rules(max_rounds=1), lang=lang)
    debate.round(positions, matrix)
    debate.vote(positions, matrix)
    return debate


def both(debate: Debate) -> list[str]:
    """Return what `show --consensus` and the minutes say."""
    return [standing(debate.state).to_text(), render_minutes(debate.state, now=debate.now)]


@pytest.mark.req("HR-018")
def test_the_position_of_one_who_refuses_all_is_never_the_decision() -> None:
    debate = voted({**dict.fromkeys(FOUR[:3], NO), "dan": YES}, LONE)
    found = standing(debate.state)
    assert (found.verdict and found.verdict.reference) == "ann"
    text, minutes = both(debate)
    assert "soft consensus on the position of Ann" in text
    decision = minutes.partition("## Decision")[2].partition("##")[0]
    assert NO in decision
    assert YES not in decision


@pytest.mark.req("HR-019", "HR-018")
def test_contested_agreement_is_said() -> None:
    matrix = {"ann": {"dan": "disagree"}, "dan": {"bob": "disagree", "cid": "disagree"}}
    for text in both(voted("Yes.", matrix)):
        assert "1 of them contested (Dan)" in text
        assert "contested agreement: Dan with Ann, which disagrees; it counts as partly" in text
    for text in both(voted("Yes.", matrix, lang="fr")):
        assert "sont d'accord avec Ann, qui ne l'est pas avec eux" in text


@pytest.mark.req("HR-019")
def test_a_majority_that_ends_elsewhere_than_the_decision_is_said() -> None:
    positions = {"ann": YES, "bob": NO, "cid": NO, "dan": NO}
    for text in both(voted(positions, {})):
        assert "the final positions of Bob, Cid, Dan read otherwise than the decision" in text
    for text in both(voted(positions, {}, lang="fr")):
        assert "une position finale qui se lit autrement que la décision" in text
    assert standing(voted(YES, {}).state).doubts == []


@pytest.mark.req("HR-019")
def test_equal_positions_without_consensus_are_said() -> None:
    matrix = {one: dict.fromkeys((x for x in FOUR if x != one), "disagree") for one in FOUR}
    for text in both(voted(YES, matrix)):
        assert "state the same final position, but their stances come to no consensus" in text


@pytest.mark.req("HR-019")
def test_a_reference_that_is_the_least_sure_is_said() -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=1))
    debate.turn("ann", "Yes.", 1)
    debate.turn("bob", "Yes.", 5, ann="agree")
    assert "Ann is less sure than all others" in standing(debate.state).to_text()


@pytest.mark.req("HR-019")
def test_a_blind_tally_that_differs_is_said() -> None:
    debate = Debate("ann", "bob", "cid", sealed=True, rules=Rules(max_rounds=2))
    for agent, position in (("ann", YES), ("bob", NO), ("cid", NO)):
        debate.turn(agent, position)
    debate.round(YES, {})
    debate.vote(YES, {})
    for text in both(debate):
        assert "before they saw each other, Bob, Cid held another position" in text


@pytest.mark.req("HR-020")
def test_consensus_with_an_agent_is_explained_and_nothing_is_judged_of_one_alone() -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=2))
    debate.turn("ann", "Yes.")
    found = standing(debate.state)
    assert "only Ann was heard, so nothing was judged" in found.to_text()
    assert found.to_record()["judged"] is False
    debate.turn("bob", "Yes.", ann="agree")
    found = standing(debate.state)
    assert "all others are counted by their stance to it" in found.to_text()
    assert found.to_record()["judged"] is True
