"""The orchestrator: what follows from requests, messages and time in one context.

Nobody runs it. A person who sends a request, a worker that answers, the
heartbeat that looks by: each of them loads the context, calls one rule of this
module, saves what comes back and does what `exchange_owed.pending` reads from
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
ends once. The document's flows tell of one task that is done twice, or new
again after a failure; kept in this way each of its steps is a plain transition
(A-59).

*A worker is asked one thing at a time.* `Attempt.asked` is the message that it
has to act on: the request, the answer to its question, what came back from
whom it handed something on to, or the E that refused what it said. While it
waits for somebody else it is asked nothing, and no time of its own runs.

*Whatever is owed stands in the state.* A retry is `Hop.again` with its instant,
a message is owed until it is delivered, a run until it is claimed. No effect is
carried in memory.

*Everything ends.* Retries are counted, each worker is asked for a hop by
fallback once, hand-offs are bounded by depth and budget, refused messages and
questions by number, questions to the user and work by time. What cannot be
done ends as F with its code, and the user is told.

Deterministic throughout: the registry is an argument, and where a request has
to be split or an answer composed, an agent is asked by way of a run of its own.

Source: PR-501, PR-551 to PR-585, XC-105, XC-106, A-59 to A-67.
"""

from __future__ import annotations

from datetime import datetime

from council.core.conversations.conversation import TaskState
from council.core.errors import ConflictError, InvalidInputError
from council.core.events import Event
from council.core.protocol.desk import Desk
from council.core.protocol.exchange import (
    BUDGETS,
    DEFAULT_COMPLEXITY,
    LAST_TASK,
    PRIORITIES,
    RULES,
    Exchange,
    ExchangeStep,
    Task,
    TaskRules,
)
from council.core.protocol.hops import cancel_task
from council.core.protocol.messages import Message
from council.core.protocol.parts import give_parts
from council.core.protocol.questions import WAIT, ask, ask_who
from council.core.protocol.receiving import REFUSED, Verdict, refuse_line, take_in
from council.core.protocol.selection import named_in
from council.core.protocol.sending import send_out
from council.core.protocol.settlement import close_context, settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.protocol.registry import Registry


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
        context=context,
        trace_id=trace_id,
        lang=lang,
        kept_open=kept_open,
        opened_at=now,
        updated_at=now,
        ends_at=ends_at,
    )
    opened = Event(type="context.opened", data={"ctx": context, "tid": None, "kept": kept_open})
    return ExchangeStep(exchange=exchange, events=[opened])


def request(
    exchange: Exchange,
    text: str,
    registry: Registry,
    now: datetime,
    *,
    caps: tuple[str, ...] = (),
    complexity: str = DEFAULT_COMPLEXITY,
    priority: str = "P1",
    atomic: bool = False,
    orchestrator: str = "",
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Take a request of the user: a task with its budget, and the worker who is best for it.

    Args:
        exchange: A context made by `open_context`, or one that is kept open.
        text: What the user wants, in full.
        registry: Who is there.
        now: The instant.
        caps: The capabilities that it needs; () takes those that the text names. Where it names
            none and no orchestrator splits the request, the user is asked who is to do it.
        complexity: A key of `exchange.BUDGETS`.
        priority: `P0`, `P1` or `P2`.
        atomic: Whether its runs may not be interrupted.
        orchestrator: The agent to ask how to split it, and for the answer; "" for none.
        rules: What may be chosen.

    Raises:
        InvalidInputError: The text is empty, or an option has no such value.
        ConflictError: The context is closed, or has no number left for a task (PR-644).

    Source: PR-553, PR-581, OP-015.
    """
    _check_request(exchange, text, complexity, priority)
    desk = Desk(exchange, now, registry=registry, rules=rules)
    new = desk.exchange
    task = Task(
        id=f"T{new.next_task}",
        text=text,
        caps=tuple(dict.fromkeys(caps)) or (() if orchestrator else named_in(text, registry)),
        priority=priority,
        budget=BUDGETS[complexity],
        atomic=atomic,
        divided=not orchestrator,
        at=now,
        created_at=now,
    )
    new.next_task += 1
    new.tasks[task.id] = task
    new.request = new.request or text
    new.complexity = complexity
    new.orchestrator = orchestrator or new.orchestrator
    new.composed, new.answer = False, ""
    desk.tell("task.created", task, priority=priority, caps=list(task.caps))
    desk.tell("budget.set", task, budget=task.budget)
    if task.divided:
        give_parts(desk, task)
        if not task.caps:
            ask_who(desk, task)
    settle(desk)
    return desk.step("taken")


def _check_request(exchange: Exchange, text: str, complexity: str, priority: str) -> None:
    if not text.strip():
        raise InvalidInputError("an empty request", "say what you want")
    for given, known, what in (
        (complexity, tuple(BUDGETS), "complexity"),
        (priority, PRIORITIES, "priority"),
    ):
        if given not in known:
            raise InvalidInputError(f"no {what} {given!r}", f"choose among: {', '.join(known)}")
    if not exchange.is_open:
        raise ConflictError(f"context {exchange.context} is closed", "send the request without it")
    if exchange.next_task > LAST_TASK:
        raise ConflictError(
            f"context {exchange.context} has had {LAST_TASK} tasks", "go on in a new context"
        )


def receive(
    exchange: Exchange,
    message: Message,
    registry: Registry,
    now: datetime,
    *,
    run: str = "",
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Take a message that a worker or the user sent, and do what follows from it.

    `outcome` is `taken`; `duplicate` for what was heard already; `ignored` for what a worker
    may not send; `refused` with `code` and `reason` for what its sender is answered with an E.
    `run` is the id of the run that wrote it, "" for none: it ends with the message.

    Source: PR-551, PR-552, PR-554, PR-559, PR-562 to PR-566, PR-574 to PR-579, PR-582, PR-584.
    """
    desk = Desk(exchange, now, registry=registry, rules=rules)
    return _judged(desk, take_in(desk, message, run))


def receive_fault(
    exchange: Exchange,
    message: Message,
    code: str,
    registry: Registry,
    now: datetime,
    *,
    details: str = "",
    explanation: str = "",
    run: str = "",
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Answer a line of a worker that has faults with the code of the first one (PR-537).

    Args:
        exchange: The context.
        message: Who sent it about which task, as far as the line tells; its DATA does not matter.
        code: The fault, as a code of V5.
        registry: Who is there.
        now: The instant.
        details: The fault in words.
        explanation: What its worker reads beside the answer: the line, the fault and the right
            line (HR-015); it becomes a value of the context, and the answer refers to it.
        run: The run that wrote it, "" for none.
        rules: What may be chosen.

    Returns:
        A step whose `outcome` is `refused`. A worker that was asked something is asked once
        more, and fails with that code after the third time.
    """
    desk = Desk(exchange, now, registry=registry, rules=rules)
    return _judged(desk, refuse_line(desk, message, code, details, run, explanation))


def send(
    exchange: Exchange,
    message: Message,
    registry: Registry,
    now: datetime,
    *,
    to: tuple[str, ...] = (),
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Send a line of an orchestrator, as a person or its agent wrote it.

    `outcome` is `sent`, or `refused` with `code` and `reason`: then nothing was sent. `to` are
    the members where the line goes to a group, to all workers or to all.

    Source: PR-304, PR-517, PR-551, PR-574.
    """
    desk = Desk(exchange, now, registry=registry, rules=rules)
    verdict = send_out(desk, message, to)
    if verdict.outcome == REFUSED:
        desk = Desk(exchange, now)
        task = exchange.tasks.get(message.task)
        desk.tell(
            "message.refused", task, agent=message.sender, kind=message.kind, said=message.id,
            code=verdict.code, reason=verdict.reason,
        )  # fmt: skip
        return desk.step(verdict.outcome, code=verdict.code, reason=verdict.reason)
    return _judged(desk, verdict)


def _judged(desk: Desk, verdict: Verdict) -> ExchangeStep:
    settle(desk)
    return desk.step(verdict.outcome, code=verdict.code, reason=verdict.reason)


def delivered(
    exchange: Exchange, number: int, now: datetime, *, rules: TaskRules = RULES
) -> ExchangeStep:
    """Note that a message is in the inboxes: a task becomes running by it (A-60).

    A question to the user has its time from here on.
    """
    desk = Desk(exchange, now, rules=rules)
    posted = desk.exchange.posted_as(number)
    if posted is None or posted.delivered_at is not None:
        return desk.step()
    posted.delivered_at = now
    task = desk.exchange.tasks.get(posted.message.task)
    desk.tell("message.delivered", task, msg=f"M{number}", to=list(posted.to))
    if task is None or task.is_over:
        return desk.step()
    for question in task.questions:
        if question.message == number and question.is_open:
            until = now + rules.choice_timeout
            if rules.choice_policy == WAIT:
                question.late_at = until
            else:
                question.ends_at = until
    for hop in task.hops:
        attempt = hop.attempt
        if attempt and attempt.message == number and attempt.state is TaskState.N:
            desk.change(task, hop, attempt, TaskState.R)
    return desk.step()


def ask_user(
    exchange: Exchange,
    task: str,
    text: str,
    options: tuple[str, ...],
    registry: Registry,
    now: datetime,
    *,
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Put a choice to the user before a task goes on (PR-576); `outcome` is `asked`, or "".

    Nothing happens for a task that is over or that somebody works on.
    """
    desk = Desk(exchange, now, registry=registry, rules=rules)
    asked = desk.exchange.tasks.get(task)
    if asked is None or asked.is_over or any(hop.attempts for hop in asked.hops):
        return desk.step()
    ask(desk, asked, text, options)
    settle(desk)
    return desk.step("asked")


def cancel(
    exchange: Exchange,
    task: str,
    now: datetime,
    *,
    reason: str = "",
    registry: Registry | None = None,
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Cancel a task: everybody who works on it is told by U with state X.

    `outcome` is `cancelled`, or "" for a task that is over or unknown.
    """
    desk = Desk(exchange, now, registry=registry, rules=rules)
    ended = desk.exchange.tasks.get(task)
    if ended is None or ended.is_over:
        return desk.step()
    cancel_task(desk, ended, reason or "cancelled")
    if registry is not None:
        settle(desk)
    return desk.step("cancelled")


def close(exchange: Exchange, now: datetime, *, reason: str = "closed") -> ExchangeStep:
    """Close a context; what is still open in it is cancelled (PR-571)."""
    desk = Desk(exchange, now)
    if desk.exchange.is_open:
        close_context(desk, reason)
        return desk.step("closed")
    return desk.step()


def advance(
    exchange: Exchange, registry: Registry, now: datetime, *, rules: TaskRules = RULES
) -> ExchangeStep:
    """Take every step that is due at `now`; idempotent.

    Lost runs, deadlines, retries whose pause is over, workers for what has none, the end of
    tasks. Every other rule that takes the registry ends with it.

    Source: PR-555, PR-561, PR-580.
    """
    desk = Desk(exchange, now, registry=registry, rules=rules)
    settle(desk)
    return desk.step()
