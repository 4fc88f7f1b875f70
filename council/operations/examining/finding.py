"""What `doctor` says of one thing that it looked at."""

from __future__ import annotations

from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Finding(Record):
    """One thing that was looked at; `fix` says what to do when it is not `ok`."""

    what: str
    ok: bool
    found: str
    fix: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {"what": self.what, "ok": self.ok, "found": self.found, "fix": self.fix or None}
