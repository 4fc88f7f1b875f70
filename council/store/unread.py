"""Up to where the events have been read by one who must miss none: offsets, and ids.

The offsets say which lines were dealt with as a whole; the ids, which events
have been since, and guard against the copies of an event that the log may
hold. Only the newest days are looked at.

Source: `cli.md` section 5 (hooks), XC-008.
"""

from __future__ import annotations

import json
import os

from council.core.errors import CouncilError
from council.core.nesting import read_json
from council.core.record import Record
from council.store import files
from council.store.events import lines_from, parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.store.paths import Workspace

_DAYS = 3
_IDS = 500


class Mark(Record):
    """What was read: the size of each day's file, and the ids of the newest events."""

    offsets: dict[str, int] = {}
    ids: list[str] = []


def read_mark(path: str) -> Mark | None:
    """Return what was read; None when nothing tells, or it cannot be understood."""
    try:
        reading = files.read_stable(path)
        if reading is None:
            return None
        record = read_json(reading.data)
        return Mark(
            offsets={str(day): int(size) for day, size in record["offsets"].items()},
            ids=[str(one) for one in record["ids"]],
        )
    except (CouncilError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_mark(path: str, mark: Mark) -> None:
    """Keep what was read.

    Raises:
        CouncilError: The system refuses.
    """
    record = {"offsets": mark.offsets, "ids": mark.ids[-_IDS:]}
    files.make_folder(os.path.dirname(path))
    files.replace(path, json.dumps(record).encode("ascii") + b"\n", mode=0o600)


def end_of_events(workspace: Workspace) -> dict[str, int]:
    """Return the sizes of the newest files, as offsets for a mark."""
    sizes = {}
    for day in _newest_days(workspace):
        try:
            sizes[day] = os.stat(f"{workspace.events}/{day}").st_size
        except OSError:
            continue
    return sizes


def news(workspace: Workspace, mark: Mark) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the events that were not read yet, and the offsets behind them.

    Raises:
        CouncilError: The system refuses.
    """
    known = set(mark.ids)
    fresh: list[dict[str, Any]] = []
    offsets = {}
    for day in _newest_days(workspace):
        lines, offsets[day] = lines_from(f"{workspace.events}/{day}", mark.offsets.get(day, 0))
        for line in lines:
            record = parsed(line)
            if record is not None and record["eventId"] not in known:
                known.add(record["eventId"])
                fresh.append(record)
    return fresh, offsets


def _newest_days(workspace: Workspace) -> list[str]:
    try:
        names = os.listdir(workspace.events)
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(".jsonl"))[-_DAYS:]
