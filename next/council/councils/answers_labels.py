"""The labelled parts of an answer.

A label is a heading, bold words, a line with a colon, dash or equals sign, or alone on its line.
Of one part the strongest shape counts. What is in no part is kept apart as loose pieces.
"""

from __future__ import annotations

import re
from functools import cache

from council.councils.answers_words import choice, pattern, plain, table
from council.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.councils.answers import Form

HEADING, BOLD, PLAIN = 3, 2, 1
MARKS = re.compile(
    r"[ \t]{0,200}(?:(?:[-*+•·‣▪]|\d{1,2}[.)]|\(\d{1,2}\)|[IVX]{1,4}[.)]|[a-h][)])[ \t]+"
    r"|\[[ xX]?\][ \t]+|\d\u20e3 ?)*"
)
_SIGNS = re.compile(r"^[^\w#*_(\[\"'«“@<{|>`~=.,;:!?)\]—–-]+")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]*(.*?)[ \t#]*$")
_BOLD = re.compile(r"^(\*\*\*|\*\*|__)(.{1,120}?)\1(.*)$")
_SEPARATED = re.compile(r"^(.{1,60}?) ?(?:[:：=→?]|[ ][-–—]{1,2}(?= )|$)(.*)$")
_HINT = re.compile(
    r"^\s*[(\[][^)\]\n]{0,40}(?:1 ?(?:-|–|to|à) ?\d|sentence|paragraph|optional)[^)\]\n]{0,40}[)\]]"
)
_BRACKET = re.compile(r"^(.{1,60}?)\s*[(\[]([^)\]]{0,60})[)\]]$")
_UNDERLINE = re.compile(r"^ {0,3}(={3,}|-{3,})\s*$")
_RULE = re.compile(r"^ {0,3}(?:-{3,}|\*{3,}|_{3,}|(?:[-*_] ){2,}[-*_])\s*$")
_TAG = re.compile(r"<(/?)([A-Za-z][\w -]{1,30})>")
_ALL = ("blocking", "resolved", "status", "reasoning", "response", "other")
PARTS = ("position", "final", "former", "responses", "reasoning", "confidence", "choice")
PARTS += ("recommendation", "consensus", "disagreement", "insights", "blocking", "resolved")
PARTS += ("status", "other")
_TURN = {"position", "final", "former", "responses", "response", "reasoning", "confidence"}
_TURN |= {"choice", "blocking", "resolved"}
_OF = {  # the parts whose labels may be other than headings
    "turn": _TURN,
    "vote": _TURN,
    "synthesis": {
        "recommendation",
        "consensus",
        "disagreement",
        "insights",
        "blocking",
        "resolved",
    },
    "contribution": {"blocking", "resolved", "status"},
}


class Piece(Record):
    """A labelled part, or a stretch of text without a label (`part` is "").

    Attributes:
        extra: What the label says besides: a peer (`response`), a bracket, a letter or number.
        shape: HEADING, BOLD or PLAIN.
        level: Of the heading; 7 for other shapes.
        inline: The words on the line of the label.
        before: The last paragraph above the label.
    """

    part: str = ""
    extra: str = ""
    shape: int = PLAIN
    level: int = 7
    inline: str = ""
    lines: list[str] = []
    before: str = ""

    def paragraphs(self) -> list[str]:
        """Return the words, paragraph by paragraph, without lines that quote others."""
        own = [] if not self.inline else [self.inline]
        own += ["" if line.lstrip().startswith(">") else line for line in self.lines]
        return [p.strip() for p in re.split(r"\n[ \t]*\n", "\n".join(own)) if p.strip()]

    def text(self) -> str:
        """Return the words without lines that quote others."""
        return "\n\n".join(self.paragraphs())


def label_of(words: str, form: Form) -> tuple[str, str]:
    """Return the part that a label names ("" for none) and what it says besides."""
    name = plain(words).strip(" .:'\"“”«»#?!")
    if not 0 < len(name) <= 80:
        return "", ""
    extra = ""
    if bracket := _BRACKET.match(name):
        name, extra = bracket[1].strip(" .:"), bracket[2]
    name = re.sub(
        rf"^(?:{choice('own')}|{re.escape(form.author.casefold() or '-')}(?:'s)?)\s+", "", name
    )
    name = re.sub(r"^round \d{1,2}[ :—–-]{0,3}| ?[(#]?\bround \d{1,2}\)?$", "", name)
    part = _names().get(name, "")
    if not part and (numbered := re.match(r"(.+?) (?:(?:nr|no)\.? ?|#)?(\d{1,2}|[a-c])$", name)):
        part, extra = _names().get(numbered[1], ""), numbered[2]
        part = part if part in ("position", "blocking", "resolved") else ""
    if part == "position" and pattern(r"^(?:{later}|{draft}|former|previous)").match(extra):
        part = "final" if pattern("^{later}").match(extra) else "former"
    answer = re.match(r"(?:my )?(?:responses?|reply|reponse|antwort) (?:to|a|an) (.+)", name)
    if answer and not part:
        return "response", answer[1]
    return part, extra


def pieces(text: str, form: Form) -> list[Piece]:
    """Return all pieces of a readable text in order, loose ones among them."""
    found, paragraph = [Piece()], ""
    lines = _TAG.sub(lambda tag: _untagged(tag, form), text).split("\n")
    for number, line in enumerate(lines):
        now = found[-1]
        if number and _is_underline(lines, number, form):
            continue
        if line.lstrip().startswith(">"):
            now.lines.append(line)
            continue
        heading = _HEADING.match(line)
        if number + 1 < len(lines) and _is_underline(lines, number + 1, form):
            heading = _HEADING.match("## " + line.strip())
        made = _labelled(line, heading, form)
        if made and made.shape < HEADING and not _is_part(made, now, form):
            made = None
        if made:
            made.before = paragraph
            found.append(made)
        elif heading and len(heading[1]) <= now.level and not _goes_on(now, heading[2], form):
            found.append(Piece(level=0, lines=[line]))
        elif _RULE.match(line):
            if now.part in ("position", "final", "confidence", "choice"):
                found.append(Piece(level=0))
        else:
            now.lines.append(line)
        if line.strip() and not made:
            starts = number and lines[number - 1].strip() and not heading
            paragraph = f"{paragraph}\n{line}" if starts else line
    return _without_echoes(_last_form(found), form)


def strongest(found: list[Piece], *parts: str) -> list[Piece]:
    """Return the pieces of some parts in their strongest shape; of some parts all count."""
    own = [piece for piece in found if piece.part in parts]
    if not own or parts[0] in _ALL:
        return own
    best = max(piece.shape for piece in own)
    return [piece for piece in own if piece.shape == best]


def _labelled(line: str, heading: re.Match[str] | None, form: Form) -> Piece | None:
    body = heading[2] if heading else line
    if len(body) > 4000 or not body.strip():
        body, cut = body[:4000], body[4000:]
    else:
        cut = ""
    for _ in range(3):
        body = _SIGNS.sub("", body[MARKS.match(body).end() :])  # type: ignore[union-attr]
    body = body.strip()
    if body[:1] in "[`(" and body[-1:] in "])`" and ":" in body:
        body = body[1:-1]
    shape = HEADING if heading else PLAIN
    inner, value = "", ""
    if bold := _BOLD.match(body):
        shape = max(shape, BOLD)
        inner, value = bold[2], bold[3]
        if not label_of(inner, form)[0] and (halves := _SEPARATED.match(inner)) and halves[2]:
            inner, value = halves[1], f"{halves[2].strip()} {value.strip(' *')}".strip()
        hint = _HINT.match(value)
        value = value[hint.end() :] if hint else value
    elif halves := _SEPARATED.match(body):
        inner, value = halves[1], halves[2]
        if heading and not label_of(inner, form)[0]:
            inner, value = body, ""
    part, extra = label_of(inner, form) if inner else ("", "")
    if not part:
        return None
    if "?" in body[: len(inner) + 3] and part not in ("confidence", "reasoning", "blocking"):
        return None
    value = value.strip().lstrip(":：—–=→.-*_? ").strip() if value.strip(" .*_`") else ""
    if (
        part == "confidence"
        and not value
        and not _HINT.match(f"({extra})")
        and re.search(r"\d", extra)
    ):
        value = extra
    level = len(heading[1]) if heading else 7
    return Piece(part=part, extra=extra, shape=shape, level=level, inline=value + cut)


def _is_part(made: Piece, now: Piece, form: Form) -> bool:
    """Return whether a label that is no heading begins a part here, and is not about a peer."""
    if made.part == now.part and made.shape < now.shape and not now.text():
        return False  # the label once more, below its heading
    told = now.part in ("responses", "response") and made.shape < now.shape
    if told and made.part in ("position", "responses", "choice"):
        return not pattern(r"^\W*(?:{agree}|{partial}|{disagree})").match(plain(made.inline))
    return made.part in _OF[form.kind]


def _is_underline(lines: list[str], number: int, form: Form) -> bool:
    above = lines[number - 1].strip()
    return bool(_UNDERLINE.match(lines[number]) and above and label_of(above, form)[0])


def _goes_on(now: Piece, words: str, form: Form) -> bool:
    """Return whether a heading is a peer's, below responses."""
    words = plain(words).lstrip("@ ")
    names = [plain(name) for pair in form.peers.items() for name in pair]
    below = now.part in ("responses", "response", "insights")
    return below and any(name and words.startswith(name) for name in names)


def _untagged(tag: re.Match[str], form: Form) -> str:
    if not label_of(tag[2].replace("_", " "), form)[0]:
        return tag[0]
    return "\n---\n" if tag[1] else f"\n## {tag[2].replace('_', ' ')}\n"


def _last_form(found: list[Piece]) -> list[Piece]:
    """Drop a draft: what stands before a position that comes again with a word that says so."""
    seen: dict[str, Piece] = {}
    for number, piece in enumerate(found):
        if piece.part not in ("position", "choice", "recommendation"):
            continue
        first = seen.setdefault(piece.part, piece)
        if piece is first or piece.shape < first.shape:
            continue
        is_later = pattern("{later}").search(plain(piece.before[-300:]))
        if is_later or pattern(r"^\W*(?:my )?(?:\w+ )?{draft}").match(plain(first.before[-300:])):
            return found[number:]
    return found


def _without_echoes(found: list[Piece], form: Form) -> list[Piece]:
    """Drop labels below which only the form's own words stand."""
    return [piece for piece in found if not (piece.part and is_echo(piece.text(), form))]


def is_echo(words: str, form: Form) -> bool:
    """Return whether words are the form's own: a hint in brackets, or the words to choose from."""
    words = words.strip()
    if not words or len(words) > 400:
        return False
    inner = plain(words).strip("-*. ")
    if re.fullmatch(r"\W*agree\W{1,3}(?:disagree|partial)\W.{0,120}", inner, re.S):
        return "|" in inner or "," in inner or "/" in inner
    wrapped = words[0] + words[-1] in ("[]", "<>", "{}", "()")
    hint = any(inner.lstrip("[<{( ").startswith(word) for word in table("echo"))
    return wrapped and (hint or (len(words) > 12 and words in form.prompt))


@cache
def _names() -> dict[str, str]:
    return {name: part for part in reversed(PARTS) for name in table(part)}
