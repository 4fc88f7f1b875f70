"""What the contributions of one conversation quote, looked up in what was said before them.

A quotation is held against the words that its author was shown: in an
anonymous conversation those are another text than the one that was written,
and whoever copies faithfully must not stand there as an inventor.

Source: `trust.md` (Quotations), DL-100, DL-103.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation, Entry, EntryKind
from council.core.conversations.handles import (
    HUMAN,
    as_seen,
    handles,
    human_handle,
    is_anonymous,
    names,
)
from council.core.conversations.procedures import PROCEDURES
from council.core.conversations.quotations import Heard, Quotation, may_quote


class Checker:
    """Checks what contributions quote against what stood in the file before them."""

    def __init__(self, state: Conversation) -> None:
        self._state = state
        self._by_handles = PROCEDURES[state.procedure].verdict == "stances"
        self._heard: dict[str, tuple[Heard, dict[str, int]]] = {}
        self._names: dict[str, dict[str, str]] = {}

    def in_entry(self, entry: Entry) -> list[Quotation]:
        """Return the passages that an entry quotes."""
        if not may_quote(entry.text):
            return []
        heard, places = self._heard_by(entry.agent)
        known = self._known_to(entry.agent)
        return heard.check(entry.text, places.get(entry.id, heard.count), names=known)

    def _known_to(self, author: str) -> dict[str, str]:
        """Return the words that stand for agents in what `author` writes."""
        who = author if self._by_handles else ""
        if who not in self._names:
            state = self._state
            self._names[who] = handles(state, who) if self._by_handles else names(state)
        return self._names[who]

    def _heard_by(self, author: str) -> tuple[Heard, dict[str, int]]:
        """Return all that can be quoted, as `author` was shown it, and the place of each entry.

        The brief is nobody's, and so is guidance where nobody can address people.
        """
        # In a conversation with names all were shown the same.
        reader = author if is_anonymous(self._state) else ""
        if reader not in self._heard:
            people = HUMAN if self._by_handles else ""
            if people and human_handle(self._state) != HUMAN:
                people = ""
            heard = [("", self._state.brief)]
            places: dict[str, int] = {}
            for entry in self._state.entries:
                who = people if entry.kind is EntryKind.INJECTION else entry.agent
                text = as_seen(self._state, reader, entry.agent, entry.text) if reader else ""
                places.setdefault(entry.id, len(heard))
                heard.append((who, text or entry.text))
            self._heard[reader] = (Heard(heard), places)
        return self._heard[reader]
