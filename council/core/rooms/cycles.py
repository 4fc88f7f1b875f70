"""Cycles of a channel: who speaks, in which order, and what happens where a cycle ends.

The moves of the pointer: the floor is given, the next one has it, a cycle
ends and another begins or the room falls asleep. When they are due is
decided in `floor`; the essay is there. All but the first three change the
channel they are given and tell what happened in `events`.

Source: DG-039, DG-063 to DG-070, DG-091 to DG-103, OP-014, A-22, A-27.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import TaskState
from council.core.conversations.procedures import shuffled
from council.core.events import Event
from council.core.rooms.channels import (
    TAKES_TURNS,
    Channel,
    FloorRules,
    Mode,
    Result,
    TurnState,
    agents_of,
    is_concluded,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_OPEN = (TaskState.N, TaskState.R)


def turn_state(mode: Mode, agents: int, concluded: bool = False) -> TurnState:
    """Return how turns are taken in a channel of that mode and head count (DG-039, OP-014)."""
    if mode == Mode.REPORT:
        return TurnState.DEAD
    if mode not in (Mode.DISCUSSION, Mode.CHAT):
        return TurnState.DISABLED
    if mode == Mode.DISCUSSION and concluded:
        return TurnState.ARCHIVED
    if not agents:
        return TurnState.DISABLED
    return TurnState.NORMAL if agents <= 2 else TurnState.SHUFFLE


def rebuilt(previous: Sequence[str], agents: Sequence[str]) -> tuple[str, ...]:
    """Return those who are still here in their order, then the newcomers in theirs (DG-068).

    >>> rebuilt(["a", "b"], ["e", "b"])
    ('b', 'e')
    """
    here = dict.fromkeys(agents)
    return (
        *(one for one in previous if one in here),
        *(one for one in here if one not in previous),
    )


def is_dormant(results: Sequence[Result | None], joined: int) -> bool:
    """Tell whether a cycle that ended so puts the room to sleep (DG-094).

    Args:
        results: One for each turn; None for one who left before its turn (DG-097).
        joined: How many agents are new at the boundary.
    """
    return not joined and all(one.empty for one in results if one is not None)


def state_now(channel: Channel) -> TurnState:
    """Return the state that mode and members call for; who archived a channel keeps it so."""
    if channel.state is TurnState.ARCHIVED:
        return TurnState.ARCHIVED
    return turn_state(channel.mode, len(agents_of(channel.members)), is_concluded(channel))


def take_state(channel: Channel, state: TurnState, events: list[Event]) -> None:
    """Take over a state; where no turns are taken nobody has the floor."""
    if state is not channel.state:
        data = {"from": str(channel.state), "to": str(state)}
        channel.state = state
        events.append(Event(type="state.changed", data=data))
    if state not in TAKES_TURNS:
        clear_floor(channel)
        channel.results, channel.interjected, channel.dormant_at = [], False, None
        channel.calmed = ""


def open_cycle(channel: Channel, now: datetime, events: list[Event], rules: FloorRules) -> None:
    """Begin a cycle with its first speaker, unless too many went by without a person."""
    take_state(channel, state_now(channel), events)
    if channel.state not in TAKES_TURNS:
        return
    if rules.max_cycles and channel.cycles_alone >= rules.max_cycles:
        _calm(channel, "max-cycles", now, events)
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
    _give_floor(channel, channel.speakers[0], now, events)


def pass_on(channel: Channel, now: datetime, events: list[Event], rules: FloorRules) -> None:
    """Give the floor to the next one who is still here; after the last one the cycle ends."""
    here = agents_of(channel.members)
    after = channel.speakers.index(channel.speaker) + 1
    for agent in channel.speakers[after:]:
        if agent in here:
            _give_floor(channel, agent, now, events)
            return
        skipped(channel, agent, events)
    _end_cycle(channel, now, events, rules)


def skipped(channel: Channel, agent: str, events: list[Event]) -> None:
    """Tell that the turn of one who left is skipped (DG-097)."""
    data = {"cycle": channel.cycle, "reason": "left"}
    events.append(Event(type="turn.skipped", agent=agent, data=data))


def clear_floor(channel: Channel) -> None:
    """Take the floor from whoever has it; what is still under way for it ends."""
    channel.speaker, channel.run, channel.delivery = "", "", None
    channel.turn_at, channel.began_at = None, None
    for task in channel.tasks.values():
        if task.state in _OPEN:
            task.state, task.reason = TaskState.X, "the turn is over"


def _give_floor(channel: Channel, agent: str, now: datetime, events: list[Event]) -> None:
    clear_floor(channel)
    channel.speaker, channel.turn_at = agent, now
    # An end without a begin must not find the text of an earlier turn.
    channel.anchor = channel.seen
    channel.turn += 1
    data = {"cycle": channel.cycle, "turn": channel.turn}
    events.append(Event(type="floor.given", agent=agent, data=data))


def _end_cycle(channel: Channel, now: datetime, events: list[Event], rules: FloorRules) -> None:
    """Decide at the boundary: rebuild the list, sleep or go on, shuffle (DG-093, DG-099)."""
    before, here = channel.speakers, agents_of(channel.members)
    joined = [one for one in here if one not in before]
    unanimous = is_dormant(channel.results, len(joined)) and not channel.interjected
    last = channel.results[-1].agent if channel.results else before[-1]
    real = [one for one in channel.results if not one.empty]
    channel.repeats = channel.repeats + 1 if real and all(one.alike for one in real) else 0
    results = [{"agentId": one.agent, "empty": one.empty} for one in channel.results]
    ended = {"cycle": channel.cycle, "results": results, "interjected": channel.interjected}
    events.append(Event(type="cycle.ended", data=ended))
    channel.speakers = rebuilt(before, here)
    channel.said = {agent: text for agent, text in channel.said.items() if agent in here}
    left = [one for one in before if one not in here]
    listed = {"speakers": list(channel.speakers), "joined": joined, "left": left}
    events.append(Event(type="order.rebuilt", data=listed))
    if not here:
        events.append(Event(type="channel.dormant", data={"reason": "all-left"}))
    take_state(channel, state_now(channel), events)
    if channel.state not in TAKES_TURNS:
        return
    if unanimous:
        _fall_asleep(channel, "all-passed", now, events)
    elif len(here) == 1 and not channel.interjected and not joined:
        _fall_asleep(channel, "alone", now, events)  # it would answer itself
    elif rules.max_repeats and channel.repeats >= rules.max_repeats:
        _calm(channel, "repetition", now, events)
    if channel.state is TurnState.SHUFFLE:
        seed = f"{channel.channel_id}/{channel.cycle + 1}"
        channel.speakers = shuffled(channel.speakers, seed=seed, last=last)
        events.append(Event(type="order.shuffled", data={"speakers": list(channel.speakers)}))
    if channel.dormant_at is None:
        open_cycle(channel, now, events, rules)


def _calm(channel: Channel, reason: str, now: datetime, events: list[Event]) -> None:
    """Put a room to sleep that would not stop by itself; only a person wakes it."""
    channel.calmed = reason
    data = {"reason": reason, "cycles": channel.cycles_alone, "repeats": channel.repeats}
    events.append(Event(type="channel.calmed", data=data))
    _fall_asleep(channel, reason, now, events)


def _fall_asleep(channel: Channel, reason: str, now: datetime, events: list[Event]) -> None:
    clear_floor(channel)
    channel.results, channel.interjected = [], False
    channel.dormant_at = now
    data = {"cycle": channel.cycle, "reason": reason}
    events.append(Event(type="channel.dormant", data=data))
