"""Processes: programs, started with nothing of ours and ended with their group, and supervisors.

A supervisor is found by its place, a lock file. There are as many places as runs may be under way
at once. Whoever claims a run takes a place first, writes the run's id and its own process id into
the file, and hands the descriptor on to the supervisor that it starts, so the lock is held without
a gap until that process ends, however it ends. A run whose place is free, or is held for another
run, has lost its supervisor.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from council.kernel import files, shared
from council.kernel.record import Record

_LENGTH = 400
_EACH = 1000  # numbers of a machine: more than any `max_runs`
_MAKE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
TERM, KILL, PIPE, INT = 15, 9, 13, 2  # `signal` is slow to import
GRACE = 1.0  # seconds between SIGTERM and SIGKILL
_SPAWNING = allocate_lock()  # threads of a server would change each other's descriptors


def spawn(
    program: str, argv: list[str], env: dict[str, str], streams: list[int], keep: list[int]
) -> int:
    """Start a program in a session of its own and return its process id.

    It gets three `streams`, or none, and the descriptors to `keep`, nothing else that was given to
    us. (`subprocess` would double the start of a run.)
    """
    none = [(os.POSIX_SPAWN_OPEN, to, os.devnull, os.O_RDWR, 0) for to in range(3)]
    given = [(os.POSIX_SPAWN_DUP2, descriptor, to) for to, descriptor in enumerate(streams)]
    how = {"file_actions": given or none, "setsid": True, "setsigdef": (TERM, PIPE, INT)}
    with _SPAWNING:
        for number in map(int, files.names("/dev/fd")):
            try:
                os.set_inheritable(number, number < 3 or number in keep)
            except OSError:
                continue  # the one by which this folder was read
        return os.posix_spawn(program, argv, env, setsigmask=(), **how)  # type: ignore[arg-type]


def born(pid: int) -> str:
    """Return what tells a process from another one with the same id: its start, else "-"."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "-"


def kill(pid: int, sign: int, group: bool = False) -> bool:
    """Send a signal to a process, or to its group; return whether there was one."""
    try:
        if pid > 1:
            (os.killpg if group else os.kill)(pid, sign)
    except OSError:
        return False
    return pid > 1


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def kill_noted(folder: str) -> None:
    """End the process group of an agent whose supervisor is gone, by the folder of its run.

    `pid` has its process id and its start, so no other process with the same id is hit. A
    supervisor that was killed before it wrote that leaves a process that prints into `output`.
    """
    try:
        with open(f"{folder}/pid", encoding="ascii") as file:
            pid, _, start = file.read(80).strip().partition(" ")
        found = [int(pid)] if born(int(pid)) == start else []
    except (OSError, ValueError):
        output, there = f"{folder}/output", filter(str.isdigit, files.names("/proc"))
        found = [int(one) for one in there if _is_same(f"/proc/{one}/fd/1", output)]
    for one in found:
        kill(one, KILL, group=True)


def end_group(pid: int, status: int | None) -> int:
    """End a child and its process group: SIGTERM, then SIGKILL; return its exit code.

    `status` is that of a child that has ended already.
    """
    sign, until = TERM, time.monotonic() + GRACE
    while kill(pid, sign, group=True) and time.monotonic() < until + 1:
        sign = KILL if time.monotonic() > until else 0
        if status is None:
            done, found = os.waitpid(pid, os.WNOHANG)
            status = found if done else None
        time.sleep(0.005)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1] if status is None else status)


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
        os.pwrite(self.descriptor, f"{self.run}\n{os.getpid()}\n".encode().ljust(_LENGTH), 0)

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
