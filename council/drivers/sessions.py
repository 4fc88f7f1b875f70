"""All that a program has started, found by its session, and ended together.

A program that leads a session of its own is found with all that it has
started, also what it has put into other groups, as shells and `timeout` do.
Only what begins a session itself, as daemons do, is its own master.

Source: C0-076, `cli.md` section 5.
"""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_GRACE_S = 2.0
_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.05
_DEAD = (b"Z", b"X")


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
    """Wait until nobody of a session is left; who is, gets the signal again at each look."""
    until = time.monotonic() + _GRACE_S
    wait_s = _FIRST_PAUSE_S
    while _signal(leader, number):  # what is ended may have started something meanwhile
        if time.monotonic() >= until:
            return False
        pause(wait_s)
        wait_s = min(wait_s * 2, _LONGEST_PAUSE_S)
    return True


def _signal(leader: int, number: int) -> bool:
    """Send a signal to all groups of a session; tell whether anybody was there to get it."""
    groups = _groups(leader)
    for group in groups:
        _signal_group(group, number)
    return bool(groups)


def _groups(leader: int) -> set[int]:
    """Return the groups of a session in which anybody still runs.

    In a container whose first process collects nobody, the dead stay listed
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
    """Send a signal to a group; tell whether there was anybody to get it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
