"""Places: lock files that the supervisors of runs hold, one each.

There are as many places as runs may be under way at once. Whoever claims a run takes a place
first, writes the run's id and its own process id into the file, and hands the descriptor on to the
supervisor that it starts, so the lock is held without a gap until that process ends, however it
ends. A run whose place is free, or is held for another run, has lost its supervisor.
"""

from __future__ import annotations

import os
import time

from council.kernel.lock import locks
from council.kernel.record import Record

_LENGTH = 400


class Place(Record):
    """A place that this process holds: its number and the open lock file."""

    number: int
    descriptor: int

    def note(self, run: str) -> None:
        """Write down for which run and by which process the place is held.

        It is one write of a fixed length: whoever reads meanwhile sees the old note or the new one.
        """
        os.pwrite(self.descriptor, f"{run}\n{os.getpid()}\n".encode().ljust(_LENGTH), 0)

    def leave(self) -> None:
        """Give the place back."""
        os.close(self.descriptor)


def take(folder: str, most: int) -> Place | None:
    """Return a free place, None where all `most` places are held.

    Asking who holds a place locks it for an instant (`holder`), hence the second look.
    """
    os.makedirs(folder, exist_ok=True)
    for pause in (0.0, 0.01):
        time.sleep(pause)
        for number in range(most):
            descriptor = os.open(
                f"{folder}/{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
            if locks(descriptor):
                return Place(number=number, descriptor=descriptor)
            os.close(descriptor)
    return None


def holder(folder: str, number: int) -> tuple[str, int] | None:
    """Return the run id and the process id that a held place names, None where it is free."""
    try:
        descriptor = os.open(f"{folder}/{number}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if locks(descriptor):
            return None
        run, _, pid = os.pread(descriptor, _LENGTH, 0).decode(errors="replace").partition("\n")
        return run, int(pid.strip() or 0)
    except ValueError:
        return "", 0
    finally:
        os.close(descriptor)


def supervisor(folder: str, number: int, run: str) -> int:
    """Return the process that holds a place for a run, 0 where none does."""
    holding = holder(folder, number)
    return holding[1] if holding and holding[0] == run else 0


def held(folder: str) -> dict[str, int]:
    """Return the supervisors that hold a place now: run id to process id."""
    try:
        numbers = [int(name) for name in os.listdir(folder) if name.isdigit()]
    except OSError:
        return {}
    return {one[0]: one[1] for number in sorted(numbers) if (one := holder(folder, number))}


def born(pid: int) -> str:
    """Return what tells a process from another one with the same id: its start, else "-"."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "-"


def locked(path: str) -> int:
    """Return a descriptor by which a file or folder is locked, -1 where another process has it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return -1
    if locks(descriptor):
        return descriptor
    os.close(descriptor)
    return -1
