"""Counterfactuals: what the verdict would have been, and what it hangs on.

Recorded stances are judged again by the rule of `consensus`, with one thing
changed: somebody had not taken part, the threshold were another, nobody had
looked twice, nobody had flipped. Nothing is asked of any agent again.

Source: DL-104.
"""

from __future__ import annotations

from itertools import combinations

from council.core.deliberation.consensus import Heard
from council.core.deliberation.played import first_look, first_stances
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from council.core.deliberation.consensus import Verdict
    from council.core.deliberation.played import Played, Stances

# Up to here all sets of agents are tried, beyond it pairs at most.
_ALL_SETS_MAX_AGENTS = 6


class Variant(Record):
    """One change and the verdict it gives.

    `name` says the change in a few words, such as `without nova`. `threshold`
    is 0 when it is not what was changed. `size` orders variants: how many
    agents were left out, by how much the threshold moved, how many flips were
    undone.
    """

    name: str
    without: tuple[str, ...] = ()
    threshold: int = 0
    blind: bool = False
    without_flips: bool = False
    size: int = 1
    verdict: Verdict


def replay(
    agents: Sequence[str],
    history: Sequence[Played],
    *,
    threshold: int = 0,
    floor: int = 0,
    without: Collection[str] = (),
    blind: bool = False,
    without_flips: bool = False,
) -> Verdict:
    """Judge a history again with something changed; with nothing changed it is the real verdict.

    Who was absent stays absent, whatever is changed.

    Args:
        agents: Who counts, in list order.
        history: The rounds played, oldest first.
        threshold: How many must agree; 0 for two thirds of those that are
            left. One that is more than are left means all of them.
        floor: The confidence below which an agent counts as absent.
        without: These never took part.
        blind: Only what each stated at its first look at the others counts.
        without_flips: The first stance of each to each counts, not the latest.
    """
    left = [agent for agent in dict.fromkeys(agents) if agent not in without]
    stances = None
    if blind:
        stances = first_look(history)
    elif without_flips:
        stances = first_stances(history)
    # What was asked after the first look is no part of it.
    return Heard(history, floor).judge(left, threshold, stances=stances, as_asked=not blind)


def hangs_on(
    agents: Sequence[str], history: Sequence[Played], *, threshold: int = 0, floor: int = 0
) -> list[Variant]:
    """Return the smallest changes that turn the type of the verdict, the smallest first.

    Tried are: leaving out agents (each one, then larger sets of which no part
    is enough; with more than six agents pairs at most; two are always left),
    the nearest other threshold from 2 on, undoing all flips.

    Source: DL-104.
    """
    heard = Heard(history, floor)
    everybody = list(dict.fromkeys(agents))
    real = heard.judge(everybody, threshold)
    found = [
        *_smallest_sets(heard, everybody, real, threshold),
        *_nearest_thresholds(heard, everybody, real),
        *_without_flips(heard, everybody, real, threshold, first_stances(history)),
    ]
    return sorted(found, key=lambda variant: variant.size)


def _smallest_sets(
    heard: Heard, agents: Sequence[str], real: Verdict, threshold: int
) -> Iterator[Variant]:
    largest = len(agents) - 2
    if len(agents) > _ALL_SETS_MAX_AGENTS:
        largest = min(largest, 2)
    enough: list[frozenset[str]] = []
    for size in range(1, largest + 1):
        for without in combinations(agents, size):
            left_out = frozenset(without)
            if any(part < left_out for part in enough):
                continue
            found = heard.judge([one for one in agents if one not in left_out], threshold)
            if found.type != real.type:
                enough.append(left_out)
                name = f"without {' and '.join(without)}"
                yield Variant(name=name, without=without, size=size, verdict=found)


def _nearest_thresholds(heard: Heard, agents: Sequence[str], real: Verdict) -> Iterator[Variant]:
    others = [other for other in range(2, len(agents) + 1) if other != real.threshold]
    for other in sorted(others, key=lambda other: abs(other - real.threshold)):
        found = heard.judge(agents, other)
        if found.type != real.type:
            size = abs(other - real.threshold)
            yield Variant(name=f"threshold {other}", threshold=other, size=size, verdict=found)
            return


def _without_flips(
    heard: Heard, agents: Sequence[str], real: Verdict, threshold: int, first: Stances
) -> Iterator[Variant]:
    found = heard.judge(agents, threshold, stances=first)
    if found.type != real.type:
        size = sum(
            stance != first[agent][other]
            for agent, stances in heard.latest.items()
            for other, stance in stances.items()
            if agent in agents and other in agents
        )
        yield Variant(name="without flips", without_flips=True, size=size, verdict=found)
