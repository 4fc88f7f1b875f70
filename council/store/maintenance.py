"""The lock of rare work on the whole workspace: pruning, purging, migrating.

Such work takes seconds and runs once a day at most, so it is guarded by the
portable lock: any program that knows `filelock` can keep it off for a while,
a backup for instance.

Source: XC-018, `store.md` section 2 step 2.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from council.core.errors import InvalidStateError, LockTimeoutError
from council.store import files
from council.store.conversations.naming import prepare_control
from council.store.paths import Workspace

LOCK_FILE = "maintenance.lock"
TIMEOUT_S = 30.0


@contextmanager
def alone(workspace: Workspace, timeout_s: float = TIMEOUT_S) -> Iterator[None]:
    """Do something while no other process maintains the workspace.

    Raises:
        LockTimeoutError: Another process did for all that time.
        CouncilError: The system refuses.
    """
    from filelock import FileLock, Timeout  # slow to import

    path = f"{workspace.control}/{LOCK_FILE}"
    with files.explaining("lock", path):
        prepare_control(workspace)
        os.close(files.opened(path, os.O_RDWR | os.O_NONBLOCK, 0o600))
        files.read_stable(path)  # refuses what is no regular file
        lock = FileLock(path, timeout=timeout_s)
        try:
            lock.acquire()
        except Timeout:
            raise LockTimeoutError(path, "", timeout_s) from None
        except NotImplementedError as error:
            raise InvalidStateError(
                f"{path} cannot be locked: {error}", "use a local disk"
            ) from None
    try:
        yield
    finally:
        lock.release()
