"""A process that ends a program when its supervisor has gone without doing so.

A supervisor that is killed can end no other. So before it starts a program it
starts a keeper, which waits at a pipe: the program writes there who it is
before it is anything else, and the supervisor says there that all is over.
If the pipe closes without that word, the keeper ends what the program has
left, and holds the place of the run until it is gone. It does so too when a
supervisor lets the time of its program pass by far, as one that was stopped
does, or the time until which others leave the agent to it: that stands in its place.
No process has to watch another: it works wherever there are pipes.

All that a program has started is found by the session that it leads, also what it has put
into other groups, as shells and `timeout` do, and ended together. Only what begins a session
itself, as daemons do, is its own master.

Source: C0-076, XC-016, `cli.md` section 5.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable

from council.core.record import Record

# How much later than its supervisor the keeper ends a program whose time is up.
_LATER_S = 10.0
_OVER = b"."
_LINE_BYTES = 32
_GRACE_S = 2.0
_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.05
_DEAD = (b"Z", b"X")
_DESCRIPTORS = 4096
# What ends a supervisor, or all processes of a terminal, must not end the keeper.
_DEAF_TO = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_LIBC = ctypes.CDLL(None) if sys.platform.startswith("linux") else None


class Keeper(Record):
    """The keeper of one program: its process, and our end of the pipe.

    It lets the program go once `is_over` says that nothing is left to be ended.
    """

    pid: int
    pipe: int
    is_over: bool = False

    def ties(self) -> Callable[[], None]:
        """Return what a child does before it becomes the program: tie its life to ours."""
        supervisor = os.getpid()

        def tie() -> None:
            os.write(self.pipe, b"%d\n" % os.getpid())
            if _LIBC is not None:  # should a signal end the keeper together with us
                _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            # We may have died before either tie was made.
            if os.getppid() != supervisor:
                os._exit(127)

        return tie

    def __enter__(self) -> Keeper:
        """Begin what the keeper watches over."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Say that it is over, or leave to the keeper what is not."""
        try:
            if self.is_over:
                os.write(self.pipe, _OVER)
        except OSError:
            pass  # another process has ended it
        finally:
            os.close(self.pipe)
        if not self.is_over and kind is not None and not issubclass(kind, Exception):
            return  # on a signal to end it waits for none that has something left to do
        # The one that collects all children of this process may have had it.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def begin_keeper(timeout_s: float, keep: tuple[int, ...] = ()) -> Keeper:
    """Start the keeper of a program that is about to be started.

    Args:
        timeout_s: How long the program may run.
        keep: Descriptors that stay open until all that it has started is gone. The file of
            the first may say, in seconds of the monotonic clock, when it is ended at the latest.

    Raises:
        OSError: The system has no room for another process.
    """
    hears, tells = os.pipe()
    if tells <= 2:  # we were started without standard streams, and the program gets new ones
        low, tells = tells, fcntl.fcntl(tells, fcntl.F_DUPFD_CLOEXEC, 3)
        os.close(low)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _DEAF_TO)  # until it ignores them
    try:
        pid = os.fork()
        if pid == 0:
            try:
                _keep(hears, timeout_s, keep)
            finally:
                os._exit(0)
    except OSError:
        os.close(hears)
        os.close(tells)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(hears)
    return Keeper(pid=pid, pipe=tells)


def _keep(hears: int, timeout_s: float, keep: tuple[int, ...]) -> None:
    for number in _DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _DEAF_TO)
    os.setsid()
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_NAME, b"council-keeper", 0, 0, 0)
    _close_all_but({hears, *keep})
    os.chdir("/")
    leader = b""
    while not leader.endswith(b"\n"):
        said = os.read(hears, 1)
        if not said:  # there was no program, or none that came to be one
            return
        leader += said
    ends_at = time.monotonic() + timeout_s + _LATER_S
    while (left := min(ends_at, _latest_end(keep)) - time.monotonic()) > 0:
        if select.select([hears], [], [], left)[0]:
            if os.read(hears, _LINE_BYTES):
                return
            break
    end_session(int(leader))


def _latest_end(keep: tuple[int, ...]) -> float:
    """Return when a program is to be ended by what its supervisor has written into its place."""
    try:
        return float(os.pread(keep[0], _LINE_BYTES, 0))
    except (IndexError, OSError, ValueError):
        return math.inf


def _close_all_but(kept: set[int]) -> None:
    """Close what was open in the supervisor, so that no pipe or lock is held by accident."""
    start = 0
    for one in sorted(kept):
        if one > start:  # up to 0 it would close everything
            os.closerange(start, one)
        start = one + 1
    os.closerange(start, max(_DESCRIPTORS, start))


# --- The end of a session


def end_session(leader: int, pause: Callable[[float], object] = time.sleep) -> None:
    """End all that is left of a session: asked first, then without asking.

    Args:
        leader: The program that leads it.
        pause: Waits so many seconds; what reads pipes meanwhile reads there.
    """
    _signal(leader, signal.SIGTERM)
    if not _is_gone_soon(leader, pause):
        _signal(leader, signal.SIGKILL)
        _is_gone_soon(leader, pause, signal.SIGKILL)


def _is_gone_soon(leader: int, pause: Callable[[float], object], number: int = 0) -> bool:
    """Wait until no process of a session is left; any other gets the signal again at each scan."""
    until = time.monotonic() + _GRACE_S
    wait_s = _FIRST_PAUSE_S
    while _signal(leader, number):  # what is ended may have started something meanwhile
        if time.monotonic() >= until:
            return False
        pause(wait_s)
        wait_s = min(wait_s * 2, _LONGEST_PAUSE_S)
    return True


def _signal(leader: int, number: int) -> bool:
    """Send a signal to all groups of a session; return true if anybody was there to get it."""
    groups = _groups(leader)
    for group in groups:
        _signal_group(group, number)
    return bool(groups)


def _groups(leader: int) -> set[int]:
    """Return the groups of a session in which anybody still runs.

    In a container whose first process collects no other, the dead stay listed
    for ever; waiting for them to go would cost every such run the whole grace.
    """
    if not sys.platform.startswith("linux"):
        return {leader} if _signal_group(leader, 0) else set()
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit() and _session_of(int(name)) == leader:
            group = _group_of_living(int(name))
            if group is not None:
                found.add(group)
    return found


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _group_of_living(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, _, group, *_ = file.read().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in _DEAD else int(group)


def _signal_group(group: int, number: int) -> bool:
    """Send a signal to a group; return true if there was anybody to get it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
