"""Places for runs: at most so many at once, one at a time for each agent.

A place is a kernel lock on a file under `.council/runs/places/`. The process
that supervises a run inherits the locked descriptors, so the place is free
again the moment that process is gone, however it went.

Source: XC-016, `trust.md` (bounds).
"""

from __future__ import annotations

import os

from council.core.record import Record
from council.store.lock import try_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Slot(Record):
    """A place that is taken: the descriptors that hold it."""

    agent: str
    descriptors: tuple[int, ...]

    def release(self) -> None:
        """Close this process's copies; the place stays taken while another process has one."""
        for descriptor in self.descriptors:
            os.close(descriptor)


class Slots:
    """The places of one workspace."""

    def __init__(self, directory: str, max_runs: int) -> None:
        self.directory = directory
        self.max_runs = max_runs

    def take(self, agent: str) -> Slot | None:
        """Take a place for a run of `agent`; None when it runs already or all are taken."""
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        own = try_lock(f"{self.directory}/agent-{agent}")
        if own is None:
            return None
        for number in range(1, self.max_runs + 1):
            place = try_lock(f"{self.directory}/place-{number}")
            if place is not None:
                return Slot(agent=agent, descriptors=(own, place))
        os.close(own)
        return None

    def taken(self) -> int:
        """Return how many runs are under way."""
        return sum(1 for path in self._files("place-") if _is_held(path))

    def running_agents(self) -> tuple[str, ...]:
        """Return the agents that have a run under way."""
        held = (path for path in self._files("agent-") if _is_held(path))
        return tuple(sorted(path.rsplit("/agent-", 1)[1] for path in held))

    def _files(self, prefix: str) -> Iterator[str]:
        try:
            names = sorted(os.listdir(self.directory))
        except FileNotFoundError:
            return
        for name in names:
            if name.startswith(prefix):
                yield f"{self.directory}/{name}"


def _is_held(path: str) -> bool:
    descriptor = try_lock(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False
