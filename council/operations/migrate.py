"""Moving old files forward, and saying which cannot be.

Source: XC-013, `trust.md` (over time), `cli.md` section 2 (`migrate`).
"""

from __future__ import annotations

import os

from council.core.record import Record
from council.operations.place import Place
from council.store.versions import KNOWN, Dated, dated_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Verdict(Record):
    """What is to be done about one file, in words; `ok` when that is nothing."""

    dated: Dated
    path: str
    ok: bool
    said: str

    def to_record(self) -> dict[str, Any]:
        """Return the file's part of `migrate --json`."""
        return {
            "path": self.path,
            "kind": self.dated.kind,
            "schemaVersion": self.dated.version,
            "knows": KNOWN[self.dated.kind],
            "standing": self.dated.standing,
            "said": self.said,
        }


def migrate(place: Place) -> list[Verdict]:
    """Look at every file that carries a version and say what is to be done about it.

    Version 1 is the only one there is, so nothing is written yet.
    """
    return [_verdict(place, one) for one in dated_files(place.paths)]


def _verdict(place: Place, one: Dated) -> Verdict:
    known = KNOWN[one.kind]
    said = {
        "current": "nothing to do",
        "unmarked": f"says no schemaVersion and is read as {known}",
        "newer": f"is of a newer council; it is read and never written: install one that knows "
        f"schemaVersion {one.version}",
        "older": f"this council has no step forward from schemaVersion {one.missing_step}",
        "unreadable": one.fault,
    }[one.standing]
    return Verdict(
        dated=one,
        path=os.path.relpath(one.path, place.root),
        ok=one.standing in ("current", "unmarked"),
        said=said,
    )
