"""Likeness: how alike two texts are by their words, and whether one denies the other.

Likeness counts words in any order. A denial has nearly all words of what it
denies, so it is looked for apart: two clauses with the same content, of which
one is negated. A sentence and its denial are never alike. Negation is read in
English, French, German and Spanish, and by its signs in Chinese.

Source: DL-082, DL-094, DL-098, HR-021, A-88.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from council.core.reading_answers.cleaning import one_of

Clause = tuple[bool, frozenset[str]]

# They belong to the word they touch: C++ is not C#, and 40% is not 40.
_PART_OF_WORD = frozenset("#%&")
_MARKUP = frozenset("|~")
_MINUS = "\u2212"

_NEGATIONS = one_of(
    "not no never none neither nor nothing nobody without against ne pas jamais aucun"
    " aucune ni rien sans contre non nicht kein keine keinen keinem keiner keines nie"
    " niemals nichts ohne gegen nunca jamás ningún ninguno ninguna tampoco nada sin contra"
    " 不 没 未 别"
)
# What may change between a sentence and its denial without changing what it is about.
_FILLERS = one_of(
    "a an the i we you it they he she this that these those us our do does did will would"
    " shall should can could may might must be is are was were been being to of in on at"
    " by for with as so now then yes think believe still also there have has had need let"
    " lets le la les l un une des du de d à au aux en y je j tu il elle nous vous ils"
    " elles ce c cela ça que qu est sont était soit être sera seront doit doivent devons"
    " devrait devrions devraient faut faudrait peut peuvent pouvons va vont allons pour"
    " avec par dans sur oui donc ai as avons ont der die das den dem ein eine einen einem"
    " einer wir ich sie er ihr man ist sind war waren sein wird werden wurde sollte"
    " sollten soll sollen kann können muss müssen darf dürfen zu im am auf für mit von bei"
    " ja el los las una unos unas del al yo nosotros es son era ser será debe deben"
    " debemos debería deberíamos puede pueden podemos hay para con por sí se lo"
)
_ENDINGS = ("ing", "ed", "es", "s")
_STEM_MIN_CHARS = 3
_SAME_CONTENT = 0.6
_MAX_CLAUSES = 100

_APOSTROPHES = str.maketrans("’ʼ‘", "'''")
_WRITTEN_OUT = (
    (re.compile(r"\b(?:won't|can't|cannot|shan't)"), "not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bn'(?=\w)"), "ne "),
    # They hold a negation and deny nothing.
    (re.compile(r"\bne\b([^.!?;\n]{0,40}?)\bpas seulement\b"), r"\1"),
    (re.compile(r"\b(?:not (?:only|just|merely)|nicht nur|pas seulement|no s[oó]lo)\b"), " "),
    (re.compile(r"\b(?:or|if|why|ou|si|oder|ob|o) (?:not|non|pas|nicht|no)\b"), " "),
)
_BETWEEN_CLAUSES = re.compile(
    r"[.!?;:,()\u2014\u2013\u3002\uff0c\uff01\uff1f\uff1b]|\n\s*(?=\n|[-*+•#>]|\d+[.)])"
    r"|\b(?:because|since|but|and|parce|car|mais|et|weil|denn|aber|und|porque|pero)\b"
)


def words_of(text: str) -> list[str]:
    """Return the words of a text, without case and punctuation.

    Signs that change what a word says stay with it: `C++`, `40%`, `-5`, `<`.
    Where words are not spaced, as in Chinese and Japanese, each character is one.

    >>> words_of("**Yes**: use C++, not `C#`!")
    ['yes', 'use', 'c++', 'not', 'c#']
    """
    plain = _with_minus(unicodedata.normalize("NFC", text).casefold())
    table = {ord(letter): _apart(letter) for letter in set(plain) if not letter.isalnum()}
    table.update({ord(letter): f" {letter} " for letter in set(plain) if _is_unspaced(letter)})
    return [word for word in plain.translate(table).split() if word.strip("#")]


def _with_minus(text: str) -> str:
    """Distinguish minus from hyphen: `-5` keeps a sign of its own, `e-mail` and `GPT-4` none."""
    parts = text.replace(_MINUS, "-").split("-")
    pieces = [parts[0]]
    for before, after in pairwise(parts):
        is_minus = after[:1].isdigit() and not before[-1:].isalnum()
        pieces += [_MINUS if is_minus else " ", after]
    return "".join(pieces)


def _apart(letter: str) -> str:
    """Return what stands for a sign: itself when it is part of a word, else a space."""
    category = unicodedata.category(letter)
    if letter in _MARKUP or category == "Sk":
        return " "
    return " " if category[0] in "PZC" and letter not in _PART_OF_WORD else letter


def _is_unspaced(letter: str) -> bool:
    return letter.isalnum() and ("\u3040" <= letter <= "\u9fff" or letter >= "\U00020000")


def likeness(one: str, other: str) -> float:
    """Return how alike two texts are by their words in any order, from 0 to 1 (Dice).

    >>> likeness("We should wait.", "should we WAIT?")
    1.0
    """
    left = words_of(one)
    right = words_of(other)
    if not left or not right:
        return 0.0
    shared = (Counter(left) & Counter(right)).total()
    return 2 * shared / (len(left) + len(right))


def are_alike(one: str, other: str, least: float) -> bool:
    """Return true if two texts share at least `least` of their words and none denies the other.

    Args:
        one: A text.
        other: Another one.
        least: How alike they must be, from 0 to 1.

    >>> are_alike("We should ship.", "We should not ship.", 0.5)
    False
    """
    return likeness(one, other) >= least and not denies(one, other)


def distance(one: str, other: str) -> float:
    """Return how far two texts lie apart, from 0 (the same words) to 1 (none, or a denial)."""
    left, right = frozenset(words_of(one)), frozenset(words_of(other))
    if not (left or right):
        return 0.0
    return 1.0 if denies(one, other) else 1 - len(left & right) / len(left | right)


def denies(one: str, other: str) -> bool:
    """Return true if one of two texts states in some clause the opposite of a clause of the other.

    What both of them say is no denial. At most 100 clauses that only one of
    them has are looked at, so no text can make it slow.

    >>> denies("Wait for the tests.", "Don't wait for the tests!")
    True
    """
    left, right = dict.fromkeys(_clauses(one)), dict.fromkeys(_clauses(other))
    only_left = [clause for clause in left if clause not in right][:_MAX_CLAUSES]
    only_right = [clause for clause in right if clause not in left][:_MAX_CLAUSES]
    return any(
        negated != denied and _same_content(content, contrary)
        for negated, content in only_left
        for denied, contrary in only_right
    )


def negates(text: str) -> bool:
    """Return true if a text holds a negation."""
    return any(negated for negated, _ in _clauses(text))


def _same_content(one: frozenset[str], other: frozenset[str]) -> bool:
    smaller, larger = sorted((one, other), key=len)
    return 2 * len(smaller) >= _SAME_CONTENT * (len(one) + len(other)) and smaller <= larger


def _clauses(text: str) -> Iterator[Clause]:
    """Yield each clause: whether it is negated, and what it is about."""
    plain = text.casefold().translate(_APOSTROPHES)
    for pattern, written in _WRITTEN_OUT:
        plain = pattern.sub(written, plain)
    for clause in _BETWEEN_CLAUSES.split(plain):
        words = words_of(clause)
        kept = [word for word in words if word not in _NEGATIONS]
        content = [word for word in kept if word not in _FILLERS] or kept
        if content:
            yield len(kept) < len(words), frozenset(map(_stem, content))


def _stem(word: str) -> str:
    """Return a word without the ending that a negation changes: it `works`, it does not `work`."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_MIN_CHARS:
            return word.removesuffix(ending).rstrip("e")
    return word.rstrip("e") or word


def same_position(position: str) -> str:
    """Return what two positions have in common when they are the same; "" for an empty one."""
    return " ".join(words_of(position))
