"""The labelled parts of an answer.

A label is a heading, bold words, a line with a colon, dash or equals sign, or alone on its line. Of
one part the strongest shape counts. Tags and rows of tables become headings and lists first.
"""

from __future__ import annotations

import re

from council.councils.answers_words import plain, search, table, without
from council.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

HEADING, BOLD, PLAIN = 3, 2, 1
_TURN = ("position", "final", "responses", "response", "reasoning", "confidence", "choice")
_COUNCIL = ("blocking", "resolved", "status")
_SYNTHESIS = ("recommendation", "decision", "consensus", "disagreement", "insights", "synthesis")
PARTS = {"turn": _TURN, "vote": _TURN, "synthesis": _SYNTHESIS, "contribution": _COUNCIL}
_NAMED = ("other", *_SYNTHESIS, *_COUNCIL, *(name for name in _TURN if name != "response"))


class Part(Record):
    """A labelled part of an answer, or a stretch of text without a label (`name` is "").

    No heading below `level` ends it; `lines` begin with the words on the line of the label.
    """

    name: str = ""
    besides: str = ""
    shape: int = PLAIN
    level: int = 0
    lines: list[str] = []

    def paragraphs(self) -> list[str]:
        """Return the words, paragraph by paragraph."""
        text = "\n".join(line.rstrip() for line in self.lines)
        return [words.strip() for words in text.split("\n\n") if words.strip()]

    def first(self) -> str:
        """Return the first paragraph, "" where there is none."""
        return (self.paragraphs() or [""])[0]


def parts(text: str, form: Form) -> list[Part]:
    """Return all parts of a readable text in order, with what is in none of them."""
    found = [Part(lines=[""])]
    for line in text.split("\n"):
        now, heading = found[-1], search("heading", line) if "#" in line[:4] else None
        own = "" if line.lstrip().startswith(">") else line  # what others said
        if made := _labelled(own, heading, now, form):
            found.append(made)
        elif heading and len(heading[1]) <= now.level:
            found.append(Part(lines=[line]))
        elif not search("rule", line):
            now.lines.append(own)
        elif now.name in ("position", "final", "confidence", "choice") and now.first():
            found.append(Part(lines=[""]))
    said = [plain(" ".join(part.lines)[:500]) if part.name else "" for part in found]
    return [
        part
        for part, words in zip(found, said, strict=True)
        if not search("words of a form", words)
    ]


def strongest(found: list[Part], name: str) -> list[Part]:
    """Return the parts of a name in their strongest shape; of some every shape counts."""
    own = [part for part in found if part.name == name]
    every = name in (*_COUNCIL, "reasoning", "response")
    best = max((part.shape for part in own if not every), default=0)
    return [part for part in own if part.shape >= best]


def label_of(words: str, author: str) -> tuple[str, str]:
    """Return the part that a label or key names ("" for none), and what it says besides."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_+", " ", words)
    label = search("label", plain(words).removeprefix(f"{plain(author)}'s "))
    if not label or len(words) > 120:
        return "", ""
    name = next((name for name in _NAMED if label["name"] in table(name)), "")
    to = None if name else search("answer to", label["name"])
    return ("response", to[1]) if to else (name, label["besides"] or label["number"] or "")


def without_marks(words: str) -> str:
    """Return a line without the marks of lists, numbers and signs before it."""
    for _ in range(3):
        words = without("signs", without("marks", words))
    return words.strip()


def _labelled(line: str, heading: re.Match[str] | None, now: Part, form: Form) -> Part | None:
    """Return the part that a line begins, or None."""
    found = search("label line", without_marks((heading[2] if heading else line)[:2000]))
    name, besides = label_of(found["label"], form.author) if found else ("", "")
    shape = HEADING if heading else BOLD if found and found["bold"] else PLAIN
    if not found or not name:
        return None
    words = without("hint", found["words"]) + line[2000:]
    if found["bold"] and words.count(found["bold"]) % 2:
        words = words.replace(found["bold"], "", 1)
    words = words.lstrip(":：—–=→.-*_? ").rstrip() or words.strip(" :.*_=→")
    again = shape < now.shape and name == now.name and not now.first()  # below its heading
    if again or (shape < HEADING and name not in (*PARTS[form.kind], *_COUNCIL)):
        return None
    level = len(heading[1]) if heading else 7
    return Part(name=name, besides=besides, shape=shape, level=level, lines=[words])
