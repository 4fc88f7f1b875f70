"""A sentence and its denial are never alike, in four languages; other changes of wording are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.deliberation.likeness import are_alike, denies, distance, likeness, negates
from tests.timing import assert_cheap

DENIED = [
    ("We should ship.", "We should not ship."),
    ("We should ship on Friday.", "We must not ship Friday."),
    ("Ship on Friday.", "**Do not** ship on Friday."),
    ("Ship on Friday.", "Don’t ship on Friday!"),
    ("We can ship the build.", "We can't ship the build."),
    ("We will ship the build.", "We won't ship the build."),
    ("I think we should ship on Friday.", "I no longer think we should ship on Friday."),
    ("The plan works.", "The plan does not work."),
    ("Yes to a release this week.", "No to a release this week."),
    ("Release it with a flag.", "Release it without a flag."),
    ("I am for the new schema.", "I am against the new schema."),
    ("The tests are green, so ship it today.", "The tests are not green, so ship it today."),
    ("We should\nship it on Friday.", "We should not ship\nit on Friday."),
    ("Il faut livrer vendredi.", "Il ne faut pas livrer vendredi."),
    ("On devrait livrer.", "On n'est pas d'accord ; on ne devrait pas livrer."),
    ("C'est une bonne idée.", "Ce n’est pas une bonne idée."),
    ("Livrer avec un drapeau.", "Livrer sans drapeau."),
    ("Wir sollten am Freitag liefern.", "Wir sollten am Freitag nicht liefern."),
    ("Wir brauchen einen Aufschub.", "Wir brauchen keinen Aufschub."),
    ("Debemos lanzar el viernes.", "No debemos lanzar el viernes."),
    ("我们应该发布。", "我们不应该发布。"),
]
NOT_DENIED = [
    ("We should ship on Friday.", "We should ship on Monday, not on Friday afternoon."),
    ("The tests are green.", "The tests are not yet stable."),
    ("Use the PostgreSQL database.", "Do not use the MySQL database."),
    ("It is cheap and fast.", "It is not only cheap but fast."),
    ("Do not ship on Friday.", "We should not ship on Friday."),
    ("Ship it. Do not wait.", "Do not wait. Ship it."),
    ("Ce n'est pas seulement rapide.", "C'est rapide."),
    ("Whether or not we ship, we test.", "Whether we ship, we test."),
    ("", "Not."),
]


@pytest.mark.req("HR-021")
@pytest.mark.parametrize(("said", "denial"), DENIED)
def test_a_sentence_and_its_denial_are_never_alike(said: str, denial: str):
    assert denies(said, denial)
    assert denies(denial, said)
    assert not are_alike(said, denial, 0)
    assert distance(said, denial) == 1


@pytest.mark.req("HR-021")
@pytest.mark.parametrize(("one", "other"), NOT_DENIED)
def test_a_negation_of_something_else_denies_nothing(one: str, other: str):
    assert not denies(one, other)
    assert not denies(other, one)


@pytest.mark.req("HR-021")
def test_one_denied_sentence_among_many_is_enough():
    rest = " ".join(f"Reason {number} counts as much as all others do." for number in range(40))
    one, other = f"{rest} We should ship it.", f"We should not ship it. {rest}"
    assert likeness(one, other) > 0.98
    assert not are_alike(one, other, 0.9)
    assert are_alike(one, f"We should ship it. {rest}", 0.9)


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_deny_each_other_both_ways_or_neither(one: str, other: str):
    assert not denies(one, one)
    assert denies(one, other) == denies(other, one)
    assert 0 <= distance(one, other) <= 1


def test_negations_are_found_as_words():
    assert [negates(text) for text in ("not it", "nothing", "noted", "knot", "we can't do it")] == [
        True,
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("piece", ["not a, ", "n't ", "ne ", "\n ", "a" * 50 + ". not b. "])
def test_long_texts_are_compared_in_a_moment(piece: str):
    one = piece * (2**18 // len(piece))
    assert_cheap(lambda: denies(one, one + " not this"), within_s=8)
