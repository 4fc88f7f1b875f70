"""Archiving: the minutes are written, the live file goes.

Source: C0-030, C0-031, XC-018.
"""

from __future__ import annotations

from council.core.conversation import Conversation
from council.operations import prompting
from council.operations.place import Place
from council.store.minutes import minutes_file_name, render_minutes


def archive(place: Place, state: Conversation) -> str:
    """Write the minutes of a finished conversation and take its live file away.

    Returns:
        The path of the minutes. Called again after a crash, it finishes what
        was begun and writes no second file.
    """
    now = place.now()
    path = place.conversations.close(
        state.name,
        f"{place.paths.minutes}/{minutes_file_name(state, now)}",
        render_minutes(state, now=now),
        now=now,
    )
    prompting.clean_up(place, state)
    return path
