"""How an exchange goes on in a new context when its numbers are used up.

After M9999 a message bears a number past the last one until it gets one in the
next context; after T999 another task is refused. What is open goes over to the
new context, which names the old one by `#CTX:prev`; what is over stays.

Source: PR-644, A-72.
"""

from __future__ import annotations

from council.core.events import Event
from council.core.protocol.exchange import (
    LAST_MESSAGE,
    LAST_TASK,
    Exchange,
    ExchangeStep,
    Task,
)
from council.core.protocol.messages import COORDINATOR, Message
from council.core.protocol.transaction import Transaction, event_of
from council.core.record import Record

PREVIOUS = "prev"


class Succession(Record):
    """The old context, closed, and the new one that goes on with what was open in it."""

    old: ExchangeStep
    new: ExchangeStep


def succeed(tx: Transaction, context: str) -> Succession:
    """Go on in context `context`; `#CTX:prev` there names this one (PR-644)."""
    old, now = tx.exchange, tx.now
    carried = {one.id for one in old.tasks.values() if not (one.is_over and one.told)}
    anew = old.next_task > LAST_TASK
    ids = {
        task: f"T{place}" if anew else task
        for place, task in enumerate((one for one in old.tasks if one in carried), 1)
    }
    new = old.copy(
        context=context,
        opened_at=now,
        updated_at=now,
        values={**old.values, PREVIOUS: old.context},
        tasks={},
        posted=[],
        runs={},
        next_message=1,
        next_task=len(ids) + 1 if anew else old.next_task,
        rev=0,
        extra={},
    )
    numbers = _carry_messages(old, new, ids)
    first = {after for before, after in numbers.items() if before > LAST_MESSAGE}
    _carry_tasks(old, new, ids, numbers)
    _carry_runs(old, new, ids, numbers)
    data = {"ctx": old.context, "tid": None, "next": context, "tids": ids}
    tx.events.append(Event(type="context.continued", data=data))
    old.posted = [
        one
        for one in old.posted
        if one.message.number <= LAST_MESSAGE and one.delivered_at is not None
    ]
    for one in carried:
        del old.tasks[one]
    old.runs = {key: one for key, one in old.runs.items() if one.task not in ids}
    old.successor, old.moved = context, ids
    tx.close("ids-used-up")
    opened = {"ctx": context, "tid": None, "kept": new.kept_open}
    events = [Event(type="context.opened", data=opened)]
    fresh = [one for one in new.posted if one.message.number in first]
    for posted in fresh:
        sent = posted.message.sender == COORDINATOR
        events.append(event_of("message.sent" if sent else "message.received", posted))
    messages = tuple(one.message for one in fresh)
    return Succession(
        old=tx.step("continued"),
        new=ExchangeStep(exchange=new, events=events, messages=messages, outcome="opened"),
    )


def _carry_messages(old: Exchange, new: Exchange, ids: dict[str, str]) -> dict[int, int]:
    """Carry over what is due or asked, numbered from 1; return the new numbers by the old."""
    held = {
        number
        for task in old.tasks.values()
        if task.id in ids
        for number in (
            *(one.asked for hop in task.hops for one in hop.attempts),
            *(one.message for one in task.questions if one.is_open),
        )
    }
    numbers: dict[int, int] = {}
    for one in old.posted:
        before = one.message.number
        if one.delivered_at is not None and before <= LAST_MESSAGE and before not in held:
            continue
        number = new.next_message
        new.next_message += 1
        numbers[before] = number
        task = ids.get(one.message.task, one.message.task)
        message = one.message.copy(number=number, context=new.context, task=task)
        parent = numbers.get(one.parent, 0)
        new.posted.append(one.copy(message=message, parent=parent, said=0, extra={}))
    return numbers


def _carry_tasks(
    old: Exchange, new: Exchange, ids: dict[str, str], numbers: dict[int, int]
) -> None:
    for before, after in ids.items():
        task: Task = old.tasks[before].copy(id=after)
        for hop in task.hops:
            for attempt in hop.attempts:
                attempt.message = numbers.get(attempt.message, 0)
                attempt.asked = numbers.get(attempt.asked, 0)
        for question in task.questions:
            question.message = numbers.get(question.message, 0)
        new.tasks[after] = task


def _carry_runs(old: Exchange, new: Exchange, ids: dict[str, str], numbers: dict[int, int]) -> None:
    """Carry over the runs under way; they keep their ids, under which they will answer."""
    for key, one in old.runs.items():
        if one.task in ids and (one.message in numbers or not one.message):
            carried = one.copy(task=ids[one.task], message=numbers.get(one.message, 0))
            new.runs[key] = carried


def forwarded(exchange: Exchange, message: Message) -> Message:
    """Return a message to a context that was succeeded as one to its successor.

    It is to be taken there; a task that was over stays unknown there.
    """
    return message.copy(
        context=exchange.successor, task=exchange.moved.get(message.task, message.task)
    )
