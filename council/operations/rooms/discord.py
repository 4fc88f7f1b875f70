"""Rooms that are tied to a channel of Discord: what is said in either is said in both.

The log of the room stays the truth. An *exchange* fetches what was said there after the
anchor, posts what was said here, and fetches again. Heartbeats do it, and so does the end of a
turn, which counts as delivered when all of its text lies there. One process at a time exchanges
for a room (`discord_exchange`); if it dies, the next one goes on.

What is in the way is written down in the room, said once, and rests.

Source: DG-066, DG-067, DG-081 to DG-088.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib.util import find_spec

from council.core.errors import LockTimeoutError
from council.core.events import Event
from council.core.record import Any
from council.core.rooms.channels import Channel, Tie, TurnState
from council.core.rooms.discord_texts import Hindered
from council.operations.place import Place
from council.operations.rooms import rooms
from council.operations.rooms.discord_exchange import EMPTY, LONGEST_S, Exchange, change_tie
from council.store.lock import Lock
from council.store.rooms.channel_places import ChannelPlaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.discord import Discord
    from council.store.rooms.channel_session import ChannelSession

URL = "DISCORD_API_URL"
_DOWN = "discord-down"
_EVERY_S = 1.0
_A_WHILE_S = 5.0
_AFTER_FAILURE_S = 10.0
_SILENT_FOR = timedelta(minutes=15)
# For so long a closed discussion is still asked for what is said there.
_SEALED_FOR = timedelta(days=1)
# By room and by service: before when this process does not ask again.
_rests_s: dict[str, float] = {}


# --- What is in the way


def hindrances(place: Place, channel: Channel) -> list[tuple[str, dict[str, Any]]]:
    """Return what keeps a tied room from Discord: causes, with what stands in their sentences."""
    tied = channel.discord
    if tied is None:
        return []
    if tied.trouble:
        return [(tied.trouble, {"said": tied.said, "until": tied.until})]
    if tied.token_env in place.environ:
        return []
    try:  # a shell without the token is in no one's way as long as a heartbeat has it
        at = os.stat(_mark(place, channel.channel_id)).st_mtime
    except OSError:
        at = channel.created_at.timestamp()
    late = place.now().timestamp() - at > _SILENT_FOR.total_seconds()
    return [("discord-token", {"said": tied.token_env})] if late else []


# --- An exchange


def _mark(place: Place, channel_id: str) -> str:
    return f"{ChannelPlaces(place.paths, channel_id).folder}/discord"


def exchange(place: Place, channel_id: str, *, waits: bool = False) -> None:
    """Fetch what was said on Discord and post what was said here, as far as it can be done now.

    Args:
        place: The workspace; a run exchanges nothing, the process that supervises it does.
        channel_id: Which room.
        waits: Whether to wait for a process that exchanges for it just now.

    Raises:
        CouncilError: The room cannot be read or written.
    """
    channel, now = rooms.look(place, channel_id, place.now()).channel, place.now()
    tied = channel.discord
    if tied is None or place.is_in_run or (tied.until and now < tied.until):
        return
    mark, token = _mark(place, channel_id), place.environ.get(tied.token_env, "")
    is_alike = channel.seen <= min(tied.taken, tied.posted)
    is_sealed = channel.state is TurnState.ARCHIVED and now - channel.updated_at > _SEALED_FOR
    service = tied.token_env + place.environ.get(URL, "")
    rests_s = max(_rests_s.get(service, 0.0), _rests_s.get(mark, 0.0) * is_alike)
    rests = time.monotonic() < rests_s and not waits
    if not token.strip() or rests or (is_sealed and is_alike):
        return
    patience_s = LONGEST_S if waits else _A_WHILE_S
    with suppress(LockTimeoutError), Lock(mark, patience_s, lambda _: None):
        try:
            with reached(place, tied) as there:
                work = Exchange(place, channel_id, there)
                work.do()
            note(place, channel_id, work.trouble)
        except Hindered as error:
            note(place, channel_id, error)
            if error.cause == _DOWN:  # a heartbeat does not wait for that in each of its rooms
                _rests_s[service] = time.monotonic() + _AFTER_FAILURE_S
        _rests_s[mark] = time.monotonic() + _EVERY_S
    with suppress(OSError):  # when it was served last is known by the time of this file
        os.utime(mark, (place.now().timestamp(),) * 2)


@contextmanager
def reached(place: Place, tied: Tie) -> Iterator[Discord]:
    """Reach Discord.

    Raises:
        Hindered: Something is in the way.
    """
    token = place.environ.get(tied.token_env, "")
    if not token.strip():
        raise Hindered("discord-token", tied.token_env)
    if find_spec("hikari") is None:
        raise Hindered("discord-library")
    from council.drivers.discord import Discord

    with Discord(token, place.environ.get(URL, "")) as there:
        yield there


def deliver(place: Place, channel_id: str) -> Channel:
    """Exchange until what a turn said lies there, or it is waited for no longer (DG-083).

    Returns:
        The room, brought up to date.
    """
    ends_s = time.monotonic() + rooms.rules_of(place).patience.total_seconds()
    while True:
        exchange(place, channel_id, waits=True)
        channel = rooms.advance(place, channel_id, place.now()).channel
        waiting, tied = channel.delivery, channel.discord
        if tied is None or place.is_in_run or tied.token_env not in place.environ:
            return channel
        is_reached = tied.trouble in ("", EMPTY)
        # Only what an agent says by an account of its own comes from there.
        may_come = is_reached and waiting is not None and waiting.account.isdecimal()
        if not may_come or time.monotonic() >= ends_s:
            return channel
        time.sleep(_EVERY_S)


def note(place: Place, channel_id: str, one: Hindered) -> None:
    """Write down what is in the way, the cause "" for nothing; an event says it once."""
    until = place.now() + timedelta(seconds=int(one.seconds) + 1) if one.seconds else None

    def rule(_: ChannelSession, __: Channel, tied: Tie) -> list[Event]:
        is_known = one.cause in ("", tied.trouble)
        tied.trouble, tied.said, tied.until = one.cause, one.said, until
        data = {"cause": one.cause, "told": one.said}
        return [] if is_known else [Event(type="discord.hindered", data=data)]

    change_tie(place, channel_id, rule)
