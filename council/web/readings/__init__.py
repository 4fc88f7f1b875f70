"""What the pages show, gathered by the process that was forked for a request.

Each reading composes what one page needs from operations; one that changes something does so by
one operation.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.record import Any
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

# A reading, and the command by whose rights it is done.
READINGS: dict[str, tuple[Callable[[Place, dict[str, Any]], Any], str]] = {
    "joined": (news.joined, "events tail"),
    "council minutes page": (minutes.minutes, "list"),
    "council page": (council.council, "status"),
    "home page": (home.home, "status"),
    "minutes page": (home.minutes_list, "list"),
    "new page": (agents.new, "agent list"),
    "agents page": (agents.agents, "agent list"),
    "metrics page": (home.figures, "metrics"),
    "rooms page": (rooms.rooms_list, "channel list"),
    "room page": (rooms.room, "channel show"),
    "dirigent page": (dirigent.dirigent, "channel list"),
    "events page": (events.events, "events tail"),
    "debates.list": (debates.listed, "list"),
    "debates.start": (debates.start, "convene"),
    "debates.show": (debates.show, "show"),
    "debates.inject": (debates.inject, "inject"),
    "debates.cancel": (debates.cancel, "cancel"),
    "news": (news.news, "events tail"),
    "nearest revision page": (revisions.nearest, "history"),
    "revision page": (revisions.revision, "history"),
}
