"""What each participant is doing: nobody is at work for whom no process runs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.conversations import activity
from council.core.conversations.activity import AT_WORK, CODES, Activity, Surroundings, activities
from council.core.conversations.conversation import Conversation
from council.core.conversations.machine import advance
from council.core.conversations.steering import pause
from council.core.conversations.tasks import task_failed, task_queued, task_refused, task_started
from council.core.reading import LANGUAGES
from council.core.reasons import Reason, said
from council.operations.activity import activity_words
from council.store.texts import texts
from tests.core.conversations.samples import HOUR, MINUTE, NOW, all_answer, convened, wakes

SOON = NOW + MINUTE
RESTS = Reason.of("rests", until=NOW + HOUR, failures=3)
CAP = Reason.of("cap", limit="max_runs_per_day", most=2)


def wake_of(state: Conversation, agent: str):
    return next(one for one in wakes(state, SOON) if one.agent == agent)


def started(state: Conversation, agent: str, driver: str = "command") -> Conversation:
    ends_at = None if driver == "manual" else NOW + HOUR
    wake = wake_of(state, agent)
    return task_started(state, wake, driver=driver, now=NOW, ends_at=ends_at).state


def failed(state: Conversation, agent: str, *, final: bool = False) -> Conversation:
    wake = wake_of(state, agent)
    state = started(state, agent)
    return task_failed(state, wake.task, said("broken"), now=NOW, final=final).state


def doing(state: Conversation, agent: str = "sage", now=SOON, **around: object) -> Activity:
    return activities(state, now, Surroundings(**around))[agent]


@pytest.mark.req("FW-004.2")
def test_a_run_is_at_work_only_while_its_process_is():
    state = started(convened(), "sage")
    (task,) = state.tasks
    assert doing(state).code == activity.RUNNING
    assert doing(state, gone=(task,)).code == activity.GONE
    assert doing(state, now=NOW + 2 * HOUR).code == activity.GONE, "its lease is over"


@pytest.mark.req("FW-004.1")
@pytest.mark.parametrize(
    ("state", "around", "code"),
    [
        (convened(), {}, "asked"),
        (started(convened(), "sage", "manual"), {}, "by-hand"),
        (
            task_queued(convened(), wake_of(convened(), "sage"), driver="c", now=NOW).state,
            {},
            "queued",
        ),
        (
            task_queued(convened(), wake_of(convened(), "sage"), driver="c", now=NOW).state,
            {"refusals": {"sage": Reason.of("halted")}},
            "halted",
        ),
        (failed(convened(), "sage"), {}, "retry"),
        (failed(convened(), "sage", final=True), {}, "failed"),
        (failed(convened(), "sage"), {"refusals": {"sage": CAP}}, "capped"),
        (convened(), {"refusals": {"sage": CAP}}, "capped"),
        (convened(), {"refusals": {"sage": RESTS}}, "resting"),
        (convened(), {"elsewhere": {"sage": "attic"}}, "elsewhere"),
        (pause(convened(), NOW).state, {}, "paused"),
        (all_answer(convened(), "sage"), {}, "sealed"),
        (
            task_refused(
                convened(), wake_of(convened(), "sage"), RESTS, driver="c", now=NOW, final=True
            ).state,
            {},
            "resting",
        ),
    ],
)
def test_what_a_participant_does_follows_from_state_and_surroundings(state, around, code):
    assert doing(state, **around).code == code


@pytest.mark.req("FW-004.1")
def test_a_bound_on_runs_holds_nobody_back_who_has_answered_or_is_at_work():
    state = all_answer(convened(), "sage")
    assert doing(state, refusals={"sage": CAP}).code == activity.SEALED
    assert doing(started(convened(), "sage"), refusals={"sage": CAP}).code == activity.RUNNING


@pytest.mark.req("FW-004.2")
def test_who_writes_the_synthesis_is_at_work_only_in_a_run():
    state = convened()
    for _ in range(3):
        state = advance(all_answer(state), NOW).state
    assert state.phase == "SYNTHESIZE"
    (writer,) = {one.agent for one in wakes(state, NOW + HOUR)}
    assert doing(state, writer).code == activity.TO_WRITE
    assert doing(started(state, writer), writer).code == activity.WRITING


@given(
    st.sampled_from(["none", "N", "R", "F", "X"]),
    st.booleans(),
    st.sampled_from([None, CAP, RESTS, Reason.of("halted")]),
    st.integers(0, 200),
)
@pytest.mark.req("FW-004.2")
def test_nobody_is_at_work_without_a_live_run(task, is_gone, refusal, minutes):
    state = convened()
    wake = wake_of(state, "sage")
    if task == "N":
        state = task_queued(state, wake, driver="command", now=NOW).state
    elif task in ("R", "F"):
        state = started(state, "sage")
        if task == "F":
            state = task_failed(state, wake.task, said("no"), now=NOW).state
    elif task == "X":
        state = pause(started(state, "sage"), NOW, gives_up_runs=True).state
    gone = tuple(state.tasks) if is_gone else ()
    refusals = {"sage": refusal} if refusal else {}
    now = NOW + timedelta(minutes=minutes)
    one = doing(state, now=now, gone=gone, refusals=refusals)
    lives = task == "R" and not is_gone and minutes < 60
    assert (one.code in AT_WORK) == lives
    assert activity_words(one) and activity_words(one, "fr")


@pytest.mark.req("FW-004.1", "XC-012")
@pytest.mark.parametrize("code", CODES)
def test_each_activity_has_words_in_both_languages_and_a_label_on_the_page(code):
    assert len(texts("activities")[code]) == len(LANGUAGES)
    if code != activity.OVER:
        assert len(texts("web")[f"council-doing-{code}"]) == len(LANGUAGES)
