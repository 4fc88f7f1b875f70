"""What a part of the harness has to report: how many points it tried and what was wrong."""

from __future__ import annotations

import sys
import time
from typing import Any

_PROGRESS_EVERY_S = 10.0
_MOST_SHOWN = 12


class Ledger:
    """The account of one test of the harness.

    Args:
        part: The part it belongs to.
        title: What the progress lines call it.
    """

    def __init__(self, part: str, title: str) -> None:
        self.title = title
        self.record: dict[str, Any] = {
            "part": part,
            "points": 0,
            "violations": 0,
            "caught": 0,
            "bad": 0,
            "notes": [],
        }
        self.wrong: list[str] = []
        self._told_at = time.monotonic()

    def point(self, wrong: list[str], where: object = "") -> None:
        """Count one point, with what was wrong after it."""
        self.record["points"] += 1
        self.wrong += [f"{where}: {line}" for line in wrong]
        self.record["violations"] = len(self.wrong)
        if time.monotonic() - self._told_at > _PROGRESS_EVERY_S:
            self._told_at = time.monotonic()
            self.tell(f"{self.record['points']} points, {len(self.wrong)} violations so far")

    def tell(self, line: str) -> None:
        """Say how it goes, for a process that waits."""
        sys.stderr.write(f"faults: {self.title}: {line}\n")
        sys.stderr.flush()

    def note(self, line: str) -> None:
        """Keep a line for the end of the report."""
        self.record["notes"].append(line)

    def bad_store(self, caught: bool) -> None:
        """Count a store that is bad on purpose."""
        self.record["bad"] += 1
        self.record["caught"] += int(caught)

    def assert_clean(self) -> None:
        shown = "\n".join(self.wrong[:_MOST_SHOWN])
        assert not self.wrong, f"{len(self.wrong)} violations\n{shown}"


def table(records: list[dict[str, Any]], skipped: dict[str, str]) -> list[str]:
    """Return the summary, one line for each part."""
    parts: dict[str, dict[str, Any]] = {}
    for one in records:
        sums = parts.setdefault(one["part"], {**one, "notes": []} | dict.fromkeys(_COUNTED, 0))
        for field in _COUNTED:
            sums[field] += one[field]
        sums["notes"] += one["notes"]
    lines = [f"{'part':<28}{'points':>8}{'violations':>12}{'bad stores caught':>20}"]
    for part, sums in sorted(parts.items()):
        caught = f"{sums['caught']}/{sums['bad']}"
        lines.append(f"{part:<28}{sums['points']:>8}{sums['violations']:>12}{caught:>20}")
    totals = {field: sum(sums[field] for sums in parts.values()) for field in _COUNTED}
    caught = f"{totals['caught']}/{totals['bad']}"
    lines.append(f"{'all':<28}{totals['points']:>8}{totals['violations']:>12}{caught:>20}")
    lines += [f"{part}: {note}" for part, sums in sorted(parts.items()) for note in sums["notes"]]
    lines += [f"not tried: {where}: {reason}" for where, reason in sorted(skipped.items())]
    return lines


_COUNTED = ("points", "violations", "caught", "bad")
