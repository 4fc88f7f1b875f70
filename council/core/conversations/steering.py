"""How a person steers a conversation: stop, wind up, pause, resume, cancel, extend.

Source: `cli.md` section 2, C0-036, C0-079.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from council.core.conversations.conversation import (
    CEILING,
    STOPPED,
    ClosedReason,
    Conversation,
    Status,
    Step,
    TaskState,
)
from council.core.conversations.due import last_word
from council.core.conversations.machine import close, close_round, enter_phase, finish
from council.core.conversations.procedures import SYNTHESIZE
from council.core.errors import FinishedError, UsageError
from council.core.events import Event
from council.core.reasons import Reason


def stop(state: Conversation, now: datetime) -> Step:
    """End the rounds now, paused or not: the vote is next, or the synthesis; in it nothing changes.

    Source: C0-036, DL-023.
    """
    going_on = resume(state, now).state
    if state.phase == SYNTHESIZE:
        return Step(state=state.copy())
    return enter_phase(going_on, last_word(state), STOPPED, now)


def wind_up(state: Conversation, now: datetime, reason: str = STOPPED) -> Step:
    """End it at once with what was said: no vote is held, a digest stands in for a synthesis.

    `reason` is `stopped` for a person's wish, `ceiling` where it may start no other run.
    """
    step = Step(state=resume(state, now).state)
    if state.phase != SYNTHESIZE:
        step = enter_phase(step.state, SYNTHESIZE, reason, now)
    elif reason == CEILING:
        step.state.rounds[-1].reason = reason
    finish(step.state, now, step.events)
    return step


def pause(state: Conversation, now: datetime, *, gives_up_runs: bool = False) -> Step:
    """Stand still: no agent is woken and no deadline passes until `resume`.

    Runs under way that are given up count as no failure; `resume` lets them be started anew.
    """
    new = _unfinished(state)
    for task in new.tasks.values():
        if gives_up_runs and task.state is TaskState.R and task.ends_at is not None:
            task.state, task.reason = TaskState.X, Reason.of("paused")
    if new.paused_at is not None:
        return Step(state=new)
    new.paused_at = now
    return Step(state=new, events=[Event(type="conversation.paused")])


def resume(state: Conversation, now: datetime) -> Step:
    """Go on after `pause`; the deadlines move by the time that was paused."""
    new = _unfinished(state)
    if new.paused_at is None:
        return Step(state=new)
    stood = max(now - new.paused_at, timedelta(0))
    new.paused_at = None
    new.timeout_at += stood
    if new.ends_at is not None:
        new.ends_at += stood
    data = {"pausedS": int(stood.total_seconds())}
    return Step(state=new, events=[Event(type="conversation.resumed", data=data)])


def cancel(state: Conversation, now: datetime) -> Step:
    """End the conversation without a synthesis; what was said goes to the minutes."""
    new = _unfinished(state)
    events: list[Event] = []
    close_round(new, "cancelled", now, events)
    new.status, new.closed_reason = Status.TIMEOUT, ClosedReason.CANCELLED
    events.append(Event(type="conversation.cancelled", data={"phase": state.phase}))
    close(new, now, events)
    return Step(state=new, events=events)


def extend(state: Conversation, by: timedelta, now: datetime) -> Step:
    """Move the deadline of the phase under way by `by`, counted from now if it has passed."""
    new = _unfinished(state)
    if by <= timedelta(0):
        raise UsageError("the deadline can only be moved forward")
    since = now if new.paused_at is None else new.paused_at
    new.timeout_at = max(new.timeout_at, since) + by
    data = {"seconds": int(by.total_seconds())}
    return Step(state=new, events=[Event(type="deadline.extended", data=data)])


def _unfinished(state: Conversation) -> Conversation:
    """Return a copy of a conversation that goes on."""
    if state.finished_at is not None:
        raise FinishedError(state.name)
    return state.copy()
