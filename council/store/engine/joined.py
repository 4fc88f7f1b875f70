"""A workspace that has joined an engine: what is committed there, and the replica here.

A revision is committed when the line of its journal is a row in the database. The
journal here is a replica: a process that takes the lock of a document holds it in the
database too, and first brings the lines that others committed. The lines of a commit become rows
before they are added here, so a journal here is never ahead of a database that keeps
what it acknowledged. One that was put back, or took over without the last rows, gets
again what this replica has beyond it; where both went on, the lines from here are kept
aside, and what they changed in a document, not in a record, is merged as an edit.

Nothing in the database names a path: a stream is the place of a journal in any workspace.

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
from council.store import files, notes
from council.store import lock as locks
from council.store.documents import journal, lines
from council.store.documents.lines import Line
from council.store.paths import resolve_inside

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
CONVERSATION, ROOM, CONTEXT, RECORD = "conversation", "room", "context", "record"
FILE, PREFIX = "file", "files/"
# What lies in `.council` and is of this machine alone.
_LOCAL = (
    *("heartbeat.lock", "settings.lock", "souls.lock", "duty.lock", "web.lock", "link.lock"),
    *("maintenance.lock", "artifacts.lock", "runs/", "outbox/", "brought/", "machine"),
)
_CLOSED = "contexts/closed/"
# All that machines share besides conversations, by its folder and how its name ends.
_JOURNALS = {
    "channels": ROOM,
    "protocol/contexts": CONTEXT,
    **dict.fromkeys(("control", "protocol"), RECORD),
    **dict.fromkeys(("control/delegation", "control/delegation/traces"), RECORD),
}
_FILES = {"minutes": (".md", ".json"), "briefs": (".json",), "artifacts": (".meta.json",)}
_FILES_ALONE = ("identities", "control/halted", "protocol/.told/next")


class Engine:
    """The engine of one workspace, as this process uses it.

    Args:
        workspace: The workspace.
        config: What the settings say of it.
    """

    def __init__(self, workspace: Workspace, config: EngineSettings) -> None:
        self.workspace = workspace
        self.config = config
        self.control = workspace.control
        self.machine = machine_name(config)
        self.said = {"url": config.url, "schema": config.schema, "machine": self.machine}
        folder, name = os.path.split(workspace.identities)
        self._places = (
            (f"{workspace.control}/", "control/"),
            (f"{workspace.channels}/", "channels/"),
            (f"{workspace.protocol}/", "protocol/"),
            (f"{workspace.minutes}/", "minutes/"),
            (f"{workspace.artifacts}/", "artifacts/"),
            (f"{workspace.briefs}/", "briefs/"),
            (workspace.identities, "identities"),
            (f"{folder}/.{name}.lock", "identities.lock"),
        )
        self._offset_s: float | None = None
        self._session: Session | None = None
        self._held: list[str] = []
        self._down: UnreachableError | None = None
        self._down_until = 0.0
        self._until = 0.0
        # By when all locks together are to be had, and what is left for the next one.
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

    # Names.

    def stream_of(self, path: str) -> str:
        """Return what the database calls a journal, or a lock; "" for one of this machine alone."""
        for folder, name in self._places:
            if path.startswith(folder):
                inside = path[len(folder) :].replace(_CLOSED, "contexts/")
                is_local = name == "control/" and inside.startswith(_LOCAL)
                return "" if is_local else name + inside
        return ""

    def path_of(self, stream: str) -> str:
        """Return where a stream lies here; "" for one that machines do not share.

        Raises:
            RefusedError: It is a link, or lies behind one.
        """
        if not kind_of(stream)[0]:
            return ""
        place = stream.removeprefix(PREFIX)
        folder, name = next(one for one in self._places if place.startswith(one[1]))
        root, _, begins = folder.rpartition("/")
        path = resolve_inside(root, begins + place.removeprefix(name))
        return path if self.stream_of(path) == place else ""

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
        """Leave the connection to the parent, in a process that was forked."""
        if self._session is not None:
            self._session.abandon()
        self._session = None
        self._held.clear()

    def close(self) -> None:
        """Give the connection back; the next who asks opens another."""
        if self._session is not None and not self._held:
            self._session.close()
            self._session = None

    # Locks.

    def waits_until(self) -> float:
        """Connect; return by when a lock is to be had, with what is done under it soon after.

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
                self._hollow(path, known, found["purged"])
                tail = journal.read_tail(path)
        if known and found["sum"] != tail.line.sum:  # type: ignore[union-attr]
            return self._settle_difference(path, stream, found)
        rows = found["lines"]
        new = lines.decoded(rows)
        if not new:
            return []
        # Before the lines: a process that dies in between repeats this.
        self._copy_events([*(tail.batch if tail is not None and was_left else ()), *new])
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

    def _copy_events(self, new: list[Line]) -> None:
        from council.store import events as event_log

        said = [event for line in new for event in line.head.get("events", [])]
        if said:
            event_log.append(self.workspace, said)

    def _settle_difference(self, path: str, stream: str, found: dict[str, Any]) -> list[Line]:
        """Bring a journal in line that has lines which the database has not, or other ones."""
        here = list(journal.read(path))
        found = self.rows(stream, 0)
        there = lines.decoded(found["lines"])
        sums = {one.sum for one in there}
        common = next((at for at in range(len(here), 0, -1) if here[at - 1].sum in sums), 0)
        extra, last = here[common:], there[-1] if there else None
        if (
            last is None
            or (common and here[common - 1].sum == last.sum)
            or here[0].head["seq"] > last.head["seq"]  # ours begins after all that it kept
        ):
            # It has none of its own beyond ours: it was put back, or it is new.
            from council.store.engine.sessions import batches

            sealed = _sealed_beside(path)  # with the first lines: it stands before they name it
            given = [(one, lines.written(one)) for one in extra]
            for part in batches([row for _, row in given]):
                names = _names(stream, extra[-1].head, True)
                self._insert(stream, given[part], sealed, names)
                sealed = []
            if there:
                self.report("engine.behind", path, len(extra))
            return []
        content, end = files.content_of(path), here[common - 1].end if common else 0
        folder = os.path.dirname(path)
        is_document = stream.endswith(f"/{journal.FILE}")
        conflicts = f"{folder if is_document else self.control}/conflicts"
        kept = f"{conflicts}/{os.path.basename(path)}-ahead-{here[-1].sum[:16]}.txt"
        files.make_folder(conflicts)
        files.write_new(kept, content[end:])
        after = here[common - 1].sum if common else ""
        at = next((n + 1 for n, one in enumerate(there) if one.sum == after), 0)
        files.replace(path, content[:end] + b"".join(found["lines"][at:]), mode=0o600)
        note_pull(folder, last)
        self._copy_events(there[at:])
        within = os.path.relpath(kept, self.workspace.root)
        self.report("engine.parted", path, len(extra), file=within)
        return there[at:]

    def report(self, kind: str, path: str, count: int, **more: str) -> None:
        """Say in an event that the database and this machine had other lines of a stream."""
        from datetime import UTC, datetime

        from council.core.events import Event
        from council.store import events as event_log

        stream, now = self.stream_of(path), datetime.now(UTC).replace(microsecond=0)
        data = {"stream": stream, "lines": count, "machine": self.machine, **more}
        owner = kind_of(stream)[1] if stream.endswith(f"/{journal.FILE}") else ""
        records = event_log.loose_records([Event(type=kind, data=data)], owner, now)
        event_log.append(self.workspace, records)

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
            self._insert(stream, found, sealed)
        except UnreachableError:
            self._insert_again(stream, found, sealed)

    def _insert(
        self,
        stream: str,
        found: list[tuple[Line, bytes]],
        sealed: Sealed = (),
        names: dict[str, list[list[str]]] | None = None,
    ) -> None:
        if not found:
            return
        entries = [
            [line.head["seq"], line.head.get("op", ""), lines.is_whole(line.body), row]
            for line, row in found
        ]
        if names is None:
            names = _names(stream, found[-1][0].head, found[0][0].head["seq"] == 1)
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
                self._insert(stream, found, sealed)
                return
            except (UnreachableError, LockTimeoutError):
                if self._session is not None:
                    self._session.close()  # under some of the locks alone nothing may be done
                time.sleep(_RETRY_S)
        raise UnreachableError(
            self.config.url, "the connection was lost while this was being recorded", IN_DOUBT
        )

    def _hollow(self, path: str, known: int, purged: str) -> None:
        """Leave of the lines here what a purge elsewhere has left of them.

        They are kept aside before: the texts that they have, and the database has not, are yet
        to be taken out of other files here (`purging.entries`).
        """
        if purged_here(path) == purged:
            return
        here = {line.sum: line for line in journal.read(path)}
        data = b""
        for row in self.rows(self.stream_of(path), 0)["lines"]:
            line = lines.decode(row[:-1])
            if line is not None and line.head["seq"] <= known:
                own = here.get(line.sum, line)  # what was thinned here stays so
                is_less = lines.is_hole(own.body) and not lines.is_hole(line.body)
                data += lines.written(own) if is_less else row
        if known and data != files.content_of(path):
            kept = f"{os.path.dirname(path)}/{journal.BEFORE_PURGE}{known}"
            files.write_new(kept, files.content_of(path), mode=0o600)
            files.replace(path, data, mode=0o600)
        notes.write_text(_note_of_purge(path), purged)


def joined(workspace: Workspace, config: EngineSettings) -> Engine:
    """Return the engine that a workspace has joined; from here on its documents are shared."""
    engine = locks.engines.get(workspace.control)
    if engine is None or engine.config != config:
        engine = Engine(workspace, config)
        locks.engines[workspace.control] = engine
    return engine


def kind_of(stream: str) -> tuple[str, str]:
    """Return what a stream is of, with the id; twice "" for what machines do not share."""
    folder, _, name = stream.removeprefix(PREFIX).rpartition("/")
    stem = name.removesuffix(".jsonl")
    if stream.startswith(PREFIX):
        is_one = name[:1] != "." and name.endswith(_FILES.get(folder, ()))
        return (FILE, name) if is_one or stream.removeprefix(PREFIX) in _FILES_ALONE else ("", "")
    if name != journal.FILE:
        kind = _JOURNALS.get(folder, "") if stem != name else ""
        return (kind, stem) if kind else ("", "")
    above, _, owner = folder.rpartition("/")
    kind = {"control": CONVERSATION, "control/channels": ROOM}.get(above, "")
    return (kind, owner) if kind else ("", "")


def machine_name(config: EngineSettings) -> str:
    """Return what this machine is called among those that have joined."""
    return config.machine or slug(os.uname().nodename)


def _sealed_beside(path: str) -> Sealed:
    """Return the sealed texts that lie beside the journal of a conversation, by digest."""
    folder = f"{os.path.dirname(path)}/sealed"
    names = [one for one in files.names_in(folder) if one.endswith(".json")]
    found = [(one[: -len(".json")], files.content_of(f"{folder}/{one}")) for one in names]
    return [(digest, data) for digest, data in found if data]


def purged_here(path: str) -> str:
    """Return the last purge that has reached a journal of a conversation here, "" for none."""
    return notes.text_in(_note_of_purge(path))


def _note_of_purge(path: str) -> str:
    return f"{os.path.dirname(path)}/purged"


def note_pull(folder: str, last: Line) -> None:
    """Note which head was brought and is not published here yet (EN-004)."""
    digest = str(last.head.get("digest", ""))
    if os.path.basename(folder) and digest and os.path.isdir(f"{folder}/displaced"):
        files.replace(f"{folder}/pulled", digest.encode(), mode=0o600)


def _names(stream: str, head: dict[str, Any], is_new: bool) -> dict[str, list[list[str]]]:
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
