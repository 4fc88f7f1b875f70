"""The channels of a workspace: looked at without a lock, opened under it, made once.

Source: A-20, DG-003, DG-006, DG-007, `store.md`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from council.core.errors import ConflictError
from council.core.record import Record
from council.core.rooms.channels import Channel, FloorRules, Message, channel_from_record
from council.store import files
from council.store.conversations.naming import decoded, prepare_control
from council.store.documents import journal, live
from council.store.rooms import channel_messages as log
from council.store.rooms import channel_page
from council.store.rooms.channel_places import ChannelPlaces, channel_ids, unknown_channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.core.events import Event
    from council.store.paths import Workspace
    from council.store.rooms.channel_session import ChannelSession, Resolve


class Seen(Record):
    """A channel as it was seen without its lock.

    `newest` is the number of the last line of its log, `said_id` that of the last
    line which says its own. `settled` says that nothing is left to be taken in or
    finished in its files.
    """

    channel: Channel
    messages: list[Message]
    newest: int
    said_id: int
    settled: bool


class Channels:
    """The channels of one workspace.

    Args:
        workspace: Where they lie.
        resolve: Returns who is meant by the name of a member.
        rules: What may be chosen of the floor.
        allow_network_fs: Whether they may lie on a network file system.
    """

    def __init__(
        self,
        workspace: Workspace,
        resolve: Resolve,
        rules: FloorRules,
        *,
        allow_network_fs: bool = False,
    ) -> None:
        self.workspace = workspace
        self._resolve = resolve
        self._rules = rules
        self._allow_network_fs = allow_network_fs

    def ids(self) -> list[str]:
        """Return the ids of all channels, sorted."""
        return channel_ids(self.workspace)

    def exists(self, channel_id: str) -> bool:
        """Return true if there is such a channel."""
        places = ChannelPlaces(self.workspace, channel_id)
        return os.path.lexists(places.live) or os.path.lexists(places.journal)

    def see(self, channel_id: str) -> Seen:
        """Return a channel as it stands, without lock and without writing.

        What a person edited and no command has taken in yet does not count.

        Raises:
            NotFoundError: There is no such channel.
            InvalidStateError: It cannot be read.
        """
        places = ChannelPlaces(self.workspace, channel_id)
        with files.explaining("read", places.live):
            reading = files.read_stable(places.live)
            tail = journal.read_tail(places.journal)
            settled = False
            if reading is not None and tail is not None and reading.digest == tail.head["digest"]:
                channel = channel_page.read_block_of(reading.data, places.live)
                settled = not os.path.lexists(places.signal)
            elif tail is not None:
                data = journal.Past(places.journal).text(tail.head["digest"])
                channel = channel_page.read_block_of(data, places.live)
            elif reading is not None:
                record = channel_page.parse(decoded(reading.data)).record
                channel = channel_from_record(record)
            else:
                raise unknown_channel(channel_id)
        end = log.read_unseen(
            places.messages, channel.created_at, channel.seen, note=places.counted
        )
        return Seen(
            channel=channel,
            messages=end.messages,
            newest=end.last_id,
            said_id=end.said_id,
            settled=settled,
        )

    def has_late_writes(self, channel_id: str) -> bool:
        """Return true if a process wrote into a document that had just given way to another."""
        return live.has_late_writes(ChannelPlaces(self.workspace, channel_id).displaced)

    def foreseen(self, channel_id: str, now: datetime) -> list[Event]:
        """Return what becomes of an edit that no command has taken in yet; [] without one.

        Nothing is written and no lock is taken.

        Raises:
            InvalidStateError: The channel cannot be read.
        """
        places = ChannelPlaces(self.workspace, channel_id)
        reading = files.read_stable(places.live)
        tail = journal.read_tail(places.journal)
        if reading is None or tail is None or reading.digest == tail.head["digest"]:
            return []
        past = journal.Past(places.journal)
        if past.knows(reading.digest):
            return []  # an older text: a commit that was cut short is finished by the next one
        from council.store.rooms.channel_edits import foreseen
        from council.store.rooms.channel_session import ChannelSession

        session = ChannelSession(self.workspace, channel_id, now, self._resolve, self._rules)
        data = past.text(tail.head["digest"])
        session.stand(channel_page.read_block_of(data, places.live), None, data)
        return foreseen(session, reading.data)

    def open(self, channel_id: str, now: datetime) -> ChannelSession:
        """Return a session that is entered and settled; the caller's `with` ends it.

        Raises:
            NotFoundError: There is no such channel.
            LockTimeoutError: Another process held its lock for too long.
            CouncilError: It cannot be read, or the system refuses.
        """
        if not self.exists(channel_id):
            raise unknown_channel(channel_id)
        session = self._session(channel_id, now)
        session.enter()
        try:
            with files.explaining("write", session.files.live):
                session.settle()
        except BaseException:
            session.leave()
            raise
        return session

    def create(self, channel: Channel, now: datetime, events: Sequence[Event]) -> Channel:
        """Make a channel that is not there yet.

        Raises:
            ConflictError: There is one with that id.
            CouncilError: The system refuses.
        """
        session = self._session(channel.channel_id, now)
        with files.explaining("write", session.files.live), session:
            session.reading = files.read_stable(session.files.live)
            if session.tail is not None or session.reading is not None:
                raise ConflictError(
                    f"there is a channel {channel.channel_id!r} already", "choose another name"
                )
            session.commit(channel, page=None, events=events, actor=channel.created_by)
            return session.channel

    def newest(self, channel: Channel, count: int = log.MOST) -> list[Message]:
        """Return the newest messages of a channel, oldest first; without `count` all of them."""
        places = ChannelPlaces(self.workspace, channel.channel_id)
        found = log.read_tail(places.messages, channel.created_at, count=count, note=places.counted)
        return found.messages[-count:]

    def _session(self, channel_id: str, now: datetime) -> ChannelSession:
        from council.store.rooms.channel_session import ChannelSession  # a reader needs none

        session = ChannelSession(self.workspace, channel_id, now, self._resolve, self._rules)
        if not os.path.isdir(session.files.folder):
            prepare_control(self.workspace, any_disk=self._allow_network_fs)
        return session
