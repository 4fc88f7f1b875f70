"""One conversation under its lock: what stands, and the commit of what follows.

This is the one write path. A session first settles the files: a crash between
commit and publication is finished, a file that is missing is published again,
what a person or a tool wrote is taken in as a revision of its own. Then each
commit goes the same way: texts to seal, snapshot, prepared file, journal line
(from there on it holds), event log, exchange. Everything that needs room on
the disk comes before the journal line.

Source: XC-001, XC-002, C0-019, C0-077, C0-078, `store.md` sections 2 and 5.
"""

from __future__ import annotations

import os
import time

from council.core.conversation import Conversation, SealedText, to_record
from council.core.errors import NotFoundError
from council.core.events import Event
from council.core.times import render_instant
from council.store import events as event_log
from council.store import files, journal, live, sealed, snapshots, statefile
from council.store.lock import DEFAULT_TIMEOUT_S, Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from types import TracebackType
    from typing import Any

    from council.store.files import Reading
    from council.store.journal import Tail
    from council.store.paths import Workspace
    from council.store.statefile import Page

_RECORD_VERSION = 1
_PARTS = {"obj": 0o777, "displaced": 0o777, "conflicts": 0o777, "sealed": 0o700}
_WRITER_GONE_S = 60


class Places:
    """The files of one conversation."""

    def __init__(self, workspace: Workspace, name: str, conversation_id: str) -> None:
        self.live = workspace.conversation_file(name)
        self.folder = workspace.conversation_folder(conversation_id)
        self.lock = f"{self.folder}/lock"
        self.journal = f"{self.folder}/journal.jsonl"
        self.history = f"{self.folder}/obj"
        self.displaced = f"{self.folder}/displaced"
        self.conflicts = f"{self.folder}/conflicts"
        self.sealed = f"{self.folder}/sealed"

    def make(self) -> None:
        """Make the folders that are missing."""
        for part, mode in _PARTS.items():
            path = f"{self.folder}/{part}"
            if not os.path.isdir(path):
                files.make_folder(path, mode)


def is_closed(tail: Tail | None) -> bool:
    """Tell whether a conversation is archived, by the last line of its journal."""
    return tail is not None and bool(tail.record.get("closing", {}).get("done"))


def snapshot_of(places: Places, tail: Tail) -> bytes:
    """Return the text of the last revision."""
    return snapshots.get(places.history, tail.record["digest"])


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def is_lost_revision(places: Places, tail: Tail, data: bytes) -> bool:
    """Tell whether a text is a revision of ours whose line the journal has lost."""
    digest = snapshots.digest_of(data)
    if not snapshots.is_kept(places.history, digest, data):
        return False
    record = statefile.parse(_decoded(data)).record or {}
    rev, last = record.get("rev"), tail.record["rev"]
    return isinstance(rev, int) and rev > last


def says_the_same(one: Conversation, other: Conversation) -> bool:
    """Tell whether two states make the same file, their revision and time of writing aside."""
    if one == other:
        return True
    aligned = other.copy(rev=one.rev, updated_at=one.updated_at)
    return (
        (one.topic, one.brief) == (other.topic, other.brief)
        and [entry.text for entry in one.entries] == [entry.text for entry in other.entries]
        and to_record(one) == to_record(aligned)
    )


class Session:
    """A conversation that nobody else writes while this lasts. Used in a `with` block.

    Args:
        workspace: Where it lies.
        name: Its name.
        conversation_id: Its id.
        now: The time of every line that is written.
        timeout_s: How long to wait for the lock.
    """

    state: Conversation
    page: Page | None
    text: bytes
    reading: Reading | None
    tail: Tail | None

    def __init__(
        self,
        workspace: Workspace,
        name: str,
        conversation_id: str,
        now: datetime,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        self.workspace = workspace
        self.name = name
        self.conversation_id = conversation_id
        self.now = now
        self.places = Places(workspace, name, conversation_id)
        self.page = None
        self.reading = None
        self._lock = Lock(self.places.lock, timeout_s)
        self._entered = False

    def enter(self) -> None:
        """Take the lock and look at the journal. Does nothing when it is held already."""
        if self._entered:
            return
        files.make_folder(self.places.folder)
        self._lock.__enter__()
        try:
            self.places.make()
            self.tail = journal.read_tail(self.places.journal)
            self._keep_torn_lines()
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        self._entered = True

    def leave(self) -> None:
        """Let the lock go."""
        self._entered = False
        self._lock.__exit__(None, None, None)

    def __enter__(self) -> Session:
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
            self.keep("lines cut off the end of the journal", _decoded(self.tail.torn))

    @property
    def last(self) -> dict[str, Any]:
        """The record of the last revision, empty before the first."""
        return {} if self.tail is None else self.tail.record

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
        digest = "" if self.reading is None else snapshots.digest_of(self.reading.data)
        if self.reading is not None and digest == self.last["digest"]:
            self._load(self.reading.data)
        elif self.reading is not None and is_lost_revision(
            self.places, self.tail, self.reading.data
        ):
            self._begin_again(self.reading.data, digest)
        else:
            self._recover(digest)
        self._take_in_late_writes()

    def _load(self, data: bytes) -> None:
        self.state, self.page = statefile.load(data.decode("utf-8"), self.places.live)
        self.text = data

    def _recover(self, digest: str) -> None:
        """Finish what a process left undone, or take in what somebody else wrote."""
        if self.tail is None:
            raise AssertionError("there is a journal here")
        data = snapshot_of(self.places, self.tail)
        self._load(data)
        reading = self.reading
        if reading is not None and digest not in (self.last["parent"], self.last["seen"]):
            self._take_in(reading.data)
            return
        self._affirm()
        if reading is None and self.last["parent"]:
            self.say([Event(type="file.restored")])
        elif reading is not None and not live.is_prepared(self.places.displaced, data):
            # It was published: somebody put the file back to what it was before.
            self.say([Event(type="edit.reverted", data={"to": self.last["rev"]})])
        self._publish(live.prepare(self.places.displaced, data, reading), data)

    def _begin_again(self, data: bytes, digest: str) -> None:
        """Write the line of a revision again that the journal has lost."""
        self._load(data)
        lost = Event(type="journal.repaired", data={"rev": self.state.rev})
        self._append(digest, self.state, rev=self.state.rev, events=[lost], anew=True)
        event_log.append(self.workspace, self.last["events"])

    def _affirm(self) -> None:
        """Make up for what the writer of the last revision may not have come to do."""
        if self.tail is not None:
            journal.reaffirm(self.places.journal, self.tail)
            event_log.append(self.workspace, self.last.get("events", []))

    def _take_in_late_writes(self) -> None:
        for late in live.late_writes(self.places.displaced, self.places.history, self._is_known):
            fresh = time.time() - late.modified_ns / 1e9 < _WRITER_GONE_S
            if fresh and not statefile.parse(_decoded(late.data)).complete:
                continue  # its writer is not done yet
            self._take_in(late.data)
            live.settle(late)

    def _is_known(self, digest: str) -> bool:
        return any(
            digest in (record["digest"], record["seen"])
            for record in journal.records(self.places.journal)
        )

    def _take_in(self, theirs: bytes) -> None:
        """Make a revision of what differs from the text that somebody had before them."""
        from council.store.merging import merge

        hidden = sealed.read_sealed(self.places.sealed, self.state)
        merged = merge(self.places, theirs, self.text, hidden, self.now)
        for kept in merged.kept:
            self.keep(kept.what, kept.text)
        if not merged.changed and not merged.events:
            return  # other line ends, say: the file is left as its owner likes it
        self._affirm()
        snapshots.keep(self.places.history, theirs)
        self.commit(
            merged.state,
            merged.page,
            events=merged.events,
            actor="external",
            seal=merged.seal,
            seen=snapshots.digest_of(theirs),
        )

    def begin_from_file(self) -> None:
        """Take up a live file that has no journal: written by hand, or its folder is lost.

        Raises:
            NotFoundError: There is no live file either.
        """
        if self.reading is None:
            raise NotFoundError(
                f"no open conversation {self.name!r}", "see: council list; or council convene"
            )
        from council.store.merging import begin

        data = self.reading.data
        start = begin(_decoded(data), self.name, self.places.live, self.now)
        snapshots.keep(self.places.history, data)
        state = start.state.copy(conversation_id=self.conversation_id)
        self.state, self.page, self.text = state, start.page, data
        self._append(
            snapshots.digest_of(data), state, rev=state.rev, events=start.events, anew=True
        )
        event_log.append(self.workspace, self.last["events"])
        if not start.as_it_stands or state != start.state:
            self.commit(state, start.page, actor="external")

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
        state = state.copy(
            name=self.name,
            rev=max(state.rev, self.last.get("rev", -1)) + 1,
            updated_at=self.now,
        )
        data = statefile.render(state, page).encode("utf-8")
        for one in seal:
            sealed.write_sealed(self.places.sealed, one)
        digest = snapshots.keep(self.places.history, data)
        prepared = live.prepare(self.places.displaced, data, self.reading)
        if not seen and self.reading is not None:
            seen = snapshots.digest_of(self.reading.data)
        try:
            self._append(
                digest,
                state,
                rev=state.rev,
                events=events,
                op_id=op_id,
                actor=actor,
                result=result,
                seen=seen,
            )
        except BaseException:
            files.remove(prepared)
            raise
        if before_publishing is not None:
            before_publishing()
        event_log.append(self.workspace, self.last["events"])
        self._publish(prepared, data)
        self.state, self.page, self.text = state, page, data

    def _append(
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
    ) -> None:
        """Add a line; `anew` when a revision of this number and text was there before."""
        records = (
            event_log.loose_records(list(events), self.conversation_id, self.now)
            if anew
            else event_log.revision_records(
                list(events), self.conversation_id, rev, digest, self.now
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
        if "closing" in self.last:
            record["closing"] = self.last["closing"]  # the name of the minutes stays chosen
        end = 0 if self.tail is None else self.tail.end
        self.tail = journal.append(self.places.journal, end, record)
        if not record["parent"]:
            files.sync_folder(self.places.folder)  # the first line: the file has just been made

    def note_closing(self, closing: dict[str, Any], events: list[Event]) -> None:
        """Add a line that makes no revision: how far archiving has come."""
        end = 0 if self.tail is None else self.tail.end
        marked = event_log.loose_records(events, self.conversation_id, self.now)
        record = {**self.last, "opId": "", "at": render_instant(self.now), "closing": closing}
        record["events"] = marked
        self.tail = journal.append(self.places.journal, end, record)

    def _publish(self, prepared: str, data: bytes) -> None:
        facts = os.lstat(prepared)
        live.publish(prepared, self.places.live, self.places.displaced, self.reading)
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

    def read_live(self) -> Reading | None:
        """Read the live file, waiting a little for an editor that is just writing it."""
        for attempt in range(files.SETTLE_TRIES):
            if attempt:
                time.sleep(files.SETTLE_PAUSE_S)
            reading = files.read_stable(self.places.live)
            if reading is None or (reading.settled and self._looks_whole(reading.data)):
                break
        return reading

    def _looks_whole(self, data: bytes) -> bool:
        if self.tail is not None and snapshots.digest_of(data) == self.last["digest"]:
            return True
        page = statefile.parse(_decoded(data))
        # A file written by hand has no marks at all; one of ours ends with one.
        return page.complete or (self.tail is None and page.record is not None)

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
        records = event_log.loose_records(events, self.conversation_id, self.now)
        event_log.append(self.workspace, records)
        return records
