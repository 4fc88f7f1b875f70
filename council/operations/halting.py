"""Halting a workspace: no run is started anywhere until it is resumed.

The halt is a file that need only be there, so it can be made and removed by
hand when nothing else works. Runs under way end by themselves. Whoever is due
meanwhile waits, and so do the deadlines. What a person or an agent says is
taken in all the time, and rounds that are complete go on.

Source: `cli.md` section 2 (`halt`), `trust.md` (bounds).
"""

from __future__ import annotations

import json
from datetime import datetime

from council.core.errors import CouncilError
from council.core.events import Event
from council.core.nesting import read_json
from council.core.record import Record
from council.core.times import parse_instant, render_instant
from council.operations.conversations.answer import wake_next
from council.operations.heartbeat.gate import is_halted
from council.operations.place import Place
from council.store import files
from council.store.events import append, loose_records
from council.store.lock import Lock
from council.store.slots import Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Halt(Record):
    """Since when a workspace is halted and why, as far as the mark says."""

    at: datetime | None = None
    reason: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return the halt as JSON."""
        return {"at": render_instant(self.at) if self.at else None, "reason": self.reason or None}


class Halted(Record):
    """What `halt` or `resume --all` did; `running` counts the runs that are still under way."""

    halt: Halt | None
    changed: bool
    running: int

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `halt --json` and `resume --all --json`."""
        return self.as_json("halt:halted changed running")


def halt(place: Place, reason: str = "") -> Halted:
    """Let no more runs be started. When it returns, none is being claimed any more.

    Raises:
        CouncilError: The disk refuses.
    """
    files.make_folder(place.paths.control)
    mark = {"at": render_instant(place.now()), "reason": " ".join(reason.split())}
    data = json.dumps(mark, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    changed = files.write_new(place.paths.halt_mark, data)
    if changed:
        _say(place, "council.halted", {"reason": mark["reason"]})
    with Lock(place.paths.heartbeat_lock):
        pass  # a heartbeat that looked before the mark was there has now claimed what it claims
    return Halted(halt=read_halt(place), changed=changed, running=_running(place))


def resume_all(place: Place) -> Halted:
    """End the halt, and have those who waited served without waiting for it.

    Raises:
        CouncilError: The mark cannot be removed.
    """
    changed = is_halted(place)
    if changed:
        files.remove(place.paths.halt_mark)
        if is_halted(place):
            raise CouncilError(
                f"cannot remove {place.paths.halt_mark}", "remove it by hand: the halt ends with it"
            )
        _say(place, "council.resumed", {})
        wake_next(place)
    return Halted(halt=None, changed=changed, running=_running(place))


def read_halt(place: Place) -> Halt | None:
    """Return the halt under way, None when there is none."""
    if not is_halted(place):
        return None
    try:
        reading = files.read_stable(place.paths.halt_mark)
        mark = read_json(reading.data) if reading is not None else {}
        return Halt(at=parse_instant(str(mark["at"])), reason=str(mark.get("reason") or ""))
    except (CouncilError, ValueError, KeyError, TypeError, AttributeError):
        return Halt()  # made by hand: that it is there is enough


def _running(place: Place) -> int:
    return Slots(place.paths.places, place.settings.max_runs).taken()


def _say(place: Place, kind: str, data: dict[str, Any]) -> None:
    append(place.paths, loose_records([Event(type=kind, data=data)], "", place.now()))
