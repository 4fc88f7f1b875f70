"""`link`: the one process of a machine that speaks with the engine for all others.

Source: EN-003.
"""

from __future__ import annotations

from contextlib import suppress

from council.commands.integrating import require
from council.commands.output import shown
from council.operations.place import Place
from council.operations.watch import keep_linked


def link(place: Place) -> None:
    """Keep a workspace linked to its engine until a signal comes, or the user presses Ctrl-C."""
    require("postgres", "the link")

    def say(line: str) -> None:
        with suppress(OSError):  # what reads it has gone; the link goes on
            print(shown(line), flush=True)

    keep_linked(place, say)
