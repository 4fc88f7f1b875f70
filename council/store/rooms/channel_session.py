"""One channel under its lock: what stands, what is posted, and the commit of what follows.

Two files belong together: the state document, of which each revision is
committed like that of a conversation, and the log of messages. A message
holds as soon as it is in the log. The state says up to which message it has
taken notice, so the next process goes on where a process died between them.

A room lives for years and its state changes with every turn, so of its history
only the newest part is kept.

Source: XC-001, XC-002, DG-003, DG-006, DG-085, `store.md` sections 1 and 2.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from council.core.errors import ConflictError, CouncilError, NotFoundError
from council.core.events import Event
from council.core.ids import sha256_hex
from council.core.record import Any
from council.core.rooms.channels import Channel, FloorRules, Member, Message, channel_from_record
from council.store import files
from council.store.conversations.naming import decoded
from council.store.documents import journal
from council.store.documents.document import Document
from council.store.lock import engine_of
from council.store.rooms import channel_messages as log
from council.store.rooms import channel_page
from council.store.rooms.channel_messages import Tail
from council.store.rooms.channel_places import ChannelPlaces, unknown_channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from council.store.documents.live import Preparing
    from council.store.engine.messages import SharedLog
    from council.store.paths import Workspace
    from council.store.statefile.statefile import Page

    Resolve = Callable[[str], Member]

_LOOKED_THROUGH = 100


class ChannelSession(Document):
    """A channel that no other process writes while this lasts. Used in a `with` block.

    Args:
        workspace: Where it lies.
        channel_id: Which.
        now: The time of everything that is written.
        resolve: Returns who is meant by a name that a person added to the members.
        rules: What may be chosen of the floor.
    """

    channel: Channel
    page: Page | None
    tail_of_log: Tail

    def __init__(
        self,
        workspace: Workspace,
        channel_id: str,
        now: datetime,
        resolve: Resolve,
        rules: FloorRules,
    ) -> None:
        self.files = ChannelPlaces(workspace, channel_id)
        super().__init__(workspace, self.files, channel_id, now)
        self.channel_id = channel_id
        self.resolve = resolve
        self.rules = rules
        self.page = None
        self._signals = True

    def read_log(self) -> None:
        """Read the newest messages, at least all that the state has not taken notice of.

        Of very many it is the first piece: see `is_behind`.
        """
        shared = self._shared_log()
        if shared is not None:
            shared.bring()
        self.tail_of_log = log.read_unseen(
            self.files.messages,
            self.channel.created_at,
            self.channel.seen,
            note=self.files.counted,
            keeps=True,
        )

    def _shared_log(self) -> SharedLog | None:
        """Return the log as other machines share it, None where there are none."""
        engine = engine_of(self.files.messages)
        if engine is None:
            return None
        from council.store.engine.messages import SharedLog

        return SharedLog(engine, self.files.messages, self.files.folder)

    @property
    def is_behind(self) -> bool:
        """Whether the log holds more than was read: notice is to be taken of that first."""
        return self.tail_of_log.more

    @property
    def messages(self) -> list[Message]:
        """The newest messages, oldest first."""
        return self.tail_of_log.messages

    @property
    def newest(self) -> int:
        """The number of the newest message, 0 for none."""
        return self.tail_of_log.last_id

    def post(self, message: Message, prove: Callable[[Message], Message] | None = None) -> Message:
        """Add a message to the log, durably; its number is set here.

        Args:
            message: What is said.
            prove: Gives it, with its number, the proof of who says it; None for none.

        Raises:
            OSError: The system refuses; nothing was added.
        """
        end, seen = self.tail_of_log, self.channel.seen
        said = message.copy(id=max(end.last_id, seen) + 1)
        if prove is not None:
            said = prove(said)
        if end.said_id == end.last_id < seen:
            self.say([Event(type="log.shortened", data={"seen": seen, "last": end.last_id})])
        if end.torn:
            self.keep_bytes("a message whose writer died", end.torn)
        line, shared = log.line_of(said), self._shared_log()
        if shared is not None:
            shared.commit(line)
        log.append(self.files.messages, line, end)
        if shared is not None:
            shared.added(line)
        self.tail_of_log = Tail(messages=[*end.messages, said], last_id=said.id, said_id=said.id)
        return said

    def find(self, key: str, author: str) -> Message | None:
        """Return the message that stands for `key`, None when it is not among the newest."""
        latest = reversed(self._end_of_log(_LOOKED_THROUGH).messages)
        own = (one for one in latest if one.extra.get("key") == key and one.author == author)
        return next(own, None)

    def _end_of_log(self, count: int, after: int = -1) -> Tail:
        """Return so many of the newest messages, and all after one; -1 asks for none."""
        path, begun_at = self.files.messages, self.channel.created_at
        return log.read_tail(path, begun_at, count=count, after=after, note=self.files.counted)

    def said_in(self, runs: Iterable[str], after: int) -> list[Message]:
        """Return what some runs said after a message, oldest first."""
        wanted = set(runs)
        return [one for one in self.messages_after(after) if one.run in wanted]

    def messages_after(self, after: int) -> Iterator[Message]:
        """Yield what was said after a message, oldest first."""
        while True:
            found = self._end_of_log(0, after)
            yield from (one for one in found.messages if one.id > after)
            if not found.more:
                return
            after = found.last_id

    def commit(
        self,
        channel: Channel,
        *,
        page: Page | None,
        events: Sequence[Event],
        actor: str = "",
    ) -> None:
        """Make `channel` the next revision, and give the signal where the floor went on.

        Args:
            channel: The next state; revision and time of writing are set here.
            page: The free text around it.
            events: What happened.
            actor: Who did it.

        Raises:
            OSError: The system refuses.
        """
        channel, page, data, head = self._next(channel, page, events, actor)
        self.add(head, data)
        self.finish()
        self._signals = True
        self.stand(channel, page, data)

    def take(self, channel: Channel, page: Page, theirs: bytes, *, events: Sequence[Event]) -> None:
        """Make `channel`, the outcome of what others wrote, the next revision.

        It is committed and shown with the change that follows, or when the session ends.

        Args:
            channel: The next state.
            page: The free text around it.
            theirs: What they wrote.
            events: What happened.
        """
        channel, kept, data, head = self._next(channel, page, events, "external")
        self.add({**head, "seen": sha256_hex(theirs)}, data, theirs)
        self.stand(channel, kept, data)

    def _next(
        self, channel: Channel, page: Page | None, events: Sequence[Event], actor: str
    ) -> tuple[Channel, Page | None, bytes, dict[str, Any]]:
        """Return the next revision, the free text in it, its text, and the head of its line.

        Where the floor goes to a member with it, a signal is due.
        """
        # What others wrote may have given it on, and is shown together with this.
        if not (self._waiting and self._signals):
            before = getattr(self, "channel", None)
            goes_on = before is None or before.turn != channel.turn
            self._signals = bool(channel.speaker) and goes_on
        channel = channel.copy(
            rev=max(channel.rev, self.last.get("rev", -1)) + 1,
            updated_at=self.now,
            signalled=channel.turn,
        )
        page = page if page is not None and page.gaps else None
        data = channel_page.render(channel, page)
        return channel, page, data, self.line(data, channel.rev, events, actor, page is None)

    def stand(self, channel: Channel, page: Page | None, data: bytes) -> None:
        """Take a revision for the one that stands."""
        self.channel, self.page, self.text = channel, page, data

    def line(
        self, data: bytes, rev: int, events: Sequence[Event], actor: str, untouched: bool
    ) -> dict[str, Any]:
        """Return the head of the line of a revision with this text."""
        name, digest = self.channel_id, sha256_hex(data)
        return self.head(rev, digest, list(events), actor, name=name, untouched=untouched)

    def publish(self, prepared: Preparing, data: bytes) -> None:
        """Put a prepared text in the place of the live file, and give the signal (DG-085)."""
        super().publish(prepared, data)
        if self._signals:
            self.signal()

    def signal(self) -> None:
        """Let a file appear and vanish: a program that watches it sees who has the floor."""
        with files.explaining("write", self.files.signal):
            os.close(files.opened(self.files.signal, os.O_WRONLY))
            os.unlink(self.files.signal)

    def leave(self) -> None:
        """Bring what waits to the disk, shorten a journal that has grown long, free the lock."""
        try:
            self.finish()
            if self.tail is not None:
                journal.fold(self.places.journal, self.tail.end, getattr(self, "text", b""))
        finally:
            super().leave()

    # What a text is.

    def settle(self) -> None:
        """Bring files and journal in line and read the end of the log.

        Raises:
            NotFoundError: There is no such channel.
            CouncilError: It cannot be read.
        """
        if os.path.lexists(self.files.signal):
            files.remove(self.files.signal)  # its giver died before it was taken back
        super().settle()
        self.read_log()

    def load(self, data: bytes, digest: str) -> None:
        """Make a text of ours the one that stands."""
        channel = channel_page.read_block_of(data, self.places.live)
        page = None
        if not (self.last.get("untouched") and self.last["digest"] == digest):
            page = channel_page.parse(decoded(data))
        self.stand(channel, page, data)

    def is_complete(self, data: bytes) -> bool:
        """Return true if a document has its block and its end."""
        return channel_page.is_complete(data)

    @staticmethod
    def is_ahead(places: ChannelPlaces, tail: journal.Tail, _: journal.Past, data: bytes) -> bool:
        """Return true if a text is a later revision of ours than the journal knows."""
        try:
            channel = channel_page.read_block_of(data, places.live)
        except (CouncilError, ValueError):
            return False
        if channel.rev <= tail.head["rev"]:
            return False
        return channel_page.render(channel, channel_page.parse(decoded(data))) == data

    def take_in(self, theirs: bytes) -> None:
        """Make a revision of what others wrote, unless nothing in it is new."""
        from council.store.rooms.channel_edits import take_in  # only where a person has edited

        take_in(self, theirs)

    def import_ahead(self, data: bytes) -> None:
        """Make a later text than the journal knows a revision, as it stands and with its number."""
        channel = channel_page.read_block_of(data, self.places.live)
        behind = {"rev": channel.rev, "known": self.last["rev"]}
        page = channel_page.parse(decoded(data))
        events = [Event(type="journal.behind", data=behind)]
        self.add(self.line(data, channel.rev, events, "", not page.gaps), data)
        self.stand(channel, page, data)

    def begin_from_file(self) -> None:
        """Take up a document that has no journal: its folder is lost, or it came from elsewhere.

        Raises:
            NotFoundError: There is no document either.
            InvalidStateError: It cannot be read.
            ConflictError: It is a copy of another channel's.
        """
        if self.reading is None:
            raise unknown_channel(self.channel_id)
        data = self.reading.data
        page = channel_page.parse(decoded(data))
        if page.record is None:
            raise NotFoundError(
                f"{self.places.live} holds no channel", "remove it, or put its state block back"
            )
        channel = channel_from_record(page.record)
        if channel.channel_id != self.channel_id:
            raise ConflictError(
                f"{self.places.live} is a copy of the channel {channel.channel_id!r}", "remove it"
            )
        self.stand(channel, page, data)
        self.commit(channel, page=page, events=[Event(type="journal.begun")], actor="external")
