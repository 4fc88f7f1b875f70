"""When time alone makes something due: before it no process needs to read, and then one must.

Random histories of all procedures; after each act what `next_due` says is
compared with what `advance` and `pending` find.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from council.core.conversations.answers import respond
from council.core.conversations.conversation import Conversation, TaskState
from council.core.conversations.due import RETRY_BACKOFF, Wake, next_due, pending
from council.core.conversations.machine import advance
from council.core.conversations.procedures import PROCEDURES
from council.core.conversations.steering import extend, pause, resume, stop
from council.core.conversations.tasks import task_failed, task_queued, task_refused, task_started
from council.core.errors import CouncilError
from council.core.reasons import said
from tests.core.conversations.samples import HOUR, MINUTE, NOW, all_answer, convened, wakes
from tests.examples import examples

AGENTS = ("ada", "bob", "cyd")
LEASE = 2 * MINUTE
INSTANT = timedelta(microseconds=1)
SPANS = tuple(timedelta(seconds=1) * 2**power for power in range(0, 24, 4))


def is_due(state: Conversation, now: datetime, backoff: tuple[timedelta, ...]) -> bool:
    """Return true if a heartbeat would find anything."""
    return bool(advance(state, now).events) or bool(pending(state, now, backoff=backoff))


class Waits(RuleBasedStateMachine):
    """A conversation under random acts."""

    @initialize(
        procedure=st.sampled_from(sorted(PROCEDURES)),
        sealed=st.booleans(),
        coordinator=st.sampled_from(("", "maman", "bob")),
        ends=st.sampled_from((None, 2 * HOUR)),
        backoff=st.sampled_from((RETRY_BACKOFF, (), (3 * HOUR,))),
    )
    def convene(self, procedure: str, sealed: bool, coordinator: str, ends, backoff) -> None:
        self.now, self.backoff = NOW, backoff
        phases = tuple(phase.name for phase in PROCEDURES[procedure].phases)
        self.state = convened(
            *AGENTS,
            procedure=procedure,
            phases=phases,
            phase=phases[0],
            sealed_phases=sealed,
            coordinator=coordinator,
            ends_at=ends and NOW + ends,
        )

    @rule(agent=st.sampled_from((*AGENTS, "maman")), status=st.sampled_from(("responded", "done")))
    def answer(self, agent: str, status: str) -> None:
        try:
            step = respond(
                self.state, agent, f"{agent} {self.state.tour}", now=self.now, nonce="salt",
                status=status,
            )  # fmt: skip
        except CouncilError:
            return
        self.state = step.state

    @rule(places=st.integers(0, 3))
    def heartbeat(self, places: int) -> None:
        self.state = advance(self.state, self.now).state
        actions = pending(self.state, self.now, backoff=self.backoff)
        due = [one for one in actions if isinstance(one, Wake)]
        for number, wake in enumerate(due):
            if number < places:
                step = task_started(
                    self.state, wake, driver="command", now=self.now, ends_at=self.now + LEASE
                )
            else:
                step = task_queued(self.state, wake, driver="command", now=self.now)
            self.state = step.state
        if self.state.coordinator:
            self.state.notified_tour = self.state.tour

    @rule()
    def hand_over(self) -> None:
        """Start what is due by hand: no lease ends, only the deadline of the phase counts."""
        self.state = advance(self.state, self.now).state
        for wake in wakes(self.state, self.now):
            self.state = task_started(
                self.state, wake, driver="manual", now=self.now, ends_at=None
            ).state

    @rule(final=st.booleans())
    def refuse(self, final: bool) -> None:
        for wake in wakes(self.state, self.now)[:1]:
            self.state = task_refused(
                self.state, wake, said("a cap"), driver="command", now=self.now, final=final
            ).state

    @rule(agent=st.sampled_from(AGENTS), final=st.booleans())
    def fail(self, agent: str, final: bool) -> None:
        for task in list(self.state.tasks.values()):
            if task.agent == agent and task.state is TaskState.R:
                step = task_failed(self.state, task.id, said("exit 1"), now=self.now, final=final)
                self.state = step.state

    @rule(span=st.sampled_from(SPANS))
    def pass_time(self, span: timedelta) -> None:
        self.now += span

    @rule(act=st.sampled_from((pause, resume, stop, lambda state, now: extend(state, HOUR, now))))
    def steer(self, act) -> None:
        try:
            self.state = act(self.state, self.now).state
        except CouncilError:
            return

    @invariant()
    def nothing_is_due_earlier_and_something_is_then(self) -> None:
        if is_due(self.state, self.now, self.backoff):
            return
        due_at = next_due(self.state, backoff=self.backoff)
        if due_at is not None:
            assert due_at > self.now
            assert is_due(self.state, due_at, self.backoff), "looked at too early"
        moments = [self.now + span for span in SPANS]
        if due_at is not None:
            moments = [due_at - INSTANT, *(one for one in moments if one < due_at)]
        for moment in moments:
            assert not is_due(self.state, moment, self.backoff), "looked at too late"


Waits.TestCase.settings = settings(max_examples=examples(150), stateful_step_count=30)


@pytest.mark.req("XC-007")
class TestWaits(Waits.TestCase):
    """Played by pytest."""


def test_a_round_under_way_is_due_at_its_deadline():
    state = all_answer(convened("ada", "bob"), "ada")
    (wake,) = wakes(state)
    state = task_started(state, wake, driver="manual", now=NOW, ends_at=None).state

    assert next_due(state) == state.timeout_at


def test_a_run_is_due_when_its_lease_is_over():
    state = convened("ada")
    (wake,) = wakes(state)
    state = task_started(state, wake, driver="command", now=NOW, ends_at=NOW + LEASE).state

    assert next_due(state) == NOW + LEASE


def test_a_failed_run_is_due_when_its_pause_is_over():
    state = convened("ada")
    (wake,) = wakes(state)
    state = task_started(state, wake, driver="command", now=NOW, ends_at=NOW + LEASE).state
    state = task_failed(state, wake.task, said("exit 1"), now=NOW + MINUTE).state

    assert next_due(state, backoff=(3 * MINUTE,)) == NOW + 4 * MINUTE


def test_one_who_waits_for_a_place_and_what_has_finished_leave_no_time():
    state = convened("ada")
    (wake,) = wakes(state)
    queued = task_queued(state, wake, driver="command", now=NOW).state

    assert next_due(queued) == state.created_at
    assert next_due(state.copy(finished_at=NOW)) == state.created_at


def test_who_is_paused_waits_for_a_person():
    assert next_due(pause(convened("ada"), NOW).state) is None
