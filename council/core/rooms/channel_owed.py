"""What a channel owes to the world, read from its saved state alone.

Whom to wake, whether a signal, an automatic answer, the guide of a discussion,
a reminder, a call back or minutes are due. Nothing here changes anything.
Each thing is owed until the channel says that it was done, so whoever does it
may die in between: it is done again, and never forgotten.

    Wake       →  `channel_tasks.task_started`
    Signal     →  shown with the next revision
    Reply      →  append the automatic answer, then `settle` sees it
    PostGuide  →  append the guide, then `settle` sees it
    Remind     →  `discussions.reminded`, and `channel_tasks.summary_queued` where a run is to come
    CallBack   →  `discussions.called_back`
    Archive    →  `discussions.minuted`

Source: DG-065, DG-085, DG-096, DG-117, DG-119, DG-123, DG-124, OP-014, XC-007, A-23.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from council.core.conversations.conversation import TaskState
from council.core.conversations.owed import RETRY_BACKOFF, Archive, Wake, pause
from council.core.ids import task_id
from council.core.record import Record
from council.core.rooms.channel_tasks import asked, attempts_used_up, tasks_of_turn
from council.core.rooms.channels import (
    RULES,
    Channel,
    FloorRules,
    TurnState,
    is_asleep,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.conversations.conversation import Task

_THE_END = datetime.max.replace(tzinfo=UTC)


class Signal(Record):
    """The floor was given for the `turn`-th time: the schedule identifier is to be shown."""

    turn: int
    agent: str


class Reply(Record):
    """Message `message` was sent to an archived channel: it gets the automatic answer."""

    message: int


class PostGuide(Record):
    """The guide of a discussion is to be posted as its first message."""


class Remind(Record):
    """The initiator of a discussion that is idle is to be told so."""

    agent: str


class CallBack(Record):
    """The summary of a completed discussion is to be posted in channel `channel`."""

    channel: str


Owed = Wake | Signal | Reply | PostGuide | Remind | CallBack | Archive


def pending(
    channel: Channel,
    now: datetime,
    *,
    backoff: tuple[timedelta, ...] = RETRY_BACKOFF,
) -> tuple[Owed, ...]:
    """Return what is owed to the world at `now`, the most urgent first."""
    owed: list[Owed] = [Reply(message=one) for one in channel.unanswered]
    about = channel.discussion
    if about is not None and about.guide and not about.guide_id and about.completed_at is None:
        owed.append(PostGuide())
    if channel.speaker and channel.signalled < channel.turn:
        owed.append(Signal(turn=channel.turn, agent=channel.speaker))
    due = _wake(channel, now, backoff)
    if due is not None:
        owed.append(due)
    if about is None:
        return tuple(owed)
    if _is_idle(channel) and about.reminded_at is None:
        owed.append(Remind(agent=about.initiator))
    if about.completed_at is not None:
        if about.callback and about.called_back_at is None:
            owed.append(CallBack(channel=about.callback))
        if not about.minutes:
            owed.append(Archive())
    return tuple(owed)


def _is_idle(channel: Channel) -> bool:
    """Tell whether a discussion waits for its initiator: all passed, or too few are left."""
    given_up = channel.state is TurnState.DISABLED and channel.cycle > 0
    return is_asleep(channel) or given_up


def _wake(channel: Channel, now: datetime, backoff: tuple[timedelta, ...]) -> Wake | None:
    """Return the run that the speaker is owed, None while it is under way or not due yet.

    Where nobody has the floor it is the run that an idle discussion waits for.
    """
    if channel.delivery is not None or channel.began_at is not None:
        return None
    if channel.speaker and channel.roused_at is None:
        return None
    tasks = tasks_of_turn(channel)
    last = tasks[-1] if tasks else None
    if last is None:
        return _owed_run(channel, 1, channel.turn_at) if channel.turn_at else None
    if last.state is TaskState.N:
        return _owed_run(channel, last.attempt, channel.turn_at or last.at)
    if last.state is not TaskState.F or attempts_used_up(tasks):
        return None
    due_at = last.at + _pause(tasks, backoff)
    return _owed_run(channel, last.attempt + 1, due_at) if due_at <= now else None


def _pause(tasks: list[Task], backoff: tuple[timedelta, ...]) -> timedelta:
    failures = sum(one.is_failed_run for one in tasks)
    return pause(failures, backoff) if tasks[-1].is_failed_run else timedelta(0)


def _owed_run(channel: Channel, attempt: int, due_at: datetime) -> Wake:
    agent = asked(channel)
    task = task_id(channel.channel_id, channel.cycle, agent, attempt)
    return Wake(agent=agent, task=task, attempt=attempt, due_at=due_at)


def next_due(
    channel: Channel,
    *,
    rules: FloorRules = RULES,
    backoff: tuple[timedelta, ...] = RETRY_BACKOFF,
) -> datetime | None:
    """Return when time alone will make something due in a channel in which nothing is due now.

    Until then neither `settle`, without a new message, nor `pending` finds
    anything. It is an instant in the past when something is owed already or
    waits for a place, and None when only somebody's act can go on.
    """
    if pending(channel, channel.created_at, backoff=backoff):
        return channel.created_at
    if channel.delivery is not None:
        return channel.delivery.ends_at
    instants = []
    since = channel.began_at or channel.turn_at
    if channel.speaker and channel.roused_at is not None and since is not None:
        instants.append(since + rules.turn_timeout)
    for task in tasks_of_turn(channel):
        if task.state is TaskState.R and task.ends_at is not None:
            instants.append(task.ends_at)
    instants += [
        one.due_at for one in pending(channel, _THE_END, backoff=backoff) if isinstance(one, Wake)
    ]
    return min(instants, default=None)
