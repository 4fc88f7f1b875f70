"""Words of a fixed list: what `enum.StrEnum` does for us, without `enum`."""

from __future__ import annotations

import copy
import enum
import json
import pickle

import pytest

from council.core.kinds import StrEnum


class Colour(StrEnum):
    """Two of them."""

    RED = "red"
    DARK_BLUE = "dark blue"

    def is_dark(self) -> bool:
        return self.startswith("dark")


class Real(enum.StrEnum):
    RED = "red"
    DARK_BLUE = "dark blue"


def test_members_are_words_and_each_is_alone_of_its_kind():
    assert Colour("red") is Colour.RED
    assert Colour.RED == "red"
    assert isinstance(Colour.RED, Colour)
    assert isinstance(Colour.RED, str)
    assert Colour.DARK_BLUE.is_dark()
    assert {"red": 1}[Colour.RED] == 1


@pytest.mark.parametrize("name", ["RED", "DARK_BLUE"])
def test_members_show_themselves_as_those_of_enum_do(name: str):
    ours, theirs = getattr(Colour, name), getattr(Real, name)

    assert (ours.name, ours.value, str(ours)) == (theirs.name, theirs.value, str(theirs))
    assert f"{ours:>12}" == f"{theirs:>12}"
    assert repr(ours) == repr(theirs).replace("Real", "Colour")
    assert type(str(ours)) is str
    assert json.dumps([ours]) == json.dumps([theirs])


def test_they_are_listed_in_order_and_found():
    assert tuple(Colour) == (Colour.RED, Colour.DARK_BLUE)
    assert len(Colour) == 2
    assert "red" in Colour
    assert "green" not in Colour


@pytest.mark.parametrize("wrong", ["green", "RED", None, 1, ["red"]])
def test_another_word_is_refused_by_name(wrong: object):
    with pytest.raises(ValueError, match="not a valid Colour"):
        Colour(wrong)


def test_the_list_is_fixed():
    with pytest.raises(AttributeError):
        Colour.RED = "crimson"  # type: ignore[misc]


def test_copies_are_the_member_itself():
    assert copy.copy(Colour.RED) is Colour.RED
    assert copy.deepcopy([Colour.RED])[0] is Colour.RED
    assert pickle.loads(pickle.dumps(Colour.RED)) is Colour.RED
