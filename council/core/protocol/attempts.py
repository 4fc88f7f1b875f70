"""What follows when an attempt fails: by the class of its code.

Source: PR-555, PR-579, PR-580, PR-584, XC-105, A-67.
"""

from __future__ import annotations

from council.core.conversations.conversation import TaskState
from council.core.protocol.assigning import ask_another, retry_same
from council.core.protocol.desk import Desk
from council.core.protocol.exchange import ENDED, LARGEST_BUDGET, Again, Attempt, Hop, Task
from council.core.protocol.hops import drop_hops, drop_questions, give_up
from council.core.protocol.messages import COORDINATOR
from council.core.protocol.retries import BUDGET_POLICY, OTHER_WORKER, RETRY, strategy


def fail(
    desk: Desk,
    task: Task,
    hop: Hop,
    code: str,
    reason: str,
    *,
    needed: int = 0,
    over: bool = False,
    own_words: bool = False,
) -> None:
    """End the attempt of a hop with a failure, and go on by its code (PR-580).

    Args:
        desk: The rule at work.
        task: The task.
        hop: A hop whose attempt is under way.
        code: Why, as a code of V5.
        reason: The same in words.
        needed: The budget that the worker said it needs.
        over: Whether the time of the task is over, so that this worker is not tried again.
        own_words: Whether the worker wrote the reason.
    """
    last = hop.attempt
    if last is None or last.state in ENDED:
        return
    if last.state is TaskState.N:
        # What fails has begun: a failed attempt was running, whatever its worker saw of it.
        desk.change(task, hop, last, TaskState.R)
    desk.change(task, hop, last, TaskState.F, code=code, reason=reason)
    last.own_words = own_words
    drop_hops(desk, task, hop, last, "its source failed")
    drop_questions(desk, task, hop)
    follows = strategy(code)
    if follows == RETRY and not over and last.retry < desk.rules.max_retries:
        retry_same(desk, task, hop, last, code)
    elif follows in (RETRY, OTHER_WORKER):
        ask_another(desk, task, hop, last, code)
    elif follows == BUDGET_POLICY and hop.source == COORDINATOR and not hop.raised:
        _on_small_budget(desk, task, hop, last, needed)
    if hop.again is None:
        give_up(desk, task, hop, code, reason)


def _on_small_budget(desk: Desk, task: Task, hop: Hop, last: Attempt, needed: int) -> None:
    """Raise the budget once, or ask for a simpler version, as the settings say (PR-584)."""
    policy = desk.rules.budget_policy
    if policy == "give-up" or hop.budget is None:
        return
    hop.raised = True
    again = Again(since=desk.now, due_at=desk.now, worker=last.worker, code="E17")
    if policy == "simpler":
        again.pairs = {"simpler": "true"}
    else:
        before = hop.left or 0
        wanted = min(LARGEST_BUDGET, max(needed, 2 * max(before, hop.budget)))
        if wanted <= before:
            return
        hop.left, hop.budget = wanted, hop.budget + wanted - before
        task.budget = None if task.budget is None else task.budget + wanted - before
        again.pairs = {"raised": str(wanted)}
        desk.tell(
            "budget.raised", task, agent=last.worker, hop=hop.number, budget=wanted, was=before
        )
    hop.again = again
