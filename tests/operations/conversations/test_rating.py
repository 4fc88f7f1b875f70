"""Rating: stars from 1 to 5 for the synthesis of finished conversations."""

from __future__ import annotations

from pathlib import Path

import pytest

from council.core.errors import NotFoundError, UsageError
from council.operations.conversations.metrics import rate
from council.operations.conversations.steer import close
from council.operations.place import Place
from tests.core.debates import soft_debate


@pytest.fixture
def place(workspace: Path) -> Place:
    return Place(str(workspace), {}, None)


@pytest.mark.req("DL-093")
def test_the_newest_is_rated_and_all_its_ratings_are_told(place: Place) -> None:
    debate = soft_debate()
    place.conversations.create(debate.state, now=debate.now)
    path = close(place, place.conversations.read("active"))
    assert rate(place, "active", 5, "ann").to_record() == {
        "path": path,
        "stars": 5,
        "ratings": [5],
        "mean": 5.0,
    }
    rated = rate(place, "should-we-build-a-weather-bot", 4, "bob")
    assert (rated.ratings, rated.mean) == ([5, 4], 4.5)


@pytest.mark.req("OP-017")
@pytest.mark.parametrize("name", ["Tea", "TEA", "Should-We-Build-A-Weather-Bot"])
def test_minutes_are_known_by_a_name_in_capitals(place: Place, name: str) -> None:
    debate = soft_debate()
    place.conversations.create(debate.state.copy(name="tea"), now=debate.now)
    path = close(place, place.conversations.read("tea"))

    assert rate(place, name, 3, "ann").path == path


@pytest.mark.req("DL-093")
@pytest.mark.parametrize("stars", [0, 6, -1, True])
def test_only_one_to_five_stars_are_a_rating(place: Place, stars: int) -> None:
    with pytest.raises(UsageError):
        rate(place, "active", stars, "ann")


def test_what_is_not_there_cannot_be_rated(place: Place) -> None:
    with pytest.raises(NotFoundError):
        rate(place, "active", 3, "ann")
