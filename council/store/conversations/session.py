"""One conversation under its lock: what stands, and the commit of what follows.

This is the one write path. The files are settled first (`settling`). Then each
commit goes the same way: texts to seal, snapshot, prepared file, journal line
(from there on it holds), event log, exchange. What needs much room on the disk
comes before the journal line.

Source: XC-001, XC-002, C0-019, C0-077, C0-078, `store.md` sections 2 and 5.
"""

from __future__ import annotations

from council import __version__
from council.core.conversations.conversation import Conversation, SealedText
from council.core.conversations.records import to_record
from council.core.events import Event
from council.core.record import Record
from council.core.times import render_instant
from council.store import events as event_log
from council.store.conversations import journal, sealed, snapshots, untouched
from council.store.conversations.document import Document
from council.store.conversations.places import Places, foreign_folder
from council.store.conversations.twins import twin
from council.store.lock import DEFAULT_TIMEOUT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any

    from council.store.paths import Workspace
    from council.store.statefile.statefile import Page

_RECORD_VERSION = 1
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
        seen: str = "",
        before_publishing: Callable[[], None] | None = None,
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
            seen: The digest of the foreign text that this takes in, if it does.
            before_publishing: Called when the revision is committed and before
                it can be seen; what it raises stops the publication.

        Raises:
            OSError: The system refuses. Before the journal line was on the disk
                nothing has changed; after it the next session finishes.
        """
        state = twin(
            state,
            name=self.name,
            rev=max(state.rev, self.last.get("rev", -1)) + 1,
            updated_at=self.now,
        )
        page = page if page is not None and page.gaps else None
        data = _rendered(state, page)
        digest = snapshots.digest_of(data)
        for one in seal:
            sealed.write_sealed(self.places.sealed, one)
        if not seen and self.reading is not None:
            seen = self.reading.digest
        record = self.line(
            digest,
            state,
            rev=state.rev,
            events=events,
            op_id=op_id,
            actor=actor,
            result=result,
            seen=seen,
            ours_alone=page is None,
        )
        self.write(data, digest, record, before_publishing)
        self.stand(state, page, data, digest)

    @property
    def displaced(self) -> tuple[str, ...]:
        """The folders that may hold files which gave way to a newer text."""
        return (self.places.displaced, self.places.sealed)

    def displaced_for(self, digest: str) -> str:
        """Return the folder into which a file goes that gives way, by the digest of its text."""
        is_hidden = foreign_folder(self.places, digest) == self.places.sealed
        return self.places.sealed if is_hidden else self.places.displaced

    def stand(self, state: Conversation, page: Page | None, data: bytes, digest: str) -> None:
        """Take a revision for the one that stands, and remember it for the next session."""
        self.state, self.page, self.text = state, page, data
        self.trace = state.trace_id
        if self.conversation_id not in self.latest and len(self.latest) >= _REMEMBERED:
            self.latest.clear()
        # The texts of a blind phase are no part of the file, so they are not part of this.
        plain = twin(state, sealed={}) if state.sealed else state
        self.latest[self.conversation_id] = Latest(digest=digest, data=data, state=plain, page=page)

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
        seen: str = "",
        anew: bool = False,
        ours_alone: bool = False,
    ) -> dict[str, Any]:
        """Return the journal line of a revision.

        `anew` when a revision of this number and text was there before,
        `ours_alone` when the text holds nothing that people wrote between our items.
        """
        records = (
            event_log.loose_records(list(events), self.conversation_id, self.now, state.trace_id)
            if anew
            else event_log.revision_records(
                list(events), self.conversation_id, rev, digest, self.now, state.trace_id
            )
        )
        record: dict[str, Any] = {
            "v": _RECORD_VERSION,
            "rev": rev,
            "parent": self.last.get("digest", ""),
            "seen": seen,
            "digest": digest,
            "opId": op_id,
            "actor": actor,
            "at": render_instant(self.now),
            "name": self.name,
            "phase": state.phase,
            "tour": state.tour,
            "result": result or {},
            "events": records,
        }
        if ours_alone:
            record["untouched"] = __version__  # who writes the same again may say so
        if "closing" in self.last:
            record["closing"] = self.last["closing"]  # the name of the minutes stays chosen
        return record

    def note_closing(self, closing: dict[str, Any], events: list[Event]) -> None:
        """Add a line that makes no revision: how far archiving has come."""
        end = 0 if self.tail is None else self.tail.end
        marked = event_log.loose_records(events, self.conversation_id, self.now, self.trace)
        record = {**self.last, "opId": "", "at": render_instant(self.now), "closing": closing}
        record["events"] = marked
        self.tail = journal.append(self.places.journal, end, record)


def _rendered(state: Conversation, page: Page | None) -> bytes:
    if page is None:
        return untouched.render(state)
    from council.store.statefile import (
        statefile,  # only where people have written between the items
    )

    return statefile.render(state, page).encode("utf-8")
