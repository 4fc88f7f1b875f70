"""A conversation as a kind of document: its eight functions, and what the document asks besides."""

from __future__ import annotations

from council.councils.evolution import EVENTS, SETTLING, evolve
from council.councils.page import render
from council.councils.rules import due, new, wake, work
from council.kernel.record import Any

__all__ = ["EVENTS", "SETTLING", "due", "evolve", "new", "render", "wake", "work"]


def __getattr__(name: str) -> Any:
    """Return a function that reads pages, `adopt`, `edits` or `added`."""
    if name not in ("adopt", "edits", "added"):
        raise AttributeError(name)
    from council.councils import page_edits, page_reading  # late: regular expressions are slow

    return getattr(page_reading if name == "adopt" else page_edits, name)
