"""Channels as people see them: as they stand now, without a lock and without writing.

One channel with its messages, and of all who has the floor and since when, which
sleep, and whose runs failed.

Source: DG-031, DG-137, OP-014, `cli.md` section 2 (`status`, `watch`).
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.errors import CouncilError
from council.core.events import Event
from council.core.reasons import Reason
from council.core.record import Any, Record
from council.core.rooms.channels import (
    TAKES_TURNS,
    Channel,
    Message,
    TurnState,
    is_asleep,
    is_awaited,
)
from council.core.rooms.due import asked, tasks_of_turn
from council.core.times import render_instant
from council.operations.gone_runs import gone_runs
from council.operations.place import Place
from council.operations.reporting.run_logs import failed_runs
from council.operations.rooms import rooms
from council.store.reason_words import reason_words
from council.store.rooms.channel_places import ChannelPlaces

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

    One that was never used has the mode `none` (DG-031).

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
    origins = rooms.origins_of(place, channel_id, newest)
    return Standing(channel=channel, messages=newest, edits=edits, origins=origins)


def answer_to(place: Place, channel: Channel, number: int) -> str:
    """Return what the moderator answered to a message at once, "" for nothing.

    Source: DG-065.
    """
    if channel.state is not TurnState.ARCHIVED:
        return ""
    newest = rooms.channels(place).newest(channel, _NEWEST)
    return next((one.content for one in newest if one.reply_to == number), "")


class RoomStanding(Record):
    """How one channel stands.

    `failures` are the reasons of failed runs for the turn or summary under way, by
    agent, `logs` where to read more.
    """

    channel: Channel
    path: str
    running: bool = False
    queued: bool = False
    failures: dict[str, Reason] = {}
    logs: dict[str, str] = {}

    @property
    def has_turns(self) -> bool:
        """Whether turns are taken here."""
        return self.channel.state in TAKES_TURNS

    @property
    def is_at_work(self) -> bool:
        """Whether a member has the floor and something to answer."""
        return is_awaited(self.channel)

    @property
    def waits_for_summary(self) -> bool:
        """Whether a discussion has fallen idle and waits for its initiator (DG-119)."""
        return not self.channel.speaker and bool(asked(self.channel))

    def to_record(self) -> dict[str, Any]:
        """Return the channel's part of `status --json`."""
        channel = self.channel
        agent = asked(channel)
        since = channel.turn_at if channel.speaker else channel.dormant_at
        return {
            **channel.as_json("channel_id name mode state:tmState speaker:currentSpeaker?"),
            "since": render_instant(since) if since else None,
            "cycle": channel.cycle,
            "dormant": is_asleep(channel),
            "calmed": channel.calmed or None,
            "awaitingDelivery": channel.delivery is not None,
            "waiting": [channel.speaker] if self.is_at_work else [],
            "running": [agent] if self.running else [],
            "queued": [agent] if self.queued else [],
            "failures": {agent: reason_words(one) for agent, one in self.failures.items()},
            **self.as_json("logs"),
            "waitsForSummaryOf": agent if self.waits_for_summary else None,
            "path": self.path,
        }


def glances(place: Place) -> tuple[list[RoomStanding], list[tuple[str, CouncilError]]]:
    """Return how every channel stands, and which cannot be read with the reason."""
    return rooms.each(place, _glance)


def _glance(place: Place, channel_id: str) -> RoomStanding:
    channel = rooms.look(place, channel_id, place.now()).channel
    tasks = tasks_of_turn(channel)
    failures, logs = failed_runs(place, tasks)
    path, states = ChannelPlaces(place.paths, channel_id).live, {one.state for one in tasks}
    running, queued = TaskState.R in states, TaskState.N in states
    if running and gone_runs(place, {one.id: one for one in tasks}):
        running = False
    return RoomStanding(
        channel=channel, path=path, running=running, queued=queued, failures=failures, logs=logs
    )
