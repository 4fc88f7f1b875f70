"""DATA: flags and pairs, calls, references; and texts made fit for it.

`;` separates items, `=` makes one a pair, `,` separates the items of a list, `:` a parameter from
its value. Double quotes protect `;` and `,` and stay part of the value (PR-542, A-58).
"""

from __future__ import annotations

import re

from council.kernel.record import Record

MOST_CHARS = 200
_REFERENCE = re.compile(r'#(CTX|REF|MSG):([^ ;,"=#]*)')


class Reference(Record, settled=True):
    """A pointer in DATA, as written in `text`.

    `kind` is `CTX` (`name` is a key of the context), `MSG` (a message), `REF` (a stored text) or
    `FIELD` (field `name` of `task`).
    """

    kind: str
    name: str
    text: str
    task: str = ""


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


def params(value: str) -> dict[str, str]:
    """Return the parameters in the value of `params`: `name:value`, separated by commas."""
    items = (item.partition(":") for item in parted(value, ","))
    return {name: argument for name, _, argument in items if name}


def call(data: str) -> tuple[str, dict[str, str]]:
    """Return the capability that DATA calls ("" for none) and its arguments.

    `call=c;params=name:value` and `call=c;name=value` mean the same (PR-543).
    """
    _, pairs = split(data)
    arguments = {name: value for name, value in pairs.items() if name not in ("call", "params")}
    return pairs.get("call", ""), {**params(pairs.get("params", "")), **arguments}


def references(data: str) -> list[Reference]:
    """Return every reference in DATA, in order (PR-545)."""
    pointers = []
    for match in _REFERENCE.finditer(data):
        kind, name = match.groups()
        task, _, field = name.partition(":")
        if kind == "REF" and re.fullmatch(r"T\d{1,3}:.*", name, re.ASCII):
            pointers.append(Reference(kind="FIELD", task=task, name=field, text=match[0]))
        else:
            pointers.append(Reference(kind=kind, name=name, text=match[0]))
    return pointers


def fitted(text: str, room: int = MOST_CHARS) -> str:
    """Return a text as the value of a pair: one line of 1 to `room` characters without marks."""
    plain = "".join(" " if one in '|>;"' or not one.isprintable() else one for one in text)
    line = " ".join(plain.split())
    return (line if len(line) <= room else line[: room - 1].rstrip() + "…") or "-"
