"""The labelled parts of an answer.

A label is a heading, bold words, a line with a colon, dash or equals sign, or alone on its line. Of
one part the strongest shape counts. What is in no part is a piece without a name.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from council.councils.answers_words import fold, pattern, plain, table
from council.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

HEADING, BOLD, PLAIN = 3, 2, 1
_WORD = re.compile(r"[^\W\d_]+")
_TURN = ("position", "final", "former", "responses", "response", "reasoning", "confidence")
_SYNTHESIS = ("recommendation", "consensus", "disagreement", "insights")
_ALL = ("blocking", "resolved", "status", "reasoning", "response")  # of these every shape counts
_OF = {"synthesis": (*_SYNTHESIS, "blocking", "resolved"), "contribution": _ALL[:3]}


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
        own = ["" if line.lstrip().startswith(">") else line for line in [self.inline, *self.lines]]
        return [p.strip() for p in re.split(r"\n[ \t]*\n", "\n".join(own)) if p.strip()]

    def first(self) -> str:
        """Return the first paragraph, "" where there is none."""
        return (self.paragraphs() or [""])[0]


def label_of(words: str, form: Form) -> tuple[str, str]:
    """Return the part that a label names ("" for none) and what it says besides."""
    name, extra = plain(words).strip(" .:'\"“”«»#?!"), ""
    if not 0 < len(name) <= 80:
        return "", ""
    if bracket := pattern("{=bracket}").match(name):
        name, extra = bracket[1].strip(" .:"), bracket[2]
    name = re.sub(rf"^{re.escape(plain(form.author) or '-')}(?:'s)?\s+", "", name)
    name = pattern(r"^{own}\s+").sub("", re.sub(r"^\d{1,2}[.)] ", "", name))
    part = _names().get(name, "")
    if not part and (numbered := pattern("{=numbered}").match(name)):
        part, extra = _names().get(numbered[1], ""), numbered[2]
        part = part if part in ("position", "blocking", "resolved") else ""
    if part == "position" and pattern("^(?:{later}|{draft}|former|previous)").match(extra):
        part = "final" if pattern("^{later}").match(extra) else "former"
    if not part and (answer := pattern("{=answer_to}").match(name)):
        return "response", answer[1]
    return part, extra


def pieces(text: str, form: Form) -> list[Piece]:
    """Return all pieces of a readable text in order, those without a label among them."""
    text = pattern("{=tag}").sub(lambda tag: _heading(tag[2].replace("_", " "), tag, form), text)
    text = pattern("{=underlined}").sub(lambda line: _heading(line[1], line, form), text)
    found, paragraph, above = [Piece(level=0)], "", ""
    for line in text.split("\n"):
        now, heading = found[-1], pattern("{=heading}").match(line)
        quoted = line.lstrip().startswith(">")
        made = None if quoted else _labelled(line, heading, now, form)
        if made:
            made.before = paragraph
            found.append(made)
        elif heading and len(heading[1]) <= now.level and not _is_peer(heading[2], now, form):
            found.append(Piece(level=0, lines=[line]))
        elif not pattern("{=rule}").match(line):
            now.lines.append(line)
        elif now.part in ("position", "final", "confidence", "choice"):
            found.append(Piece(level=0))
        if line.strip() and not made:
            paragraph = f"{paragraph}\n{line}"[-400:] if above.strip() and not heading else line
        above = line
    return [piece for piece in _last_form(found) if not (piece.part and is_echo(piece, form))]


def strongest(found: list[Piece], part: str) -> list[Piece]:
    """Return the pieces of a part in their strongest shape; of some parts every shape counts."""
    own = [piece for piece in found if piece.part == part]
    best = 0 if part in _ALL else max((piece.shape for piece in own), default=0)
    return [piece for piece in own if piece.shape >= best]


def is_echo(piece: Piece, form: Form) -> bool:
    """Return whether a part is the form's own words: a hint, or the words to choose from."""
    words = "\n".join(piece.paragraphs())
    if not words or len(words) > 400:
        return False
    inner = plain(words).strip("-*. ")
    hint = inner.lstrip("[<{( ").startswith(table("echo"))
    hint = hint or (len(words) > 12 and words in form.prompt)
    in_brackets = words[0] + words[-1] in ("[]", "<>", "{}", "()")
    return (in_brackets and hint) or bool(pattern("{=form_words}").fullmatch(inner))


def without_marks(words: str) -> str:
    """Return a line without the marks of lists, numbers and signs before it."""
    for _ in range(3):
        words = pattern("{=signs}").sub("", pattern("{=marks}").sub("", words, count=1))
    return words.strip()


def _labelled(line: str, heading: re.Match[str] | None, now: Piece, form: Form) -> Piece | None:
    """Return the part that a line begins, or None."""
    word = _WORD.search(fold(line[:200]))
    known = word and (len(word[0]) < 4 or word[0] in _first_words() or word[0] in form.author)
    if not known:
        return None  # nearly every line
    body = without_marks(heading[2].rstrip(" \t#") if heading else line)
    shape = HEADING if heading else PLAIN
    if body[:1] + body[-1:] in ("[]", "``", "()") and ":" in body:
        body = body[1:-1]
    halves = pattern("{=separated}").match(body)
    inner, value = (halves[1], halves[2]) if halves else (body, "")
    if bold := pattern("{=bold}").match(body):
        shape, inner, value = max(shape, BOLD), bold[2], bold[3]
        halves = pattern("{=separated}").match(inner)
        if not label_of(inner, form)[0] and halves and halves[2]:
            inner, value = halves[1], f"{halves[2].strip()} {value.strip(' *')}".strip()
        value = pattern("{=hint}").sub("", value)
    elif heading and not label_of(inner, form)[0]:
        inner, value = body, ""
    part, extra = label_of(inner, form) if len(inner) <= 120 else ("", "")
    asks = "?" in body[: len(inner) + 3] and part not in ("confidence", "reasoning", "blocking")
    if not part or asks:
        return None
    value = value.strip().lstrip(":：—–=→.-*_? ") if value.strip(" .*_`") else ""
    if part == "confidence" and not value and "/" in extra:
        value = extra
    level = len(heading[1]) if heading else 7
    made = Piece(part=part, besides=extra, shape=shape, level=level, inline=value)
    return made if shape == HEADING or _begins(made, now, form) else None


def _begins(made: Piece, now: Piece, form: Form) -> bool:
    """Return whether a label that is no heading begins a part here."""
    if made.part not in _OF.get(form.kind, (*_TURN, "choice", "blocking", "resolved")):
        return False
    if made.shape < now.shape and made.part == now.part and not now.first():
        return False  # the label once more, below its heading
    if made.shape < now.shape and now.part[:8] == "response" and made.part in _TURN:
        return not pattern(r"^\W*{=any_stance}").match(plain(made.inline))  # about a peer
    return True


def _is_peer(words: str, now: Piece, form: Form) -> bool:
    """Return whether a heading is a peer's, below responses or insights."""
    names = tuple(plain(name) for pair in form.peers.items() for name in pair if name)
    return now.part in ("responses", "insights") and plain(words).lstrip("@ ").startswith(names)


def _heading(words: str, mark: re.Match[str], form: Form) -> str:
    """Return a tag or an underlined line as a heading, if it is a label."""
    if not label_of(words, form)[0]:
        return mark[0]
    return "\n---\n" if mark[0].startswith("</") else f"\n## {words}\n"


def _last_form(found: list[Piece]) -> list[Piece]:
    """Drop a draft: what is before a position that comes again with a word that says so."""
    seen: dict[str, Piece] = {}
    for number, piece in enumerate(found):
        if piece.part in ("position", "choice", "recommendation"):
            first = seen.setdefault(piece.part, piece)
            draft = pattern("{=a_draft}").match(plain(first.before))
            again = piece is not first and piece.shape >= first.shape
            if again and (draft or _is_later(piece.before)):
                return found[number:]
    return found


@lru_cache(64)
def _is_later(words: str) -> bool:
    return bool(pattern("{later}").search(plain(words[-300:])))


@cache
def _first_words() -> frozenset[str]:
    names = [*_names(), *table("own"), "response", "reply", "antwort", "reponse"]
    return frozenset(word[0] for name in names if (word := _WORD.search(name)))


@cache
def _names() -> dict[str, str]:
    parts = ("other", "choice", *_ALL[:4], *_SYNTHESIS, *(set(_TURN) - set(_ALL)))
    return {name: part for part in parts for name in table(part)}
