"""The events that happened since a reader has last asked, as anyone at the page may see them.

Of an anonymous conversation that is not over only that something happened is told: who did it, and
what an event says beside, would show who is who.

Source: DL-071, DL-100.
"""

from __future__ import annotations

from functools import cache

from council.core.conversations.handles import is_anonymous
from council.core.errors import CouncilError
from council.core.record import Any
from council.operations.place import Place
from council.store.events import Mark, end_of_events
from council.store.events import news as unread

_SHOWN_OF_ANONYMOUS = ("schemaVersion", "eventId", "traceId", "conversationId", "type", "at")


def news(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return the events behind some offsets, and the offsets behind them.

    `given` has `offsets` by the names of days and the `ids` that are known; without offsets the
    newest `last` events are returned.
    """
    # What was there before the conversations were looked at is certainly read with them.
    ends = end_of_events(place.paths)
    hidden = _anonymous(place)
    mark = Mark(offsets=given.get("offsets") or {}, ids=given.get("ids") or [])
    mark = Mark(offsets=given.get("offsets") or {}, ids=given.get("ids") or [])
    fresh, offsets = unread(place.paths, mark)
    if last := given.get("last"):
        fresh = fresh[-last:]
    return {
        "events": [_shown(one, hidden) for one in fresh],
        "offsets": {**ends, **offsets},
    }


def _shown(event: dict[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    if event.get("conversationId") not in hidden:
        return event
    return {key: event[key] for key in _SHOWN_OF_ANONYMOUS if key in event}


@cache
def _anonymous(place: Place) -> frozenset[str]:
    """Return the ids of open conversations in which peers do not know each other's names."""
    found = []
    for name in place.conversations.names():
        try:
            state = place.conversations.read(name)
        except CouncilError:
            continue
        if is_anonymous(state) and state.finished_at is None:
            found.append(state.conversation_id)
    return frozenset(found)
