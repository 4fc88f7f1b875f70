"""When a run that failed is tried again: rows of what was, and what comes next."""

from datetime import UTC, datetime, timedelta

import pytest

from council.kernel import times
from council.runs import work
from council.runs.work import Runs, Try, next_try

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
BACKOFF = [10, 60]


def after(seconds: float) -> str:
    return times.text(NOW + timedelta(seconds=seconds))


def runs_of(*rows: tuple[int, str, float]) -> Runs:
    """Return runs of `ada`, one after the other: round, code ("" answered, None open), seconds."""
    runs, begun = Runs(), 0.0
    for tour, code, seconds in rows:
        attempt = 1 + sum(run.tour == tour for run in runs.by_id.values())
        one = work.Work(agent="ada", task="turn", tour=tour, attempt=attempt)
        at = NOW + timedelta(seconds=begun)
        work.evolve(runs, work.claimed(one, "c", at, timedelta(minutes=2)))
        begun += seconds
        end = work.answered(one.ident("c"), after(begun), work.Use())
        if code:
            end = work.failed(one.ident("c"), after(begun), code, "words")
        if code != "open":
            work.evolve(runs, end)
    return runs


SLOW = (1, "crashed", 5)
ROWS = [  # runs of rounds 1 and 2, the round, the next attempt, after how many seconds
    ([], 1, 1, None),
    ([(1, "open", 0)], 1, 0, 120),  # its lease
    ([(1, "", 3)], 1, 0, None),
    # A failure: twice more, later and later; nothing said is asked again at once.
    ([(1, "crashed", 0.5)], 1, 2, 10.5),
    ([SLOW], 1, 2, 15),
    ([SLOW, SLOW], 1, 3, 70),
    ([SLOW, SLOW, SLOW], 1, 0, None),
    ([SLOW, SLOW, (1, "lost", 5)], 1, 0, None),
    ([SLOW, SLOW, SLOW, (2, "crashed", 5)], 2, 2, 30),
    ([(1, "no-answer", 5)], 1, 2, 5),
    # What no further try can cure.
    ([(1, "refused-key", 0.5)], 1, 0, None),
    # Runs that were ended do not count at all.
    ([(1, "ended", 0.5)] * 4, 1, 5, None),
    ([SLOW, (1, "ended", 0.5), (1, "ended", 0.5)], 1, 4, None),
]


@pytest.mark.parametrize(("rows", "tour", "attempt", "seconds"), ROWS)
def test_what_comes_next(rows, tour, attempt, seconds):
    found = next_try(runs_of(*rows), "ada", "turn", tour, BACKOFF)
    assert (found.attempt, found.at) == (attempt, None if seconds is None else after(seconds))
    assert bool(found.open) == bool(rows and rows[-1][1] == "open")
    is_over = bool(rows) and not attempt and not found.open
    assert (found.gave_up is not None) == is_over


def test_a_question_counts_its_own_tries():
    runs = runs_of(SLOW, (1, "", 3))
    assert next_try(runs, "ada", "question", 1, BACKOFF) == Try(attempt=1)
