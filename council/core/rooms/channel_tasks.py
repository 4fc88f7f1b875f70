"""The life of a task for the floor of a channel: queued, started, refused, failed, lost.

A task is one attempt to get the turn of the speaker. It is claimed in the
channel before its run starts, with a lease; the end of the turn ends it. Where a
discussion has fallen idle it is an attempt to get its summary of the initiator;
such a task is marked, since the initiator may have had a turn in the same cycle.

Source: OP-014, XC-016, C0-076, `cli.md` section 5, `architecture.md` section 3.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import Task, TaskState
from council.core.conversations.owed import MAX_ATTEMPTS, Wake
from council.core.events import Event
from council.core.ids import task_id
from council.core.rooms.channels import Channel, ChannelStep, FloorRules

HEARD = "heard"
SUMMARY = "summary"


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
    mine = [one for one in _in_cycle(channel) if channel.speaker or one.extra.get(SUMMARY)]
    return sorted(mine, key=lambda one: one.attempt)


def _in_cycle(channel: Channel) -> list[Task]:
    agent = asked(channel)
    return [
        one for one in channel.tasks.values() if one.agent == agent and one.tour == channel.cycle
    ]


def summary_queued(channel: Channel, now: datetime) -> ChannelStep:
    """Queue a run of the initiator of an idle discussion, which it was just reminded of.

    Source: OP-014.
    """
    agent, cycle = asked(channel), channel.cycle
    attempt = 1 + max((one.attempt for one in _in_cycle(channel)), default=0)
    task = task_id(channel.channel_id, cycle, agent, attempt)
    due = Wake(agent=agent, task=task, attempt=attempt, due_at=now)
    return task_queued(channel, due, driver="", now=now)


def attempts_used_up(tasks: list[Task]) -> bool:
    """Tell whether no other run will be started for a turn that had these tasks."""
    return sum(one.is_failed_run for one in tasks) >= MAX_ATTEMPTS or any(x.final for x in tasks)


def task_queued(channel: Channel, due: Wake, *, driver: str, now: datetime) -> ChannelStep:
    """Write down that a run is due and waits for a place; the time of a turn stands still."""
    new = channel.copy()
    if due.task in new.tasks or not _is_due(new, due):
        return ChannelStep(channel=new)
    new.tasks[due.task] = _task(new, due, TaskState.N, driver, now)
    event = Event(type="task.queued", agent=due.agent, data={"task": due.task})
    return ChannelStep(channel=new, events=[event])


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
    new = channel.copy()
    if not _is_due(new, due):
        return ChannelStep(channel=new)
    if new.speaker:
        new.turn_at = now
        new.anchor = max(new.anchor, newest)
    new.tasks[due.task] = _task(new, due, TaskState.R, driver, now)
    new.tasks[due.task].ends_at = ends_at
    new.tasks[due.task].extra[HEARD] = newest
    label = f"council-{new.channel_id}-{due.agent}"
    data = {"task": due.task, "driver": driver, "attempt": due.attempt, "label": label}
    event = Event(type="task.started", agent=due.agent, data=data)
    return ChannelStep(channel=new, events=[event], outcome="claimed")


def task_refused(
    channel: Channel, due: Wake, reason: str, *, driver: str, now: datetime, final: bool = False
) -> ChannelStep:
    """Write down, once for each reason, that a due run may not be started.

    The time of the turn goes on; `final` says that it is over at the next `settle`.
    """
    new = channel.copy()
    known = [one for one in tasks_of_turn(new) if one.state is not TaskState.N]
    told = known and known[-1].state is TaskState.F and known[-1].reason == reason
    if not _is_due(new, due) or (told and due.task not in new.tasks):
        return ChannelStep(channel=new)
    new.tasks[due.task] = _task(new, due, TaskState.F, driver, now)
    new.tasks[due.task].reason, new.tasks[due.task].final = reason, final
    data = {"task": due.task, "reason": reason}
    event = Event(type="task.refused", agent=due.agent, data=data)
    return ChannelStep(channel=new, events=[event])


def task_failed(
    channel: Channel, task: str, reason: str, *, now: datetime, final: bool = False
) -> ChannelStep:
    """Write down that a run ended without a turn; `final` if no other is to be tried."""
    new = channel.copy()
    failed = new.tasks.get(task)
    if failed is None or failed.state is not TaskState.R:
        return ChannelStep(channel=new)
    _fail(new, failed, reason, now)
    failed.final = final
    data = {"task": task, "reason": reason, "final": final}
    event = Event(type="task.failed", agent=failed.agent, data=data)
    return ChannelStep(channel=new, events=[event])


def expire_leases(channel: Channel, now: datetime, events: list[Event]) -> None:
    """Give up runs whose lease is over, their process died without a word. Changes `channel`."""
    for task in tasks_of_turn(channel):
        if task.state is TaskState.R and task.ends_at is not None and task.ends_at <= now:
            _fail(channel, task, "lost: no word from the run", now)
            events.append(Event(type="task.lost", agent=task.agent, data={"task": task.id}))


def why_missed(channel: Channel, now: datetime, rules: FloorRules) -> str:
    """Return why the speaker is not waited for any longer, "" while it is."""
    tasks = tasks_of_turn(channel)
    if attempts_used_up(tasks):
        return [one.reason for one in tasks if one.state is TaskState.F][-1] or "failed"
    held = any(
        # Who has begun by itself waits for no place any more.
        (one.state is TaskState.N and channel.began_at is None)
        or (one.state is TaskState.R and one.ends_at is not None and one.ends_at > now)
        for one in tasks
    )
    since = channel.began_at or channel.turn_at
    if held or channel.roused_at is None or since is None:
        return ""
    return "timeout" if now >= since + rules.turn_timeout else ""


def _is_due(channel: Channel, due: Wake) -> bool:
    """Tell whether a run that was owed some time ago still is: nothing has happened since."""
    known = channel.tasks.get(due.task)
    return (
        due.agent == asked(channel)
        and channel.delivery is None
        and channel.began_at is None
        and (known is None or known.state is TaskState.N)
    )


def _task(channel: Channel, due: Wake, state: TaskState, driver: str, now: datetime) -> Task:
    return Task(
        id=due.task,
        agent=due.agent,
        tour=channel.cycle,
        attempt=due.attempt,
        state=state,
        at=now,
        driver=driver,
        extra={} if channel.speaker else {SUMMARY: True},
    )


def _fail(channel: Channel, task: Task, reason: str, now: datetime) -> None:
    task.state, task.reason, task.at = TaskState.F, reason, now
    # What began in that run is over with it: the next attempt begins anew.
    channel.run, channel.began_at = "", None
