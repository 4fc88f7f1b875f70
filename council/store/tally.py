"""What is counted: one small record for the workspace.

It is read by a process that is about to start a run and written when one was started or
has used something, when one failed, and when an agent that had failed answers again.
Counts that cannot be read begin anew, and `is_damaged` says so: they guard
against waste, and no conversation may stand still for them.

Source: `trust.md` (bounds).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from council.core.bounds import Lapse, Spent, Tally
from council.core.errors import CouncilError
from council.core.reasons import NO_REASON, read_reason
from council.core.record import Any
from council.core.times import parse_instant
from council.store import files
from council.store.documents.stored import Stored
from council.store.paths import Workspace, record_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Result = TypeVar("_Result")

SCHEMA_VERSION = 1
_LAPSE = (
    "failures:failuresInARow rests at:failedAt until:restsUntil reason owner at_once made_of:with"
)


def read_tally(workspace: Workspace) -> Tally:
    """Return what is counted; nothing when the file is missing or cannot be understood."""
    return _read(_stored(workspace))[0]


def is_damaged(workspace: Workspace) -> bool:
    """Return true if the file is there and cannot be understood."""
    return _read(_stored(workspace))[1]


def edit_tally(
    workspace: Workspace, change: Callable[[Tally], _Result], *, anew: bool = False
) -> _Result:
    """Apply a change to the counts under their lock and write them if they differ.

    Args:
        workspace: Where.
        change: The change.
        anew: Whether no earlier counts are kept.

    Raises:
        CouncilError: The system refuses, or the lock was not free in time.
    """
    files.make_folder(workspace.control)
    return _stored(workspace).edit(lambda one: _read(one)[0], _to_record, change, anew=anew)


def forget(workspace: Workspace, owners: Iterable[str]) -> None:
    """Count no more what belongs to these, and keep nothing of what was said in them (OP-016)."""
    if not record_files(workspace.tally):
        return

    def change(tally: Tally) -> None:
        for owner in owners:
            tally.councils.pop(owner, None)
            for lapse in tally.lapses.values():
                if lapse.owner == owner:
                    lapse.reason, lapse.owner = NO_REASON, ""

    edit_tally(workspace, change, anew=True)


def _stored(workspace: Workspace) -> Stored:
    return Stored(workspace.tally, "remove it", mode=0o600)


def _read(stored: Stored) -> tuple[Tally, bool]:
    try:
        record = stored.read()
        return Tally(today=Spent()) if record is None else _from_record(record), False
    except (ValueError, TypeError, KeyError, AttributeError, CouncilError):
        return Tally(today=Spent()), True


def _to_record(tally: Tally) -> dict[str, Any]:
    return {
        "schemaVersion": SCHEMA_VERSION,
        **tally.as_json("day today councils"),
        "agents": {agent: one.as_json(_LAPSE) for agent, one in tally.lapses.items()},
    }


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
                reason=read_reason(one["reason"]),
                owner=str(one.get("owner", "")),
                at_once=one.get("atOnce") is True,
                made_of=str(one.get("with", "")),
            )
            for agent, one in record["agents"].items()
        },
    )


def _spent(record: dict[str, Any]) -> Spent:
    usd = float(record.get("usd", 0.0))
    return Spent(runs=int(record["runs"]), tokens=int(record["tokens"]), usd=usd)
