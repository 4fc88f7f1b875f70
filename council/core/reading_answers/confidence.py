"""How sure an answer says that it is: a whole number from 1 to 5.

Read are the number alone, with its scale, as a word, behind a level (`High (4)`)
or at the end of an arrow (`3 → 4`). Any other scale, range, condition or
correction states nothing.

Source: DL-013, HR-006, HR-007.
"""

from __future__ import annotations

from council.core.reading_answers.cleaning import one_of
from council.core.reading_answers.structure import (
    ARROWS,
    COLONS,
    DASHES,
    EMPHASIS,
    Line,
    is_rule,
    plain,
    sentences,
    without_bullet,
)

MAX_CHARS = 240
_WORDS = (
    "1 one un une eins uno|2 two deux zwei dos|3 three trois drei tres|4 four quatre vier cuatro"
    "|5 five cinq funf cinco"
)
_NUMBERS = {word: int(words[0]) for words in _WORDS.split("|") for word in words.split()}
_SCALES = ("/5", "out of 5", "of 5", "sur 5", "von 5", "de 5", "out of five", "of five", "sur cinq")
_BEFORE = one_of(
    "i i'm i'd say am at a my confidence level is the in this overall score rating rate put it"
    " it's rated currently now solid still high very fairly moderate medium low quite pretty"
    " strong strongly certain sure reasonably"
    " je suis j'ai ma confiance est de niveau a elevee forte haute moyenne faible mon assez tres"
    " ich bin bei meine zuversicht liegt ist hoch mittel niedrig ziemlich sicherheit auf"
    " mi confianza es en nivel alta media baja estoy"
)
_BEHIND = one_of(
    "because that since as on with given car parce avec weil da mit porque con que stars"
)
# Behind a number they take it back.
_CORRECTIONS = one_of(
    "no actually rather maybe or wait sorry correction corrected revised make perhaps instead"
    " non plutot ou peut-etre nein eher oder vielleicht no mejor quizas lower higher not"
)
_TOPICS = ("confidence", "confident", "confiance", "zuversicht", "confianza", "信心", "sure")
_CORRECTING = ("actually", "correction", "on reflection", "make it", "make that", "en fait",
               "eigentlich", "en realidad", "i mean", "wait", "revised", "rather")  # fmt: skip
_MARKS = EMPHASIS + "[]"


def confidence_in(body: list[Line]) -> tuple[int, str]:
    """Return the confidence that a part states, 0 for none, and what stands there."""
    own = [line for line, is_own in body if is_own and line.strip() and not is_rule(line)]
    if not own:
        return 0, ""
    return 0 if any(map(_corrects, own[1:4])) else confidence_of(own[0]), own[0]


def _corrects(line: str) -> bool:
    """Return true if a later line takes the number back: `Actually, make it 3`."""
    low = plain(line[:MAX_CHARS])
    return low.startswith(_CORRECTING) and any(
        word.strip(".,;:!*") in _NUMBERS for word in low.replace("/", " ").split()
    )


def confidence_of(line: str) -> int:
    """Return the number from 1 to 5 that a line states, 0 when it states none.

    >>> [confidence_of(line) for line in ("4/5 — sure", "High (4)", "3 → 4", "80%", "4 or 5")]
    [4, 4, 4, 0, 0]
    """
    bare = line.strip()
    text = (bare if bare[:1].isdigit() else without_bullet(bare))[:MAX_CHARS]
    text = "".join(letter for letter in text if letter not in _MARKS)
    if "~~" in text:
        return 0
    changed = _after_arrow(text)
    if changed is not None:
        return confidence_of(changed)
    number, rest = _leading_number(text.lstrip(" ("))
    if not number:
        number, rest = _behind_words(text)
    return number if number and _may_follow(rest) else 0


def confidence_in_prose(text: str) -> int:
    """Return the confidence that a sentence about it states, 0 for none or several."""
    found: dict[int, None] = {}
    for sentence in sentences(text):
        low = plain(sentence[:MAX_CHARS])
        at = min((low.find(topic) for topic in _TOPICS if topic in low), default=-1)
        if at < 0 or not any(letter.isdigit() or letter in "（(" for letter in sentence):
            continue
        begin = max(low.rfind(",", 0, at), low.rfind(";", 0, at)) + 1
        found[confidence_of(sentence[begin:].strip())] = None
    return next(iter(found)) if len(found) == 1 else 0


def _after_arrow(text: str) -> str | None:
    """Return what stands behind an arrow between two numbers, None without one."""
    for arrow in ARROWS:
        before, found, after = text.partition(arrow)
        if found and _leading_number(before.strip(" ("))[0]:
            return after.strip()
    return None


def _leading_number(text: str) -> tuple[int, str]:
    """Return the number with which a text begins, and what follows it and its scale."""
    end = 0
    while end < len(text) and (text[end].isalnum() or _is_decimal(text, end)):
        end += 1
    number = _NUMBERS.get(plain(text[:end]), 0)
    rest = text[end:]
    bare = rest.lstrip()
    if bare[:1] == "/":
        bare = "/" + bare[1:].lstrip()
    low = plain(bare[:12])
    for scale in _SCALES:
        if low.startswith(scale) and not low[len(scale) : len(scale) + 1].isalnum():
            return number, bare[len(scale) :]
    return number, rest


def _is_decimal(text: str, at: int) -> bool:
    return text[at] == "%" or (text[at] == "." and text[at + 1 : at + 2].isdigit())


def _behind_words(text: str) -> tuple[int, str]:
    """Return the number behind words such as `I'm at` or `High (`, and what follows it."""
    at = 0
    while at < len(text):
        letter = text[at]
        is_dash = letter == "-" and text[at + 1 : at + 2].isspace()
        if letter.isspace() or is_dash or letter in COLONS + DASHES + "=(,'’/":
            at += 1
            continue
        end = at
        while end < len(text) and (text[end].isalnum() or text[end] in "'’"):
            end += 1
        word = plain(text[at:end])
        number, rest = _leading_number(text[at:])
        if number and word not in ("a", "un", "une", "uno"):
            return number, rest
        if end == at or word not in _BEFORE:
            return 0, ""
        at = end
    return 0, ""


def _may_follow(rest: str) -> bool:
    """Return true if what follows a number leaves it as it is."""
    bare = rest.lstrip(" )")
    mark, after = bare[:1], bare[1:]
    words = [word.strip(".,;:!?()/*") for word in plain(after).split()]
    numbers = [at for at, word in enumerate(words) if word in _NUMBERS]
    if (
        any(not _CORRECTIONS.isdisjoint(words[max(0, at - 3) : at]) for at in numbers)
        or (after.lstrip(" -" + DASHES)[:1].isdigit() and mark not in ".(")
        or (mark == "," and any(map(str.isdigit, after)))
        # as in `1=very uncertain, 5=highly confident`
        or ("5" in words and any(sign in bare[:MAX_CHARS] for sign in ("=", " to 5")))
    ):
        return False
    if mark.isalpha():
        return rest[:1].isspace() and plain(bare.split(None, 1)[0].strip(",.:")) in _BEHIND
    if mark == "-":
        is_spaced = rest[:1].isspace() or after[:1].isspace()
        return (is_spaced or after[:1] == "-") and bool(after.strip("-"))
    if mark == ".":
        return not after[:1].strip()
    return not mark or mark in DASHES + COLONS + "(;,!…（，。；"
