"""One conversation under its lock: what stands, and the commit of what follows.

How that goes, `documents` says; here stands what a revision of a conversation
is, how a text of ours is read, and what becomes of one that others wrote.

The contributions of a blind phase are out of sight until the phase closes. Each
lies in a file of its own, named by its salted digest, readable by the
owner alone. Which ones count is decided by the state: the digest that stands
with the participant.

Source: C0-001, C0-019, C0-077, C0-078, `store.md` sections 2, 3, 5 and 9, C0-048, A-05,
`trust.md` (the seal), `store.md` section 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from council.core.conversations.answers import sealed_digest
from council.core.conversations.conversation import Conversation, SealedText, Step
from council.core.conversations.records import to_record
from council.core.errors import (
    CouncilError,
    InvalidStateError,
    NotAdoptedError,
    NotFoundError,
    RefusedError,
    StorageError,
)
from council.core.events import Event
from council.core.ids import sha256_hex
from council.core.reading import Reader, read_json
from council.core.record import Any, Record
from council.core.times import render_instant
from council.store import events as event_log
from council.store import files
from council.store.conversations.naming import Places, decoded
from council.store.documents.document import Document
from council.store.lock import DEFAULT_TIMEOUT_S, engine_of
from council.store.statefile import statefile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import TypeVar

    from council.store.documents.journal import Past, Tail
    from council.store.files import Reading
    from council.store.paths import Workspace
    from council.store.statefile.statefile import Page

    _Any = TypeVar("_Any", bound=Record)

_REMEMBERED = 8


def replaced(record: _Any, **changes: Any) -> _Any:
    """Return a record like `record` but for `changes`; everything else is shared with it.

    The states that the store hands about are values: no code changes one, so a copy
    in which a few fields differ need not copy the rest. Of a long conversation that
    would be most of the work.
    """
    made = type(record).__new__(type(record))
    made.__dict__.update(record.__dict__)
    made.__dict__.update(changes)
    return made


def says_the_same(one: Conversation, other: Conversation) -> bool:
    """Return true if two states make the same file, their revision and time of writing aside."""
    if _standings(one) != _standings(other):
        return False
    if one == other:
        return True
    aligned = replaced(other, rev=one.rev, updated_at=one.updated_at)
    return statefile.written(one) == statefile.written(aligned)


def _standings(state: Conversation) -> tuple[object, ...]:
    """Return what mostly distinguishes two states, and is quick to compare."""
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


def is_ahead(places: Places, tail: Tail, past: Past, data: bytes) -> bool:
    """Return true if a text is a later revision of ours than the journal knows.

    It must hold every contribution of the last revision that the journal knows,
    and more than another number: a number that a person has changed is an edit.
    """
    rev = (statefile.outline(decoded(data)).record or {}).get("rev")
    if not isinstance(rev, int) or rev <= tail.head["rev"]:
        return False
    try:
        theirs, _ = statefile.load(data.decode("utf-8"), places.live)
        ours, _ = statefile.load(decoded(past.text(tail.head["digest"])), places.live)
    except (CouncilError, ValueError):
        return False
    if theirs.conversation_id != ours.conversation_id:
        return False
    said = {one.id: one.digest for one in theirs.entries}
    if any(said.get(one.id) != one.digest for one in ours.entries):
        return False
    if to_record(theirs) == to_record(ours.copy(rev=theirs.rev)):
        return False
    # Such a file is what its state makes of it, with free text of people between.
    return statefile.render(theirs, statefile.parse(decoded(data))).encode() == data


class Session(Document):
    """A conversation that no other process writes while this lasts. Used in a `with` block.

    Args:
        workspace: Where it lies.
        name: Its name.
        conversation_id: Its id.
        now: The time of every line that is written.
        timeout_s: How long to wait for the lock.
        latest: What this process remembers of conversations, by id; kept up to date.
    """

    is_ahead = staticmethod(is_ahead)
    places: Places
    state: Conversation
    page: Page | None

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
        step: Step,
        page: Page | None,
        *,
        op_id: str = "",
        actor: str = "",
        result: dict[str, Any] | None = None,
        before_publishing: Callable[[], None] | None = None,
        shown: bool = True,
    ) -> None:
        """Make the state of a step the next revision.

        Args:
            step: The next state, of which revision and time of writing are set here, what
                happened, and the texts that must lie in `sealed/` first.
            page: The free text around it.
            op_id: The idempotency key of the operation, "" for none.
            actor: Who did it.
            result: What a repeat of the operation is answered.
            before_publishing: Called when the revision is committed and before
                it can be seen; what it raises stops the publication.
            shown: Whether there is a live file that is to show it.

        Raises:
            OSError: The system refuses. Before the journal line was on the disk
                nothing has changed; after it the next session finishes.
        """
        page = page if page is not None and page.gaps else None
        state, data, digest = self._next(step, page)
        hidden = sealed_names(self.state) if hasattr(self, "state") else set()
        head = self.line(digest, state, step.events, op_id=op_id, actor=actor, result=result)
        self.add(head, data)
        self.finish(before_publishing, shown=shown)
        self.stand(state, page, data, digest)
        for name in hidden - sealed_names(state):
            files.remove(f"{self.places.sealed}/{name}")  # the line of the reveal holds its text

    def take(
        self,
        step: Step,
        page: Page,
        theirs: bytes,
        *,
        is_hidden: bool,
    ) -> None:
        """Make the outcome of what others wrote the next revision.

        It is committed and shown with the change that follows, or when the session ends.

        Args:
            step: The next state, what happened, and the texts that must lie in `sealed/` first.
            page: The free text around it.
            theirs: What they wrote.
            is_hidden: Whether what they wrote shows a sealed text: it lies there, too.
        """
        state, data, digest = self._next(step, page)
        seen = sha256_hex(theirs)
        if is_hidden:
            files.write_new(f"{self.places.sealed}/{seen}", theirs, mode=0o600)
        head = self.line(digest, state, step.events, actor="external")
        self.add({**head, "seen": seen}, data, None if is_hidden else theirs)
        self.stand(state, page if page.gaps else None, data, digest)

    def _next(self, step: Step, page: Page | None) -> tuple[Conversation, bytes, str]:
        """Return the next state, its text and the digest of that; seal what is to be sealed."""
        rev = max(step.state.rev, self.last.get("rev", -1)) + 1
        state = replaced(step.state, name=self.name, rev=rev, updated_at=self.now)
        data = statefile.render(state, page).encode()
        for one in step.seal:
            self._sealed.append(write_sealed(self.places.sealed, one))
        return state, data, sha256_hex(data)

    def stand(self, state: Conversation, page: Page | None, data: bytes, digest: str) -> None:
        """Take a revision for the one that stands, and remember it for the next session."""
        self.state, self.page, self.text = state, page, data
        self.trace = state.trace_id
        # The texts of a blind phase are no part of the file, so they are not part of this.
        plain = replaced(state, sealed={}) if state.sealed else state
        revision = Latest(digest=digest, data=data, state=plain, page=page)
        remember(self.latest, self.conversation_id, revision)

    def line(
        self,
        digest: str,
        state: Conversation,
        events: list[Event],
        *,
        op_id: str = "",
        actor: str = "",
        result: dict[str, Any] | None = None,
        anew: bool = False,
    ) -> dict[str, Any]:
        """Return the head of the line of a revision.

        `anew` when a revision of this number and text was there before.
        """
        own = {"name": self.name, "phase": state.phase, "tour": state.tour, "result": result or {}}
        head = self.head(state.rev, digest, events, actor, state.trace_id, op=op_id, **own)
        if anew:
            of_whom = (self.conversation_id, self.now, state.trace_id)
            head["events"] = event_log.loose_records(events, *of_whom)
        if "closing" in self.last:
            head["closing"] = self.last["closing"]  # the name of the minutes stays chosen
        return head

    def note_closing(self, closing: dict[str, Any], events: list[Event]) -> None:
        """Add a line that makes no revision: how far archiving has come."""
        marked = event_log.loose_records(events, self.conversation_id, self.now, self.trace)
        kept = {key: self.last[key] for key in _KEPT_HEAD if key in self.last}
        head = {"op": "", "at": render_instant(self.now), "closing": closing, "events": marked}
        self.add({**kept, **head})
        self.finish()

    def read_sealed(self) -> dict[str, SealedText]:
        """Return the sealed texts that the state commits to, by agent, as `read_sealed` does.

        Those that lie on other machines are lent by the engine while this process holds the
        lock; they are in memory alone.

        Raises:
            CouncilError: The engine is not reached, or the system refuses to read one.

        Source: EN-007.
        """
        engine, folder = engine_of(self.places.journal), self.places.sealed
        if engine is None:
            return read_sealed(folder, self.state)
        stream = engine.stream_of(self.places.journal)
        return read_sealed(
            folder, self.state, elsewhere=lambda digest: engine.session.sealed(stream, digest)
        )

    def share_sealed(self) -> None:
        """Give the engine the sealed texts that lie here and that the state commits to.

        Raises:
            UnreachableError: The engine is not reached.
        """
        engine = engine_of(self.places.journal)
        found = {
            name.removesuffix(".json"): files.content_of(f"{self.places.sealed}/{name}")
            for name in sealed_names(self.state)
        }
        sealed = [(digest, data) for digest, data in found.items() if data]
        if engine is not None and sealed:
            engine.session.commit(engine.stream_of(self.places.journal), [], sealed=sealed)

    # What a text is.

    def load(self, data: bytes, digest: str) -> None:
        """Make a text of ours the one that stands."""
        known = self.latest.get(self.conversation_id)
        if known is not None and known.digest == digest:
            state, page = known.state, known.page
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

    def take_in(self, theirs: bytes) -> None:
        """Make a revision of what differs from the text that a person had before them.

        Unless nothing in it is new.
        """
        from council.store.statefile.merging import merge

        hidden = self.read_sealed()
        merged = merge(self.places, self.past, theirs, self.text, hidden, self.now)
        for kept in merged.kept:
            self.keep(kept.what, kept.text)
        # A sealed text that stands in it must not be found there, nor among the earlier texts.
        is_hidden = _shows_one_of([*hidden.values(), *merged.seal], theirs)
        if merged.changed or merged.events or is_hidden:  # else other line ends, say: it is left
            step = Step(state=merged.state, events=merged.events, seal=merged.seal)
            self.take(step, merged.page, theirs, is_hidden=is_hidden)

    def import_ahead(self, data: bytes) -> None:
        """Make a later text than the journal knows a revision, as it stands and with its number.

        Raises:
            NotAdoptedError: Trust is strict, and it is not adopted (SC-003).
        """
        self._refuse_unadopted()
        state, page = statefile.load(decoded(data), self.places.live)
        known = self.last["rev"]
        behind = Event(type="journal.behind", data={"rev": state.rev, "known": known})
        digest = sha256_hex(data)
        self.add(self.line(digest, state, [behind], anew=True), data)
        self.stand(state, page, data, digest)

    def begin_from_file(self) -> None:
        """Take up a live file that has no journal: written by hand, or its folder is lost.

        Raises:
            NotFoundError: There is no live file either.
            NotAdoptedError: Trust is strict, and it is not adopted (SC-003).
        """
        if self.reading is None:
            raise NotFoundError(
                f"no open conversation {self.name!r}", "see: council list; or council convene"
            )
        self._refuse_unadopted()
        from council.store.statefile.merging import begin

        data, places = self.reading.data, self.places
        start = begin(decoded(data), self.name, places.live, self.now, strict=places.strict)
        state = start.state.copy(conversation_id=self.conversation_id)
        self.state, self.page, self.text = state, start.page, data
        self.add(self.line(self.reading.digest, state, start.events, anew=True), data)
        if start.changed or state != start.state:
            self.commit(Step(state=state, seal=start.seal), start.page, actor="external")

    def _refuse_unadopted(self) -> None:
        if self.places.strict and not self.is_adopting:
            raise NotAdoptedError(self.name)


def _shows_one_of(hidden: list[SealedText], data: bytes) -> bool:
    """Return true if one of these texts, or its draft, stands in a file."""
    text = "\n".join(decoded(data).splitlines())
    said = [
        "\n".join(part.strip().splitlines()) for one in hidden for part in (one.text, *one.drafts)
    ]
    return any(part in text for part in said if part)


_KEPT_HEAD = ("by", "rev", "name", "phase", "tour", "result", "digest")


def write_sealed(folder: str, sealed: SealedText) -> tuple[str, bytes]:
    """Put a sealed text away, durably; the same one twice is one. Return its digest and bytes.

    Raises:
        CouncilError: The system refuses.
    """
    data = json.dumps(sealed.to_record()).encode("ascii") + b"\n"
    digest = sealed_digest(sealed.nonce, sealed.text)
    path = f"{folder}/{digest}.json"
    standing = files.read_stable(path)
    if standing is not None and standing.data == data:
        # The process that wrote it may have died before its name was on the disk.
        files.sync_folder(folder)
    elif not files.write_new(path, data, mode=0o600):
        files.replace(path, data, mode=0o600)
    return digest, data


def read_sealed(
    folder: str,
    state: Conversation,
    *,
    just_looking: bool = False,
    elsewhere: Callable[[str], bytes | None] | None = None,
) -> dict[str, SealedText]:
    """Return the sealed texts that the state commits to, by agent.

    What is missing or was altered is left out. What cannot be read now is
    there all the same: a writer that goes on without it would lose it.

    Args:
        folder: Where they lie.
        state: Says which ones count.
        just_looking: Leave out what cannot be read, too; nothing follows from it.
        elsewhere: Returns a text that does not lie here, by its digest.

    Raises:
        CouncilError: The system refuses to read one.
    """
    found = {}
    for participant in state.participants.values():
        if participant.sealed:
            try:
                sealed = _read_one(folder, participant.sealed, elsewhere)
            except (RefusedError, StorageError):
                if not just_looking:
                    raise
                continue
            if sealed is not None and sealed.agent == participant.id:
                found[participant.id] = sealed
    return found


def _read_one(
    folder: str, digest: str, elsewhere: Callable[[str], bytes | None] | None
) -> SealedText | None:
    if set(digest) - frozenset("0123456789abcdef"):
        return None
    try:
        standing = files.read_stable(f"{folder}/{digest}.json")
        data = None if standing is None else standing.data
        if data is None and elsewhere is not None:
            data = elsewhere(digest)
        if data is None:
            return None
        record = read_json(data)
        if record.get("draft") and not record.get("drafts"):
            record["drafts"] = [record["draft"]]
        sealed = Reader(record, digest).make(SealedText)
    except (ValueError, TypeError, AttributeError, InvalidStateError):
        return None
    return sealed if sealed_digest(sealed.nonce, sealed.text) == digest else None


def sealed_names(state: Conversation) -> set[str]:
    """Return the names of the files that the state still commits to."""
    return {f"{one.sealed}.json" for one in state.participants.values() if one.sealed}
