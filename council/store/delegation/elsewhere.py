"""Calls that another machine is to run, in one small record that all machines share.

It holds no text: what is asked and what was answered stand in the ledger of the trace. A call
stands here until its caller has seen how it ended; one whose caller died goes when it is old.

Source: EN-006.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from council.core.reading import Reader
from council.core.record import Any, Record
from council.store import files
from council.store.delegation.traces import delegation_folder
from council.store.documents.stored import Stored
from council.store.paths import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    _Result = TypeVar("_Result")

SCHEMA_VERSION = 1
_OLD = timedelta(hours=1)


class Elsewhere(Record):
    """A call that another machine runs, or is to.

    `until` is when its caller waits no more, `in_run` says that the caller is a run, which waits.
    `machine` has taken it up, "" for none yet. Once it `is_done`, `refusal` says why it was
    not begun, {} where the ledger of the trace says what came of it.
    """

    trace: str
    number: int
    target: str
    until: datetime
    in_run: bool = False
    machine: str = ""
    is_done: bool = False
    refusal: dict[str, Any] = {}


def calls_elsewhere(workspace: Workspace) -> list[Elsewhere]:
    """Return the calls as this machine knows them; without a lock."""
    return _standing(_stored(workspace))


def edit_elsewhere(
    workspace: Workspace, change: Callable[[list[Elsewhere]], _Result], now: datetime
) -> _Result:
    """Change the calls under their lock; those that are old go.

    Raises:
        CouncilError: The engine or the system refuses; nothing was written.
    """
    files.make_folder(delegation_folder(workspace), mode=0o700)

    def changed(calls: list[Elsewhere]) -> _Result:
        calls[:] = [one for one in calls if now - one.until < _OLD]
        return change(calls)

    return _stored(workspace).edit(_standing, _record, changed)


def edit_call(
    workspace: Workspace,
    trace: str,
    number: int,
    change: Callable[[Elsewhere], _Result],
    now: datetime,
) -> _Result | None:
    """Change one call, under the conditions of `edit_elsewhere`; None where it is not there."""

    def changed(calls: list[Elsewhere]) -> _Result | None:
        found = [one for one in calls if (one.trace, one.number) == (trace, number)]
        return change(found[0]) if found else None

    return edit_elsewhere(workspace, changed, now)


def _stored(workspace: Workspace) -> Stored:
    path = f"{delegation_folder(workspace)}/elsewhere.jsonl"
    fix = "remove it: calls that wait for other machines fail then"
    return Stored(path, fix, version=SCHEMA_VERSION, mode=0o600)


def _standing(stored: Stored) -> list[Elsewhere]:
    value = stored.read()
    return [] if value is None else Reader(value, stored.path).records("calls", Elsewhere)


def _record(calls: list[Elsewhere]) -> dict[str, Any]:
    return {"schemaVersion": SCHEMA_VERSION, "calls": [one.to_record() for one in calls]}
