"""The tables of sentences that people read, in English and French: the files in `council/texts`.

Each file says itself what its rows are. One is read when something of it is first needed: the
commands that agents run all day need none.

Source: XC-012.
"""

from __future__ import annotations

import os
from functools import cache

import council
from council.core.errors import InvalidStateError
from council.core.reading import rows
from council.core.reporting.sentences import words_in

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(council.__file__)), "texts")


@cache
def texts(name: str) -> dict[str, tuple[str, ...]]:
    """Return a table by its name, such as `minutes`; what it gives is not to be changed.

    Raises:
        InvalidStateError: This installation does not have it.
    """
    path = os.path.join(_FOLDER, f"{name}.txt")
    try:
        with open(path, encoding="utf-8") as file:
            return rows(file.read())
    except FileNotFoundError:
        raise InvalidStateError(
            f"this installation of council lacks texts: {path} is missing", "install it again"
        ) from None


def words_of(lang: str, *names: str) -> dict[str, str]:
    """Return the words of a language as tables have them, the last first; else the English ones.

    Raises:
        InvalidStateError: This installation lacks one of the tables.
    """
    return words_in(lang, *map(texts, names))
