"""What the pages show, gathered by the process that was forked for a request.

Each reading composes what one page needs from operations; one that `changes` something does so
by one operation.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.record import Any, Record
from council.operations.place import Place
from council.web.readings import (
    agents,
    council,
    debates,
    dirigent,
    events,
    home,
    minutes,
    news,
    revisions,
    rooms,
)


class Reading(Record):
    """One reading, and the command by which `core.trust` knows it."""

    read: Callable[[Place, dict[str, Any]], Any]
    verb: str
    changes: bool = False


READINGS: dict[str, Reading] = {
    "joined": Reading(read=news.joined, verb="events tail"),
    "council minutes page": Reading(read=minutes.minutes, verb="list"),
    "council page": Reading(read=council.council, verb="watch"),
    "home page": Reading(read=home.home, verb="status"),
    "minutes file": Reading(read=minutes.file, verb="list"),
    "minutes page": Reading(read=home.minutes_list, verb="list"),
    "new page": Reading(read=agents.new, verb="agent list"),
    "agents page": Reading(read=agents.agents, verb="agent list"),
    "rooms page": Reading(read=rooms.rooms_list, verb="channel list"),
    "room page": Reading(read=rooms.room, verb="channel show"),
    "dirigent page": Reading(read=dirigent.dirigent, verb="channel list"),
    "events page": Reading(read=events.events, verb="events tail"),
    "debates.list": Reading(read=debates.listed, verb="list"),
    "debates.start": Reading(read=debates.start, verb="convene", changes=True),
    "debates.show": Reading(read=debates.show, verb="show"),
    "debates.inject": Reading(read=debates.inject, verb="inject", changes=True),
    "debates.cancel": Reading(read=debates.cancel, verb="cancel", changes=True),
    "news": Reading(read=news.news, verb="events tail"),
    "revision page": Reading(read=revisions.revision, verb="history"),
}
