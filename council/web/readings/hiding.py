"""What of an event anyone at the page may see.

Nothing sealed stands in an event. But of an anonymous conversation that is not over, and of all
that was done in its trace, only that something happened is told: who did it, what is said beside,
even how long that is, would show who is who. Whether a conversation is such a one, its last
revision decides: what others saved into its file is no command's word yet.

Source: DL-071, DL-100, SC-003.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from council.core.conversations.anonymity import as_shown
from council.core.conversations.conversation import Conversation
from council.core.conversations.handles import is_anonymous, known_to
from council.core.errors import CouncilError
from council.core.events import trace_of
from council.core.record import Any
from council.operations.place import Place
from council.store import files
from council.store.conversations.naming import id_in_file, pointer_of
from council.store.documents.journal import FILE, last_text
from council.store.statefile import statefile

_AWAITED = ("participants", "woken", "waiting")
_SHOWN = ("schemaVersion", "eventId", "traceId", "conversationId", "type", "at")


class Hiding:
    """Shows events without what must not be known.

    Conversations are looked at when the first event comes of which it must be known; one that is
    not anonymous never becomes so.

    Args:
        place: The workspace.
        plain: The ids of conversations that are known not to be anonymous.

    Attributes:
        plain: The same, and those that have been found besides.
    """

    def __init__(self, place: Place, plain: Iterable[str] = ()) -> None:
        self.plain = set(plain)
        self._place = place
        self._pseudonyms: set[str] = set()
        self._hidden: dict[str, tuple[str, str]] | None = None

    def shown(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return an event as anyone may see it."""
        owner, trace = str(event.get("conversationId") or ""), event.get("traceId")
        is_its_own = bool(owner) and trace == trace_of(owner)
        if is_its_own and owner in self.plain:
            return event
        if self._hidden is None:
            self._hidden = dict(self._anonymous())
        is_hidden = owner in self._hidden
        if not is_its_own and not is_hidden:
            data = event.get("data")
            # What was refused before it was clear what it is about has the name alone.
            name = data.get("name") if isinstance(data, dict) and not owner else None
            is_hidden = any(trace == one or name == two for one, two in self._hidden.values())
        return {key: event[key] for key in _SHOWN if key in event} if is_hidden else event

    def state(self, state: Conversation) -> Conversation:
        """Return a conversation as anyone may see it."""
        shown = as_shown(state, "")
        if shown is not state:
            self._pseudonyms |= set(shown.participants)
        return shown

    def record(self, told: Any) -> Any:
        """Return what a command answers, with pseudonyms in an order that says nothing.

        What is made of pseudonyms alone does not know that the conversation is anonymous.
        """
        if isinstance(told, list):
            shown = [self.record(one) for one in told]
            return sorted(shown, key=str) if self._are_pseudonyms(told) else shown
        if not isinstance(told, dict):
            return told
        keys = sorted(told) if self._are_pseudonyms(told) else list(told)
        made = {key: self.record(told[key]) for key in keys} | self._awaited(told)
        config = made.get("config")
        if isinstance(config, dict) and self._are_pseudonyms(made.get("participants")):
            config["anonymous"] = True
        return made

    def _awaited(self, told: dict[str, Any]) -> dict[str, list[str]]:
        """Return in pseudonyms of whom a command says that they are woken or waited for."""
        if "woken" not in told or "conversationId" not in told:
            return {}
        try:
            state = self._place.conversations.read(told["name"])
        except CouncilError:  # it is over, or could not be read
            return {}
        if not is_anonymous(state) or state.finished_at is not None:
            return {}
        return {key: sorted(known_to(state, "", told[key])) for key in _AWAITED if key in told}

    def _are_pseudonyms(self, found: Any) -> bool:
        """Return true for a list or a dict of pseudonyms, or of how each of them is started."""
        if not (found and isinstance(found, list | dict) and self._pseudonyms):
            return False
        ids = [
            one.get("driver") is not None and one.get("agentId") if isinstance(one, dict) else one
            for one in found
        ]
        strings = [one for one in ids if isinstance(one, str)]
        return len(set(strings)) == len(found) and set(strings) <= self._pseudonyms

    def _anonymous(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield the ids, traces and names of anonymous conversations that are not over."""
        paths = self._place.paths
        live = map(paths.conversation_name, files.names_in(os.path.dirname(paths.control)))
        for name in {*live, *files.names_in(paths.open_names)} - {""}:
            conversation_id = ""
            with suppress(CouncilError):
                conversation_id = pointer_of(paths, name) or id_in_file(paths, name, None)
            if not conversation_id or conversation_id in self.plain:
                continue
            try:
                state = self._last(name, conversation_id)
            except (CouncilError, OSError, ValueError, TypeError, LookupError):
                # As long as nothing says what it is, it is taken for one.
                yield conversation_id, (trace_of(conversation_id), name)
                continue
            if state is None or not is_anonymous(state):
                self.plain.add(conversation_id)
            elif state.finished_at is None:
                yield conversation_id, (state.trace, name)

    def _last(self, name: str, conversation_id: str) -> Conversation | None:
        """Return the last revision of a conversation, None where it cannot be anonymous."""
        found = last_text(f"{self._place.paths.conversation_folder(conversation_id)}/{FILE}")
        if found is None:
            return self._place.conversations.page(name).state
        if b'"anonymous"' not in found[1]:
            return None
        return statefile.load(found[1].decode("utf-8"), name)[0]
