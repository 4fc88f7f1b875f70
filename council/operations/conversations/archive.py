"""Archiving: the minutes are written, the live file goes.

Source: C0-030, C0-031, XC-018.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation
from council.core.errors import ConflictError, NotFoundError
from council.operations.conversations import prompting
from council.operations.place import Place
from council.operations.reporting.minutes import minutes_file_name, render_data, render_minutes
from council.store.conversations.closing import minutes_path

_TRIES = 8


def archive(place: Place, state: Conversation) -> str:
    """Write the minutes of a finished conversation and take its live file away.

    Returns:
        The path of the minutes. Called again after a crash, or by two at
        once, it finishes what was begun and writes no second file.

    Raises:
        CouncilError: The disk refuses, or somebody writes to it all the time.
    """
    # First, while it is still open: a process that dies here is followed by another heartbeat.
    prompting.clean_up(place, state)
    for _ in range(_TRIES):
        try:
            return _close(place, state)
        except NotFoundError:
            break
        except ConflictError:  # a late contribution came in: the minutes must hold it
            standing = place.conversations.read(state.name)
            if standing.conversation_id != state.conversation_id:
                break
            state = standing
    path = minutes_path(place.paths, state.conversation_id)
    if not path:
        raise ConflictError(f"{state.name!r} could not be archived", "see: council status")
    return path  # somebody else has archived it


def _close(place: Place, state: Conversation) -> str:
    now = place.now()
    return place.conversations.close(
        state.name,
        f"{place.paths.minutes}/{minutes_file_name(state, now)}",
        render_minutes(state, now=now),
        now=now,
        data=render_data(state, now=now),
        made_of=state,
    )
