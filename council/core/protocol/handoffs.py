"""Hand-offs: a worker gives a part of its task to another one, if the coordinator approves.

Each goes through the coordinator, which delivers it or rejects it to its
source. A hand-off is a hop of its own, one deeper, and its budget is a part of
what its source has left: what is given away and what stays never exceed it.

Source: PR-562 to PR-566, A-59, A-61 to A-63.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.protocol.desk import Desk
from council.core.protocol.exchange import EXCEPTIONAL_DEPTH, Attempt, Hop, Task, TaskRules
from council.core.protocol.messages import Message
from council.core.protocol.protocol_ids import WORKER, role_of
from council.core.protocol.registry import EntryStatus, Registry


def refusal(
    message: Message, hop: Hop, registry: Registry, rules: TaskRules
) -> tuple[str, dict[str, object]] | None:
    """Return why a hand-off is rejected, as code and details; None when it is approved.

    Source: PR-563 to PR-566.
    """
    target = registry.get(message.receiver)
    if target is None or role_of(target.id) != WORKER or target.id == message.sender:
        return "E41", {"desc": "no such worker", "id": message.receiver}
    depth = depth_of(message, hop)
    most = min(deepest(message, rules), target.serves_below - 1)
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


def depth_of(message: Message, hop: Hop) -> int:
    """Return the depth of a hand-off: one more than that of its source, whatever it says less."""
    return max(message.depth, hop.depth + 1)


def deepest(message: Message, rules: TaskRules) -> int:
    """Return how deep a hand-off may go: two deeper than usual when it gives a reason (PR-564)."""
    if not message.pair("reason"):
        return rules.max_depth
    return max(rules.max_depth, min(rules.max_depth + 2, EXCEPTIONAL_DEPTH))


def approve(desk: Desk, task: Task, hop: Hop, source: Attempt, message: Message) -> Hop:
    """Give a part of a task on: its own hop, delivered to its worker; the source waits for it."""
    given = message.budget
    if hop.left is not None and given is not None:
        hop.left -= given
    part = Hop(
        number=len(task.hops) + 1,
        source=message.sender,
        parent=hop.number,
        parent_attempt=source.number,
        depth=depth_of(message, hop),
        budget=given,
        left=given,
        call=message.pair("call"),
        data=message.data,
        caps=(message.pair("call"),) if message.pair("call") else (),
    )
    state = TaskState.R if message.state == TaskState.R else TaskState.N
    delivered = message.copy(depth=part.depth, state=TaskState.N if not message.state else state)
    number = desk.take(delivered, to=(message.receiver,), parent=source.message, hop=part.number)
    attempt = Attempt(
        number=1,
        worker=message.receiver,
        state=state,
        at=desk.now,
        started_at=desk.now if state is TaskState.R else None,
        message=number,
        asked=number,
        why={"handedOnBy": message.sender, "reason": message.pair("reason")},
    )
    part.attempts.append(attempt)
    task.hops.append(part)
    source.asked, source.ends_at = 0, None
    desk.tell(
        "handoff.approved",
        task,
        agent=message.sender,
        hop=part.number,
        msg=f"M{number}",
        target=message.receiver,
        depth=part.depth,
        budget=given,
    )
    return part
