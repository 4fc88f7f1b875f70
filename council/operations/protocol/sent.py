"""What became of a message that was sent.

Source: `cli.md` section 2 (`msg send`).
"""

from __future__ import annotations

import os

from council.core.record import Record
from council.core.reporting.trace_context import trace_around
from council.operations.place import Place
from council.operations.protocol.exchanging import Changed

TRACE_BYTES = 16


class Sent(Record):
    """What became of a message.

    Args:
        outcome: `sent`, `taken`, `duplicate`, `ignored`, `refused`, `registered`, `relayed`, or
            `already-recorded` where an earlier attempt had done it.
        context: The context it belongs to, "" for the registry.
        task: Its task, "" for none.
        message: Its id there, "" for none.
        to: Who got it.
        code: Why it was refused, as a code of V5.
        reason: The same in words.
        answers: What was answered to the sender at once.
    """

    _keys = "context? task? message? code? reason?"

    outcome: str
    context: str = ""
    task: str = ""
    message: str = ""
    to: tuple[str, ...] = ()
    code: str = ""
    reason: str = ""
    answers: list[str] = []


def new_trace(place: Place) -> str:
    """Return the trace of something that begins now: that of whoever called, else a new one."""
    return trace_around(place.environ) or os.urandom(TRACE_BYTES).hex()


def sent_of(outcome: str, done: Changed, *, task: str = "") -> Sent:
    """Return what a change of a context came to for whoever sent the message."""
    step, exchange = done.step, done.kept.exchange
    to: dict[str, None] = {}
    numbers = {one.number for one in step.messages}
    for posted in exchange.posted:
        if posted.message.number in numbers:
            to.update(dict.fromkeys(posted.to))
    return Sent(
        outcome=step.outcome or outcome,
        context=exchange.context,
        task=task,
        message=step.messages[0].id if step.messages else "",
        to=tuple(to),
        code=step.code,
        reason=step.reason,
    )
