"""Bringing the files of a channel in line before anything is done to it.

A crash between commit and publication is finished, a line that the journal
lost is written again, what a person wrote is taken in as a revision of its
own, and a document without history is taken up.

Source: DG-003, DG-006, `store.md` sections 2, 3 and 5.
"""

from __future__ import annotations

import os

from council.core.errors import ConflictError, NotFoundError
from council.core.events import Event
from council.store import events as event_log
from council.store import files
from council.store.conversations import journal, recovery, snapshots
from council.store.conversations.places import decoded
from council.store.rooms import channel_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.files import Reading
    from council.store.rooms.channel_session import ChannelSession


def settle(session: ChannelSession) -> None:
    """Bring files and journal in line and read the end of the log.

    Raises:
        NotFoundError: There is no such channel.
        CouncilError: It cannot be read.
    """
    if os.path.lexists(session.files.signal):
        files.remove(session.files.signal)  # whoever gave it died before it was taken back
    recovery.settle(session, _KIND)
    session.read_log()


def _load(session: ChannelSession, data: bytes, digest: str) -> None:
    channel = channel_page.read_block_of(data, session.places.live)
    page = None
    if not (session.last.get("untouched") and session.last["digest"] == digest):
        page = channel_page.parse(decoded(data))
    session.stand(channel, page, data)


def _is_lost(session: ChannelSession, data: bytes) -> bool:
    digest = snapshots.digest_of(data)
    if not snapshots.is_kept(session.places.history, digest, data):
        return False
    record = channel_page.parse(decoded(data)).record or {}
    rev = record.get("rev")
    return isinstance(rev, int) and bool(rev > session.last["rev"])


def _begin_again(session: ChannelSession, data: bytes, digest: str) -> None:
    """Write the line of a revision again that the journal has lost."""
    _load(session, data, digest)
    lost = [Event(type="journal.repaired", data={"rev": session.channel.rev})]
    seen = session.last["digest"]
    rev, untouched = session.channel.rev, session.page is None
    session.add_record(session.line(digest, rev, lost, "", seen, untouched))
    event_log.append(session.workspace, session.last["events"])


def _take_in(session: ChannelSession, theirs: bytes) -> None:
    from council.store.rooms.channel_edits import take_in  # only where somebody has edited

    take_in(session, theirs)


def _begin_from_file(session: ChannelSession) -> None:
    """Take up a document that has no journal: its folder is lost, or it came from elsewhere.

    Raises:
        NotFoundError: There is no document either.
        InvalidStateError: It cannot be read.
        ConflictError: It is a copy of another channel's.
    """
    if session.reading is None:
        raise NotFoundError(
            f"no channel {session.channel_id!r}",
            "see: council channel list; council channel create",
        )
    data = session.reading.data
    page = channel_page.parse(decoded(data))
    if page.record is None:
        raise NotFoundError(
            f"{session.places.live} holds no channel", "remove it, or put its state block back"
        )
    from council.core.rooms.channel_records import channel_from_record

    channel = channel_from_record(page.record)
    if channel.channel_id != session.channel_id:
        raise ConflictError(
            f"{session.places.live} is a copy of the channel {channel.channel_id!r}", "remove it"
        )
    snapshots.keep(session.places.history, data)
    session.stand(channel, page, data)
    session.commit(channel, page=page, events=[Event(type="journal.begun")], actor="external")


def _looks_whole(_session: ChannelSession, data: bytes) -> bool:
    return channel_page.is_complete(data)


def _recognise(_session: ChannelSession, _reading: Reading | None) -> None:
    """Know no text from before: each command is a process of its own."""


_KIND = recovery.Kind(
    load=_load,
    is_lost=_is_lost,
    begin_again=_begin_again,
    take_in=_take_in,
    is_known=lambda session, digest: any(
        digest in (record["digest"], record["seen"])
        for record in journal.records(session.places.journal)
    ),
    is_complete=channel_page.is_complete,
    is_whole=_looks_whole,
    recognise=_recognise,
    begin_from_file=_begin_from_file,
)
