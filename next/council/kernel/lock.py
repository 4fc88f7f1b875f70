"""The lock of a document: `flock` on a file that stays.

It ends with its process whatever happens to that, and `filelock.FileLock` on the same file
excludes us and we it. In the main thread the kernel does the waiting and a timer ends it; in
other threads, which cannot have signals, the lock is asked for again and again.
"""

from __future__ import annotations

import fcntl
import os
import time

from council.kernel.errors import Conflict, NotFound
from council.kernel.files import reported
from council.kernel.record import Any

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_POLL_S = 0.005


class _OutOfPatienceError(Exception):
    """The timer went off."""


class Lock:
    """An exclusive lock, held inside a `with` block.

    Args:
        path: The lock file. Its folder has to be there; the file is made, and never removed.
        patience: Seconds to wait.

    Raises:
        Conflict: Another process held it all that time (`locked`).
        NotFound: The folder is gone, or was moved away while we waited (`gone`).
    """

    def __init__(self, path: str, patience: float = 30.0) -> None:
        self._path, self._patience, self._descriptor = path, patience, -1

    def __enter__(self) -> Lock:
        until = time.monotonic() + self._patience
        with reported("lock", self._path):
            while not self._acquired(until):
                pass  # the file was replaced while we waited
        return self

    def __exit__(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # for copies in forked processes, too
        os.close(descriptor)

    def _acquired(self, until: float) -> bool:
        gone = NotFound("gone", f"{self._path} is gone: the conversation may be over")
        try:
            descriptor = os.open(self._path, _FLAGS, 0o600)
        except (FileNotFoundError, NotADirectoryError):
            raise gone from None
        try:
            if not _is_free(descriptor):
                self._wait(descriptor, until)
            if os.path.samestat(os.fstat(descriptor), os.lstat(self._path)):
                self._descriptor, descriptor = descriptor, -1
                return True
        except FileNotFoundError:
            raise gone from None
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return False

    def _wait(self, descriptor: int, until: float) -> None:
        import _signal  # type: ignore[import-not-found]  # late: only who waits; `signal` is slow

        signal: Any = _signal
        waiting = True

        def on_alarm(*_: object) -> None:
            if waiting:
                raise _OutOfPatienceError

        try:
            before = signal.signal(signal.SIGALRM, on_alarm)
        except ValueError:  # not the main thread
            while not _is_free(descriptor):
                if time.monotonic() > until:
                    raise self._refusal() from None
                time.sleep(_POLL_S)
            return
        # It goes off repeatedly: the first time may be just before the kernel begins to wait.
        signal.setitimer(signal.ITIMER_REAL, max(0.001, until - time.monotonic()), 0.05)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            waiting = False
        except _OutOfPatienceError:
            raise self._refusal() from None
        finally:
            waiting = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _refusal(self) -> Conflict:
        return Conflict(
            "locked",
            f"{self._path} was locked by another command for {self._patience:.0f} s",
            "run the command again; if it stays locked, look for a stopped `council` process",
        )


def _is_free(descriptor: int) -> bool:
    """Take the lock if nobody has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
