"""The orchestrator: what follows from requests, messages and time in one context.

It has no process of its own. A person who sends a request, a worker that answers, the
heartbeat that comes by: each of them loads the context, calls one rule of this
module, saves what comes back and does what `exchange_due.pending` reads from
it. Any number of processes may do so, one after the other, and any of them may
die between two steps.

    request ──▶ task N ──▶ worker chosen, R sent ──▶ delivered: R ──▶ S: D
                   ▲                                      │
                   │            ┌─────────────────────────┼──────────────┐
                   │            ▼                         ▼              ▼
                 choice     C: a question             X: a hop of     E: by its class
                 of the     to the user, and          its own, and    tried again, given to
                 user       its answer back           its answer      another worker, or
                                                      back            told to the user

*A task has hops, a hop has attempts.* The coordinator asks for the first hop; a
worker that hands something on asks for a further one, one deeper, out of its
own budget. An attempt is one try of one worker, with the states N R D F X, and
ends once. The document's flows describe one task that is done twice, or new
again after a failure; kept in this way each of its steps is a plain transition
(A-59).

*A worker is asked one thing at a time.* `Attempt.asked` is the message that it
has to act on: the request, the answer to its question, what came back from
whom it handed something on to, or the E that refused what it said. While it
waits for another one it is asked nothing, and no time of its own runs.

*Whatever is due stands in the state.* A retry is `Hop.again` with its instant,
a message is due until it is delivered, a run until it is claimed. No effect is
carried in memory.

*Everything ends.* Retries are counted, each worker is asked for a hop by
fallback once, hand-offs are bounded by depth and budget, refused messages and
questions by number, questions to the user and work by time. What cannot be
done ends as F with its code, and the user is informed.

Deterministic throughout: the registry is an argument, and where a request has
to be split or an answer composed, an agent is asked by way of a run of its own.

Source: PR-501, PR-551 to PR-585, XC-105, XC-106, A-59 to A-67, issue 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from council.core.conversations.conversation import TaskState
from council.core.errors import ConflictError, InvalidInputError
from council.core.events import Event
from council.core.protocol.assigning import assign, fail, give_parts, shares
from council.core.protocol.exchange import (
    BUDGETS,
    DEFAULT_COMPLEXITY,
    LAST_TASK,
    PRIORITIES,
    Exchange,
    ExchangeStep,
    Task,
)
from council.core.protocol.exchange_runs import expire_leases
from council.core.protocol.hops import cancel_task, conclude
from council.core.protocol.messages import Message
from council.core.protocol.questions import WAIT, ask_who, expire, waits_for_choice
from council.core.protocol.receiving import REFUSED, Verdict, refuse_line, take_in
from council.core.protocol.selection import named_in
from council.core.protocol.sending import send_out
from council.core.protocol.transaction import Transaction
from council.core.record import Any, Record

# Half of what the simplest request gets.
LEAST_SHARE = (BUDGETS["simple"] or 0) // 2


def open_context(
    context: str,
    now: datetime,
    *,
    trace_id: str = "",
    lang: str = "en",
    kept_open: bool = False,
    ends_at: datetime | None = None,
) -> ExchangeStep:
    """Open a context without any task; only the coordinator does so (PR-571).

    Args:
        context: Its id, `S1`.
        now: The instant.
        trace_id: The trace of what is asked in it.
        lang: The language of the answer.
        kept_open: Whether it stays open when all its tasks are over.
        ends_at: When it is closed whatever is open in it, None for never.
    """
    exchange = Exchange(
        context=context, trace_id=trace_id, lang=lang, kept_open=kept_open, opened_at=now,
        updated_at=now, ends_at=ends_at,
    )  # fmt: skip
    opened = Event(type="context.opened", data={"ctx": context, "tid": None, "kept": kept_open})
    return ExchangeStep(exchange=exchange, events=[opened])


def request(
    tx: Transaction,
    text: str,
    *,
    caps: tuple[str, ...] = (),
    complexity: str = DEFAULT_COMPLEXITY,
    priority: str = "P1",
    atomic: bool = False,
    orchestrator: str = "",
) -> ExchangeStep:
    """Take a request of the user: a task with its budget, and the worker who is best for it.

    Args:
        tx: On a context made by `open_context`, or one that is kept open.
        text: What the user wants, in full.
        caps: The capabilities that it needs; () takes those that the text names. Where it names
            none and no orchestrator splits the request, the user is asked who is to do it.
        complexity: A key of `exchange.BUDGETS`.
        priority: `P0`, `P1` or `P2`.
        atomic: Whether its runs may not be interrupted.
        orchestrator: The agent to ask how to split it, and for the answer; "" for none.

    Raises:
        InvalidInputError: The text is empty, or an option has no such value.
        ConflictError: The context is closed, or has no number left for a task (PR-644).

    Source: PR-553, PR-581, OP-015.
    """
    new = tx.exchange
    _check_request(new, text, complexity, priority)
    budget = BUDGETS[complexity]
    task = tx.new_task(text=text, priority=priority, budget=budget, atomic=atomic)
    named = () if orchestrator else named_in(text, tx.registry)
    task.caps, task.divided = tuple(dict.fromkeys(caps)) or named, not orchestrator
    new.request = new.request or text
    new.complexity = complexity
    new.orchestrator = orchestrator or new.orchestrator
    new.composed, new.answer = False, ""
    tx.tell("task.created", task, priority=priority, caps=list(task.caps))
    tx.tell("budget.set", task, budget=task.budget)
    if task.divided:
        give_parts(tx, task)
        if not task.caps:
            ask_who(tx, task)
    settle(tx)
    return tx.step("taken")


def _check_request(exchange: Exchange, text: str, complexity: str, priority: str) -> None:
    if not text.strip():
        raise InvalidInputError("an empty request", "say what you want")
    choices = ((complexity, tuple(BUDGETS), "complexity"), (priority, PRIORITIES, "priority"))
    for given, known, what in choices:
        if given not in known:
            raise InvalidInputError(f"no {what} {given!r}", f"choose among: {', '.join(known)}")
    if not exchange.is_open:
        raise ConflictError(f"context {exchange.context} is closed", "send the request without it")
    if exchange.next_task > LAST_TASK:
        raise ConflictError(
            f"context {exchange.context} has had {LAST_TASK} tasks", "go on in a new context"
        )


def receive(tx: Transaction, message: Message, *, run: str = "") -> ExchangeStep:
    """Take a message that a worker or the user sent, and do what follows from it.

    `outcome` is `taken`; `duplicate` for what was heard already; `ignored` for what a worker
    may not send; `refused` with `code` and `reason` for what its sender is answered with an E.
    `run` is the id of the run that wrote it, "" for none: it ends with the message.

    Source: PR-551, PR-552, PR-554, PR-559, PR-562 to PR-566, PR-574 to PR-579, PR-582, PR-584.
    """
    return _judged(tx, take_in(tx, message, run))


def receive_fault(
    tx: Transaction,
    message: Message,
    code: str,
    *,
    details: str = "",
    explanation: str = "",
    run: str = "",
) -> ExchangeStep:
    """Answer a line of a worker that has faults with the code of the first one (PR-537).

    Args:
        tx: On the context.
        message: Who sent it about which task, as far as the line says; its DATA does not matter.
        code: The fault, as a code of V5.
        details: The fault in words.
        explanation: What its worker reads beside the answer: the line, the fault and the right
            line (HR-015); it becomes a value of the context, and the answer refers to it.
        run: The run that wrote it, "" for none.

    Returns:
        A step whose `outcome` is `refused`. A worker that was asked something is asked once
        more, and fails with that code after the third time.
    """
    return _judged(tx, refuse_line(tx, message, code, details, run, explanation))


def send(tx: Transaction, message: Message, *, to: tuple[str, ...] = ()) -> ExchangeStep:
    """Send a line of an orchestrator, as a person or its agent wrote it.

    `outcome` is `sent`, or `refused` with `code` and `reason`: then nothing was sent. `to` are
    the members where the line goes to a group, to all workers or to all.

    Source: PR-304, PR-517, PR-551, PR-574.
    """
    before = tx.exchange.copy(), [*tx.events], [*tx.messages]
    verdict = send_out(tx, message, to)
    if verdict.outcome != REFUSED:
        return _judged(tx, verdict)
    tx.exchange, tx.events, tx.messages = before
    tx.tell_refused(message, verdict.code, verdict.reason, tx.exchange.tasks.get(message.task))
    return tx.step(verdict.outcome, code=verdict.code, reason=verdict.reason)


def _judged(tx: Transaction, verdict: Verdict) -> ExchangeStep:
    settle(tx)
    return tx.step(verdict.outcome, code=verdict.code, reason=verdict.reason)


def delivered(tx: Transaction, number: int) -> ExchangeStep:
    """Note that a message is in the inboxes: a task becomes running by it (A-60).

    A question to the user has its time from here on.
    """
    posted = tx.exchange.posted_as(number)
    if posted is None or posted.delivered_at is not None:
        return tx.step()
    posted.delivered_at = tx.now
    task = tx.exchange.tasks.get(posted.message.task)
    tx.tell("message.delivered", task, msg=f"M{number}", to=list(posted.to))
    if task is None or task.is_over:
        return tx.step()
    for question in task.questions:
        if question.message == number and question.is_open:
            until = tx.now + tx.rules.choice_timeout
            if tx.rules.choice_policy == WAIT:
                question.late_at = until
            else:
                question.ends_at = until
    for hop in task.hops:
        attempt = hop.attempt
        if attempt and attempt.message == number and attempt.state is TaskState.N:
            tx.change(task, hop, attempt, TaskState.R)
    return tx.step()


def cancel(tx: Transaction, task: str, *, reason: str = "") -> ExchangeStep:
    """Cancel a task: everybody who works on it is informed by U with state X.

    `outcome` is `cancelled`, or "" for a task that is over or unknown.
    """
    ended = tx.exchange.tasks.get(task)
    if ended is None or ended.is_over:
        return tx.step()
    cancel_task(tx, ended, reason or "cancelled")
    return tx.step("cancelled")


def close(tx: Transaction, *, reason: str = "closed") -> ExchangeStep:
    """Close a context; what is still open in it is cancelled (PR-571)."""
    if not tx.exchange.is_open:
        return tx.step()
    _close_context(tx, reason)
    return tx.step("closed")


class Part(Record):
    """One task of a request: what is to be done, and which capabilities it needs."""

    text: str
    caps: tuple[str, ...] = ()


def divided(tx: Transaction, parts: Sequence[Part], *, run: str = "") -> ExchangeStep:
    """Split the request as its orchestrator's agent said; its budget is shared among the parts.

    Args:
        tx: On the context.
        parts: The tasks; without any, or where a part would have fewer than `LEAST_SHARE`
            tokens, the request goes whole to the best worker.
        run: The run that said so; "" takes the task that waits to be split.

    Returns:
        A step whose `outcome` is `split` or `whole`, "" when nothing waits to be split.

    Source: PR-553, PR-561, PR-566, issue 6.
    """
    exchange = tx.exchange
    known = exchange.runs.get(run)
    waiting = [
        one
        for one in exchange.open_tasks
        if not one.divided and (known is None or known.task == one.id)
    ]
    tx.end_run(run)
    if not waiting:
        return tx.step()
    first = waiting[0]
    first.divided = True
    share = None if first.budget is None or not parts else first.budget // len(parts)
    if len(parts) > 1 and share is not None and share < LEAST_SHARE:
        # Workers that cannot do anything with their share would each refuse it.
        reason = f"{len(parts)} parts leave {share} tokens each, {LEAST_SHARE} are needed"
        tx.tell("message.refused", first, agent=exchange.orchestrator, code="E17", reason=reason)
        parts = ()
    kept = list(parts)[: LAST_TASK - exchange.next_task + 2] or [
        Part(text=first.text, caps=first.caps)
    ]
    alike: dict[str, Any] = {"text": first.text, "priority": first.priority, "atomic": first.atomic}
    tasks = [first, *(tx.new_task(**alike) for _ in kept[1:])]
    for task, part, share in zip(tasks, kept, shares(first.budget, len(kept)), strict=True):
        task.text, task.caps = part.text.strip() or first.text, part.caps
        task.budget = share
        if task is not first:
            tx.tell("task.created", task, priority=task.priority, caps=list(task.caps))
        if len(kept) > 1:
            tx.tell("budget.set", task, budget=share)
        give_parts(tx, task)
    tx.tell("request.split", first, tids=[one.id for one in tasks])
    settle(tx)
    return tx.step("split" if len(kept) > 1 else "whole")


def advance(tx: Transaction) -> ExchangeStep:
    """Take every step that is due; idempotent.

    Lost runs, deadlines, retries whose pause is over, workers for what has none, the end of
    tasks. Every other rule that asks the registry ends with it.

    Source: PR-555, PR-561, PR-580.
    """
    settle(tx)
    return tx.step()


def settle(tx: Transaction) -> None:
    """Take every step that is due; done again at the same time it changes nothing more.

    Source: PR-555, PR-556, PR-561, PR-571, PR-576, PR-580.
    """
    exchange = tx.exchange
    if not exchange.is_open:
        return
    if exchange.ends_at is not None and tx.now >= exchange.ends_at:
        _close_context(tx, "timeout")
        return
    expire_leases(tx)
    for task in sorted(exchange.open_tasks, key=lambda one: one.priority):
        _time_out(tx, task)
        if task.divided and not waits_for_choice(task):
            for hop in list(task.hops):
                # Who is found to be missing may leave another one to be asked at once.
                while hop.again is not None and tx.now >= hop.again.due_at:
                    assign(tx, task, hop)
        conclude(tx, task)


def _time_out(tx: Transaction, task: Task) -> None:
    """Give up what has taken too long in a task: choices, workers, the task itself."""
    for question in task.questions:
        until = question.ends_at or question.late_at
        if question.is_open and until is not None and tx.now >= until:
            expire(tx, task, question)
    if task.ends_at is not None and tx.now >= task.ends_at and not task.waits_for_user:
        _give_to_another(tx, task)
    for hop in task.hops:
        attempt = hop.under_way
        if attempt is None:
            continue
        if attempt.ends_at is not None and tx.now >= attempt.ends_at:
            fail(tx, task, hop, "E21", "no answer in time")
        elif not tx.registry.is_active(attempt.worker) and not tx.is_run(task, hop):
            # It cannot be asked again before it comes back.
            fail(tx, task, hop, "E22", "no sign of life", over=True)


def _give_to_another(tx: Transaction, task: Task) -> None:
    """Inform the workers of a task that its time is over, and ask others (E20, PR-555)."""
    task.ends_at = None
    for hop in list(task.hops):
        attempt = hop.under_way
        if hop.parent or attempt is None:
            continue
        tx.say(
            task, attempt.worker, "E", pairs={"desc": "timeout"}, state=TaskState.F, code="E20",
            hop=hop, parent=attempt.message,
        )  # fmt: skip
        fail(tx, task, hop, "E20", "the time of the task is over", over=True)


def _close_context(tx: Transaction, reason: str) -> None:
    """Close the context; what is open in it is cancelled."""
    for task in tx.exchange.open_tasks:
        cancel_task(tx, task, reason)
    tx.close(reason)
