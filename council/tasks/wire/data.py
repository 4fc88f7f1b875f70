"""DATA: flags and pairs, calls, references; and texts made fit for it.

`;` separates items, `=` makes one a pair, `,` separates the items of a list, `:` a parameter from
its value. Double quotes protect `;` and `,` and stay part of the value (PR-542, A-58).
"""

from __future__ import annotations

import re

MOST_CHARS = 200
_REFERENCE = re.compile(r'#(CTX|REF|MSG):([^ ;,"=#]*)')


def parted(text: str, mark: str) -> list[str]:
    """Return the parts of a text between the marks that no quotes protect."""
    pieces = text.split('"')
    if len(pieces) % 2 == 0:  # a quote that is never closed protects nothing
        pieces[-2:] = ['"'.join(pieces[-2:])]
    parts = [""]
    for at, piece in enumerate(pieces):
        first, *others = [f'"{piece}"'] if at % 2 else piece.split(mark)
        parts[-1] += first
        parts += others
    return parts


def split(data: str) -> tuple[list[str], dict[str, str]]:
    """Return the bare words and the pairs of DATA; a text without any pair has no words either."""
    flags: list[str] = []
    pairs: dict[str, str] = {}
    for item in parted(data, ";") if "=" in data else []:
        name, equals, value = item.partition("=")
        if equals and name:
            pairs[name] = value
        elif item:
            flags.append(item)
    return (flags, pairs) if pairs else ([], {})


def references(data: str) -> list[tuple[str, str]]:
    """Return every reference in DATA as its kind and what it names (PR-545).

    `CTX` names a key of the context, `MSG` a message, `REF` a field of a task (`T1:S`) or a stored
    text.
    """
    return _REFERENCE.findall(data)


def fitted(text: str, room: int = MOST_CHARS) -> str:
    """Return a text as the value of a pair: one line of 1 to `room` characters without marks."""
    plain = "".join(" " if one in '|>;"' or not one.isprintable() else one for one in text)
    line = " ".join(plain.split())
    return (line if len(line) <= room else line[: room - 1].rstrip() + "…") or "-"
