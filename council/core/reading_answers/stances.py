"""The grammar of a stance: which words take one, and what may stand around them.

The grammar is closed. A stance is an optional mark or opening (`I`, `je suis`),
optional adverbs, a stance word, and then the end, punctuation, or one of a few
words that go on with a reason. Everything else states nothing: doubt is a
result, never a guess.

Source: DL-013, DL-014, DL-017, HR-005, HR-006.
"""

from __future__ import annotations

from council.core.reading_answers.cleaning import one_of
from council.core.reading_answers.structure import (
    ARROWS,
    COLONS,
    DASHES,
    EMPHASIS,
    UNSEEN_CHARS,
    plain,
    sentences,
)
from council.core.record import Record

STANCES = ("agree", "partial", "disagree")
ACK = "acknowledged"

MAX_CHARS = 160  # how far into a text a stance may reach
_MAX_WORDS = 6  # of the longest phrase
_PHRASES: dict[str, str] = {
    phrase: stance
    for stance, phrases in {
        "agree": "agree|agreed|agrees|agreement|in agreement|"
        "d'accord|accord|en accord|je suis d'accord|"
        "stimme zu|stimme dem zu|stimme voll zu|stimme voll und ganz zu|stimme vollkommen zu|"
        "zustimmung|zustimmend|einverstanden|stimme ihm zu|stimme ihr zu|stimme dir zu|"
        "de acuerdo|acuerdo|"
        "同意|完全同意|赞成|我同意",
        "disagree": "disagree|disagreed|disagrees|disagreement|in disagreement|"
        "do not agree|don't agree|cannot agree|can't agree|can not agree|not agree|"
        "pas d'accord|ne suis pas d'accord|pas du tout d'accord|desaccord|en desaccord|"
        "stimme nicht zu|stimme dem nicht zu|nicht einverstanden|gar nicht einverstanden|"
        "keineswegs einverstanden|ablehnung|ablehnend|lehne ab|"
        "lehne das ab|widerspreche|widerspruch|"
        "en desacuerdo|desacuerdo|no estoy de acuerdo|"
        "不同意|反对|不赞成|我不同意",
        "partial": "partial|partially|partly|in part|agree in part|agreed in part|"
        "partial agreement|partial disagreement|agree partially|agree partly|"
        "partiel|partielle|partiellement|en partie|accord partiel|d'accord en partie|"
        "ne suis que partiellement d'accord|ne suis d'accord qu'en partie|"
        "teilweise|teils|zum teil|stimme teilweise zu|stimme teils zu|stimme zum teil zu|"
        "teilweise zustimmung|"
        "parcial|parcialmente|en parte|acuerdo parcial|de acuerdo en parte|"
        "部分同意|部分赞成|部分|我部分同意",
        ACK: "acknowledged|acknowledge|acknowledges|ack|noted|vu|pris en compte",
    }.items()
    for phrase in phrases.split("|")
}
_FIRST_PERSON = one_of(
    "i|we|i'm|i am|we're|we are|i do|we do|i have to|i must|je|je suis|nous|nous sommes|ich"
    "|ich bin|wir|wir sind|yo|estoy|yo estoy|estamos",
    "|",
)
LABELS = one_of("stance|my stance|verdict|vote|avis|haltung|postura", "|")
_FULLY = one_of(
    "strongly fully completely totally absolutely entirely wholeheartedly respectfully definitely"
    " firmly also still now again clearly certainly only really just simply"
    " entierement totalement completement pleinement absolument fortement respectueusement"
    " voll ganz vollkommen vollstandig absolut nur totalmente completamente plenamente solo"
)
_PARTLY = one_of(
    "partially|partly|somewhat|partiellement|teilweise|teils|parcialmente|in part|en partie"
    "|en parte|zum teil",
    "|",
)
_ADVERB_PHRASES = (
    "tout a fait", "voll und ganz", "por completo", "del todo", "in part", "en partie", "en parte",
    "zum teil",
)  # fmt: skip
_GOING_ON = one_of(
    "because that on with about as since here there given regarding"
    " parce car que qu' sur avec puisque weil dass mit da bei porque con sobre"
)
# Behind `with` or `on` they take back what was said before.
_RESERVATIONS = one_of(
    "reservations reservation caveats caveat conditions condition nuance nuances qualifications"
    " amendments amendment changes change principle principe some minor reserves"
    " einschrankungen vorbehalt vorbehalten reservas matices"
)
_FOR = frozenset("✅✔👍🟢☑🤝")
_AGAINST = frozenset("❌✖👎🔴🚫⛔")
_NEUTRAL = frozenset("⚠🟡🟠🤔⚖➖💬👉🔸🔹•→↔~")
_UNCLEAR_AFTER = frozenset("?/|~？")
_QUOTES = "\"'“”«»"
_BEHIND = (*COLONS, *DASHES, *".,;!…")
WITH = one_of("with avec mit con")
_ALL_OF_IT = one_of("you this it them him her all everything @ vous toi tout dem ihm ihr todo esto")
_CONCEDING = one_of("that on about regarding que dass sur bei sobre")
_BUT = one_of("but though although however mais aber sondern pero")
_WITHDRAWN = ("but not with", "but not this", "mais pas avec", "aber nicht", "pero no con")
# Behind a stance, alone in their clause, they make of it less than it says.
_LESS = one_of(
    "mostly|largely|broadly|in general|in the main|up to a point|to some extent|to a degree"
    "|with reservations|with some reservations|with caveats|with conditions|partly|partially"
    "|in part|only in part|en grande partie|dans l'ensemble|avec des reserves|en partie"
    "|im grossen und ganzen|mit vorbehalten|teilweise|zum teil|en gran parte|con reservas|en parte",
    "|",
)


class Stated(Record):
    """What the beginning of a text states.

    `stance` is "" where none is stated; `token` is then what stands in its
    place, and `is_doubtful` is true if it began like one. `comment` is the text
    behind the stance.
    """

    stance: str = ""
    token: str = ""
    comment: str = ""
    is_first_person: bool = False
    is_doubtful: bool = False


class Word:
    """A word or a sign of a text, in the form for comparing, with its place."""

    __slots__ = ("begin", "end", "is_word", "plain")

    def __init__(self, form: str, begin: int, end: int, *, is_word: bool) -> None:
        self.plain = form
        self.begin = begin
        self.end = end
        self.is_word = is_word


def stated(text: str) -> Stated:
    """Read the stance with which a text begins.

    >>> stated("strongly agree — the data is free").stance
    'agree'
    >>> stated("agree if they pay").stance
    ''
    """
    text = without_struck(text)
    found = _stated_once(text)
    later = _after_arrow(text)
    if later is not None:
        changed = stated(later)
        if changed.stance:
            return changed
        if found.stance:
            return Stated(token=text[:MAX_CHARS], is_doubtful=True)
    return found


def without_struck(text: str) -> str:
    """Return a text without what its author struck out at its beginning: `~~partial~~ agree`."""
    head = text[:MAX_CHARS]
    begin = head.find("~~")
    end = head.find("~~", begin + 2)
    if begin < 0 or end < 0 or any(map(str.isalnum, head[:begin])):
        return text
    after = text[end + 2 :].lstrip(UNSEEN_CHARS)
    return text[:begin] + after if after[:1].isalpha() else text


def _stated_once(text: str) -> Stated:
    words = words_of(text)
    at, mark = _past_marks(words)
    at, is_first_person = _past_opening(words, at)
    stance, end_at = stance_at(words, at)
    unclear = Stated(token=text[:MAX_CHARS], is_doubtful=bool(stance))
    if not stance:
        return unclear
    end = words[end_at - 1].end
    after = words[end_at] if end_at < len(words) else None
    is_sentence = after is not None and after.is_word
    comment = behind(text[end:])
    if (
        (after is not None and not _may_follow(words, end_at, text))
        or {mark, stance} == {"agree", "disagree"}
        or _is_taken_back(stance, comment, is_sentence=is_sentence)
    ):
        return unclear
    token = text[:end].strip()
    return Stated(stance=stance, token=token, comment=comment, is_first_person=is_first_person)


def _may_follow(words: list[Word], at: int, text: str) -> bool:
    """Return true if a stance may be followed by the word or sign that stands at a place."""
    after = words[at]
    if after.is_word:
        following = [one.plain for one in words[at + 1 : at + 4]]
        return after.plain in _GOING_ON and _RESERVATIONS.isdisjoint(following)
    if after.plain == "-":  # not in agree-ish
        is_joined = after.begin == words[at - 1].end and text[after.end : after.end + 1].isalnum()
        return not is_joined
    return after.plain not in _UNCLEAR_AFTER and after.plain not in _QUOTES


def stance_at(words: list[Word], at: int) -> tuple[str, int]:
    """Return the stance whose words begin at a place, with its adverbs, and where they end."""
    start, is_partly = at, False
    while start < len(words) and words[start].is_word:
        stance, length = _phrase(words, start)
        if stance and not _continues(words, start, length):
            end = start + length
            while end < len(words) and words[end].is_word and words[end].plain in _FULLY:
                end += 1
            return ("partial" if is_partly and stance != ACK else stance), end
        coming = (joined(words, start, length) for length in (3, 2))
        adverbs = next((one for one in coming if one in _ADVERB_PHRASES), words[start].plain)
        if adverbs in _PARTLY:
            is_partly = True
        elif adverbs not in _FULLY and " " not in adverbs:
            break
        start += adverbs.count(" ") + 1
    return "", at


def _continues(words: list[Word], at: int, length: int) -> bool:
    """Return true if the word at a place is an adverb of the stance behind it: `partly agree`."""
    behind = at + length
    is_adverb = joined(words, at, length) in _PARTLY
    is_followed = behind < len(words) and words[behind].is_word
    return is_adverb and is_followed and bool(stance_at(words, behind)[0])


def stance_of(token: str) -> str:
    """Return the stance that a whole text is, "" for one that says anything else."""
    if len(token) > MAX_CHARS:
        return ""
    found = stated(token)
    return found.stance if not found.comment else ""


def is_less(comment: str) -> bool:
    """Return true if a comment begins by taking a part of its stance back: `mostly`."""
    clause = plain(comment[:MAX_CHARS].replace("(", " "))
    for mark in (*COLONS, *DASHES, *",.;!)"):
        clause = clause.split(mark, 1)[0]
    return clause.strip() in _LESS


def words_of(text: str, max_chars: int = MAX_CHARS) -> list[Word]:
    """Split the beginning of a text into words and signs; emphasis and brackets are neither."""
    head = text[:max_chars]
    found: list[Word] = []
    at = 0
    while at < len(head):
        letter = head[at]
        if letter.isspace() or letter in EMPHASIS or letter in "[]":
            at += 1
            continue
        begin = at
        if _is_letter(letter):
            while at < len(head) and (
                _is_letter(head[at]) or (head[at] in "'’" and head[at + 1 : at + 2].isalnum())
            ):
                at += 1
            if at < len(head) or len(text) <= max_chars:
                found.append(Word(plain(head[begin:at]), begin, at, is_word=True))
            continue
        at += 1
        if letter not in "\ufe0f\u200d":
            found.append(Word(letter, begin, at, is_word=False))
    return found


def _is_letter(letter: str) -> bool:
    return letter.isalnum() or "\u0300" <= letter <= "\u036f"


def _past_marks(words: list[Word]) -> tuple[int, str]:
    """Return where the words begin behind pictures, and the stance that these take."""
    at, mark = 0, ""
    while at < len(words) and not words[at].is_word:
        sign = words[at].plain
        if sign in _FOR or sign in _AGAINST:
            mark = "agree" if sign in _FOR else "disagree"
        elif sign not in _NEUTRAL and sign not in "(" and sign not in COLONS and sign not in DASHES:
            break
        at += 1
    return at, mark


def _past_opening(words: list[Word], at: int) -> tuple[int, bool]:
    """Return where the words begin behind `I`, `je suis`, `Stance:`; and if the author speaks."""
    is_first_person = False
    while True:
        for length in (3, 2, 1):
            opening = joined(words, at, length)
            if opening in _FIRST_PERSON or opening in LABELS:
                is_first_person = is_first_person or opening in _FIRST_PERSON
                at += length
                break
        else:
            return at, is_first_person
        while at < len(words) and words[at].plain in (*COLONS, ","):
            at += 1


def joined(words: list[Word], at: int, length: int) -> str:
    """Return so many words and signs from a place on, as one phrase."""
    return " ".join([one.plain for one in words[at : at + length]])


def _phrase(words: list[Word], at: int) -> tuple[str, int]:
    """Return the stance that the longest phrase at a place takes, and of how many words it is."""
    for length in range(_MAX_WORDS, 0, -1):
        part = words[at : at + length]
        if len(part) == length and all(one.is_word for one in part):
            stance = _PHRASES.get(joined(words, at, length), "")
            if stance:
                return stance, length
    return "", 0


def behind(rest: str) -> str:
    """Return the text behind a stance or a name without what sets it off."""
    bare = rest.lstrip(EMPHASIS + "])" + UNSEEN_CHARS)
    if bare[:1] in ("(", "（"):
        inside, closed, after = bare[1:].replace("）", ")", 1).partition(")")
        after = after.lstrip(COLONS + DASHES + "-.,;*" + UNSEEN_CHARS)
        return f"({inside}) {after}".strip() if closed and after else inside.strip()
    mark = bare[: len(bare) - len(bare.lstrip("-"))] or bare[:1]
    is_mark = mark[:1] in ("-", *_BEHIND) and bare
    shorter = bare[len(mark) :].lstrip(UNSEEN_CHARS) if is_mark else bare
    if is_mark and shorter.startswith(tuple(EMPHASIS)) and not _opens(shorter):
        shorter = shorter.lstrip(EMPHASIS)
    return shorter.strip()


def _opens(text: str) -> bool:
    """Return true if the emphasis at the start of a text is closed again in it."""
    mark = text[: len(text) - len(text.lstrip(text[0]))]
    return mark in text[len(mark) :]


def _is_taken_back(stance: str, comment: str, *, is_sentence: bool) -> bool:
    """Return true if a comment says the opposite of the stance that it stands behind."""
    words = words_of(comment)
    at, mark = _past_marks(words)
    is_withdrawn = plain(comment[:MAX_CHARS]).startswith(_WITHDRAWN) or (
        stance != "partial" and is_less(comment)
    )
    if is_withdrawn or {mark, stance} == {"agree", "disagree"}:
        return True
    is_but = at < len(words) and words[at].plain in _BUT
    at, _ = _past_opening(words, at + is_but)
    other, end = stance_at(words, at)
    if is_sentence and not other:
        first = sentences(comment[: 2 * MAX_CHARS])[:1]
        said = {
            _PHRASES.get(word.strip(",;:."), "") for one in first for word in plain(one).split()
        }
        return bool(said - {"", stance, ACK, "partial"})
    if other in ("", stance, ACK):
        return False
    after = words[end] if end < len(words) else None
    if stance == "partial":
        return after is None  # "partial — agree on one, disagree on the other" is partial
    if is_but or after is None or not after.is_word:
        return True
    # "I agree with you" takes a refusal back; "I agree (with you) that it costs" only concedes.
    following = [one.plain for one in words[end + 1 : end + 4]]
    is_whole = after.plain in WITH and following[:1] and following[0] in _ALL_OF_IT
    return bool(is_whole) and _CONCEDING.isdisjoint(following)


def _after_arrow(text: str) -> str | None:
    """Return what stands behind the last arrow if stances stand before it, None otherwise."""
    head = text[:MAX_CHARS]
    past = max([head.rfind(arrow) + len(arrow) for arrow in ARROWS if arrow in head], default=0)
    before = head[:past]
    for arrow in ARROWS:
        before = before.replace(arrow, "\0")
    words = [
        " ".join([word.plain for word in words_of(one) if word.is_word])
        for one in before.split("\0")
        if one.strip()
    ]
    return text[past:] if words and all(word in _PHRASES for word in words) else None
