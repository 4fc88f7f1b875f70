"""What agents are called: handles, pseudonyms, texts in the eyes of one reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.conversations.answers import inject
from council.core.conversations.handles import (
    as_seen,
    handles,
    human_handle,
    named,
    pseudonyms,
    translate,
)
from council.core.reading_answers.turns import parse_turn
from tests.core.conversations.samples import NOW, convened
from tests.core.talks import FIVE, debate, form

MASKED = {"anonymous": True}


def test_each_reader_knows_all_under_pseudonyms_of_its_own_and_keeps_them():
    state = debate(*FIVE, rules=MASKED)
    known = {agent: pseudonyms(state, agent) for agent in FIVE}
    for mine in known.values():
        assert sorted(mine.values()) == [f"member-{number}" for number in range(1, 6)]
    assert len({tuple(one.items()) for one in known.values()}) > 1
    state.tour += 1
    assert pseudonyms(state, "elm") == known["elm"]


@pytest.mark.parametrize("taken", ["member", "member-2", "Remember"])
def test_a_pseudonym_is_never_the_name_of_somebody_who_takes_part(taken: str):
    state = debate("claude", "gpt", taken, rules=MASKED)
    shown = pseudonyms(state, "gpt")
    assert not set(shown.values()) & set(handles(debate("claude", "gpt", taken), "gpt"))
    for agent, pseudonym in shown.items():
        assert handles(state, "gpt")[pseudonym] == agent


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("@ann and Ann", "@X and X"),
        ("**ann**, ann's, (ann)", "**X**, X's, (X)"),
        ("Ann-9 and anti-ann", "X-9 and anti-X"),
        ("Annie, joann, ann_client, _ann", "Annie, joann, ann_client, _ann"),
        ("ANN\n> ann\n`ann`", "X\n> X\n`X`"),
        ("İann Straße ann", "İann Straße X"),
        ("@al is al, also Al", "@Y is al, also Al"),
        ("Ann Lee and ann lee", "Z and Z"),
    ],
)
def test_names_are_replaced_as_words_of_their_own(text: str, wanted: str):
    assert translate(text, {"ann": "X", "al": "Y", "Ann Lee": "Z"}) == wanted


def test_a_short_id_is_an_ordinary_word_unless_it_stands_behind_an_at():
    assert translate("@no, no", {"no": "member-1"}) == "@member-1, no"


def test_words_that_change_places_are_not_translated_twice():
    assert translate("@a-1 @a-2 a-1", {"a-1": "a-2", "a-2": "a-1"}) == "@a-2 @a-1 a-2"


@given(text=st.text(alphabet="@anA l-_İß\n", max_size=80))
def test_what_stands_for_nobody_stays_as_it_is(text: str):
    assert translate(text, {"zoe": "member-1"}) == text
    assert translate(text, {"ann": "ann", "al": "al"}).casefold() == text.casefold()


def test_a_text_of_a_megabyte_is_translated_at_once():
    words = {f"agent-{number}": f"member-{number}" for number in range(50)}
    assert translate("@agent-7 " * 100_000, words).count("@member-7") == 100_000


@pytest.mark.req("DL-100")
def test_pseudonyms_of_the_author_become_those_of_the_reader():
    state = debate(*FIVE, rules=MASKED)
    author, reader = pseudonyms(state, "aster"), pseudonyms(state, "elm")
    text = f"I agree with @{author['birch']}, not with {author['cedar']} nor @dahlia."
    seen = f"I agree with @{reader['birch']}, not with {reader['cedar']} nor @{reader['dahlia']}."
    assert as_seen(state, "elm", "aster", text) == seen


@pytest.mark.req("DL-100")
def test_names_come_back_in_the_place_of_the_pseudonyms_their_author_used():
    state = debate(*FIVE, rules=MASKED)
    known = pseudonyms(state, "aster")
    member = known["birch"].replace("m", "M")
    text = f"- @{known['birch']}: agree — {member} is right, member-77 is nobody"
    assert named(state, "aster", text) == (
        "- @birch: agree — Dame Birch is right, member-77 is nobody"
    )
    assert named(debate(*FIVE), "aster", text) == text


@pytest.mark.req("DL-100")
def test_stances_to_pseudonyms_count_for_who_bears_them():
    state = debate(*FIVE, rules=MASKED)
    known = pseudonyms(state, "cedar")
    turn = parse_turn(
        form({known["elm"]: "agree", known["birch"]: "disagree", known["cedar"]: "agree"}),
        handles(state, "cedar"),
        author="cedar",
    )
    assert {one.agent: one.stance for one in turn.responses} == {
        "elm": "agree",
        "birch": "disagree",
    }


def test_people_are_addressed_by_a_word_that_no_participant_bears():
    assert human_handle(debate()) == "human"
    state = inject(debate("human", "gpt"), "Mind it.", author="jo", now=NOW).state
    assert human_handle(state) == "person"
    assert handles(state, "gpt")["person"] == handles(state, "gpt")["jo"] == "human"
    assert handles(convened(), "henry")["human"] == "human"
