"""A room that is a channel of Discord: what is said in either goes to the other (REST only).

What was read there and what was put there is noted in the room, a message at a time. A message that
was put there by a process that died has the same nonce when it is put there again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import hikari

from council.kernel.errors import Unexpected
from council.kernel.ids import cut, digest
from council.kernel.record import TYPE_CHECKING, Any
from council.rooms import decisions, page
from council.rooms.model import DISCORD, MODERATOR, Event, Room
from council.runs import starting

if TYPE_CHECKING:
    from council.app import App

URL = "COUNCIL_DISCORD_URL"
SIGNAL = "➡️"  # document 001: the schedule identifier, posted and deleted at once
LONGEST, MOST_READ = 1900, 500

logging.getLogger("hikari").setLevel(logging.CRITICAL)  # a command prints its own words


def exchange(app: App, room: Any, member: Any) -> None:
    """Fetch and post what is new on either side; `room` is the document, `member` finds agents."""
    _connected(app.world, lambda rest: _fetch(app, room, member, rest))


def guilds(app: App) -> list[dict[str, Any]]:
    """Return the guilds that the bot administers, with their private channels by id."""
    made, may = list[dict[str, Any]](), hikari.Permissions

    async def work(rest: Any) -> None:
        async for guild in rest.fetch_my_guilds():
            if not guild.my_permissions & may.ADMINISTRATOR:
                continue
            channels = dict[str, str]()
            for one in await rest.fetch_guild_channels(guild.id):
                rule = getattr(one, "permission_overwrites", {}).get(guild.id)  # of everybody
                is_text = isinstance(one, hikari.GuildTextChannel)
                if is_text and rule and rule.deny & may.VIEW_CHANNEL:
                    channels[str(one.id)] = one.name or ""
            made.append({"name": guild.name, "channels": channels})

    _connected(app.world, work)
    return made


def _connected(env: dict[str, str], work: Callable[[Any], Awaitable[None]]) -> None:
    async def run() -> None:
        there = hikari.RESTApp(url=env.get(URL))
        await there.start()
        try:
            async with there.acquire(env.get(DISCORD, ""), hikari.TokenType.BOT) as rest:
                await work(rest)
        finally:
            await there.close()

    try:
        asyncio.run(run())
    except (hikari.HikariError, OSError, ValueError) as error:
        what = f"Discord: {cut(str(error), 200) or type(error).__name__}"
        raise Unexpected("discord", what, f"check {DISCORD}, and the channel's rights") from None


async def _fetch(app: App, room: Any, member: Any, rest: Any) -> None:
    """Take in who is there and what they said; then post what was said here."""
    state, events = room.read(), list[Event]()
    known, last = starting.registry_of(app, True).identities, state.read
    me, channel = await rest.fetch_my_user(), await rest.fetch_channel(int(state.channel))
    for account, one in known.items():
        there = member(app, account)[1]
        try:
            await rest.fetch_member(channel.guild_id, int(account))
        except hikari.NotFoundError:
            there = None
        events += decisions.join(state, one.agent_id, there, app.now)
    found = rest.fetch_messages(channel.id, after=hikari.Snowflake(last))
    async for said in found.limit(MOST_READ):
        last = str(said.id)
        if said.author.id == me.id or not said.content:
            continue
        agent = known.get(str(said.author.id))
        by, ident = (agent.agent_id,) * 2 if agent else page.speaker(state, said.author.username)
        how = {"origin": "discord", "foreign": last}
        events += decisions.post(state, by, ident, said.content, said.created_at, **how)
    events += [{"type": "tied", "read": last}] * (last != state.read)
    _change(app, room, state, events)
    await _post(app, room, rest)


async def _post(app: App, room: Any, rest: Any) -> None:
    """Post what was said here, and show whose turn it is."""
    state = room.peek()
    channel = int(state.channel)
    quiet = dict.fromkeys(("mentions_everyone", "user_mentions", "role_mentions"), False)
    for one in state.messages:
        if one.id <= state.posted or one.foreign:
            continue
        text = f"**{page.label(state, one.author)}**\n{one.content}"
        for at in range(0, len(text), LONGEST):
            nonce = digest(f"{state.channel_id} {one.id} {at}")[:24]
            await rest.create_message(channel, text[at : at + LONGEST], nonce=nonce, **quiet)
        _change(app, room, state, [{"type": "tied", "posted": one.id}])
    if state.current_speaker and state.signalled < state.turn:
        await rest.delete_message(channel, (await rest.create_message(channel, SIGNAL, **quiet)).id)
        _change(app, room, state, [{"type": "tied", "signalled": state.turn}])


def _change(app: App, room: Any, state: Room, events: list[Event]) -> None:
    """Note what was done, unless another process has read further meanwhile."""
    room.change(lambda now: events * (now.read == state.read), by=MODERATOR, at=app.now)
