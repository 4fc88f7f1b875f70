"""The table as people read it: on the terminal, and kept as `RESULTS.md`."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measuring import Part, Row

KEPT = Path(__file__).with_name("RESULTS.md")


def table(parts: list[Part]) -> str:
    """Return the rows as lines of equal columns, for a terminal."""
    lines = []
    for part in parts:
        rows = [_head(part), *(_cells(row) for row in part.rows)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        lines += ["", part.title]
        lines += ["  " + _aligned(cells, widths).rstrip() for cells in rows]
    return "\n".join(lines[1:])


def markdown(parts: list[Part], command: str, rounds: int, folder: Path) -> str:
    """Return everything that `RESULTS.md` says."""
    lines = [
        "# What council costs",
        "",
        f"Made by `{command}`: medians of {rounds} rounds (other numbers for what takes long "
        "or is over in no time) in which what is compared runs in turns, one after the other. "
        "Ratios can be compared between machines and years, milliseconds only within this table. "
        "A missed bound says MISSED, and the command exits with 1.",
        "",
        f"{datetime.now(UTC):%Y-%m-%d} · Python {platform.python_version()} · "
        f"{platform.system()} {platform.release()} · {_file_system(folder)} · "
        f"{os.cpu_count()} cores",
    ]
    for part in parts:
        lines += ["", f"## {part.title}", "", part.notes, ""]
        lines += [f"| {' | '.join(_head(part))} |".replace("|  |", "| |")]
        lines += ["|---|--:|--:|---|--:|---|--:|"]
        lines += [f"| {' | '.join(_cells(row))} |".replace("|  |", "| |") for row in part.rows]
    return "\n".join(lines) + "\n"


def _head(part: Part) -> tuple[str, ...]:
    return ("", "ratio", "bound", "", part.unit, "against", part.unit)


def _cells(row: Row) -> tuple[str, ...]:
    bounds = [
        "" if row.bound is None else f"≤ {row.bound:g}",
        "" if row.limit_ms is None else f"≤ {row.limit_ms:g} ms",
    ]
    bound = ", ".join(one for one in bounds if one)
    return (
        row.what,
        "" if row.ratio is None else f"{row.ratio:.2f}",
        bound,
        ("MISSED" if row.missed else "kept") if bound else "",
        f"{row.ms:.1f}",
        row.against,
        f"{row.against_ms:.1f}" if row.against else "",
    )


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    numbers = (1, 2, 4, 6)
    return "  ".join(
        cell.rjust(widths[at]) if at in numbers else cell.ljust(widths[at])
        for at, cell in enumerate(cells)
    )


def _file_system(folder: Path) -> str:
    """Return the kind of file system that a folder lies on, as the system names it."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown file system"
    best, kind = "", "unknown file system"
    for mount in mounts:
        place, _, rest = mount.partition(" - ")
        point = place.split()[4]
        inside = f"{folder}/".startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, rest.split()[0]
    return kind
