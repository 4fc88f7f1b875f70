"""Discord by its REST interface: the only module that knows the client library.

There is no daemon, so nothing listens: each exchange asks what was said after an anchor, and
posts. The library keeps the limits that Discord answers with, waits where a wait is short, and
asks again where a connection breaks or the service fails. Everything that is in the way
becomes a `Hindered` with a cause of `texts/causes.txt`. What people typed is passed on as it is.

Source: DG-083, DG-088, DG-112, DG-116.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterable
from datetime import datetime
from typing import Any, TypeVar

import hikari

from council.core.record import Record
from council.core.rooms.discord_texts import Hindered

_Found = TypeVar("_Found")

LONGEST_WAIT_S = 10.0
_LONGEST_CALL_S = 15.0
_MAY_TAKE_PART = hikari.Permissions.VIEW_CHANNEL | hikari.Permissions.READ_MESSAGE_HISTORY
_MUST = _MAY_TAKE_PART | hikari.Permissions.SEND_MESSAGES
# What people and programs say; that one joined, or pinned something, is nothing said.
_SPEECH = (0, 19, 20, 23)
_CAUSES = (
    (hikari.UnauthorizedError, "discord-refused"),
    (hikari.ForbiddenError, "discord-right"),
    (hikari.NotFoundError, "discord-channel"),
)
_REST_S = 900.0
_NOT_FOR_US = (20028, 200000)  # the channel's slow mode; blocked by its automatic moderation

# It warns of what is told here by causes.
logging.getLogger("hikari").addHandler(logging.NullHandler())
logging.getLogger("hikari").propagate = False


class Heard(Record):
    """A message as it was found there, as yet unread.

    `also` names what else it holds, `is_speech` is false for what the service itself says.
    """

    id: int
    at: datetime
    author: str
    name: str
    content: str
    is_program: bool
    is_speech: bool
    names: dict[str, str] = {}
    also: list[str] = []


class Channel(Record):
    """A channel there: its server, its name and its newest message."""

    guild: str
    name: str
    newest: str


class Discord:
    """Discord as one bot sees it, in a `with` block.

    Args:
        token: The token of the bot.
        url: Where the interface is, "" for the real one.
        retries: How often a request is made again where the connection breaks.

    Attributes:
        me: The account of the bot.

    Raises:
        Hindered: By each call, where it cannot be done.
    """

    def __init__(self, token: str, url: str = "", retries: int = 2) -> None:
        self._token, self._url, self._retries = token.strip(), url, retries
        self.me = ""

    def __enter__(self) -> Discord:
        self._loop = asyncio.new_event_loop()
        try:
            self._rest = self._do(self._begun())
            self.me = str(self._do(self._rest.fetch_my_user()).id)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._loop.run_until_complete(self._ended())
        finally:
            self._loop.close()

    async def _begun(self) -> hikari.impl.RESTClientImpl:
        self._app = hikari.RESTApp(
            url=self._url or None,
            max_rate_limit=LONGEST_WAIT_S,
            max_retries=self._retries,
            proxy_settings=hikari.impl.ProxySettings(trust_env=True),
        )
        await self._app.start()
        rest = self._app.acquire(self._token, "Bot")
        rest.start()
        return rest

    async def _ended(self) -> None:
        if hasattr(self, "_rest"):
            await self._rest.close()
        await self._app.close()

    def _do(self, call: Coroutine[Any, Any, _Found]) -> _Found:
        try:
            return self._loop.run_until_complete(asyncio.wait_for(call, _LONGEST_CALL_S))
        except Exception as error:  # the library fails in many ways on an answer that is none
            raise _hindered(error) from None

    # Messages.

    def after(self, channel: str, anchor: str, most: int) -> list[Heard]:
        """Return the messages after one, oldest first, at most so many."""
        found = self._rest.fetch_messages(int(channel), after=hikari.Snowflake(anchor or channel))
        return self._do(_first(found, most))

    def say(self, channel: str, text: str, nonce: str) -> str:
        """Post a text, which pings no one, and return its id; the same nonce posts it once."""
        posting = self._rest.create_message(
            int(channel),
            text,
            nonce=nonce,
            mentions_everyone=False,
            user_mentions=False,
            role_mentions=False,
        )
        return str(self._do(posting).id)

    def delete(self, channel: str, message: str) -> None:
        """Delete a message of ours."""
        self._do(self._rest.delete_message(int(channel), int(message)))

    # Channels and rights.

    def channel(self, channel: str) -> Channel:
        """Return what is known of a channel in which the bot may take part.

        Raises:
            Hindered: It is not there, or none in which a group writes, or a right is missing.
        """
        found = self._do(self._rest.fetch_channel(int(channel)))
        if not isinstance(found, hikari.TextableGuildChannel):
            raise Hindered("discord-channel", "it is no text channel of a server")
        if isinstance(found, hikari.PermissibleGuildChannel):
            self._check(_MUST & ~self._rights(self._guild(found.guild_id), self.me, found))
        newest = str(getattr(found, "last_message_id", None) or found.id)
        return Channel(guild=str(found.guild_id), name=found.name or "", newest=newest)

    def members(self, channel: str, accounts: Iterable[str]) -> list[str]:
        """Return those of some accounts that may read a channel."""
        found = self._do(self._rest.fetch_channel(int(channel)))
        if not isinstance(found, hikari.PermissibleGuildChannel):
            return []
        guild, sees = self._guild(found.guild_id), hikari.Permissions.VIEW_CHANNEL
        return [one for one in accounts if self._rights(guild, one, found) & sees]

    def check_administrator(self, guild: str) -> None:
        """Check that the bot may administer a server.

        Raises:
            Hindered: It may not.
        """
        needed = hikari.Permissions.ADMINISTRATOR
        self._check(needed & ~self._rights(self._guild(guild), self.me))

    def private_channels(self, guild: str) -> dict[str, str]:
        """Return the names of a server's channels that not everybody there may read, by their ids.

        Raises:
            Hindered: The bot may not administer it.
        """
        self.check_administrator(guild)
        found = {}
        for one in self._do(self._rest.fetch_guild_channels(int(guild))):
            if isinstance(one, hikari.GuildTextChannel):
                everybody = one.permission_overwrites.get(hikari.Snowflake(guild))
                if everybody is not None and everybody.deny & hikari.Permissions.VIEW_CHANNEL:
                    found[str(one.id)] = one.name or ""
        return found

    def _check(self, missing: hikari.Permissions) -> None:
        if missing:
            names = ", ".join(str(one.name).replace("_", " ").capitalize() for one in missing)
            raise Hindered("discord-right", names)

    def make(self, guild: str, name: str, mark: str, accounts: Iterable[str], private: bool) -> str:
        """Make a channel, or find the one that was made with this mark before, and return its id.

        Args:
            guild: The server.
            name: Its name.
            mark: Its topic, which no other channel has.
            accounts: Who may read a private one, besides the bot.
            private: Whether all others may not.
        """
        for one in self._do(self._rest.fetch_guild_channels(int(guild))):
            if getattr(one, "topic", None) == mark:
                return str(one.id)
        rules = [_overwrite(one, allow=_MUST) for one in (self.me, *accounts)]
        everybody = hikari.PermissionOverwrite(
            id=int(guild), type=0, deny=hikari.Permissions.VIEW_CHANNEL
        )
        rules = [everybody, *rules] if private else []
        # Made again because an answer was lost, there would be two.
        with Discord(self._token, self._url, retries=0) as once:
            making = once._rest.create_guild_text_channel(
                int(guild), name, topic=mark, permission_overwrites=rules
            )
            return str(once._do(making).id)

    def admit(self, channel: str, account: str) -> None:
        """Let an account read and write in a private channel."""
        kind = hikari.PermissionOverwriteType.MEMBER
        admitting = self._rest.edit_permission_overwrite(
            int(channel), int(account), target_type=kind, allow=_MUST
        )
        self._do(admitting)

    def _guild(self, guild: int | str) -> hikari.RESTGuild:
        return self._do(self._rest.fetch_guild(int(guild)))

    def _rights(
        self,
        guild: hikari.RESTGuild,
        account: str,
        channel: hikari.PermissibleGuildChannel | None = None,
    ) -> hikari.Permissions:
        """Return what an account may do in a server or a channel, nothing from outside."""
        if str(guild.owner_id) == account:
            return hikari.Permissions.all_permissions()
        try:
            member = self._do(self._rest.fetch_member(guild.id, int(account)))
        except Hindered as error:
            if error.cause == "discord-channel":  # there is no such member
                return hikari.Permissions.NONE
            raise
        # The role of everybody has the id of the server.
        held = [guild.id, *(one for one in member.role_ids if one != guild.id)]
        rights = hikari.Permissions.NONE
        for role in guild.roles.values():
            rights |= role.permissions if role.id in held else hikari.Permissions.NONE
        if rights & hikari.Permissions.ADMINISTRATOR:
            return hikari.Permissions.all_permissions()
        rules = {} if channel is None else channel.permission_overwrites
        for layer in (held[:1], held[1:], [member.id]):
            found = [rules[one] for one in layer if one in rules]
            for one in found:
                rights &= ~one.deny
            for one in found:
                rights |= one.allow
        return rights


async def _first(found: hikari.LazyIterator[hikari.Message], most: int) -> list[Heard]:
    return [_heard(one) for one in await found.limit(most)]


def _hindered(error: Exception) -> Hindered:
    """Return which cause it is that a call failed."""
    if isinstance(error, hikari.RateLimitTooLongError):
        left_s = max(error.retry_after, error.reset_at - time.time())
        return Hindered("discord-limit", seconds=left_s)
    said = " ".join(str(getattr(error, "message", "") or error).split())[:200]
    for kind, cause in _CAUSES:
        if isinstance(error, kind):
            return Hindered(cause, said, _REST_S, error.code in _NOT_FOR_US)
    said = f"no answer within {_LONGEST_CALL_S:.0f} s" if isinstance(error, TimeoutError) else said
    is_of_message = isinstance(error, hikari.BadRequestError)
    return Hindered("discord-down", said or type(error).__name__, 0, is_of_message)


def _overwrite(account: str, allow: hikari.Permissions) -> hikari.PermissionOverwrite:
    return hikari.PermissionOverwrite(id=int(account), type=1, allow=allow)


def _heard(one: hikari.Message) -> Heard:
    mentioned = one.user_mentions or {}
    forwarded = [f"forwarded: {part.content}" for part in one.message_snapshots if part.content]
    also = [f"attachment: {file.filename}, {file.size} bytes" for file in one.attachments]
    also += [f"sticker: {sticker.name}" for sticker in one.stickers]
    also += [f"card: {card.title or card.description or card.url or ''}" for card in one.embeds]
    return Heard(
        id=int(one.id),
        at=one.created_at.replace(microsecond=0),
        author=str(one.author.id),
        name=one.author.global_name or one.author.username,
        content=one.content or "",
        is_program=one.author.is_bot or bool(one.webhook_id),
        is_speech=int(one.type) in _SPEECH,
        names={str(key): user.global_name or user.username for key, user in mentioned.items()},
        also=[*forwarded, *also],
    )
