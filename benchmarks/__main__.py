"""Print what commands, answers and turns cost: `python -m benchmarks`.

Everything is measured in one go, each figure against a baseline of its own
that ran in turns with it. The table is kept as `benchmarks/RESULTS.md`, but
for runs that are shortened. The exit code is 1 when a bound is missed.
Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    at_once,
    engine,
    growth,
    heartbeats,
    prompt_sizes,
    results,
    rooms,
    sizes,
    start_up,
    tasks,
    turns,
    web,
    wire,
    writing,
)
from benchmarks.measuring import Part

ROUNDS = 21
QUICK_ROUNDS = 5

Measure = Callable[[Path, int, bool], list[Part]]

PARTS: dict[str, Measure] = {
    "commands": lambda folder, rounds, _: [start_up.measure(folder, rounds)],
    "writes": lambda folder, rounds, _: writing.measure(folder, rounds),
    "at-once": lambda folder, rounds, _: [at_once.measure(folder, max(3, rounds // 2))],
    "heartbeats": lambda folder, rounds, quick: heartbeats.measure(
        folder, rounds, heartbeats.CROWDS[:3] if quick else heartbeats.CROWDS
    ),
    "sizes": lambda folder, rounds, _: [sizes.measure(folder, max(7, rounds // 2))],
    "growth": lambda folder, _rounds, quick: [
        growth.measure(folder, 100 if quick else growth.ANSWERS)
    ],
    "prompts": lambda folder, _rounds, _quick: [prompt_sizes.measure(folder)],
    "turns": lambda folder, rounds, _: [turns.measure(folder, max(3, rounds // 2))],
    "rooms": lambda folder, rounds, quick: [
        rooms.measure(folder, max(11, rounds // 2), 10_000 if quick else rooms.MANY)
    ],
    "tasks": lambda folder, rounds, quick: [
        tasks.measure(folder, rounds, 1_000 if quick else tasks.MANY)
    ],
    "web": lambda folder, rounds, quick: web.measure(
        folder, rounds, events=500 if quick else web.EVENTS
    ),
    "engine": lambda folder, rounds, quick: engine.measure(
        folder, rounds, engine.CROWDS[:1] if quick else engine.CROWDS
    ),
    "messages": lambda _folder, rounds, _quick: [wire.measure(rounds)],
}


def main(argv: list[str]) -> int:
    """Measure, print the table, keep it, return the exit code."""
    options = _options(argv)
    wanted = options.only or list(PARTS)
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    found: list[Part] = []
    with tempfile.TemporaryDirectory(prefix="council-bench-", dir=options.dir) as name:
        folder = Path(name).resolve()
        for part in wanted:
            measured = PARTS[part](folder / part, rounds, options.quick)
            print(results.table(measured) + "\n", flush=True)
            found += measured
        if not options.quick and wanted == list(PARTS):
            command = f"python -m benchmarks --rounds {rounds}" if options.rounds else "make bench"
            text = results.markdown(found, command, rounds, folder)
            results.KEPT.write_text(text, encoding="utf-8")
    return 1 if any(row.missed for part in found for row in part.rows) else 0


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, help=f"how many count (default {ROUNDS})")
    parser.add_argument(
        "--quick", action="store_true", help="few rounds, small crowds; nothing is kept"
    )
    parser.add_argument(
        "--only", action="append", choices=list(PARTS), help="measure this part; may be repeated"
    )
    parser.add_argument("--dir", help="where to measure (default: the temporary folder)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
