"""Places for runs: at most so many at once, one at a time for each agent.

A place is a kernel lock on a file under `.council/runs/places/`. The process
that supervises a run inherits the locked descriptors, so the place is free
again the moment that process is gone, however it went.

Source: XC-016, `trust.md` (bounds).
"""

from __future__ import annotations

import fcntl
import os

from council.core.record import Record
from council.store import files
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
        files.make_folder(self.directory, mode=0o700)
        own = _take(f"{self.directory}/agent-{agent}")
        if own is None:
            return None
        for number in range(1, self.max_runs + 1):
            place = _take(f"{self.directory}/place-{number}")
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


def _take(path: str) -> int | None:
    """Take a place, None when a run has it; one who only looks makes nobody go without."""
    descriptor = try_lock(path)
    while descriptor is None and not _is_held(path):
        descriptor = try_lock(path)
    return descriptor


def _is_held(path: str) -> bool:
    """Tell whether a run has a place: looking shares the lock, so it keeps no other look off."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
