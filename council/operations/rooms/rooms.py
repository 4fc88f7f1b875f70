"""Channels at work: looked at, and everything done that the room itself owes.

Whoever comes to a channel, a hook or the heartbeat or a person, first brings
it up to date: messages that were not taken notice of, deliveries that have
come or are out of time. Then follow the automatic answers, the guide and the
reminder of a discussion, in the same revision. Waking a speaker is the matter
of the heartbeat.

Source: DG-003, DG-065, DG-081 to DG-087, DG-117, DG-119, XC-007.
"""

from __future__ import annotations

import os

from council.core.conversations.conversation import TaskState
from council.core.errors import CouncilError
from council.core.record import Record
from council.core.rooms import floor
from council.core.rooms.channel_owed import PostGuide, Remind, Reply, pending
from council.core.rooms.channel_tasks import summary_queued
from council.core.rooms.channels import Channel, ChannelStep, Member, Message, MessageKind
from council.core.rooms.hearing import shortened
from council.operations.gone_runs import without_gone_runs
from council.store.rooms.channel_rules import floor_rules
from council.store.rooms.channels import Channels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import TypeVar

    from council.core.rooms.channel_owed import Owed
    from council.core.rooms.channels import Discussion, FloorRules
    from council.operations.place import Place
    from council.store.rooms.channel_session import ChannelSession

    _Found = TypeVar("_Found")

MODERATOR = "moderator"
_MOST_ROUNDS = 8
_IDLE = ".idle.md"


class Outlook(Record):
    """A channel as it would stand if it were brought up to date, and what it then owes.

    `due` tells that somebody should: that it differs from what stands, or that
    its files are to be settled.
    """

    channel: Channel
    messages: list[Message]
    newest: int
    owed: tuple[Owed, ...]
    due: bool


def channels(place: Place) -> Channels:
    """Return the channels of a workspace."""

    def resolve(name: str) -> Member:
        from council.operations.rooms.members import member_of  # only where somebody joins

        return member_of(place, name, place.now())

    return Channels(
        place.paths,
        resolve,
        rules_of(place),
        allow_network_fs=place.settings.force_network_fs,
    )


def rules_of(place: Place) -> FloorRules:
    """Return what the settings say of taking turns."""
    return floor_rules(place.settings.channels)


def open_channels(place: Place) -> list[str]:
    """Return the ids of all channels; archived ones still answer to messages."""
    return channels(place).ids()


def each(
    place: Place, look: Callable[[Place, str], _Found]
) -> tuple[list[_Found], list[tuple[str, CouncilError]]]:
    """Return what is seen of every channel, and which cannot be read with the reason."""
    found, broken = [], []
    for channel_id in open_channels(place):
        try:
            found.append(look(place, channel_id))
        except CouncilError as error:
            broken.append((channel_id, error))
    return found, broken


def look(place: Place, channel_id: str, now: datetime) -> Outlook:
    """Look at a channel without a lock and without writing.

    Raises:
        NotFoundError: There is no such channel.
        InvalidStateError: It cannot be read.
    """
    seen = channels(place).see(channel_id)
    found = without_gone_runs(place, seen.channel, now)
    step = shortened(found, seen.newest, seen.said_id)
    step = step.then(floor.settle(step.channel, seen.messages, now, rules=rules_of(place)))
    owed = pending_in(place, step.channel, now)
    ours = any(isinstance(one, Reply | PostGuide | Remind) for one in owed)
    return Outlook(
        channel=step.channel,
        messages=seen.messages,
        newest=seen.newest,
        owed=owed,
        due=not seen.settled or ours or step.channel != seen.channel,
    )


def must_open(place: Place, channel_id: str, view: Outlook) -> bool:
    """Tell whether a heartbeat has to open a channel: late writes too, which no turn looks for."""
    return view.due or channels(place).has_late_writes(channel_id)


def pending_in(place: Place, channel: Channel, now: datetime) -> tuple[Owed, ...]:
    """Return what a channel owes to the world, with the pauses the settings ask for."""
    return pending(channel, now, backoff=place.settings.retry_backoff)


def advance(place: Place, channel_id: str, now: datetime) -> ChannelStep:
    """Bring a channel up to date; `outcome` is `changed` or "".

    Raises:
        NotFoundError: There is no such channel.
        CouncilError: It cannot be read or written.
    """

    def rule(session: ChannelSession, step: ChannelStep) -> ChannelStep:
        found = without_gone_runs(place, step.channel, now)
        return step.then(floor.settle(found, (), now, rules=session.rules))

    return change(place, channel_id, now, rule)


def change(
    place: Place,
    channel_id: str,
    now: datetime,
    rule: Callable[[ChannelSession, ChannelStep], ChannelStep],
    *,
    actor: str = "",
) -> ChannelStep:
    """Bring a channel up to date, apply a rule, do what follows, and commit it once.

    Args:
        place: The workspace.
        channel_id: Which channel.
        now: The time.
        rule: Gets the session, through which it may post, and the step so far;
            returns the step with what it has done.
        actor: Who does it.
    """
    from council.store import files

    store = channels(place)
    since: Channel | None = None
    while True:
        with store.open(channel_id, now) as session:
            since = since or session.channel
            if not session.is_behind:
                return _change(place, session, now, rule, actor, since)
            # Very much was added at once. Whoever waits for the lock comes in between.
            with files.explaining("write", session.files.live):
                step = _noticed(session, now)
                session.commit(step.channel, page=session.page, events=step.events)


def _noticed(session: ChannelSession, now: datetime) -> ChannelStep:
    """Return the channel once notice was taken of the messages that were read."""
    step = shortened(session.channel, session.newest, session.tail_of_log.said_id)
    return step.then(floor.settle(step.channel, session.messages, now, rules=session.rules))


def _change(
    place: Place,
    session: ChannelSession,
    now: datetime,
    rule: Callable[[ChannelSession, ChannelStep], ChannelStep],
    actor: str,
    since: Channel,
) -> ChannelStep:
    """Do what `change` says where notice can be taken of everything at once.

    What was handed over is taken back for the turns that ended after `since`.
    """
    before = session.channel
    from council.store import files

    with files.explaining("write", session.files.live):
        step = _noticed(session, now)
        step = rule(session, step)
        step = _follow_up(place, session, step, now)
        if step.channel != before:
            session.commit(step.channel, page=session.page, events=step.events, actor=actor)
        else:
            session.say(step.events)
            if since is before:
                return step
    if session.channel.tasks:
        take_back(place, session.channel, since=since)
    if session.channel.discussion is not None:
        _take_back_reminders(place, session.channel, session.channel.discussion)
    return ChannelStep(
        channel=session.channel,
        events=step.events,
        outcome=step.outcome or "changed",
        reason=step.reason,
        allowed=step.allowed,
        model=step.model,
    )


def take_back(place: Place, channel: Channel, *, since: Channel | None = None) -> None:
    """Take away the prompts that were handed over for turns that are over.

    Those that were over in `since` are taken for gone already.
    """
    from council.store.files import remove

    for task in channel.tasks.values():
        if task.driver != "manual" or task.state is TaskState.R:
            continue
        if since is None or task.id not in since.tasks or since.tasks[task.id].state is TaskState.R:
            remove(f"{place.paths.tasks(task.agent)}/{task.id}.md")


def _take_back_reminders(place: Place, channel: Channel, about: Discussion) -> None:
    """Take away the words that a discussion is idle, but for the one that still holds.

    They are looked for by name: who was to take one away may have died.
    """
    from council.store.files import remove

    folder = place.paths.tasks(about.initiator)
    holds = about.reminded_at is not None and about.completed_at is None
    kept = _reminder(channel) if holds else ""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.startswith(f"{channel.channel_id}.") and name.endswith(_IDLE) and name != kept:
            remove(f"{folder}/{name}")


def _reminder(channel: Channel) -> str:
    """Return the name of the file that tells of an idle discussion; ids hold no dots."""
    return f"{channel.channel_id}.{channel.cycle}{_IDLE}"


def _follow_up(
    place: Place, session: ChannelSession, step: ChannelStep, now: datetime
) -> ChannelStep:
    """Do what the room owes by itself: answers, guide, reminder; queue the run for a summary."""
    for _ in range(_MOST_ROUNDS):
        step = step.then(floor.settle(step.channel, session.messages, now, rules=session.rules))
        posted = False
        for owed in pending(step.channel, now):
            if isinstance(owed, Reply | PostGuide):
                session.post(_by_moderator(step.channel, owed, now))
                posted = True
            elif isinstance(owed, Remind):
                step = step.then(_remind(place, step.channel, now))
                from council.store.agents import is_woken  # an idle discussion alone needs it

                if is_woken(place.root, place.settings, owed.agent):
                    step = step.then(summary_queued(step.channel, now))
        if not posted:
            return step
    return step


def _by_moderator(channel: Channel, owed: Reply | PostGuide, now: datetime) -> Message:
    from council.core.rooms.discussions import automatic_answer

    about = channel.discussion
    if isinstance(owed, PostGuide):
        guide = about.guide if about is not None else ""
        return Message(id=1, at=now, author=MODERATOR, content=guide, kind=MessageKind.GUIDE)
    return Message(
        id=1,
        at=now,
        author=MODERATOR,
        content=automatic_answer(channel),
        kind=MessageKind.AUTO,
        reply_to=owed.message,
    )


def _remind(place: Place, channel: Channel, now: datetime) -> ChannelStep:
    """Leave the initiator of an idle discussion a word in its tasks (DG-119)."""
    from council.core.rooms import discussions
    from council.store import files

    about = channel.discussion
    assert about is not None
    folder = place.paths.tasks(about.initiator)
    text = (
        f"{discussions.REMINDER}\n\nDiscussion: {channel.name} ({channel.channel_id})\n\n"
        f"    council discussion complete {channel.channel_id} --as {about.initiator} "
        f"--summary memory/shared/{discussions.SUMMARIES}/{channel.channel_id}.md\n"
    )
    files.make_folder(folder)
    files.replace(f"{folder}/{_reminder(channel)}", text.encode("utf-8", "replace"))
    return discussions.reminded(channel, now)
