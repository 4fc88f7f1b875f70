"""Waiting for the answer to a request, and doing what is due meanwhile.

Source: PR-556, PR-576, OP-004, OP-007, `cli.md` section 2 (`msg send --wait`).
"""

from __future__ import annotations

import os
import time

from council.core.conversations.conversation import TaskState
from council.core.errors import LateAnswerError, RefusedError
from council.core.protocol.answering import verdict_of
from council.core.protocol.exchange import Exchange, Task
from council.core.record import Record
from council.operations.heartbeat.beat import beat
from council.operations.place import Place
from council.operations.protocol.crew import Crew
from council.operations.protocol.exchanging import contexts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LOOK_AGAIN_S = 0.2


class Asked(Record):
    """A question to the user that is open: `message` of the task at `where`."""

    where: str
    message: int
    text: str
    options: tuple[str, ...] = ()


class Answered(Record):
    """What a request came to: the answer, and in one line who gave it or why there is none.

    `is_done` tells that all of its tasks were done, `is_failed` that none was.
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
        exchange = _last(place, context)
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
        if put(asked, min(_LOOK_AGAIN_S, max(0.0, ends_at - time.monotonic()))) and asked:
            ends_at += time.monotonic() - began


def _answered(place: Place, exchange: Exchange, task: str) -> Answered:
    store = contexts(place)
    if not store.is_told(store.read(exchange.context)):
        store.catch_up(exchange.context)  # the answer is put down a moment after the end
    tasks = _tasks_of(exchange, task)
    registry = Crew(place, place.now()).registry
    names = registry.agents
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


def _last(place: Place, context: str) -> Exchange:
    """Return the context, or the one in which it went on."""
    exchange = contexts(place).read(context).exchange
    while exchange.successor:
        exchange = contexts(place).read(exchange.successor).exchange
    return exchange


def _questions(exchange: Exchange) -> list[Asked]:
    return [
        Asked(
            where=f"{exchange.context}/{task.id}",
            message=one.message,
            text=one.text,
            options=one.options,
        )
        for task in exchange.tasks.values()
        for one in task.questions
        if one.is_open and not task.is_over
    ]
