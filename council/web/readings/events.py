"""What the page of events shows: what happened to anything, the newest first.

Of an anonymous council that is not over only that something happened is told.

Source: DL-071, DL-100, P8-081.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from council.operations.place import Place
from council.operations.reporting.event_words import sentence
from council.operations.reporting.story import story, subject
from council.operations.view import status
from council.store.events import tail
from council.web.readings.hiding import Hiding

MOST = 200


def events(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """Return the newest events, or those about `about`, the newest first.

    Raises:
        NotFoundError: Nothing of that name is known.
    """
    about, lang = str(given.get("about", "")).strip(), given.get("lang", "en")
    seen = [one.state for one in status(place).standings]
    names = {one.conversation_id: one.name for one in seen}
    hiding = Hiding(place, ())
    if about:
        kind = subject(place, about).kind
        found = [one.event for one in story(place, about, lang, newest=MOST).told]
        if kind != "conversation":  # what it is about would say who it was
            found = [one for one in found if hiding.shown(one) is one]
    else:
        found = list(deque(tail(place.paths), maxlen=MOST))
    rows = []
    for one in reversed(found):
        owner = str(one.get("conversationId") or "")
        is_hidden = hiding.shown(one) is not one
        rows.append(
            {
                "id": str(one.get("eventId")),
                "at": str(one.get("at")),
                "type": str(one.get("type")),
                "where": names.get(owner, owner),
                "who": "" if is_hidden else str(one.get("fromAgentId") or one.get("agentId") or ""),
                "said": "" if is_hidden else sentence(one, lang),
            }
        )
    return {"about": about, "events": rows, "most": MOST}
