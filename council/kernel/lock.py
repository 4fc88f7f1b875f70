"""The lock of a document: `flock` on a file that is never removed.

The lock ends with its process, and `filelock.FileLock` on the same file excludes us and is
excluded. Who waits asks again every few milliseconds, as other threads, too, can do.
"""

from __future__ import annotations

import fcntl
import os
import time

from council.kernel.errors import Conflict, NotFound
from council.kernel.files import reported

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PAUSE = 0.003  # seconds


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
            try:
                while not self._acquires():
                    if time.monotonic() > until:
                        message = f"{self._path}: locked by another command"
                        hint = "run the command again, or look for a stopped council process"
                        raise Conflict("locked", f"{message} for {self._patience:.0f} s", hint)
                    time.sleep(_PAUSE)
            except (FileNotFoundError, NotADirectoryError):
                message = f"no folder {os.path.dirname(self._path)}: closed, or never begun"
                raise NotFound("no-folder", message) from None

    def __exit__(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked child may have a copy
        os.close(descriptor)

    def _acquires(self) -> bool:
        """Return whether we have the lock now, on the file that has the name now."""
        descriptor = os.open(self._path, _FLAGS, 0o600)
        try:
            if locks(descriptor) and os.path.samestat(os.fstat(descriptor), os.lstat(self._path)):
                self._descriptor = descriptor
        finally:
            if self._descriptor != descriptor:
                os.close(descriptor)
        return self._descriptor >= 0


def locks(descriptor: int) -> bool:
    """Lock an open file for this process, and return whether that worked at once."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
