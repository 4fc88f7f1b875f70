"""Places: lock files that the supervisors of runs hold, one each.

There are as many places as runs may be under way at once. Whoever claims a run takes a place
first, writes the run's id and its own process id into the file, and hands the descriptor on to the
supervisor that it starts, so the lock is held without a gap until that process ends, however it
ends. A run whose place is free, or is held for another run, has lost its supervisor.
"""

from __future__ import annotations

import os
import time

from council.kernel import files, shared
from council.kernel.record import Record

_LENGTH = 400
_EACH = 1000  # numbers of a machine: more than any `max_runs`
_MAKE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Place(Record):
    """A place that this process holds: its number, the open lock file, the run, its secret."""

    number: int
    descriptor: int
    run: str
    token: str = ""

    def note(self) -> None:
        """Write down for which run and by which process the place is held.

        It is one write of a fixed length: whoever reads meanwhile sees the old note or the new one.
        """
        note = f"{self.run}\n{os.getpid()}\n".encode()
        os.pwrite(self.descriptor, note.ljust(_LENGTH), 0)

    def leave(self) -> None:
        """Give the place back; again does nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1


def take(state: str, most: int, run: str) -> Place | None:
    """Return a free place of a `.council` folder for a run, None where all `most` are held.

    Asking who holds a place locks it for an instant (`held`), hence the second look.
    """
    os.makedirs(f"{state}/places", exist_ok=True)
    first = shared.machine(state) * _EACH
    for pause in (0.0, 0.01):
        time.sleep(pause)
        for number in range(first, first + most):
            descriptor = os.open(f"{state}/places/{number}", _MAKE, 0o600)
            if files.locks(descriptor):
                return Place(number=number, descriptor=descriptor, run=run)
            os.close(descriptor)
    return None


def is_here(state: str, number: int) -> bool:
    """Return whether a place is of this machine; of another one only the run's lease is known."""
    return number // _EACH == shared.machine(state)


def held(state: str) -> dict[str, int]:
    """Return the supervisors that hold a place now: run id to process id."""
    found, folder = {}, f"{state}/places"
    for name in filter(str.isdigit, files.names(folder)):
        try:
            descriptor = os.open(f"{folder}/{name}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        if not files.locks(descriptor):
            run, _, pid = os.pread(descriptor, _LENGTH, 0).decode(errors="replace").partition("\n")
            found[run] = int(pid) if pid.strip().isdecimal() else 0
        os.close(descriptor)
    return found
