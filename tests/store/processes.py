"""Real processes for the tests of the store: forked, led by pipes, killed at a chosen call."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable

from council.store.documents import live

# Every call by which the store changes or secures something on the disk.
_CALLS = (
    "open",
    "write",
    "pwrite",
    "fsync",
    "fdatasync",
    "ftruncate",
    "rename",
    "link",
    "unlink",
    "mkdir",
    "fchmod",
    "utime",
    "posix_fadvise",
)


def forked(work: Callable[[], object]) -> int:
    """Run `work` in a child process and return its id; exit status 0 if it ends well."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # a child must never go on into pytest
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
    os._exit(status)


def status_of(child: int) -> int:
    """Wait for a child; its exit status, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def together(works: list[Callable[[], object]]) -> list[int]:
    """Run all of them at once, let go by one pipe; return their exit statuses."""
    reading, writing = os.pipe()

    def waiting(work: Callable[[], object]) -> Callable[[], object]:
        def run() -> None:
            os.close(writing)
            os.read(reading, 1)
            work()

        return run

    children = [forked(waiting(work)) for work in works]
    os.close(reading)
    os.close(writing)  # all of them read the end of the pipe at the same time
    return [status_of(child) for child in children]


class Signal:
    """A pipe by which one process signals to another that it got somewhere."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()

    def send(self) -> None:
        os.write(self._writing, b".")

    def wait(self) -> None:
        assert os.read(self._reading, 1)


def at_call(number: int, then: Callable[[], object]) -> None:
    """In this (child) process, do `then` in the place of the `number`th call to the disk."""
    left = number

    def watched(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                then()
            return real(*args, **options)

        return call

    for name in _CALLS:
        setattr(os, name, watched(getattr(os, name)))
    live.exchange = watched(live.exchange)  # type: ignore[assignment]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(code: int) -> Callable[[], object]:
    def raising() -> None:
        raise OSError(code, os.strerror(code))

    return raising
