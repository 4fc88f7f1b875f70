"""The conversations of a workspace: opened, read, changed, closed.

`edit` is the one way to change a conversation: whatever is done to it is a
pure function from state to state, applied under its lock to what really
stands, committed once and published. Reading takes no lock and writes
nothing. How that is done is the matter of `session`; how a conversation ends,
of `closing`.

Of many who open one name at once exactly one succeeds.

Source: C0-001, C0-002, C0-034, C0-037, C0-077, C0-078, XC-001, XC-002, `store.md`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from council.core.conversations.conversation import Conversation, Step
from council.core.errors import (
    ConflictError,
    InvalidStateError,
    MovedOnError,
    NotAdoptedError,
    NotFoundError,
    RefusedError,
    StaleError,
)
from council.core.events import Event
from council.core.record import Any, Record
from council.store import files
from council.store.conversations import naming
from council.store.conversations.naming import Places, closing_path, is_closed
from council.store.conversations.session import (
    Latest,
    Session,
    read_sealed,
    replaced,
    says_the_same,
)
from council.store.documents import journal, live
from council.store.lock import DEFAULT_TIMEOUT_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.store.conversations.views import Revision, View
    from council.store.paths import Veil, Workspace

_TRIES = 8


class Edited(Record):
    """What an edit came to.

    `events` are the records of the revision it made. `repeated` says that
    the operation stood in the journal already; `result` is then what was
    stored: `outcome`, and phase and round before and after.
    """

    state: Conversation
    events: list[dict[str, Any]] = []
    outcome: str = ""
    result: dict[str, Any] = {}
    repeated: bool = False
    changed: bool = False


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
        self._latest: dict[str, Latest] = {}
        # The revision that the next change is meant for, None for any.
        self.expected: int | None = None

    def session(self, name: str, conversation_id: str, now: datetime) -> Session:
        """Return a session that is not entered yet."""
        return Session(self.workspace, name, conversation_id, now, self._timeout_s, self._latest)

    def names(self) -> list[str]:
        """Return the names of the open conversations, sorted."""
        with files.explaining("list", self.workspace.shared):
            return naming.open_names(self.workspace)

    def is_open(self, name: str) -> bool:
        """Return true if a conversation of this name is open, one that cannot be read included."""
        return naming.is_open(self.workspace, name)

    def clear_ended(self, name: str, now: datetime) -> None:
        """Clear away what archiving left behind when its process died on the way.

        Raises:
            CouncilError: The system refuses.
        """
        with files.explaining("clear away", self.workspace.shared):
            self._clear_ended(name, now)

    def _clear_ended(self, name: str, now: datetime) -> None:
        """Finish the end of an archived conversation, so that its name is free again."""
        known = naming.pointer_of(self.workspace, name)
        try:
            known = known or naming.id_in_file(self.workspace, name, now)
        except InvalidStateError:
            return
        if known and is_closed(journal.read_tail(Places(self.workspace, name, known).journal)):
            with self.session(name, known, now) as session:
                if is_closed(session.tail):
                    from council.store.conversations import closing

                    closing.finish(session)

    def read(self, name: str, *, with_sealed: bool = False) -> Conversation:
        """Return a conversation as it stands, edits of people included; see `page`.

        Args:
            name: Which.
            with_sealed: Whether to read the texts of the blind phase under way.
        """
        from council.store.conversations import views

        state = views.standing_state(self.workspace, name) or self.page(name).state
        if with_sealed:
            places = Places(self.workspace, name, state.conversation_id)
            state.sealed = {**read_sealed(places.sealed, state), **state.sealed}
        return self.workspace.veil.state(state) if self.workspace.veil else state

    def page(self, name: str, now: datetime | None = None, *, whole: bool = True) -> View:
        """Return the present state of a conversation, without lock and without writing.

        What a person edited and no command has taken in yet is taken in here
        in memory; a damaged file reads as the last revision.

        Args:
            name: Which.
            now: When it is looked at.
            whole: Whether the free text around the state is asked for, too. Where it is not,
                a revision that this process has read or written is not read again.

        Raises:
            NotFoundError: There is no such conversation.
            InvalidStateError: Neither file nor journal can be read.
        """
        from council.store.conversations import views

        path = self.workspace.conversation_file(name)
        with files.explaining("read", path):
            return views.view(self.workspace, name, now, None if whole else self._latest)

    def require_adopted(self, name: str) -> None:
        """Refuse what a file says that no command made as it stands, where trust is strict.

        Raises:
            NotAdoptedError: It waits for a person.
            CouncilError: As for `page`.

        Source: SC-003.
        """
        if not self.workspace.strict:
            return
        from council.store.conversations import views

        is_known = views.standing_digest(self.workspace, name)[0]
        if not is_known and self.page(name).standing in (live.UNKNOWN, live.AHEAD):
            raise NotAdoptedError(name)

    def must_settle(self, view: View) -> bool:
        """Return true if there is anything to take in or finish in the files of a conversation.

        Besides the live file it reads those that gave way to it a while ago: a person may
        have been writing there.
        """
        places = Places(self.workspace, view.name, view.state.conversation_id)
        return view.standing != live.HEAD or any(map(live.has_late_writes, places.aside))

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
        with files.explaining("write", self.workspace.conversation_file(state.name)):
            naming.prepare_control(self.workspace, any_disk=self._allow_network_fs)
            self._clear_ended(state.name, now)
            known = naming.pointer_of(self.workspace, state.name)
            if known == state.conversation_id:
                with self.open(state.name, now) as session:
                    result = session.last["result"]
                    return _edited(session, result=result, repeated=True, changed=False)
            if known or os.path.lexists(self.workspace.conversation_file(state.name)):
                raise _taken(state.name)
            result = {"outcome": "", "phase": state.phase, "tour": state.tour}
            with self.session(state.name, state.conversation_id, now) as session:
                if session.tail is not None:
                    raise ConflictError(f"there is a conversation {state.conversation_id} already")

                def claim() -> None:
                    if not naming.claim(self.workspace, state.name, state.conversation_id):
                        raise _taken(state.name)

                step = Step(state=state.copy(rev=0), events=list(events))
                try:
                    session.commit(
                        step, None, op_id=op_id, actor=actor, result=result, before_publishing=claim
                    )
                except ConflictError:
                    import shutil

                    # No other process has ever seen this folder.
                    shutil.rmtree(session.places.folder, ignore_errors=True)
                    raise
                return _edited(session, result=result)

    def open(
        self, name: str, now: datetime, *, ended_too: bool = False, adopting: bool = False
    ) -> Session:
        """Return a session that is entered and settled; the caller's `with` ends it.

        Args:
            name: Which conversation.
            now: The time of what is done.
            ended_too: Whether an archived one that is not cleared away yet will do.
            adopting: Whether a person takes its file as it stands, whatever it is.

        Raises:
            NotFoundError: There is no such conversation.
            NotAdoptedError: No command made its file, and trust is strict.
            InvalidStateError: Its file cannot be read, or is a copy of another.
            LockTimeoutError: Another process held its lock for too long.
        """
        for _ in range(_TRIES):
            known = naming.pointer_of(self.workspace, name)
            conversation_id = known or naming.id_in_file(self.workspace, name, now)
            if not conversation_id:
                raise NotFoundError(
                    f"no open conversation is named {name!r}", "see: council list; council convene"
                )
            if not known:
                naming.prepare_control(self.workspace, any_disk=self._allow_network_fs)
            session = self.session(name, conversation_id, now)
            session.is_adopting = adopting
            session.enter()
            try:
                if is_closed(session.tail):
                    if ended_too:
                        return session
                    _refuse_ended(session)
                if known and naming.pointer_of(self.workspace, name) != known:
                    session.leave()
                    continue
                self._refuse_copy(session, known)
                session.settle()
                if known or naming.claim(self.workspace, name, conversation_id):
                    return session
            except BaseException:
                session.leave()
                raise
            session.leave()
        raise ConflictError(f"{name!r} changes hands all the time", "try again")

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

    def edit(
        self,
        name: str,
        change: Callable[[Conversation], Step],
        *,
        op_id: str = "",
        is_new: bool = False,
        actor: str = "",
        now: datetime,
    ) -> Edited:
        """Apply a change to what stands, once: the one write path.

        What a person edited meanwhile becomes a revision of its own first. A
        change that makes the same file writes nothing.

        Args:
            name: Which conversation.
            change: From state to step; pure (it changes nothing in the state it is given), and
                called under the lock.
            op_id: The idempotency key; one that stands in the journal is not applied again.
            is_new: Whether the key was drawn for this: it is not looked for.
            actor: Who does it, for the history.
            now: The time of the change.

        Raises:
            NotFoundError: There is no such conversation.
            InvalidStateError: Its file cannot be read, or is of a newer version.
            LockTimeoutError: Another process held its lock for too long.
            CouncilError: What `change` raises, or the disk.
        """
        try:
            return self._edit(name, change, op_id, is_new=is_new, actor=actor, now=now)
        except MovedOnError:
            return self._edit(name, change, op_id, is_new=is_new, actor=actor, now=now)

    def _edit(
        self,
        name: str,
        change: Callable[[Conversation], Step],
        op_id: str,
        *,
        is_new: bool,
        actor: str,
        now: datetime,
    ) -> Edited:
        path = self.workspace.conversation_file(name)
        with files.explaining("write", path), self.open(name, now) as session:
            if op_id and not is_new:
                known = journal.find_operation(session.places.journal, op_id)
                if known is not None:
                    session.affirm()
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
        if self.expected is not None and self.expected != before.rev:
            raise StaleError(before.name, self.expected, before.rev)
        step = change(before)
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
        session.commit(step, session.page, op_id=op_id, actor=actor, result=result)
        return _edited(session, outcome=step.outcome, result=result)

    def take_in(self, name: str, theirs: bytes, *, now: datetime) -> None:
        """Take in what a person made of an earlier text, as if it were saved over the live file.

        Who edits a copy cannot overwrite what others save meanwhile.

        Raises:
            NotFoundError: There is no such conversation.
            CouncilError: As for `edit`.
        """
        path = self.workspace.conversation_file(name)
        with files.explaining("write", path), self.open(name, now) as session:
            session.take_in(theirs)

    def history(self, name: str) -> list[Revision]:
        """Return the revisions of a conversation, oldest first.

        Args:
            name: The name of an open conversation, or the id of any.

        Raises:
            NotFoundError: There is none.
        """
        from council.store.conversations import views

        found = views.history(self.workspace, name)
        veil = self.workspace.veil
        if veil is None or not _is_veiled(veil, found):
            return found
        return [
            one.copy(actor="", op_id="", events=[veil.shown(event) for event in one.events])
            for one in found
        ]

    def refuse_veiled(self, name: str) -> None:
        """Refuse what names who said what, where that is hidden.

        Raises:
            RefusedError: The conversation is anonymous and not over, and names are not shown.
        """
        from council.store.conversations import views

        veil = self.workspace.veil
        if veil and _is_veiled(veil, views.history(self.workspace, name)):
            raise RefusedError(
                f"{name} is anonymous: its file names who said what until it is over",
                "what may be seen of each revision: the page /councils/NAME/at",
            )

    def text_at(self, name: str, rev: int) -> str:
        """Return the text of one revision.

        Raises:
            NotFoundError: There is no such revision, or archiving pruned it.
            InvalidStateError: The journal is damaged.
            RefusedError: It names who said what, which is hidden.
        """
        from council.store.conversations import views

        self.refuse_veiled(name)
        return views.text_at(self.workspace, name, rev)

    def foreign_text_at(self, name: str, rev: int) -> str:
        """Return the file as others saved it, which revision `rev` took in (C0-078).

        Raises:
            NotFoundError: That revision took nothing in, or archiving pruned it.
        """
        from council.store.conversations import views

        return views.foreign_text_at(self.workspace, name, rev)

    def restore(
        self, name: str, rev: int, *, now: datetime, actor: str = "", op_id: str = ""
    ) -> Edited:
        """Make an older revision the newest; its line bears `op_id`.

        Raises:
            NotFoundError: There is no such revision.
        """
        from council.store.statefile import statefile

        with (
            files.explaining("write", self.workspace.conversation_file(name)),
            self.open(name, now) as session,
        ):
            state, page = statefile.load(self.text_at(name, rev), f"revision {rev}")
            event = Event(
                type="conversation.restored", data={"from": session.last["rev"], "to": rev}
            )
            step = Step(state=state, events=[event])
            session.commit(step, page, actor=actor, op_id=op_id)
            return _edited(session)

    def adopt(self, name: str, *, now: datetime, actor: str = "", op_id: str = "") -> Edited:
        """Take the live file as it stands, contributions included, as the newest revision.

        Its line bears `op_id`.

        Raises:
            NotFoundError: There is no file.
            InvalidStateError: It holds no conversation.
        """
        from council.store.statefile import handwritten

        path = self.workspace.conversation_file(name)
        with files.explaining("write", path):
            conversation_id = naming.pointer_of(self.workspace, name)
            if not conversation_id:
                with self.open(name, now, adopting=True) as session:
                    return _edited(session, changed=False)
            with self.session(name, conversation_id, now) as session:
                session.is_adopting = True
                _refuse_ended(session)
                if session.tail is None:
                    session.settle()
                    return _edited(session, changed=False)
                session.reading = session.read_live()
                if session.reading is None:
                    raise NotFoundError(f"{path} is not there", "see: council restore")
                session.affirm()
                session.text = session.past.text(session.last["digest"])
                text = session.reading.data.decode("utf-8", "replace")
                state, page = handwritten.import_page(text, name, now)
                event = Event(type="conversation.adopted", data={"rev": session.last["rev"]})
                step = Step(state=state.copy(conversation_id=conversation_id), events=[event])
                session.commit(step, page, actor=actor, op_id=op_id)
                return _edited(session)

    def close(
        self,
        name: str,
        wanted: str,
        minutes: str,
        *,
        now: datetime,
        data: str = "",
        made_of: Conversation | None = None,
    ) -> str:
        """Write the minutes of a finished conversation once, and clear its files away.

        Args:
            name: Which.
            wanted: The path of the minutes, absolute or from the root, without `-2`
                and with or without `.md`.
            minutes: Their text.
            now: The time of the end.
            data: What programs read of them, in a file beside; "" for none.
            made_of: The state that the minutes report, None to ask nothing. Whatever
                was said since would be in no minutes.

        Returns:
            The path of the minutes: the wanted one, or with `-2`, `-3` when it is taken.

        Raises:
            NotFoundError: There is no such open conversation.
            ConflictError: It went on, or is another one, since `made_of` was read.
        """
        from council.store.conversations import closing

        stem = wanted if os.path.isabs(wanted) else self.workspace.inside(wanted)
        with (
            files.explaining("write", stem),
            self.open(name, now, ended_too=True) as session,
        ):
            if is_closed(session.tail):
                path = closing_path(self.workspace, session.last)
            else:
                standing = (session.state.conversation_id, session.state.rev)
                if made_of is not None and (made_of.conversation_id, made_of.rev) != standing:
                    raise ConflictError(f"{name!r} went on meanwhile", "try again")
                path = closing.write_minutes(session, stem, minutes, data)
            closing.finish(session)
            return path

    def _with_sealed(self, session: Session) -> Conversation:
        return replaced(session.state, sealed=session.read_sealed())


def _is_veiled(veil: Veil, revisions: list[Revision]) -> bool:
    return any(veil.shown(event) is not event for one in revisions for event in one.events)


def _edited(session: Session, *, changed: bool = True, **more: Any) -> Edited:
    """Return what an edit came to, by the last revision."""
    events = session.last["events"]
    return Edited(state=session.state, events=events, changed=changed, **more)


def _refuse_ended(session: Session) -> None:
    """Finish the end of an archived conversation and say that it has ended.

    Raises:
        NotFoundError: It is archived.
    """
    if not is_closed(session.tail):
        return
    from council.store.conversations import closing  # only an end needs it

    closing.finish(session)
    where = closing_path(session.workspace, session.last)
    raise NotFoundError(
        f"the conversation {session.name!r} has ended", f"its minutes are in {where}"
    )


def _taken(name: str) -> ConflictError:
    return ConflictError(
        f"a conversation named {name!r} is open already",
        "choose another with --name, or end that one: council archive",
    )
