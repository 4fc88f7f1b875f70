"""How parts of a task are handed on and how they end, and the task with them.

Each hand-off goes through the coordinator, which delivers it or rejects it to its
source. It is a hop of its own, one deeper, and its budget is a part of
what its source has left: what is given away and what stays never exceed it.
The part of a worker that another one asked goes back to that one; a part that
the coordinator asked for ends the task, once all such parts are over.

Source: PR-554, PR-556, PR-562 to PR-566, PR-571, A-59, A-61 to A-63.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.protocol.exchange import (
    EXCEPTIONAL_DEPTH,
    NOBODY,
    SPLIT,
    Attempt,
    Hop,
    Task,
    TaskRules,
)
from council.core.protocol.messages import COORDINATOR, Message, inline
from council.core.protocol.protocol_ids import WORKER, role_of
from council.core.protocol.registry import EntryStatus
from council.core.protocol.transaction import Transaction

_REASON_CHARS = 80


def give_up(tx: Transaction, task: Task, hop: Hop, code: str, reason: str) -> None:
    """End a hop without a result: its source is informed, or the task ends with it."""
    hop.again = None
    hop.returned = True
    if not hop.attempts:
        task.code, task.reason = code, reason
    if hop.source != COORDINATOR:
        worker = hop.attempts[-1].worker if hop.attempts else ""
        source = source_of(task, hop)
        if source is not None:
            pairs = {"desc": inline(reason, _REASON_CHARS), "handoff": worker}
            parent = task.hop(hop.parent)
            hand_back(task, hop, tx.say(task, hop.source, "E", pairs=pairs, code=code, hop=parent))
        return
    tx.tell("hop.given-up", task, hop=hop.number, code=code, reason=reason)


def source_of(task: Task, hop: Hop) -> Attempt | None:
    """Return the attempt that handed a hop on, None when it is over or there was none."""
    if not hop.parent:
        return None
    attempt = task.hop(hop.parent).attempts[hop.parent_attempt - 1]
    return None if attempt.is_over else attempt


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


def drop_hops(tx: Transaction, task: Task, hop: Hop, attempt: Attempt, reason: str) -> None:
    """Cancel what an attempt handed on and is no longer awaited."""
    for other in task.hops:
        if (other.parent, other.parent_attempt) == (hop.number, attempt.number) and other.is_open:
            cancel_hop(tx, task, other, reason)


def cancel_hop(
    tx: Transaction, task: Task, hop: Hop, reason: str, line: Message | None = None
) -> None:
    """Cancel a hop and all that it handed on: its worker is informed by U with state X.

    `line` is what others wrote to it, None to write it here.
    """
    hop.again = None
    hop.returned = True
    last = hop.under_way
    if last is None:
        return
    if line is None:
        pairs = {"reason": inline(reason, _REASON_CHARS)}
        tx.say(
            task, last.worker, "U", flags=("cancel",), pairs=pairs, state=TaskState.X, hop=hop,
            parent=last.message,
        )  # fmt: skip
    else:
        line = line.copy(receiver=last.worker)
        tx.post(line, to=(last.worker,), parent=last.message, hop=hop.number)
    tx.change(task, hop, last, TaskState.X, reason=reason)
    drop_hops(tx, task, hop, last, reason)
    drop_questions(tx, task, hop)


def drop_questions(tx: Transaction, task: Task, hop: Hop | None = None) -> None:
    """Let the questions of a hop, or of the whole task, be answered no more."""
    for one in task.questions:
        if one.is_open and (hop is None or one.hop == hop.number):
            tx.close_question(task, one, "", NOBODY)


def conclude(tx: Transaction, task: Task) -> None:
    """End a task once everything that the coordinator asked for is over (PR-556)."""
    if task.is_over or not task.hops:
        return
    roots = [hop for hop in task.hops if hop.source == COORDINATOR]
    if any(hop.is_open for hop in roots):
        return
    states = [hop.attempt.state if hop.attempt else None for hop in roots]
    if TaskState.D in states:
        task.result = roots[states.index(TaskState.D)].result
        end_task(tx, task, TaskState.D)
        return
    if not set(states) - {TaskState.X}:
        end_task(tx, task, TaskState.X, reason=task.reason)
        return
    failed = [hop.attempt for hop in roots if hop.attempt and hop.attempt.state is TaskState.F]
    why = failed[-1] if failed else task
    end_task(tx, task, TaskState.F, code=why.code, reason=why.reason)


def end_task(
    tx: Transaction, task: Task, state: TaskState, *, code: str = "", reason: str = ""
) -> None:
    """Write down how a task ended."""
    task.state, task.at, task.ended_at, task.ends_at = state, tx.now, tx.now, None
    task.code, task.reason = code, reason
    drop_questions(tx, task)
    splits = (SPLIT, task.id)  # a run that was to say how it is split
    tx.drop_runs(lambda one: (one.purpose, one.task) == splits)
    tx.tell("task.ended", task, state=str(state), code=code, reason=reason)


def cancel_task(tx: Transaction, task: Task, reason: str) -> None:
    """Cancel a task with all that is open in it."""
    for hop in task.hops:
        if not hop.parent:
            cancel_hop(tx, task, hop, reason)
    if not task.is_over:
        end_task(tx, task, TaskState.X, reason=reason)


def handoff_refusal(
    tx: Transaction, message: Message, hop: Hop
) -> tuple[str, dict[str, object]] | None:
    """Return why a hand-off is rejected, as code and details; None when it is approved.

    Source: PR-563 to PR-566.
    """
    target = tx.registry.get(message.receiver)
    if target is None or role_of(target.id) != WORKER or target.id == message.sender:
        return "E41", {"desc": "no such worker", "id": message.receiver}
    depth = _depth_of(message, hop)
    most = min(_deepest(message, tx.rules), target.serves_below - 1)
    given, left = message.budget, hop.left
    call = message.pair("call")
    found: tuple[str, dict[str, object]] | None = None
    if depth > most:
        found = "E16", {"desc": "max_depth", "depth": depth, "max": most}
    elif left is not None and (given is None or given > left):
        needed = "-" if given is None else given
        found = "E17", {"desc": "budget insufficient", "needed": needed, "have": left}
    elif call and target.capabilities and call not in target.capabilities:
        found = "E19", {"desc": "capability not supported", "call": call}
    elif target.status is not EntryStatus.ACTIVE:
        found = "E30", {"desc": "worker unavailable", "id": target.id}
    return found


def _depth_of(message: Message, hop: Hop) -> int:
    """Return the depth of a hand-off: one more than that of its source, whatever it says less."""
    return max(message.depth, hop.depth + 1)


def _deepest(message: Message, rules: TaskRules) -> int:
    """Return how deep a hand-off may go: two deeper than usual when it gives a reason (PR-564)."""
    if not message.pair("reason"):
        return rules.max_depth
    return max(rules.max_depth, min(rules.max_depth + 2, EXCEPTIONAL_DEPTH))


def approve(tx: Transaction, task: Task, hop: Hop, source: Attempt, message: Message) -> None:
    """Give a part of a task on: its own hop, delivered to its worker; the source waits for it."""
    given = message.budget
    if hop.left is not None and given is not None:
        hop.left -= given
    part = tx.new_hop(
        task, message.sender, given, message.pair("call"), message.data, parent=hop.number,
        parent_attempt=source.number, depth=_depth_of(message, hop),
    )  # fmt: skip
    state = TaskState.R if message.state == TaskState.R else TaskState.N
    delivered = message.copy(depth=part.depth, state=state)
    number = tx.take(delivered, to=(message.receiver,), parent=source.message, hop=part.number)
    why = {"handedOnBy": message.sender, "reason": message.pair("reason")}
    tx.new_attempt(
        part, message.receiver, why, state=state, message=number, asked=number,
        started_at=tx.now if state is TaskState.R else None,
    )  # fmt: skip
    source.asked, source.ends_at = 0, None
    tx.tell(
        "handoff.approved", task, agent=message.sender, hop=part.number, msg=f"M{number}",
        target=message.receiver, depth=part.depth, budget=given,
    )  # fmt: skip
