"""The life of a task in one conversation: queued, started, failed.

A task is one attempt to get one turn (states N R D F X). A run is claimed in
the state before it is started, with a lease; an answer ends it (see
`answers`), and so does the end of its round (see `machine`).

Source: `architecture.md` section 3, `cli.md` section 5, XC-016, C0-076, DL-032.
"""

from __future__ import annotations

from datetime import datetime

from council.core.bounds import Usage
from council.core.conversations.conversation import Conversation, Step, TaskState
from council.core.conversations.due import Wake, fails_alike, tasks_of, was_refused
from council.core.events import Event
from council.core.reasons import Reason


def task_queued(state: Conversation, wake: Wake, *, driver: str, now: datetime) -> Step:
    """Write down that an agent is due and waits for a place; its deadline stands still."""
    if wake.task in state.tasks:
        return Step(state=state.copy())
    new = state.copy()
    new.tasks[wake.task] = wake.claimed(new.tour, TaskState.N, driver, now)
    data = {"task": wake.task}
    return Step(state=new, events=[Event(type="task.queued", agent=wake.agent, data=data)])


def task_started(
    state: Conversation, wake: Wake, *, driver: str, now: datetime, ends_at: datetime | None
) -> Step:
    """Claim a run: `ends_at` is the end of its lease, None for an agent that answers by itself.

    Its event bears the label of the run, `council-<conversation>-<agent>` (DL-032).

    The time it waited for a place is given back to the phase; to several that
    waited at once, once: the phase never has more than its whole span left by it.
    """
    new = state.copy()
    queued = new.tasks.get(wake.task)
    if queued is not None and queued.state is TaskState.N and now > queued.at:
        given_back = min(new.timeout_at + (now - queued.at), now + new.phase_timeout)
        new.timeout_at = max(new.timeout_at, given_back)
    new.tasks[wake.task] = wake.claimed(new.tour, TaskState.R, driver, now, ends_at=ends_at)
    if new.ceiling is not None and ends_at is not None:
        new.ceiling = new.ceiling.copy(spent_runs=new.ceiling.spent_runs + 1)
    label = f"council-{new.conversation_id}-{wake.agent}"
    data = {"task": wake.task, "driver": driver, "attempt": wake.attempt, "label": label}
    return Step(state=new, events=[Event(type="task.started", agent=wake.agent, data=data)])


def task_failed(
    state: Conversation,
    task: str,
    reason: Reason,
    *,
    now: datetime,
    final: bool = False,
    at_once: bool = False,
) -> Step:
    """Write down that a run ended without an answer; `final` if no other is to be tried.

    `at_once` if it failed within seconds, by no fault that passes: then no other is tried where
    the one before failed in the same way, or the last turn of the agent did.

    Source: FW-005.
    """
    new = state.copy()
    failed = new.tasks.get(task)
    if failed is None or failed.state is not TaskState.R:
        return Step(state=new)
    final = final or (at_once and fails_alike(new, failed.agent, reason))
    failed.state, failed.reason, failed.at, failed.final = TaskState.F, reason, now, final
    failed.at_once = at_once
    data = {"task": task, "reason": reason.to_record(), "final": final}
    return Step(state=new, events=[Event(type="task.failed", agent=failed.agent, data=data)])


def task_refused(
    state: Conversation,
    wake: Wake,
    reason: Reason,
    *,
    driver: str,
    now: datetime,
    final: bool = False,
) -> Step:
    """Write down, once in a round for each reason, that a due run may not be started.

    It stands as a failed task, so that `status` and minutes can say why the
    agent was not heard; the deadline of the phase goes on. `final` says that
    it is not asked again in this round.
    """
    new = state.copy()
    if wake.task not in new.tasks and was_refused(tasks_of(new, wake.agent), reason):
        return Step(state=new)
    new.tasks[wake.task] = wake.claimed(
        new.tour, TaskState.F, driver, now, reason=reason, final=final
    )
    data = {"task": wake.task, "reason": reason.to_record()}
    return Step(state=new, events=[Event(type="task.refused", agent=wake.agent, data=data)])


def run_used(state: Conversation, agent: str, one: Usage) -> Step:
    """Write down what a run of an agent has used; a ceiling counts it (CL-002, OP-018)."""
    new = state.copy()
    new.usage[agent] = new.usage.get(agent, Usage()).plus(one)
    if new.ceiling is not None:
        new.ceiling = new.ceiling.used(one.tokens + one.estimated, one.usd)
    return Step(state=new)
