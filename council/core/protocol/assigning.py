"""Whom to ask for a hop: the best worker, the same one again, or another one; what follows on E.

A hop always says what is due in it: an attempt is under way, or `Hop.again` says
who is asked next, from when on and with which words. So a process may die
after any failure; the next one goes on.

Time-outs are tried again, at most twice; a worker that cannot be had is replaced by
another one; a faulty message has to be put right first; what is wrong with
the request itself goes to the user. A budget that is too small and a choice
that have no author have rules of their own.

Source: PR-553, PR-555, PR-561, PR-564, PR-566, PR-579, PR-580, PR-584, XC-105, A-59, A-67.
"""

from __future__ import annotations

from datetime import timedelta

from council.core.conversations.conversation import TaskState
from council.core.protocol.exchange import LARGEST_BUDGET, Again, Attempt, Hop, Task
from council.core.protocol.hops import drop_hops, drop_questions, give_up
from council.core.protocol.messages import (
    COORDINATOR,
    DATA_CHARS,
    Message,
    compose,
    inline,
    is_inline,
)
from council.core.protocol.payload import flags_and_pairs
from council.core.protocol.questions import workers_of
from council.core.protocol.selection import Selection, candidates_of, select
from council.core.protocol.transaction import Transaction
from council.core.reading import written_instant
from council.core.record import Any

RESCAN_AFTER = timedelta(seconds=60)
_CANDIDATES_TOLD = 10
_UNAVAILABLE = "E30"

RETRY = "retry-auto-max-2"
OTHER_WORKER = "fallback-other-worker"
FIX_FIRST = "no-retry-fix-first"
TELL_USER = "surface-to-user"
BUDGET_POLICY = "budget-policy"
CHOICE_POLICY = "choice-policy"
_OWN_RULES = {"E17": BUDGET_POLICY, "E23": CHOICE_POLICY, "E33": TELL_USER}
_BY_CLASS = {"1": FIX_FIRST, "2": RETRY, "3": OTHER_WORKER}

REQUEST_KEY = "request"
_QUERY_CHARS = 100
_CHOICE_CHARS = 40
_REFERENCES = ("#CTX:", "#REF:", "#MSG:")


def give_parts(tx: Transaction, task: Task) -> None:
    """Let a task have its workers: one, or several at once, which share its budget (PR-561)."""
    count = max(1, tx.rules.parallel)
    for share in shares(task.budget, count):
        call, data = task.caps[0] if task.caps else "", _asked(tx, task)
        hop = tx.new_hop(task, COORDINATOR, share, call, data, again=_at_once(tx))
        hop.caps = task.caps


def shares(budget: int | None, count: int) -> list[int | None]:
    """Return a budget in `count` parts; the first takes what is left over."""
    if budget is None:
        return [None] * count
    each = budget // count
    return [budget - each * (count - 1), *[each] * (count - 1)]


def _asked(tx: Transaction, task: Task) -> str:
    """Return what a worker is asked, as DATA: the text itself, or where in the context it lies."""
    query = task.text
    if not is_inline(query, _QUERY_CHARS) or any(mark in query for mark in _REFERENCES):
        is_whole = task.text == tx.exchange.request
        key = REQUEST_KEY if is_whole else task.id.lower()
        tx.exchange.values[key] = task.text
        query = f"#CTX:{key}"
    pairs = [f"call={task.caps[0]}"] if task.caps else []
    pairs.append(f"query={query}")
    if len(task.caps) > 1:
        listed = ",".join(task.caps)
        pairs += [f"caps={listed}"] if len(listed) <= _QUERY_CHARS // 2 else []
    if task.choice:
        pairs.append(f"choice={inline(task.choice, _CHOICE_CHARS)}")
    return ";".join(pairs)


def assign(tx: Transaction, task: Task, hop: Hop) -> None:
    """Ask the worker that is due for a hop, the best one where none is named (PR-553, PR-561)."""
    again = hop.again
    if again is None or again.due_at > tx.now:
        return
    if again.worker and tx.registry.is_active(again.worker):
        _begin(tx, task, hop, again, again.worker, {})
        return
    if again.worker:  # it cannot be had now: another one is asked in its place
        again.fallback_from, again.worker, again.retry = again.worker, "", 0
        again.pairs = fallback_pairs(again.fallback_from, again.code or _UNAVAILABLE)
    found = _weighed(tx, task, hop)
    if found.order:
        chosen = found.order[0]
        best, order = found.candidates[0], list(found.order)
        required = list(found.required)
        tx.tell("capabilities.matched", task, hop=hop.number, required=required, order=order)
        tx.tell(
            "worker.chosen", task, agent=chosen, hop=hop.number, worker=chosen,
            score=round(best.score, 4), matched=list(best.matched), missing=list(best.missing),
        )  # fmt: skip
        _begin(tx, task, hop, again, chosen, _explained(found))
    else:
        _find_nobody(tx, task, hop, again, found)


def _weighed(tx: Transaction, task: Task, hop: Hop) -> Selection:
    asked = {one.worker for one in hop.attempts}
    beside = {
        one.worker
        for other in task.hops
        if other is not hop and other.source == hop.source
        for one in other.attempts[-1:]
        if other.is_open or (one.state is TaskState.D and other.data == hop.data)
    }
    named = workers_of(task) if hop.source == COORDINATOR else ()
    return select(
        hop.caps,
        [one for one in candidates_of(tx.registry) if not named or one.id in named],
        threshold=tx.rules.threshold,
        depth=hop.depth,
        without=asked | beside | {hop.source},
    )


def _explained(found: Selection) -> dict[str, Any]:
    told = [one.to_record() for one in found.candidates[:_CANDIDATES_TOLD]]
    return {**found.as_json("required threshold"), "candidates": told}


def _find_nobody(tx: Transaction, task: Task, hop: Hop, again: Again, found: Selection) -> None:
    """Go on where no worker can be asked: wait for one, try the last again, or give up."""
    last = hop.attempt
    if last is None:
        away = [one for one in found.candidates if one.code == _UNAVAILABLE]
        waits = [one for one in away if one.matched or not hop.caps]
        if waits and tx.now < again.since + tx.rules.task_timeout:
            told = f"{waits[0].candidate.id} {waits[0].why_not}"
            if again.blocked != told:
                tx.tell("worker.missing", task, hop=hop.number, code=_UNAVAILABLE, reason=told)
            again.blocked, again.due_at = told, tx.now + RESCAN_AFTER
            return
        unfit = next((one for one in found.candidates if one.code != _UNAVAILABLE), None)
        code = unfit.code if unfit is not None and not waits else _UNAVAILABLE
        wanted = ", ".join(hop.caps)
        give_up(tx, task, hop, code, f"no worker for {wanted}" if wanted else "no worker")
        return
    busy = strategy(again.code) == OTHER_WORKER and tx.registry.is_active(last.worker)
    if busy and last.retry < tx.rules.max_retries:
        retry_same(tx, task, hop, last, again.code)
        return
    give_up(tx, task, hop, again.code, last.reason)


def _begin(
    tx: Transaction, task: Task, hop: Hop, again: Again, worker: str, why: dict[str, Any]
) -> None:
    """Open an attempt and send its request."""
    attempt = tx.new_attempt(hop, worker, why, retry=again.retry, fallback_from=again.fallback_from)
    hop.again = None
    message = _request(tx, task, hop, again, worker)
    attempt.message = attempt.asked = tx.post(message, to=(worker,), hop=hop.number)


def _request(tx: Transaction, task: Task, hop: Hop, again: Again, worker: str) -> Message:
    """Return the line that asks for a hop: R of the coordinator, X of who handed it on."""
    added = dict(again.pairs)
    _, known = flags_and_pairs(hop.data)
    if hop.depth > tx.rules.max_depth and "reason" not in {**known, **added}:
        added["reason"] = "exceptional"
    data = ";".join((hop.data, *(f"{name}={value}" for name, value in added.items())))
    if len(data) > DATA_CHARS:
        key = f"{task.id}h{hop.number}".lower()
        tx.exchange.values[key] = hop.data
        pairs: dict[str, str] = {"call": hop.call} if hop.call else {}
        data = ";".join(f"{k}={v}" for k, v in {**pairs, "src": f"#CTX:{key}", **added}.items())
    message = compose(
        hop.source, worker, "R" if hop.source == COORDINATOR else "X", task=task.id,
        priority=task.priority, state=TaskState.N, depth=hop.depth, budget=hop.left,
    )  # fmt: skip
    return message.saying(data)


def retry_same(tx: Transaction, task: Task, hop: Hop, last: Attempt, code: str) -> None:
    """Let a hop have another attempt by the same worker, after a pause (PR-580)."""
    number, pauses = last.retry + 1, tx.rules.backoff
    due_at = tx.now + (pauses[min(number, len(pauses)) - 1] if pauses else timedelta(0))
    pairs = {"retry": str(number), "max": str(tx.rules.max_retries)}
    following = _weighed(tx, task, hop).order
    if following:
        pairs["fallback"] = following[0]
    hop.again = _at_once(tx, worker=last.worker, code=code, pairs=pairs, retry=number)
    hop.again.due_at = due_at
    tx.tell(
        "attempt.retried", task, agent=last.worker, hop=hop.number, code=code, retry=number,
        dueAt=written_instant(due_at),
    )  # fmt: skip


def _at_once(tx: Transaction, **facts: Any) -> Again:
    """Return another attempt that is due now; `facts` are its fields."""
    return Again(since=tx.now, due_at=tx.now, **facts)


def strategy(code: str) -> str:
    """Return what follows on a code of V5: one of the words of this module.

    >>> strategy("E21"), strategy("E31"), strategy("E43")
    ('retry-auto-max-2', 'fallback-other-worker', 'surface-to-user')
    """
    return _OWN_RULES.get(code) or _BY_CLASS.get(code[1:2], TELL_USER)


def fallback_pairs(worker: str, code: str) -> dict[str, str]:
    """Return what a request says to a worker that is asked in the place of another one."""
    return {"fallback_from": worker, "reason": code}


def fail(
    tx: Transaction,
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
        tx: The rule at work.
        task: The task.
        hop: A hop whose attempt is under way.
        code: Why, as a code of V5.
        reason: The same in words.
        needed: The budget that the worker said it needs.
        over: Whether the time of the task is over, so that this worker is not tried again.
        own_words: Whether the worker wrote the reason.
    """
    last = hop.under_way
    if last is None:
        return
    if last.state is TaskState.N:
        # What fails has begun: a failed attempt was running, whatever its worker saw of it.
        tx.change(task, hop, last, TaskState.R)
    tx.change(task, hop, last, TaskState.F, code=code, reason=reason)
    last.own_words = own_words
    drop_hops(tx, task, hop, last, "its source failed")
    drop_questions(tx, task, hop)
    follows = strategy(code)
    if follows == RETRY and not over and last.retry < tx.rules.max_retries:
        retry_same(tx, task, hop, last, code)
    elif follows in (RETRY, OTHER_WORKER):
        pairs = fallback_pairs(last.worker, code)
        hop.again = _at_once(tx, code=code, pairs=pairs, fallback_from=last.worker)
        tx.tell("attempt.replaced", task, agent=last.worker, hop=hop.number, code=code)
    elif follows == BUDGET_POLICY and hop.source == COORDINATOR and not hop.raised:
        _on_small_budget(tx, task, hop, last, needed)
    if hop.again is None:
        give_up(tx, task, hop, code, reason)


def _on_small_budget(tx: Transaction, task: Task, hop: Hop, last: Attempt, needed: int) -> None:
    """Raise the budget once, or ask for a simpler version, as the settings say (PR-584)."""
    policy = tx.rules.budget_policy
    if policy == "give-up" or hop.budget is None:
        return
    hop.raised = True
    again = _at_once(tx, worker=last.worker, code="E17")
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
        tx.tell("budget.raised", task, agent=last.worker, hop=hop.number, budget=wanted, was=before)
    hop.again = again
