"""What was played: the turns of a deliberation, round by round, as the rules of judgement read it.

A history is a sequence of `Played`, oldest round first. What is asked of it
here are facts: who stated which stance when, who was there, how sure they
said they were. What follows from them is decided elsewhere.

A stance counts as stated when it is one of the three words, towards an agent
else, and not in a blind round: there no agent has seen what it would judge.

The measures compare and count words and stances: repetition, stability,
domination, diversity, tallies. They show when going on is of no use and what
to show beside a verdict; none of them makes a verdict.

Source: DL-044, DL-047, DL-097, HR-018, DL-082, DL-083, DL-094, DL-099, A-88.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from council.core.deliberation.likeness import are_alike, distance, same_position
from council.core.reading_answers.stances import STANCES
from council.core.reading_answers.turns import Turn
from council.core.record import Record

Stances = dict[str, dict[str, str]]


class Played(Record):
    """One round: its number and the turn of each agent that took one, in order of speaking.

    In a `blind` round no agent saw the others before it closed; a `vote` is the
    round in which each gave its final position. `asked` names about whom each
    was asked for a stance. The answers of those in `unreadable` could not be
    read, also after they were asked again.
    """

    tour: int
    turns: dict[str, Turn]
    blind: bool = False
    vote: bool = False
    asked: dict[str, tuple[str, ...]] = {}
    unreadable: tuple[str, ...] = ()


def stated(played: Played) -> Stances:
    """Return the stances stated in one round, of each agent that stated any to each other."""
    if played.blind:
        return {}
    found: Stances = {}
    for agent, turn in played.turns.items():
        for other, stance in turn.stances().items():
            if other != agent and stance in STANCES:
                found.setdefault(agent, {})[other] = stance
    return found


def stances_until(history: Sequence[Played]) -> Stances:
    """Return the latest stance that each agent stated to each other (DL-044)."""
    latest: Stances = {}
    for played in history:
        for agent, stances in stated(played).items():
            latest.setdefault(agent, {}).update(stances)
    return latest


def asked_until(history: Sequence[Played]) -> dict[str, set[str]]:
    """Return about whom each agent was asked in any round (HR-018)."""
    asked: dict[str, set[str]] = {}
    for played in history:
        for agent, others in played.asked.items():
            asked.setdefault(agent, set()).update(others)
    return asked


def first_stances(history: Sequence[Played]) -> Stances:
    """Return the earliest stance that each agent stated to each other."""
    return stances_until(history[::-1])


def first_look(history: Sequence[Played]) -> Stances:
    """Return what each agent stated in the first round in which it stated any stance."""
    seen: Stances = {}
    for played in history:
        for agent, stances in stated(played).items():
            seen.setdefault(agent, stances)
    return seen


def present_in(played: Played) -> list[str]:
    """Return who took a turn in a round of which something could be read."""
    return [agent for agent, turn in played.turns.items() if turn.is_readable]


def confidences(history: Sequence[Played]) -> dict[str, int]:
    """Return the latest confidence that each agent stated; who never did is not in it."""
    return {
        agent: turn.confidence
        for played in history
        for agent, turn in played.turns.items()
        if turn.confidence
    }


# Rounds 1 and 2 are the first sight and the first reaction to it: nothing is repeated yet (DL-082).
_FIRST_ROUNDS = 2


class Group(Record):
    """Agents whose positions say the same; `position` is the text of the first of them."""

    position: str
    agents: tuple[str, ...]


def repeats(before: Played, last: Played, *, alike: float = 0.9) -> bool:
    """Return true if most agents argue in round `last` as they did in the round before.

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
        return are_alike(before.reasoning, last.reasoning, alike)
    return are_alike(before.position, last.position, alike)


def is_stable(before: Played, last: Played) -> bool:
    """Return true if the same agents stated the same stances in two rounds running.

    At least two agents must have stated one: in a blind round none does. A
    vote is never compared.

    Source: DL-099.
    """
    if before.vote or last.vote:
        return False
    stances = stated(last)
    return len(stances) >= 2 and stances == stated(before)


def is_settled(history: Sequence[Played]) -> bool:
    """Return true if no agent changed a stance or stated a new one in the last round.

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


def dominating(words: Mapping[str, int], *, factor: float = 1.5) -> tuple[str, ...]:
    """Return the agents that said more than `factor` / N of all words, in list order (DL-083)."""
    whole = sum(words.values())
    return tuple(agent for agent, said in words.items() if said * len(words) > factor * whole)


def diversity(positions: Sequence[str]) -> float:
    """Return the mean distance of positions from each other, from 0 (equal) to 1 (disjoint).

    The distance of two is 1 minus the share of words they have in common, and
    1 where one denies the other; fewer than two positions have none.

    Source: DL-094, HR-021, A-88.
    """
    pairs = list(combinations(positions, 2))
    return sum(distance(one, other) for one, other in pairs) / len(pairs) if pairs else 0.0


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
