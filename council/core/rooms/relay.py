"""What a master answers to the four rules of the relay, as JSON has it, read and written alike.

A master keeps rooms and accounts for workspaces elsewhere, its slaves. The words are those of
document 001; what it leaves out was filled in: an answer to each rule, and why one may not speak.
What an answer holds besides is not looked at, so a master may be newer than its slave.

Source: DG-156 to DG-161, A-28.
"""

from __future__ import annotations

from council.core.record import Record
from council.core.rooms.channels import ChannelStep, is_asleep

UNREACHABLE = "master_unreachable"


class Allowed(Record):
    """The answer to `check-turn`.

    Args:
        allowed: Whether the agent may speak now; its turn has then begun.
        speaker: Who has the floor, "" for none.
        model: The model to which a run is sent that may not speak.
        reason: Why it may not, or why all may.
        anchor: The newest message when the turn began, 0 for none; to be handed back at its end.
        hint: What is in the way of an answer.
    """

    _keys = "speaker:currentSpeaker? model~ reason~ anchor~ hint~"

    allowed: bool
    speaker: str = ""
    model: str = ""
    reason: str = ""
    anchor: int = 0
    hint: str = ""


class Completed(Record):
    """The answer to `turn-complete`: `outcome` and `reason` are those of the end of a turn.

    `accepted` is false for an end that was not the speaker's; it changes nothing.
    """

    _keys = "speaker:currentSpeaker? reason~"

    accepted: bool
    outcome: str
    speaker: str = ""
    cycle: int = 0
    dormant: bool = False
    reason: str = ""


class ChannelState(Record):
    """The answer to `get-channel-state`."""

    _keys = "state:tmState speaker:currentSpeaker?"

    mode: str
    state: str
    speaker: str = ""


def allowed(step: ChannelStep) -> Allowed:
    """Return what the begin of a turn comes to."""
    channel = step.channel
    anchor = channel.anchor if step.allowed and channel.speaker else 0
    return Allowed(**step.as_json("allowed model reason"), speaker=channel.speaker, anchor=anchor)


def completed(step: ChannelStep) -> Completed:
    """Return what the end of a turn comes to."""
    outcome = step.outcome
    if outcome == "awaiting-delivery" and step.channel.delivery is None:
        outcome = "advanced"  # its text lay there already
    return Completed(
        accepted=outcome != "ignored",
        outcome=outcome,
        speaker=step.channel.speaker,
        cycle=step.channel.cycle,
        dormant=is_asleep(step.channel),
        reason=step.reason,
    )
