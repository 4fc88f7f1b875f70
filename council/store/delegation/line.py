"""Calls that wait: for a place, in line, and for agents, so that no circle waits for ever.

Who calls tries again and again to take a place, and a process that starts runs takes
one the moment it is free. So a call that has to wait leaves a mark that says
since when, and holds the kernel lock of the mark; a heartbeat gives no run that
is younger what the call waits for. A mark that no process holds, or whose time is
over, counts for nothing: a call that was stopped on the way keeps no other waiting.

A run that calls another agent waits for it, and while it waits no other run can
run it. Before it begins to wait, it leaves a mark that names both, likewise. A
wait that would close a circle is refused instead, whatever traces the
agents in it work for.

Source: P8-060, XC-016.
"""

from __future__ import annotations

import os

from council.core.record import Record
from council.store import files
from council.store.lock import Lock, try_lock
from council.store.slots import is_held

_PREFIX = "call-"
_WAIT = "wait-"
_PARTS = 5


class Standing(Record):
    """A call that stands in line: since when, for whom, and whether a place is lent to it.

    `since` is in seconds since the epoch.
    """

    since: int
    agent: str
    has_place: bool


class Mark(Record):
    """A file that stands for a call that waits or is under way, and what holds it open."""

    path: str
    descriptor: int

    def end(self) -> None:
        """Take the mark away: the call waits no more, or nothing is left to be done."""
        files.remove(self.path)
        self.let_go()

    def let_go(self) -> None:
        """Leave the mark to the next process that reads it."""
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
    return marked(f"{directory}/{_PREFIX}{since}.{until}.{int(has_place)}.", f".{agent}")


def marked(start: str, end: str = "") -> Mark:
    """Hold a new mark whose name begins and ends so, and is drawn in between.

    Raises:
        CouncilError: The system refuses.
    """
    while True:  # a process that only reads may have had it for a moment
        path = f"{start}{os.urandom(8).hex()}{end}"
        descriptor = try_lock(path)
        if descriptor is not None:
            return Mark(path=path, descriptor=descriptor)


def in_line(directory: str, now: int) -> list[Standing]:
    """Return the calls that wait at `now`, in seconds since the epoch, the oldest first."""
    found: list[Standing] = []
    for name in files.names_in(directory):
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


def begin_wait(directory: str, waiter: str, target: str) -> Mark | list[str]:
    """Begin to wait for an agent, or return the circle of agents that this would close.

    Args:
        directory: Where the places of runs lie.
        waiter: The agent whose run waits.
        target: Whom it waits for.

    Raises:
        CouncilError: The system refuses.
    """
    files.make_folder(directory, mode=0o700)
    with Lock(f"{directory}/waits.lock"):
        circle = _circle(_waits(directory), waiter, target)
        return circle or marked(f"{directory}/{_WAIT}{waiter}.{target}.")


def waiting(directory: str) -> set[str]:
    """Return the agents whose runs wait for another one.

    Raises:
        CouncilError: The system refuses.
    """
    files.make_folder(directory, mode=0o700)
    with Lock(f"{directory}/waits.lock"):
        return set(_waits(directory))


def _waits(directory: str) -> dict[str, list[str]]:
    """Return who waits for whom; marks of the dead are taken away."""
    found: dict[str, list[str]] = {}
    for path in files.paths_in(directory, _WAIT):
        if not is_held(path):
            files.remove(path)
            continue
        waiter, _, rest = os.path.basename(path).removeprefix(_WAIT).partition(".")
        found.setdefault(waiter, []).append(rest.partition(".")[0])
    return found


def _circle(waits: dict[str, list[str]], waiter: str, target: str) -> list[str]:
    """Return the agents from `waiter` over `target` back to `waiter`, none if there is no way."""
    ways: list[list[str]] = [[waiter, target]]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        here = way[-1]
        if here == waiter:
            return way
        if here not in seen:
            seen.add(here)
            ways += [[*way, one] for one in waits.get(here, ())]
    return []
