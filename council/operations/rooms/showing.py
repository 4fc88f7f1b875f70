"""Channels as people look at them: as they stand now, without a lock and without writing.

Source: DG-031, DG-137.
"""

from __future__ import annotations

from council.core.errors import CouncilError
from council.core.events import Event
from council.core.record import Record
from council.core.rooms.channels import Channel, Message, TurnState
from council.operations.place import Place
from council.operations.rooms import rooms
from council.operations.rooms.authorship import origins_of

_NEWEST = 20  # among so many the answer to a message that was just posted is looked for


class Standing(Record):
    """A channel as it stands, its newest messages, and whether anybody has ever used it.

    `edits` are the events of an edit that no command has taken in yet, `origins` by
    the number of a message whether it is verified who said it.
    """

    channel: Channel
    edits: list[Event] = []
    messages: list[Message] = []
    origins: dict[int, str] = {}
    is_known: bool = True


def standing(place: Place, channel_id: str, *, messages: int = 0) -> Standing:
    """Return a channel as it would stand if it were brought up to date.

    One that nobody has used has the mode `none` (DG-031).

    Raises:
        InvalidInputError: The id is no legal name.
        InvalidStateError: The channel cannot be read.
    """
    store = rooms.channels(place)
    if not store.exists(channel_id):
        return Standing(channel=rooms.unknown(place, channel_id), is_known=False)
    channel = rooms.look(place, channel_id, place.now()).channel
    newest = store.newest(channel, messages) if messages > 0 else []
    edits = store.foreseen(channel_id, place.now()) if messages > 0 else []
    origins = origins_of(place, channel_id, newest)
    return Standing(channel=channel, messages=newest, edits=edits, origins=origins)


def answer_to(place: Place, channel: Channel, number: int) -> str:
    """Return what the moderator answered to a message at once, "" for nothing.

    Source: DG-065.
    """
    if channel.state is not TurnState.ARCHIVED:
        return ""
    newest = rooms.channels(place).newest(channel, _NEWEST)
    return next((one.content for one in newest if one.reply_to == number), "")


def all_standing(place: Place) -> tuple[list[Standing], list[tuple[str, CouncilError]]]:
    """Return every channel, and those that cannot be read with the reason."""
    return rooms.each(place, standing)
