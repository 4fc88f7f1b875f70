"""Archiving: the minutes are written, the live file goes.

Source: C0-030, C0-031, XC-018.
"""

from __future__ import annotations

from council.core.conversation import Conversation
from council.core.events import Event
from council.operations import runs
from council.operations.place import Place
from council.store.events import append, loose_records
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
        minutes_file_name(state, now),
        render_minutes(state, now=now),
        now=now,
    )
    runs.clean_up(place, state)
    data = {"name": state.name, "minutes": path}
    event = Event(type="conversation.archived", data=data)
    append(place.paths, loose_records([event], state.conversation_id, now))
    return path
