"""Which process supervises the run of an agent, so that a more urgent one can end it.

The supervisor holds a kernel lock on the mark for as long as it lives. A mark
that nobody holds says nothing: its process is gone, however it went.

Source: PR-309, PR-410, XC-002.
"""

from __future__ import annotations

import fcntl
import os

from council.core.record import Record
from council.store import files
from council.store.lock import try_lock

_BYTES = 512


class UnderWay(Record):
    """A run under way: who supervises it, what it is for, and its task."""

    pid: int
    owner: str
    task: str


def mark_path(runs: str, agent: str) -> str:
    """Return where the run of an agent is marked."""
    return f"{runs}/places/run-{agent}"


def begin(path: str, owner: str, task: str) -> int:
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


def end(descriptor: int) -> None:
    """Take the mark of this process back."""
    if descriptor >= 0:
        os.close(descriptor)


def blot(path: str, owners: tuple[str, ...]) -> None:
    """Take what a run that is over was for out of its mark, if it was for one of these."""
    descriptor = try_lock(path)
    if descriptor is None:
        return
    try:
        words = os.pread(descriptor, _BYTES, 0).decode("utf-8", "replace").split()
        if len(words) > 1 and words[1] in owners:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def under_way(path: str) -> UnderWay | None:
    """Return the run that is under way, None when none is."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        words = os.read(descriptor, _BYTES).decode("utf-8", "replace").split()
    finally:
        os.close(descriptor)
    if len(words) != 3 or not words[0].isdecimal():
        return None
    return UnderWay(pid=int(words[0]), owner=words[1], task=words[2])
