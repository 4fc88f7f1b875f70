"""The JSON values that stand in an answer, and the one that is its result.

Source: HR-013, P8-027.
"""

from __future__ import annotations

import json
import re

from council.core.nesting import read_json
from council.core.reading_answers.cleaning import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST_BROKEN = 10_000
_MOST_LOOKED_AT = 100
_OPENING = re.compile(r"[\[{]")
_BEGUN = re.compile(r"\{[ \t\r\n]*\"|\[[ \t\r\n]*[\[{\"]|[\[{][ \t\r\n]*\Z")
_decode = json.JSONDecoder().raw_decode


def result_in(text: str, accepts: Callable[[Any], bool]) -> str | None:
    r"""Return the last JSON value in a text that is accepted, as it is written there.

    None where there is none, and where the last value is cut off: what stands
    before it may be a draft of it.

    >>> result_in('First {"n": 1}, then:\n```json\n{"n": 2}\n```', lambda one: True)
    '{"n": 2}'
    """
    found = reversed(values_in(text)[-_MOST_LOOKED_AT:])
    return next((source for source, value in found if accepts(value)), None)


def values_in(text: str) -> list[tuple[str, Any]]:
    """Return the outermost JSON values in a text, in order, each as written and as read.

    A value that is no object and no list counts where it is the whole text or
    a line of its own, and no other value is there. Nothing is returned for a
    text whose last value is cut off, or in which too many values are broken.
    """
    said = clean(text).strip()
    found: list[tuple[str, Any]] = []
    opening = _OPENING.search(said)
    broken = 0
    while opening:
        at = opening.start()
        try:
            value, end = _decode(said, at)
            found.append((said[at:end], value))
        except json.JSONDecodeError as error:
            if _is_cut(said, at, error):
                return []
            broken += 1
            if broken > _MOST_BROKEN:
                return []  # each costs time in proportion to what stands before it
            end = max(at + 1, error.pos)  # nothing inside of what is broken counts
        except (RecursionError, ValueError):
            return []
        opening = _OPENING.search(said, end)
    return found or _plain_values(said)


def _is_cut(said: str, at: int, error: json.JSONDecodeError) -> bool:
    """Return true if a value that began at `at` has no end."""
    is_open = error.pos >= len(said) or error.msg.startswith("Unterminated string")
    return is_open and _BEGUN.match(said, at) is not None


def _plain_values(said: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for line in (said, *said.split("\n")[-_MOST_LOOKED_AT:]):
        try:
            found.append((line.strip(), read_json(line)))
        except ValueError:
            continue
    return found
