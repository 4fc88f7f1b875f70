"""A document under its lock: its journal, its live file, and what is kept aside of it.

It is what conversations and rooms have in common. Entering settles the files
first: a crash between commit and publication is finished, a file that is
missing or damaged is published again, and what a person or a tool wrote is
taken in. Then each commit goes one way: the next text is prepared beside, the
line is added to the journal (from there on it holds; this is the one sync),
the events are copied to their log, the live file is exchanged.

What a revision holds, and how its text reads, the classes say that build on this.

Source: XC-001, XC-002, C0-078, `store.md` sections 2, 3, 5 and 9.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from council.core.errors import CouncilError, LockTimeoutError, NewerVersionError
from council.core.events import Event
from council.core.ids import sha256_hex
from council.core.record import Any
from council.core.times import render_instant
from council.store import events as event_log
from council.store import files
from council.store.documents import journal, lines, live
from council.store.lock import DEFAULT_TIMEOUT_S, Lock, engine_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

    from council.store.conversations.naming import DocumentPlaces
    from council.store.documents.journal import Tail
    from council.store.documents.live import IsAhead
    from council.store.files import Reading
    from council.store.paths import Workspace

_WRITER_GONE_S = 60
_LATE_LINES = 200  # more than are written in the minute that a system keeps them


class Document:
    """A document that no other process writes while this lasts. Used in a `with` block.

    Args:
        workspace: Where it lies.
        places: Its files.
        owner: The id under which its events go.
        now: The time of every line that is written.
        timeout_s: How long to wait for the lock.

    Attributes:
        reading: The live file as it was read last, None when there was none.
        tail: The end of the journal, with the lines that wait for the next sync.
        text: The text of the last revision, once it is loaded.
    """

    is_ahead: IsAhead  # returns true of a later revision of ours than the journal knows
    places: DocumentPlaces
    reading: Reading | None
    tail: Tail | None
    text: bytes

    def __init__(
        self,
        workspace: Workspace,
        places: DocumentPlaces,
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
        self.past = journal.Past(places.journal)
        self._lock = Lock(self.places.lock, timeout_s)
        self._entered = False
        self._durable: Tail | None = None
        self._is_doubtful = False
        self._waiting: list[tuple[bytes, list[dict[str, Any]]]] = []
        self._sealed: list[tuple[str, bytes]] = []  # the sealed texts that those lines name

    # What one kind of document does in its own way.

    def load(self, data: bytes, digest: str) -> None:
        """Make a text of ours the one that stands."""
        raise NotImplementedError

    def take_in(self, theirs: bytes) -> None:
        """Make a revision of what others wrote."""
        raise NotImplementedError

    def begin_from_file(self) -> None:
        """Take up a live file that has no journal."""
        raise NotImplementedError

    def import_ahead(self, data: bytes) -> None:
        """Make a revision of a later text than the journal knows."""
        raise NotImplementedError

    def is_complete(self, data: bytes) -> bool:
        """Return true if the writer of a text is done with it."""
        raise NotImplementedError

    # Entering and leaving.

    def enter(self) -> None:
        """Take the lock and read the end of the journal. Does nothing when it is held already."""
        if self._entered:
            return
        files.make_folder(self.places.folder)
        live.ready_to_exchange()  # no other process shall wait for the lock while this is loaded
        try:
            self._lock.__enter__()
        except LockTimeoutError as late:
            self._report(late)
            raise
        try:
            self.places.make()
            engine = engine_of(self.places.journal)
            brought = (
                engine.bring(self.places.journal, was_left=self._lock.was_left) if engine else []
            )
            self.tail = journal.read_tail(self.places.journal)
            if self.tail is not None and not os.path.lexists(self.places.journal):
                from council.store.documents.version_one import bring_over

                bring_over(self.places.folder, self.places.journal)
                self.tail = journal.read_tail(self.places.journal)
            self._durable = self.tail
            self._is_doubtful = self.tail is not None and not brought
            if self.tail is not None and b"\n" in self.tail.torn:
                # More than a torn line: none of them may be taken for a revision.
                self.keep_bytes("lines cut off the end of the journal", self.tail.torn)
                journal.append(self.places.journal, self.tail.end, b"")
        except BaseException:
            self._lock.__exit__()
            raise
        self._entered = True

    def _report(self, late: LockTimeoutError) -> None:
        """Write the event of a lock that was not obtained; a full disk hides no refusal."""
        data = {
            "lock": os.path.relpath(self.places.lock, self.workspace.root),
            "holder": late.holder,
            "waitedS": int(late.waited_s),
        }
        with suppress(CouncilError):
            self.say([Event(type="lock.timed_out", data=data)])

    def leave(self) -> None:
        """Bring what waits to the disk, and let the lock go."""
        self._entered = False
        try:
            self.finish()
        finally:
            self._lock.__exit__()

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    # Settling.

    def settle(self) -> None:
        """Bring files and journal in line, taking in what people and tools wrote.

        Raises:
            NotFoundError: There is nothing.
            InvalidStateError: What is there cannot be read.
            NewerVersionError: It is of a newer version and must not be written.
        """
        self.reading = self.read_live()
        if self.tail is None:
            self.begin_from_file()
            return
        is_restarted = os.stat(self.places.journal).st_mtime_ns < live.started_ns()
        if self.reading is not None and self.reading.digest == self.last["digest"]:
            self._is_doubtful = False
            self.load(self.reading.data, self.reading.digest)
        else:
            self._recover()
        self._take_in_late_writes()
        if is_restarted:
            self._say_again()

    def _say_again(self) -> None:
        """Copy the events of the last lines again that a power cut took out of their log.

        The log is not synced. The time of the journal says that this was done since
        the machine was started.
        """
        late = [one for line in self.past.lines[-_LATE_LINES:] for one in line.head["events"]]
        since = min((one["at"][:10] for one in late), default="~")
        known = {one["eventId"] for one in event_log.tail(self.workspace, since=since)}
        event_log.append(self.workspace, [one for one in late if one["eventId"] not in known])
        os.utime(self.places.journal)

    def read_live(self) -> Reading | None:
        """Read the live file, waiting a little for an editor that is just writing it."""
        for attempt in range(files.SETTLE_TRIES):
            if attempt:
                time.sleep(files.SETTLE_PAUSE_S)
            reading = files.read_stable(self.places.live)
            self.recognise(reading)
            if reading is None or (
                reading.settled
                and (reading.digest == self.last.get("digest") or self.is_complete(reading.data))
            ):
                break
        return reading

    def recognise(self, reading: Reading | None) -> None:
        """Spare the digest of a text that this process has had before it already."""

    def _recover(self) -> None:
        """Finish what a process left undone, or take in what others wrote."""
        found = live.standing(self.places, self.tail, self.reading, self.past, self.is_ahead)
        self.load(self.past.text(self.last["digest"]), self.last["digest"])
        reading = self.reading
        if found == live.EDITED and reading is not None:
            self.take_in(reading.data)
            return
        if found == live.AHEAD and reading is not None:
            self.import_ahead(reading.data)
            return
        if found == live.DAMAGED and reading is not None and reading.data:
            self.keep_bytes("what was left of the file after a power cut", reading.data)
        if found == live.BACK:
            self.say([Event(type="edit.reverted", data={"to": self.last["rev"]})])
        elif found == live.DAMAGED or (found == live.MISSING and self._was_shown()):
            self.say([Event(type="file.restored")])
        self.affirm()
        self.publish(self._prepared(self.text, self.last["digest"]), self.text)

    def _was_shown(self) -> bool:
        """Return true if a file of the last revision stood here, as far as is known."""
        return self.last["seq"] > 1 and not live.was_pulled(self.places, self.last["digest"])

    def affirm(self) -> None:
        """Make up for what the writer of the last revision may not have come to do.

        Nothing is published, answered or built on a line that may not be on the disk.
        Of a revision that was seen in the live file all that was done.
        """
        if self._is_doubtful:
            event_log.append_lines(self.workspace, self._append([]))

    def _append(self, waiting: list[tuple[bytes, list[dict[str, Any]]]]) -> dict[str, list[bytes]]:
        """Bring lines to the disk, and again those of a sync in doubt; return events, encoded."""
        end = again = 0
        events = [one for _, said in waiting for one in said]
        if self._durable is not None:
            end = self._durable.end
            if self._is_doubtful:
                again = end - self._durable.batch[0].start
                said = [line.head.get("events", []) for line in self._durable.batch]
                events = [*(one for some in said for one in some), *events]
        encoded = event_log.encode(events)
        data = b"".join(line for line, _ in waiting)
        journal.append(self.places.journal, end, data, again, self._sealed)
        self._sealed = []
        self._is_doubtful = False
        return encoded

    def _take_in_late_writes(self) -> None:
        aside = self.places.aside
        found = [late for folder in aside for late in live.late_writes(folder, self.past)]
        for path, late in found:
            fresh = time.time() - late.facts.st_mtime_ns / 1e9 < _WRITER_GONE_S
            if fresh and not self.is_complete(late.data):
                continue  # its writer is not done yet
            try:
                self.take_in(late.data)
            except NewerVersionError as newer:
                # The file that stands is not of that version: what came too late must not stop it.
                self.keep_bytes(newer.message, late.data)
                why = {"value": newer.found, "reason": "of a newer version"}
                self.say([Event(type="edit.refused", data={"field": "schemaVersion", **why})])
            self.finish()
            live.settle(path, late, self.places.aside_for(late.digest))

    # Committing.

    def head(
        self, rev: int, digest: str, events: list[Event], actor: str, trace: str = "", **own: object
    ) -> dict[str, Any]:
        """Return the head of the line of a revision; `own` is what its kind says besides."""
        return {
            "op": "",
            "by": actor,
            "at": render_instant(self.now),
            "rev": rev,
            **own,
            "digest": digest,
            "events": event_log.revision_records(events, self.owner, rev, digest, self.now, trace),
        }

    @property
    def last(self) -> dict[str, Any]:
        """The head of the last line, empty before the first."""
        return {} if self.tail is None else self.tail.head

    def add(
        self, head: dict[str, Any], data: bytes | None = None, saved: bytes | None = None
    ) -> None:
        """Put a line at the end of the journal, to be synced with the next one or by `finish`.

        Args:
            head: What happened.
            data: The text that results, None where it stays as it is.
            saved: What others had written, of which the text is the outcome.
        """
        last = None if self.tail is None else self.tail.line
        before = self.text if last is not None and data is not None else None
        batch = len(self._waiting)
        if self._is_doubtful and self._durable is not None:
            batch += len(self._durable.batch)
        head = {**head, "batch": batch} if batch else head
        line_bytes, line = lines.made(last, head, before, data, saved)
        self._waiting.append((line_bytes, head.get("events", [])))
        self.tail = journal.Tail(line=line, batch=[line])
        if data is not None:
            self.text = data

    def finish(
        self, before_publishing: Callable[[], None] | None = None, *, shown: bool = True
    ) -> None:
        """Commit the lines that wait: when they are on the disk, they hold. Show the last text.

        Args:
            before_publishing: Called when they are committed and before they can be
                seen; what it raises stops the publication.
            shown: Whether there is a live file that is to show it.

        Raises:
            OSError: The system refuses. Before the journal lines were on the disk
                nothing has changed; after it the next session finishes.
        """
        if not self._waiting:
            return
        prepared = None
        if shown and (self.reading is None or self.reading.digest != self.last["digest"]):
            prepared = self._prepared(self.text, self.last["digest"])
        self._commit(prepared, before_publishing)

    def _prepared(self, data: bytes, digest: str) -> live.Preparing:
        try:
            return live.Preparing(self.places.displaced, data, self.reading, digest)
        except BaseException:
            self._give_up()
            raise

    def _commit(
        self, prepared: live.Preparing | None, before_publishing: Callable[[], None] | None
    ) -> None:
        try:
            encoded = self._append(self._waiting)
        except BaseException:
            if prepared is not None:
                prepared.give_up()
            self._give_up()
            raise
        self._waiting = []
        self._durable = self.tail
        self.past = journal.Past(self.places.journal)
        if before_publishing is not None:
            before_publishing()
        event_log.append_lines(self.workspace, encoded)
        if prepared is not None:
            self.publish(prepared, self.text)

    def _give_up(self) -> None:
        """Forget the lines that wait: what they say is in the live file still."""
        self._waiting, self._sealed, self.tail = [], [], self._durable

    def publish(self, prepared: live.Preparing, data: bytes) -> None:
        """Put a prepared text in the place of the live file."""
        seen = self.reading
        aside = self.places.displaced if seen is None else self.places.aside_for(seen.digest)
        live.publish(prepared.path, self.places.live, aside, seen)
        if engine_of(self.places.journal) is not None:
            files.remove(self.places.pulled)
        self.reading = files.Reading(data=data, facts=prepared.facts)

    # What is kept and said aside.

    def keep(self, what: str, text: str) -> None:
        """Put a text that could not be merged into `conflicts/`, durably."""
        self.keep_bytes(what, text.encode("utf-8", "replace"))

    def keep_bytes(self, what: str, data: bytes) -> None:
        """Put bytes that could not be merged into `conflicts/`, durably, once."""
        named = f"{sha256_hex(what.encode('utf-8', 'replace') + data)[:24]}.txt"
        path = f"{self.places.conflicts}/{named}"
        if not os.path.lexists(path):
            head = f"{what}\nrevision {self.last.get('rev', 0)}\n\n"
            files.write_new(path, head.encode("utf-8", "replace") + data)

    def say(self, events: list[Event]) -> list[dict[str, Any]]:
        """Write events that go with no revision; return their records."""
        records = event_log.loose_records(events, self.owner, self.now, self.trace)
        event_log.append(self.workspace, records)
        return records
