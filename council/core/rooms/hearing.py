"""What a message does to a channel: it wakes the room, interrupts, is declined, or is just heard.

Only that it was written, and by whom, decides; no words are read. The essay in
`floor` says why.

Source: DG-062, DG-065, DG-086, DG-101, DG-117, DG-119, DG-142, A-23, A-26.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import TaskState
from council.core.errors import RefusedError
from council.core.events import Event
from council.core.rooms.channel_tasks import tasks_of_turn
from council.core.rooms.channels import (
    RULES,
    TAKES_TURNS,
    Channel,
    ChannelStep,
    FloorRules,
    Message,
    MessageKind,
    TurnState,
    agents_of,
    is_asleep,
)
from council.core.rooms.cycles import open_cycle

MOST_UNANSWERED = 100  # whoever pours in more at once needs no answer to each


def shortened(channel: Channel, newest: int, said: int) -> ChannelStep:
    """Make ready to hear lines that stand in a log which was shortened.

    A log that ends before `seen` has lost messages. Ours that remain say their
    number and were heard; what follows them may be new.

    Args:
        channel: The channel.
        newest: The number of the last line of the log.
        said: The number of the last line that says its own, 0 for none.

    Source: DG-101, XC-007.
    """
    if not said < newest < channel.seen:
        return ChannelStep(channel=channel)
    new = channel.copy(seen=said, anchor=min(channel.anchor, said))
    if new.delivery is not None:
        new.delivery.anchor = min(new.delivery.anchor, said)
    data = {"seen": channel.seen, "last": newest}
    return ChannelStep(channel=new, events=[Event(type="log.shortened", data=data)])


def take_notice(
    channel: Channel, message: Message, now: datetime, events: list[Event], rules: FloorRules
) -> None:
    """Do what `posted` says. Changes `channel`."""
    if message.id <= channel.seen:
        return
    channel.seen = message.id
    member = channel.members.get(message.author)
    if message.kind is not MessageKind.MESSAGE or (member is not None and member.moderator):
        _hear_moderator(channel, message, now, events, rules)
        return
    agent = message.agent or (member.agent if member is not None else "")
    if channel.state is TurnState.ARCHIVED:
        channel.unanswered = [*channel.unanswered, message.id][-MOST_UNANSWERED:]
        data = {"message": message.id, "author": message.author}
        events.append(Event(type="message.declined", agent=agent, data=data))
        return
    if not agent:
        begin_anew(channel)
    if channel.state not in TAKES_TURNS:
        return
    _rouse(channel, now)
    waiting = channel.delivery
    if is_asleep(channel):
        _wake_by_message(channel, message, agent, now, events, rules)
    elif waiting is not None:
        if agent != waiting.agent and message.author != waiting.account:
            data = {"message": message.id, "by": message.author, "cycle": channel.cycle}
            events.append(Event(type="delivery.interrupted", agent=waiting.agent, data=data))
            open_cycle(channel, now, events, rules)
    elif agent != channel.speaker:
        running = any(one.state is TaskState.R for one in tasks_of_turn(channel))
        begun = message.id > channel.anchor and (channel.began_at is not None or running)
        unheard = begun or any(one.agent != agent for one in channel.results)
        channel.interjected = channel.interjected or unheard


def _hear_moderator(
    channel: Channel, message: Message, now: datetime, events: list[Event], rules: FloorRules
) -> None:
    """Note what the moderator has done; only the guide of a discussion wakes anybody."""
    about = channel.discussion
    if message.kind is MessageKind.AUTO:
        channel.unanswered = [one for one in channel.unanswered if one != message.reply_to]
    elif about is None or channel.state is TurnState.ARCHIVED:
        return
    elif message.kind is MessageKind.REMINDER:
        about.reminded_at = now
    elif message.kind is MessageKind.GUIDE and not about.guide_id:
        about.guide_id = message.id
        _rouse(channel, now)
        if is_asleep(channel):
            _wake(channel, message.author, now, events, rules)


def begin_anew(channel: Channel) -> None:
    """Forget what the guards have counted: a person has spoken."""
    channel.cycles_alone, channel.repeats, channel.said = 0, 0, {}


def _rouse(channel: Channel, now: datetime) -> None:
    """Note that there is something to answer; from now on the speaker's time runs."""
    if channel.roused_at is None:
        channel.roused_at = now
        channel.turn_at = now if channel.speaker else None


def _wake_by_message(
    channel: Channel,
    message: Message,
    agent: str,
    now: datetime,
    events: list[Event],
    rules: FloorRules,
) -> None:
    alone = agents_of(channel.members) == (agent,)
    if agent and (channel.calmed or alone):
        data = {"reason": channel.calmed or "alone", "message": message.id}
        events.append(Event(type="wake.refused", agent=agent, data=data))
        return
    if agent and channel.dormant_at is not None and now - channel.dormant_at >= rules.rest:
        begin_anew(channel)
    _wake(channel, message.author, now, events, rules)


def _wake(channel: Channel, by: str, now: datetime, events: list[Event], rules: FloorRules) -> None:
    events.append(Event(type="channel.woken", data={"by": by, "cycle": channel.cycle + 1}))
    open_cycle(channel, now, events, rules)


def wake(
    channel: Channel, now: datetime, *, by: str = "", rules: FloorRules = RULES
) -> ChannelStep:
    """Wake the room by hand; `outcome` is `woken`, or `awake` where somebody has the floor.

    Raises:
        RefusedError: No turns are taken in this channel.
    """
    new = channel.copy()
    if new.state not in TAKES_TURNS:
        raise RefusedError(
            f"no turns are taken in {new.name}: its state is {new.state}",
            "turns are taken in chats and discussions with an agent in them",
        )
    events: list[Event] = []
    outcome = "woken" if is_asleep(new) else "awake"
    _rouse(new, now)
    if is_asleep(new):
        begin_anew(new)
        _wake(new, by, now, events, rules)
    return ChannelStep(channel=new, events=events, outcome=outcome)
