"""Who waits for whom: so that no circle of agents waits for ever.

A run that calls another agent waits for it, and while it waits nobody else can
run it. Before it begins to wait, it leaves a mark that names both and holds
the kernel lock of the mark; a mark that nobody holds counts for nothing. A
wait that would close a circle is refused instead, whatever traces the
agents in it work for.

Source: P8-060, XC-016.
"""

from __future__ import annotations

import os

from council.store import files
from council.store.delegation.line import Mark
from council.store.lock import Lock, try_lock
from council.store.slots import is_held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PREFIX = "wait-"


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
        if circle:
            return circle
        path, descriptor = "", None
        while descriptor is None:
            path = f"{directory}/{_PREFIX}{waiter}.{target}.{os.urandom(4).hex()}"
            descriptor = try_lock(path)
        return Mark(path=path, descriptor=descriptor)


def _waits(directory: str) -> dict[str, list[str]]:
    """Return who waits for whom; marks of the dead are taken away."""
    found: dict[str, list[str]] = {}
    for name in sorted(os.listdir(directory)):
        if not name.startswith(_PREFIX):
            continue
        if not is_held(f"{directory}/{name}"):
            files.remove(f"{directory}/{name}")
            continue
        waiter, _, rest = name.removeprefix(_PREFIX).partition(".")
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
            following: Iterable[str] = waits.get(here, ())
            ways += [[*way, one] for one in following]
    return []
