"""What of an event anyone at the page may see.

Nothing sealed stands in an event. But of an anonymous conversation that is not over, and of all
that was done in its trace, only that something happened is told: who did it, what is said beside,
even how long that is, would show who is who. Whether a conversation is such a one, its last
revision decides: what others saved into its file is no command's word yet.

Source: DL-071, DL-100, SC-003.
"""

from __future__ import annotations

from collections.abc import Iterable

from council.core.conversations.handles import is_anonymous
from council.core.errors import CouncilError
from council.core.events import trace_of
from council.core.record import Any
from council.operations.place import Place
from council.store.conversations.naming import standing_of
from council.store.documents.journal import FILE, last_text
from council.store.statefile import statefile

_SHOWN = ("schemaVersion", "eventId", "traceId", "conversationId", "type", "at")


class Hiding:
    """Shows events without what must not be known.

    Args:
        place: The workspace.
        plain: The ids of conversations that are known not to be anonymous.

    Attributes:
        plain: Those of them that are open still, and what has been found besides.
    """

    def __init__(self, place: Place, plain: Iterable[str]) -> None:
        known = frozenset(plain)
        self.plain: list[str] = []
        self._ids: set[str] = set()
        self._traces: set[str] = set()
        self._names: set[str] = set()
        for name in place.conversations.names():
            conversation_id = standing_of(place.paths, name)[0]
            if conversation_id in known or self._is_plain(place, name, conversation_id):
                self.plain.append(conversation_id)

    def _is_plain(self, place: Place, name: str, conversation_id: str) -> bool:
        """Return true if a conversation is not anonymous; one that is and is open is noted."""
        trace = trace_of(conversation_id)
        try:
            found = last_text(f"{place.paths.conversation_folder(conversation_id)}/{FILE}")
            if found is None:
                state = place.conversations.page(name).state
            else:
                state = statefile.load(found[1].decode("utf-8"), name)[0]
            if not is_anonymous(state):
                return True
            if state.finished_at is not None:
                return False
            trace = state.trace
        except (CouncilError, OSError, ValueError, TypeError, LookupError):
            pass  # as long as nothing says what it is, it is taken for one
        self._ids.add(conversation_id)
        self._traces.add(trace)
        self._names.add(name)
        return False

    def shown(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return an event as anyone may see it."""
        owner, trace = event.get("conversationId"), event.get("traceId")
        data = event.get("data")
        is_hidden = owner in self._ids or (
            trace in self._traces and (not owner or trace != trace_of(str(owner)))
        )
        if not owner and isinstance(data, dict) and data.get("name") in self._names:
            is_hidden = True  # it was refused before it was known what it is about
        return {key: event[key] for key in _SHOWN if key in event} if is_hidden else event
