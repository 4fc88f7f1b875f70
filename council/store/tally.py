"""The file of what is counted: one small JSON file for the workspace.

It is read by whoever is about to start a run and written when one was started
under a cap, when one failed, and when an agent that had failed answers again.
Counts that cannot be read begin anew, and `is_damaged` says so: they guard
against waste, and no conversation may stand still for them.

Source: `trust.md` (bounds).
"""

from __future__ import annotations

import os

from council.core import quick_json as json
from council.core.bounds import Lapse, Spent, Tally
from council.core.errors import CouncilError
from council.core.times import parse_instant, render_instant
from council.store import files
from council.store.lock import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from council.store.paths import Workspace

    _Result = TypeVar("_Result")

SCHEMA_VERSION = 1


def read_tally(workspace: Workspace) -> Tally:
    """Return what is counted; nothing when the file is missing or cannot be understood."""
    return _read(workspace)[0]


def is_damaged(workspace: Workspace) -> bool:
    """Tell whether the file is there and cannot be understood."""
    return _read(workspace)[1]


def edit_tally(workspace: Workspace, change: Callable[[Tally], _Result]) -> _Result:
    """Apply a change to the counts under their lock and write them if they differ.

    Raises:
        CouncilError: The system refuses, or the lock was not free in time.
    """
    files.make_folder(workspace.control)
    with files.explaining("write", workspace.tally), Lock(f"{workspace.tally}.lock"):
        tally = read_tally(workspace)
        before = _to_record(tally)
        result = change(tally)
        after = _to_record(tally)
        if after != before:
            data = json.dumps(after, separators=(",", ":")).encode("ascii") + b"\n"
            files.replace(workspace.tally, data, mode=0o600)
        return result


def _read(workspace: Workspace) -> tuple[Tally, bool]:
    try:
        descriptor = os.open(
            workspace.tally, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except FileNotFoundError:
        return Tally(today=Spent()), False
    except OSError:
        return Tally(today=Spent()), True
    try:
        record = json.loads(files.read_all(descriptor, os.fstat(descriptor).st_size))
        return _from_record(record), False
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, CouncilError):
        return Tally(today=Spent()), True
    finally:
        os.close(descriptor)


def _to_record(tally: Tally) -> dict[str, Any]:
    return {
        "schemaVersion": SCHEMA_VERSION,
        "day": tally.day,
        "today": _spent_record(tally.today),
        "councils": {key: _spent_record(one) for key, one in tally.councils.items()},
        "agents": {
            agent: {
                "failuresInARow": one.failures,
                "rests": one.rests,
                "failedAt": render_instant(one.at) if one.at else None,
                "restsUntil": render_instant(one.until) if one.until else None,
                "reason": one.reason,
            }
            for agent, one in tally.lapses.items()
        },
    }


def _spent_record(spent: Spent) -> dict[str, int]:
    return {"runs": spent.runs, "tokens": spent.tokens}


def _from_record(record: dict[str, Any]) -> Tally:
    return Tally(
        day=str(record["day"]),
        today=_spent(record["today"]),
        councils={key: _spent(one) for key, one in record["councils"].items()},
        lapses={
            agent: Lapse(
                failures=int(one["failuresInARow"]),
                rests=int(one["rests"]),
                at=parse_instant(one["failedAt"]) if one["failedAt"] else None,
                until=parse_instant(one["restsUntil"]) if one["restsUntil"] else None,
                reason=str(one["reason"]),
            )
            for agent, one in record["agents"].items()
        },
    )


def _spent(record: dict[str, Any]) -> Spent:
    return Spent(runs=int(record["runs"]), tokens=int(record["tokens"]))
