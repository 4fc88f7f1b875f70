"""A workspace that has joined an engine: what is committed there, and the replica here.

A revision is committed when the line of its journal is a row in the database. The
journal here is a replica: a process that takes the lock of a document holds it in the
database too, and first brings the lines that others committed. The lines of a commit become rows
before they are added here, so a journal here is never ahead of a database that keeps
what it acknowledged. Where one does not, or both went on, `differing` says what is done.

Source: EN-001, EN-004, EN-008, `store.md` section 9.
"""

from __future__ import annotations

import os
import time
from math import inf

from council.core.errors import (
    IN_DOUBT,
    CouncilError,
    LockTimeoutError,
    MovedOnError,
    PurgedError,
    UnreachableError,
)
from council.core.ids import slug
from council.core.reading import read_json
from council.core.record import Any
from council.store import files
from council.store import lock as locks
from council.store.documents import journal, lines
from council.store.documents.lines import Line
from council.store.engine.streams import CONVERSATION, Streams, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from council.store.engine.postgres import Session
    from council.store.paths import Workspace
    from council.store.settings import EngineSettings

    Sealed = Sequence[tuple[str, bytes]]

_LEAST_S = 1.0  # which each step may take, however late it is
_DOWN_S = 2.0
_RETRY_S = 0.1


class Engine(Streams):
    """The engine of one workspace, as this process uses it.

    Args:
        workspace: The workspace.
        config: What the settings say of it.

    Attributes:
        machine: What this machine is called.
        said: The `url`, `schema` and `machine` that a session is opened with.
        locks_until: By when all locks together are to be had, in seconds of the monotonic clock.
        left_s: For how long the next lock may be waited for, with what is done under it.
    """

    def __init__(self, workspace: Workspace, config: EngineSettings) -> None:
        super().__init__(workspace)
        self.workspace = workspace
        self.config = config
        self.control = workspace.control
        self.machine = machine_name(config)
        self.said = {"url": config.url, "schema": config.schema, "machine": self.machine}
        self._offset_s: float | None = None
        self._session: Session | None = None
        self._held: list[str] = []
        self._down: UnreachableError | None = None
        self._down_until = 0.0
        self._until = 0.0
        self.locks_until = inf
        self.left_s = locks.SHARED_TIMEOUT_S

    @property
    def offset_s(self) -> float:
        """By how many seconds the clock of the database is ahead of this machine's."""
        if self._offset_s is None:
            try:
                said = read_json(files.content_of(self.workspace.pulled))
                self._offset_s = float(said["offset"])
            except (ValueError, TypeError, LookupError):
                return 0.0
        return self._offset_s

    @offset_s.setter
    def offset_s(self, seconds: float) -> None:
        self._offset_s = seconds

    # The connection.

    @property
    def session(self) -> Session:
        """The connection, by the link or of our own; opened when it is asked for.

        Raises:
            UnreachableError: There is none to be had; for a moment it is not tried again.
        """
        if self._session is not None and self._session.broken and not self._held:
            self._session = None
        if self._session is None:
            if self._down is not None and time.monotonic() < self._down_until:
                raise self._down
            from council.store.engine import sessions

            try:
                self._session = sessions.opened(self.control, self.said)
            except UnreachableError as error:
                self.rest(error)
                raise
        left_s = max(_LEAST_S, self._until - time.monotonic())
        self._session.limit_s = left_s if self._held else locks.SHARED_TIMEOUT_S
        return self._session

    def rest(self, error: UnreachableError) -> None:
        """Try nothing for a moment: what was waited for in vain is not waited for again."""
        self._down, self._down_until = error, time.monotonic() + _DOWN_S
        self.close()

    def abandon(self) -> None:
        """Leave connection and locks to the parent, in a process that was forked."""
        if self._session is not None:
            self._session.abandon()
        self._session = None
        self._held.clear()

    def close(self) -> None:
        """Give the connection back, unless a lock is held; `session` opens another then."""
        if self._session is not None and not self._held:
            self._session.close()
            self._session = None

    # Locks.

    def waits_until(self) -> float:
        """Connect; return by when a lock is to be had, in seconds of the monotonic clock.

        Raises:
            UnreachableError: The database is not reached.
        """
        if not self._held:
            self._until = time.monotonic() + self.left_s
            self.left_s = locks.SHARED_TIMEOUT_S
        _ = self.session
        return min(max(self._until, time.monotonic() + _LEAST_S), self.locks_until)

    def enter(self, path: str, until: float) -> None:
        """Take the lock of a path in the database as well.

        Args:
            path: The path.
            until: What `waits_until` has returned.

        Raises:
            LockTimeoutError: It was held elsewhere until then.
            UnreachableError: The database is not reached.
        """
        key = self.stream_of(path)
        try:
            self.session.enter(key, max(_RETRY_S, until - time.monotonic()))
        except LockTimeoutError as late:
            raise LockTimeoutError(path, late.holder, late.waited_s) from None
        self._held.append(key)

    def leave(self, path: str) -> None:
        """Give the lock of a path back; one that was lost with its connection is gone already."""
        key = self.stream_of(path)
        if key in self._held:
            self._held.remove(key)
            try:
                if self._session is not None and not self._session.broken:
                    self._session.leave(key)
            except CouncilError:
                pass  # it ended with the connection

    # Journals.

    def rows(self, stream: str, after: int) -> dict[str, Any]:
        """Return what the session does, with the lines of all pages.

        Raises:
            UnreachableError: The database is not reached.
        """
        found: dict[str, Any] = self.session.rows(stream, after)
        while found["last"] < found["seq"]:
            page = self.session.rows(stream, found["last"])
            found = {**page, "sum": found["sum"], "lines": found["lines"] + page["lines"]}
        return found

    def logged(self, since: str, words: Sequence[bytes] = ()) -> dict[str, Any]:
        """Return what the session does, with the lines of all pages.

        Raises:
            UnreachableError: The database is not reached.
        """
        found: dict[str, Any] = self.session.logged(since, words=words)
        after = found["after"]
        while after:
            page = self.session.logged(since, after, words)
            found["lines"] += page["lines"]
            after = page["after"]
        return found

    def bring(self, path: str, mode: int = 0o600, *, was_left: bool = False) -> list[Line]:
        """Add the lines that others committed to a journal here; called under its lock.

        Args:
            path: The journal. All lines of a conversation are wanted, of anything else those
                from the last whole text on.
            mode: The permissions of a journal that is made.
            was_left: Whether the last holder of its lock died with it: the events of the last
                lines may be missing in their log, and are copied again.

        Returns:
            The lines that were added.

        Raises:
            PurgedError: It was purged, and no line of it is left.
            UnreachableError: The database is not reached.
            InvalidStateError: What lies here is no journal.
        """
        stream = self.stream_of(path)
        if not stream or _lies_among_closed(path):
            return []
        is_conversation = kind_of(stream)[0] == CONVERSATION
        tail = journal.read_tail(path)
        if tail is not None and not os.path.lexists(path):
            return []  # of version 1: its next writer brings it over
        known = 0 if tail is None else int(tail.head["seq"])
        wanted = known or (0 if is_conversation else -1)
        found = self.rows(stream, wanted)
        if found["purged"]:
            if not found["lines"] and not found["sum"]:
                named = stream.removesuffix(f"/{journal.FILE}").removesuffix(".jsonl")
                raise PurgedError(os.path.basename(named))
            if is_conversation:
                from council.store.engine.differing import hollow

                hollow(self, path, known, found["purged"])
                tail = journal.read_tail(path)
        if known and found["sum"] != tail.line.sum:  # type: ignore[union-attr]
            from council.store.engine.differing import settle_difference

            return settle_difference(self, path)
        rows = found["lines"]
        new = lines.decoded(rows)
        if not new:
            return []
        # Before the lines: a process that dies in between repeats this.
        self.copy_events([*(tail.batch if tail is not None and was_left else ()), *new])
        folder = os.path.dirname(path)
        files.make_folder(folder)
        note_pull(folder, new[-1])
        whole = [at for at, line in enumerate(new) if lines.is_whole(line.body)]
        if found["purged"] and whole and not is_conversation:
            files.replace(path, b"".join(rows[whole[-1] :]), mode=mode)
        elif tail is None:
            files.replace(path, b"".join(rows), mode=mode)
        else:
            journal.add(path, tail.end, b"".join(rows))
        return new

    def copy_events(self, new: list[Line]) -> None:
        """Add the events of lines that were brought to their log, each once.

        Raises:
            CouncilError: The system refuses.
        """
        from council.store import events as event_log

        said = [event for line in new for event in line.head.get("events", [])]
        if said:
            event_log.append(self.workspace, said)

    def commit(self, path: str, data: bytes, sealed: Sealed = ()) -> None:
        """Make rows of lines; from here on they are committed. Called under the lock.

        With them go the sealed texts that they name, by digest.

        A connection that is lost on the way leaves in doubt whether they are: then it is
        looked up under the lock, taken anew.

        Raises:
            MovedOnError: Another machine went on meanwhile; nothing of this is committed.
            UnreachableError: The database is not reached; they may be committed.
        """
        stream = self.stream_of(path)
        if not stream:
            return
        rows = [row + b"\n" for row in data.split(b"\n") if row]
        found = [(line, row) for row in rows if (line := lines.decode(row[:-1])) is not None]
        try:
            self.insert(stream, found, sealed)
        except UnreachableError:
            self._insert_again(stream, found, sealed)

    def insert(
        self,
        stream: str,
        found: list[tuple[Line, bytes]],
        sealed: Sealed,
        names: dict[str, list[list[str]]] | None = None,
    ) -> None:
        """Make rows of lines; called under the lock.

        Args:
            stream: Whose.
            found: The lines, each with its bytes.
            sealed: The sealed texts that they name, by digest.
            names: What `names_of` says, None for what it says of these lines.

        Raises:
            ConflictError: Another machine went on, or has the name of the conversation.
            UnreachableError: The database is not reached; they may be committed.
        """
        if not found:
            return
        entries = [
            [line.head["seq"], line.head.get("op", ""), lines.is_whole(line.body), row]
            for line, row in found
        ]
        if names is None:
            is_new = found[0][0].head["seq"] == 1
            names = names_of(stream, found[-1][0].head, is_new=is_new)
        self.session.commit(stream, entries, **names, sealed=list(sealed))

    def _insert_again(
        self,
        stream: str,
        found: list[tuple[Line, bytes]],
        sealed: Sealed,
    ) -> None:
        held = list(self._held)
        while time.monotonic() < self._until - _LEAST_S:
            try:
                self._down = self._session = None
                for key in held:
                    self.session.enter(key, max(_RETRY_S, self._until - time.monotonic()))
                first = int(found[0][0].head["seq"])
                there = self.rows(stream, first - 1)["lines"]
                if there[: len(found)] == [row for _, row in found]:
                    return
                if there:
                    raise MovedOnError
                self.insert(stream, found, sealed)
                return
            except (UnreachableError, LockTimeoutError):
                if self._session is not None:
                    self._session.close()  # under some of the locks alone nothing may be done
                time.sleep(_RETRY_S)
        raise UnreachableError(
            self.config.url, "the connection was lost while this was being recorded", IN_DOUBT
        )


def joined(workspace: Workspace, config: EngineSettings) -> Engine:
    """Return the engine that a workspace has joined; from here on its documents are shared."""
    engine = locks.engines.get(workspace.control)
    if engine is None or engine.config != config:
        engine = Engine(workspace, config)
        locks.engines[workspace.control] = engine
    return engine


def machine_name(config: EngineSettings) -> str:
    """Return what this machine is called among those that have joined."""
    return config.machine or slug(os.uname().nodename)


def note_pull(folder: str, last: Line) -> None:
    """Note which head was brought and is not published here yet (EN-004)."""
    digest = str(last.head.get("digest", ""))
    if os.path.basename(folder) and digest and os.path.isdir(f"{folder}/displaced"):
        files.replace(f"{folder}/pulled", digest.encode(), mode=0o600)


def names_of(stream: str, head: dict[str, Any], *, is_new: bool) -> dict[str, list[list[str]]]:
    """Return which open name the lines of a conversation take, or free, by the head of the last."""
    kind, owner = kind_of(stream)
    if kind != CONVERSATION or "name" not in head:
        return {}
    name = [f"open/{head['name']}", owner]
    if head.get("closing", {}).get("done"):
        return {"freed": [name]}
    return {"claims": [name]} if is_new else {}


def _lies_among_closed(path: str) -> bool:
    """Return true of the journal of an open context that has been put among the closed ones."""
    folder, name = os.path.split(path)
    return (
        os.path.basename(folder) == "contexts"
        and not os.path.lexists(path)
        and os.path.lexists(f"{folder}/closed/{name}")
    )
