"""What is due in a context by itself: deadlines, retries, workers for what has none, ends.

Source: PR-555, PR-556, PR-561, PR-571, PR-576, PR-580.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.protocol.assigning import assign
from council.core.protocol.attempts import fail
from council.core.protocol.desk import Desk
from council.core.protocol.exchange import ENDED, Task
from council.core.protocol.exchange_runs import expire_leases
from council.core.protocol.hops import cancel_task, conclude
from council.core.protocol.questions import expire, waits_for_choice
from council.core.protocol.registry import EntryStatus


def settle(desk: Desk) -> None:
    """Take every step that is due; done again at the same time it changes nothing more."""
    exchange = desk.exchange
    if not exchange.is_open:
        return
    if exchange.ends_at is not None and desk.now >= exchange.ends_at:
        close_context(desk, "timeout")
        return
    expire_leases(desk)
    tasks = [one for one in exchange.tasks.values() if not one.is_over]
    for task in sorted(tasks, key=lambda one: one.priority):
        _time_out(desk, task)
        if task.divided and not waits_for_choice(task):
            for hop in list(task.hops):
                # Who is found to be missing may leave another one to be asked at once.
                while hop.again is not None and desk.now >= hop.again.due_at:
                    assign(desk, task, hop)
        conclude(desk, task)


def _time_out(desk: Desk, task: Task) -> None:
    """Give up what has taken too long in a task: choices, workers, the task itself."""
    for question in task.questions:
        until = question.ends_at or question.late_at
        if question.is_open and until is not None and desk.now >= until:
            expire(desk, task, question)
    if task.ends_at is not None and desk.now >= task.ends_at and not task.waits_for_user:
        _give_to_another(desk, task)
    for hop in task.hops:
        attempt = hop.attempt
        if attempt is None or attempt.state in ENDED:
            continue
        if attempt.ends_at is not None and desk.now >= attempt.ends_at:
            fail(desk, task, hop, "E21", "no answer in time")
        elif _is_gone(desk, attempt.worker) and not desk.is_run(task, hop):
            # It cannot be asked again before it comes back.
            fail(desk, task, hop, "E22", "no sign of life", over=True)


def _give_to_another(desk: Desk, task: Task) -> None:
    """Tell the workers of a task that its time is over, and ask others (E20, PR-555)."""
    task.ends_at = None
    for hop in list(task.hops):
        attempt = hop.attempt
        if hop.parent or attempt is None or attempt.state in ENDED:
            continue
        desk.say(
            task, attempt.worker, "E", pairs={"desc": "timeout"}, state=TaskState.F, code="E20",
            hop=hop, parent=attempt.message,
        )  # fmt: skip
        fail(desk, task, hop, "E20", "the time of the task is over", over=True)


def _is_gone(desk: Desk, worker: str) -> bool:
    entry = desk.registry.get(worker)
    return entry is None or entry.status is EntryStatus.UNAVAILABLE


def close_context(desk: Desk, reason: str) -> None:
    """Close the context; what is open in it is cancelled."""
    for task in desk.exchange.tasks.values():
        if not task.is_over:
            cancel_task(desk, task, reason)
    desk.close(reason)
