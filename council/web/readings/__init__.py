"""What the pages show, gathered by the process that was forked for a request.

Each reading composes what one page needs from operations; it writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.record import Any, Record
from council.operations.place import Place
from council.web.readings import council, minutes, news, revisions


class Reading(Record):
    """One reading, and the command by which `core.trust` knows it."""

    read: Callable[[Place, dict[str, Any]], Any]
    verb: str


READINGS: dict[str, Reading] = {
    "news": Reading(read=news.news, verb="events tail"),
    "page of council": Reading(read=council.council, verb="watch"),
    "page of revision": Reading(read=revisions.revision, verb="history"),
    "page of minutes": Reading(read=minutes.minutes, verb="list"),
}
