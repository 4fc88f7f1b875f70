"""Work that goes on after the command has returned.

A detached process has its own session and no terminal; whoever called the
command waits for nothing. It is forked, not started anew: what was imported
is there already, which is most of what a start costs.

Source: `architecture.md` section 3, `cli.md` section 5.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def detach(work: Callable[[], object], *, log_file: str, keep: tuple[int, ...] = ()) -> None:
    """Do `work` in a new process that outlives this one.

    Args:
        work: What to do; an exception ends the process and goes to `log_file`.
        log_file: Where a failure is written down.
        keep: File descriptors that go over to the new process; the caller
            closes its own copies.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    middle = os.fork()
    if middle:
        os.waitpid(middle, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        _run(work, log_file, keep)
    finally:
        os._exit(1)


def _run(work: Callable[[], object], log_file: str, keep: tuple[int, ...]) -> None:
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        _close_others(keep)
        work()
        os._exit(0)
    except SystemExit:  # it was told to end, which is no failure
        os._exit(0)
    except BaseException:
        write_down_failure(log_file)
        os._exit(1)


def write_down_failure(log_file: str) -> None:
    """Add the exception that is being handled to a log that only its owner may read.

    In a shared workspace the group may, too.
    """
    import traceback

    from council.store.files import opened

    log = opened(log_file, os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        os.write(log, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os.close(log)


def _close_others(keep: tuple[int, ...]) -> None:
    """Close what was open in the parent, so that no pipe or lock is held by accident."""
    start = 3
    for kept in sorted(keep):
        os.closerange(start, kept)
        start = kept + 1
    os.closerange(start, 4096)
