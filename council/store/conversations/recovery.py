"""Bringing the files of a document in line before anything is done to it.

A crash between commit and publication is finished, a file that is missing is
published again, a line that the journal lost is written again, and what a
person or a tool wrote is taken in. What that means for one kind of document,
its `Kind` says; conversations have theirs in `settling`.

Source: C0-078, `store.md` sections 2 (steps 3, 4, 10), 3 and 5.
"""

from __future__ import annotations

import time

from council.core.errors import NewerVersionError
from council.core.events import Event
from council.core.record import Record
from council.store import events as event_log
from council.store import files
from council.store.conversations import journal, live, snapshots
from council.store.conversations.places import snapshot_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from council.store.files import Reading

_WRITER_GONE_S = 60


class Kind(Record):
    """What one kind of document does in its own way; each function gets the session first.

    `load` makes a text of ours the one that stands; `is_lost` tells of a text whether
    it is a later revision of ours whose line is gone, and `begin_again` writes that
    line; `take_in` makes a revision of a foreign text; `is_known` tells of a digest
    whether its text was committed or taken in. `is_complete` tells of a text whether
    its writer is done, `is_whole` whether it can be read as it is. `recognise` spares
    the digest of a text that is known; `begin_from_file` takes up a file without a
    journal.
    """

    load: Callable[[Any, bytes, str], None]
    is_lost: Callable[[Any, bytes], bool]
    begin_again: Callable[[Any, bytes, str], None]
    take_in: Callable[[Any, bytes], None]
    is_known: Callable[[Any, str], bool]
    is_complete: Callable[[bytes], bool]
    is_whole: Callable[[Any, bytes], bool]
    recognise: Callable[[Any, Reading | None], None]
    begin_from_file: Callable[[Any], None]


def settle(session: Any, kind: Kind) -> None:
    """Bring files and journal in line, taking in what people and tools wrote.

    Raises:
        NotFoundError: There is nothing.
        InvalidStateError: What is there cannot be read.
        NewerVersionError: It is of a newer version and must not be written.
    """
    session.reading = read_live(session, kind)
    if session.tail is None:
        kind.begin_from_file(session)
        return
    digest = "" if session.reading is None else session.reading.digest
    if session.reading is not None and digest == session.last["digest"]:
        kind.load(session, session.reading.data, digest)
    elif session.reading is not None and kind.is_lost(session, session.reading.data):
        kind.begin_again(session, session.reading.data, digest)
    else:
        _recover(session, kind, digest)
    _take_in_late_writes(session, kind)


def _recover(session: Any, kind: Kind, digest: str) -> None:
    """Finish what a process left undone, or take in what somebody else wrote."""
    data = snapshot_of(session.places, session.tail)
    kind.load(session, data, session.last["digest"])
    reading = session.reading
    if reading is not None and digest not in (session.last["parent"], session.last["seen"]):
        kind.take_in(session, reading.data)
        return
    affirm(session)
    if reading is None and session.last["parent"]:
        session.say([Event(type="file.restored")])
    elif reading is not None and not live.is_prepared(session.places.displaced, data):
        # It was published: somebody put the file back to what it was before.
        session.say([Event(type="edit.reverted", data={"to": session.last["rev"]})])
    session.publish(live.prepare(session.places.displaced, data, reading), data)


def affirm(session: Any) -> None:
    """Make up for what the writer of the last revision may not have come to do."""
    if session.tail is not None:
        journal.reaffirm(session.places.journal, session.tail)
        event_log.append(session.workspace, session.last.get("events", []))


def _take_in_late_writes(session: Any, kind: Kind) -> None:
    found = [
        late
        for folder in session.displaced
        for late in live.late_writes(
            folder, session.places.history, lambda digest: kind.is_known(session, digest)
        )
    ]
    for late in found:
        fresh = time.time() - late.modified_ns / 1e9 < _WRITER_GONE_S
        if fresh and not kind.is_complete(late.data):
            continue  # its writer is not done yet
        try:
            kind.take_in(session, late.data)
        except NewerVersionError as newer:
            # The file that stands is not of that version: what came too late must not stop it.
            session.keep_bytes(newer.message, late.data)
            data = {"field": "schemaVersion", "value": newer.found, "reason": "of a newer version"}
            session.say([Event(type="edit.refused", data=data)])
        live.settle(late, session.displaced_for(snapshots.digest_of(late.data)))


def read_live(session: Any, kind: Kind) -> Reading | None:
    """Read the live file, waiting a little for an editor that is just writing it."""
    for attempt in range(files.SETTLE_TRIES):
        if attempt:
            time.sleep(files.SETTLE_PAUSE_S)
        reading = files.read_stable(session.places.live)
        kind.recognise(session, reading)
        if reading is None or (reading.settled and _looks_whole(session, kind, reading)):
            break
    return reading


def _looks_whole(session: Any, kind: Kind, reading: Reading) -> bool:
    if session.tail is not None and reading.digest == session.last["digest"]:
        return True
    return kind.is_whole(session, reading.data)
