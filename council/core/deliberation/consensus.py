"""Consensus: what follows from the stances that agents stated, by counting alone.

The verdict is total and deterministic for any number of agents and any
stances. It reads no words: neither absence nor silence nor a word outside the
three stances is ever agreement.

The rule (A-85, revised): one agent supports another when it agrees with it and
the other does not disagree with it. Support is mutual where the other agrees
back, or was not asked. The reference is the agent with most mutual support;
all others count by their stance towards it. Agreement with a reference that
disagrees is contested and counts as partial: who refuses all others never
leads them. Strong: all agree, and every stance that was asked for is agree.
Soft: at least the threshold agree. None: everything else.

What a verdict hangs on is found by that rule, too: recorded stances are judged again
with one thing changed: an agent had not taken part, the threshold were another, none
had answered twice, none had flipped. Nothing is asked of any agent again.

Source: DL-041 to DL-047, DL-095, DL-102, HR-018, HR-020, A-85, DL-104.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from council.core.deliberation.played import (
    Played,
    Stances,
    asked_until,
    confidences,
    first_look,
    first_stances,
    present_in,
    stances_until,
    stated,
)
from council.core.reading_answers.stances import STANCES
from council.core.record import Any, Record

AGREE, PARTIAL, DISAGREE = STANCES
ABSENT = "absent"

STRONG = "strong"
SOFT = "soft"
NONE = "none"

_COUNTS = (AGREE, PARTIAL, DISAGREE, ABSENT)


class Verdict(Record):
    """What the stances come to.

    `reference` is the agent whose position is judged, "" when there is no
    agent at all. `towards` says how each counted agent stands to it: `agree`
    (the reference itself too), `partial`, `disagree` or `absent`; the four
    counts are the counts of that.

    `contested` are those among the partial ones that agree with a reference
    that disagrees with them. `silent` are those among the absent ones that did
    not speak, `unreadable` those that were asked and gave no stance that could
    be read. An absent one in neither spoke, but has no stance that counts: it
    was not asked yet, or is less sure than the floor.
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
    contested: list[str] = []
    silent: list[str] = []
    unreadable: list[str] = []

    @property
    def spoke(self) -> int:
        """Return how many of the counted agents have spoken, readable or not."""
        return len(self.towards) - len(self.silent)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Verdict:
        """Build a verdict from its JSON object; fields it does not know are left out.

        One of an earlier version names neither contested nor silent nor unreadable ones.
        """
        return cls(**{name: record[name] for name in cls._fields if name in record}).copy()


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


def weighted(verdict: Verdict, confidence: Mapping[str, int]) -> Weighted:
    """Count a verdict's agents by the confidence they stated; one that stated none weighs 0.

    It is shown beside the plain counts and never replaces them.

    Source: DL-102.
    """
    weights = {"agree": 0, "partial": 0, "disagree": 0, "absent": 0}
    for agent, stance in verdict.towards.items():
        weights[stance] += confidence.get(agent, 0)
    return Weighted(**weights)


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
        only_agreement: Every stance that was asked for is agree.

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
    spoke: Container[str] | None = None,
    asked: Mapping[str, Iterable[str]] | None = None,
    unreadable: Container[str] = (),
) -> Verdict:
    """Judge the stances that `agents` stated to each other.

    Args:
        agents: Who counts, in list order; stances of and to others are passed over.
        stances: The latest stance of each to each. What is none of the three
            words, and a stance to oneself, count as none.
        confidence: What each says of itself, 0 for nothing; only breaks ties.
        threshold: How many must agree; 0 for two thirds, rounded up.
        present: Whose word counts, None for all. Any other is absent whatever
            it said before, and is the reference only when none of them counts.
        spoke: Who spoke at all, None for those that are present.
        asked: About whom each was asked; a stated stance was asked for in any case.
        unreadable: Whose answer could not be read: its stances are those that
            could be. Who was asked, spoke and has none at all is unreadable, too.

    Source: DL-043 to DL-046, HR-018.
    """
    counted = list(dict.fromkeys(agents))
    views: dict[str, dict[str, str]] = {}
    wanted: dict[str, set[str]] = {}
    mute: set[str] = set()
    for one in counted:
        given = stances.get(one, {})
        stated_to = {other for other in counted if other != one and given.get(other) in STANCES}
        wanted[one] = stated_to.union((asked or {}).get(one, ())).intersection(counted) - {one}
        if present is None or one in present:
            if stated_to or not (wanted[one] or one in unreadable):
                views[one] = {other: given[other] for other in stated_to}
                continue
            mute.add(one)
        elif one in unreadable:
            mute.add(one)
    reference = max(counted, key=_support(views, wanted, confidence), default="")
    towards = dict.fromkeys(counted, ABSENT)
    towards.update((one, views[one].get(reference, ABSENT)) for one in views)
    contested = [
        one
        for one in views
        if towards[one] == AGREE and views.get(reference, {}).get(one) == DISAGREE
    ]
    towards.update(dict.fromkeys(contested, PARTIAL))
    if reference in views:
        towards[reference] = AGREE
    absent = [one for one in counted if towards[one] == ABSENT]
    unread = [one for one in absent if one in mute or (one in views and reference in wanted[one])]
    standing_to = list(towards.values())
    counts = {name: standing_to.count(name) for name in _COUNTS}
    holds = threshold_for(len(counted), threshold)
    only_agreement = all(
        views[one].get(other) == AGREE for one in views for other in wanted[one] if other in views
    )
    kind = verdict_of_counts(len(counted), holds, **counts, only_agreement=only_agreement)
    if len(views) < 2 <= len(counted):
        kind = NONE  # nothing is judged while only one has spoken, whatever the threshold
    return Verdict(
        type=kind,
        reached=kind != NONE,
        reference=reference,
        **counts,
        threshold=holds,
        towards=towards,
        contested=contested,
        silent=[
            one
            for one in absent
            if one not in unread and one not in views and (spoke is None or one not in spoke)
        ],
        unreadable=unread,
    )


def _support(
    views: Mapping[str, Mapping[str, str]],
    wanted: Mapping[str, Collection[str]],
    confidence: Mapping[str, int],
) -> Callable[[str], tuple[int, int, int, int]]:
    """Return how much speaks for an agent as the reference, as a key that orders agents.

    Of equals `max` takes the first: list order. One whose word does not count
    has less than no support.
    """
    support = dict.fromkeys(views, 0)
    mutual = dict.fromkeys(views, 0)
    against = dict.fromkeys(views, 0)
    for one, given in views.items():
        for other, stance in given.items():
            if other not in views:
                continue
            against[other] += stance == DISAGREE
            back = views[other].get(one, "")
            if stance == AGREE and back != DISAGREE:
                support[other] += 1
                mutual[other] += back == AGREE or one not in wanted[other]

    def key(agent: str) -> tuple[int, int, int, int]:
        if agent not in views:
            return (-1, 0, 0, 0)
        return (mutual[agent], support[agent], -against[agent], confidence.get(agent, 0))

    return key


class Heard:
    """What the rounds played come to, gathered once for all verdicts on them.

    Args:
        history: The rounds played, oldest first.
        floor: Who states less confidence than this, or none, counts as absent (DL-102).
    """

    def __init__(self, history: Sequence[Played], floor: int = 0) -> None:
        self.latest = stances_until(history)
        self._asked = asked_until(history)
        self._confidence = confidences(history)
        self._present = counted_in(history, floor)
        last = history[-1] if history else Played(tour=0, turns={})
        self._unreadable = {*last.unreadable, *set(last.turns).difference(present_in(last))}
        self._spoke = {*last.turns, *last.unreadable}
        self._now = stated(last)

    def judge(
        self,
        agents: Sequence[str],
        threshold: int = 0,
        *,
        stances: Stances | None = None,
        as_asked: bool = True,
    ) -> Verdict:
        """Judge by `stances`, the latest ones if none are given.

        Args:
            agents: Who counts, in list order.
            threshold: How many must agree; 0 for two thirds, rounded up.
            stances: Other stances than the latest, of each to each.
            as_asked: Whether a stance that was asked for and is missing matters.
        """
        views = dict(self.latest if stances is None else stances)
        for agent in self._unreadable.intersection(views):  # what it said before stands for nothing
            now = self._now.get(agent, {})
            views[agent] = {other: view for other, view in views[agent].items() if other in now}
        return verdict(
            agents,
            views,
            self._confidence,
            threshold,
            present=self._present,
            spoke=self._spoke,
            asked=self._asked if as_asked else None,
            unreadable=self._unreadable,
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
    return Heard(history, floor).judge(agents, threshold)


def counted_in(history: Sequence[Played], floor: int = 0) -> list[str]:
    """Return whose word counts after the last round: its speakers that reach the floor."""
    sure = confidences(history)
    present = present_in(history[-1]) if history else []
    return [agent for agent in present if sure.get(agent, 0) >= floor]


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
        blind: Only what each stated when it first saw the others counts.
        without_flips: The first stance of each to each counts, not the latest.
    """
    left = [agent for agent in dict.fromkeys(agents) if agent not in without]
    first = first_look if blind else first_stances if without_flips else None
    stances = first(history) if first else None
    # What was asked after the first sight is no part of it.
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
    ]
    first = first_stances(history)
    undone = heard.judge(everybody, threshold, stances=first)
    if undone.type != real.type:
        size = sum(
            stance != first[agent][other]
            for agent, stances in heard.latest.items()
            for other, stance in stances.items()
            if agent in everybody and other in everybody
        )
        name = "without flips"
        found.append(Variant(name=name, without_flips=True, size=size, verdict=undone))
    return sorted(found, key=lambda variant: variant.size)


def _smallest_sets(
    heard: Heard, agents: Sequence[str], real: Verdict, threshold: int
) -> Iterator[Variant]:
    largest = len(agents) - 2 if len(agents) <= _ALL_SETS_MAX_AGENTS else 2
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
