"""Judging the simulated talks by the rules of the product, and counting what comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import sqrt

from benchmarks.conformity import RIGHT, Luck, Setting, Talk, rounds_of, vote_of
from council.core.deliberation.consensus import Verdict, standing
from council.core.deliberation.flips import Flip, collapses, flips
from council.core.deliberation.played import Group, Played, tally


@dataclass(frozen=True, eq=False)
class Judged:
    """One talk with the vote after its last round, and how the rules judge it.

    What is asked of it is found once: runs in which the same was said share it.
    """

    setting: Setting
    history: list[Played]

    @property
    def rounds(self) -> int:
        """Return how many rounds came before the vote."""
        return len(self.history) - 1

    @cached_property
    def verdict(self) -> Verdict:
        """Return what the stances come to."""
        return standing(self.setting.counted, self.history)

    @property
    def is_wrong(self) -> bool:
        """Return true if the position that is judged is a wrong option."""
        return self.history[-1].turns[self.verdict.reference].position != RIGHT

    @cached_property
    def groups(self) -> list[Group]:
        """Return the final positions, the most frequent first."""
        votes = self.history[-1].turns
        return tally({agent: votes[agent].position for agent in self.setting.counted})

    @property
    def accuracy(self) -> float:
        """Return the part of the agents that is right in the end."""
        right = [len(group.agents) for group in self.groups if group.position == RIGHT]
        return sum(right) / len(self.setting.counted)

    @cached_property
    def flips(self) -> list[Flip]:
        """Return who changed its mind."""
        return flips(self.history, {})

    @cached_property
    def has_collapsed(self) -> bool:
        """Return true if all went over to the others at once."""
        return bool(collapses(self.history, self.setting.counted))


def judged_runs(setting: Setting, seed: int, runs: int, after: tuple[int, ...]) -> Iterator[Judged]:
    """Yield each run as it is judged by the vote after each of these numbers of rounds."""
    known: dict[tuple[int, ...], Judged] = {}
    for run in range(runs):
        talk = Talk(setting, Luck(seed, run))
        played: list[Played] = []
        # What is said with the same words is one and the same turn: see `conformity.said`.
        key: tuple[int, ...] = ()
        for one in islice(rounds_of(talk), max(after)):
            played.append(one)
            key += tuple(map(id, one.turns.values()))
            if len(played) in after:
                if key not in known:
                    known[key] = Judged(setting, [*played, vote_of(talk, one.tour + 1)])
                yield known[key]


class Share:
    """A part of a number of cases."""

    def __init__(self) -> None:
        self.cases = 0
        self.hits = 0.0

    def add(self, hit: float) -> None:
        """Count one case more, and whether it is one of those that are sought."""
        self.cases += 1
        self.hits += hit

    @property
    def value(self) -> float:
        """Return the part from 0 to 1, 0 of no cases."""
        return self.hits / self.cases if self.cases else 0.0

    @property
    def error(self) -> float:
        """Return the standard error of a part of cases that are hit or not."""
        return sqrt(self.value * (1 - self.value) / self.cases) if self.cases else 0.0

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} %" if self.cases else "–"
