"""Everything that a process remembers of how conversations are written, taken away for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from council.core import times
from council.store.statefile import layout, marks


@contextmanager
def nothing_remembered() -> Iterator[None]:
    """Do what stands inside as a process does that has just been started."""
    kept = dict(times._rendered)
    times._rendered.clear()
    layout.default_gap.cache_clear()
    marks.label_line.cache_clear()
    try:
        yield
    finally:
        times._rendered.clear()
        times._rendered.update(kept)
