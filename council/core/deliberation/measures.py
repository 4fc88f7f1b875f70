"""Measures of a deliberation: repetition, stability, domination, diversity, tallies.

They compare and count words and stances. They tell when going on is of no
use and what to show beside a verdict; none of them makes a verdict.

Source: DL-082, DL-083, DL-094, DL-097, DL-099, DL-102, A-88.
"""

from __future__ import annotations

import unicodedata
from itertools import combinations, pairwise

from council.core.deliberation.played import present_in, stances_until, stated
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from council.core.deliberation.consensus import Verdict
    from council.core.deliberation.played import Played
    from council.core.reading_answers.turns import Turn

ALIKE = 0.9
DOMINANT = 1.5

# Rounds 1 and 2 are the first look and the first reaction to it: nothing is repeated yet (DL-082).
_FIRST_ROUNDS = 2

# They belong to the word they touch: C++ is not C#, and 40% is not 40.
_PART_OF_WORD = frozenset("#%&")
_MARKUP = frozenset("|~")
_MINUS = "\u2212"


class Group(Record):
    """Agents whose positions say the same; `position` is the text of the first of them."""

    position: str
    agents: tuple[str, ...]


class Weighted(Record):
    """How agents stand to the reference, each counted by the confidence it stated."""

    agree: int
    partial: int
    disagree: int
    absent: int

    @property
    def share(self) -> float:
        """Return the part of all stated confidence that agrees, from 0 to 1."""
        whole = self.agree + self.partial + self.disagree + self.absent
        return self.agree / whole if whole else 0.0


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
    """Tell minus from hyphen: `-5` keeps a sign of its own, `e-mail` and `GPT-4` none."""
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
    remaining: dict[str, int] = {}
    for word in left:
        remaining[word] = remaining.get(word, 0) + 1
    shared = 0
    for word in right:
        if remaining.get(word, 0):
            remaining[word] -= 1
            shared += 1
    return 2 * shared / (len(left) + len(right))


def repeats(before: Played, last: Played, *, alike: float = ALIKE) -> bool:
    """Tell whether most agents argue in round `last` as they did in the round before.

    Most means more than half of those that took a turn in both, and at least
    two. Who gives no reasoning in either is compared by its position. Neither
    of the first two rounds, nor a vote, repeats anything.

    Source: DL-082, A-88.
    """
    if last.tour <= _FIRST_ROUNDS or last.vote:
        return False
    both = [agent for agent in last.turns if agent in before.turns]
    same = sum(1 for agent in both if _argue_alike(before.turns[agent], last.turns[agent], alike))
    return same >= 2 and 2 * same > len(both)


def _argue_alike(before: Turn, last: Turn, alike: float) -> bool:
    if before.reasoning or last.reasoning:
        return likeness(before.reasoning, last.reasoning) >= alike
    return likeness(before.position, last.position) >= alike


def is_stable(before: Played, last: Played) -> bool:
    """Tell whether the same agents stated the same stances in two rounds running.

    At least two agents must have stated one: in a blind round nobody does. A
    vote is never compared.

    Source: DL-099.
    """
    if before.vote or last.vote:
        return False
    stances = stated(last)
    return len(stances) >= 2 and stances == stated(before)


def is_settled(history: Sequence[Played]) -> bool:
    """Tell whether nobody changed a stance or stated a new one in the last round.

    It asks less than `is_stable`: where each states its stance only to those
    who spoke before it, and the order changes, no two rounds hold the same
    ones. At least two agents must have stated one, and all who took a turn in
    the round before must have taken one. A blind round and a vote settle nothing.

    Source: DL-099.
    """
    if len(history) < 2 or history[-1].vote or history[-2].vote or history[-2].blind:
        return False
    before, last = history[-2:]
    stances, known = stated(last), stances_until(history[:-1])
    return (
        len(stances) >= 2
        and not set(present_in(before)) - set(present_in(last))
        and all(
            known.get(agent, {}).get(other) == stance
            for agent, views in stances.items()
            for other, stance in views.items()
        )
    )


def dominating(words: Mapping[str, int], *, factor: float = DOMINANT) -> tuple[str, ...]:
    """Return the agents that said more than `factor` / N of all words, in list order (DL-083)."""
    whole = sum(words.values())
    return tuple(agent for agent, said in words.items() if said * len(words) > factor * whole)


def diversity(positions: Sequence[str]) -> float:
    """Return the mean distance of positions from each other, from 0 (equal) to 1 (disjoint).

    The distance of two is 1 minus the share of words they have in common;
    fewer than two positions have none.

    Source: DL-094, A-88.
    """
    pairs = list(combinations([frozenset(words_of(position)) for position in positions], 2))
    if not pairs:
        return 0.0
    return sum(1 - _overlap(one, other) for one, other in pairs) / len(pairs)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0


def tally(positions: Mapping[str, str]) -> list[Group]:
    """Group the agents whose positions are the same but for case, spaces and punctuation.

    The biggest group comes first, among equals the one with the agent that
    stands first in the list. An empty position is in no group.

    Source: DL-097.
    """
    groups: dict[str, Group] = {}
    for agent, position in positions.items():
        said = same_position(position)
        if said:
            group = groups.setdefault(said, Group(position=position.strip(), agents=()))
            group.agents += (agent,)
    return sorted(groups.values(), key=lambda group: -len(group.agents))


def same_position(position: str) -> str:
    """Return what two positions have in common when they are the same; "" for an empty one."""
    return " ".join(words_of(position))


def weighted(verdict: Verdict, confidence: Mapping[str, int]) -> Weighted:
    """Count a verdict's agents by the confidence they stated; one that stated none weighs 0.

    It is shown beside the plain counts and never replaces them.

    Source: DL-102.
    """
    weights = {"agree": 0, "partial": 0, "disagree": 0, "absent": 0}
    for agent, stance in verdict.towards.items():
        weights[stance] += confidence.get(agent, 0)
    return Weighted(**weights)
