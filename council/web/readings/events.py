"""What the page of events shows: what happened to anything, the newest first, page by page.

Of an anonymous council that is not over only that something happened is told.

Source: DL-071, DL-100, P8-081, FW-011.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from council.core.errors import CouncilError
from council.core.ids import split_task_id
from council.core.plain_text import excerpt, plain_line
from council.operations.place import Place
from council.operations.reporting.event_words import sentence
from council.operations.reporting.story import story, subject
from council.operations.view import status
from council.store.conversations.filed import archived_conversation
from council.store.events import tail
from council.web.readings.hiding import Hiding

MOST = 100
_SUBJECT_CHARS = 80


def events(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return events about `about`, or all of them, the newest first.

    `before` is the id of an event: those are shown that happened before it. `older` is the id to
    go on with, "" where there are no older ones.

    Raises:
        NotFoundError: Nothing of that name is known.
    """
    about, lang = str(given.get("about", "")).strip(), given.get("lang", "en")
    before = str(given.get("before", ""))
    hiding = Hiding(place, ())
    if about:
        kind = subject(place, about).kind
        found = [one.event for one in story(place, about, lang).told]
        if kind != "conversation":  # what it is about would say who it was
            found = [one for one in found if hiding.shown(one) is one]
    else:
        found = list(tail(place.paths))
    at = next((number for number, one in enumerate(found) if one.get("eventId") == before), None)
    found = found[:at]
    shown = found[-MOST:]
    subjects = _Subjects(place)
    return {
        "about": about,
        "events": [_row(one, subjects, hiding, lang) for one in reversed(shown)],
        "before": before if at is not None else "",
        "older": str(shown[0].get("eventId")) if len(found) > MOST else "",
    }


def _row(event: dict[str, Any], subjects: _Subjects, hiding: Hiding, lang: str) -> dict[str, Any]:
    owner = str(event.get("conversationId") or "")
    is_hidden = hiding.shown(event) is not event
    data = event.get("data") or {}
    task = split_task_id(str(data.get("task") or ""))
    return {
        "id": str(event.get("eventId")),
        "at": str(event.get("at")),
        "type": str(event.get("type")),
        "about": subjects.names.get(owner, owner),
        "subject": subjects.of(owner),
        "who": "" if is_hidden else str(event.get("fromAgentId") or event.get("agentId") or ""),
        # The others say it themselves.
        "round": task[1] if task and "tour" not in data and not is_hidden else 0,
        "said": "" if is_hidden else sentence(event, lang),
    }


class _Subjects:
    """What councils are about, by their ids; `names` are those of open ones."""

    def __init__(self, place: Place) -> None:
        self._place = place
        states = [one.state for one in status(place).standings]
        self.names = {one.conversation_id: one.name for one in states}
        self._topics = {one.conversation_id: one.topic for one in states}

    def of(self, owner: str) -> str:
        """Return the question of a council, open or over; of anything else its id."""
        if owner and owner not in self._topics:
            self._topics[owner] = owner
            with suppress(CouncilError):
                self._topics[owner] = archived_conversation(self._place.paths, owner)[0].topic
        return excerpt(plain_line(self._topics.get(owner, "")), _SUBJECT_CHARS)
