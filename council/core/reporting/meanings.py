"""What the words of the five documents mean to each other.

Each store keeps its own words, and no output mixes them: where things of
several kinds stand side by side, each is named by its own word with one of these
meanings beside it.

Source: XC-103.
"""

from __future__ import annotations

from council.core.conversations.account import TIMEOUT, absences
from council.core.conversations.conversation import (
    ClosedReason,
    Conversation,
    ParticipantStatus,
    Status,
)
from council.core.conversations.procedures import SYNTHESIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.rooms.channels import Channel

CREATED = "created"
UNDER_WAY = "under-way"
PAUSED = "paused"
ENDED_WELL = "ended-well"
OUT_OF_TIME = "out-of-time"
WITHOUT_SOME = "without-some"
FAILED = "failed"
STOPPED = "stopped"

# meaning: the words for it in documents 000, 001, 002, 003 and 004
WORDS: dict[str, tuple[tuple[str, ...], ...]] = {
    CREATED: (("ACTIVE",), ("none",), ("N",), ("active",), ()),
    UNDER_WAY: (
        ("ACTIVE",),
        ("normal", "shuffle"),
        ("R",),
        ("active", "voting", "synthesizing"),
        ("start",),
    ),
    PAUSED: (("ACTIVE",), ("dormant", "disabled", "dead"), ("R",), (), ()),
    ENDED_WELL: (("CONVERGED",), ("archived",), ("D",), ("complete",), ("ok",)),
    OUT_OF_TIME: (("TIMEOUT",), (), ("F",), ("complete",), ("timeout",)),
    WITHOUT_SOME: (("TIMEOUT",), (), (), (), ()),
    FAILED: (("TIMEOUT",), (), ("F",), (), ("error",)),
    STOPPED: (("TIMEOUT", "CONVERGED"), ("archived",), ("X",), ("cancelled",), ("rejected",)),
}
DOCUMENTS = ("000", "001", "002", "003", "004")


def of_conversation(state: Conversation) -> str:
    """Return what the status of a conversation means."""
    if state.closed_reason is ClosedReason.CANCELLED:
        return STOPPED
    if state.phase == SYNTHESIZE and state.finished_at is None:
        return UNDER_WAY if state.paused_at is None else PAUSED  # its synthesis is awaited
    if state.status is Status.CONVERGED:
        return ENDED_WELL
    if state.status is Status.TIMEOUT:
        return _without_agreement(state)
    if state.paused_at is not None:
        return PAUSED
    waiting = all(one.status is ParticipantStatus.WAITING for one in state.participants.values())
    return CREATED if state.tour == 1 and not state.tasks and waiting else UNDER_WAY


def _without_agreement(state: Conversation) -> str:
    """Return what TIMEOUT means: document 000 has this word for each end without all (HR-026)."""
    if state.closed_reason is ClosedReason.NOBODY_LEFT:
        return FAILED
    by_time = not state.rounds or any(one.cause == TIMEOUT for one in absences(state))
    if by_time or state.closed_reason is not ClosedReason.PHASES_EXHAUSTED:
        return OUT_OF_TIME
    return WITHOUT_SOME


def word_of_channel(channel: Channel) -> str:
    """Return the word of document 001 for how a channel stands; `dormant` for one that sleeps."""
    from council.core.rooms.channels import is_asleep

    return "dormant" if is_asleep(channel) else str(channel.state)


def of_channel(channel: Channel) -> str:
    """Return what the state of a channel means."""
    word = word_of_channel(channel)
    if word == "archived":
        return ENDED_WELL
    if word in ("normal", "shuffle"):
        return UNDER_WAY if channel.roused_at is not None else CREATED
    return PAUSED if channel.cycle else CREATED


def of_task(state: str, code: str = "") -> str:
    """Return what the state of a task of document 002 means."""
    if state == "F":
        return OUT_OF_TIME if code in ("E20", "E21", "E22", "E23") else FAILED
    known = {"N": CREATED, "R": UNDER_WAY, "D": ENDED_WELL, "X": STOPPED}
    return known[state]
