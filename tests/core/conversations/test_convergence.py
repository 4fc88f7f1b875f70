"""Convergence: the response rate, the blockers, the consensus."""

from __future__ import annotations

import pytest

from council.core.conversations.conversation import all_agreed, measure
from council.core.conversations.due import due_agents
from tests.core.conversations.samples import answer, convened, standing


@pytest.mark.req("C0-018")
@pytest.mark.parametrize(
    ("statuses", "rate"),
    [
        (["RESPONDED", "WAITING", "RESPONDED", "WAITING"], 0.5),
        (["WAITING"] * 3, 0.0),
        (["RESPONDED", "AGREED", "DONE"], 1.0),
        (["RESPONDED", "WAITING", "WAITING"], 0.3333),
    ],
)
def test_the_response_rate_is_answered_over_total(statuses, rate):
    state = standing("CHALLENGE", statuses)
    measure(state)
    assert state.response_rate == rate


def test_a_conversation_of_nobody_has_a_rate_of_zero_and_no_consensus():
    state = convened(participants={})
    assert (state.response_rate, state.has_consensus) == (0.0, False)


@pytest.mark.req("C0-074")
@pytest.mark.parametrize(
    ("statuses", "agreed"),
    [
        (["AGREED", "AGREED"], True),
        (["AGREED", "DONE"], True),
        (["AGREED", "RESPONDED"], False),
        (["AGREED", "WAITING"], False),
        (["DONE", "DONE"], False),
    ],
)
def test_agreement_is_that_of_all_who_have_not_left(statuses, agreed):
    assert all_agreed(standing("CHALLENGE", statuses)) is agreed


@pytest.mark.req("C0-080")
def test_agreement_with_an_open_blocker_is_no_consensus():
    state = standing("CHALLENGE", ["AGREED", "AGREED"], blocking_issues=["no budget"])
    measure(state)
    assert not state.has_consensus
    state.blocking_issues = []
    measure(state)
    assert state.has_consensus


def resolve_after(*blockers: str):
    """Return a RESOLVE round before which a, b … raised these blockers ("" for none)."""
    state = standing("CHALLENGE", ["WAITING"] * len(blockers))
    for agent, issue in zip("abc", blockers, strict=False):
        state = answer(state, agent, f"BLOCKING: {issue}" if issue else "fine").state
    for one in state.participants.values():
        one.status = type(one.status).WAITING
    state.tour, state.phase = 3, "RESOLVE"
    return state


@pytest.mark.req("C0-080")
def test_who_agrees_withdraws_the_own_blockers_and_nobody_elses():
    state = resolve_after("no budget", "no time")
    state = answer(state, "a", status="agreed").state
    assert state.blocking_issues == ["no time"]
    assert not state.has_consensus
    state = answer(state, "b", status="agreed").state
    assert state.blocking_issues == []
    assert state.has_consensus


@pytest.mark.req("C0-080")
def test_an_issue_of_two_is_open_until_both_agree():
    state = answer(resolve_after("no budget", "no budget"), "a", status="agreed").state
    assert state.blocking_issues == ["no budget"]
    state = answer(state, "b", status="agreed").state
    assert state.blocking_issues == []
    assert state.has_consensus


@pytest.mark.req("HR-012")
def test_who_agrees_beside_a_blocker_has_not_agreed_and_is_asked_once():
    state = resolve_after("no budget", "")
    step = answer(state, "a", "BLOCKING: no time", status="agreed")
    assert step.state.blocking_issues == ["no budget", "no time"]
    assert str(step.state.participants["a"].status) == "RESPONDED"
    (event,) = step.events
    assert (event.data["stated"], event.data["askedAgain"]) == ("AGREED", True)
    assert "a" in due_agents(step.state)

    again = answer(step.state, "a", "BLOCKING: no time. Else I agree.", status="agreed").state
    assert str(again.participants["a"].status) == "RESPONDED"
    assert "a" not in due_agents(again)

    settled = answer(step.state, "a", "Agreed, after all.", status="agreed").state
    assert settled.blocking_issues == []
    assert str(settled.participants["a"].status) == "AGREED"


def test_a_blocker_that_a_person_wrote_down_is_not_withdrawn_by_an_agent():
    state = resolve_after("", "")
    state.blocking_issues = ["the lawyer has not answered"]
    state = answer(state, "a", status="agreed").state
    assert state.blocking_issues == ["the lawyer has not answered"]
