"""How the parts of a task end, and the task with them.

The part of a worker that another one asked goes back to that one; a part that
the coordinator asked for ends the task, once all such parts are over.

Source: PR-554, PR-556, PR-562, PR-571, A-62.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.protocol.desk import Desk
from council.core.protocol.exchange import ENDED, NOBODY, Attempt, Hop, Task
from council.core.protocol.messages import COORDINATOR, Message, inline

_REASON_CHARS = 80


def give_up(desk: Desk, task: Task, hop: Hop, code: str, reason: str) -> None:
    """End a hop without a result: its source is told, or the task ends with it."""
    hop.again = None
    hop.returned = True
    if not hop.attempts:
        task.code, task.reason = code, reason
    if hop.source != COORDINATOR:
        worker = hop.attempts[-1].worker if hop.attempts else ""
        pairs = {"desc": inline(reason, _REASON_CHARS), "handoff": worker}
        tell_source(desk, task, hop, "E", pairs=pairs, state="", code=code)
        return
    desk.tell("hop.given-up", task, hop=hop.number, code=code, reason=reason)


def tell_source(
    desk: Desk, task: Task, hop: Hop, kind: str, *, pairs: dict[str, str], state: str, code: str
) -> None:
    """Tell the worker that handed a hop on how it ended, if it still waits for it."""
    source = source_of(task, hop)
    if source is None:
        return
    number = desk.say(
        task, hop.source, kind, pairs=pairs, state=state, code=code, hop=task.hop(hop.parent)
    )
    hand_back(task, hop, number)


def source_of(task: Task, hop: Hop) -> Attempt | None:
    """Return the attempt that handed a hop on, None when it is over or there was none."""
    if not hop.parent:
        return None
    attempt = task.hop(hop.parent).attempts[hop.parent_attempt - 1]
    return None if attempt.state in ENDED else attempt


def hand_back(task: Task, hop: Hop, number: int) -> None:
    """Let the source go on with message `number` once nothing it handed on is open any more."""
    source = source_of(task, hop)
    if source is None:
        return
    waits = any(
        other.is_open
        for other in task.hops
        if (other.parent, other.parent_attempt) == (hop.parent, hop.parent_attempt)
    )
    if not waits:
        source.asked = number


def drop_hops(desk: Desk, task: Task, hop: Hop, attempt: Attempt, reason: str) -> None:
    """Cancel what an attempt handed on and nobody waits for any more."""
    for other in task.hops:
        if (other.parent, other.parent_attempt) == (hop.number, attempt.number) and other.is_open:
            cancel_hop(desk, task, other, reason)


def cancel_hop(desk: Desk, task: Task, hop: Hop, reason: str, line: Message | None = None) -> None:
    """Cancel a hop and all that it handed on: its worker is told by U with state X.

    `line` is what somebody wrote to it, None to write it here.
    """
    hop.again = None
    hop.returned = True
    last = hop.attempt
    if last is None or last.state in ENDED:
        return
    if line is None:
        pairs = {"reason": inline(reason, _REASON_CHARS)}
        desk.say(
            task, last.worker, "U", flags=("cancel",), pairs=pairs, state=TaskState.X, hop=hop,
            parent=last.message,
        )  # fmt: skip
    else:
        desk.post(
            line.copy(receiver=last.worker), to=(last.worker,), parent=last.message, hop=hop.number
        )
    desk.change(task, hop, last, TaskState.X, reason=reason)
    drop_hops(desk, task, hop, last, reason)
    drop_questions(desk, task, hop)


def drop_questions(desk: Desk, task: Task, hop: Hop) -> None:
    """Let nobody answer the questions of a hop any more."""
    for one in task.questions:
        if one.hop == hop.number and one.is_open:
            desk.close_question(task, one, "", NOBODY)


def conclude(desk: Desk, task: Task) -> None:
    """End a task once everything that the coordinator asked for is over (PR-556)."""
    if task.is_over or not task.hops:
        return
    roots = [hop for hop in task.hops if hop.source == COORDINATOR]
    if any(hop.is_open for hop in roots):
        return
    lasts = [hop.attempt for hop in roots]
    done = [hop for hop in roots if hop.attempt and hop.attempt.state is TaskState.D]
    if done:
        task.result = done[0].result
        end_task(desk, task, TaskState.D)
        return
    if all(one is not None and one.state is TaskState.X for one in lasts):
        end_task(desk, task, TaskState.X, reason=task.reason)
        return
    failed = [one for one in lasts if one is not None and one.state is TaskState.F]
    code = failed[-1].code if failed else task.code
    reason = failed[-1].reason if failed else task.reason
    end_task(desk, task, TaskState.F, code=code, reason=reason)


def end_task(desk: Desk, task: Task, state: TaskState, *, code: str = "", reason: str = "") -> None:
    """Write down how a task ended."""
    task.state, task.at, task.ended_at, task.ends_at = state, desk.now, desk.now, None
    task.code, task.reason = code, reason
    for one in task.questions:
        if one.is_open:
            desk.close_question(task, one, "", NOBODY)
    desk.drop_splitting(task)
    desk.tell("task.ended", task, state=str(state), code=code, reason=reason)


def cancel_task(desk: Desk, task: Task, reason: str) -> None:
    """Cancel a task with all that is open in it."""
    for hop in task.hops:
        if not hop.parent:
            cancel_hop(desk, task, hop, reason)
    if not task.is_over:
        end_task(desk, task, TaskState.X, reason=reason)
