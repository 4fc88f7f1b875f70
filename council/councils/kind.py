"""A conversation as a kind of document: its eight functions, and what the document asks besides."""

from __future__ import annotations

from council.councils.evolution import EVENTS, SETTLING, evolve
from council.councils.model import Event, State
from council.councils.page import render
from council.councils.rules import due, new, wake, work
from council.kernel.page import Taken
from council.kernel.times import datetime

__all__ = ["EVENTS", "SETTLING", "due", "evolve", "new", "render", "wake", "work"]


def edits(base: State, now: State, page: str, at: datetime, ours: bool) -> Taken:
    """Return what was changed by hand; see `page_edits.edits`."""
    from council.councils import page_edits  # late: regular expressions are slow to import

    return page_edits.edits(base, now, page, at, ours)


def adopt(page: str, name: str = "") -> list[Event]:
    """Return the event `adopted` of a page without a journal; see `page_reading.adopt`."""
    from council.councils import page_reading  # late: see above

    return page_reading.adopt(page, name)
