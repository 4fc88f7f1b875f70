"""The words of a language out of tables, and how the fields of a sentence are filled in.

Source: XC-012.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping

from council.core.reading import LANGUAGES

# Signs, of which the blanks count: (English, French).
_SIGNS: dict[str, tuple[str, ...]] = {
    "colon": (": ", " : "),
    "semicolon": ("; ", " ; "),
    "open-quote": ("“", "« "),
    "close-quote": ("”", " »"),
}


def place_of(lang: str) -> int:
    """Return where the words of a language stand in a row; those of English where it has none."""
    return LANGUAGES.index(lang) if lang in LANGUAGES else 0


def words_in(lang: str, *tables: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the signs of a language, and its words as tables have them."""
    at = place_of(lang)
    return {key: said[at] for table in (_SIGNS, *tables) for key, said in table.items()}


_ELIDED = re.compile(r"\b(de|[Qq]ue) \{(\w+)\}")
_VOWELS = frozenset("aeiouàâäéèêëîïôöùûü")


def elided(template: str, values: Mapping[str, object]) -> str:
    """Return a French sentence with the elisions that its fields ask for.

    >>> elided("la position de {who}", {"who": "Ada"}), elided("de {who}", {"who": "Bob"})
    ("la position d'{who}", 'de {who}')
    """
    if "e {" not in template:
        return template

    def joined(found: re.Match[str]) -> str:
        begins = str(values.get(found[2], ""))[:1].lower()
        return f"{found[1][:-1]}'{{{found[2]}}}" if begins in _VOWELS else found[0]

    return _ELIDED.sub(joined, template)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return a sentence with its fields put in.

    What stands in square brackets is left out where one of its fields is missing or empty.

    >>> filled("ended[: {why}]", {"why": ""}), filled("ended[: {why}]", {"why": "tired"})
    ('ended', 'ended: tired')
    """
    parts = []
    template = elided(template, values)
    for number, piece in enumerate(template.replace("]", "[").split("[")):
        fields = [name for _, name, _, _ in string.Formatter().parse(piece) if name]
        optional = number % 2 == 1
        if optional and not all(values.get(name) for name in fields):
            continue
        parts.append(piece.format_map({name: values.get(name) or "?" for name in fields}))
    return "".join(parts)
