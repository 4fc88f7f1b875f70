"""Everything that a process remembers of how conversations are written, taken away for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from council.core import times
from council.store.statefile import headings, layout

_MEMORIES = (
    headings._labels,
    layout._gaps,
    times._rendered,
)


@contextmanager
def nothing_remembered() -> Iterator[None]:
    """Do what stands inside as a process does that has just been started."""
    kept = [dict(memory) for memory in _MEMORIES]
    for memory in _MEMORIES:
        memory.clear()
    try:
        yield
    finally:
        for memory, before in zip(_MEMORIES, kept, strict=True):
            memory.clear()
            memory.update(before)
