"""The board as a page: what is open, and who owes an answer since when and until when.

It holds no time but those that stand in what it tells of, so the page stays
the same, byte for byte, for as long as they do.

Source: P8-006, XC-007, XC-012.
"""

from __future__ import annotations

from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

CONVERSATION, ROOM, CONTEXT = "conversation", "room", "context"
BROKEN = "broken"
ANONYMOUS = "*"
_TITLE_CHARS = 80

_WORDS: dict[str, dict[str, str]] = {
    "en": {
        "title": "Board",
        "about": "What is open and who owes an answer, rendered by `council heartbeat`: what is"
        " written in here is overwritten. The present: `council status`.",
        "nothing": "Nothing is open.",
        CONVERSATION: "Conversations",
        ROOM: "Rooms",
        CONTEXT: "Tasks",
        "head": "| what | stands at | owes an answer | since | until |",
        "round": "{phase}, round {tour}",
        "paused": "{phase}, round {tour}, paused",
        "floor": "cycle {cycle}",
        "asleep": "asleep",
        "open": "open",
        BROKEN: "cannot be read; see: council doctor",
        ANONYMOUS: "one who stays anonymous",
    },
    "fr": {
        "title": "Tableau",
        "about": "Ce qui est ouvert et qui doit une réponse, établi par `council heartbeat` :"
        " ce qu'on y écrit est écrasé. Le présent : `council status`.",
        "nothing": "Rien n'est ouvert.",
        CONVERSATION: "Conversations",
        ROOM: "Salons",
        CONTEXT: "Tâches",
        "head": "| quoi | où en est-on | doit une réponse | depuis | jusqu'à |",
        "round": "{phase}, tour {tour}",
        "paused": "{phase}, tour {tour}, en pause",
        "floor": "cycle {cycle}",
        "asleep": "en sommeil",
        "open": "ouvert",
        BROKEN: "illisible ; voir : council doctor",
        ANONYMOUS: "quelqu'un qui reste anonyme",
    },
}


class Line(Record):
    """One thing that is open.

    Args:
        kind: What it is.
        name: What people call it.
        title: What it is about, "" for nothing that is known.
        stands: The word for how it stands, and what that word needs.
        owed: Who owes an answer, since when and until when, each "" where there is none.
    """

    kind: str
    name: str
    title: str = ""
    stands: tuple[str, dict[str, Any]]
    owed: list[tuple[str, str, str]] = []  # noqa: RUF012 - Record copies it

    def to_note(self) -> list[Any]:
        """Return the line as JSON."""
        return [self.kind, self.name, self.title, list(self.stands), self.owed]

    @classmethod
    def from_note(cls, noted: list[Any]) -> Line:
        """Return the line that `to_note` made JSON.

        Raises:
            ValueError, TypeError: It did not.
        """
        kind, name, title, (word, parts), owed = noted
        return cls(
            kind=kind,
            name=name,
            title=title,
            stands=(word, dict(parts)),
            owed=[(who, since, until) for who, since, until in owed],
        )


def page(lines: Iterable[Line], lang: str) -> str:
    """Return the page of everything that is open, in a language."""
    words = _WORDS[lang]
    parts = [f"# {words['title']}\n\n{words['about']}\n"]
    by_kind: dict[str, list[Line]] = {CONVERSATION: [], ROOM: [], CONTEXT: []}
    for line in lines:
        by_kind[line.kind].append(line)
    for kind, found in by_kind.items():
        if found:
            found.sort(key=lambda one: one.name)
            rows = [row for line in found for row in _rows(line, words)]
            head = f"{words['head']}\n|---|---|---|---|---|"
            parts.append(f"## {words[kind]}\n\n{head}\n" + "\n".join(rows) + "\n")
    if len(parts) == 1:
        parts.append(words["nothing"] + "\n")
    return "\n".join(parts)


def _rows(line: Line, words: dict[str, str]) -> list[str]:
    about = f"{line.name}: {_shortened(line.title)}" if line.title else line.name
    word, parts = line.stands
    cells = [_cell(about), _cell(words[word].format(**parts))]
    rows = []
    for who, since, until in line.owed or [("", "", "")]:
        shown = words[ANONYMOUS] if who == ANONYMOUS else who
        rows.append([*cells, _cell(shown), since, until])
        cells = ["", ""]
    return ["| " + " | ".join(one or " " for one in row) + " |" for row in rows]


def _shortened(title: str) -> str:
    words = " ".join(title.split())
    return words if len(words) <= _TITLE_CHARS else words[: _TITLE_CHARS - 1] + "…"


def _cell(text: str) -> str:
    """Return a text that stays within its cell, whatever it holds: it is data (XC-010)."""
    plain = text
    if not text.isprintable():
        plain = "".join(one if one.isprintable() else " " for one in text)
    for mark in "\\|`*_<[":
        plain = plain.replace(mark, "\\" + mark)
    return plain
