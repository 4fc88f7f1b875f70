"""The lock of a document: `flock` on a file that is never removed.

The lock ends with its process, and `filelock.FileLock` on the same file excludes us and is
excluded. In the main thread the kernel waits and a timer ends the wait; other threads cannot have
signals, so they poll.
"""

from __future__ import annotations

import fcntl
import os
import time

from council.kernel.errors import Conflict, NotFound
from council.kernel.files import reported
from council.kernel.record import Any

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Lock:
    """An exclusive lock, held inside a `with` block.

    The file is made in a folder that exists; without the folder, or if it was moved while we
    waited: NotFound (`no-folder`). After `patience` seconds: Conflict (`locked`).
    """

    def __init__(self, path: str, patience: float = 30.0) -> None:
        self._path, self._patience, self._descriptor = path, patience, -1

    def __enter__(self) -> None:
        until = time.monotonic() + self._patience
        with reported("lock", self._path):
            while self._descriptor < 0:  # again if the file was replaced while we waited
                try:
                    self._acquire(until)
                except (FileNotFoundError, NotADirectoryError):
                    message = f"no folder {os.path.dirname(self._path)}: closed, or never begun"
                    raise NotFound("no-folder", message) from None

    def __exit__(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked child may have a copy
        os.close(descriptor)

    def _acquire(self, until: float) -> None:
        descriptor = os.open(self._path, _FLAGS, 0o600)
        try:
            if not (locks(descriptor) or _is_free_before(descriptor, until)):
                message = f"{self._path}: locked by another command for {self._patience:.0f} s"
                hint = "run the command again, or look for a stopped council process"
                raise Conflict("locked", message, hint)
            if os.path.samestat(os.fstat(descriptor), os.lstat(self._path)):
                self._descriptor = descriptor
        finally:
            if self._descriptor != descriptor:
                os.close(descriptor)


def locks(descriptor: int) -> bool:
    """Lock an open file for this process, and return whether that worked at once."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_free_before(descriptor: int, until: float) -> bool:
    """Wait for the lock and take it."""
    import _signal  # type: ignore[import-not-found]  # late: only to wait; `signal` is slow

    signal: Any = _signal
    waiting = True

    def on_alarm(*_: object) -> None:
        if waiting:
            raise TimeoutError

    try:
        before = signal.signal(signal.SIGALRM, on_alarm)
    except ValueError:  # not the main thread
        while not (free := locks(descriptor)) and time.monotonic() < until:
            time.sleep(0.005)
        return free
    try:  # repeatedly: the first alarm may come just before the kernel begins to wait
        signal.setitimer(signal.ITIMER_REAL, max(0.001, until - time.monotonic()), 0.05)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except TimeoutError:
        return False
    finally:
        waiting = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return True
