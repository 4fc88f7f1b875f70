"""Steering: stop, pause, resume, cancel, extend."""

from __future__ import annotations

from datetime import timedelta

import pytest

from council.core.conversations.conversation import ClosedReason, Conversation, Status, TaskState
from council.core.conversations.due import Archive, pending
from council.core.conversations.machine import advance
from council.core.conversations.steering import cancel, extend, pause, resume, stop
from council.core.conversations.tasks import task_started
from council.core.errors import ConflictError, UsageError
from council.core.reasons import read_reason
from tests.core.conversations.samples import (
    HOUR,
    MINUTE,
    NOW,
    PHASES,
    all_answer,
    answer,
    convened,
    standing,
    types_of,
    wakes,
    woken,
)

SOON = NOW + MINUTE
ACTS = {
    "stop": lambda state, now: stop(state, now),
    "pause": lambda state, now: pause(state, now),
    "cancel": lambda state, now: cancel(state, now),
    "extend": lambda state, now: extend(state, HOUR, now),
}


def finished() -> Conversation:
    return cancel(convened(), NOW).state


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_no_act_changes_the_state_it_is_given(act):
    state = all_answer(convened(), "sage")
    before = state.copy()
    act(state, SOON)
    assert state == before


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_finished_conversation_is_not_steered(act):
    with pytest.raises(ConflictError):
        act(finished(), SOON)


# --- stop --------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", PHASES[:3])
def test_stop_leads_to_the_synthesis_from_any_phase(phase):
    step = stop(standing(phase, ["RESPONDED", "WAITING"]), SOON)
    assert step.state.phase == "SYNTHESIZE"
    assert step.state.tour == PHASES.index(phase) + 2
    assert step.events[-1].data["reason"] == "stopped"
    assert step.state.closed_reason is not None


@pytest.mark.req("C0-079")
@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        (["RESPONDED", "RESPONDED"], Status.CONVERGED),
        (["RESPONDED", "WAITING"], Status.TIMEOUT),
        (["WAITING", "WAITING"], Status.TIMEOUT),
    ],
)
def test_a_stopped_conversation_converged_only_if_everybody_had_answered(statuses, status):
    state = stop(standing("RESOLVE", statuses), SOON).state
    assert state.status is status


def test_stop_reveals_what_was_sealed():
    state = stop(answer(convened(), "sage", "my view").state, SOON).state
    assert [(one.agent, one.text) for one in state.entries] == [("sage", "my view")]


def test_stop_in_the_synthesis_changes_nothing():
    state = stop(standing("RESOLVE", ["RESPONDED"]), SOON).state
    step = stop(state, SOON + MINUTE)
    assert (step.state, step.events) == (state, [])


# --- pause and resume --------------------------------------------------------------------------


def test_pause_and_resume_are_said_once_however_often_they_are_called():
    first = pause(convened(), SOON)
    assert types_of(first) == ["conversation.paused"]
    again = pause(first.state, NOW + HOUR)
    assert (again.state, again.events) == (first.state, [])
    step = resume(again.state, NOW + HOUR)
    assert types_of(step) == ["conversation.resumed"]
    assert resume(step.state, NOW + 2 * HOUR).events == []


def test_resume_moves_both_deadlines_by_the_time_that_was_paused():
    state = convened(ends_at=NOW + 3 * HOUR)
    state = resume(pause(state, SOON).state, SOON + 10 * MINUTE).state
    assert state.timeout_at == NOW + HOUR + 10 * MINUTE
    assert state.ends_at == NOW + 3 * HOUR + 10 * MINUTE


def test_a_clock_that_went_back_takes_no_time_away():
    state = resume(pause(convened(), NOW + HOUR).state, NOW).state
    assert state.timeout_at == NOW + HOUR


def test_an_answer_during_a_pause_is_taken_and_moves_nothing_on():
    state = all_answer(pause(convened(), NOW).state)
    assert advance(state, SOON).state.phase == "COLLECT"
    assert advance(resume(state, SOON).state, SOON).state.phase == "CHALLENGE"


# --- cancel ------------------------------------------------------------------------------------


@pytest.mark.req("C0-079")
@pytest.mark.parametrize("phase", PHASES)
def test_cancel_ends_any_phase_without_a_synthesis(phase):
    step = cancel(standing(phase, ["RESPONDED", "WAITING"]), SOON)
    assert step.state.finished_at == SOON
    assert (step.state.status, step.state.closed_reason) == (
        Status.TIMEOUT,
        ClosedReason.CANCELLED,
    )
    assert pending(step.state, SOON) == (Archive(),)
    assert types_of(step)[-2:] == ["conversation.cancelled", "conversation.finished"]


def test_cancel_keeps_what_was_said_and_who_was_awaited():
    state = cancel(answer(convened(), "sage", "my view").state, SOON).state
    assert [(one.agent, one.text) for one in state.entries] == [("sage", "my view")]
    assert state.participants["sage"].sealed == "", "nothing is sealed any more"
    assert state.rounds[-1].absent == dict.fromkeys(
        ("henry", "nova", "blaise"), read_reason("cancelled")
    )
    assert state.rounds[-1].reason == "cancelled"


def test_who_had_not_answered_when_a_person_stopped_missed_no_deadline():
    step = stop(answer(convened(), "sage", "my view").state, SOON)
    assert step.state.rounds[0].absent == dict.fromkeys(
        ("henry", "nova", "blaise"), read_reason("stopped")
    )
    missed = [one for one in step.events if one.type == "turn.missed"]
    assert {one.data["reason"] for one in missed} == {"stopped"}


@pytest.mark.req("C0-079", "HR-026")
def test_no_time_ran_out_where_a_person_stopped_before_any_answer():
    state = stop(convened(), SOON).state
    assert (state.status, state.closed_reason) == (Status.TIMEOUT, ClosedReason.PHASES_EXHAUSTED)


def test_cancel_ends_the_runs_under_way():
    state = convened()
    wake = wakes(state)[0]
    state = task_started(state, wake, driver="command", now=NOW, ends_at=None).state
    assert cancel(state, SOON).state.tasks[wake.task].state is TaskState.X


def test_a_paused_conversation_can_be_cancelled():
    state = cancel(pause(convened(), NOW).state, SOON).state
    assert pending(state, SOON) == (Archive(),)


# --- extend ------------------------------------------------------------------------------------


def test_extend_adds_to_the_deadline_and_counts_from_now_once_it_has_passed():
    assert extend(convened(), HOUR, SOON).state.timeout_at == NOW + 2 * HOUR
    late = NOW + 5 * HOUR
    step = extend(convened(), HOUR, late)
    assert step.state.timeout_at == late + HOUR
    assert step.events[0].data == {"seconds": 3600}
    assert advance(step.state, late).state.phase == "COLLECT"
    assert len(woken(step.state, late)) == 4


@pytest.mark.parametrize("by", [timedelta(0), -MINUTE])
def test_the_deadline_is_not_moved_back(by):
    with pytest.raises(UsageError):
        extend(convened(), by, SOON)
