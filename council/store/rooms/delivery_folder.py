"""How turns reach a channel that is a folder: the five things that delivery needs of any kind.

Members, the newest messages after an anchor, posting, deleting, and whether
the moderator may administer. Whatever else carries a channel offers the same.

Source: DG-088, A-20.
"""

from __future__ import annotations

import os

from council.core.rooms.channels import Member, Message, MessageKind
from council.store.rooms.message_lines import DELETES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.rooms.channel_session import ChannelSession


class FolderDelivery:
    """Delivery in a channel that is a folder, through a session that holds its lock."""

    def __init__(self, session: ChannelSession) -> None:
        self._session = session

    def members(self) -> dict[str, Member]:
        """Return who is in the channel, by account."""
        return dict(self._session.channel.members)

    def messages_after(self, anchor: int) -> list[Message]:
        """Return the messages after `anchor`, oldest first."""
        return list(self._session.messages_after(anchor))

    def post(self, message: Message) -> Message:
        """Add a message; return it with its number."""
        return self._session.post(message)

    def delete(self, number: int) -> None:
        """Take a message away: the log keeps the line and says that it does not count."""
        self._session.post(
            Message(
                id=1,
                at=self._session.now,
                author="moderator",
                content="",
                kind=MessageKind.MODERATOR,
                extra={DELETES: number},
            )
        )
        self._session.read_log()

    def may_administer(self) -> bool:
        """Tell whether this workspace can be written."""
        return os.access(self._session.files.public, os.W_OK)
