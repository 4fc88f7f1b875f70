"""A chain of runs goes on until its rules end it: nothing of one run is left in the next.

Agents are real little programs, and no clock beats: each run is started by the one before it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from council.core.protocol.registering import Joining
from council.operations.heartbeat.gate import halt, resume_all
from council.operations.protocol import registry
from council.operations.protocol.asking import request
from tests.operations.halls import Hall
from tests.operations.tables import all_is_quiet

# Who starts an agent is its parent; how much of it is in memory is noted for each run.
_NOTES = (
    "cat >/dev/null; sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$PPID/status "
    '>>"$COUNCIL_ROOT/held"; '
)
ANSWERS = f'{_NOTES} echo "Said under $COUNCIL_TASK_ID."'
# How many frames the first of a chain may use; one run needed eleven of them from all that follow.
_FRAMES = 250
_FEW, _MANY = 40, 1000
_PHASES = ("collect", "challenge", "resolve", "synthesize")


@pytest.fixture
def short_stack() -> Iterator[None]:
    """Let the stack of whatever is forked from here be as short as one run needs it."""
    usual, here = sys.getrecursionlimit(), 0
    frame = sys._getframe()
    while frame is not None:
        here, frame = here + 1, frame.f_back  # type: ignore[assignment]
    sys.setrecursionlimit(here + _FRAMES)
    yield
    sys.setrecursionlimit(usual)


@pytest.fixture
def hall(tmp_path: Path, short_stack: None) -> Hall:
    return Hall(tmp_path / "workspace")


def _held(hall: Hall, runs: int) -> list[int]:
    """Return how many KiB each run's supervisor held, after looking how many runs there were."""
    broken = Path(hall.place.paths.failure_log)
    assert not broken.exists(), broken.read_text()
    held = [int(one) for one in (hall.root / "held").read_text().split()]
    assert len(held) >= runs
    return held


def _quiet(hall: Hall) -> None:
    """Wait until the chain is over, as long as it goes on."""
    held = hall.root / "held"
    known = -1
    while known < (known := held.stat().st_size if held.exists() else 0):
        with suppress(AssertionError):
            return all_is_quiet()
    raise AssertionError("the chain stands still")


def _room(hall: Hall, runs: int) -> list[int]:
    hall.seat_all(ANSWERS, ("owl", "gecko", "lark"), max_runs=1, retry_backoff=[])
    path = hall.root / "council.toml"
    cycles = -(-runs // 3)
    rules = f"[channels]\nmax_cycles = {cycles}\nmax_repeats = 0\nalike = 1.0\n"
    path.write_text(path.read_text() + rules)
    hall.room("owl", "gecko", "lark").post()
    _quiet(hall)
    return _held(hall, runs)


def _councils(hall: Hall, runs: int) -> list[int]:
    # Each beat opens every council that waits, so few of many agents are asked three times each.
    agents = tuple(f"a{number}" for number in range(max(10, runs // 30)))
    hall.seat_all(ANSWERS, agents, max_runs=1, retry_backoff=[])
    halt(hall.place)
    for number in range(-(-runs // (3 * len(agents) + 1))):
        hall.convene(name=f"c{number}", agents=agents, phases=_PHASES)
    resume_all(hall.place)
    _quiet(hall)
    return _held(hall, runs)


def _tasks(hall: Hall, runs: int) -> list[int]:
    hall.seat_all(ANSWERS, ("owl",), max_runs=1, retry_backoff=[])
    registry.join(hall.place, Joining(agent="owl", capabilities=("plan",)))
    halt(hall.place)
    for number in range(runs):
        request(hall.place, f"Plan the day {number}", caps=("plan",))
    resume_all(hall.place)
    _quiet(hall)
    return _held(hall, runs)


@pytest.mark.req("OP-001")
@pytest.mark.parametrize(
    "chain", [_room, *(pytest.param(one, marks=pytest.mark.long) for one in (_councils, _tasks))]
)
def test_no_run_stands_on_the_stack_of_the_one_before_it(hall: Hall, chain):
    chain(hall, _FEW)


@pytest.mark.slow
@pytest.mark.req("OP-001")
@pytest.mark.parametrize("chain", [_room, _councils, _tasks])
def test_a_thousand_runs_need_no_more_memory_than_the_first_hundred(hall: Hall, chain):
    held = chain(hall, _MANY)
    first, last = max(held[50:100]), max(held[-50:])
    assert last < first * 1.2 + 2048, (held[::50], first, last)
