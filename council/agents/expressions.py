"""The words and expressions that answers are read by; they are in `texts/answers-words.txt`."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from council.kernel.words import template


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

    `{=name}` stands for an expression of the file (or none), `{table}` for any word of a table. Of
    a table only the words that the text has are compiled: whole ones cost more than the reading.
    """
    while name := re.search(r"\{=(\w[\w ]*)\}", expression):
        expression = expression.replace(name[0], _lines().get(name[1], "(?!)"))

    def any_of(named: re.Match[str]) -> str:
        words = "|".join(re.escape(word) for word in table(named[1]) if word in text)
        return rf"(?<![^\W⺀-\U0010ffff])(?:{words})(?![^\W⺀-\U0010ffff])" if words else "(?!)"

    return re.compile(re.sub(r"\{([a-zA-Z][\w ]*)\}", any_of, expression))


def search(name: str, text: str) -> re.Match[str] | None:
    """Return where a text has what a named expression of the file says, or None."""
    return pattern(f"{{={name}}}", text).search(text)


def without(name: str, text: str, instead: str = "") -> str:
    """Return a text without all that a named expression of the file says."""
    return pattern(f"{{={name}}}", text).sub(instead, text)


def unechoed(text: str, prompt: str) -> str:
    """Return a text without the prompt, in whatever white space its program repeats that."""
    echo = "".join(prompt.split())
    at = "".join(text.split()).find(echo) if len(echo) >= 20 else -1
    places = [n for n, sign in enumerate(text) if not sign.isspace()] if at >= 0 else []
    return text[: places[at]] + text[places[at + len(echo) - 1] + 1 :] if places else text


def unwrapped(text: str, *, is_form: bool = False) -> str:
    """Return an answer without thoughts, channels, calls of tools and tokens of chat templates.

    In a form `<reasoning>` is a part, and what a thought ends is nothing else.
    """
    begin, end = search("thought", text), search("thought ends", text)
    if end and (begin is None or end.start() < begin.start()):  # it began with the text
        text = text[end.end() :] if is_form or text[end.end() :].strip() else text
    for name in ("channels", "thought", "thought ends", "other turn", "call", "token"):
        text = without(name, text)
    return (text if is_form else without("reasoning tag", text)).strip()


def value(part: str, words: str) -> tuple[str, str]:
    """Return the value that words of a part begin with ("" if it cannot be told), and the rest.

    The file has how words of a part begin (`PART begins`, a group for each value), what behind them
    is harmless, and what casts doubt on a value (`PART VALUE doubt`) or on all (`PART doubt`).
    """
    begun = search(f"{part} begins", fold(words)) if len(words) < 5000 else None
    if not begun:
        return "", words
    found = next(name for name, text in begun.groupdict().items() if text)
    rest = words[begun.end() :]
    tail = without(f"{part} {found} harmless", without(f"{part} harmless", fold(rest), " "), " ")
    doubtful = search(f"{part} {found} doubt", tail) or search(f"{part} doubt", tail)
    return "" if doubtful else found, rest


@cache
def _lines() -> dict[str, str]:
    made: dict[str, str] = {}
    for line in template("texts/answers-words.txt").split("\n"):
        if row := re.match(r"([a-zA-Z][\w ]*?)(?:: | = )(.*)", line):
            made[row[1]] = f"{made[row[1]]} | {row[2]}" if row[1] in made else row[2]
    return made
