"""The labelled parts of an answer.

A label is a heading, bold words, a line with a colon, dash or equals sign, or alone on its line. Of
one part the strongest shape counts. Tags and rows of tables become headings and lists first.
"""

from __future__ import annotations

import re
from functools import cache

from council.councils.answers_words import plain, search, table, without
from council.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

HEADING, BOLD, PLAIN = 3, 2, 1
_TURN = ("position", "final", "former", "responses", "response", "reasoning", "confidence")
_COUNCIL = ("blocking", "resolved", "status")
_SYNTHESIS = ("recommendation", "decision", "consensus", "disagreement", "insights", "synthesis")
_OF = {"synthesis": (*_SYNTHESIS, *_COUNCIL), "contribution": _COUNCIL}


class Part(Record):
    """A labelled part of an answer, or a stretch of text without a label (`name` is "").

    Attributes:
        besides: What the label says besides: a peer (`response`), a bracket, a number.
        level: Of a heading; 7 for other shapes, 0 where no heading ends it.
        lines: The words on the line of the label, and the lines below it.
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
    for line in _lines(without("status behind text", text, r"\1\n\n\2")):
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
    return [part for part in found if not (part.name and _is_echo(part, form))]


def strongest(found: list[Part], name: str) -> list[Part]:
    """Return the parts of a name in their strongest shape; of some every shape counts."""
    own = [part for part in found if part.name == name]
    every = name in (*_COUNCIL, "reasoning", "response")
    best = 0 if every else max((part.shape for part in own), default=0)
    return [part for part in own if part.shape >= best]


def label_of(words: str, author: str) -> tuple[str, str]:
    """Return the part that a label or key names ("" for none), and what it says besides."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_+", " ", words)
    label = search("label", plain(words).removeprefix(f"{plain(author)}'s "))
    if not label or len(words) > 120:
        return "", ""
    name, besides = _names().get(label["name"], ""), label["besides"] or label["number"] or ""
    if name == "position" and (other := search("which position", besides)):
        name = "final" if other["final"] else "former"
    to = None if name else search("answer to", label["name"])
    return ("response", to[1]) if to else (name, besides)


def without_marks(words: str) -> str:
    """Return a line without the marks of lists, numbers and signs before it."""
    for _ in range(3):
        words = without("signs", without("marks", words))
    return words.strip()


def _lines(text: str) -> list[str]:
    """Return the lines of a text, with headings and lists for tags and tables."""
    if "<" in text:
        text = without("end tag", without("tag", text, r"\n## \1\n"), "\n---\n")
    lines: list[str] = []
    for line in text.split("\n"):
        row = line.strip()
        cells = [cell.strip() for cell in row.strip("|").split("|")] if row[:1] == "|" else []
        if cells and not row.strip("|:-= "):
            del lines[-1:]  # the header of the table
        else:
            lines.append(f"- {cells[0]}: {' — '.join(cells[1:])}" if len(cells) > 1 else line)
    return lines


def _labelled(line: str, heading: re.Match[str] | None, now: Part, form: Form) -> Part | None:
    """Return the part that a line begins, or None."""
    found = search("label line", without_marks((heading[2] if heading else line)[:2000]))
    name, besides = label_of(found["label"], form.author) if found else ("", "")
    shape = HEADING if heading else BOLD if found and found["bold"] else PLAIN
    if (
        not found
        or not name
        or (found["ends"] == "?" and name not in ("confidence", "reasoning", "blocking"))
    ):
        return None
    words = without("hint", found["words"]) + line[2000:]
    if found["bold"] and words.count(found["bold"]) % 2:
        words = words.replace(found["bold"], "", 1)
    words = words.lstrip(":：—–=→.-*_? ").rstrip() or words.strip(" :.*_=→")
    again = name == now.name and not now.first()  # the label once more, below its heading
    about = now.name[:8] == "response" and name in _TURN and search("about a peer", plain(words))
    if shape < HEADING and name not in _OF.get(form.kind, (*_TURN, "choice", *_COUNCIL)):
        return None
    if shape < now.shape and (again or about):
        return None
    level = len(heading[1]) if heading else 7
    return Part(name=name, besides=besides, shape=shape, level=level, lines=[words])


def _is_echo(part: Part, form: Form) -> bool:
    """Return whether a part is the form's own words: a hint, or the words to choose from."""
    words = "\n".join(part.paragraphs())
    inner = plain(words[:400]).strip("-*. ")
    hint = inner.lstrip("[<{( ").startswith(table("echo")) or (
        len(words) > 12 and words in form.prompt
    )
    in_brackets = 0 < len(words) < 400 and words[0] + words[-1] in ("[]", "<>", "{}", "()")
    return (in_brackets and hint) or bool(search("form words", inner))


@cache
def _names() -> dict[str, str]:
    names = ("other", *_SYNTHESIS, "choice", *_COUNCIL, *_TURN)
    return {word: name for name in names if name != "response" for word in table(name)}
