"""Engines that are bad on purpose: the tests of failures must notice each of them.

Each function spoils the engine of the process that calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from council.operations import detach
from council.store.engine.joined import Engine
from tests.faults.bad_stores import at_the_end


def acknowledges_before_it_commits() -> None:
    """Brings rows to the database only when everything was said to the caller."""
    real = Engine.commit
    left: list[Callable[[], Any]] = []

    def commit(self: Engine, *given: Any, **named: Any) -> None:
        left.append(lambda: real(self, *given, **named))

    Engine.commit = commit  # type: ignore[method-assign]
    detach.wake_next = lambda place: None  # which would make good what this one leaves
    at_the_end(lambda: [one() for one in left])
