"""Who has the floor of a channel. (Signatures; the rules follow.)"""

from __future__ import annotations

from datetime import datetime

from council.core.channels import (
    RULES,
    Channel,
    ChannelStep,
    FloorRules,
    Member,
    Message,
    Mode,
    Result,
    TurnState,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def turn_state(mode: Mode, agents: int, concluded: bool = False) -> TurnState:
    """Return how turns are taken in a channel of that mode and head count (DG-039)."""
    raise NotImplementedError


def may_change_mode(old: Mode, new: Mode) -> bool:
    """Tell whether `channel mode` may change one mode into the other (DG-037, DG-038)."""
    raise NotImplementedError


def rebuilt(previous: Sequence[str], agents: Sequence[str]) -> tuple[str, ...]:
    """Return those still here in their order, then newcomers (DG-068)."""
    raise NotImplementedError


def is_dormant(results: Sequence[Result | None], joined: int) -> bool:
    """Tell whether a cycle with these results puts the room to sleep (DG-094)."""
    raise NotImplementedError


def opened(channel: Channel, now: datetime) -> ChannelStep:
    """Open a channel that was just made: its list of speakers, its first floor."""
    raise NotImplementedError


def change_mode(channel: Channel, mode: Mode, now: datetime) -> ChannelStep:
    """Change the mode; RefusedError (exit 6) with the reason where it may not be."""
    raise NotImplementedError


def begin(
    channel: Channel, agent: str, run: str, newest: int, now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """Answer whether `agent` may speak: `allowed`, `model` (the silent one), `reason`."""
    raise NotImplementedError


def end(
    channel: Channel, agent: str, run: str, text: str, now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """End a turn: `outcome` is advanced, awaiting-delivery, ignored or already-ended."""
    raise NotImplementedError


def posted(
    channel: Channel, message: Message, now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """Take notice of one message; one that is not newer than `seen` changes nothing."""
    raise NotImplementedError


def settle(
    channel: Channel, last: Sequence[Message], now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """Do all that is due, to a fixed point; `last` are the newest messages, oldest first.

    Messages after `channel.seen` are taken notice of (`posted`) in their order, so
    a caller that has appended a message needs only this.
    """
    raise NotImplementedError


def wake(channel: Channel, now: datetime, *, rules: FloorRules = RULES) -> ChannelStep:
    """Wake the room by hand (`turn wake`)."""
    raise NotImplementedError


def members_changed(
    channel: Channel, members: Mapping[str, Member], now: datetime, *, rules: FloorRules = RULES
) -> ChannelStep:
    """Take in who is a member now; the list of speakers changes at the boundary."""
    raise NotImplementedError
