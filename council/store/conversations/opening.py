"""Opening conversations: for the first time under a new name, or to work on them.

It decides which conversation a name stands for, takes its lock and hands out
the settled session. Of many who open one name at once exactly one succeeds.

Source: C0-002, C0-037, `store.md` sections 5 and 6.
"""

from __future__ import annotations

import os

from council.core.errors import ConflictError, InvalidStateError, NotFoundError
from council.store.conversations import closing, naming
from council.store.conversations.naming import Places, closing_path, is_closed
from council.store.conversations.session import Latest, Session
from council.store.documents import journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.core.conversations.conversation import Step
    from council.store.paths import Workspace

_TRIES = 8


class Door:
    """The way to the conversations of one workspace.

    Args:
        workspace: Where they lie.
        allow_network_fs: Whether they may lie on a network file system.
        timeout_s: How long to wait for a lock.
    """

    def __init__(self, workspace: Workspace, allow_network_fs: bool, timeout_s: float) -> None:
        self._workspace = workspace
        self._allow_network_fs = allow_network_fs
        self._timeout_s = timeout_s
        self.latest: dict[str, Latest] = {}

    def session(self, name: str, conversation_id: str, now: datetime) -> Session:
        """Return a session that is not entered yet."""
        return Session(self._workspace, name, conversation_id, now, self._timeout_s, self.latest)

    def create(
        self,
        step: Step,
        now: datetime,
        *,
        actor: str,
        op_id: str,
    ) -> tuple[Session, bool]:
        """Open a new conversation under its name.

        Returns:
            The session, ended, and whether the same conversation was open already.

        Raises:
            ConflictError: The name is open already.
            RefusedError: The place is on a network file system, or forbidden.
        """
        state = step.state
        naming.prepare_control(self._workspace)
        self._check_file_system()
        self.clear_ended(state.name, now)
        known = naming.pointer_of(self._workspace, state.name)
        if known == state.conversation_id:
            with self.open(state.name, now) as session:
                return session, True
        if known or os.path.lexists(self._workspace.conversation_file(state.name)):
            raise _taken(state.name)
        with self.session(state.name, state.conversation_id, now) as session:
            if session.tail is not None:
                raise ConflictError(f"there is a conversation {state.conversation_id} already")
            self._begin(session, step, actor, op_id)
            return session, False

    def _begin(self, session: Session, step: Step, actor: str, op_id: str) -> None:
        state = step.state
        claimed = False

        def claim() -> None:
            nonlocal claimed
            claimed = naming.claim(self._workspace, state.name, state.conversation_id)
            if not claimed:
                raise _taken(state.name)

        try:
            session.commit(
                step.copy(state=state.copy(rev=0)),
                None,
                op_id=op_id,
                actor=actor,
                result={"outcome": "", "phase": state.phase, "tour": state.tour},
                before_publishing=claim,
            )
        except ConflictError:
            if not claimed:
                _forget(session)  # nobody else has ever seen this folder
            raise

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
            LockTimeoutError: Somebody held its lock for too long.
        """
        for _ in range(_TRIES):
            pointer = naming.Pointer(self._workspace, name)
            known = pointer.conversation_id
            conversation_id = known or naming.id_in_file(self._workspace, name, now)
            if not conversation_id:
                raise NotFoundError(
                    f"no open conversation is named {name!r}", "see: council list; council convene"
                )
            if not known:
                naming.prepare_control(self._workspace)
                self._check_file_system()
            session = self.session(name, conversation_id, now)
            session.is_adopting = adopting
            session.enter()
            try:
                if is_closed(session.tail):
                    if ended_too:
                        return session
                    refuse_ended(session)
                if known and not pointer.stands():
                    session.leave()
                    continue
                self._refuse_copy(session, known)
                session.settle()
                if known or naming.claim(self._workspace, name, conversation_id):
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
        if naming.pointer_of(self._workspace, first) == session.conversation_id:
            raise InvalidStateError(
                f"{session.places.live} is a copy of the conversation {first!r}",
                "remove it, or give it a conversationId of its own",
            )

    def clear_ended(self, name: str, now: datetime) -> None:
        """Finish the end of an archived conversation, so that its name is free again."""
        known = naming.pointer_of(self._workspace, name)
        try:
            known = known or naming.id_in_file(self._workspace, name, now)
        except InvalidStateError:
            return
        if known and is_closed(journal.read_tail(Places(self._workspace, name, known).journal)):
            with self.session(name, known, now) as session:
                if is_closed(session.tail):
                    closing.finish(session)

    def _check_file_system(self) -> None:
        if not self._allow_network_fs:
            from council.store.sharing import refuse_network

            refuse_network(self._workspace.control)


def refuse_ended(session: Session) -> None:
    """Finish the end of an archived conversation and say that it has ended.

    Raises:
        NotFoundError: It is archived.
    """
    if not is_closed(session.tail):
        return
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


def _forget(session: Session) -> None:
    import shutil

    shutil.rmtree(session.places.folder, ignore_errors=True)
