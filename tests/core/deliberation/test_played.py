"""What is read from a history: who stated which stance when, who was there, how sure."""

from __future__ import annotations

import pytest

from council.core.deliberation.played import (
    confidences,
    first_look,
    first_stances,
    present_in,
    stances_until,
    stated,
)
from council.core.reading_answers.turns import Response, Turn
from tests.core.deliberations import of_stances, of_texts, played, turn


@pytest.mark.req("DL-044")
def test_the_latest_stated_stance_counts_and_silence_withdraws_nothing():
    history = [
        of_stances(1, "ab", {"a": {"b": "disagree", "c": "agree"}, "b": {"a": "agree"}}),
        of_stances(2, "ab", {"a": {"b": "partial"}}),
    ]
    assert stances_until(history) == {"a": {"b": "partial", "c": "agree"}, "b": {"a": "agree"}}
    assert first_stances(history) == {"a": {"b": "disagree", "c": "agree"}, "b": {"a": "agree"}}


def test_the_first_look_is_the_first_round_in_which_an_agent_states_any_stance():
    history = [
        of_stances(1, "abc", {"b": {"a": "partial"}}),
        of_stances(2, "abc", {"a": {"b": "agree"}, "b": {"a": "agree", "c": "agree"}}),
        of_stances(3, "abc", {"a": {"c": "disagree"}}),
    ]
    assert first_look(history) == {"a": {"b": "agree"}, "b": {"a": "partial"}}


def test_what_is_no_stance_or_towards_oneself_is_not_stated():
    odd = {"a": {"a": "agree", "b": "acknowledged", "c": "", "d": "AGREE", "e": "agree"}}
    assert stated(of_stances(1, "a", odd)) == {"a": {"e": "agree"}}


def test_a_stance_in_a_blind_round_judges_what_nobody_has_read_and_is_not_stated():
    blind = of_stances(1, "ab", {"a": {"b": "agree"}, "b": {"a": "agree"}}, blind=True)
    assert stated(blind) == {}
    assert stances_until([blind, of_stances(2, "ab", {"a": {"b": "partial"}})]) == {
        "a": {"b": "partial"}
    }


def test_of_two_lines_about_one_agent_the_turn_says_which_counts():
    lines = [Response(agent="b", stance="agree"), Response(agent="b", stance="partial")]
    one = Turn(position="Yes.", responses=lines, confidence=3)
    assert stated(played(1, {"a": one})) == {"a": {"b": one.stance_to("b")}}


def test_the_latest_stated_confidence_counts():
    history = [
        played(1, {"a": turn(confidence=2), "b": turn(confidence=5)}),
        played(2, {"a": turn(confidence=4), "b": turn(confidence=0), "c": turn(confidence=0)}),
    ]
    assert confidences(history) == {"a": 4, "b": 5}


def test_who_gave_nothing_readable_was_not_there():
    texts = of_texts(1, {"a": "Yes."})
    texts.turns["b"] = Turn()
    assert present_in(texts) == ["a"]
