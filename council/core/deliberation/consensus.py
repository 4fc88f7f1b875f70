"""Consensus: what follows from the stances that agents stated, by counting alone.

The verdict is total and deterministic for any number of agents and any
stances. It reads no words: neither absence nor silence nor a word outside the
three stances is ever agreement.

The rule (A-85): the reference is the agent with most support, itself plus
those that agree with it. All others count by their stance towards it. Strong:
all agree, and nobody stated another stance to anybody. Soft: at least the
threshold agree. None: everything else.

Source: DL-041 to DL-047, DL-095, DL-102, A-85.
"""

from __future__ import annotations

from council.core.deliberation.played import confidences, present_in, stances_until
from council.core.reading_answers.stances import STANCES
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from typing import Any, Self

    from council.core.deliberation.played import Played

AGREE, PARTIAL, DISAGREE = STANCES
ABSENT = "absent"

STRONG = "strong"
SOFT = "soft"
NONE = "none"

_COUNTS = (AGREE, PARTIAL, DISAGREE, ABSENT)


class Verdict(Record):
    """What the stances come to.

    `reference` is the agent whose position is judged, "" when there is no
    agent at all. `towards` tells how each counted agent stands to it: `agree`
    (the reference itself too), `partial`, `disagree` or `absent`; the four
    counts are the counts of that.
    """

    type: str
    reached: bool
    reference: str
    agree: int
    partial: int
    disagree: int
    absent: int
    threshold: int
    towards: dict[str, str]

    def to_record(self) -> dict[str, Any]:
        """Return the verdict as a JSON object."""
        return dict(self.copy().__dict__)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Build a verdict from its JSON object; fields it does not know are left out."""
        given = {name: record[name] for name in cls._fields}
        return cls(**{**given, "towards": dict(given["towards"])})


def default_threshold(count: int) -> int:
    """Return two thirds of `count` agents, rounded up (DL-042).

    >>> [default_threshold(count) for count in range(2, 8)]
    [2, 2, 3, 4, 4, 5]
    """
    return (2 * count + 2) // 3


def threshold_for(count: int, configured: int = 0) -> int:
    """Return the threshold that holds for `count` agents.

    Args:
        count: How many agents are counted.
        configured: What was asked for; 0 or less for the default. More than
            there are agents means all of them.
    """
    return min(configured, count) if configured > 0 else default_threshold(count)


def verdict_of_counts(
    count: int,
    threshold: int,
    agree: int,
    partial: int,
    disagree: int,
    absent: int,
    *,
    only_agreement: bool = True,
) -> str:
    """Return `strong`, `soft` or `none` for how `count` agents stand to the reference.

    Args:
        count: How many agents are counted, absent ones too.
        threshold: How many must agree; 0 for two thirds.
        agree: How many agree, the reference itself among them.
        partial: How many agree in part.
        disagree: How many disagree.
        absent: How many say nothing about the reference.
        only_agreement: Nobody stated another stance than agree to anybody.

    Source: DL-041, DL-045, A-85.
    """
    others = partial + disagree + absent
    if agree <= 0:
        return NONE
    if agree >= count and not others and only_agreement:
        return STRONG
    return SOFT if agree >= threshold_for(count, threshold) else NONE


def verdict(
    agents: Sequence[str],
    stances: Mapping[str, Mapping[str, str]],
    confidence: Mapping[str, int],
    threshold: int = 0,
    *,
    present: Container[str] | None = None,
) -> Verdict:
    """Judge the stances that `agents` stated to each other.

    Args:
        agents: Who counts, in list order; stances of and to others are passed over.
        stances: The latest stance of each to each. What is none of the three
            words, and a stance to oneself, count as none.
        confidence: What each says of itself, 0 for nothing; only breaks ties.
        threshold: How many must agree; 0 for two thirds, rounded up.
        present: Who spoke, None for all. Who did not is absent whatever it
            said before, and is the reference only when nobody spoke.

    Source: DL-043 to DL-046.
    """
    counted = list(dict.fromkeys(agents))
    there = [one for one in counted if present is None or one in present]
    support = dict.fromkeys(there, 1)
    against = dict.fromkeys(there, 0)
    only_agreement = True
    for one in there:
        for other, stance in stances.get(one, {}).items():
            if other == one or other not in support or stance not in STANCES:
                continue
            only_agreement = only_agreement and stance == AGREE
            support[other] += stance == AGREE
            against[other] += stance == DISAGREE
    # Of equals, max takes the first: list order. Whoever is absent has no support at all.
    reference = max(
        counted,
        key=lambda one: (support.get(one, 0), -against.get(one, 0), confidence.get(one, 0)),
        default="",
    )
    towards = dict.fromkeys(counted, ABSENT)
    for one in there:
        stance = AGREE if one == reference else stances.get(one, {}).get(reference, "")
        towards[one] = stance if stance in STANCES else ABSENT
    standing_to = list(towards.values())
    counts = {name: standing_to.count(name) for name in _COUNTS}
    holds = threshold_for(len(counted), threshold)
    kind = verdict_of_counts(len(counted), holds, **counts, only_agreement=only_agreement)
    return Verdict(
        type=kind,
        reached=kind != NONE,
        reference=reference,
        **counts,
        threshold=holds,
        towards=towards,
    )


def standing(
    agents: Sequence[str], history: Sequence[Played], *, threshold: int = 0, floor: int = 0
) -> Verdict:
    """Judge how things stand after the last round of `history`, a vote or any other (DL-047).

    Args:
        agents: Who counts: all participants but the devil's advocate (DL-095).
        history: The rounds played, oldest first.
        threshold: How many must agree; 0 for two thirds, rounded up.
        floor: Who states less confidence than this, or none, counts as absent (DL-102).
    """
    sure = confidences(history)
    return verdict(
        agents, stances_until(history), sure, threshold, present=counted_in(history, floor)
    )


def counted_in(history: Sequence[Played], floor: int = 0) -> list[str]:
    """Return whose word counts after the last round: its speakers that reach the floor."""
    sure = confidences(history)
    return [
        agent
        for played in history[-1:]
        for agent in present_in(played)
        if sure.get(agent, 0) >= floor
    ]
