"""The conversations of a workspace: read, changed, closed.

`edit` is the one way to change a conversation: whatever is done to it is a
pure function from state to state, applied under its lock to what really
stands, committed once and published. Reading takes no lock and writes
nothing. How that is done is the matter of `session`; how a conversation ends,
of `closing`.

Source: C0-001, C0-002, C0-034, C0-077, C0-078, XC-001, XC-002, `store.md`.
"""

from __future__ import annotations

import os

from council.core.conversation import Conversation, SealedText
from council.core.errors import ConflictError, InvalidStateError, NotFoundError
from council.core.events import Event
from council.core.record import Record
from council.core.step import Step
from council.store import closing, files, journal, naming, sealed, snapshots
from council.store.lock import DEFAULT_TIMEOUT_S
from council.store.places import Places, is_closed
from council.store.session import Session, says_the_same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any

    from council.store.paths import Workspace
    from council.store.views import View

_TRIES = 8


class Edited(Record):
    """What an edit came to.

    `events` are the records of the revision it made. `repeated` tells that
    the operation stood in the journal already; `result` is then what was
    stored: `outcome`, and phase and round before and after.
    """

    state: Conversation
    events: list[dict[str, Any]] = []  # noqa: RUF012 - Record copies it
    outcome: str = ""
    result: dict[str, Any] = {}  # noqa: RUF012 - Record copies it
    repeated: bool = False
    changed: bool = False


class Revision(Record):
    """One line of the history of a conversation."""

    rev: int
    at: str
    actor: str
    op_id: str
    phase: str
    tour: int
    digest: str
    outcome: str
    events: list[dict[str, Any]]

    def to_record(self) -> dict[str, Any]:
        """Return the revision as the JSON object of `history --json`."""
        return {
            "rev": self.rev,
            "at": self.at,
            "actor": self.actor,
            "phase": self.phase,
            "tour": self.tour,
            "outcome": self.outcome or None,
            "digest": self.digest,
            "events": self.events,
        }


class Conversations:
    """The conversations of one workspace.

    Args:
        workspace: Where they lie.
        allow_network_fs: Whether they may lie on a network file system.
        timeout_s: How long to wait for the lock of a conversation.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        allow_network_fs: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        self.workspace = workspace
        self._allow_network_fs = allow_network_fs
        self._timeout_s = timeout_s

    def names(self) -> list[str]:
        """Return the names of the open conversations, sorted."""
        with files.explaining("list", self.workspace.shared):
            return naming.open_names(self.workspace)

    def read(self, name: str, *, with_sealed: bool = False) -> Conversation:
        """Return a conversation as it stands, edits of people included; see `page`.

        Args:
            name: Which.
            with_sealed: Whether to read the texts of the blind phase under way.
        """
        state = self.page(name).state
        if with_sealed:
            places = Places(self.workspace, name, state.conversation_id)
            state.sealed = {**sealed.read_sealed(places.sealed, state), **state.sealed}
        return state

    def page(self, name: str, now: datetime | None = None) -> View:
        """Return what a conversation looks like now, without lock and without writing.

        What a person edited and no command has taken in yet is taken in here
        in memory; a damaged file reads as the last revision.

        Raises:
            NotFoundError: There is no such conversation.
            InvalidStateError: Neither file nor journal can be read.
        """
        from council.store import views

        path = self.workspace.conversation_file(name)
        with files.explaining("read", path):
            return views.view(self.workspace, name, now)

    def create(
        self,
        state: Conversation,
        *,
        now: datetime,
        events: list[Event] | tuple[Event, ...] = (),
        actor: str = "",
        op_id: str = "",
    ) -> Edited:
        """Open a conversation under its name.

        Raises:
            ConflictError: The name is open already.
            RefusedError: The place is on a network file system, or forbidden.
        """
        path = self.workspace.conversation_file(state.name)
        with files.explaining("write", path):
            naming.prepare_control(self.workspace)
            self._check_file_system()
            self._clear_ended(state.name, now)
            return self._create(state, now, events, actor, op_id)

    def _create(
        self,
        state: Conversation,
        now: datetime,
        events: list[Event] | tuple[Event, ...],
        actor: str,
        op_id: str,
    ) -> Edited:
        name, conversation_id = state.name, state.conversation_id
        known = naming.pointer_of(self.workspace, name)
        if known == conversation_id:
            with self._open(name, now) as session:
                return Edited(state=session.state, result=session.last["result"], repeated=True)
        taken = ConflictError(
            f"a conversation named {name!r} is open already",
            "choose another with --name, or end that one: council archive",
        )
        if known or os.path.lexists(self.workspace.conversation_file(name)):
            raise taken

        def claim() -> None:
            if not naming.claim(self.workspace, name, conversation_id):
                raise taken

        with Session(self.workspace, name, conversation_id, now, self._timeout_s) as session:
            if session.tail is not None:
                raise ConflictError(f"there is a conversation {conversation_id} already")
            result = {"outcome": "", "phase": state.phase, "tour": state.tour}
            session.commit(
                state.copy(rev=0),
                None,
                events=events,
                op_id=op_id,
                actor=actor,
                result=result,
                before_publishing=claim,
            )
            return Edited(
                state=session.state, events=session.last["events"], result=result, changed=True
            )

    def edit(
        self,
        name: str,
        change: Callable[[Conversation], Step],
        *,
        op_id: str = "",
        actor: str = "",
        now: datetime,
    ) -> Edited:
        """Apply a change to what stands, once: the one write path.

        What a person edited meanwhile becomes a revision of its own first. A
        change that makes the same file writes nothing.

        Args:
            name: Which conversation.
            change: From state to step; pure, and called under the lock.
            op_id: The idempotency key; one that stands in the journal is not applied again.
            actor: Who does it, for the history.
            now: The time of the change.

        Raises:
            NotFoundError: There is no such conversation.
            InvalidStateError: Its file cannot be read, or is of a newer version.
            LockTimeoutError: Somebody held its lock for too long.
            CouncilError: What `change` raises, or the disk.
        """
        path = self.workspace.conversation_file(name)
        with files.explaining("write", path), self._open(name, now) as session:
            if op_id:
                known = journal.find_operation(session.places.journal, op_id)
                if known is not None:
                    result = known["result"]
                    return Edited(
                        state=self._with_sealed(session),
                        events=known["events"],
                        outcome=result.get("outcome", ""),
                        result=result,
                        repeated=True,
                    )
            return self._apply(session, change, op_id, actor)

    def _apply(
        self, session: Session, change: Callable[[Conversation], Step], op_id: str, actor: str
    ) -> Edited:
        before = self._with_sealed(session)
        step = change(before.copy())
        result = {
            "outcome": step.outcome,
            "phase": before.phase,
            "tour": before.tour,
            "to": step.state.phase,
            "toTour": step.state.tour,
        }
        if says_the_same(before, step.state):
            said = session.say(step.events)
            return Edited(state=before, events=said, outcome=step.outcome, result=result)
        session.commit(
            step.state,
            session.page,
            events=step.events,
            op_id=op_id,
            actor=actor,
            result=result,
            seal=step.seal,
        )
        return Edited(
            state=session.state,
            events=session.last["events"],
            outcome=step.outcome,
            result=result,
            changed=True,
        )

    def history(self, name: str) -> list[Revision]:
        """Return the revisions of a conversation, oldest first.

        Args:
            name: The name of an open conversation, or the id of any.

        Raises:
            NotFoundError: There is none.
        """
        places = self._places(name)
        with files.explaining("read", places.journal):
            records = list(journal.records(places.journal))
        found: dict[int, Revision] = {}
        for record in records:
            if record["rev"] not in found:
                found[record["rev"]] = Revision(
                    rev=record["rev"],
                    at=record["at"],
                    actor=record["actor"],
                    op_id=record["opId"],
                    phase=record["phase"],
                    tour=record["tour"],
                    digest=record["digest"],
                    outcome=record["result"].get("outcome", ""),
                    events=record["events"],
                )
        return list(found.values())

    def text_at(self, name: str, rev: int) -> str:
        """Return the text of one revision.

        Raises:
            NotFoundError: There is no such revision, or archiving pruned it.
            InvalidStateError: Its snapshot is damaged.
        """
        places = self._places(name)
        for revision in self.history(name):
            if revision.rev == rev:
                with files.explaining("read", places.history):
                    return snapshots.get(places.history, revision.digest).decode("utf-8")
        raise NotFoundError(f"{name} has no revision {rev}", f"see: council history --name {name}")

    def foreign_text_at(self, name: str, rev: int) -> str:
        """Return the file as somebody else saved it, which revision `rev` took in (C0-078).

        Raises:
            NotFoundError: That revision took nothing in, or archiving pruned it.
        """
        places = self._places(name)
        with files.explaining("read", places.journal):
            for record in journal.records(places.journal):
                if record["rev"] == rev and record["seen"] not in ("", record["parent"]):
                    data = snapshots.get(places.history, record["seen"])
                    return data.decode("utf-8", "replace")
        raise NotFoundError(f"revision {rev} of {name} took in no other text")

    def restore(self, name: str, rev: int, *, now: datetime, actor: str = "") -> Edited:
        """Make an older revision the newest.

        Raises:
            NotFoundError: There is no such revision.
        """
        from council.store import statefile

        with (
            files.explaining("write", self.workspace.conversation_file(name)),
            self._open(name, now) as session,
        ):
            text = self.text_at(session.conversation_id, rev)
            state, page = statefile.load(text, f"revision {rev}")
            event = Event(
                type="conversation.restored", data={"from": session.last["rev"], "to": rev}
            )
            session.commit(state, page, events=[event], actor=actor)
            return Edited(state=session.state, events=session.last["events"], changed=True)

    def adopt(self, name: str, *, now: datetime, actor: str = "") -> Edited:
        """Take the live file as it stands, contributions included, as the newest revision.

        Raises:
            NotFoundError: There is no file.
            InvalidStateError: It holds no conversation.
        """
        from council.store import statefile

        path = self.workspace.conversation_file(name)
        with files.explaining("write", path):
            conversation_id = naming.pointer_of(self.workspace, name)
            if not conversation_id:
                with self._open(name, now) as session:
                    return Edited(state=session.state, events=session.last["events"])
            with Session(self.workspace, name, conversation_id, now, self._timeout_s) as session:
                self._refuse_ended(session)
                session.reading = session.read_live()
                if session.reading is None:
                    raise NotFoundError(f"{path} is not there", "see: council restore")
                if session.tail is None:
                    settle(session)
                data = session.reading.data
                text = data.decode("utf-8", "replace")
                state, page = statefile.import_page(text, name, now)
                snapshots.keep(session.places.history, data)
                event = Event(type="conversation.adopted", data={"rev": session.last["rev"]})
                session.commit(
                    state.copy(conversation_id=conversation_id), page, events=[event], actor=actor
                )
                return Edited(state=session.state, events=session.last["events"], changed=True)

    def close(self, name: str, wanted: str, minutes: str, *, now: datetime) -> str:
        """Write the minutes of a finished conversation once, and clear its files away.

        Args:
            name: Which.
            wanted: The path of the minutes, absolute or from the root, without `-2`
                and with or without `.md`.
            minutes: Their text.
            now: The time of the end.

        Returns:
            The path of the minutes: the wanted one, or with `-2`, `-3` when it is taken.

        Raises:
            NotFoundError: There is no such open conversation.
        """
        stem = wanted if os.path.isabs(wanted) else self.workspace.inside(wanted)
        with (
            files.explaining("write", stem),
            self._open(name, now, ended_too=True) as session,
        ):
            if is_closed(session.tail):
                path = str(session.last["closing"]["path"])
            else:
                path = closing.write_minutes(session, stem, minutes)
            closing.finish(session)
            return path

    def _places(self, name: str) -> Places:
        """Return the files of an open conversation, by its name, or of any, by its id."""
        conversation_id = ""
        try:
            conversation_id = naming.pointer_of(self.workspace, name)
            shown = name
        except OSError as error:
            raise files.explained(error, "read", self.workspace.open_names) from error
        if not conversation_id:
            conversation_id, shown = name, "active"
        places = Places(self.workspace, shown, conversation_id)
        if not os.path.lexists(places.journal):
            raise NotFoundError(f"{name} has no history", "see: council list --archived")
        return places

    def _open(self, name: str, now: datetime, *, ended_too: bool = False) -> Session:
        """Return a session that is entered and settled; the caller's `with` ends it."""
        for _ in range(_TRIES):
            known = naming.pointer_of(self.workspace, name)
            conversation_id = known or naming.id_in_file(self.workspace, name, now)
            if not conversation_id:
                raise NotFoundError(
                    f"no open conversation is named {name!r}", "see: council list; council convene"
                )
            if not known:
                naming.prepare_control(self.workspace)
                self._check_file_system()
            session = Session(self.workspace, name, conversation_id, now, self._timeout_s)
            session.enter()
            try:
                if is_closed(session.tail):
                    if ended_too:
                        return session
                    self._refuse_ended(session)
                if known and naming.pointer_of(self.workspace, name) != known:
                    session.leave()
                    continue
                self._refuse_copy(session, known)
                settle(session)
                if known or naming.claim(self.workspace, name, conversation_id):
                    return session
            except BaseException:
                session.leave()
                raise
            session.leave()
        raise ConflictError(f"{name!r} changes hands all the time", "try again")

    def _refuse_ended(self, session: Session) -> None:
        if not is_closed(session.tail):
            return
        closing.finish(session)
        where = session.last["closing"]["path"]
        raise NotFoundError(
            f"the conversation {session.name!r} has ended", f"its minutes are in {where}"
        )

    def _refuse_copy(self, session: Session, known: str) -> None:
        """Keep a second file from speaking for a conversation that has another name."""
        first = session.last.get("name", session.name)
        if known or first == session.name:
            return
        if naming.pointer_of(self.workspace, first) == session.conversation_id:
            raise InvalidStateError(
                f"{session.places.live} is a copy of the conversation {first!r}",
                "remove it, or give it a conversationId of its own",
            )

    def _clear_ended(self, name: str, now: datetime) -> None:
        """Finish the end of an archived conversation whose name is wanted again."""
        known = naming.pointer_of(self.workspace, name)
        try:
            known = known or naming.id_in_file(self.workspace, name, now)
        except InvalidStateError:
            return
        if known and is_closed(journal.read_tail(Places(self.workspace, name, known).journal)):
            with Session(self.workspace, name, known, now, self._timeout_s) as session:
                if is_closed(session.tail):
                    closing.finish(session)

    def _check_file_system(self) -> None:
        if not self._allow_network_fs:
            from council.store.filesystems import refuse_network

            refuse_network(self.workspace.control)

    def _with_sealed(self, session: Session) -> Conversation:
        state = session.state
        found: dict[str, SealedText] = sealed.read_sealed(session.places.sealed, state)
        return state.copy(sealed=found)
