"""Tying a room to a channel of Discord, and letting it go; what is in the way is an error here.

Source: DG-051, DG-088, DG-112, DG-116.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from council.core.errors import ConflictError, RefusedError, UsageError
from council.core.events import Event
from council.core.rooms.channels import Channel, ChannelStep, Tie
from council.core.rooms.discord_texts import Hindered, shown_name
from council.operations.examining.causes import cause
from council.operations.place import Place
from council.operations.rooms import rooms
from council.operations.rooms.discord import exchange, hindrances, note, reached
from council.operations.rooms.discord_exchange import make

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.discord import Discord
    from council.store.rooms.channel_session import ChannelSession


@contextmanager
def _reached(place: Place, tied: Tie, name: str) -> Iterator[Discord]:
    """Reach Discord for a person who waits.

    Raises:
        RefusedError: Something is in the way; it says the way out.
    """
    try:
        with reached(place, tied) as there:
            yield there
    except Hindered as error:
        raise _refusal(error.cause, name, said=error.said) from None


def _refusal(code: str, name: str, **told: object) -> RefusedError:
    found = cause(code, **{"name": name, **told})
    return RefusedError(found.said(), found.fix())


def tie(place: Place, channel_id: str, channel: str, guild: str, token_env: str) -> str:
    """Tie a room to a channel of Discord, or to a new one in a server; from now on they are alike.

    Nothing that was said before is carried over. Tied to the same one again, it goes on where it
    was. Returns what the channel is called there.

    Raises:
        UsageError: Neither or both are named, or none that can be one.
        RefusedError: Discord refuses, or a right is missing.
        ConflictError: Another room is tied to it.
        NotFoundError: There is no such room.
    """
    if bool(channel) == bool(guild) or not (channel or guild).isdecimal():
        raise UsageError(
            "name one channel or one server of Discord, by its number",
            "in Discord: settings, advanced, developer mode; then right-click: Copy ID",
        )
    room = rooms.look(place, channel_id, place.now()).channel
    others, _ = rooms.each(place, lambda place, name: rooms.look(place, name, place.now()).channel)
    held = {one.discord.channel: one.channel_id for one in others if one.discord is not None}
    if channel and held.get(channel, channel_id) != channel_id:
        raise ConflictError(
            f"{held[channel]} is tied to that channel",
            f"untie it first: council channel tie {held[channel]} --remove",
        )
    is_same = room.discord is not None and room.discord.channel == channel
    new = room.discord if room.discord and is_same else Tie(channel=channel, guild=guild)
    new = new.copy(trouble="", said="", until=None)
    new.token_env = token_env or new.token_env
    with _reached(place, new, channel_id) as there:
        if guild:
            there.check_administrator(guild)
            new.channel = make(there, room, new)
        found = there.channel(new.channel)

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        if not is_same:
            new.guild, new.anchor = found.guild, found.newest
            new.taken = new.posted = session.newest
        data = {"channel": new.channel, "name": shown_name(found.name)}
        tied = step.channel.copy(discord=new)
        return step.then(ChannelStep(channel=tied, events=[Event(type="discord.tied", data=data)]))

    rooms.change(place, channel_id, place.now(), rule)
    return shown_name(found.name)


def go_on(place: Place, channel_id: str) -> str:
    """Try at once what rests, and return to which channel a room is tied.

    Raises:
        UsageError: It is tied to none.
        RefusedError: Something is still in the way.
    """
    tied = rooms.look(place, channel_id, place.now()).channel.discord
    if tied is None:
        raise UsageError(
            f"{channel_id} is tied to no channel of Discord",
            f"tie it: council channel tie {channel_id} --discord ID",
        )
    with _reached(place, tied, channel_id):
        note(place, channel_id, Hindered(""))
    exchange(place, channel_id, waits=True)
    for code, told in hindrances(place, rooms.look(place, channel_id, place.now()).channel):
        raise _refusal(code, channel_id, **told)
    return tied.channel


def administered(place: Place) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the private channels of each server that the bot of a tied room may administer.

    They are names by their ids, by the id of the server; what is in the way is said besides.

    Source: DG-135.
    """
    seen, _ = rooms.each(place, lambda place, name: rooms.look(place, name, place.now()).channel)
    ties = {one.discord.guild: one.discord for one in seen if one.discord is not None}
    found, troubles = {}, []
    for guild, tied in ties.items():
        try:
            with reached(place, tied) as there:
                found[guild] = there.private_channels(guild)
        except Hindered as error:
            troubles.append(cause(error.cause, name=guild, said=error.said).said())
    return found, troubles


def untie(place: Place, channel_id: str) -> Channel:
    """Let a room be one of this folder alone; what was said stays on both sides."""

    def rule(_: ChannelSession, step: ChannelStep) -> ChannelStep:
        return step.then(ChannelStep(channel=step.channel.copy(discord=None)))

    return rooms.change(place, channel_id, place.now(), rule).channel


def tie_like(place: Place, called_from: Channel) -> Tie | None:
    """Return the tie of a private channel to be made where another one is tied (DG-112, DG-116).

    Raises:
        RefusedError: The bot may not administer that server, or cannot be reached.
    """
    standing = called_from.discord
    if standing is None:
        return None
    with _reached(place, standing, called_from.channel_id) as there:
        there.check_administrator(standing.guild)
    return Tie(channel="", guild=standing.guild, token_env=standing.token_env)
