"""Quotations: which passages a text quotes, and whether they were really said.

It finds what a text presents as quoted (block quotes, and words between
quotation marks after `@agent`) and looks each passage up in what that agent
said. It judges the words only, never whether quoting them was fair.

Every step is linear in the length of the text, and at most
`MAX_QUOTATIONS` passages are looked up, so no text can make it slow.

Source: `trust.md` (Quotations), C0-049, C0-050, DL-103.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice, pairwise

from council.core.reading_answers.names import Names
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FOUND = "found"
NEAR = "near"
MISSING = "missing"

MAX_QUOTATIONS = 200
MIN_WORDS = 3
MIN_CHARS = 12

_MAX_TRIES = 1000
_UNSPACED = "\u0e00"  # Thai, Chinese, Japanese and their like put no space between words

_CLOSING = {"“": "”", "„": "“”", "«": "»", '"': '"'}
_MARKS = (">", *_CLOSING)
_ELISIONS = ("[…]", "[...]")
_DASHES = ("—", "–", "-")
_SAME = str.maketrans(
    {
        **dict.fromkeys("“”„«»‟″", '"'),
        **dict.fromkeys("‘’‚‛′", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("*`\u00ad\u200b\ufeff", None),
        "…": "...",
    }
)


class Quotation(Record):
    """One quoted passage.

    `text` is the passage without its marks. `of` is the agent it is ascribed
    to, or in whose words it was found; "" when it is ascribed to nobody and
    was found nowhere (or in a text that is nobody's, such as the brief).
    `found` is `found` (word for word), `near` (only white space, case,
    emphasis or the shape of quotation marks and dashes differ, or parts were
    left out and marked `[…]`) or `missing`.
    """

    text: str
    of: str
    found: str


class _Passage(Record):
    """A passage as it stands in the text; `of` is "" when nobody is named."""

    text: str
    of: str


class _Spoken:
    """What one agent said once, and its form for comparing, made when first needed."""

    __slots__ = ("_plain", "agent", "text")

    def __init__(self, agent: str, text: str) -> None:
        self.agent = agent
        self.text = text
        self._plain: str | None = None

    @property
    def plain(self) -> str:
        if self._plain is None:
            self._plain = _plain(self.text)
        return self._plain


def check_quotations(
    text: str,
    said: Iterable[tuple[str, str]],
    *,
    names: Mapping[str, str] | None = None,
) -> list[Quotation]:
    """Find the passages `text` quotes and look each up in what was `said` before.

    A block quote (`> …`) belongs to the `@agent` named last in the paragraph
    above it, or on a line `— @agent` that signs it; without one it may be
    anybody's. Words between quotation marks belong to the last `@agent`
    before them in the same paragraph; without one, or when they are fewer
    than three words, they are no quotation.

    Args:
        text: The contribution that quotes.
        said: (agent, text) of everything said before; agent "" for texts that
            are nobody's, such as the brief.
        names: Further words after `@` and the agents they stand for, such as
            display names.

    >>> said = [("sage", "We should wait for one season.")]
    >>> [one.found for one in check_quotations('@sage: "wait for one season"', said)]
    ['found']
    """
    heard = Heard(said)
    return heard.check(text, heard.count, names=names)


class Heard:
    """All that was said, in order; each text can be held against what came before it.

    Args:
        said: (agent, text) of everything that was said; agent "" for texts
            that are nobody's.
    """

    def __init__(self, said: Iterable[tuple[str, str]]) -> None:
        self._all = [_Spoken(agent, words) for agent, words in said]
        self._places: dict[str, list[int]] = {}
        for place, one in enumerate(self._all):
            self._places.setdefault(one.agent, []).append(place)
        self._began = [places[0] for places in self._places.values()]
        self._known: dict[tuple[int, int], tuple[Mapping[str, str] | None, Names]] = {}

    @property
    def count(self) -> int:
        """How many texts were said."""
        return len(self._all)

    def check(
        self, text: str, before: int, *, names: Mapping[str, str] | None = None
    ) -> list[Quotation]:
        """Look up what `text` quotes in the first `before` of the texts, as `check_quotations`."""
        known = self._names(names, before)
        return [self._look_up(passage, before) for passage in _passages(text, known)]

    def _names(self, names: Mapping[str, str] | None, before: int) -> Names:
        """Return `names` and all who have spoken by then; made once for each who begins."""
        count = bisect_left(self._began, before)
        kept = self._known.get((id(names), count))
        if kept is None or kept[0] is not names:
            speakers = islice(self._places, count)
            known = Names([*(names or {}).items(), *((agent, agent) for agent in speakers)])
            kept = self._known[id(names), count] = (names, known)
        return kept[1]

    def _look_up(self, passage: _Passage, before: int) -> Quotation:
        for one in self._voices(passage.of, before):
            if _holds(one.text, [passage.text]):
                return Quotation(text=passage.text, of=one.agent, found=FOUND)
        pieces = [piece for piece in _pieces(passage.text) if piece]
        if pieces:
            for one in self._voices(passage.of, before):
                if _holds(one.plain, pieces):
                    return Quotation(text=passage.text, of=one.agent, found=NEAR)
        return Quotation(text=passage.text, of=passage.of, found=MISSING)

    def _voices(self, agent: str, before: int) -> Iterator[_Spoken]:
        """Yield what may have been quoted: of a named agent the latest first, which is likeliest.

        Where nobody is named it is found with whoever said it first.
        """
        if not agent:
            return iter(self._all[:before])
        places = self._places.get(agent, [])
        return (self._all[place] for place in reversed(places) if place < before)


def may_quote(text: str) -> bool:
    """Tell whether a text holds a mark of quotation at all; most hold none."""
    return ">" in text or any(mark in text for mark in _CLOSING)


def _passages(text: str, known: Names) -> list[_Passage]:
    """Return what the text quotes, in order, at most `MAX_QUOTATIONS` passages."""
    lines = text.split("\n")
    if "```" in text or "~~~" in text:
        lines = _without_fences(lines)
    found: list[_Passage] = []
    above, at = "", 0
    last_mark = max(text.rfind(mark) for mark in _MARKS)
    end_of_marks = text.count("\n", 0, last_mark) + 1 if last_mark >= 0 else 0
    while at < end_of_marks and len(found) < MAX_QUOTATIONS:
        line = lines[at]
        if _is_quoted(line):
            end = at
            while end < len(lines) and _is_quoted(lines[end]):
                end += 1
            below = lines[end] if end < len(lines) else ""
            signed = _last_named(below, known) if below.strip().startswith(_DASHES[:2]) else ""
            found.extend(_block(lines[at:end], above or signed, known))
            at = end
            continue
        if not line.strip():
            at += 1
            continue
        end = at + 1
        while end < len(lines) and (lines[end][:1].isalpha() or _continues(lines[end])):
            end += 1
        paragraph, at = "\n".join(lines[at:end]), end
        named = list(known.mentions(paragraph))
        above = named[-1][1] if named else ""
        found.extend(_in_marks(paragraph, named))
    return found[:MAX_QUOTATIONS]


def _without_fences(lines: list[str]) -> list[str]:
    """Blank the fenced blocks of code: what stands in them quotes nobody."""
    fences = [at for at, line in enumerate(lines) if line.lstrip(" ").startswith(("```", "~~~"))]
    for start, end in zip(fences[::2], fences[1::2], strict=False):
        lines[start : end + 1] = [""] * (end + 1 - start)
    return lines


def _is_quoted(line: str) -> bool:
    return line.lstrip(" ").startswith(">")


def _continues(line: str) -> bool:
    """Tell whether a line goes on with the paragraph above it: no blank, quote, heading, item."""
    if line[:1].isalpha():
        return True  # nearly every line
    start = line.lstrip(" \t")
    if not start.strip() or start[0] in ">#":
        return False
    is_item = start.startswith(("- ", "* ", "+ ", "• ")) or (
        start[:1].isdigit() and start.lstrip("0123456789")[:2] in (". ", ") ")
    )
    return not is_item


def _block(quoted: list[str], of: str, known: Names) -> Iterator[_Passage]:
    """Make a passage of the lines of one block quote; its last line may sign it."""
    words = [line.lstrip(" >\t").rstrip() for line in quoted]
    if len(words) > 1 and words[-1].startswith(_DASHES):
        signed = _last_named(words[-1], known)
        words, of = (words[:-1], signed) if signed else (words, of)
    text = _without_marks("\n".join(words).strip())
    if any(letter.isalnum() for letter in text):
        yield _Passage(text=text, of=of)


def _last_named(line: str, known: Names) -> str:
    named = [agent for _, agent in known.mentions(line)]
    return named[-1] if named else ""


def _without_marks(text: str) -> str:
    """Take off the quotation marks that stand around a whole block quote."""
    closing = _CLOSING.get(text[:1], "")
    if len(text) > 1 and closing and text[-1] in closing:
        inner = text[1:-1]
        if not any(mark in inner for mark in (text[0], *closing)):
            return inner.strip()
    return text


def _in_marks(paragraph: str, named: list[tuple[int, str]]) -> Iterator[_Passage]:
    """Find the words between quotation marks that follow an `@agent` in one paragraph."""
    following, of, passed = _Following(paragraph), "", 0
    for (start, agent), (stop, _) in pairwise([*named, (len(paragraph), "")]):
        if start >= passed:  # one that stands inside a quotation is not being quoted
            of, passed = agent, start
        at = following.first(_CLOSING, passed)
        while at < stop:
            end = following.first(_CLOSING[paragraph[at]], at + 1)
            is_closed = end < len(paragraph)
            passage = paragraph[at + 1 : end].strip() if is_closed else ""
            if _is_substantial(passage):
                yield _Passage(text=passage, of=of)
            passed = (end if is_closed else at) + 1
            at = following.first(_CLOSING, passed)


class _Following:
    """Finds the next place of a mark; never reads the same stretch twice for one mark."""

    def __init__(self, paragraph: str) -> None:
        self._paragraph = paragraph
        self._next = dict.fromkeys('"“”„«»', -1)

    def first(self, marks: Iterable[str], at: int) -> int:
        """Return where the first of `marks` stands from `at` on; the length for nowhere."""
        return min([self._of(mark, at) for mark in marks])

    def _of(self, mark: str, at: int) -> int:
        place = self._next[mark]
        if place < at:
            place = self._paragraph.find(mark, at)
            place = self._next[mark] = len(self._paragraph) if place < 0 else place
        return place


def _is_substantial(passage: str) -> bool:
    return len(passage) >= MIN_CHARS and len(passage.split(None, MIN_WORDS)) >= MIN_WORDS


def _pieces(passage: str) -> list[str]:
    """Return the parts of a passage between marked elisions, in their form for comparing."""
    for mark in _ELISIONS:
        passage = passage.replace(mark, "\0")
    parts = passage.split("\0")
    if len(parts) > 1 and not all(_is_substantial(part.strip()) for part in parts if part.strip()):
        parts = [passage.replace("\0", _ELISIONS[0])]
    return [_plain(part).strip(" .,;:") for part in parts]


def _holds(text: str, pieces: list[str]) -> bool:
    """Tell whether all pieces stand in `text` as whole words, one after the other."""
    at = 0
    for piece in pieces:
        start = text.find(piece, at)
        for _ in range(_MAX_TRIES):
            if start < 0 or _is_whole(text, start, start + len(piece)):
                break
            start = text.find(piece, start + 1)
        else:
            return False
        if start < 0:
            return False
        at = start + len(piece)
    return True


def _is_whole(text: str, start: int, end: int) -> bool:
    """Tell whether no word is cut: "agree" does not stand in "disagree"."""
    return not (_joins(text[start - 1 : start + 1]) or _joins(text[end - 1 : end + 1]))


def _joins(pair: str) -> bool:
    """Tell whether two letters next to each other are of one word, where words are spaced."""
    return len(pair) == 2 and all(letter.isalnum() and letter < _UNSPACED for letter in pair)


def _plain(text: str) -> str:
    """Return a text without what a copyist changes: white space, case, shapes of marks."""
    return " ".join(text.translate(_SAME).casefold().split())
