"""Places for runs: at most so many at once, one at a time for each agent.

A place is a kernel lock on a file under `.council/runs/places/`. The process
that supervises a run inherits the locked descriptors, so the place is free
again the moment that process is gone, however it went. A run that waits for
another agent works on nothing, so it lends its place to the run it waits for:
else agents that call each other could take all places and wait for ever.

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

    def free(self) -> None:
        """Give the place back for good: the run is over, whoever else still has a copy."""
        for descriptor in self.descriptors:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        self.release()


class Slots:
    """The places of one workspace."""

    def __init__(self, directory: str, max_runs: int) -> None:
        self.directory = directory
        self.max_runs = max_runs

    def take(self, agent: str, lender: str = "") -> Slot | None:
        """Take a place for a run of `agent`; None when it runs already or all are taken.

        Args:
            agent: Who is to be run.
            lender: The agent whose run waits for this one: it lends its own place
                meanwhile, to one run at a time. "" for nobody.
        """
        files.make_folder(self.directory, mode=0o700)
        own = _take(f"{self.directory}/agent-{agent}")
        if own is None:
            return None
        lent = [f"lent-{lender}"] if lender else []
        for name in (*lent, *(f"place-{number}" for number in range(1, self.max_runs + 1))):
            place = _take(f"{self.directory}/{name}")
            if place is not None:
                return Slot(agent=agent, descriptors=(own, place))
        os.close(own)
        return None

    def taken(self) -> int:
        """Return how many runs are under way."""
        return sum(1 for path in self._files("place-") if is_held(path))

    def running_agents(self) -> tuple[str, ...]:
        """Return the agents that have a run under way."""
        held = (path for path in self._files("agent-") if is_held(path))
        return tuple(sorted(path.rsplit("/agent-", 1)[1] for path in held))

    def is_running(self, agent: str) -> bool:
        """Tell whether an agent has a run under way."""
        return is_held(f"{self.directory}/agent-{agent}")

    def is_free(self, agent: str) -> bool:
        """Return true if it can be seen that no run of an agent is under way."""
        path = f"{self.directory}/agent-{agent}"
        return os.access(path, os.R_OK) and not is_held(path)

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
    while descriptor is None and not is_held(path):
        descriptor = try_lock(path)
    return descriptor


def is_held(path: str) -> bool:
    """Tell whether somebody holds a lock: looking shares it, so it keeps no other look off."""
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
