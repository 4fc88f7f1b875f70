"""Quotations: which passages a text quotes, and whether they were really said.

It finds what a text presents as quoted (lines that begin with `> `, and words
between quotation marks beside an `@agent` that is credited with them) and searches
each passage in what that agent said. Words in marks that no agent is credited
with, such as an own proposal, are no quotation. It judges the words only, never
whether quoting them was fair.

Every step is linear in the length of the text, and at most
`MAX_QUOTATIONS` passages are looked up, so no text can make it slow.

`Checker` looks up what the contributions of one conversation quote. A quotation is held
against the words that its author was shown: in an anonymous conversation those are
another text than the one that was written, and an agent that copies faithfully must
not stand there as an inventor.

Source: `trust.md` (Quotations), C0-049, C0-050, DL-103, HR-022, DL-100.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice

from council.core.conversations.conversation import Conversation, Entry, EntryKind
from council.core.conversations.handles import (
    HUMAN,
    as_seen,
    handles,
    human_handle,
    is_anonymous,
    names,
)
from council.core.conversations.procedures import PROCEDURES
from council.core.reading_answers.cleaning import QUOTING_MARKS, may_quote, one_of
from council.core.reading_answers.names import Names
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    # A passage as it stands in a text, and whom it is ascribed to, "" for none.
    _Passage = tuple[str, str]

FOUND = "found"
NEAR = "near"
MISSING = "missing"

MAX_QUOTATIONS = 200
MIN_WORDS = 3
MIN_CHARS = 12

_MAX_TRIES = 1000
_UNSPACED = "\u0e00"  # Thai, Chinese, Japanese and their like put no space between words

_CLOSING = {"“": "”", "„": "“”", "«": "»", '"': '"'}
_ELISIONS = ("[…]", "[...]")
_DASHES = ("—", "–", "-")

# How far from a name its words may stand, in characters, and what may stand between.
_NEAR = 80
_BESIDE = " \t\n:*_`—–-"
_POSSESSIVE = ("", "'s", "’s")
_ENDS_OF_SENTENCES = frozenset(f"{mark}{blank}" for mark in ".!?;" for blank in " \n\t")
_SAYING = one_of(
    "said says saying wrote writes argued argues claimed claims noted notes stated states"
    " put puts called calls quoted quote asked asks answered answers replied replies warned"
    " warns pointed points insisted insists proposed proposes suggested suggests words wording"
    " phrase sentence point"
    " dit disait écrit écrivait affirme affirmait propose proposait demande répond note mots"
    " phrase formule"
    " sagt sagte schreibt schrieb meint meinte fragt fragte nennt nannte worte satz"
    " dice dijo escribe escribió afirma afirmó propone propuso pregunta palabras frase"
)
# Whose words follow then is the author, or it asks for them.
_OWN = one_of(
    "i we my our me us mine would could should shall might may can will accept prefer"
    " je j nous mon ma mes notre moi pourrais pourrait accepterais accepterait"
    " ich wir mein meine unser mir würdest würde könntest könnte"
    " yo nosotros mi nuestro podrías aceptarías"
)
_JOINING = one_of("and then or also later et puis ou und dann oder y luego")
_LEADING = _SAYING | one_of("as like comme wie como a hat ha has")
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
    to, or in whose words it was found; "" when it is ascribed to no agent and
    was found nowhere (or in a text without an author, such as the brief).
    `found` is `found` (word for word), `near` (only white space, case,
    emphasis or the shape of quotation marks and dashes differ, or parts were
    left out and marked `[…]`) or `missing`.
    """

    text: str
    of: str
    found: str


class _Spoken:
    """What one agent said once, and its form for comparing, made when first needed."""

    def __init__(self, agent: str, text: str) -> None:
        self.agent, self.text = agent, text

    @cached_property
    def plain(self) -> str:
        return _plain(self.text)


class Heard:
    """All that was said, in order; each text can be held against what came before it.

    Args:
        said: (agent, text) of everything that was said; agent "" for texts
            that have no author.
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
        """Find the passages `text` quotes and look each up in the first `before` of the texts.

        A block quote (`> …`) belongs to the `@agent` named last in the paragraph
        above it, or on a line `— @agent` that signs it; without one it may be
        anybody's. Words between quotation marks belong to an `@agent` that stands
        right before them (`@ann: "…"`), that is said to have said them (`@ann
        wrote that "…"`), or that is named behind them in brackets, after a dash or
        with such a word (`"…", as @ann wrote`). All others, and those of fewer than
        three words, are no quotations.

        Args:
            text: The contribution that quotes.
            before: How many texts were said before it.
            names: Further words after `@` and the agents they stand for, such as
                display names.

        >>> said = [("sage", "We should wait for one season.")]
        >>> [one.found for one in Heard(said).check('@sage: "wait for one season"', 1)]
        ['found']
        """
        known = self._names(names, before)
        return [self._look_up(passage, of, before) for passage, of in _passages(text, known)]

    def _names(self, names: Mapping[str, str] | None, before: int) -> Names:
        """Return `names` and all who have spoken by then; made once for each who begins."""
        count = bisect_left(self._began, before)
        kept = self._known.get((id(names), count))
        if kept is None or kept[0] is not names:
            speakers = islice(self._places, count)
            known = Names([*(names or {}).items(), *((agent, agent) for agent in speakers)])
            kept = self._known[id(names), count] = (names, known)
        return kept[1]

    def _look_up(self, text: str, of: str, before: int) -> Quotation:
        for one in self._voices(of, before):
            if _holds(one.text, [text]):
                return Quotation(text=text, of=one.agent, found=FOUND)
        pieces = [piece for piece in _pieces(text) if piece]
        for one in self._voices(of, before) if pieces else ():
            if _holds(one.plain, pieces):
                return Quotation(text=text, of=one.agent, found=NEAR)
        return Quotation(text=text, of=of, found=MISSING)

    def _voices(self, agent: str, before: int) -> Iterator[_Spoken]:
        """Yield what may have been quoted: of a named agent the latest first, which is likeliest.

        Where no agent is named it is found with the one who said it first.
        """
        if not agent:
            return iter(self._all[:before])
        places = self._places.get(agent, [])
        return (self._all[place] for place in reversed(places) if place < before)


def _passages(text: str, known: Names) -> list[_Passage]:
    """Return what the text quotes, in order, at most `MAX_QUOTATIONS` passages."""
    lines = text.split("\n")
    if "```" in text or "~~~" in text:
        # What stands in fenced blocks of code quotes nobody.
        fences = [at for at, one in enumerate(lines) if one.lstrip(" ").startswith(("```", "~~~"))]
        for start, end in zip(fences[::2], fences[1::2], strict=False):
            lines[start : end + 1] = [""] * (end + 1 - start)
    found: list[_Passage] = []
    above, at = "", 0
    last_mark = max(text.rfind(mark) for mark in QUOTING_MARKS)
    end_of_marks = text.count("\n", 0, last_mark) + 1 if last_mark >= 0 else 0
    while at < end_of_marks and len(found) < MAX_QUOTATIONS:
        end = at
        if _is_quoted(lines[at]):
            while end < len(lines) and _is_quoted(lines[end]):
                end += 1
            below = lines[end] if end < len(lines) else ""
            signed = _last_named(below, known) if below.strip().startswith(_DASHES[:2]) else ""
            found.extend(_block(lines[at:end], above or signed, known))
            at = end
            continue
        if not lines[at].strip():
            at += 1
            continue
        end = at + 1
        while end < len(lines) and _continues(lines[end]):
            end += 1
        paragraph, at = "\n".join(lines[at:end]), end
        named = list(known.mentions(paragraph))
        above = named[-1][1] if named else ""
        found.extend(_in_marks(paragraph, named, known))
    return found[:MAX_QUOTATIONS]


def _is_quoted(line: str) -> bool:
    """Return true if a line is quoted: `> …`, an empty `>`, or one inside another; not `>5 ms`."""
    start = line.lstrip(" ")
    return start.startswith(">") and start.lstrip(">")[:1] in ("", " ", "\t", "\r")


def _continues(line: str) -> bool:
    """Return true if a line goes on with the paragraph above it: no blank, quote, heading, item."""
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
        yield text, of


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


def _in_marks(paragraph: str, named: list[tuple[int, str]], known: Names) -> Iterator[_Passage]:
    """Find the words between quotation marks that an `@agent` is credited with."""
    following, of, since, passed, place = _Following(paragraph), "", 0, 0, 0
    is_next = False
    at = following.first(_CLOSING, 0)
    while at < len(paragraph):
        end = following.first(_CLOSING[paragraph[at]], at + 1)
        while place < len(named) and named[place][0] < at:
            start, agent = named[place]
            if start >= passed:  # one that stands inside a quotation is not being quoted
                of, since, is_next = agent, known.found_at(paragraph, start + 1)[1], False
            place += 1
        if end == len(paragraph):  # never closed
            passed = at + 1
        else:
            is_near = of and at - since <= _NEAR
            who = of if is_near and _credits(paragraph[since:at], is_next=is_next) else ""
            who = who or _credited_behind(paragraph, end + 1, named, place, known)
            passage = paragraph[at + 1 : end].strip()
            if who and _is_substantial(passage):
                yield passage, who
            # Of "…" and "…" the second is beside the name, too, if the first was.
            of, since, passed, is_next = who, end + 1, end + 1, True
        at = following.first(_CLOSING, passed)


def _credits(gap: str, *, is_next: bool) -> bool:
    """Return true if the words before a mark say that the one named before them said what follows.

    They stand between the name and the mark, or where `is_next` between a
    quotation of the same one and the mark.
    """
    if gap.strip(_BESIDE) in _POSSESSIVE and "," not in gap:
        return True
    words = _words(gap)
    is_one_sentence = not _ends_a_sentence(gap)
    return (
        is_one_sentence
        and not _OWN.intersection(words)
        and (not _SAYING.isdisjoint(words) or (is_next and _JOINING.issuperset(words)))
    )


def _words(text: str) -> list[str]:
    letters = [letter if letter.isalpha() else " " for letter in text.casefold()]
    return "".join(letters).split()


def _ends_a_sentence(text: str) -> bool:
    return any(text[at : at + 2] in _ENDS_OF_SENTENCES for at in range(len(text) - 1))


def _credited_behind(
    paragraph: str, at: int, named: list[tuple[int, str]], place: int, known: Names
) -> str:
    """Return who is credited behind a quotation that ends before `at`, "" for none."""
    while place < len(named) and named[place][0] < at:
        place += 1
    if place == len(named) or named[place][0] - at > _NEAR:
        return ""
    start, agent = named[place]
    gap = paragraph[at:start]
    end = known.found_at(paragraph, start + 1)[1]
    after = paragraph[end : end + _NEAR]
    words = _words(gap)
    is_signed = gap.strip() in ("(", *_DASHES[:2]) and after.strip()[:1] in ("", ")", ".")
    is_told = (
        bool(words)
        and not (_ends_a_sentence(gap) or _OWN.intersection(words))
        and not _SAYING.isdisjoint([*words, *_words(after)[:2]])
        and _LEADING.issuperset(words)
    )
    return agent if is_signed or is_told else ""


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
    """Return true if all pieces stand in `text` as whole words, one after the other."""
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
    """Return true if no word is cut: "agree" does not stand in "disagree"."""
    return not (_joins(text[start - 1 : start + 1]) or _joins(text[end - 1 : end + 1]))


def _joins(pair: str) -> bool:
    """Return true if two letters next to each other are of one word, where words are spaced."""
    return len(pair) == 2 and all(letter.isalnum() and letter < _UNSPACED for letter in pair)


def _plain(text: str) -> str:
    """Return a text without what a copyist changes: white space, case, shapes of marks."""
    return " ".join(text.translate(_SAME).casefold().split())


class Checker:
    """Checks what contributions quote against what stood in the file before them."""

    def __init__(self, state: Conversation) -> None:
        self._state = state
        self._by_handles = PROCEDURES[state.procedure].verdict == "stances"
        self._heard: dict[str, tuple[Heard, dict[str, int]]] = {}
        self._names: dict[str, dict[str, str]] = {}

    def in_entry(self, entry: Entry) -> list[Quotation]:
        """Return the passages that an entry quotes."""
        if not may_quote(entry.text):
            return []
        heard, places = self._heard_by(entry.agent)
        known = self._known_to(entry.agent)
        return heard.check(entry.text, places.get(entry.id, heard.count), names=known)

    def _known_to(self, author: str) -> dict[str, str]:
        """Return the words that stand for agents in what `author` writes."""
        who = author if self._by_handles else ""
        if who not in self._names:
            state = self._state
            self._names[who] = handles(state, who) if self._by_handles else names(state)
        return self._names[who]

    def _heard_by(self, author: str) -> tuple[Heard, dict[str, int]]:
        """Return all that can be quoted, as `author` was shown it, and the place of each entry.

        The brief has no author, nor has guidance where no agent can address people.
        """
        # In a conversation with names all were shown the same.
        reader = author if is_anonymous(self._state) else ""
        if reader not in self._heard:
            is_known = self._by_handles and human_handle(self._state) == HUMAN
            people = HUMAN if is_known else ""
            heard = [("", self._state.brief)]
            places: dict[str, int] = {}
            for entry in self._state.entries:
                who = people if entry.kind is EntryKind.INJECTION else entry.agent
                text = as_seen(self._state, reader, entry.agent, entry.text) if reader else ""
                places.setdefault(entry.id, len(heard))
                heard.append((who, text or entry.text))
            self._heard[reader] = (Heard(heard), places)
        return self._heard[reader]
