"""Real system calls that kill or fail: a process lets `strace` at itself, then goes on.

A rule is counted from the moment of attaching, so the calls by which Python
starts are left out. A first run without a rule shows which calls touch the
workspace; each of them is a point at which a later run is killed or fails.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

# Every call by which a program changes, secures, names or locks something on a disk.
CHANGING = (
    "write",
    "writev",
    "pwrite64",
    "fsync",
    "fdatasync",
    "ftruncate",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "fchmod",
    "fchown",
    "utimensat",
    "flock",
    "rmdir",
)
READING = ("read", "pread64", "getdents64")
# By which a program speaks with others; they touch no folder, and are points all the same.
TALKING = ("connect", "sendto", "recvfrom")
CALLS = ("openat", *CHANGING)

_PR_SET_PTRACER, _ANYBODY = 0x59616D61, 2**64 - 1
_PR_SET_CHILD_SUBREAPER = 36
_SIGN, _SIGNED = "sched_get_priority_max", 77
_NOT_TRACED = 97
_PATIENCE_S = 60
_STANDS_IN = re.compile(r"AT_FDCWD(<[^>]*>)?,? ?")

# Processes that a test keeps running beside the commands, such as a server.
staying: set[int] = set()


class Point(NamedTuple):
    """The `number`th `call` of a process since it is watched, and how it was seen to be made."""

    call: str
    number: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.call} {self.number}" + (f": {self.text}" if self.text else "")


def missing() -> str:
    """Return why nothing can be traced here, "" when it can."""
    if not sys.platform.startswith("linux"):
        return "strace is of Linux"
    return "" if shutil.which("strace") else "strace is not installed"


def kill_at(point: Point) -> list[str]:
    return ["-e", f"inject={point.call}:signal=KILL:when={point.number}"]


def fail_at(point: Point, error: str) -> list[str]:
    return ["-e", f"inject={point.call}:error={error}:when={point.number}"]


def attach(rule: list[str], out: str, *, follow: bool) -> None:
    """Have this process watched from here on, and its children if `follow`; see `points_in`."""
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_ulong(_ANYBODY), 0, 0, 0)
    calls = ",".join((*CALLS, *READING, *TALKING, _SIGN))
    words = ["strace", "-q", "-y", "-s", "16", "-o", out, "-e", f"trace={calls}"]
    words += ["-e", "signal=none", "-e", f"inject={_SIGN}:retval={_SIGNED}", *rule]
    words += ["-f"] if follow else []
    strace = shutil.which("strace") or "strace"
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    quiet = [(os.POSIX_SPAWN_DUP2, null, standard) for standard in (0, 1, 2)]
    watcher = os.posix_spawn(
        strace, [*words, "-p", str(os.getpid())], os.environ, file_actions=quiet
    )
    ends_at = time.monotonic() + _PATIENCE_S
    # Once the watcher answers in the place of the kernel, it counts.
    while os.sched_get_priority_max(os.SCHED_OTHER) != _SIGNED:
        if time.monotonic() > ends_at or os.waitpid(watcher, os.WNOHANG)[0]:
            os._exit(_NOT_TRACED)
        time.sleep(0.001)
    os.close(null)


def points_in(outs: list[Path], root: Path, calls: tuple[str, ...] = CALLS) -> list[Point]:
    """Return the calls in the records of `attach` that touch `root`, each number once."""
    found: dict[Point, str] = {}
    for out in outs:
        counts: Counter[tuple[str, str]] = Counter()
        for line in out.read_text(errors="replace").splitlines():
            pid, call, rest = _parsed(line)
            if not call:
                continue
            counts[pid, call] += 1
            # The folder in which a process stands says nothing of the file it opens.
            rest = _STANDS_IN.sub("", rest)
            if call in calls and (call in TALKING or str(root) in rest):
                shown = rest.replace(f"{root}/", "")[:110]
                found.setdefault(Point(call, counts[pid, call]), shown)
    ordered = sorted(found, key=lambda point: (calls.index(point.call), point.number))
    return [Point(point.call, point.number, found[point]) for point in ordered]


def _parsed(line: str) -> tuple[str, str, str]:
    """Return (process, call, rest); the process is "" where only one was watched."""
    first, _, rest = line.partition(" ")
    pid, said = (first, rest.lstrip()) if first.isdigit() else ("", line)
    call, opened, arguments = said.partition("(")
    return (pid, call, arguments) if opened and call.replace("_", "").isalnum() else (pid, "", "")


def adopt_orphans() -> None:
    """Become the parent of whatever is left behind by the processes started from here."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def all_is_quiet() -> None:
    """Wait until everything that was left running from here has ended, but what is to stay."""
    ends_at = time.monotonic() + _PATIENCE_S
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        if staying and children_of(os.getpid()) <= staying:
            return
        if time.monotonic() > ends_at:
            raise AssertionError("something that a command left behind does not end")
        time.sleep(0.002)


def children_of(pid: int) -> set[int]:
    """Return the children of a process that its main thread has, as far as they are known."""
    try:
        return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return set()


def forked(work: Callable[[], int]) -> int:
    """Run `work` in a child process that exits with what it returns; return its id."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        status = work()
    except BaseException:  # a child must never go on into the tests
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
    os._exit(status)


def status_of(child: int) -> int:
    """Wait for a child; return its exit status, or minus the signal that ended it."""
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == _NOT_TRACED:
        raise AssertionError("strace does not come to watch")
    return status


def watch_heirs(rule: list[str], out: str) -> None:
    """Have each process that this one detaches watched, and those that they detach in turn.

    A detached process is the child of a child; what lies between is left alone.
    """
    fork, generation = os.fork, 0

    def forking() -> int:
        nonlocal generation
        child = fork()
        if not child:
            generation += 1
            if generation % 2 == 0:
                attach(rule, f"{out}.{os.getpid()}", follow=False)
        return child

    os.fork = forking


def each(points: list[Point], every: int) -> Iterator[Point]:
    """Return all points, or a spread of them."""
    return iter(points[:: max(1, every)])


KILLED = -signal.SIGKILL
