"""Random histories of a conversation: whatever happens, what must hold holds.

A rule-based machine lets agents answer (in time, late, twice, with another
text), runs start, fail and vanish, people steer and cron call. After each act
it compares the state with the one before and with its own account of what was
said.
"""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from council.core.conversations.answers import inject, respond, sealed_digest
from council.core.conversations.conversation import (
    EntryKind,
    ParticipantStatus,
    Step,
    TaskState,
    has_answered,
)
from council.core.conversations.due import (
    Archive,
    Wake,
    due_agents,
    is_asked_again,
    is_blind,
    pending,
)
from council.core.conversations.machine import advance
from council.core.conversations.procedures import MODES
from council.core.conversations.records import from_record, to_record
from council.core.conversations.steering import cancel, extend, pause, resume, stop
from council.core.conversations.tasks import task_failed, task_queued, task_started
from council.core.errors import (
    AlreadyAnsweredError,
    CouncilError,
    NotYourTurnError,
    RefusedError,
)
from council.core.ids import split_task_id, task_id
from council.core.reasons import read_reason
from tests.core.conversations.samples import CONVERSATION_ID, HOUR, MINUTE, NOW, PHASES, convened
from tests.examples import examples

AGENTS = ("ada", "bob", "cyd")
LEASE = 2 * MINUTE

agents = st.sampled_from(AGENTS)
statuses = st.sampled_from(("responded", "responded", "agreed", "done"))
texts = st.sampled_from(("yes", "no", "BLOCKING: no key", "[Tour 2]: -->"))
spans = st.sampled_from((timedelta(seconds=1), MINUTE, 3 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR))


class Histories(RuleBasedStateMachine):
    """A conversation under random acts, and an account of what was said in it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.said: dict[tuple[str, int, EntryKind], list[str]] = {}

    @initialize(
        mode=st.sampled_from(MODES),
        coordinator=st.sampled_from(("", "maman", "bob")),
        sealed=st.booleans(),
        short=st.booleans(),
        ends=st.sampled_from((None, 2 * HOUR)),
    )
    def convene(self, mode, coordinator, sealed, short, ends) -> None:
        phases = ("COLLECT", "SYNTHESIZE") if short else PHASES
        self.state = convened(
            *AGENTS,
            mode=mode,
            coordinator=coordinator,
            sealed_phases=sealed,
            phases=phases,
            ends_at=ends and NOW + ends,
        )

    def move(self, act) -> Step:
        """Do `act` on the state and compare what came out with what went in."""
        before = self.state.copy()
        step = act(self.state)
        assert self.state == before, "the argument was changed"
        after = step.state
        transitions = [event.type for event in step.events].count("phase.changed")
        assert transitions <= 1
        assert after.tour == before.tour + transitions
        assert PHASES.index(after.phase) - PHASES.index(before.phase) >= transitions
        assert (after.phase == before.phase) is (transitions == 0)
        for was, now in zip(before.entries, after.entries, strict=False):
            assert now in (was, was.copy(kind=EntryKind.DRAFT)), "what was said has changed"
        assert len(after.entries) >= len(before.entries)
        for agent, one in before.participants.items():
            if one.status is ParticipantStatus.DONE:
                assert after.participants[agent].status is ParticipantStatus.DONE
        if before.finished_at is not None:
            assert after.finished_at == before.finished_at
        self.state = after
        return step

    # --- agents ----------------------------------------------------------------------------

    @rule(agent=agents, text=texts, status=statuses)
    def answer(self, agent: str, text: str, status: str) -> None:
        state, one = self.state, self.state.participants[agent]
        text = f"{text} ({agent} {state.tour})"
        try:
            step = self.move(
                lambda state: respond(
                    state, agent, text, now=self.now, nonce=f"salt-{agent}", status=status
                )
            )
        except AlreadyAnsweredError:
            kinds = (EntryKind.CONTRIBUTION, EntryKind.SYNTHESIS)
            stands = [self.said.get((agent, state.tour, kind), []) for kind in kinds]
            assert [text] not in stands, "a harmless repeat was refused"
            if state.phase != "SYNTHESIZE":
                assert has_answered(one)
        except NotYourTurnError:
            assert state.phase == "SYNTHESIZE"
        except RefusedError:
            assert is_blind(state)
            assert status == "agreed"
        else:
            assert step.outcome in ("recorded", "already-recorded", "late")
            if step.outcome == "already-recorded":
                assert step.state == state
            elif step.outcome == "late":
                assert state.finished_at is not None
                self.remember(agent, state.tour, EntryKind.LATE, text)
            else:
                asked = is_asked_again(state, agent)
                assert state.phase == "SYNTHESIZE" or asked or not has_answered(one)
                kind = EntryKind.CONTRIBUTION
                if asked:
                    (draft,) = self.said.pop((agent, state.tour, kind))
                    self.remember(agent, state.tour, EntryKind.DRAFT, draft)
                if state.phase == "SYNTHESIZE":
                    kind = EntryKind.SYNTHESIS
                self.remember(agent, state.tour, kind, text)

    @rule(text=texts)
    def sum_up(self, text: str) -> None:
        state = self.state
        if state.phase != "SYNTHESIZE" or state.coordinator != "maman" or state.finished_at:
            return
        try:
            step = self.move(lambda state: respond(state, "maman", text, now=self.now))
        except AlreadyAnsweredError:
            return
        if step.outcome == "recorded":
            self.remember("maman", state.tour, EntryKind.SYNTHESIS, text)

    @precondition(lambda self: self.state.tour > 1)
    @rule(agent=agents, text=texts, data=st.data())
    def answer_late(self, agent: str, text: str, data: st.DataObject) -> None:
        tour = data.draw(st.integers(1, self.state.tour - 1))
        task = task_id(CONVERSATION_ID, tour, agent, 1)
        text = f"{text} ({agent} {tour})"
        step = self.move(
            lambda state: respond(state, agent, text, now=self.now, task=task, nonce="salt")
        )
        if step.outcome == "already-recorded":
            assert text in self.said[agent, tour, EntryKind.CONTRIBUTION]
        else:
            assert step.outcome == "late"
            self.remember(agent, tour, EntryKind.LATE, text)

    def remember(self, agent: str, tour: int, kind: EntryKind, text: str) -> None:
        said = self.said.setdefault((agent, tour, kind), [])
        if text not in said:
            said.append(text)

    # --- runs ------------------------------------------------------------------------------

    @rule(places=st.integers(0, 4))
    def heartbeat(self, places: int) -> None:
        """Start what is due, as many as there are places; the others wait."""
        self.move(lambda state: advance(state, self.now))
        due = [action for action in pending(self.state, self.now) if isinstance(action, Wake)]
        for wake in due[:places]:
            self.move(
                lambda state, wake=wake: task_started(
                    state, wake, driver="command", now=self.now, ends_at=self.now + LEASE
                )
            )
        for wake in due[places:]:
            self.move(
                lambda state, wake=wake: task_queued(state, wake, driver="command", now=self.now)
            )
        if places >= len(due):
            assert not self.wakes(), "an agent is asked for twice"

    @rule(agent=agents, final=st.booleans())
    def fail(self, agent: str, final: bool) -> None:
        running = [
            task.id
            for task in self.state.tasks.values()
            if task.agent == agent and task.state is TaskState.R
        ]
        for task in running or ["unknown"]:
            step = self.move(
                lambda state, task=task: task_failed(
                    state, task, read_reason("exit code 1"), now=self.now, final=final
                )
            )
            assert bool(step.events) is bool(running)

    # --- time and people -------------------------------------------------------------------

    @rule(span=spans)
    def pass_time(self, span: timedelta) -> None:
        self.now += span

    @rule()
    def step(self) -> None:
        self.move(lambda state: advance(state, self.now))
        again = self.move(lambda state: advance(state, self.now))
        assert again.events == []

    @rule(act=st.sampled_from((pause, resume)))
    def stand_still_or_go_on(self, act) -> None:
        self.steer(act)

    @precondition(lambda self: self.state.tour > 1)
    @rule()
    def stop(self) -> None:
        self.steer(stop)

    @precondition(lambda self: self.state.tour > 2)
    @rule()
    def cancel(self) -> None:
        self.steer(cancel)

    @rule(by=spans)
    def extend(self, by: timedelta) -> None:
        self.steer(lambda state, now: extend(state, by, now))

    def steer(self, act) -> None:
        try:
            self.move(lambda state: act(state, self.now))
        except CouncilError:
            assert self.state.finished_at is not None

    @rule(text=texts, to=st.sampled_from(("", *AGENTS)))
    def guide(self, text: str, to: str) -> None:
        self.steer(lambda state, now: inject(state, text, author="daniel", now=now, target=to))

    @rule()
    def save_and_load(self) -> None:
        """Put the state through its file form; what is sealed comes from elsewhere."""
        texts = {entry.id: entry.text for entry in self.state.entries}
        again = from_record(
            json.loads(json.dumps(to_record(self.state))),
            topic=self.state.topic,
            brief=self.state.brief,
            texts=texts,
        )
        again.sealed = self.state.copy().sealed
        assert again == self.state
        self.state = again

    # --- what holds ------------------------------------------------------------------------

    def wakes(self) -> list[str]:
        return [one.agent for one in pending(self.state, self.now) if isinstance(one, Wake)]

    @invariant()
    def nothing_said_is_lost_changed_or_doubled(self) -> None:
        state = self.state
        for (agent, tour, kind), said in self.said.items():
            standing = [
                entry.text
                for entry in state.entries
                if (entry.agent, entry.tour, entry.kind) == (agent, tour, kind)
            ]
            one = state.participants.get(agent)
            if one is not None and one.sealed and tour == state.tour:
                sealed = state.sealed[agent]
                assert one.sealed == sealed_digest(sealed.nonce, sealed.text)
                assert (standing, said) == ([], [sealed.text])
            else:
                assert standing == said
        ids = [entry.id for entry in state.entries]
        assert len(set(ids)) == len(ids)

    @invariant()
    def one_turn_a_round(self) -> None:
        turns = [
            (entry.agent, entry.tour)
            for entry in self.state.entries
            if entry.kind in (EntryKind.CONTRIBUTION, EntryKind.SYNTHESIS)
        ]
        assert len(set(turns)) == len(turns)
        assert [entry.kind for entry in self.state.entries].count(EntryKind.SYNTHESIS) <= 1

    @invariant()
    def the_numbers_follow_from_the_statuses(self) -> None:
        everybody = self.state.participants.values()
        answered = sum(1 for one in everybody if one.status is not ParticipantStatus.WAITING)
        assert self.state.response_rate == round(answered / len(everybody), 4)
        if self.state.phase != "SYNTHESIZE" and self.state.finished_at is None:
            staying = [one for one in everybody if one.status is not ParticipantStatus.DONE]
            agreed = bool(staying) and all(
                one.status is ParticipantStatus.AGREED for one in staying
            )
            assert self.state.has_consensus is (agreed and not self.state.blocking_issues)

    @invariant()
    def the_rounds_are_the_tours(self) -> None:
        assert [one.tour for one in self.state.rounds] == list(range(1, self.state.tour + 1))
        assert self.state.rounds[-1].phase == self.state.phase
        open_rounds = [one.tour for one in self.state.rounds if one.ended_at is None]
        assert open_rounds == ([] if self.state.finished_at else [self.state.tour])

    @invariant()
    def nobody_is_asked_twice_or_in_vain(self) -> None:
        asked = self.wakes()
        assert len(set(asked)) == len(asked)
        assert set(asked) <= set(due_agents(self.state))
        running = {t.agent for t in self.state.tasks.values() if t.state is TaskState.R}
        assert not running & set(asked)
        if self.state.phase != "SYNTHESIZE":
            for agent in asked:
                answered = has_answered(self.state.participants[agent])
                assert is_asked_again(self.state, agent) or not answered
        elif any(entry.kind is EntryKind.SYNTHESIS for entry in self.state.entries):
            assert asked == []
        if self.state.paused_at is not None or self.state.finished_at is not None:
            assert asked == []
        if self.state.finished_at is not None:
            assert pending(self.state, self.now) == (Archive(),)
            assert due_agents(self.state) == ()

    @invariant()
    def every_task_is_named_after_what_it_is_for(self) -> None:
        for key, task in self.state.tasks.items():
            assert split_task_id(key) == (CONVERSATION_ID, task.tour, task.agent, task.attempt)
            assert task.tour in (self.state.tour, self.state.tour - 1)
            if self.state.finished_at is not None or task.tour < self.state.tour:
                assert task.state not in (TaskState.N, TaskState.R)

    @invariant()
    def a_step_is_idempotent_and_the_same_each_time(self) -> None:
        first = advance(self.state, self.now)
        assert advance(self.state, self.now) == first
        second = advance(first.state, self.now)
        assert (second.state, second.events) == (first.state, [])
        if self.state.paused_at is None:
            assert not any(
                task.state is TaskState.R and task.ends_at is not None and task.ends_at <= self.now
                for task in first.state.tasks.values()
            ), "a run whose lease is over is taken for alive"

    @invariant()
    def one_who_waits_for_a_place_holds_the_deadline(self) -> None:
        state = self.state
        queued = any(
            task.state is TaskState.N
            and task.tour == state.tour
            and task.agent in due_agents(state)
            for task in state.tasks.values()
        )
        if queued and state.ends_at is None and state.finished_at is None:
            later = max(self.now, state.timeout_at) + HOUR
            assert advance(state, later).state.phase == state.phase

    def teardown(self) -> None:
        """Whatever happened: with time and a heartbeat the conversation ends."""
        if not hasattr(self, "state"):
            return
        if self.state.finished_at is None:
            self.steer(resume)
        for _ in range(100):
            self.now += HOUR
            self.heartbeat(4)
        assert self.state.finished_at is not None
        assert self.state.closed_reason is not None


Histories.TestCase.settings = settings(max_examples=examples(120), stateful_step_count=30)


@pytest.mark.req("C0-018", "C0-028", "C0-032", "C0-033", "C0-042", "C0-044", "XC-004", "XC-016")
class TestHistories(Histories.TestCase):
    """Played by pytest."""
