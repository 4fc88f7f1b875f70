"""Repetition, stability, domination, diversity, tallies, weights."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.conversations.procedures import rotated
from council.core.deliberation.consensus import verdict, weighted
from council.core.deliberation.likeness import likeness, words_of
from council.core.deliberation.played import (
    Group,
    Played,
    diversity,
    dominating,
    is_settled,
    is_stable,
    repeats,
    tally,
)
from tests.core.deliberations import Matrix, all_say, of_stances, of_texts, played, turn
from tests.timing import assert_cheap

ARGUMENT = "Rust costs more at first, but it pays that back where a crash is dear. " * 3
OTHER = "Nobody here writes it, so hiring decides: take what the team already knows well. " * 3
THREE = ("a", "b", "c")


def argued(tour: int, reasoning: dict[str, str], **kind: bool) -> Played:
    """Return a round in which each agent gives the reasoning named for it."""
    return played(tour, {one: turn(reasoning=text) for one, text in reasoning.items()}, **kind)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use Rust.", "use  RUST"),
        ("**Yes**, use `Rust`!", "«Yes» use “Rust”"),
        ("the e-mail", "The e\N{HYPHEN}mail…"),
        ("don't", "don’t"),
        ("GPT-4", "gpt 4"),
        ("caf\u00e9", "cafe\u0301"),
        ("it is -5", "it is \N{MINUS SIGN}5"),
        ("结论：先等。", "结论 先等"),
    ],
)
def test_case_spaces_and_punctuation_are_no_words(one: str, other: str):
    assert words_of(one) == words_of(other) != []
    assert likeness(one, other) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "C++"),
        ("C#", "C++"),
        ("it is 5", "it is -5"),
        ("40", "40%"),
        ("a < b", "a > b"),
        ("1.5", "15"),
        ("\N{THUMBS UP SIGN}", "\N{THUMBS DOWN SIGN}"),
    ],
)
def test_signs_that_change_what_is_said_are_part_of_the_words(one: str, other: str):
    assert words_of(one) != words_of(other)
    assert len(tally({"a": one, "b": other})) == 2


@pytest.mark.req("DL-082")
def test_likeness_counts_shared_words_in_any_order():
    assert likeness("one two three four", "four three two one") == 1
    assert likeness("one two", "three four") == 0
    assert likeness("one two three", "one two four") == pytest.approx(2 / 3)
    assert likeness("yes yes yes", "yes") == 0.5
    assert likeness("", "") == likeness("...", "") == likeness("", "word") == 0


@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_is_a_share_and_the_same_both_ways(one: str, other: str):
    assert 0 <= likeness(one, other) == likeness(other, one) <= 1
    assert likeness(one, one) == (1 if words_of(one) else 0)


@given(st.lists(st.text(max_size=30), max_size=5))
def test_diversity_is_a_share_whatever_the_order(positions: list[str]):
    assert 0 <= diversity(positions) <= 1
    assert diversity(positions[::-1]) == pytest.approx(diversity(positions))


def test_long_texts_are_compared_quickly():
    text = " ".join(f"word{number} -5 «x»" for number in range(60_000))
    assert likeness(text, text) == 1
    assert_cheap(lambda: likeness(text, text), within_s=3)


@pytest.mark.req("DL-082")
def test_most_agents_arguing_as_before_is_a_repetition():
    before = argued(2, {"a": ARGUMENT, "b": OTHER, "c": ARGUMENT})
    same = {"a": ARGUMENT.upper(), "b": OTHER + "Again.", "c": ARGUMENT}
    assert repeats(before, argued(3, same))
    assert repeats(before, argued(3, {**same, "c": "Something new: the licence forbids it."}))
    assert not repeats(before, argued(3, {**same, "b": ARGUMENT, "c": OTHER}))


@pytest.mark.req("DL-082")
def test_exactly_half_are_not_most_and_one_alone_never_is():
    before = argued(3, dict.fromkeys("abcd", ARGUMENT))
    half = argued(4, {"a": ARGUMENT, "b": ARGUMENT, "c": OTHER, "d": OTHER})
    assert not repeats(before, half)
    assert not repeats(before, argued(4, {"a": ARGUMENT}))
    assert repeats(before, argued(4, {"a": ARGUMENT, "b": ARGUMENT, "c": OTHER}))
    assert not repeats(before, argued(4, {"e": ARGUMENT, "f": ARGUMENT}))


@pytest.mark.req("DL-082")
def test_neither_the_second_round_nor_a_vote_repeats():
    both = dict.fromkeys("ab", ARGUMENT)
    assert not repeats(argued(1, both), argued(2, both))
    assert not repeats(argued(3, both), argued(4, both, vote=True))
    assert repeats(argued(2, both), argued(3, both))


@pytest.mark.req("DL-082")
def test_nine_words_of_ten_are_alike_and_the_limit_can_be_set():
    ten = "one two three four five six seven eight nine ten"
    before = argued(2, dict.fromkeys("ab", ten))
    nine = argued(3, dict.fromkeys("ab", ten.replace("ten", "eleven")))
    eight = argued(3, dict.fromkeys("ab", ten.replace("nine ten", "eleven twelve")))
    assert repeats(before, nine)
    assert not repeats(before, eight)
    assert repeats(before, eight, alike=0.8)


def test_without_reasoning_the_positions_are_compared():
    texts = {"a": "Wait one season.", "b": "Start now."}
    assert repeats(of_texts(2, texts), of_texts(3, texts))
    assert not repeats(of_texts(2, texts), of_texts(3, {"a": "Start now.", "b": "Wait."}))
    silent = dict.fromkeys("ab", "")
    assert not repeats(of_texts(2, silent), of_texts(3, silent))


@pytest.mark.req("DL-099")
def test_the_same_stances_in_two_rounds_running_are_stable():
    matrix = {"a": {"b": "agree", "c": "partial"}, "b": {"a": "disagree"}}
    before, last = of_stances(2, THREE, matrix), of_stances(3, THREE, matrix)
    assert is_stable(before, last)
    for changed in (
        {**matrix, "b": {"a": "partial"}},
        {**matrix, "c": {"a": "agree"}},
        {"a": {"b": "agree"}, "b": {"a": "disagree"}},
        {"a": matrix["a"], "c": matrix["b"]},
    ):
        assert not is_stable(before, of_stances(3, THREE, changed))
        assert not is_stable(of_stances(2, THREE, changed), last)


@pytest.mark.req("DL-099")
def test_silence_acknowledgement_and_one_voice_are_no_stability():
    for matrix in (
        {},
        {"a": {"b": "agree"}},
        {"a": {"b": "acknowledged"}, "b": {"a": "acknowledged"}},
        {"a": {"b": ""}, "b": {"a": ""}},
        {"a": {"a": "agree"}, "b": {"b": "agree"}},
    ):
        assert not is_stable(of_stances(2, THREE, matrix), of_stances(3, THREE, matrix))


@pytest.mark.req("DL-099")
def test_a_blind_round_and_a_vote_are_never_stable():
    matrix = all_say("partial", THREE)
    plain = of_stances(2, THREE, matrix)
    assert is_stable(plain, of_stances(3, THREE, matrix))
    for kind in ("blind", "vote"):
        assert not is_stable(plain, of_stances(3, THREE, matrix, **{kind: True}))
        assert not is_stable(of_stances(1, THREE, matrix, **{kind: True}), plain)


def in_rotation(tour: int, matrix: Matrix, **kind: bool) -> Played:
    """Return a round in which each states its stance to those who spoke before it."""
    order = rotated(THREE, tour)
    return played(
        tour,
        {
            one: turn({other: matrix[one][other] for other in order[:place]})
            for place, one in enumerate(order)
        },
        **kind,
    )


@pytest.mark.req("DL-099")
def test_in_rotation_stances_are_settled_once_all_are_known_and_none_changes():
    matrix = all_say("partial", THREE)
    rounds = [in_rotation(tour, matrix) for tour in range(1, 6)]
    assert [is_settled(rounds[:count]) for count in range(6)] == [False] * 4 + [True] * 2
    assert not any(is_stable(*pair) for pair in pairwise(rounds))
    changed = in_rotation(4, {**matrix, "c": {"a": "agree", "b": "partial"}})
    assert not is_settled([*rounds[:3], changed])


@pytest.mark.req("DL-099")
def test_whatever_is_stable_is_settled_unless_somebody_is_missing():
    matrix = all_say("partial", THREE)
    before, last = of_stances(2, THREE, matrix), of_stances(3, THREE, matrix)
    assert is_settled([before, last])
    assert not is_settled([before, of_stances(3, "ab", matrix)])
    assert not is_settled([before, of_stances(3, THREE, {"a": matrix["a"]})])
    for kind in ("blind", "vote"):
        assert not is_settled([before, of_stances(3, THREE, matrix, **{kind: True})])
        talk = of_stances(1, THREE, matrix)
        assert not is_settled([talk, of_stances(2, THREE, matrix, **{kind: True}), last])


@pytest.mark.req("DL-083")
def test_who_says_more_than_one_and_a_half_shares_dominates():
    assert dominating({"a": 500, "b": 250, "c": 250}) == ()
    assert dominating({"a": 501, "b": 250, "c": 249}) == ("a",)
    assert dominating({"a": 10, "b": 200, "c": 10, "d": 190, "e": 5}) == ("b", "d")
    assert dominating({"a": 60, "b": 40}, factor=1.1) == ("a",)
    assert dominating({"a": 300, "b": 100}) == ()
    assert dominating({"a": 301, "b": 100}) == ("a",)
    assert dominating({"a": 7}) == dominating({}) == dominating({"a": 0, "b": 0}) == ()


@pytest.mark.req("DL-094")
def test_diversity_is_none_for_equal_positions_and_full_for_disjoint_ones():
    assert diversity(["Use Rust.", "use rust", "USE RUST!"]) == 0
    assert diversity(["Use Rust", "Take Go", "Wait"]) == 1
    assert diversity(["use rust now", "use rust later"]) == 0.5
    assert diversity(["x", "x", "y"]) == pytest.approx(2 / 3)
    assert diversity(["alone"]) == diversity([]) == diversity(["", "..."]) == 0


@pytest.mark.req("DL-097")
def test_a_tally_groups_equal_positions_the_biggest_first():
    said = {
        "a": " Wait. ",
        "b": "Start now!",
        "c": "start  NOW",
        "d": "wait",
        "e": "Never",
        "f": "",
    }
    assert tally(said) == [
        Group(position="Wait.", agents=("a", "d")),
        Group(position="Start now!", agents=("b", "c")),
        Group(position="Never", agents=("e",)),
    ]
    assert [group.agents for group in tally({**said, "f": "Start now"})] == [
        ("b", "c", "f"),
        ("a", "d"),
        ("e",),
    ]
    assert tally({}) == tally({"a": "", "b": " \n"}) == []


@pytest.mark.req("DL-102")
def test_weights_are_shown_beside_the_counts_and_change_none():
    found = verdict(THREE, {"b": {"a": "agree"}, "c": {"a": "disagree"}}, {})
    heavy = weighted(found, {"a": 1, "b": 1, "c": 5})
    assert (heavy.agree, heavy.partial, heavy.disagree, heavy.absent) == (2, 0, 5, 0)
    assert heavy.share == pytest.approx(2 / 7)
    assert (found.type, found.agree) == ("soft", 2)
    assert weighted(found, {}).share == 0


@pytest.mark.req("HR-021", "DL-082", "DL-094")
def test_a_denial_repeats_nothing_and_lies_as_far_apart_as_can_be():
    before = argued(2, dict.fromkeys(THREE, ARGUMENT + "We should ship it."))
    assert repeats(before, argued(3, dict.fromkeys(THREE, ARGUMENT + "We should ship it.")))
    assert not repeats(before, argued(3, dict.fromkeys(THREE, ARGUMENT + "We should not ship it.")))
    assert diversity(["We should ship it.", "We should not ship it."]) == 1
    assert diversity(["Il faut livrer.", "Il ne faut pas livrer."]) == 1
    assert diversity(["We should ship it.", "we should ship it"]) == 0
