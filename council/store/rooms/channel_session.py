"""One channel under its lock: what stands, what is posted, and the commit of what follows.

Two files belong together: the state document, of which each revision is
committed like that of a conversation, and the log of messages. A message
holds as soon as it is in the log. The state says up to which message it has
taken notice, so whoever comes next goes on where a process died between them.

A room lives for years and its state changes with every turn, so of its history
only the newest part is kept.

Source: XC-001, XC-002, DG-003, DG-006, DG-085, `store.md` sections 1 and 2.
"""

from __future__ import annotations

import os

from council.core.events import Event
from council.core.rooms.channels import Channel, Message
from council.core.times import render_instant
from council.store import events as event_log
from council.store import files
from council.store.conversations import journal, snapshots
from council.store.conversations.document import Document
from council.store.lock import DEFAULT_TIMEOUT_S
from council.store.rooms import channel_messages as log
from council.store.rooms import channel_page
from council.store.rooms.channel_places import ChannelPlaces
from council.store.rooms.message_lines import Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from typing import Any

    from council.core.rooms.channels import FloorRules, Member
    from council.store.conversations.live import Preparing
    from council.store.paths import Workspace
    from council.store.statefile.statefile import Page

    Resolve = Callable[[str], Member]

_RECORD_VERSION = 1
_FOLD_BYTES = 192 * 1024
_REVISIONS_KEPT = 100
_LOOKED_THROUGH = 100


class ChannelSession(Document):
    """A channel that nobody else writes while this lasts. Used in a `with` block.

    Args:
        workspace: Where it lies.
        channel_id: Which.
        now: The time of everything that is written.
        resolve: Tells of a name that a person added to the members who that is.
        rules: What may be chosen of the floor.
        timeout_s: How long to wait for the lock.
    """

    channel: Channel
    page: Page | None
    text: bytes
    tail_of_log: Tail

    def __init__(
        self,
        workspace: Workspace,
        channel_id: str,
        now: datetime,
        resolve: Resolve,
        rules: FloorRules,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        self.files = ChannelPlaces(workspace, channel_id)
        super().__init__(workspace, self.files, channel_id, now, timeout_s)
        self.channel_id = channel_id
        self.resolve = resolve
        self.rules = rules
        self.page = None
        self._signals = True

    def read_log(self) -> None:
        """Read the newest messages, at least all that the state has not taken notice of.

        Of very many it is the first piece: see `is_behind`.
        """
        self.tail_of_log = log.read_unseen(
            self.files.messages,
            self.channel.created_at,
            self.channel.seen,
            note=self.files.counted,
            keeps=True,
        )

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
        log.append(self.files.messages, [said], end, log.size_of(self.files.messages))
        self.tail_of_log = Tail(messages=[*end.messages, said], last_id=said.id, said_id=said.id)
        return said

    def find(self, key: str, author: str) -> Message | None:
        """Return the message that stands for `key`, None when it is not among the newest."""
        found = log.read_tail(
            self.files.messages,
            self.channel.created_at,
            count=_LOOKED_THROUGH,
            note=self.files.counted,
        )
        for one in reversed(found.messages):
            if one.extra.get("key") == key and one.author == author:
                return one
        return None

    def said_in(self, runs: Iterable[str], after: int) -> list[Message]:
        """Return what some runs said after a message, oldest first."""
        wanted = set(runs)
        return [one for one in self.messages_after(after) if one.run in wanted]

    def messages_after(self, after: int) -> Iterator[Message]:
        """Yield what was said after a message, oldest first."""
        while True:
            found = log.read_tail(
                self.files.messages,
                self.channel.created_at,
                count=0,
                after=after,
                note=self.files.counted,
            )
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
        seen: str = "",
    ) -> None:
        """Make `channel` the next revision, and give the signal where the floor went on.

        Args:
            channel: The next state; revision and time of writing are set here.
            page: The free text around it.
            events: What happened.
            actor: Who did it.
            seen: The digest of the foreign text that this takes in, if it does.

        Raises:
            OSError: The system refuses.
        """
        before = getattr(self, "channel", None)
        self._signals = bool(channel.speaker) and (before is None or before.turn != channel.turn)
        channel = channel.copy(
            rev=max(channel.rev, self.last.get("rev", -1)) + 1,
            updated_at=self.now,
            signalled=channel.turn,
        )
        page = page if page is not None and page.gaps else None
        data = channel_page.render(channel, page)
        digest = snapshots.digest_of(data)
        if not seen and self.reading is not None:
            seen = self.reading.digest
        rev = channel.rev
        self.write(data, digest, self.line(digest, rev, list(events), actor, seen, page is None))
        self._signals = True
        self.stand(channel, page, data)
        self._fold()

    def stand(self, channel: Channel, page: Page | None, data: bytes) -> None:
        """Take a revision for the one that stands."""
        self.channel, self.page, self.text = channel, page, data

    def line(
        self, digest: str, rev: int, events: list[Event], actor: str, seen: str, untouched: bool
    ) -> dict[str, Any]:
        """Return the journal line of a revision."""
        return {
            "v": _RECORD_VERSION,
            "rev": rev,
            "parent": self.last.get("digest", ""),
            "seen": seen,
            "digest": digest,
            "opId": "",
            "actor": actor,
            "at": render_instant(self.now),
            "name": self.channel_id,
            "untouched": untouched,
            "events": event_log.revision_records(events, self.channel_id, rev, digest, self.now),
        }

    def publish(self, prepared: Preparing, data: bytes) -> None:
        """Put a prepared text in the place of the live file, and give the signal (DG-085)."""
        super().publish(prepared, data)
        if self._signals:
            self.signal()

    def signal(self) -> None:
        """Let a file appear and vanish: whoever watches the folder looks who has the floor."""
        with files.explaining("write", self.files.signal):
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(self.files.signal, flags, 0o666))
            os.unlink(self.files.signal)

    def _fold(self) -> None:
        """Keep the newest lines of a journal that has grown long, and the texts they name."""
        if self.tail is None or self.tail.end < _FOLD_BYTES:
            return
        path = self.places.journal
        lines: list[dict[str, Any]] = []
        room = _FOLD_BYTES // 2
        for line in reversed(_records(self)[-_REVISIONS_KEPT:]):
            room -= len(journal.encode(line))
            if lines and room < 0:
                break
            lines.insert(0, line)
        files.replace(path, b"".join(journal.encode(line) for line in lines))
        self.tail = journal.read_tail(path)
        kept = {line[key] for line in lines for key in ("digest", "seen", "parent")}
        for name in os.listdir(self.places.history):
            if name not in kept:
                files.remove(f"{self.places.history}/{name}")


def _records(session: ChannelSession) -> list[dict[str, Any]]:
    return list(journal.records(session.places.journal))


def text_of_revision(session: ChannelSession, rev: object) -> bytes | None:
    """Return the text of a revision, None when it is none of ours or too old to be kept."""
    for record in reversed(_records(session)):
        if record["rev"] == rev and snapshots.has(session.places.history, record["digest"]):
            return snapshots.get(session.places.history, record["digest"])
    return None
