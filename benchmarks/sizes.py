"""Whether commands stay quick as a conversation grows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

from benchmarks.measuring import Part, Row, in_turns, tell
from benchmarks.workspaces import AGENTS, COUNCIL, Site

# A file a hundred times as long must not be felt; one that is a thousand times as long must work.
TIMES = {"respond, 1 MB": 2.0, "context asked again, 10 MB": 5.0, "status, 10 MB": 5.0}
LIMIT_MS = {"respond, 10 MB": 1000.0}
SIZES = {"10 KB": 10_000, "1 MB": 1_000_000, "10 MB": 10_000_000}


def measure(folder: Path, rounds: int, sizes: dict[str, int] | None = None) -> Part:
    """Measure `context`, `respond` and `status` with files of each size."""
    sizes = sizes or SIZES
    runs: dict[str, Callable[[], float]] = {}
    for label, size in sizes.items():
        tell(f"sizes: a conversation of {label}")
        runs.update(_runs(folder / label.replace(" ", ""), label, size, rounds))
    tell(f"sizes: {len(runs)} commands, {rounds} rounds")
    found = in_turns(runs, rounds)
    smallest = next(iter(sizes))
    rows = []
    for what in runs:
        command, _, label = what.partition(", ")
        if label != smallest:
            against = f"{command}, {smallest}"
            bound, limit_ms = TIMES.get(what), LIMIT_MS.get(what)
            rows.append(
                Row(f"council {what}", found[what], against, found[against], bound, limit_ms)
            )
    return Part(
        "Large conversations",
        "Many rounds of contributions of 4 KB by six agents, each quoting the one before it. "
        "`context` prints all of it that the agent may see, so the prompt is as large as the "
        "file. `context asked again` finds the prompt that was made before; `context` comes "
        "after an answer of somebody else; what is left of it above the small one is reading, "
        "checking and printing 10 MB. Quotations are found here; one that was never said is "
        "looked for in everything said before it.",
        rows,
    )


def _runs(folder: Path, label: str, size: int, rounds: int) -> dict[str, Callable[[], float]]:
    site = Site(folder).with_agents()
    site.converse("active", size, people=rounds + 2)
    numbers = count(1)

    def respond() -> float:
        agent = f"p{next(numbers)}"
        return site.timed((COUNCIL, "respond", "--as", agent, f"Yes, says {agent}."))

    def context() -> float:
        return site.timed((COUNCIL, "context", "--as", AGENTS[0]))

    return {
        f"respond, {label}": respond,
        f"context, {label}": context,
        f"context asked again, {label}": context,
        f"status, {label}": lambda: site.timed((COUNCIL, "status")),
    }
