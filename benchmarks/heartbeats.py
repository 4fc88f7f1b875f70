"""What a heartbeat costs: over idle conversations, and over due ones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path

from benchmarks.measuring import Part, Row, in_turns, tell
from benchmarks.workspaces import COUNCIL, PASS, Site

BOUND = 15.0
CROWDS = (1, 100, 1_000, 10_000)
DUE = 50


def measure(
    folder: Path, rounds: int, crowds: tuple[int, ...] = CROWDS, due: int = DUE
) -> list[Part]:
    """Measure heartbeats with nothing to do, then with much to do."""
    return [_idle(folder / "idle", rounds, crowds), _due(folder / "due", rounds, due)]


def _idle(folder: Path, rounds: int, crowds: tuple[int, ...]) -> Part:
    from benchmarks.crowds import make_idle

    sites: dict[str, Site] = {}
    for number in crowds:
        tell(f"heartbeat: {number} idle conversations")
        site = sites[f"council heartbeat, {number:,} idle"] = Site(folder / str(number))
        make_idle(site.root, number)
        site.printed("heartbeat")
    first = next(iter(sites.values()))
    runs: dict[str, Callable[[], float]] = {"python -c pass": lambda: first.timed(PASS)}
    for what, site in sites.items():
        runs[what] = lambda site=site: site.timed((COUNCIL, "heartbeat"))  # type: ignore[misc]
    tell(f"heartbeat: {rounds} rounds")
    found = in_turns(runs, rounds)
    against = "python -c pass"
    rows = [Row(what, found[what], against, found[against], BOUND) for what in sites]
    return Part(
        "Heartbeat with nothing due",
        "All conversations wait for people, and nothing has changed since the last heartbeat.",
        rows,
    )


def _due(folder: Path, rounds: int, due: int) -> Part:
    numbers = count()

    def beat() -> float:
        site = Site(folder / str(next(numbers)))
        for number in range(due):
            site.converse(f"due{number}", 10_000, timeout=timedelta(hours=1))
        later = (site.place().now() + timedelta(hours=2)).isoformat()
        return site.timed((COUNCIL, "heartbeat", "--now", later)) / due

    rounds = max(1, rounds // 5)
    tell(f"heartbeat: {due} due conversations, {rounds} rounds")
    runs: dict[str, Callable[[], float]] = {
        "python -c pass": lambda: Site(folder / f"pass{next(numbers)}").timed(PASS),
        "due": beat,
    }
    found = in_turns(runs, rounds)
    row = Row(
        f"each of {due} due in one heartbeat",
        found["due"],
        "python -c pass",
        found["python -c pass"],
    )
    return Part(
        "Heartbeat with much due",
        "The time of the round is up in all of them: a phase closes, ten prompts are made and "
        "put down.",
        [row],
    )
