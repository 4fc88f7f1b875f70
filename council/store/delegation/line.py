"""Calls that wait for a place stand in line, so that a heartbeat leaves them their turn.

Who calls tries again and again to take a place, and whoever starts runs takes
one the moment it is free. So a call that has to wait leaves a mark that says
since when, and holds the kernel lock of the mark; a heartbeat gives nobody who
is younger what the call waits for. A mark that nobody holds, or whose time is
over, counts for nothing: who was stopped on the way keeps nobody waiting.

Source: P8-060, XC-016.
"""

from __future__ import annotations

import os

from council.core.record import Record
from council.store import files
from council.store.lock import try_lock
from council.store.slots import is_held

_PREFIX = "call-"
_PARTS = 5


class Standing(Record):
    """A call that stands in line: since when, for whom, and whether a place is lent to it.

    `since` is in seconds since the epoch.
    """

    since: int
    agent: str
    has_place: bool


class Mark(Record):
    """The mark of a call that stands in line, and the descriptor that holds it."""

    path: str
    descriptor: int

    def end(self) -> None:
        """Stand in line no more."""
        files.remove(self.path)
        os.close(self.descriptor)


def stand_in_line(directory: str, agent: str, *, since: int, until: int, has_place: bool) -> Mark:
    """Let a call stand in line.

    Args:
        directory: Where the places of runs lie.
        agent: Who is to be run.
        since: When it began to wait, in seconds since the epoch.
        until: When it gives up, likewise.
        has_place: Whether it waits for the agent alone, as a run lends it its place.

    Raises:
        CouncilError: The system refuses.
    """
    while True:
        chance = os.urandom(4).hex()
        path = f"{directory}/{_PREFIX}{since}.{until}.{int(has_place)}.{chance}.{agent}"
        descriptor = try_lock(path)
        if descriptor is not None:
            return Mark(path=path, descriptor=descriptor)


def in_line(directory: str, now: int) -> list[Standing]:
    """Return the calls that wait at `now`, in seconds since the epoch, the oldest first."""
    found: list[Standing] = []
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        parts = name.removeprefix(_PREFIX).split(".", _PARTS - 1)
        if not name.startswith(_PREFIX) or len(parts) != _PARTS or not parts[1].isdecimal():
            continue
        since, until, has_place, _, agent = parts
        path = f"{directory}/{name}"
        if not is_held(path):
            if int(until) < now:
                files.remove(path)  # its process is gone, however it went
        elif int(until) >= now and since.isdecimal():
            found.append(Standing(since=int(since), agent=agent, has_place=has_place == "1"))
    return sorted(found, key=lambda one: (one.since, one.agent))
