"""What the pages show, gathered by the process that was forked for a request.

Each reading composes what one page needs from operations; it writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from council.core.record import Any, Record
from council.operations.place import Place
from council.web.readings import council, home, minutes, news, revisions


class Reading(Record):
    """One reading, and the command by which `core.trust` knows it."""

    read: Callable[[Place, dict[str, Any]], Any]
    verb: str


READINGS: dict[str, Reading] = {
    "council minutes page": Reading(read=minutes.minutes, verb="list"),
    "council page": Reading(read=council.council, verb="watch"),
    "home page": Reading(read=home.home, verb="status"),
    "minutes file": Reading(read=minutes.file, verb="list"),
    "minutes page": Reading(read=home.minutes_list, verb="list"),
    "news": Reading(read=news.news, verb="events tail"),
    "revision page": Reading(read=revisions.revision, verb="history"),
}
