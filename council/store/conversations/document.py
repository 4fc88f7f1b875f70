"""A document under its lock: its journal, its live file, and what is kept aside of it.

It is what conversations and channels have in common. It knows neither: what a
revision holds, and how its text reads, is the matter of those who build on it.

Source: XC-001, XC-002, `store.md` sections 1 and 2.
"""

from __future__ import annotations

import os

from council.core.errors import CouncilError, LockTimeoutError
from council.core.events import Event
from council.store import events as event_log
from council.store import files
from council.store.conversations import journal, live, snapshots
from council.store.conversations.places import decoded
from council.store.lock import DEFAULT_TIMEOUT_S, Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from types import TracebackType
    from typing import Any, Self

    from council.store.conversations.journal import Tail
    from council.store.conversations.places import Places
    from council.store.files import Reading
    from council.store.paths import Workspace
    from council.store.rooms.channel_places import ChannelPlaces


class Document:
    """A document that nobody else writes while this lasts. Used in a `with` block.

    Args:
        workspace: Where it lies.
        places: Its files.
        owner: The id under which its events go.
        now: The time of every line that is written.
        timeout_s: How long to wait for the lock.
    """

    places: Places | ChannelPlaces
    reading: Reading | None
    tail: Tail | None

    def __init__(
        self,
        workspace: Workspace,
        places: Places | ChannelPlaces,
        owner: str,
        now: datetime,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        self.workspace = workspace
        self.places = places
        self.owner = owner
        self.now = now
        self.trace = ""  # that of its id, until the state says another
        self.reading = None
        self._lock = Lock(self.places.lock, timeout_s)
        self._entered = False

    def enter(self) -> None:
        """Take the lock and look at the journal. Does nothing when it is held already."""
        if self._entered:
            return
        files.make_folder(self.places.folder)
        files.ready_to_exchange()  # nobody shall wait for the lock while this is loaded
        try:
            self._lock.__enter__()
        except LockTimeoutError as late:
            self._tell_of(late)
            raise
        try:
            self.places.make()
            self.tail = journal.read_tail(self.places.journal)
            self._keep_torn_lines()
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        self._entered = True

    def _tell_of(self, late: LockTimeoutError) -> None:
        """Write the event of a lock that was not obtained; a full disk hides no refusal."""
        data = {
            "lock": os.path.relpath(self.places.lock, self.workspace.root),
            "holder": late.holder,
            "waitedS": int(late.waited_s),
        }
        try:  # noqa: SIM105 - contextlib is slow to import
            self.say([Event(type="lock.timed_out", data=data)])
        except CouncilError:
            pass

    def leave(self) -> None:
        """Let the lock go."""
        self._entered = False
        self._lock.__exit__(None, None, None)

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    def _keep_torn_lines(self) -> None:
        """Keep what looks like more than a torn line: the next commit cuts it off."""
        if self.tail is not None and b"\n" in self.tail.torn:
            self.keep("lines cut off the end of the journal", decoded(self.tail.torn))

    @property
    def last(self) -> dict[str, Any]:
        """The record of the last revision, empty before the first."""
        return {} if self.tail is None else self.tail.record

    def write(
        self,
        data: bytes,
        digest: str,
        record: dict[str, Any],
        before_publishing: Callable[[], None] | None = None,
    ) -> None:
        """Make a text the next revision: snapshot, prepared file, line, events, exchange.

        Args:
            data: The text.
            digest: Its digest.
            record: The line of the journal; when it is added, the revision holds.
            before_publishing: Called when the revision is committed and before
                it can be seen; what it raises stops the publication.

        Raises:
            OSError: The system refuses. Before the journal line was on the disk
                nothing has changed; after it the next session finishes.
        """
        snapshot = snapshots.Beginning(self.places.history, data, digest)
        try:
            prepared = live.Preparing(self.places.displaced, data, self.reading, digest)
        except BaseException:
            snapshot.give_up()
            raise
        try:
            line = journal.encode(record)  # while both are on their way to the disk
            events = event_log.encode(record["events"])
            prepared.finish()
        except BaseException:
            prepared.give_up()
            snapshot.give_up()
            raise
        try:
            snapshot.finish()
            self.add_record(record, line)
        except BaseException:
            prepared.give_up()
            raise
        if before_publishing is not None:
            before_publishing()
        event_log.append_lines(self.workspace, events)
        self.publish(prepared, data)

    def add_record(self, record: dict[str, Any], line: bytes = b"") -> None:
        """Add a line to the journal; `line` is how it is written, where that is known."""
        end = 0 if self.tail is None else self.tail.end
        self.tail = journal.append(self.places.journal, end, record, line)
        if not record["parent"]:
            files.sync_folder(self.places.folder)  # the first line: the file has just been made

    @property
    def displaced(self) -> tuple[str, ...]:
        """The folders that may hold files which gave way to a newer text."""
        return (self.places.displaced,)

    def displaced_for(self, _: str) -> str:
        """Return the folder into which a file goes that gives way, by the digest of its text."""
        return self.places.displaced

    def publish(self, prepared: live.Preparing, data: bytes) -> None:
        """Put a prepared text in the place of the live file."""
        facts = prepared.facts
        seen = self.reading
        aside = self.places.displaced if seen is None else self.displaced_for(seen.digest)
        live.publish(prepared.path, self.places.live, aside, seen)
        self.reading = files.Reading(
            data=data,
            device=facts.st_dev,
            inode=facts.st_ino,
            size=facts.st_size,
            modified_ns=facts.st_mtime_ns,
            mode=facts.st_mode,
            uid=facts.st_uid,
            gid=facts.st_gid,
            settled=True,
        )

    def keep(self, what: str, text: str) -> None:
        """Put a text that could not be merged into `conflicts/`, durably."""
        self.keep_bytes(what, text.encode("utf-8", "replace"))

    def keep_bytes(self, what: str, data: bytes) -> None:
        """Put bytes that could not be merged into `conflicts/`, durably, once."""
        named = f"{snapshots.digest_of(what.encode('utf-8', 'replace') + data)[:24]}.txt"
        path = f"{self.places.conflicts}/{named}"
        if not os.path.lexists(path):
            head = f"{what}\nrevision {self.last.get('rev', 0)}\n\n"
            files.write_new(path, head.encode("utf-8", "replace") + data)

    def say(self, events: list[Event]) -> list[dict[str, Any]]:
        """Write events that go with no revision; return their records."""
        records = event_log.loose_records(events, self.owner, self.now, self.trace)
        event_log.append(self.workspace, records)
        return records
