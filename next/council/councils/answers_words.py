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


def fold(text: str) -> str:
    """Return a text of the same length in lower case, without accents, with plain apostrophes."""
    return text.translate(_FOLDING)


def plain(text: str) -> str:
    """Return a text to compare: folded, without emphasis, with single blanks."""
    return " ".join(fold(re.sub(r"[*_`~]", "", text)).split())


@cache
def table(name: str) -> tuple[str, ...]:
    """Return the words of a table as plain text."""
    return tuple(plain(word) for word in _lines()[name].split(" | "))


@lru_cache(512)
def pattern(expression: str) -> re.Pattern[str]:
    """Return a compiled expression; `{table}` and `{=name}` stand for what the file has."""
    while name := re.search(r"\{=(\w+)\}", expression):
        expression = expression.replace(name[0], _lines()[name[1]])
    return re.compile(re.sub(r"\{([a-zA-Z][\w ]*)\}", lambda name: _any_of(name[1]), expression))


@cache
def _any_of(name: str) -> str:
    words = sorted(table(name), key=len, reverse=True)
    whole = [re.escape(word).replace(r"\ ", r"\s+") for word in words if word[-1] < "\u2e80"]
    whole = [r"\w{1,12}" + word if word.startswith("n't") else word for word in whole]
    unspaced = "".join(f"|{word}" for word in words if word[-1] >= "\u2e80")
    return rf"(?:(?<!\w)(?:{'|'.join(whole)})(?!\w){unspaced})"


@cache
def _lines() -> dict[str, str]:
    made: dict[str, str] = {}
    with open(join(TEXTS, "answers-words.txt"), encoding="utf-8") as file:
        for name, words in re.findall(r"(?m)^([a-zA-Z][\w ]*)(?:: | = )(.*)$", file.read()):
            made[name] = f"{made[name]} | {words}" if name in made else words
    return made
