"""Moving old files forward, and saying which cannot be.

Source: XC-013, `trust.md` (over time), `cli.md` section 2 (`migrate`).
"""

from __future__ import annotations

import os

from council.core.record import Record
from council.operations.place import Place
from council.store.maintenance import alone
from council.store.versions import KNOWN, STEPS, Dated, dated_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Verdict(Record):
    """What is to be done about one file, in words; `ok` when that is nothing, or is done.

    `moved` says that the file was brought forward, or would be.
    """

    dated: Dated
    path: str
    ok: bool
    said: str
    moved: bool = False

    def to_record(self) -> dict[str, Any]:
        """Return the file's part of `migrate --json`."""
        return {
            "path": self.path,
            "kind": self.dated.kind,
            "schemaVersion": self.dated.version,
            "knows": KNOWN[self.dated.kind],
            "standing": self.dated.standing,
            "said": self.said,
            "bytes": self.dated.size_bytes,
            "bytesAfter": self.dated.after_bytes if self.moved else self.dated.size_bytes,
        }


def migrate(place: Place, *, dry_run: bool = False) -> list[Verdict]:
    """Bring every file forward that is of an older version, and say what becomes of each.

    Killed at any point and called again, it goes on. What a person or another command writes
    meanwhile is not touched: each file is brought over under its own lock.

    Raises:
        LockTimeoutError: Somebody maintains the workspace already, or works on a file for too long.
        CouncilError: The system refuses.
    """
    if dry_run:
        return [_verdict(place, one, dry_run=True) for one in dated_files(place.paths)]
    with alone(place.paths):
        return [_brought(place, one) for one in list(dated_files(place.paths))]


def _brought(place: Place, one: Dated) -> Verdict:
    if one.standing == "older" and one.missing_step is None:
        for version in range(one.version or 0, KNOWN[one.kind]):
            STEPS[one.kind][version](one.path)
    return _verdict(place, one, dry_run=False)


def _verdict(place: Place, one: Dated, *, dry_run: bool) -> Verdict:
    known = KNOWN[one.kind]
    moved = one.standing == "older" and one.missing_step is None
    said = {
        "current": "nothing to do",
        "unmarked": f"says no schemaVersion and is read as {known}",
        "newer": f"is of a newer council; it is read and never written: install one that knows "
        f"schemaVersion {one.version}",
        "older": f"{'would be' if dry_run else 'was'} brought to schemaVersion {known}: "
        f"{one.size_bytes:,} bytes before, {one.after_bytes:,} after"
        if moved
        else f"this council has no step forward from schemaVersion {one.missing_step}",
        "unreadable": one.fault,
    }[one.standing]
    return Verdict(
        dated=one,
        path=os.path.relpath(one.path, place.root),
        ok=moved or one.standing in ("current", "unmarked"),
        said=said,
        moved=moved,
    )
