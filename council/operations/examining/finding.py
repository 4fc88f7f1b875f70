"""What `doctor` says of one thing that it looked at."""

from __future__ import annotations

from council.core.record import Record
from council.operations.examining.causes import Cause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Finding(Record):
    """One thing that was looked at; `cause` is what is wrong with it, None where it is well."""

    what: str
    found: str
    cause: Cause | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.cause is None

    @property
    def fix(self) -> str:
        """What to do where something is wrong."""
        return self.cause.fix() if self.cause else ""

    def to_record(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {
            "what": self.what,
            "ok": self.ok,
            "found": self.found,
            "fix": self.fix or None,
            "cause": self.cause.code if self.cause else None,
        }


def wrong(one: Cause) -> Finding:
    """Return the finding that a cause is."""
    return Finding(what=one.where or one.agent or one.code, found=one.said(), cause=one)
