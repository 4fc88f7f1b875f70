"""Waiting for the answer to a request, and doing what is due meanwhile.

Source: PR-556, PR-576, `cli.md` section 2 (`msg send --wait`).
"""

from __future__ import annotations

import time

from council.core.conversations.conversation import TaskState
from council.core.errors import LateAnswerError, RefusedError
from council.core.protocol.exchange import Exchange
from council.operations.heartbeat import beat
from council.operations.place import Place
from council.operations.protocol.exchanging import contexts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LOOK_AGAIN_S = 0.2


def answer_to(
    place: Place, context: str, task: str, longest_s: float, tell: Callable[[str], None]
) -> tuple[str, bool]:
    """Return the answer to the request of a context once it is there, and whether it was done.

    A request that was split is done if all of its tasks are.

    Args:
        place: The workspace.
        context: The context.
        task: The task of the request.
        longest_s: How long to wait.
        tell: Takes a line for people, such as a question that they have to answer.

    Raises:
        LateAnswerError: It did not come in time; it may still come.
        RefusedError: The context was closed without an answer.
    """
    ends_at = time.monotonic() + longest_s
    asked: set[str] = set()
    while True:
        beat(place)
        exchange = _last(place, context)
        if not exchange.is_open:
            if exchange.answered_at is None:
                raise RefusedError(
                    f"{context} was closed without an answer: {exchange.closed_reason}",
                    f"see: council task show {context}",
                )
            return _answer(place, exchange.context), _is_done(exchange, task)
        for line in _questions(exchange):
            if line not in asked:
                asked.add(line)
                tell(line)
        if time.monotonic() >= ends_at:
            raise LateAnswerError(context, longest_s)
        time.sleep(min(_LOOK_AGAIN_S, max(0.0, ends_at - time.monotonic())))


def _answer(place: Place, context: str) -> str:
    """Return the answer, which is put down a moment after the context was closed."""
    store = contexts(place)
    if not store.is_told(store.read(context)):
        store.catch_up(context)
    return store.answer(context)


def _is_done(exchange: Exchange, task: str) -> bool:
    """Return true if a request was done, with whatever it was split into after it."""
    asked = exchange.tasks.get(task)
    began = asked.created_at if asked is not None else exchange.opened_at
    mine = [one for one in exchange.tasks.values() if one is asked or one.created_at >= began]
    return all(one.state is TaskState.D for one in mine)


def _last(place: Place, context: str) -> Exchange:
    """Return the context, or the one in which it went on."""
    exchange = contexts(place).read(context).exchange
    while exchange.successor:
        exchange = contexts(place).read(exchange.successor).exchange
    return exchange


def _questions(exchange: Exchange) -> list[str]:
    lines = []
    for task in exchange.tasks.values():
        for one in task.questions:
            if not one.answer and not task.is_over:
                told = " · ".join(f"{at} {word}" for at, word in enumerate(one.options, start=1))
                where = f"{exchange.context}/{task.id}"
                lines.append(f"{one.text} {told} (council msg answer {where} …)")
    return lines
