"""Cycles of a channel: who speaks, in which order, where a cycle ends, what a message does to it.

The moves of the pointer: the floor is given, the next one has it, a cycle
ends and another begins or the room falls asleep. Of a message only that it was
written, and by whom, decides; no words are read: it wakes the room, interrupts, is
declined, or is just heard. When these moves are due is decided in `floor`; the
essay is there. Those that get a transaction change its channel and report what happened.

Source: DG-039, DG-062 to DG-070, DG-086, DG-091 to DG-103, DG-117, DG-119, DG-142, OP-014,
A-22, A-23, A-26, A-27.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from council.core.conversations.conversation import TaskState
from council.core.conversations.procedures import shuffled
from council.core.errors import RefusedError
from council.core.events import Event
from council.core.reasons import Reason
from council.core.rooms.channels import (
    RULES,
    TAKES_TURNS,
    Channel,
    ChannelStep,
    FloorRules,
    Message,
    MessageKind,
    Mode,
    Result,
    Transaction,
    TurnState,
    agents_of,
    is_asleep,
    is_concluded,
)
from council.core.rooms.due import tasks_of_turn

MOST_UNANSWERED = 100  # an author who pours in more at once needs no answer to each
_OPEN = (TaskState.N, TaskState.R)


def turn_state(mode: Mode, agents: int, concluded: bool = False) -> TurnState:
    """Return how turns are taken in a channel of that mode and head count (DG-039, OP-014)."""
    if mode == Mode.REPORT:
        return TurnState.DEAD
    if mode == Mode.DISCUSSION and concluded:
        return TurnState.ARCHIVED
    if mode not in (Mode.DISCUSSION, Mode.CHAT) or not agents:
        return TurnState.DISABLED
    return TurnState.NORMAL if agents <= 2 else TurnState.SHUFFLE


def rebuilt(previous: Sequence[str], agents: Sequence[str]) -> tuple[str, ...]:
    """Return those who are still here in their order, then the newcomers in theirs (DG-068).

    >>> rebuilt(["a", "b"], ["e", "b"])
    ('b', 'e')
    """
    here = dict.fromkeys(agents)
    stayed = [one for one in previous if one in here]
    return (*stayed, *(one for one in here if one not in previous))


def is_dormant(results: Sequence[Result | None], joined: int) -> bool:
    """Return true if a cycle that ended so puts the room to sleep (DG-094).

    Args:
        results: One for each turn; None for one who left before its turn (DG-097).
        joined: How many agents are new at the boundary.
    """
    return not joined and all(one.empty for one in results if one is not None)


def state_now(channel: Channel) -> TurnState:
    """Return the state that mode and members call for; an archived channel stays archived."""
    if channel.state is TurnState.ARCHIVED:
        return TurnState.ARCHIVED
    return turn_state(channel.mode, len(agents_of(channel.members)), is_concluded(channel))


def take_state(work: Transaction, state: TurnState) -> None:
    """Take over a state; where no turns are taken no member has the floor."""
    channel = work.channel
    if state is not channel.state:
        work.tell("state.changed", **{"from": str(channel.state), "to": str(state)})
        channel.state = state
    if state not in TAKES_TURNS:
        clear_floor(channel)
        channel.results, channel.interjected, channel.dormant_at = [], False, None
        channel.calmed = ""


def open_cycle(work: Transaction) -> None:
    """Begin a cycle with its first speaker, unless too many went by without a person."""
    channel = work.channel
    take_state(work, state_now(channel))
    if channel.state not in TAKES_TURNS:
        return
    if work.rules.max_cycles and channel.cycles_alone >= work.rules.max_cycles:
        _calm(work, "max-cycles")
        return
    channel.speakers = rebuilt(channel.speakers, agents_of(channel.members))
    channel.cycle += 1
    channel.cycles_alone += 1
    channel.results, channel.interjected = [], False
    channel.dormant_at, channel.calmed = None, ""
    if channel.discussion is not None:
        channel.discussion.reminded_at = None
    for task in list(channel.tasks.values()):
        # What the cycle before cost can still be read; a room that goes on for ever must not grow.
        if task.tour < channel.cycle - 1:
            del channel.tasks[task.id]
    _give_floor(work, channel.speakers[0])


def pass_on(work: Transaction) -> None:
    """Give the floor to the next one who is still here; after the last one the cycle ends."""
    channel = work.channel
    here = agents_of(channel.members)
    after = channel.speakers.index(channel.speaker) + 1
    for agent in channel.speakers[after:]:
        if agent in here:
            _give_floor(work, agent)
            return
        skipped(work, agent)
    _end_cycle(work)


def skipped(work: Transaction, agent: str) -> None:
    """Report that the turn of one who left is skipped (DG-097)."""
    work.tell("turn.skipped", agent, cycle=work.channel.cycle, reason="left")


def clear_floor(channel: Channel) -> None:
    """Take the floor from its speaker; what is still under way for it ends."""
    channel.speaker, channel.run, channel.delivery = "", "", None
    channel.turn_at, channel.began_at = None, None
    for task in channel.tasks.values():
        if task.state in _OPEN:
            task.state, task.reason = TaskState.X, Reason.of("turn-over")


def _give_floor(work: Transaction, agent: str) -> None:
    channel = work.channel
    clear_floor(channel)
    channel.speaker, channel.turn_at = agent, work.now
    # An end without a begin must not find the text of an earlier turn.
    channel.anchor = channel.seen
    channel.turn += 1
    work.tell("floor.given", agent, cycle=channel.cycle, turn=channel.turn)


def _end_cycle(work: Transaction) -> None:
    """Decide at the boundary: rebuild the list, sleep or go on, shuffle (DG-093, DG-099)."""
    channel, rules = work.channel, work.rules
    before, here = channel.speakers, agents_of(channel.members)
    joined = [one for one in here if one not in before]
    unanimous = is_dormant(channel.results, len(joined)) and not channel.interjected
    last = channel.results[-1].agent if channel.results else before[-1]
    real = [one for one in channel.results if not one.empty]
    channel.repeats = channel.repeats + 1 if real and all(one.alike for one in real) else 0
    results = [{"agentId": one.agent, "empty": one.empty} for one in channel.results]
    work.tell("cycle.ended", cycle=channel.cycle, results=results, interjected=channel.interjected)
    channel.speakers = rebuilt(before, here)
    channel.said = {agent: text for agent, text in channel.said.items() if agent in here}
    left = [one for one in before if one not in here]
    work.tell("order.rebuilt", speakers=list(channel.speakers), joined=joined, left=left)
    if not here:
        work.tell("channel.dormant", reason="all-left")
    take_state(work, state_now(channel))
    if channel.state not in TAKES_TURNS:
        return
    if unanimous:
        _fall_asleep(work, "all-passed")
    elif len(here) == 1 and not channel.interjected and not joined:
        _fall_asleep(work, "alone")  # it would answer itself
    elif rules.max_repeats and channel.repeats >= rules.max_repeats:
        _calm(work, "repetition")
    if channel.state is TurnState.SHUFFLE:
        seed = f"{channel.channel_id}/{channel.cycle + 1}"
        channel.speakers = shuffled(channel.speakers, seed=seed, last=last)
        work.tell("order.shuffled", speakers=list(channel.speakers))
    if channel.dormant_at is None:
        open_cycle(work)


def _calm(work: Transaction, reason: str) -> None:
    """Put a room to sleep that would not stop by itself; only a person wakes it."""
    channel = work.channel
    channel.calmed = reason
    work.tell("channel.calmed", reason=reason, cycles=channel.cycles_alone, repeats=channel.repeats)
    _fall_asleep(work, reason)


def _fall_asleep(work: Transaction, reason: str) -> None:
    channel = work.channel
    clear_floor(channel)
    channel.results, channel.interjected = [], False
    channel.dormant_at = work.now
    work.tell("channel.dormant", cycle=channel.cycle, reason=reason)


# --- What a message does


def shortened(channel: Channel, newest: int, said: int) -> ChannelStep:
    """Make ready to take in lines that stand in a log which was shortened.

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


def take_notice(work: Transaction, message: Message) -> None:
    """Do to the channel what a message does that it has not taken notice of."""
    channel = work.channel
    if message.id <= channel.seen:
        return
    channel.seen = message.id
    member = channel.members.get(message.author)
    if message.kind is not MessageKind.MESSAGE or (member is not None and member.moderator):
        _hear_moderator(work, message)
        return
    agent = message.agent or (member.agent if member is not None else "")
    if channel.state is TurnState.ARCHIVED:
        channel.unanswered = [*channel.unanswered, message.id][-MOST_UNANSWERED:]
        work.tell("message.declined", agent, message=message.id, author=message.author)
        return
    if not agent:
        begin_anew(channel)
    if channel.state not in TAKES_TURNS:
        return
    _rouse(work)
    waiting = channel.delivery
    if is_asleep(channel):
        _wake_by_message(work, message, agent)
    elif waiting is not None:
        if agent != waiting.agent and message.author != waiting.account:
            data = {"message": message.id, "by": message.author, "cycle": channel.cycle}
            work.tell("delivery.interrupted", waiting.agent, **data)
            open_cycle(work)
    elif agent != channel.speaker:
        running = any(one.state is TaskState.R for one in tasks_of_turn(channel))
        begun = message.id > channel.anchor and (channel.began_at is not None or running)
        unheard = begun or any(one.agent != agent for one in channel.results)
        channel.interjected = channel.interjected or unheard


def _hear_moderator(work: Transaction, message: Message) -> None:
    """Note what the moderator has done; only the guide of a discussion wakes anybody."""
    channel, about = work.channel, work.channel.discussion
    if message.kind is MessageKind.AUTO:
        channel.unanswered = [one for one in channel.unanswered if one != message.reply_to]
    elif about is None or channel.state is TurnState.ARCHIVED:
        return
    elif message.kind is MessageKind.REMINDER:
        about.reminded_at = work.now
    elif message.kind is MessageKind.GUIDE and not about.guide_id:
        about.guide_id = message.id
        _rouse(work)
        if is_asleep(channel):
            _wake(work, message.author)


def begin_anew(channel: Channel) -> None:
    """Forget what the guards have counted: a person has spoken."""
    channel.cycles_alone, channel.repeats, channel.said = 0, 0, {}


def _rouse(work: Transaction) -> None:
    """Note that there is something to answer; from now on the speaker's time runs."""
    channel = work.channel
    if channel.roused_at is None:
        channel.roused_at = work.now
        channel.turn_at = work.now if channel.speaker else None


def _wake_by_message(work: Transaction, message: Message, agent: str) -> None:
    channel = work.channel
    alone = agents_of(channel.members) == (agent,)
    if agent and (channel.calmed or alone):
        work.tell("wake.refused", agent, reason=channel.calmed or "alone", message=message.id)
        return
    since = channel.dormant_at
    if agent and since is not None and work.now - since >= work.rules.rest:
        begin_anew(channel)
    _wake(work, message.author)


def _wake(work: Transaction, by: str) -> None:
    work.tell("channel.woken", by=by, cycle=work.channel.cycle + 1)
    open_cycle(work)


def wake(
    channel: Channel, now: datetime, *, by: str = "", rules: FloorRules = RULES
) -> ChannelStep:
    """Wake the room by hand; `outcome` is `woken`, or `awake` where a member has the floor.

    Raises:
        RefusedError: No turns are taken in this channel.
    """
    work = Transaction(channel, now, rules)
    if channel.state not in TAKES_TURNS:
        raise RefusedError(
            f"no turns are taken in {channel.name}: its state is {channel.state}",
            "turns are taken in chats and discussions with an agent in them",
        )
    was_asleep = is_asleep(channel)
    _rouse(work)
    if was_asleep:
        begin_anew(work.channel)
        _wake(work, by)
    return work.step("woken" if was_asleep else "awake")
