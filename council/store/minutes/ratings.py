"""Ratings: the stars that people give, kept in the front matter of the minutes.

One line is written, everything else stays byte for byte as it is.

Source: DL-093.
"""

from __future__ import annotations

from council.core.errors import ConflictError, InvalidStateError
from council.store import files
from council.store.maintenance import alone
from council.store.minutes.minutes import read_minutes

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
    given = front.get(KEY)
    return [one for one in given if is_rating(one)] if isinstance(given, list) else []


def is_rating(value: object) -> bool:
    """Tell whether a value is a whole number of stars."""
    return isinstance(value, int) and not isinstance(value, bool) and value in STARS


def add_rating(workspace: Workspace, path: str, stars: int) -> list[int]:
    """Add one rating to minutes and return all they have now.

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
            ratings = ratings_in(front)
            if front.get(KEY) not in (None, ratings):
                raise InvalidStateError(
                    f"{path}: {KEY} is not a list of numbers from 1 to 5", "correct that line"
                )
            ratings.append(stars)
            changed = with_ratings(data, ratings)
            if changed is None or not front:
                raise InvalidStateError(f"{path} has no front matter", "name other minutes")
            if reading is not None and files.is_same(path, reading):
                files.replace(path, changed)
                return ratings
        raise ConflictError(f"{path} is being written all the time", "try again")


def with_ratings(data: bytes, ratings: list[int]) -> bytes | None:
    """Return a file with the line of its ratings set, None when its front matter is not closed."""
    lines = data.split(b"\n")
    if lines[0].removeprefix(b"\xef\xbb\xbf").rstrip() != _FENCE:
        return None
    end = next((at for at in range(1, len(lines)) if lines[at].rstrip() == _FENCE), 0)
    if not end:
        return None
    ending = b"\r" if lines[end].endswith(b"\r") else b""
    line = f"{KEY}: {ratings}".encode() + ending
    start = next((at for at in range(1, end) if lines[at].startswith(f"{KEY}:".encode())), end)
    after = min(start + 1, end)
    while after < end and lines[after][:1] in (b" ", b"-", b"\t"):  # a list of one item a line
        after += 1
    return b"\n".join([*lines[:start], line, *lines[after if start < end else end :]])
