"""Contexts for tests of the rules: workers, requests, what they answer, all of it through JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from council.core.protocol.exchange import RULES, Exchange, ExchangeStep, Task, TaskRules
from council.core.protocol.exchange_due import AskUser, Compose, Deliver, Split, Work, pending
from council.core.protocol.exchange_records import exchange_from_record
from council.core.protocol.exchange_runs import run_started
from council.core.protocol.messages import Message
from council.core.protocol.orchestrator import (
    advance,
    delivered,
    open_context,
    receive,
    request,
    send,
)
from council.core.protocol.registry import Entry, Registry
from council.core.protocol.transaction import Transaction
from council.wire.carried import line_of, message_of

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
LEASE = 2 * MINUTE


def registered(*workers: str, **caps: str) -> Registry:
    """Return a registry of workers: by id alone, or with capabilities, `W1="a,b"`."""
    entries = {one: Entry(id=one) for one in workers}
    for one, listed in caps.items():
        entries[one] = Entry(id=one, capabilities=tuple(listed.split(",")))
    return Registry(entries=entries)


def saved(exchange: Exchange) -> Exchange:
    """Return the exchange as it comes back from its file."""
    return exchange_from_record(json.loads(json.dumps(exchange.to_record())))


class Context:
    """One context under the rules; it goes through its JSON form before every act."""

    def __init__(
        self,
        registry: Registry | None = None,
        *,
        rules: TaskRules = RULES,
        kept_open: bool = False,
        **fields: Any,
    ) -> None:
        self.now = NOW
        self.registry = registry or registered(W1="web_search,summarize", W2="web_search")
        self.rules = rules
        self.step = open_context("S1", NOW, kept_open=kept_open)
        self.exchange = self.step.exchange.copy(**fields)
        self.events = list(self.step.events)
        self.lines: list[str] = []

    def do(self, rule: Any, *args: Any, **options: Any) -> ExchangeStep:
        """Do one act on what lies on the disk, and save what comes of it."""
        before = saved(self.exchange)
        assert before == self.exchange, "the record does not say everything"
        step: ExchangeStep = rule(self.on(before), *args, **options)
        assert before == self.exchange, "the rule changed what it was given"
        self.exchange, self.step = step.exchange, step
        self.events += step.events
        self.lines += [line_of(one) for one in step.messages]
        return step

    def on(self, exchange: Exchange, now: datetime | None = None) -> Transaction:
        """Return a transaction on a context with these rules."""
        return Transaction(exchange, now or self.now, registry=self.registry, rules=self.rules)

    def ask(self, text: str = "latest AI news", **options: Any) -> ExchangeStep:
        options.setdefault("caps", ("web_search",))
        return self.do(request, text, **options)

    def hear(self, line: str | Message, run: str = "") -> ExchangeStep:
        """A worker or the user sends a line."""
        message = message_of(line) if isinstance(line, str) else line
        return self.do(receive, message, run=run)

    def order(self, line: str, *to: str) -> ExchangeStep:
        """An orchestrator sends a line."""
        return self.do(send, message_of(line), to=to)

    def beat(self, after: timedelta = timedelta(0)) -> ExchangeStep:
        """Time passes; the heartbeat delivers what is due."""
        self.now += after
        self.do(advance)
        return self.deliver()

    def deliver(self) -> ExchangeStep:
        actions = [one for one in self.due() if isinstance(one, Deliver | AskUser)]
        for one in actions:
            self.do(delivered, one.number)
        return self.step

    def due(self) -> tuple[Any, ...]:
        return pending(saved(self.exchange), self.now)

    def runs(self) -> list[Any]:
        return [one for one in self.due() if isinstance(one, Work | Split | Compose)]

    def start(self, worker: str = "", lease: timedelta | None = LEASE) -> Any:
        """Deliver, then claim the run of a worker, or the first that is due."""
        self.deliver()
        due = next(one for one in self.runs() if worker in ("", one.worker))
        ends_at = None if lease is None else self.now + lease
        claimed = self.do(run_started, due, driver="command", ends_at=ends_at)
        assert claimed.outcome == "claimed"
        return due

    def work(self, worker: str, answer: str) -> ExchangeStep:
        """Run a worker, which answers `kind|state|code|depth|budget|data` to whom it was asked."""
        due = self.start(worker)
        kind, state, code, depth, budget, data = answer.split("|")
        asked = self.exchange.posted_as(due.message)
        assert asked is not None
        number = asked.message.number + 1
        line = (
            f"M{number}|{worker}>{asked.message.sender}|{kind}|{due.task}|P1|{state}|{code}"
            f"|{depth}|S1|{budget}|{data}"
        )
        return self.hear(line, due.run)

    def task(self, number: int = 1) -> Task:
        return self.exchange.tasks[f"T{number}"]

    def told(self) -> list[str]:
        """Return the types of all that happened, in order."""
        return [one.type for one in self.events]

    def last(self, kind: str) -> dict[str, Any]:
        """Return the data of the last event of a type."""
        found: dict[str, Any] = [one.data for one in self.events if one.type == kind][-1]
        return found
