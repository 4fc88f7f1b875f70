"""Random histories of a context: whatever happens, what must hold holds.

Users ask, workers answer well and badly, hand on, ask, fall silent and die;
runs are queued, refused and set aside; workers come and go; time passes. The
exchange goes through its record before every act, as if every process died
after one step. At the end everybody fails, and the user gets an answer still.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from council.core.conversations.conversation import TaskState
from council.core.protocol.answering import answer_of, answered, composed
from council.core.protocol.exchange import ENDED, OK, TaskRules, transition
from council.core.protocol.exchange_due import (
    Answer,
    AskUser,
    Compose,
    Deliver,
    Split,
    Work,
    next_due,
    pending,
)
from council.core.protocol.exchange_runs import (
    run_ended,
    run_failed,
    run_queued,
    run_refused,
    run_started,
    set_aside,
)
from council.core.protocol.messages import COORDINATOR, Message
from council.core.protocol.orchestrator import (
    Part,
    advance,
    cancel,
    delivered,
    divided,
    receive_fault,
)
from council.core.protocol.registry import Entry, EntryStatus, Registry
from council.core.reasons import said
from tests.core.exchanges import LEASE, SECOND, Context, saved
from tests.examples import examples

WORKERS = ("W1", "W2", "W3", "W4")
CAPS = {"W1": ("a", "b"), "W2": ("a",), "W3": ("b", "c"), "W4": ()}
CODES = ("E10", "E16", "E17", "E18", "E19", "E20", "E21", "E30", "E31", "E32", "E33", "E43", "E99")
SPANS = tuple(timedelta(seconds=one) for one in (1, 9, 10, 60, 120, 900, 3600))
INSTANT = timedelta(seconds=1)

workers = st.sampled_from(WORKERS)
budgets = st.sampled_from(("B10", "B10", "B0", "B100", "-", "B9999"))


class Contexts(RuleBasedStateMachine):
    """A context under random acts."""

    @initialize(
        choice=st.sampled_from(("first", "abandon")),
        budget=st.sampled_from(("raise-once", "simpler", "give-up")),
        parallel=st.sampled_from((1, 1, 2)),
        backoff=st.sampled_from((TaskRules().backoff, ())),
        kept_open=st.booleans(),
    )
    def open(self, choice: str, budget: str, parallel: int, backoff: Any, kept_open: bool) -> None:
        rules = TaskRules(
            choice_policy=choice, budget_policy=budget, parallel=parallel, backoff=backoff
        )
        entries = {
            name: Entry(id=name, capabilities=caps, max_depth=2 if name == "W2" else None)
            for name, caps in CAPS.items()
        }
        self.context = Context(Registry(entries=entries), rules=rules, kept_open=kept_open)
        self.parallel = parallel
        self.asked = 0
        self.spoken: list[str] = []
        self.seen = 0

    # --- acts ------------------------------------------------------------------------------

    @property
    def exchange(self) -> Any:
        return self.context.exchange

    def is_open(self) -> bool:
        return bool(self.exchange.is_open)

    @precondition(lambda self: self.is_open() and self.asked < 3)
    @rule(
        caps=st.sampled_from(((), ("a",), ("a", "b"), ("c",))),
        priority=st.sampled_from(("P0", "P1", "P2")),
        complexity=st.sampled_from(("simple", "medium", "unlimited")),
        orchestrator=st.sampled_from(("", "", "comet")),
    )
    def request(self, caps: Any, priority: str, complexity: str, orchestrator: str) -> None:
        self.context.ask(
            "do | it", caps=caps, priority=priority, complexity=complexity,
            orchestrator=orchestrator,
        )  # fmt: skip
        self.asked = len(self.exchange.tasks)

    @precondition(lambda self: self.asked)
    @rule()
    def deliver(self) -> None:
        self.context.deliver()

    @rule(
        where=st.integers(0, 5), how=st.sampled_from(("lease", "hand", "queue", "refuse", "rest"))
    )
    def serve(self, where: int, how: str) -> None:
        due = self.context.runs()
        if due:
            self.claim(due[where % len(due)], how)

    def claim(self, due: Any, how: str) -> None:
        if how == "queue":
            self.context.do(run_queued, due, driver="command")
        elif how in ("refuse", "rest"):
            self.context.do(
                run_refused, due, said(how), driver="command", words=how, elsewhere=how == "rest",
            )  # fmt: skip
        else:
            ends_at = self.context.now + LEASE if how == "lease" else None
            self.context.do(run_started, due, driver="command", ends_at=ends_at)

    def running(self) -> list[Any]:
        return [one for one in self.exchange.runs.values() if one.state is TaskState.R]

    @precondition(lambda self: self.asked)
    @rule(
        where=st.integers(0, 5),
        kind=st.sampled_from("SSECUXXA"),
        state=st.sampled_from(("", "", "", "", "N", "D")),
        budget=budgets,
        other=workers,
        code=st.sampled_from(CODES),
        deeper=st.sampled_from((1, 1, 1, 0, 3)),
        names_run=st.booleans(),
    )
    def answer(
        self, where: int, kind: str, state: str, budget: str, other: str, code: str,
        deeper: int, names_run: bool,
    ) -> None:  # fmt: skip
        works = [one for one in self.running() if one.purpose == "work"]
        if not works or where > 3:
            self.deliver()
            self.serve(where, "lease")
            works = [one for one in self.running() if one.purpose == "work"]
        if not works:
            return
        run = works[where % len(works)]
        depth = self.exchange.tasks[run.task].hop(run.hop).depth
        depth = min(5, depth + deeper) if kind == "X" else depth
        state = state or {"S": "D", "E": "F"}.get(kind, "R")
        to = other if kind == "X" else "O1"
        err = code if kind == "E" else "-"
        data = {"C": "question=which?;options=a,b", "X": "call=a;n=1"}.get(kind, "n=1;needed=30")
        number = self.exchange.next_message
        self.say(
            f"M{number}|{run.worker}>{to}|{kind}|{run.task}|P1|{state}|{err}|{depth}|S1|{budget}"
            f"|{data}",
            run.id if names_run else "",
        )

    def say(self, line: str, run: str = "") -> None:
        self.spoken.append(line)
        self.context.hear(line, run)

    @precondition(lambda self: self.spoken)
    @rule(where=st.integers(0, 30))
    def repeat(self, where: int) -> None:
        self.context.hear(self.spoken[where % len(self.spoken)])

    @precondition(lambda self: self.asked)
    @rule(where=st.integers(0, 5), how=st.sampled_from(("fail", "late", "end", "aside", "fault")))
    def stop(self, where: int, how: str) -> None:
        running = self.running()
        if not running:
            return
        run = running[where % len(running)]
        if how in ("fail", "late"):
            self.context.do(
                run_failed, run.id, said("exit 1"), words="exit 1", timed_out=how == "late"
            )
        elif how == "end" and run.purpose == "work":
            self.context.do(run_ended, run.id)
        elif how == "aside":
            self.context.do(set_aside, run.id, context="S9")
        elif how == "fault" and run.purpose == "work":
            about = Message(sender=run.worker, receiver="O1", kind="S", task=run.task, data="x")
            self.context.do(receive_fault, about, "E10", run=run.id)

    @precondition(lambda self: self.asked)
    @rule(parts=st.integers(0, 3))
    def by_orchestrator(self, parts: int) -> None:
        for run in self.running():
            if run.purpose == "split":
                self.context.do(
                    divided, [Part(text=f"part {n}", caps=("a",)) for n in range(parts)], run=run.id
                )
                self.asked = len(self.exchange.tasks)
            elif run.purpose == "compose":
                self.context.do(composed, "all " * parts, run=run.id)

    @precondition(lambda self: "question.asked" in self.context.told())
    @rule(said=st.sampled_from(("choice=opt2", "choice=9", "answer=b", "b")))
    def user(self, said: str) -> None:
        self.context.hear(f"M1|User>O1|C|-|P1|-|-|0|S1|-|{said}")

    @precondition(lambda self: self.asked)
    @rule(span=st.sampled_from(SPANS))
    def wait(self, span: timedelta) -> None:
        self.context.now += span
        self.look()

    @precondition(lambda self: self.asked)
    @rule()
    def look(self) -> None:
        self.context.do(advance)

    @precondition(lambda self: self.asked)
    @rule(worker=workers, status=st.sampled_from((EntryStatus.ACTIVE, EntryStatus.UNAVAILABLE)))
    def come_or_go(self, worker: str, status: EntryStatus) -> None:
        entry = self.context.registry.entries[worker].copy(status=status)
        self.context.registry = self.context.registry.with_entry(entry)
        self.look()

    @precondition(lambda self: self.asked)
    @rule(worker=workers, load=st.integers(0, 100))
    def load(self, worker: str, load: int) -> None:
        entry = self.context.registry.entries[worker].copy(load=load)
        self.context.registry = self.context.registry.with_entry(entry)

    @precondition(lambda self: self.asked)
    @rule(which=st.integers(1, 9))
    def cancel(self, which: int) -> None:
        self.context.do(cancel, f"T{which}")

    @precondition(lambda self: self.asked)
    @rule()
    def tell_user(self) -> None:
        if any(isinstance(one, Answer) for one in self.context.due()):
            text = answer_of(self.exchange, lambda name: "")
            assert text
            self.context.do(answered, text=text)

    # --- what must hold ----------------------------------------------------------------------

    @invariant()
    def no_task_is_lost(self) -> None:
        if hasattr(self, "context"):
            assert len(self.exchange.tasks) == self.asked

    @invariant()
    def attempts_go_by_the_states(self) -> None:
        if not hasattr(self, "context"):
            return
        for event in self.context.events[self.seen :]:
            if event.type == "attempt.changed":
                states = TaskState(event.data["from"]), TaskState(event.data["to"])
                assert transition(*states) == OK
        self.seen = len(self.context.events)
        for task in self.exchange.tasks.values():
            roots = [one for one in task.hops if not one.parent and one.attempt]
            assert sum(one.attempt.state not in ENDED for one in roots) <= self.parallel
            for hop in task.hops:
                assert all(one.state in ENDED for one in hop.attempts[:-1])
                assert not (task.is_over and hop.is_open)
                assert not (hop.again and hop.attempt and hop.attempt.state not in ENDED)

    @invariant()
    def an_attempt_has_at_most_one_run(self) -> None:
        if hasattr(self, "context"):
            under_way = [(one.purpose, one.task, one.hop) for one in self.running()]
            assert len(under_way) == len(set(under_way))

    @invariant()
    def budgets_never_grow_by_being_handed_on(self) -> None:
        if not hasattr(self, "context"):
            return
        for task in self.exchange.tasks.values():
            for hop in task.hops:
                if hop.budget is None:
                    continue
                given = [one.budget for one in task.hops if one.parent == hop.number]
                assert None not in given
                assert 0 <= hop.left <= hop.budget
                assert sum(given) + hop.left <= hop.budget
            roots = [one.budget for one in task.hops if not one.parent]
            assert task.budget is None or sum(roots) <= task.budget

    @invariant()
    def depths_and_questions_are_bounded(self) -> None:
        if not hasattr(self, "context"):
            return
        for task in self.exchange.tasks.values():
            assert task.clarifications <= self.context.rules.max_clarifications
            for hop in task.hops:
                above = task.hop(hop.parent).depth if hop.parent else -1
                assert above < hop.depth <= 3
                assert hop.source == COORDINATOR or hop.parent

    @invariant()
    def every_message_has_its_number(self) -> None:
        if hasattr(self, "context"):
            numbers = [one.message.number for one in self.exchange.posted]
            assert numbers == sorted(set(numbers))
            assert self.exchange.next_message > max(numbers, default=0)

    @invariant()
    def what_is_open_says_what_it_waits_for(self) -> None:
        if hasattr(self, "context") and any(
            not one.is_over for one in self.exchange.tasks.values()
        ):
            assert next_due(self.exchange) is not None

    @invariant()
    def looking_again_finds_nothing_more(self) -> None:
        if hasattr(self, "context"):
            once = self.looked(self.context.now)
            again = advance(self.context.on(once.exchange))
            assert (again.events, again.messages) == ([], ())
            assert again.exchange == once.exchange

    @invariant()
    def time_alone_makes_something_due_when_it_is_said_and_no_earlier(self) -> None:
        if not hasattr(self, "context"):
            return
        settled = self.looked(self.context.now).exchange
        if pending(settled, self.context.now):
            return
        due_at = next_due(settled)
        if due_at is None:
            return
        assert due_at > self.context.now
        assert not self.is_due(settled, due_at - INSTANT)
        assert self.is_due(settled, due_at)

    def is_due(self, exchange: Any, now: Any) -> bool:
        step = advance(self.context.on(exchange, now))
        return step.exchange != exchange or bool(pending(exchange, now))

    def looked(self, now: Any) -> Any:
        return advance(self.context.on(saved(self.exchange), now))

    def teardown(self) -> None:
        """Let everybody fail: the user gets an answer to everything still."""
        if not hasattr(self, "context"):
            return
        for _ in range(500):
            self.look()
            due = self.context.due()
            if not due:
                due_at = next_due(self.exchange)
                if due_at is None:
                    break
                self.context.now = max(self.context.now + SECOND, due_at)
                continue
            self.fail_at(due[0])
        assert all(one.is_over and one.told for one in self.exchange.tasks.values())
        assert self.context.due() == ()
        assert not self.running() or self.is_open()
        if self.asked and not self.exchange.kept_open:
            assert not self.is_open()

    def fail_at(self, action: Any) -> None:
        if isinstance(action, Deliver | AskUser):
            self.context.do(delivered, action.number)
        elif isinstance(action, Answer):
            self.tell_user()
        elif isinstance(action, Work | Split | Compose):
            self.claim(action, "lease")
            self.context.do(run_failed, action.run, said("exit 1"), words="exit 1")


Contexts.TestCase.settings = settings(
    max_examples=examples(15), stateful_step_count=40, deadline=None
)
TestContexts = pytest.mark.req(
    "PR-412", "PR-501", "PR-551", "PR-556", "PR-566", "PR-575", "PR-580", "XC-016"
)(Contexts.TestCase)


@pytest.mark.long
class TestManyContexts(Contexts.TestCase):
    """The same, and more of them."""

    settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
