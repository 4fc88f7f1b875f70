"""Conversations that are over: where their minutes lie, for those who still ask.

Source: HR-029, `cli.md` section 2.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError, NotFoundError
from council.core.record import Record
from council.operations.place import Place
from council.store.conversations.closing import minutes_path


class Over(Record):
    """A conversation that is over; `minutes` is their path, "" where there are none."""

    name: str
    conversation_id: str
    minutes: str = ""


def over(place: Place, name: str, conversation_id: str) -> Over:
    """Return what is left of a conversation that is known to be over."""
    path = minutes_path(place.paths, conversation_id)
    there = path if path and os.path.exists(path) else ""
    return Over(name=name, conversation_id=conversation_id, minutes=there)


def last_over(place: Place, name: str) -> Over | None:
    """Return the last conversation of a name that was archived; "" means any name."""
    from council.store.conversations.pruning import archived

    found = [one for one in archived(place.paths) if name in ("", one.name)]
    return over(place, found[-1].name, found[-1].conversation_id) if found else None


def explained(place: Place, name: str, error: NotFoundError) -> NotFoundError:
    """Return the refusal that says that a conversation is over, if that is why it is not there.

    Args:
        place: The workspace.
        name: The name that was asked for; "" when none was.
        error: What was found instead.
    """
    try:
        found = last_over(place, name)
    except CouncilError:
        return error
    if found is None:
        return error
    where = f"its minutes: {found.minutes}" if found.minutes else "its minutes are not there"
    return NotFoundError(f"the conversation {found.name!r} is over; {where}", error.hint)
