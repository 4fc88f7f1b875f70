"""Rules of discussions: channels that are opened with a guide and closed with a summary.

Who may open and complete one, what a guide must say, what the moderator says.
Turns are those of every channel (`floor`); what is due stands in `due`.

Source: DG-065, DG-111 to DG-124, A-23, A-26.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import TaskState
from council.core.errors import ConflictError, InvalidInputError, RefusedError
from council.core.rooms.channels import (
    Channel,
    ChannelStep,
    Discussion,
    Member,
    Mode,
    Transaction,
    TurnState,
    is_concluded,
)
from council.core.rooms.cycles import take_state
from council.core.rooms.due import tasks_of_turn

ARCHIVED_ANSWER = "This channel is archived and no longer active."
CLOSED_ANSWER = "This discussion is closed."
SUMMARIES = "discussion-summary"
REMINDER = "Discussion is idle. Please summarize and call discussion-complete."

# What a guide must have a heading for, by words of either language of the documents (DG-114).
GUIDE_PARTS = {
    "topic": ("topic", "topics", "subject", "sujet", "sujets", "thème"),
    "goals": ("goal", "goals", "objective", "objectives", "objectif", "objectifs", "but", "buts"),
    "completion criteria": ("completion", "criteria", "criterion", "critère", "critères", "done"),
}
_LONGEST_LABEL = 5


def automatic_answer(channel: Channel) -> str:
    """Return what a message to an archived channel is answered with (A-23)."""
    return CLOSED_ANSWER if is_concluded(channel) else ARCHIVED_ANSWER


def check_guide(text: str) -> None:
    """Check that a guide has a heading for topic, goals and completion criteria.

    A heading is a line that begins with `#`, is bold, or is a label before a colon.

    Raises:
        InvalidInputError: A heading is missing; the message names it.

    Source: DG-114.
    """
    words = {word for line in text.splitlines() for word in _heading_words(line)}
    missing = [part for part, names in GUIDE_PARTS.items() if words.isdisjoint(names)]
    if missing:
        raise InvalidInputError(
            f"the guide has no heading for: {', '.join(missing)}",
            "write one each: ## Topic, ## Goals, ## Completion criteria",
        )


def _heading_words(line: str) -> list[str]:
    """Return the words of a heading in lower case, none for a line of text."""
    plain = line.strip().lstrip("-* ").casefold()
    label, colon, _ = plain.partition(":")
    bare = line.strip()
    marked = bare.startswith("#") or (bare.startswith("**") and bare.rstrip(":").endswith("**"))
    title = plain if marked else label if colon else ""
    words = "".join(letter if letter.isalnum() else " " for letter in title).split()
    return words if marked or len(words) <= _LONGEST_LABEL else []


def discussion_of(
    channel_id: str,
    name: str,
    discussion: Discussion,
    members: dict[str, Member],
    now: datetime,
) -> Channel:
    """Return the channel of a new discussion: private, with its guide still to be posted.

    Raises:
        InvalidInputError: The guide lacks a heading.

    Source: DG-111 to DG-116.
    """
    check_guide(discussion.guide)
    return Channel(
        channel_id=channel_id,
        name=name,
        mode=Mode.DISCUSSION,
        private=True,
        created_at=now,
        updated_at=now,
        created_by=discussion.initiator,
        members=members,
        discussion=discussion,
    )


def completed(channel: Channel, caller: str, summary: str, now: datetime) -> ChannelStep:
    """Complete a discussion: its channel is sealed, call back and minutes are due.

    `outcome` is `completed`, or `already-completed` for the same summary again.

    Args:
        channel: The channel of the discussion.
        caller: The agent that completes it.
        summary: The path of the summary, already checked.
        now: The time.

    Raises:
        InvalidInputError: The channel holds no discussion.
        RefusedError: The caller is not the initiator.
        ConflictError: It was completed with another summary.

    Source: DG-120, DG-121, DG-123.
    """
    check_completing(channel, caller)
    work = Transaction(channel, now)
    new, about = work.channel, work.channel.discussion
    assert about is not None
    if about.completed_at is not None:
        if about.summary == summary:
            return work.step("already-completed")
        raise ConflictError(
            f"{channel.name} is completed already, with {about.summary}", "nothing was changed"
        )
    running = [one for one in tasks_of_turn(new) if not new.speaker and one.state is TaskState.R]
    about.completed_at, about.summary, about.closed_reason = now, summary, "completed"
    work.tell("discussion.completed", caller, summary=summary, cycles=new.cycle)
    for task in running:
        task.state, task.at = TaskState.D, now
    take_state(work, TurnState.ARCHIVED)
    return work.step("completed")


def check_completing(channel: Channel, caller: str) -> None:
    """Check that `caller` may complete this discussion, before anything is looked up (DG-121).

    Raises:
        InvalidInputError: The channel holds no discussion.
        RefusedError: The caller is not the initiator.
    """
    about = channel.discussion
    if about is None:
        raise InvalidInputError(
            f"{channel.name} is no discussion but a {channel.mode} channel",
            "only discussions are completed",
        )
    if caller != about.initiator:
        raise RefusedError(
            f"{caller or 'nobody in particular'} may not complete {channel.name}",
            f"only its initiator may: {about.initiator}",
        )


def reminded(channel: Channel, now: datetime) -> ChannelStep:
    """Note that the initiator was informed that the discussion is idle (DG-119)."""
    work = Transaction(channel, now)
    about = work.channel.discussion
    if about is not None and about.reminded_at is None:
        about.reminded_at = now
        work.tell("initiator.reminded", about.initiator)
    return work.step()


def called_back(channel: Channel, now: datetime, *, is_posted: bool = True) -> ChannelStep:
    """Note that the summary was posted where the discussion was called from (DG-123).

    With `is_posted` false: that this channel is gone and no message can be left there any more.
    """
    work = Transaction(channel, now)
    about = work.channel.discussion
    if about is not None and about.called_back_at is None:
        about.called_back_at = now
        kind = "summary.posted" if is_posted else "summary.undelivered"
        work.tell(kind, channel=about.callback, summary=about.summary)
    return work.step()


def minuted(channel: Channel, minutes: str) -> ChannelStep:
    """Note where the minutes of a completed discussion lie (DG-124)."""
    work = Transaction(channel, channel.updated_at)
    about = work.channel.discussion
    if about is not None and not about.minutes:
        about.minutes = minutes
        work.tell("minutes.written", path=minutes)
    return work.step()
