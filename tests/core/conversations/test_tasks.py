"""The life of a task: queued, started, failed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from council.core.conversations.conversation import TaskState
from council.core.conversations.machine import advance
from council.core.conversations.tasks import task_failed, task_queued, task_started
from council.core.reasons import said
from tests.core.conversations.samples import (
    HOUR,
    MINUTE,
    NOW,
    all_answer,
    answer,
    convened,
    types_of,
    wakes,
)

LEASE = timedelta(minutes=2)


def started(state, wake, now=NOW):
    return task_started(state, wake, driver="command", now=now, ends_at=now + LEASE)


@pytest.mark.req("DL-032")
def test_each_run_bears_the_label_of_its_conversation_and_its_agent():
    state = convened()
    labels = {
        wake.agent: event.data["label"]
        for wake in wakes(state)
        for event in started(state, wake).events
        if event.type == "task.started"
    }
    assert labels == {agent: f"council-{state.conversation_id}-{agent}" for agent in labels}
    assert list(labels) == list(state.participants)


def test_a_queued_task_stands_in_the_state_under_its_derived_id():
    state = convened()
    wake = wakes(state)[0]
    step = task_queued(state, wake, driver="command", now=NOW)
    task = step.state.tasks[wake.task]
    assert (task.agent, task.tour, task.attempt, task.state) == ("henry", 1, 1, TaskState.N)
    assert (task.at, task.ends_at, task.driver) == (NOW, None, "command")
    assert types_of(step) == ["task.queued"]
    assert state.tasks == {}, "the argument was changed"


def test_queueing_again_changes_nothing_and_keeps_the_place():
    state = convened()
    wake = wakes(state)[0]
    state = task_queued(state, wake, driver="command", now=NOW).state
    step = task_queued(state, wake, driver="command", now=NOW + MINUTE)
    assert (step.state, step.events) == (state, [])


@pytest.mark.req("XC-016")
def test_a_task_that_waits_stays_due_since_its_round_began_so_that_the_oldest_goes_first():
    state = convened()
    wake = wakes(state)[0]
    state = task_queued(state, wake, driver="command", now=NOW + MINUTE).state
    assert wakes(state, NOW + HOUR)[0] == wake


def test_a_started_task_holds_a_lease():
    state = convened()
    step = started(state, wakes(state)[0])
    (task,) = step.state.tasks.values()
    assert (task.state, task.at, task.ends_at) == (TaskState.R, NOW, NOW + LEASE)
    assert types_of(step) == ["task.started"]
    assert state.tasks == {}


def test_a_start_at_once_leaves_the_deadline():
    state = convened()
    wake = wakes(state)[0]
    state = task_queued(state, wake, driver="command", now=NOW).state
    assert started(state, wake).state.timeout_at == NOW + HOUR
    assert started(convened(), wake, NOW + MINUTE).state.timeout_at == NOW + HOUR


@pytest.mark.req("XC-016")
def test_the_time_a_task_waited_is_given_back_once_for_all_who_waited():
    state = convened()
    four = wakes(state)
    for wake in four:
        state = task_queued(state, wake, driver="command", now=NOW).state
    for minutes, wake in enumerate(four):
        state = started(state, wake, NOW + minutes * 10 * MINUTE).state
    assert state.timeout_at == NOW + HOUR + 30 * MINUTE


@pytest.mark.req("XC-016")
def test_a_task_that_waited_past_the_deadline_gets_what_was_left_of_it():
    state = convened()
    wake = wakes(state)[0]
    state = task_queued(state, wake, driver="command", now=NOW + 10 * MINUTE).state
    state = started(state, wake, NOW + 3 * HOUR).state
    assert state.timeout_at == NOW + 3 * HOUR + 50 * MINUTE


def test_a_retry_that_waited_a_second_does_not_get_the_whole_phase_again():
    state = convened()
    wake = wakes(state)[0]
    late = NOW + 50 * MINUTE
    state = task_queued(state, wake, driver="command", now=late).state
    state = started(state, wake, late + timedelta(seconds=1)).state
    assert state.timeout_at == NOW + HOUR + timedelta(seconds=1)


@pytest.mark.parametrize("final", [True, False])
def test_a_failed_task_keeps_why_and_whether_another_is_tried(final: bool):
    state = convened()
    wake = wakes(state)[0]
    state = started(state, wake).state
    step = task_failed(state, wake.task, said("exit code 1"), now=NOW + MINUTE, final=final)
    task = step.state.tasks[wake.task]
    assert (task.state, task.reason, task.at, task.final) == (
        TaskState.F,
        said("exit code 1"),
        NOW + MINUTE,
        final,
    )
    assert types_of(step) == ["task.failed"]
    assert step.events[0].data == {
        "task": wake.task,
        "reason": said("exit code 1").to_record(),
        "final": final,
    }


def test_a_failure_that_comes_after_the_answer_changes_nothing():
    state = convened()
    wake = wakes(state)[0]
    state = answer(started(state, wake).state, "henry", task=wake.task).state
    step = task_failed(state, wake.task, said("killed"), now=NOW + MINUTE)
    assert (step.state, step.events) == (state, [])


def test_a_failure_of_a_round_that_is_closed_or_of_no_task_changes_nothing():
    state = convened()
    wake = wakes(state)[0]
    state = advance(all_answer(started(state, wake).state, "henry"), NOW + HOUR).state
    for task in (wake.task, "unknown"):
        step = task_failed(state, task, said("killed"), now=NOW + HOUR)
        assert (step.state, step.events) == (state, [])


@pytest.mark.req("DL-032")
def test_the_event_of_a_start_bears_the_label_of_the_run():
    state = convened()
    (event,) = started(state, wakes(state)[0]).events
    assert event.data["label"] == f"council-{state.conversation_id}-henry"
