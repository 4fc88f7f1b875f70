"""The words and expressions that answers are read by; they are in `texts/answers-words.txt`."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from os.path import dirname, join

TEXTS = join(dirname(dirname(__file__)), "texts")


class _Folding(dict[int, str]):
    def __missing__(self, code: int) -> str:
        self[code] = unicodedata.normalize("NFKD", chr(code)).lower()[:1] or chr(code)
        return self[code]


_FOLDING = _Folding({ord(mark): "'" for mark in "’‘ʼ`´"})
_EMPHASIS = str.maketrans("", "", "*_`~")


def fold(text: str) -> str:
    """Return a text of the same length in lower case, without accents, with plain apostrophes."""
    return text.translate(_FOLDING)


def plain(text: str) -> str:
    """Return a text to compare: folded, without emphasis, with single blanks."""
    return " ".join(fold(text.translate(_EMPHASIS)).split())


@cache
def table(name: str) -> tuple[str, ...]:
    """Return the words of a table, the longest first."""
    return tuple(sorted(_lines()[name].split(" | "), key=len, reverse=True))


@lru_cache(2048)
def pattern(expression: str, text: str) -> re.Pattern[str]:
    """Return a compiled expression for a text.

    `{=name}` stands for an expression of the file, `{table}` for any word of a table. Of a table
    only the words that the text has are compiled: whole tables would cost more than the reading.
    """
    while name := re.search(r"\{=(\w[\w ]*)\}", expression):
        expression = expression.replace(name[0], _lines()[name[1]])
    return _compiled(re.sub(r"\{([a-zA-Z][\w ]*)\}", lambda one: _any_of(one[1], text), expression))


def match(name: str, text: str, *, at: int = 0) -> re.Match[str] | None:
    """Return how a text begins as a named expression of the file says, or None."""
    return pattern(f"{{={name}}}", text).match(text, at)


def search(name: str, text: str) -> re.Match[str] | None:
    """Return where a text has what a named expression of the file says, or None."""
    return pattern(f"{{={name}}}", text).search(text)


def without(name: str, text: str, instead: str = "") -> str:
    """Return a text without all that a named expression of the file says."""
    return pattern(f"{{={name}}}", text).sub(instead, text)


def value(part: str, words: str) -> tuple[str, str]:
    """Return the value that words of a part begin with ("" if it cannot be told), and the rest.

    Of a part the file has how its words begin (`PART begins`, with a group for each value; behind
    an arrow they begin anew), what behind them is harmless (`PART VALUE harmless`), and what casts
    doubt on the value (`PART VALUE doubt`, or `PART doubt` for all of its values).
    """
    begun = match(f"{part} begins", fold(words[:5000]))
    while begun and (arrow := match("arrow", fold(words[:5000]), at=begun.end())):
        words = words[arrow.end() :]
        begun = match(f"{part} begins", fold(words[:5000]))
    if not begun or len(words) > 5000:
        return "", words
    found = next(name for name, text in begun.groupdict().items() if text)
    rest, tail = words[begun.end() :], fold(words[begun.end() :])
    for name in (f"{part} harmless", f"{part} {found} harmless"):
        tail = without(name, tail, " ") if name in _lines() else tail
    doubts = [f"{part} {found} doubt", f"{part} doubt"]
    doubtful = any(name in _lines() and search(name, tail) for name in doubts)
    return "" if doubtful else found, rest


@lru_cache(2048)
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def _any_of(name: str, text: str) -> str:
    words = [word for word in table(name) if word in text]
    whole = [re.escape(word) for word in words if word[-1] < "\u2e80"]
    whole = [r"\w{1,12}" + word if word.startswith("n't") else word for word in whole]
    unspaced = "".join(f"|{word}" for word in words if word[-1] >= "\u2e80")
    return rf"(?:(?<!\w)(?:{'|'.join(whole)})(?!\w){unspaced})" if words else "(?!)"


@cache
def _lines() -> dict[str, str]:
    made: dict[str, str] = {}
    with open(join(TEXTS, "answers-words.txt"), encoding="utf-8") as file:
        for line in file.read().split("\n"):
            if row := re.match(r"([a-zA-Z][\w ]*?)(?:: | = )(.*)", line):
                made[row[1]] = f"{made[row[1]]} | {row[2]}" if row[1] in made else row[2]
    return made
