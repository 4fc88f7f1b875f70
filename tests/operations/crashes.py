"""Processes that die at a chosen call to the system, for the tests of the operations."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from council.store.documents import live
from tests.store.processes import forked, status_of

_CALLS = (
    "open",
    "write",
    "pwrite",
    "fsync",
    "fdatasync",
    "ftruncate",
    "rename",
    "replace",
    "link",
    "unlink",
    "mkdir",
    "utime",
    "waitpid",
)


class _Countdown:
    """Kills this process at its `number`th call; a forked child starts anew, or is spared."""

    def __init__(self, number: int, *, heirs: bool) -> None:
        self.number = number
        self.left = 0 if heirs else number
        self.heirs = heirs

    def tick(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def born(self) -> None:
        self.left = self.number if self.heirs else 0

    def watch(self) -> None:
        fork = os.fork

        def forking() -> int:
            self.tick()
            child = fork()
            if not child:
                self.born()
            return child

        os.fork = forking
        for name in _CALLS:
            setattr(os, name, self._watched(getattr(os, name)))
        live.exchange = self._watched(live.exchange)  # type: ignore[assignment]

    def _watched(self, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            self.tick()
            return real(*args, **options)

        return call


def killed_at(number: int, work: Callable[[], object], *, heirs: bool = False) -> bool:
    """Do `work` in a process that is killed at its `number`th call; return true if it was.

    Args:
        number: Which call, from 1.
        work: What to do.
        heirs: Kill each process that it leaves running at its own `number`th
            call, instead of the process itself.
    """

    def dying() -> None:
        _Countdown(number, heirs=heirs).watch()
        work()

    status = status_of(forked(dying))
    assert status in (0, -signal.SIGKILL), f"it failed by itself at call {number}"
    return status != 0
