"""What the user says to the orchestrator: requests, answers to what was asked; and what came of it.

A request opens a context, or goes into one that is kept open.

Source: PR-553, PR-556, PR-576, PR-577, PR-581, OP-004, OP-007, XC-015, XC-110, `cli.md` section 2.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from council.core.conversations.conversation import TaskState
from council.core.errors import (
    ConflictError,
    InvalidInputError,
    LateAnswerError,
    NotFoundError,
    RefusedError,
)
from council.core.protocol import orchestrator
from council.core.protocol.answering import verdict_of
from council.core.protocol.exchange import DEFAULT_COMPLEXITY, Exchange, ExchangeStep, Task
from council.core.protocol.messages import COORDINATOR, USER, compose, is_inline
from council.core.protocol.transaction import Transaction
from council.core.record import Record
from council.operations.delegation.routing import FROM_USER, by_rule, write_down
from council.operations.heartbeat.beat import beat
from council.operations.place import Place, can_wait
from council.operations.protocol.exchanging import (
    Sent,
    change,
    contexts,
    done_before,
    latest,
    new_trace,
    open_new,
    sent_of,
)
from council.operations.protocol.registry import check_capabilities
from council.operations.protocol.roster import Roster
from council.operations.protocol.tasks import find
from council.store.settings import language

_ANSWER_CHARS = 150
_CHECK_EVERY_S = 0.2


@can_wait
def request(
    place: Place,
    text: str,
    *,
    caps: tuple[str, ...] = (),
    complexity: str = DEFAULT_COMPLEXITY,
    priority: str = "P1",
    context: str = "",
    lang: str = "",
) -> Sent:
    """Send a user's request to the orchestrator.

    Args:
        place: The workspace.
        text: What is wanted, in full.
        caps: The capabilities that it needs, () for any worker.
        complexity: `simple`, `medium`, `complex` or `unlimited`: the budget.
        priority: `P0`, `P1` or `P2`.
        context: An open context that it belongs to, "" for a new one.
        lang: The language of the answer, "" for that of the workspace.

    Raises:
        InvalidInputError: The text is empty, or an option or a capability cannot be so.
        NotFoundError: There is no such context.
        ConflictError: The context is closed, or has no number left.
        RefusedError: A run asks for it.
    """
    _refuse_in_run(place, "asks")
    check_capabilities(caps)
    roster = Roster(place, place.now(), place.operation(context, text))
    before = done_before(roster)
    if before is not None:
        return sent_of("", before, task=before.task)
    spoken = language(place.settings, lang, place.environ)
    routed = by_rule(place, FROM_USER)

    def asked(tx: Transaction) -> ExchangeStep:
        who = routed.agent if routed else roster.orchestrator
        return orchestrator.request(
            tx, text, caps=caps, complexity=complexity, priority=priority, orchestrator=who
        )

    def first(chosen: str) -> ExchangeStep:
        opened = orchestrator.open_context(
            chosen, roster.now, trace_id=new_trace(place), lang=spoken
        )
        return asked(roster.after(opened))

    done = change(roster, context, asked) if context else open_new(roster, first)
    exchange = done.kept.exchange
    if routed is not None:
        trace = exchange.trace_id
        write_down(place, FROM_USER, routed, owner=exchange.context, trace=trace)
    task = max(exchange.tasks, key=lambda one: int(one[1:]), default="")
    return sent_of("sent", done, task=task)


@can_wait
def choose(place: Place, where: str, choice: str) -> Sent:
    """Give the user's answer to a question of a task.

    Args:
        place: The workspace.
        where: What asks: `S1/T1`, `T1`, or a context.
        choice: `opt2`, the number of an option, its label, or free text for an open question.

    Raises:
        NotFoundError: Nothing is asked there.
        InvalidInputError: There is no such option.
        ConflictError: Several tasks ask.
        RefusedError: A run asks for it.
    """
    _refuse_in_run(place, "answers")
    roster = Roster(place, place.now(), place.operation(where, choice))
    before = done_before(roster)
    if before is not None:
        return sent_of("", before)
    kept, wanted = find(place, where)
    exchange = kept.exchange
    context = exchange.context
    asking = {
        task.id: one.options
        for task in exchange.tasks.values()
        for one in reversed(task.questions)  # the first one counts
        if wanted in ("", task.id) and not one.answer
    }
    if not asking:
        raise NotFoundError(f"nothing is asked in {where}", "see: council msg inbox --as User")
    task = next(iter(asking))
    if len(asking) > 1:
        told = f"several tasks ask in {where}: {', '.join(asking)}"
        raise ConflictError(told, f"say which: {context}/{task}")
    options, said = asking[task], choice.strip()
    if not said:
        raise InvalidInputError("an empty answer", "say which option, or what you want")
    labels = {label.lower(): f"opt{number}" for number, label in enumerate(options, start=1)}
    if options:
        said = labels.get(said.lower(), f"opt{said}" if said.isdigit() else said.lower())
        if said not in labels.values():
            told = ", ".join(f"{number} {label}" for number, label in enumerate(options, start=1))
            raise InvalidInputError(f"no option {choice!r}", f"choose: {told}")
    understood = options[int(said[3:]) - 1] if options else said
    pairs = {"choice": said}
    if not options:  # an artifact holds whole what DATA cannot
        fits = is_inline(said, _ANSWER_CHARS)
        answer = said if fits else f"#REF:{roster.published(said, USER, exchange.trace_id)}"
        pairs = {"answer": answer}
    message = compose(
        USER, COORDINATOR, "C", pairs=pairs, task=task, context=context, state="R",
        priority=exchange.tasks[task].priority,
    )  # fmt: skip
    done = change(roster, context, lambda tx: orchestrator.receive(tx, message))
    return sent_of("taken", done, task=task).copy(answers=[f"understood: {understood}"])


def _refuse_in_run(place: Place, doing: str) -> None:
    """Let no one speak as the user from inside a run (XC-015)."""
    if place.is_in_run:
        raise RefusedError(
            f"inside a run nobody {doing} as the user", "a worker sends a line: council msg send"
        )


# --- Waiting for the answer to a request, and doing what is due meanwhile


class Asked(Record):
    """A question to the user that is open: `message` of the task at `where`."""

    where: str
    message: int
    text: str
    options: tuple[str, ...] = ()


class Answered(Record):
    """What a request came to: the answer, and in one line who gave it or why there is none.

    `is_done` says that all of its tasks were done, `is_failed` that none was.
    """

    text: str
    verdict: str
    is_done: bool
    is_failed: bool


def answer_to(
    place: Place,
    context: str,
    task: str,
    longest_s: float,
    put: Callable[[list[Asked], float], bool],
) -> Answered:
    """Return what came of the request of a context once it is over, with all it was split into.

    Args:
        place: The workspace.
        context: The context.
        task: The task of the request.
        longest_s: How long to wait, in seconds; what a person takes to answer right here does
            not count.
        put: Is given the open questions and a number of seconds, and comes back after it or once
            something was answered; returns true if the questions can be answered right here.

    Raises:
        LateAnswerError: It did not come in time; it may still come.
        RefusedError: The context was closed without an answer.
    """
    ends_at = time.monotonic() + longest_s
    while True:
        began = time.monotonic()
        beat(place)
        exchange = latest(place, context)
        if not exchange.is_open:
            if exchange.answered_at is None:
                raise RefusedError(
                    f"{context} was closed without an answer: {exchange.closed_reason}",
                    f"see: council task show {context}",
                )
            return _answered(place, exchange, task)
        if began >= ends_at:
            raise LateAnswerError(context, longest_s)
        asked = _questions(exchange)
        if put(asked, min(_CHECK_EVERY_S, max(0.0, ends_at - time.monotonic()))) and asked:
            ends_at += time.monotonic() - began


def _answered(place: Place, exchange: Exchange, task: str) -> Answered:
    store = contexts(place)
    if not store.is_told(store.read(exchange.context)):
        store.catch_up(exchange.context)  # the answer is put down a moment after the end
    tasks = _tasks_of(exchange, task)
    names = Roster(place, place.now()).registry.agents
    path = os.path.relpath(store.answer_path(exchange.context), place.root)
    said = verdict_of(tasks, names, exchange.lang)
    done = [one.state is TaskState.D for one in tasks]
    return Answered(
        text=store.answer(exchange.context),
        verdict=f"{exchange.context}: {said} · {path}",
        is_done=all(done),
        is_failed=not any(done),
    )


def _tasks_of(exchange: Exchange, task: str) -> list[Task]:
    """Return the tasks of a request: its own, with whatever it was split into after it."""
    asked = exchange.tasks.get(task)
    began = asked.created_at if asked is not None else exchange.opened_at
    return [one for one in exchange.tasks.values() if one is asked or one.created_at >= began]


def _questions(exchange: Exchange) -> list[Asked]:
    return [
        Asked(
            where=f"{exchange.context}/{task.id}",
            message=one.message,
            text=one.text,
            options=one.options,
        )
        for task in exchange.open_tasks
        for one in task.questions
        if one.is_open
    ]
