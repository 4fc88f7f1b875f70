"""Rating minutes with stars: `council rate`.

Source: DL-093.
"""

from __future__ import annotations

from council.core.errors import UsageError
from council.core.record import Record
from council.operations.place import Place
from council.store.conversations.minutes import find_minutes
from council.store.conversations.ratings import STARS, add_rating, is_rating

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Rated(Record):
    """The minutes that were rated and all ratings they have now."""

    path: str
    stars: int
    ratings: list[int]

    @property
    def mean(self) -> float:
        """Return the mean of all ratings."""
        return sum(self.ratings) / len(self.ratings)

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `rate --json`."""
        return {**self.as_json("path stars ratings"), "mean": round(self.mean, 4)}


def rate(place: Place, name: str, stars: int, rater: str) -> Rated:
    """Add the rating of a person, 1 to 5, to minutes: by name, slug, path or id.

    `active` are the newest. An earlier rating of the same person gives way.

    Raises:
        UsageError: Not a whole number from 1 to 5.
        NotFoundError: There are no such minutes.
        RefusedError: A path leads out of the folder of the minutes.
        InvalidStateError: The file has no front matter that could hold it.
    """
    if not is_rating(stars):
        raise UsageError(
            f"{stars} is not a rating", f"give whole stars from {STARS[0]} to {STARS[-1]}"
        )
    place.refuse_newer_settings()
    path = find_minutes(place.paths, name)
    ratings = add_rating(place.paths, path, stars, rater)
    return Rated(path=path, stars=stars, ratings=ratings)
