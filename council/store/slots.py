"""Places for runs: at most so many at once, one at a time for each agent.

A place is a kernel lock on a file under `.council/runs/places/`. The process
that supervises a run inherits the locked descriptors, so the place is free
again the moment that process is gone, however it went. A run that waits for
another agent works on nothing, so it lends its place to the run it waits for:
else agents that call each other could take all places and wait for ever.

Beside the places it is marked which process supervises the run of an agent, so that a more
urgent run can end it. The supervisor holds a kernel lock on the mark for as long as it lives. A
mark that is not held says nothing: its process is gone, however it went.

Source: PR-309, PR-410, XC-002, XC-016, `trust.md` (bounds).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator

from council.core.record import Any, Record
from council.store import files
from council.store.lock import try_lock

_MARK_BYTES = 512


class Slot(Record):
    """A place that is taken: the descriptors that hold it, and the lease over all machines."""

    agent: str
    descriptors: tuple[int, ...]
    lease: Any = None

    def release(self) -> None:
        """Close this process's copies; the place stays taken while another process has one."""
        for descriptor in self.descriptors:
            os.close(descriptor)

    def end(self) -> None:
        """Close this process's copies, and let the agent be run elsewhere."""
        if self.lease is not None:
            self.lease.end()
        self.release()

    def free(self) -> None:
        """Give the place back for good: the run is over, whatever process still has a copy."""
        for descriptor in self.descriptors:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        self.end()


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
        own = take(f"{self.directory}/agent-{agent}")
        if own is None:
            return None
        os.ftruncate(own, 0)  # a run that is gone may have left there when it was to end
        lent = [f"lent-{lender}"] if lender else []
        for name in (*lent, *(f"place-{number}" for number in range(1, self.max_runs + 1))):
            place = take(f"{self.directory}/{name}")
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
        """Return true if an agent has a run under way."""
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


def take(path: str) -> int | None:
    """Take a lock, such as a place, None when another process has it, and does not only check."""
    descriptor = try_lock(path)
    while descriptor is None and not is_held(path):
        descriptor = try_lock(path)
    return descriptor


def is_held(path: str) -> bool:
    """Return true if a process holds a lock: checking shares it, so it keeps no other check off."""
    descriptor = _opened(path)
    if descriptor is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None


# --- Which process supervises a run


class UnderWay(Record):
    """A run under way: who supervises it, what it is for, and its task."""

    pid: int
    owner: str
    task: str


def mark_path(runs: str, agent: str) -> str:
    """Return where the run of an agent is marked."""
    return f"{runs}/places/run-{agent}"


def marks(places: str) -> list[str]:
    """Return the marks that are in the folder of the places, also of runs that are over."""
    return files.paths_in(places, os.path.basename(mark_path("", "")))


def begin_mark(path: str, owner: str, task: str) -> int:
    """Mark a run of this process; return the descriptor that holds the mark, -1 for none.

    What cannot be marked is run all the same: it cannot be interrupted then.
    """
    try:
        files.make_folder(os.path.dirname(path), mode=0o700)
        descriptor = try_lock(path)
        if descriptor is None:
            return -1
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {owner} {task}\n".encode(), 0)
    except Exception:  # a full disk, a folder that is not ours: no reason not to run
        return -1
    return descriptor


def end_mark(descriptor: int) -> None:
    """Take the mark of this process back."""
    if descriptor >= 0:
        os.ftruncate(descriptor, 0)
        os.close(descriptor)


def blot_mark(path: str, owners: tuple[str, ...]) -> None:
    """Take what a run that is over was for out of its mark, if it was for one of these."""
    descriptor = try_lock(path)
    if descriptor is None:
        return
    try:
        words = os.pread(descriptor, _MARK_BYTES, 0).decode("utf-8", "replace").split()
        if len(words) > 1 and words[1] in owners:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def under_way(path: str) -> UnderWay | None:
    """Return the run that is under way, None when none is."""
    descriptor = _opened(path)
    if descriptor is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        words = os.read(descriptor, _MARK_BYTES).decode("utf-8", "replace").split()
    finally:
        os.close(descriptor)
    if len(words) != 3 or not words[0].isdecimal():
        return None
    return UnderWay(pid=int(words[0]), owner=words[1], task=words[2])
