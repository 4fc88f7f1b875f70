"""Programs as processes: started with nothing of ours, told from others, ended with their group."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from council.kernel import files

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
        return os.posix_spawn(program, argv, env, **how)  # type: ignore[arg-type]


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
