"""The words that answers are read by, and texts made equal to compare them.

The words are in `texts/answers-words.txt`, one table per label, stance or doubt. Patterns are made
from them when they are first needed.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from os.path import dirname, join

_EMPHASIS = re.compile(r"[*_`~]")


class _Folding(dict[int, str]):
    """Maps a character to its lower-case letter without an accent; always one for one."""

    def __missing__(self, code: int) -> str:
        letter = unicodedata.normalize("NFKD", chr(code)).lower()[:1] or chr(code)
        self[code] = letter
        return letter


_FOLDING = _Folding({ord(c): "'" for c in "’‘ʼ`´"} | {ord(c): "-" for c in "‐‑"})


def fold(text: str) -> str:
    """Return a text of the same length in lower case, without accents, with plain apostrophes."""
    return text.translate(_FOLDING)


def plain(text: str) -> str:
    """Return a text to compare: folded, without emphasis, with single blanks."""
    return " ".join(fold(_EMPHASIS.sub("", text)).split())


@cache
def table(name: str) -> tuple[str, ...]:
    """Return the words of one table, folded, the longest first."""
    return tuple(sorted(_tables()[name], key=len, reverse=True))


@cache
def _tables() -> dict[str, list[str]]:
    tables: dict[str, list[str]] = {}
    path = join(dirname(dirname(__file__)), "texts", "answers-words.txt")
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, colon, words = line.partition(":")
            if colon and not line.startswith("#"):
                tables.setdefault(name, []).extend(plain(w) for w in words.split(" | "))
    return tables


@cache
def choice(*names: str) -> str:
    """Return an expression for any word of some tables, as a whole word where words are spaced."""
    words = sorted((w for name in names for w in table(name)), key=len, reverse=True)
    spaced = [re.escape(w).replace(r"\ ", r"\s+") for w in words if w[-1] < "\u2e80"]
    spaced = [r"\w{1,12}" + w if w.startswith("n't") else w for w in spaced]
    closed = [re.escape(w) for w in words if w[-1] >= "\u2e80"]
    whole = rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)"
    return f"(?:{whole}|{'|'.join(closed)})" if closed else f"(?:{whole})"


@lru_cache(512)
def pattern(expression: str) -> re.Pattern[str]:
    """Return a compiled expression in which `{table}` is any word of that table."""
    made = re.sub(r"\{([a-zA-Z][\w ]*)\}", lambda m: choice(m[1]), expression)
    return re.compile(made)
