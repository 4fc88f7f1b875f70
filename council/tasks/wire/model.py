"""What a message says: as one version writes it (`Parsed`), and in the words of V5 (`Message`).

In DATA `;` separates items, `=` makes one a pair, `,` separates the items of a list. Double quotes
protect `;` and `,` and stay part of the value (PR-542, A-58).
"""

from __future__ import annotations

import re

from council.kernel.errors import Invalid
from council.kernel.record import Any, Record

MOST_CHARS = 200  # of DATA
# A key of the context, a field of a task (`T1:S`) or a stored text, a message.
_REFERENCE = re.compile(r'#(CTX|REF|MSG):([^ ;,"=#]*)')
_STANDING = {"V3": "deprecated", "V4": "stable", "V5": "recommended", "V5D": "draft"}


class Fault(Record, settled=True):
    """One check that fails, or a warning; `segment` counts from 1, None is the whole message."""

    code: str
    rule: str
    segment: int | None = None


class Parsed(Record):
    """A message as one version (`V5D` is the draft) reads it."""

    version: str
    text: str
    segments: list[str] = []  # as written; [] where they could not be separated
    fields: dict[str, Any] = {}  # by name, an unused one is None; {} for a message with faults
    errors: list[Fault] = []  # in the order of the checklist; the first is the code for the wire
    warnings: list[str] = []  # each once; a message with faults has none

    def sound(self) -> Parsed:
        """Return the reading itself; raise Invalid (`bad-message`) where it has faults."""
        if not self.errors:
            return self
        first = self.errors[0]
        where = f" in segment {first.segment}" if first.segment else ""
        what = f"no valid {self.version} message: {first.code} ({first.rule}){where}"
        faults = [fault.to_json() for fault in self.errors]
        raise Invalid("bad-message", what, f"council explain {first.code}", errors=faults)

    def shown(self) -> dict[str, Any]:
        """Return what `msg parse --json` prints."""
        standing = _STANDING.get(self.version, "legacy")
        head = {"version": self.version, "standing": standing, "valid": not self.errors}
        errors = [fault.to_json() for fault in self.errors]
        return {**head, "fields": self.fields, "errors": errors, "warnings": self.warnings}


class Message(Record):
    """What one message says, in the words and codes of V5; unused values are "".

    `number` is 7 for `M7`. `sender` and `receiver` are protocol ids, `User`, or as target a group,
    `*`, `W*`. `budget` is the number of tokens left, None for no limit.
    """

    number: int = 0
    sender: str
    receiver: str
    kind: str
    task: str = ""
    priority: str = "P1"
    state: str = ""
    code: str = ""
    depth: int = 0
    context: str = ""
    budget: int | None = None
    data: str = "ok"

    @property
    def pairs(self) -> dict[str, str]:
        """Return the `name=value` pairs of DATA; the last of two with one name counts."""
        return split(self.data)[1]


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
    """Return every reference in DATA as its kind and what it names (PR-545)."""
    return _REFERENCE.findall(data)


def fitted(text: str, room: int = MOST_CHARS) -> str:
    """Return a text as the value of a pair: one line of 1 to `room` characters without marks."""
    plain = "".join(" " if one in '|>;"' or not one.isprintable() else one for one in text)
    line = " ".join(plain.split())
    return (line if len(line) <= room else line[: room - 1].rstrip() + "…") or "-"
