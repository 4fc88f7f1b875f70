"""One conversation under its lock: what stands, and the commit of what follows.

How that goes, `documents` says; here stands what a revision of a conversation
is, how a text of ours is read, and what becomes of one that somebody else wrote.

Source: C0-001, C0-019, C0-077, C0-078, `store.md` sections 2, 3, 5 and 9.
"""

from __future__ import annotations

import os

from council.core.conversations.conversation import Conversation, SealedText
from council.core.conversations.records import to_record
from council.core.digests import sha256_hex
from council.core.events import Event
from council.core.record import Record
from council.core.times import render_instant
from council.store import events as event_log
from council.store import files
from council.store.conversations import sealed
from council.store.conversations.places import Places, decoded
from council.store.conversations.twins import twin
from council.store.documents.document import Document
from council.store.lock import DEFAULT_TIMEOUT_S
from council.store.statefile import statefile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any

    from council.store.files import Reading
    from council.store.paths import Workspace
    from council.store.statefile.statefile import Page

_REMEMBERED = 8


def says_the_same(one: Conversation, other: Conversation) -> bool:
    """Tell whether two states make the same file, their revision and time of writing aside."""
    if _standings(one) != _standings(other):
        return False
    if one == other:
        return True
    aligned = twin(other, rev=one.rev, updated_at=one.updated_at)
    return (
        (one.topic, one.brief) == (other.topic, other.brief)
        and [entry.text for entry in one.entries] == [entry.text for entry in other.entries]
        and to_record(one) == to_record(aligned)
    )


def _standings(state: Conversation) -> tuple[object, ...]:
    """Return what mostly tells two states apart, and is quick to compare."""
    people = [(one.id, one.status, one.sealed) for one in state.participants.values()]
    return (state.phase, state.tour, len(state.entries), len(state.tasks), people)


class Latest(Record):
    """The last revision of a conversation that this process has read or written.

    `page` is None for a text that holds nothing but our own.
    """

    digest: str
    data: bytes
    state: Conversation
    page: Page | None


def remember(latest: dict[str, Latest], conversation_id: str, one: Latest) -> None:
    """Remember a revision instead of the one before it, of a few conversations at a time."""
    if conversation_id not in latest and len(latest) >= _REMEMBERED:
        latest.clear()
    latest[conversation_id] = one


class Session(Document):
    """A conversation that nobody else writes while this lasts. Used in a `with` block.

    Args:
        workspace: Where it lies.
        name: Its name.
        conversation_id: Its id.
        now: The time of every line that is written.
        timeout_s: How long to wait for the lock.
        latest: What this process remembers of conversations, by id; kept up to date.
    """

    places: Places
    state: Conversation
    page: Page | None
    text: bytes

    def __init__(
        self,
        workspace: Workspace,
        name: str,
        conversation_id: str,
        now: datetime,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        latest: dict[str, Latest] | None = None,
    ) -> None:
        places = Places(workspace, name, conversation_id)
        super().__init__(workspace, places, conversation_id, now, timeout_s)
        self.name = name
        self.conversation_id = conversation_id
        self.page = None
        self.latest = {} if latest is None else latest
        self.is_adopting = False  # a person has said that any text may stand

    def commit(
        self,
        state: Conversation,
        page: Page | None,
        *,
        events: list[Event] | tuple[Event, ...] = (),
        op_id: str = "",
        actor: str = "",
        result: dict[str, Any] | None = None,
        seal: list[SealedText] | tuple[SealedText, ...] = (),
        before_publishing: Callable[[], None] | None = None,
        shown: bool = True,
    ) -> None:
        """Make `state` the next revision.

        Args:
            state: The next state; revision and time of writing are set here.
            page: The free text around it.
            events: What happened.
            op_id: The idempotency key of the operation, "" for none.
            actor: Who did it.
            result: What a repeat of the operation is answered.
            seal: Texts that must lie in `sealed/` first.
            before_publishing: Called when the revision is committed and before
                it can be seen; what it raises stops the publication.
            shown: Whether there is a live file that is to show it.

        Raises:
            OSError: The system refuses. Before the journal line was on the disk
                nothing has changed; after it the next session finishes.
        """
        state = self._next(state)
        page = page if page is not None and page.gaps else None
        data = statefile.render(state, page).encode()
        digest = sha256_hex(data)
        for one in seal:
            sealed.write_sealed(self.places.sealed, one)
        hidden = sealed.names_of(self.state) if hasattr(self, "state") else set()
        head = self.line(
            digest,
            state,
            rev=state.rev,
            events=events,
            op_id=op_id,
            actor=actor,
            result=result,
        )
        if shown:
            self.write(data, head, before_publishing)
        else:
            self.add(head, data)
            self.finish(shown=False)
        self.stand(state, page, data, digest)
        for name in hidden - sealed.names_of(state):
            files.remove(f"{self.places.sealed}/{name}")  # the line of the reveal holds its text

    def take(
        self,
        state: Conversation,
        page: Page,
        theirs: bytes,
        *,
        events: list[Event],
        seal: list[SealedText] | tuple[SealedText, ...] = (),
        is_hidden: bool = False,
    ) -> None:
        """Make `state`, the outcome of what somebody else wrote, the next revision.

        It is committed and shown with the change that follows, or when the session ends.

        Args:
            state: The next state.
            page: The free text around it.
            theirs: What they wrote.
            events: What happened.
            seal: Texts that must lie in `sealed/` first.
            is_hidden: Whether what they wrote shows a sealed text: it lies there, too.
        """
        state = self._next(state)
        data = statefile.render(state, page).encode()
        digest, seen = sha256_hex(data), sha256_hex(theirs)
        for one in seal:
            sealed.write_sealed(self.places.sealed, one)
        if is_hidden:
            files.write_new(f"{self.places.sealed}/{seen}", theirs, mode=0o600)
        head = self.line(digest, state, rev=state.rev, events=events, actor="external")
        self.add({**head, "seen": seen}, data, None if is_hidden else theirs)
        self.stand(state, page if page.gaps else None, data, digest)

    def _next(self, state: Conversation) -> Conversation:
        return twin(
            state,
            name=self.name,
            rev=max(state.rev, self.last.get("rev", -1)) + 1,
            updated_at=self.now,
        )

    @property
    def displaced(self) -> tuple[str, ...]:
        """The folders that may hold files which gave way to a newer text."""
        return (self.places.displaced, self.places.sealed)

    def displaced_for(self, digest: str) -> str:
        """Return the folder into which a file goes that gives way, by the digest of its text."""
        is_hidden = os.path.lexists(f"{self.places.sealed}/{digest}")
        return self.places.sealed if is_hidden else self.places.displaced

    def stand(self, state: Conversation, page: Page | None, data: bytes, digest: str) -> None:
        """Take a revision for the one that stands, and remember it for the next session."""
        self.state, self.page, self.text = state, page, data
        self.trace = state.trace_id
        # The texts of a blind phase are no part of the file, so they are not part of this.
        plain = twin(state, sealed={}) if state.sealed else state
        revision = Latest(digest=digest, data=data, state=plain, page=page)
        remember(self.latest, self.conversation_id, revision)

    def line(
        self,
        digest: str,
        state: Conversation,
        *,
        rev: int,
        events: list[Event] | tuple[Event, ...] = (),
        op_id: str = "",
        actor: str = "",
        result: dict[str, Any] | None = None,
        anew: bool = False,
    ) -> dict[str, Any]:
        """Return the head of the line of a revision.

        `anew` when a revision of this number and text was there before.
        """
        records = (
            event_log.loose_records(list(events), self.conversation_id, self.now, state.trace_id)
            if anew
            else event_log.revision_records(
                list(events), self.conversation_id, rev, digest, self.now, state.trace_id
            )
        )
        head: dict[str, Any] = {
            "op": op_id,
            "by": actor,
            "at": render_instant(self.now),
            "rev": rev,
            "name": self.name,
            "phase": state.phase,
            "tour": state.tour,
            "result": result or {},
            "digest": digest,
            "events": records,
        }
        if "closing" in self.last:
            head["closing"] = self.last["closing"]  # the name of the minutes stays chosen
        return head

    def note_closing(self, closing: dict[str, Any], events: list[Event]) -> None:
        """Add a line that makes no revision: how far archiving has come."""
        marked = event_log.loose_records(events, self.conversation_id, self.now, self.trace)
        kept = {key: self.last[key] for key in _KEPT_HEAD if key in self.last}
        self.add(
            {
                **kept,
                "op": "",
                "at": render_instant(self.now),
                "closing": closing,
                "events": marked,
            }
        )
        self.finish()

    # What a text is.

    def load(self, data: bytes, digest: str) -> None:
        """Make a text of ours the one that stands."""
        known = self.latest.get(self.conversation_id)
        if known is not None and known.digest == digest:
            self.stand(known.state, known.page, data, digest)
        else:
            state, page = statefile.load(data.decode("utf-8"), self.places.live)
            self.stand(state, page, data, digest)

    def recognise(self, reading: Reading | None) -> None:
        """Spare the digest of a text that this process has had before it already."""
        known = self.latest.get(self.conversation_id)
        if reading is not None and known is not None and known.data == reading.data:
            reading.know(known.digest)

    def is_complete(self, data: bytes) -> bool:
        """Return true if the writer of a text is done: one by hand has no marks at all."""
        page = statefile.outline(decoded(data))
        return page.complete or (self.tail is None and page.record is not None)

    def is_ahead(self, data: bytes) -> bool:
        """Return true if a text is a later revision of ours than the journal knows."""
        from council.store.conversations.intake import is_ahead

        return is_ahead(self.places, self.tail, self.past, data)

    def take_in(self, theirs: bytes) -> None:
        """Make a revision of what somebody else wrote, unless nothing in it is new."""
        from council.store.conversations import intake

        intake.take_in(self, theirs)

    def import_ahead(self, data: bytes) -> None:
        """Make a revision of a later text than the journal knows."""
        from council.store.conversations import intake

        intake.import_ahead(self, data)

    def begin_from_file(self) -> None:
        """Take up a live file that has no journal: written by hand, or its folder is lost.

        Raises:
            NotFoundError: There is no live file either.
        """
        from council.store.conversations import intake

        intake.begin_from_file(self)


_KEPT_HEAD = ("by", "rev", "name", "phase", "tour", "result", "digest")
