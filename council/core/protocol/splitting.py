"""How a request falls into tasks.

Where an orchestrator's agent is there, it is asked; without one, or when it
does not answer, the request is one task and goes whole to the best worker.

Source: PR-553, PR-561, PR-566, issue 6.
"""

from __future__ import annotations

from datetime import datetime

from council.core.protocol.desk import Desk
from council.core.protocol.exchange import (
    BUDGETS,
    LAST_TASK,
    RULES,
    Exchange,
    ExchangeStep,
    Task,
    TaskRules,
)
from council.core.protocol.parts import give_parts, shares
from council.core.protocol.settlement import settle
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from council.core.protocol.registry import Registry


# Half of what the simplest request gets.
LEAST_SHARE = (BUDGETS["simple"] or 0) // 2


class Part(Record):
    """One task of a request: what is to be done, and which capabilities it needs."""

    text: str
    caps: tuple[str, ...] = ()


def divided(
    exchange: Exchange,
    parts: Sequence[Part],
    registry: Registry,
    now: datetime,
    *,
    run: str = "",
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Split the request as its orchestrator said; the budget is shared among the parts.

    Args:
        exchange: The context.
        parts: The tasks; without any, or where a part would have fewer than `LEAST_SHARE`
            tokens, the request goes whole.
        registry: Who is there.
        now: The instant.
        run: The run that said so; "" takes the task that waits to be split.
        rules: What may be chosen.

    Returns:
        A step whose `outcome` is `split` or `whole`, "" when nothing waits to be split.
    """
    desk = Desk(exchange, now, registry=registry, rules=rules)
    known = desk.exchange.runs.get(run)
    waiting = [
        one
        for one in desk.exchange.tasks.values()
        if not one.divided and not one.is_over and (known is None or known.task == one.id)
    ]
    desk.end_run(run)
    if not waiting:
        return desk.step()
    first = waiting[0]
    first.divided = True
    share = None if first.budget is None or not parts else first.budget // len(parts)
    if len(parts) > 1 and share is not None and share < LEAST_SHARE:
        # Workers that cannot do anything with their share would each refuse it.
        reason = f"{len(parts)} parts leave {share} tokens each, {LEAST_SHARE} are needed"
        desk.tell("message.refused", first, agent=exchange.orchestrator, code="E17", reason=reason)
        parts = ()
    kept = list(parts)[: LAST_TASK - desk.exchange.next_task + 2] or [
        Part(text=first.text, caps=first.caps)
    ]
    tasks = [first, *(_further(desk, first) for _ in kept[1:])]
    budgets = shares(first.budget, len(kept))
    for task, part, share in zip(tasks, kept, budgets, strict=True):
        task.text, task.caps = part.text.strip() or first.text, part.caps
        task.budget = share
        if task is not first:
            desk.tell("task.created", task, priority=task.priority, caps=list(task.caps))
        if len(kept) > 1:
            desk.tell("budget.set", task, budget=share)
        give_parts(desk, task)
    desk.tell("request.split", first, tids=[one.id for one in tasks])
    settle(desk)
    return desk.step("split" if len(kept) > 1 else "whole")


def _further(desk: Desk, first: Task) -> Task:
    exchange = desk.exchange
    task = Task(
        id=f"T{exchange.next_task}",
        text=first.text,
        priority=first.priority,
        atomic=first.atomic,
        at=desk.now,
        created_at=desk.now,
    )
    exchange.next_task += 1
    exchange.tasks[task.id] = task
    return task
