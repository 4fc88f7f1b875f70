"""What a completed discussion owes: the word to the channel it was called from, and minutes.

Both are done after it is sealed, by whoever comes next if that one dies.

Source: DG-123, DG-124, A-26.
"""

from __future__ import annotations

import os

from council.core.conversations.owed import Archive
from council.core.errors import CouncilError, NotFoundError
from council.core.rooms import discussions
from council.core.rooms.channel_owed import CallBack, pending
from council.core.rooms.channels import Channel, ChannelStep, Message, MessageKind
from council.operations.rooms import rooms
from council.operations.rooms.authorship import origins_of
from council.store import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from council.operations.place import Place
    from council.store.rooms.channel_session import ChannelSession


def finish(place: Place, channel_id: str, now: datetime) -> tuple[ChannelStep, list[CouncilError]]:
    """Do what a completed discussion still owes: call back and minutes. Repeatable."""
    channel = rooms.look(place, channel_id, now).channel
    troubles: list[CouncilError] = []
    told: list[Callable[[Channel, datetime], ChannelStep]] = []
    for owed in pending(channel, now):
        if isinstance(owed, CallBack):
            try:
                _call_back(place, channel, owed.channel)
                told.append(discussions.called_back)
            except NotFoundError as error:  # the channel is gone, and nobody else will be told
                told.append(discussions.unreachable)
                troubles.append(error)
            except CouncilError as error:
                troubles.append(error)

    def rule(_session: ChannelSession, step: ChannelStep) -> ChannelStep:
        for note in told:
            step = step.then(note(step.channel, now))
        if any(isinstance(one, Archive) for one in pending(step.channel, now)):
            step = step.then(_archive(place, step.channel))
        return step

    return rooms.change(place, channel_id, now, rule), troubles


def _call_back(place: Place, channel: Channel, target: str) -> None:
    about = channel.discussion
    assert about is not None
    text = f"The discussion {channel.name} is completed. Its summary: {about.summary}"
    key = f"summary {channel.channel_id}"
    _post_by_moderator(place, target, text, MessageKind.SUMMARY, key)


def _archive(place: Place, channel: Channel) -> ChannelStep:
    from council.store.rooms.channel_minutes import write_minutes

    about = channel.discussion
    assert about is not None
    standing = files.read_stable(os.path.join(place.root, about.summary))
    text = "" if standing is None else standing.data.decode("utf-8", "replace")
    messages = list(rooms.channels(place).messages(channel))
    origins = origins_of(place, channel.channel_id, messages)
    path = write_minutes(place.paths, channel, messages, text, origins)
    return discussions.minuted(channel, os.path.relpath(path, place.root))


def _post_by_moderator(
    place: Place, channel_id: str, text: str, kind: MessageKind, key: str
) -> Message:
    """Post a word of the moderator, once for each key; it wakes nobody (A-26).

    Raises:
        NotFoundError: There is no such channel.
    """
    now = place.now()
    said: list[Message] = []

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        standing = session.find(key, rooms.MODERATOR)
        said.append(
            standing
            or session.post(
                Message(
                    id=1,
                    at=now,
                    author=rooms.MODERATOR,
                    content=text,
                    kind=kind,
                    extra={"key": key},
                )
            )
        )
        return step

    rooms.change(place, channel_id, now, rule)
    return said[0]
