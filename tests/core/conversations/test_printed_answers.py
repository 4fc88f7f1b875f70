"""What a program prints as its contribution: no thoughts, and a status in its last line."""

from __future__ import annotations

import pytest

from council.core.conversations.answers import sealed_digest
from council.core.conversations.conversation import EntryKind
from council.core.conversations.due import due_agents
from council.core.conversations.machine import advance
from council.core.errors import InvalidInputError
from tests.core.conversations.samples import MINUTE, NOW, answer, convened, standing, statuses_of

SOON = NOW + 2 * MINUTE


def printed(state, agent, text):
    return answer(state, agent, text, printed=True)


def challenge(agents=2):
    return standing("CHALLENGE", ["WAITING"] * agents)


@pytest.mark.req("HR-012")
def test_all_who_print_that_they_agree_end_the_talk_at_once():
    state = printed(challenge(), "a", "The count convinces me.\n\nSTATUS: AGREED").state
    state = advance(printed(state, "b", "I agree.\n**Status:** agreed").state, SOON).state
    assert (state.phase, state.has_consensus) == ("SYNTHESIZE", True)
    assert [one.text for one in state.entries] == ["The count convinces me.", "I agree."]


@pytest.mark.req("HR-012")
def test_agreement_in_a_blind_phase_counts_as_an_answer_and_that_is_said():
    step = printed(convened("a", "b"), "a", "Build it.\n\nSTATUS: AGREED")
    assert statuses_of(step.state) == ["RESPONDED", "WAITING"]
    assert step.events[0].data["stated"] == "AGREED"
    assert step.state.sealed["a"].text == "Build it."
    assert due_agents(step.state) == ("b",)


@pytest.mark.req("HR-012")
def test_printed_done_is_asked_about_once_and_then_counts():
    first = printed(challenge(), "a", "Good luck.\n\nSTATUS: DONE").state
    assert statuses_of(first) == ["RESPONDED", "WAITING"]
    assert due_agents(first) == ("a", "b")

    left = printed(first, "a", "STATUS: DONE").state
    assert statuses_of(left) == ["DONE", "WAITING"]
    assert [(one.kind, one.text) for one in left.entries] == [
        (EntryKind.CONTRIBUTION, "Good luck.")
    ]
    assert statuses_of(printed(first, "a", "Good luck.\n\nSTATUS: DONE").state)[0] == "DONE"

    stays = printed(first, "a", "STATUS: RESPONDED").state
    assert statuses_of(stays) == ["RESPONDED", "WAITING"]
    assert due_agents(stays) == ("b",)


@pytest.mark.req("HR-012")
def test_printed_done_in_a_blind_phase_is_asked_about_and_the_answer_stays_sealed():
    first = printed(convened("a", "b"), "a", "Good luck.\n\nSTATUS: DONE").state
    step = printed(first, "a", "STATUS: DONE")
    assert statuses_of(step.state) == ["DONE", "WAITING"]
    (sealed,) = step.seal
    assert (sealed.text, sealed.status) == ("Good luck.", "DONE")
    assert step.state.participants["a"].sealed == sealed_digest(sealed.nonce, "Good luck.")


@pytest.mark.req("HR-012")
def test_agreement_beside_a_blocker_is_asked_about_once_and_a_bare_agreement_withdraws_it():
    first = printed(challenge(), "a", "I agree.\n\nBLOCKING: the permit\n\nSTATUS: AGREED").state
    assert (statuses_of(first)[0], first.blocking_issues) == ("RESPONDED", ["the permit"])
    assert due_agents(first) == ("a", "b")

    agrees = printed(first, "a", "STATUS: AGREED").state
    assert (statuses_of(agrees)[0], agrees.blocking_issues) == ("AGREED", [])

    same = printed(first, "a", "I agree.\n\nBLOCKING: the permit\n\nSTATUS: AGREED").state
    assert (statuses_of(same)[0], same.blocking_issues) == ("RESPONDED", ["the permit"])
    assert due_agents(same) == ("b",)


@pytest.mark.req("HR-002")
def test_what_a_program_prints_is_recorded_without_its_thoughts_and_a_command_keeps_every_byte():
    said = "<think>\nBLOCKING: hmm\n</think>\nBuild it."
    assert printed(challenge(), "a", said).state.entries[0].text == "Build it."
    given = answer(challenge(), "a", said).state
    assert given.entries[0].text == said
    assert given.blocking_issues == []


@pytest.mark.req("HR-002")
def test_nothing_but_thoughts_is_no_answer():
    with pytest.raises(InvalidInputError, match="nothing but thoughts"):
        printed(challenge(), "a", "<think>\nWhat could I say?\n</think>")


def test_a_status_is_read_only_where_one_is_asked_for():
    state = printed(
        standing("SYNTHESIZE", ["RESPONDED"]), "a", "All is said.\n\nSTATUS: DONE"
    ).state
    assert state.entries[0].text == "All is said.\n\nSTATUS: DONE"
