"""A transaction: one rule at work on one exchange.

It holds a copy that the rule may change, numbers the messages, and collects
what happened. The rules themselves stand in the modules that use it.

Source: PR-551, PR-573, PR-585, PR-644, XC-008.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from council.core.conversations.conversation import TaskState
from council.core.events import Event
from council.core.protocol.exchange import (
    ENDED,
    LAST_MESSAGE,
    MESSAGES_KEPT,
    RULES,
    RUNS_KEPT,
    Attempt,
    ContextStatus,
    Exchange,
    ExchangeStep,
    Hop,
    Posted,
    Question,
    Run,
    Task,
    TaskRules,
)
from council.core.protocol.messages import COORDINATOR, Message, compose
from council.core.protocol.registry import Registry
from council.core.reasons import Reason
from council.core.record import Any


class Transaction:
    """A copy of an exchange under one rule, and what the rule has done so far.

    Args:
        exchange: The state before; it stays as it is.
        now: The instant.
        registry: Those that are registered; None where the rule asks no one anew.
        rules: What may be chosen.
    """

    def __init__(
        self,
        exchange: Exchange,
        now: datetime,
        *,
        registry: Registry | None = None,
        rules: TaskRules = RULES,
    ) -> None:
        self.exchange = exchange.copy()
        self.now = now
        self.registry = registry or Registry()
        self.rules = rules
        self.events: list[Event] = []
        self.messages: list[Message] = []

    def step(self, outcome: str = "", *, code: str = "", reason: str = "") -> ExchangeStep:
        """Return what the rule comes to."""
        if self.events or self.messages:
            self.exchange.updated_at = self.now
            self._forget()
        return ExchangeStep(
            exchange=self.exchange, events=self.events, messages=tuple(self.messages),
            outcome=outcome, code=code, reason=reason,
        )  # fmt: skip

    def tell(self, kind: str, task: Task | None = None, /, *, agent: str = "", **data: Any) -> None:
        """Note an event; every one names the context and the task that it is about."""
        about = {"ctx": self.exchange.context, "tid": task.id if task else None}
        self.events.append(Event(type=kind, agent=agent, data={**about, **data}))

    def say(
        self,
        task: Task,
        to: str,
        kind: str,
        *,
        hop: Hop | None = None,
        parent: int = 0,
        **told: Any,
    ) -> int:
        """Send a message of the coordinator about a task; return its number.

        `told` is what it says, as `compose` takes it.
        """
        depth, budget, number = (hop.depth, hop.left, hop.number) if hop else (0, None, 0)
        told |= {"task": task.id, "priority": task.priority, "depth": depth, "budget": budget}
        return self.post(
            compose(COORDINATOR, to, kind, **told), to=(to,), parent=parent, hop=number
        )

    def post(self, message: Message, *, to: tuple[str, ...], parent: int = 0, hop: int = 0) -> int:
        """Send a message; it is due in the inboxes of `to`. Return its number."""
        return self._noted("message.sent", message, to, parent, hop).message.number

    def take(
        self, message: Message, *, to: tuple[str, ...] = (), parent: int = 0, hop: int = 0
    ) -> int:
        """Write down a message that came in; with `to` it is due to others. Return its number.

        It keeps its own number where that is the next one.
        """
        posted = self._noted("message.received", message, to, parent, hop)
        number = posted.message.number
        posted.said = message.number if message.number != number else 0
        return number

    def _noted(
        self, kind: str, message: Message, to: tuple[str, ...], parent: int, hop: int
    ) -> Posted:
        number = self.exchange.next_message
        self.exchange.next_message += 1
        numbered = message.copy(number=number, context=self.exchange.context)
        delivered_at = None if to else self.now
        posted = Posted(
            message=numbered, at=self.now, to=to, delivered_at=delivered_at, parent=parent, hop=hop
        )
        self.exchange.posted.append(posted)
        # Past the last number it is reported in the context in which it gets one.
        if number <= LAST_MESSAGE:
            self.messages.append(numbered)
            self.events.append(event_of(kind, posted))
        return posted

    def change(
        self,
        task: Task,
        hop: Hop,
        attempt: Attempt,
        state: TaskState,
        *,
        code: str = "",
        reason: str = "",
    ) -> None:
        """Bring an attempt into another state; its task becomes running with it."""
        before, attempt.state, attempt.at = attempt.state, state, self.now
        attempt.code, attempt.reason = code, reason
        if state is TaskState.R:
            attempt.started_at = self.now
        if state in ENDED:
            attempt.ends_at, attempt.asked, attempt.parts = None, 0, {}
            part = (task.id, hop.number, attempt.number)
            self.drop_runs(lambda one: one.part == part)
        self.tell(
            "attempt.changed", task, agent=attempt.worker, hop=hop.number, attempt=attempt.number,
            **{"from": str(before), "to": str(state)}, code=code, reason=reason,
        )  # fmt: skip
        if state is TaskState.R and task.state is TaskState.N:
            task.state, task.at, task.started_at = TaskState.R, self.now, self.now

    def close_question(self, task: Task, question: Question, answer: str, by: str) -> None:
        """Write down who answered what; the time of the task stood still while it waited."""
        began = self._waits_since(task)
        question.close(answer, by, self.now)
        waited = self._waits_since(task) - began
        if task.ends_at is not None:
            task.ends_at += waited
        for hop in task.hops:
            if hop.again is not None:
                hop.again.since += waited

    def _waits_since(self, task: Task) -> datetime:
        return min((one.asked_at for one in task.questions if one.is_open), default=self.now)

    def new_task(self, name: str = "", **facts: Any) -> Task:
        """Add a task, under the next number where it has no name; `facts` are its fields."""
        exchange = self.exchange
        name = name or f"T{exchange.next_task}"
        task = Task(id=name, at=self.now, created_at=self.now, **facts)
        exchange.tasks[name] = task
        exchange.next_task = max(exchange.next_task, int(name[1:]) + 1)
        return task

    def new_hop(
        self, task: Task, source: str, budget: int | None, call: str, data: str, **facts: Any
    ) -> Hop:
        """Add a hop that wants one capability, "" for any; `facts` are more of its fields."""
        facts |= {"source": source, "budget": budget, "left": budget, "call": call, "data": data}
        hop = Hop(number=len(task.hops) + 1, caps=(call,) if call else (), **facts)
        task.hops.append(hop)
        return hop

    def new_attempt(self, hop: Hop, worker: str, why: dict[str, Any], **facts: Any) -> Attempt:
        """Add an attempt to a hop; `facts` are its fields."""
        number = len(hop.attempts) + 1
        facts = {"state": TaskState.N, **facts}
        attempt = Attempt(number=number, worker=worker, at=self.now, why=why, **facts)
        hop.attempts.append(attempt)
        return attempt

    def tell_refused(self, message: Message, code: str, reason: str, task: Task | None) -> None:
        """Note that a message is refused."""
        self.tell(
            "message.refused", task, agent=message.sender, kind=message.kind, said=message.id,
            code=code, reason=reason,
        )  # fmt: skip

    def drop_runs(self, fits: Callable[[Run], bool]) -> None:
        """Give up those runs under way that fit."""
        for one in self.exchange.runs.values():
            if one.is_under_way and fits(one):
                one.end(TaskState.X, self.now, Reason.of("dropped"))

    def is_run(self, task: Task, hop: Hop) -> bool:
        """Return true if a program runs for the last attempt of a hop, with a lease of its own.

        Who answers by itself has none: it is not seen whether it works.
        """
        return any(
            one.state is TaskState.R
            and one.ends_at is not None
            and one.part == (task.id, hop.number, len(hop.attempts))
            for one in self.exchange.runs.values()
        )

    def close(self, reason: str) -> None:
        """Close the context."""
        self.exchange.status = ContextStatus.CLOSED
        self.exchange.closed_at, self.exchange.closed_reason = self.now, reason
        self.drop_runs(lambda _: True)
        self.tell("context.closed", reason=reason)

    def end_run(self, run: str) -> None:
        """Note that a run has answered."""
        ended = self.exchange.runs.get(run)
        if ended is not None and ended.is_under_way:
            ended.end(TaskState.D, self.now, ended.reason)

    def _forget(self) -> None:
        """Keep the last messages and runs, and all that something still hangs on."""
        exchange = self.exchange
        if len(exchange.posted) > MESSAGES_KEPT:
            held = {number for task in exchange.tasks.values() for number in _held_by(task)}
            old = len(exchange.posted) - MESSAGES_KEPT
            exchange.posted = [
                one
                for at, one in enumerate(exchange.posted)
                if at >= old or one.delivered_at is None or one.message.number in held
            ]
        if len(exchange.runs) > RUNS_KEPT:
            over = [one for one in exchange.runs.values() if one.state in ENDED]
            for one in over[: len(exchange.runs) - RUNS_KEPT]:
                del exchange.runs[one.id]


def event_of(kind: str, posted: Posted) -> Event:
    """Return the event that a message was sent or came in."""
    message = posted.message
    data = {
        **message.as_json("context:ctx task:tid? id:msg"),
        "pid": f"M{posted.parent}" if posted.parent else None,
        **message.as_json("sender:from receiver:to kind state code depth budget"),
    }
    who = message.receiver if message.sender == COORDINATOR else message.sender
    return Event(type=kind, agent=who, data=data)


def _held_by(task: Task) -> list[int]:
    if task.is_over:
        return []
    attempts = [one for hop in task.hops for one in hop.attempts if one.state not in ENDED]
    asked = [number for one in attempts for number in (one.message, one.asked)]
    return asked + [one.message for one in task.questions if one.is_open]
