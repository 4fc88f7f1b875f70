"""What a piece of work costs, whatever else is at work on the machine.

Processor time alone counts, and of several tries the least: others push this process out of
the caches, never into them. The collector of garbage rests meanwhile, because it walks the
heap of the whole test run, at whatever moment its turn comes.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Given = TypeVar("Given")

_TRIES = 7
# Work that is far too slow has been seen to be so after this long.
_PATIENCE_S = 60.0
# What is so cheap may grow as it likes: the clock shows nothing of it.
_UNSEEN_S = 0.05
# How much dearer the same work may become for being larger, by the caches alone.
_ROOM = 4


def assert_cheap(work: Callable[[], object], within_s: float) -> None:
    """Assert that one try of `work` takes at most so many seconds of processor time."""
    least = float("inf")
    with _undisturbed():
        for _ in _tries():
            least = min(least, _took_s(work))
            if least <= within_s:
                return
    raise AssertionError(f"took {least:.3f} s at the least, not {within_s:g} s")


def assert_linear(work: Callable[[Given], object], small: Given, large: Given, times: int) -> None:
    """Assert that what is `times` as much takes about `times` as long, not its square.

    Args:
        work: Called with `small` and with `large`.
        small: Enough to take a fair part of a millisecond.
        large: The same, `times` as long.
        times: From 16 on, what is quadratic is well beyond what is allowed.
    """
    least_small = least_large = allowed_s = float("inf")
    with _undisturbed():
        for _ in _tries():
            least_small = min(least_small, _took_s(lambda: work(small)))
            least_large = min(least_large, _took_s(lambda: work(large)))
            allowed_s = _UNSEEN_S + _ROOM * times * least_small
            if least_large <= allowed_s:
                return
    told = f"{least_small:.5f} s for the small, {least_large:.3f} s for {times} times as much"
    raise AssertionError(f"{told}, where {allowed_s:.3f} s are allowed")


def _took_s(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _tries() -> Iterator[int]:
    begun = time.process_time()
    for number in range(_TRIES):
        yield number
        if time.process_time() - begun > _PATIENCE_S:
            return


@contextmanager
def _undisturbed() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
