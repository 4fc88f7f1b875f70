"""The labelled parts of an answer.

A label is a heading, bold words, a line with a colon, dash or equals sign, or alone on its line. Of
one part the strongest shape counts. Tags, underlined lines and rows of tables become headings and
lists first, so there is one search for labels. What is in no part is a piece without a name.
"""

from __future__ import annotations

import re
from functools import cache

from council.councils.answers_words import match, pattern, plain, search, table, without
from council.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

HEADING, BOLD, PLAIN = 3, 2, 1
_TURN = ("position", "final", "former", "responses", "response", "reasoning", "confidence")
_SYNTHESIS = ("recommendation", "decision", "consensus", "disagreement", "insights")
_ALL = ("blocking", "resolved", "status", "reasoning", "response")  # of these every shape counts
_OF = {"synthesis": (*_SYNTHESIS, *_ALL[:3]), "contribution": _ALL[:3]}


class Piece(Record):
    """A labelled part, or a stretch of text without a label (`part` is "").

    Attributes:
        besides: What the label says besides: a peer (`response`), a bracket, a letter or number.
        level: Of a heading; 7 for other shapes, 0 where no heading ends it.
        inline: The words on the line of the label.
        before: The last paragraph above the label.
    """

    part: str = ""
    besides: str = ""
    shape: int = PLAIN
    level: int = 7
    inline: str = ""
    lines: list[str] = []
    before: str = ""

    def paragraphs(self) -> list[str]:
        """Return the words, paragraph by paragraph, without lines that quote others."""
        own = [line.rstrip() for line in [self.inline, *self.lines]]
        text = "\n".join("" if line.lstrip().startswith(">") else line for line in own)
        return [words.strip() for words in text.split("\n\n") if words.strip()]

    def text(self) -> str:
        """Return the paragraphs as one text."""
        return "\n\n".join(self.paragraphs())

    def first(self) -> str:
        """Return the first paragraph, "" where there is none."""
        return (self.paragraphs() or [""])[0]


def label_of(words: str, form: Form) -> tuple[str, str]:
    """Return the part that a label names ("" for none) and what it says besides."""
    label = match("label", plain(words).replace(plain(form.author) or "-", "my", 1))
    if not label or len(words) > 120:
        return "", ""
    name, extra = label["name"], label["extra"] or ""
    part, short = _names().get(name, ""), match("numbered", name)
    if not part and short and _names().get(short[1]) in ("position", "blocking", "resolved"):
        part, extra = _names()[short[1]], short[2]
    if part == "position" and match("later label", extra):
        part = "final"
    elif part == "position" and match("former label", extra):
        part = "former"
    answer = None if part else match("answer to", name)
    return ("response", answer[1]) if answer else (part, extra)


def pieces(text: str, form: Form) -> list[Piece]:
    """Return all pieces of a readable text in order, those without a label among them."""
    found, paragraph, above = [Piece(level=0)], "", ""
    for line in _with_headings(text, form):
        now, heading = found[-1], match("heading", line) if "#" in line[:4] else None
        made = _labelled(line, heading[2] if heading else "", now, form)
        if made:
            made.before, made.level = paragraph, len(heading[1]) if heading else 7
            found.append(made)
        elif heading and len(heading[1]) <= now.level and not _is_peer(heading[2], now, form):
            found.append(Piece(level=0, lines=[line]))
        elif set(line.strip()) not in _RULES or len(line) < 3:
            now.lines.append(line)
        elif now.part in ("position", "final", "confidence", "choice"):
            found.append(Piece(level=0))
        if line.strip() and not made:
            paragraph = f"{paragraph}\n{line}"[-400:] if above.strip() and not heading else line
        above = line
    return [piece for piece in _last_form(found) if not (piece.part and is_echo(piece, form))]


_RULES = ({"-"}, {"*"}, {"_"}, {"-", " "}, {"*", " "}, {"_", " "})


def strongest(found: list[Piece], part: str) -> list[Piece]:
    """Return the pieces of a part in their strongest shape; of some parts every shape counts."""
    own = [piece for piece in found if piece.part == part]
    best = 0 if part in _ALL else max((piece.shape for piece in own), default=0)
    return [piece for piece in own if piece.shape >= best]


def is_echo(piece: Piece, form: Form) -> bool:
    """Return whether a part is the form's own words: a hint, or the words to choose from."""
    words = "\n".join(piece.paragraphs())
    inner = plain(words[:400]).strip("-*. ")
    hint = inner.lstrip("[<{( ").startswith(table("echo"))
    hint = hint or (len(words) > 12 and words in form.prompt)
    in_brackets = 0 < len(words) < 400 and words[0] + words[-1] in ("[]", "<>", "{}", "()")
    return (in_brackets and hint) or bool(match("form words", inner))


def without_marks(words: str) -> str:
    """Return a line without the marks of lists, numbers and signs before it."""
    for _ in range(3):
        words = without("signs", words[match("marks", words).end() :])  # type: ignore[union-attr]
    return words.strip()


def _with_headings(text: str, form: Form) -> list[str]:
    """Return the lines of a text, with headings and lists for tags, underlines and tables."""

    def tagged(tag: re.Match[str]) -> str:
        if not label_of(tag[2].replace("_", " "), form)[0]:
            return str(tag[0])
        return "\n---\n" if tag[1] else f"\n## {tag[2].replace('_', ' ')}\n"

    lines: list[str] = []
    for line in (pattern("{=tag}", "").sub(tagged, text) if "<" in text else text).split("\n"):
        row = line.strip()
        cells = [cell.strip() for cell in row.strip("|").split("|")] if row[:1] == "|" else []
        if len(cells) > 1 and any(set(cell) - set(":-= ") for cell in cells):
            lines.append(f"- {cells[0]}: {' — '.join(filter(None, cells[1:]))}")
        elif len(cells) > 1:
            del lines[-1:]  # the header of the table
        elif len(row) > 2 and set(row) in ({"="}, {"-"}) and label_of("".join(lines[-1:]), form)[0]:
            lines[-1] = f"## {lines[-1].strip()}"
        else:
            lines.append(line)
    return lines


def _labelled(line: str, heading: str, now: Piece, form: Form) -> Piece | None:
    """Return the part that a line begins, or None."""
    body = without_marks((heading or line)[:2000]).rstrip("# ")
    shape = HEADING if heading else PLAIN
    if line.lstrip()[:1] == ">" or len(body) < 2:
        return None
    if body[:1] + body[-1:] in ("[]", "``", "()") and ":" in body:
        body = body[1:-1]
    halves = match("separated", body)
    inner, value = (halves[1], halves[2]) if halves else (body, "")
    if bold := match("bold", body):
        shape, inner, value = max(shape, BOLD), bold[2], bold[3]
        halves = match("separated", inner)
        if not label_of(inner, form)[0] and halves and halves[2]:
            inner, value = halves[1], f"{halves[2].strip()} {value.strip(' *')}".strip()
        value = without("hint", value)
    elif heading and not label_of(inner, form)[0]:
        inner, value = body, ""
    part, extra = label_of(inner, form)
    asks = "?" in body[: len(inner) + 3] and part not in ("confidence", "reasoning", "blocking")
    if not part or asks:
        return None
    value += line[2000:]
    none = "none" if part == "blocking" and value.strip() in ("-", "–", "—") else ""
    value = none or value.strip().lstrip(":：—–=→.-*_? ") if value.strip(" .*_`") else ""
    if part == "confidence" and not value and "/" in extra:
        value = extra
    made = Piece(part=part, besides=extra, shape=shape, inline=value)
    return made if shape == HEADING or _begins(made, now, form) else None


def _begins(made: Piece, now: Piece, form: Form) -> bool:
    """Return whether a label that is no heading begins a part here."""
    if made.part not in _OF.get(form.kind, (*_TURN, "choice", *_ALL[:3])):
        return False
    if made.shape < now.shape and made.part == now.part and not now.first():
        return False  # the label once more, below its heading
    if made.shape < now.shape and now.part[:8] == "response" and made.part in _TURN:
        return not match("any stance", plain(made.inline))  # about a peer
    return True


def _is_peer(words: str, now: Piece, form: Form) -> bool:
    """Return whether a heading is a peer's, below responses or insights."""
    names = tuple(plain(name) for pair in form.peers.items() for name in pair if name)
    return now.part in ("responses", "insights") and plain(words).lstrip("@ ").startswith(names)


def _last_form(found: list[Piece]) -> list[Piece]:
    """Drop a draft: what is before a position that comes again with a word that says so."""
    seen: dict[str, Piece] = {}
    for number, piece in enumerate(found):
        if piece.part in ("position", "choice", "recommendation", "decision"):
            first = seen.setdefault(piece.part, piece)
            again = piece is not first and piece.shape >= first.shape
            draft = again and match("a draft", plain(first.before))
            if draft or (again and search("a later one", plain(piece.before[-300:]))):
                return found[number:]
    return found


@cache
def _names() -> dict[str, str]:
    parts = ("other", "synthesis", "choice", *_ALL[:4], *_SYNTHESIS, *(set(_TURN) - set(_ALL)))
    return {name: part for part in parts for name in table(part)}
