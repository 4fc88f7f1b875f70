"""Ratings: the stars that people give, kept in the front matter of the minutes.

One line is written, everything else stays byte for byte as it is. A person has
one rating: a later one takes its place. Ratings of no named person are a list.

Source: DL-093.
"""

from __future__ import annotations

import json

from council.core.errors import ConflictError, InvalidStateError
from council.store import files
from council.store.conversations.minutes import read_minutes
from council.store.maintenance import alone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.store.paths import Workspace

KEY = "ratings"
STARS = range(1, 6)
_FENCE = b"---"
_TRIES = 8


def ratings_in(front: dict[str, Any]) -> list[int]:
    """Return the ratings that front matter holds; what is none is left out."""
    return [*_by_rater(front).values()]


def _by_rater(front: dict[str, Any]) -> dict[str, int]:
    """Return the ratings by who gave them; those of an unnamed list by their number."""
    given = front.get(KEY)
    if isinstance(given, list):
        given = {str(number): one for number, one in enumerate(given, start=1)}
    named = given if isinstance(given, dict) else {}
    return {str(who): one for who, one in named.items() if is_rating(one)}


def is_rating(value: object) -> bool:
    """Return true if a value is a whole number of stars."""
    return isinstance(value, int) and not isinstance(value, bool) and value in STARS


def add_rating(workspace: Workspace, path: str, stars: int, rater: str = "") -> list[int]:
    """Add one rating to minutes, in the place of an earlier one of the same person.

    Args:
        workspace: Where the minutes lie.
        path: The minutes.
        stars: From 1 to 5.
        rater: Who rates; "" for a rating of no named person, which is added to the others.

    Returns:
        All ratings that they have now.

    Raises:
        InvalidStateError: They have no front matter, or ratings we would spoil.
        ConflictError: Somebody keeps saving over them.
        CouncilError: The lock is not free, or the disk refuses.
    """
    with alone(workspace):
        for _ in range(_TRIES):
            reading = files.read_stable(path)
            data = b"" if reading is None else reading.data
            try:
                front = read_minutes(data.decode("utf-8"))
            except UnicodeDecodeError:
                raise InvalidStateError(f"{path} is not UTF-8", "save it as UTF-8") from None
            given, ratings = front.get(KEY), _by_rater(front)
            if given is not None and (isinstance(given, str) or len(given) != len(ratings)):
                raise InvalidStateError(
                    f"{path}: {KEY} is not a list of numbers from 1 to 5", "correct that line"
                )
            ratings[rater or str(len(ratings) + 1)] = stars
            is_list = not rater and not isinstance(given, dict)
            changed = with_ratings(data, [*ratings.values()] if is_list else ratings)
            if changed is None or not front:
                raise InvalidStateError(f"{path} has no front matter", "name other minutes")
            if reading is not None and files.is_same(path, reading):
                files.replace(path, changed)
                return [*ratings.values()]
        raise ConflictError(f"{path} is being written all the time", "try again")


def with_ratings(data: bytes, ratings: list[int] | dict[str, int]) -> bytes | None:
    """Return a file with the line of its ratings set, None when its front matter is not closed."""
    lines = data.split(b"\n")
    if lines[0].removeprefix(b"\xef\xbb\xbf").rstrip() != _FENCE:
        return None
    end = next((at for at in range(1, len(lines)) if lines[at].rstrip() == _FENCE), 0)
    if not end:
        return None
    ending = b"\r" if lines[end].endswith(b"\r") else b""
    line = f"{KEY}: {json.dumps(ratings, ensure_ascii=False)}".encode() + ending
    start = next((at for at in range(1, end) if lines[at].startswith(f"{KEY}:".encode())), end)
    after = min(start + 1, end)
    while after < end and lines[after][:1] in (b" ", b"-", b"\t"):  # a list of one item a line
        after += 1
    return b"\n".join([*lines[:start], line, *lines[after if start < end else end :]])
