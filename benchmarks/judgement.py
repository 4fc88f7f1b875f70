"""Simulate what listening does to a verdict: `python -m benchmarks.judgement`.

Agents without a model answer a question and listen to each other; the rules of
the product judge what they say. The tables are kept as
`benchmarks/JUDGEMENT.md`, but for runs that are shortened. The same seed gives
the same figures. Progress goes to standard error.

Source: `peers.md`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.conformity import wrong_when_unanimous
from benchmarks.experiments import EXPERIMENTS, Table
from benchmarks.measuring import tell

KEPT = Path(__file__).with_name("JUDGEMENT.md")
SEED = 1
RUNS = 10_000

_BLIND_REFERENCE = 0.027
_ABOUT = """\
No model of language is asked. Agents that know an answer with some probability listen to each
other; what they say goes as structured turns through the rules of the product: order of
speaking, stances, verdict, tallies, flips, collapse. Within a table all rows have the same luck,
so differences between rows are less noisy than the figures themselves.

**The model.** A question has one right option and several wrong ones. On its own an agent is
right with one probability, and its errors spread evenly over the wrong options. Agents speak in
rotating order and hear the latest answer of each other; in a blind round they hear nothing. With
the probability *conformity* an agent gives way to what it hears: it takes the answer that most
others gave, or of anyone. It agrees with those whose answer is its own and disagrees with the
others. Nobody learns anything about the question, except agents that are *convinced*: these go
over only to who is right, and name it."""
_FINDINGS = """\
- **A blind first round keeps a unanimous vote honest**, and a vote right after it makes the best
  use of it. Two rounds of listening give most of that back with three agents, less with more.
  This is why the blind tally is kept and shown beside the final one.
- **Rounds without new evidence do not help.** Who takes anyone's answer leaves the mean as it is
  and takes from the majority what made it better than one agent. Who takes the majority's brings
  the mean towards the majority, which stays where the blind tally was. Only reasons add to it.
- **A flip without a cited reason** separates those who give way from those who are convinced,
  as long as who gives way makes up no reason: here it says none.
- **A collapse separates nobody**: good reasons cause it as often as conformity does. A consensus
  after one is somewhat more often wrong where few give way, and no more where most do. It is a
  question to ask, not a sign of error.
- **Who stays is not flagged.** Where a stance changes without a comment because the peer has moved,
  as somewhere in most runs, that is in the log and no warning. The stances still flagged, in about
  a third of the runs, are those of agents that have moved. They do not tell who gives way from who
  is convinced: one that names the peer who convinced it says nothing to the others of the same
  mind. They are to be read beside the flips of positions.
- **A higher threshold** makes consensus rarer and more often right while answers are independent,
  less so after a visible round; once all have listened, it hardly helps.
- **A devil's advocate** who speaks early breaks a visible chain. It adds nothing to a vote after
  a blind round. In later rounds those who give way take over what it makes up: seated early it
  makes more unanimous votes wrong, seated last slightly fewer."""


def main(argv: list[str]) -> int:
    """Simulate, print the tables, keep them; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judgement", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs in each cell (default 10000)")
    parser.add_argument("--seed", type=int, default=SEED, help="what chance follows from")
    options = parser.parse_args(argv)
    begun = time.perf_counter()
    tables = [make(options.seed, options.runs) for make in EXPERIMENTS]
    print("\n\n".join(on_terminal(table) for table in [*tables, plain_models()]))
    if (options.runs, options.seed) == (RUNS, SEED):
        KEPT.write_text(page(tables, options.seed, options.runs), encoding="utf-8")
    tell(f"{time.perf_counter() - begun:.0f} s")
    return 0


def plain_models() -> Table:
    """Return which plain models meet the reference figure of the blind round, exactly."""
    rows: list[tuple[str, ...]] = []
    for options in (2, 3, 4, 5, 6):
        right = _right_for(options)
        visible = wrong_when_unanimous(right, options, 0.5)
        rows.append((str(options), f"{right:.3f}", "2.7 %", f"{100 * visible:.1f} %"))
    blind, visible = (wrong_when_unanimous(0.6, 4, c) for c in (0.0, 0.5))
    rows.append(("4, used here", "0.600", f"{100 * blind:.1f} %", f"{100 * visible:.1f} %"))
    return Table(
        "Which plain model",
        "Three agents, conformity 0.5, computed without chance: how probably each must be right on "
        "its own for 2.7 % wrong among unanimous blind votes, and what a visible round then gives. "
        "24.8 % lies between four and five options, next to four.",
        ("options", "right alone", "blind", "visible"),
        rows,
    )


def _right_for(options: int) -> float:
    """Return how probably an agent must be right alone to meet the blind reference figure."""
    low, high = 1 / options, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if wrong_when_unanimous(middle, options, 0.0) > _BLIND_REFERENCE:
            low = middle
        else:
            high = middle
    return high


def against_the_references(tables: list[Table]) -> Table:
    """Put our figures beside those that are to be reproduced."""
    early, first = tables[0].rows, tables[1].rows
    anyone, belief = early[0:2], [row for row in early if row[0].startswith("answers anew")]
    rows: list[tuple[str, ...]] = [
        (what, theirs, *(f"{row[2]} → {row[-1]}" for row in (anyone[at], belief[at])))
        for at, what, theirs in (
            (0, "mean accuracy, rounds 1 to 5", "0.498 → 0.492"),
            (1, "majority vote, rounds 1 to 5", "0.669 → 0.605"),
        )
    ]
    for sight, theirs in (("visible", "24.8 %"), ("blind", "2.7 %")):
        row = next(one for one in first if one[:3] == ("3", "0.5", sight))
        rows.append((f"unanimous and wrong, {sight}", theirs, row[4], f"{row[5]}, exactly"))
    return Table(
        "Against the reference figures",
        "Five agents with four options, each right with 0.5: accuracy stays where it is in any "
        "model in which nobody prefers the right answer, and four options give 0.67 for the first "
        "majority. How far that falls depends on how much agents listen, which the reference does "
        "not say: conformity 0.05 towards anyone, and belief that weighs six answers, were chosen "
        "to meet 0.605. Three agents with conformity 0.5: right with 0.6 and four options is the "
        "round figure that comes nearest to both. The blind figure stays half a point to a point "
        "above the reference. So few blind votes are unanimous and wrong that a reference of about "
        "two thousand runs would scatter as much; how many it had, it does not say.",
        ("", "reference", "here, taking anyone's", "here, by belief or exactly"),
        rows,
    )


def page(tables: list[Table], seed: int, runs: int) -> str:
    """Return everything that `JUDGEMENT.md` says."""
    parts = [
        "# What listening does to a verdict",
        f"Made by `make bench-judgement` (`python -m benchmarks.judgement --runs {runs} "
        f"--seed {seed}`): {runs:,} runs for each figure. The same seed gives the same page.",
        _ABOUT,
        "## What follows",
        _FINDINGS,
    ]
    for table in [against_the_references(tables), plain_models(), *tables]:
        lines = [_row(table.head), "|" + "---|" * len(table.head), *map(_row, table.rows)]
        parts += [f"## {table.title}", table.notes, "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def on_terminal(table: Table) -> str:
    """Return a table as lines of equal columns."""
    rows = [table.head, *table.rows]
    widths = [max(len(row[at]) for row in rows) for at in range(len(table.head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join([table.title, *("  " + line.rstrip() for line in lines)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
