"""What is due in a channel, read from its saved state alone, and the runs for its floor.

Whom to wake, whether a signal, an automatic answer, the guide of a discussion,
a reminder, a call back or minutes are due. Each thing is due until the channel
says that it was done, so a process that does it may die in between: it is done
again, and never forgotten.

    Wake       →  `task_started`
    Signal     →  shown with the next revision
    Reply      →  append the automatic answer, then `settle` sees it
    PostGuide  →  append the guide, then `settle` sees it
    Remind     →  `discussions.reminded`, and `summary_queued` where a run is to come
    CallBack   →  `discussions.called_back`
    Archive    →  `discussions.minuted`

A task is one attempt to get the turn of the speaker: queued, started, refused,
failed, lost. It is claimed in the channel before its run starts, with a lease; the
end of the turn ends it. Where a discussion has fallen idle it is an attempt to get
its summary of the initiator; such a task is marked, since the initiator may have
had a turn in the same cycle.

Source: DG-065, DG-085, DG-096, DG-117, DG-119, DG-123, DG-124, OP-014, C0-076, XC-007, XC-016,
A-23, `cli.md` section 5, `architecture.md` section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from council.core.conversations.conversation import Task, TaskState
from council.core.conversations.due import RETRY_BACKOFF, Archive, Wake, pause, used_up, was_refused
from council.core.ids import task_id
from council.core.reasons import LOST, NO_REASON, TIMEOUT, Reason
from council.core.record import Any, Record
from council.core.rooms.channels import (
    RULES,
    Channel,
    ChannelStep,
    FloorRules,
    Transaction,
    TurnState,
    is_asleep,
)

_HEARD = "heard"
_SUMMARY = "summary"
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
    """The initiator of a discussion that is idle is to be informed."""

    agent: str


class CallBack(Record):
    """The summary of a completed discussion is to be posted in channel `channel`."""

    channel: str


Action = Wake | Signal | Reply | PostGuide | Remind | CallBack | Archive


def pending(
    channel: Channel,
    now: datetime,
    *,
    backoff: tuple[timedelta, ...] = RETRY_BACKOFF,
    here: Callable[[str], bool] | None = None,
) -> tuple[Action, ...]:
    """Return what is due at `now`, the most urgent first.

    With `here`, which knows the agents of this machine, no run that another one has to start.
    """
    due: list[Action] = [Reply(message=one) for one in channel.unanswered]
    about = channel.discussion
    if about is not None and about.guide and not about.guide_id and about.completed_at is None:
        due.append(PostGuide())
    if channel.speaker and channel.signalled < channel.turn:
        due.append(Signal(turn=channel.turn, agent=channel.speaker))
    run = _wake(channel, now, backoff)
    if run is not None and (here is None or here(run.agent)):
        due.append(run)
    if about is None:
        return tuple(due)
    # All passed, or too few are left: it waits for its initiator.
    idle = is_asleep(channel) or (channel.state is TurnState.DISABLED and channel.cycle > 0)
    if idle and about.reminded_at is None:
        due.append(Remind(agent=about.initiator))
    if about.completed_at is not None:
        if about.callback and about.called_back_at is None:
            due.append(CallBack(channel=about.callback))
        if not about.minutes:
            due.append(Archive())
    return tuple(due)


def _wake(channel: Channel, now: datetime, backoff: tuple[timedelta, ...]) -> Wake | None:
    """Return the run that is due for the speaker, None while it is under way or not due yet.

    Where the floor is free it is the run that an idle discussion waits for.
    """
    if channel.delivery is not None or channel.began_at is not None:
        return None
    if channel.speaker and channel.roused_at is None:
        return None
    tasks = tasks_of_turn(channel)
    last = tasks[-1] if tasks else None
    if last is None:
        return _run(channel, 1, channel.turn_at) if channel.turn_at else None
    if last.state is TaskState.N:
        return _run(channel, last.attempt, channel.turn_at or last.at)
    if last.state is not TaskState.F or used_up(tasks):
        return None
    due_at = last.at
    if last.is_failed_run:
        due_at += pause(sum(one.is_failed_run for one in tasks), backoff)
    return _run(channel, last.attempt + 1, due_at) if due_at <= now else None


def _run(channel: Channel, attempt: int, due_at: datetime) -> Wake:
    agent = asked(channel)
    task = task_id(channel.channel_id, channel.cycle, agent, attempt)
    return Wake(agent=agent, task=task, attempt=attempt, due_at=due_at)


def next_due(
    channel: Channel,
    *,
    rules: FloorRules = RULES,
    backoff: tuple[timedelta, ...] = RETRY_BACKOFF,
    here: Callable[[str], bool] | None = None,
) -> datetime | None:
    """Return when time alone will make something due in a channel in which nothing is due now.

    Until then neither `settle`, without a new message, nor `pending` finds
    anything. It is an instant in the past when something is due already or
    waits for a place, and None when only a member's act can go on.
    """
    if pending(channel, channel.created_at, backoff=backoff, here=here):
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
    later = pending(channel, _THE_END, backoff=backoff, here=here)
    instants += [one.due_at for one in later if isinstance(one, Wake)]
    return min(instants, default=None)


# --- The runs for the floor


def asked(channel: Channel) -> str:
    """Return which agent runs are for: the speaker, or who is to sum up an idle discussion.

    Source: OP-014.
    """
    about = channel.discussion
    if channel.speaker or about is None or about.completed_at is not None:
        return channel.speaker
    return about.initiator if about.reminded_at is not None else ""


def tasks_of_turn(channel: Channel) -> list[Task]:
    """Return the tasks for the turn or summary under way, in the order of their attempts."""
    mine = [one for one in _in_cycle(channel) if channel.speaker or one.extra.get(_SUMMARY)]
    return sorted(mine, key=lambda one: one.attempt)


def _in_cycle(channel: Channel) -> list[Task]:
    agent = asked(channel)
    return [
        one for one in channel.tasks.values() if one.agent == agent and one.tour == channel.cycle
    ]


def heard_up_to(channel: Channel, agent: str) -> int:
    """Return the number of the message up to which an agent was shown everything before.

    It follows from the runs of its earlier turns, 0 where nothing says.
    """
    heard = [
        one.extra.get(_HEARD)
        for one in channel.tasks.values()
        if one.agent == agent and one.tour < channel.cycle
    ]
    return max((number for number in heard if isinstance(number, int)), default=0)


def summary_queued(channel: Channel, now: datetime) -> ChannelStep:
    """Queue a run of the initiator of an idle discussion, which it was just reminded of.

    Source: OP-014.
    """
    attempt = 1 + max((one.attempt for one in _in_cycle(channel)), default=0)
    return task_queued(channel, _run(channel, attempt, now), driver="", now=now)


def task_queued(channel: Channel, due: Wake, *, driver: str, now: datetime) -> ChannelStep:
    """Write down that a run is due and waits for a place; the time of a turn stands still."""
    work = Transaction(channel, now)
    if due.task not in channel.tasks and _is_due(channel, due):
        _add_task(work, due, TaskState.N, driver)
        work.tell("task.queued", due.agent, task=due.task)
    return work.step()


def task_started(
    channel: Channel,
    due: Wake,
    *,
    driver: str,
    now: datetime,
    ends_at: datetime | None,
    newest: int = 0,
) -> ChannelStep:
    """Claim a run; its time begins now. `outcome` is `claimed`, "" if it is not due any more.

    `ends_at` is the end of its lease, None for an agent that answers by itself.
    What the agent says after `newest` belongs to this turn; up to there it has heard all.
    """
    work = Transaction(channel, now)
    if not _is_due(channel, due):
        return work.step()
    new = work.channel
    if new.speaker:
        new.turn_at = now
        new.anchor = max(new.anchor, newest)
    _add_task(work, due, TaskState.R, driver, ends_at=ends_at).extra[_HEARD] = newest
    label = f"council-{new.channel_id}-{due.agent}"
    data = {"task": due.task, "driver": driver, "attempt": due.attempt, "label": label}
    work.tell("task.started", due.agent, **data)
    return work.step("claimed")


def task_refused(
    channel: Channel, due: Wake, reason: Reason, *, driver: str, now: datetime, final: bool = False
) -> ChannelStep:
    """Write down, once for each reason, that a due run may not be started.

    The time of the turn goes on; `final` says that it is over at the next `settle`.
    """
    work = Transaction(channel, now)
    told = was_refused(tasks_of_turn(channel), reason)
    if _is_due(channel, due) and (due.task in channel.tasks or not told):
        _add_task(work, due, TaskState.F, driver, reason=reason, final=final)
        work.tell("task.refused", due.agent, task=due.task, reason=reason.to_record())
    return work.step()


def task_failed(
    channel: Channel, task: str, reason: Reason, *, now: datetime, final: bool = False
) -> ChannelStep:
    """Write down that a run ended without a turn; `final` if no other is to be tried."""
    work = Transaction(channel, now)
    failed = work.channel.tasks.get(task)
    if failed is not None and failed.state is TaskState.R:
        _fail(work, failed, reason)
        failed.final = final
        work.tell("task.failed", failed.agent, task=task, reason=reason.to_record(), final=final)
    return work.step()


def expire_leases(work: Transaction) -> None:
    """Give up runs whose lease is over, their process died without a word."""
    for task in tasks_of_turn(work.channel):
        if task.state is TaskState.R and task.ends_at is not None and task.ends_at <= work.now:
            _fail(work, task, LOST)
            work.tell("task.lost", task.agent, task=task.id)


def why_missed(channel: Channel, now: datetime, rules: FloorRules) -> Reason:
    """Return why the speaker is not waited for any longer, no reason while it is."""
    tasks = tasks_of_turn(channel)
    if used_up(tasks):
        return [one.reason for one in tasks if one.state is TaskState.F][-1] or Reason.of("failed")
    held = any(
        # A speaker that has begun by itself waits for no place any more.
        (one.state is TaskState.N and channel.began_at is None)
        or (one.state is TaskState.R and one.ends_at is not None and one.ends_at > now)
        for one in tasks
    )
    since = channel.began_at or channel.turn_at
    if held or channel.roused_at is None or since is None:
        return NO_REASON
    return TIMEOUT if now >= since + rules.turn_timeout else NO_REASON


def _is_due(channel: Channel, due: Wake) -> bool:
    """Return true if a run that was due some time ago still is: nothing has happened since."""
    known = channel.tasks.get(due.task)
    if channel.delivery is not None or channel.began_at is not None:
        return False
    return due.agent == asked(channel) and (known is None or known.state is TaskState.N)


def _add_task(work: Transaction, due: Wake, state: TaskState, driver: str, **more: Any) -> Task:
    extra = {} if work.channel.speaker else {_SUMMARY: True}
    task = due.claimed(work.channel.cycle, state, driver, work.now, extra=extra, **more)
    work.channel.tasks[due.task] = task
    return task


def _fail(work: Transaction, task: Task, reason: Reason) -> None:
    task.state, task.reason, task.at = TaskState.F, reason, work.now
    # What began in that run is over with it: the next attempt begins anew.
    work.channel.run, work.channel.began_at = "", None
