"""Measuring: runs that take turns, their medians, and the rows they come to.

A busy machine slows down whatever runs at that moment. So what is compared is
run in turns, A B A B, and the medians of the two are divided: what disturbs
one disturbs the other.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `ratio` is `ms` divided by `against_ms`, the figure of what it is compared
    with. It must not be over `bound`, and `ms` not over `limit_ms`; None binds
    nothing.
    """

    what: str
    ms: float
    against: str = ""
    against_ms: float = 0.0
    bound: float | None = None
    limit_ms: float | None = None

    @property
    def ratio(self) -> float | None:
        """Return how many times as long as its baseline it takes, None without one."""
        return self.ms / self.against_ms if self.against_ms else None

    @property
    def missed(self) -> bool:
        """Return true if a bound is missed."""
        over = self.bound is not None and self.ratio is not None and self.ratio > self.bound
        return over or (self.limit_ms is not None and self.ms > self.limit_ms)


@dataclass(frozen=True)
class Part:
    """One group of rows under a heading, with what a reader must know to judge them.

    `unit` is what the figures of its rows count, which is mostly time.
    """

    title: str
    notes: str
    rows: list[Row]
    unit: str = "ms"


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long `work` takes."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def in_turns(runs: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Return the median of each run; every round runs all of them once.

    Args:
        runs: Each does its work once and returns the milliseconds that count.
        rounds: How many rounds are counted; one more comes first and is not.
    """
    taken: dict[str, list[float]] = {what: [] for what in runs}
    for number in range(rounds + 1):
        for what, run in runs.items():
            ms = run()
            if number:
                taken[what].append(ms)
    return {what: statistics.median(many) for what, many in taken.items()}


def tell(line: str) -> None:
    """Say what is measured now, to whoever waits."""
    print(line, file=sys.stderr, flush=True)
