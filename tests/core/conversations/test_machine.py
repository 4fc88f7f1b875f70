"""The machine: when a round closes, what follows, and what is due."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest

from council.core.conversations.conversation import (
    ClosedReason,
    Conversation,
    EntryKind,
    Origin,
    Participant,
    ParticipantStatus,
    Status,
    TaskState,
    measure,
)
from council.core.conversations.due import (
    Archive,
    Notify,
    due_agents,
    is_blind,
    pending,
    synthesizers,
)
from council.core.conversations.machine import DIGEST_AUTHOR, advance, begin
from council.core.conversations.procedures import MODES
from council.core.conversations.records import from_record, to_record
from council.core.conversations.steering import pause, resume
from council.core.conversations.tasks import (
    task_failed,
    task_queued,
    task_refused,
    task_started,
)
from council.core.ids import task_id, text_digest
from council.core.reasons import TIMEOUT, Reason, said
from tests.core.conversations.samples import (
    CONVERSATION_ID,
    FOUR,
    HOUR,
    MINUTE,
    NOW,
    PHASES,
    all_answer,
    answer,
    convened,
    standing,
    states_of_tasks,
    statuses_of,
    types_of,
    wakes,
    woken,
)

SOON = NOW + MINUTE
PAST = NOW + 2 * HOUR


def failed(state: Conversation, agent: str, times: int, now=NOW, **how: object) -> Conversation:
    """Let `times` runs of `agent` fail one after the other."""
    for _ in range(times):
        now += 2 * MINUTE
        wake = next(one for one in wakes(state, now) if one.agent == agent)
        state = task_started(state, wake, driver="command", now=now, ends_at=now + HOUR).state
        state = task_failed(state, wake.task, said("exit code 1"), now=now, **how).state
    return state


# --- opening -----------------------------------------------------------------------------------


@pytest.mark.req("C0-037")
def test_opening_makes_everybody_of_the_first_phase_due_at_once():
    state = convened()
    assert woken(state) == list(FOUR)
    assert [wake.task for wake in wakes(state)] == [
        task_id(CONVERSATION_ID, 1, agent, 1) for agent in FOUR
    ]
    assert (state.phase, state.tour, statuses_of(state)) == ("COLLECT", 1, ["WAITING"] * 4)


def test_opening_fixes_the_digest_of_the_brief_and_says_who_takes_part():
    plain = convened().copy(brief_digest="", rounds=[])
    step = begin(plain, NOW)
    assert step.state.brief_digest == text_digest(plain.brief)
    assert types_of(step) == ["conversation.opened"]
    assert step.events[0].data["participants"] == list(FOUR)
    assert plain.rounds == [], "the argument was changed"


# --- closing a round ---------------------------------------------------------------------------


@pytest.mark.req("C0-026", "C0-029", "C0-062")
def test_nothing_changes_while_somebody_is_awaited_and_there_is_time():
    state = all_answer(convened(), "henry", "sage", "nova")
    step = advance(state, NOW + HOUR - timedelta(seconds=1))
    assert step.state == state
    assert step.events == []


@pytest.mark.req("C0-026", "C0-027", "C0-062")
def test_a_round_closes_when_all_have_answered():
    step = advance(all_answer(convened()), SOON)
    assert (step.state.phase, step.state.tour) == ("CHALLENGE", 2)
    assert statuses_of(step.state) == ["WAITING"] * 4
    assert woken(step.state, SOON) == list(FOUR)
    changed = next(event for event in step.events if event.type == "phase.changed")
    assert changed.data == {
        "from": "COLLECT",
        "to": "CHALLENGE",
        "tour": 2,
        "reason": "all-answered",
        "absent": [],
    }


@pytest.mark.req("C0-026")
def test_agreed_counts_as_answered():
    state = standing("CHALLENGE", ["RESPONDED", "AGREED", "DONE"])
    assert advance(state, SOON).state.phase == "RESOLVE"


@pytest.mark.req("C0-061")
def test_four_answered_rounds_go_through_the_phases_in_order():
    state, seen = convened(), []
    for _ in range(3):
        seen.append((state.phase, state.tour))
        state = advance(all_answer(state), SOON).state
    seen.append((state.phase, state.tour))
    assert seen == [("COLLECT", 1), ("CHALLENGE", 2), ("RESOLVE", 3), ("SYNTHESIZE", 4)]


@pytest.mark.req("C0-064")
def test_the_short_form_goes_from_collect_to_the_synthesis():
    state = advance(all_answer(convened(phases=("COLLECT", "SYNTHESIZE"))), SOON).state
    assert (state.phase, state.tour) == ("SYNTHESIZE", 2)


@pytest.mark.req("C0-033", "C0-072")
def test_the_time_limit_moves_on_without_the_one_who_never_answers():
    state = all_answer(convened(), "henry", "nova", "blaise")
    step = advance(state, NOW + HOUR)
    assert (step.state.phase, step.state.tour) == ("CHALLENGE", 2)
    assert step.state.rounds[0].absent == {"sage": TIMEOUT}
    assert [event.agent for event in step.events if event.type == "turn.missed"] == ["sage"]
    assert "sage" in woken(step.state, NOW + HOUR), "an absence is no leave"


@pytest.mark.req("C0-073")
def test_the_absent_are_kept_with_the_reason_of_their_last_failure():
    state = failed(all_answer(convened(), "henry", "nova"), "sage", 3)
    closed = advance(state, NOW + HOUR).state.rounds[0]
    absent = {"sage": said("exit code 1"), "blaise": TIMEOUT}
    assert (closed.reason, closed.absent) == ("timeout", absent)


@pytest.mark.req("C0-073")
def test_the_absent_of_a_file_without_rounds_are_kept_too():
    state = convened().copy(rounds=[])
    state = advance(all_answer(state, "henry"), PAST).state
    assert [(one.tour, one.phase) for one in state.rounds] == [(1, "COLLECT"), (2, "CHALLENGE")]
    assert set(state.rounds[0].absent) == {"sage", "nova", "blaise"}


@pytest.mark.req("C0-071")
def test_each_transition_sets_a_new_deadline():
    state = convened(phase_timeout=timedelta(minutes=20))
    assert advance(all_answer(state), SOON).state.timeout_at == SOON + timedelta(minutes=20)


@pytest.mark.req("C0-071")
def test_a_phase_gets_an_hour_unless_told():
    state = advance(all_answer(convened()), SOON).state
    assert state.timeout_at == SOON + HOUR
    assert advance(state, SOON + HOUR - timedelta(seconds=1)).state.phase == "CHALLENGE"
    assert advance(state, SOON + HOUR).state.phase == "RESOLVE"


@pytest.mark.req("C0-028", "C0-027")
def test_one_who_is_done_stays_done_and_is_neither_awaited_nor_woken():
    state = answer(convened(), "sage", status="done").state
    for _ in range(2):
        state = advance(all_answer(state, "henry", "nova", "blaise"), SOON).state
        assert state.participants["sage"].status is ParticipantStatus.DONE
        assert woken(state, SOON) == ["henry", "nova", "blaise"]
    assert state.phase == "RESOLVE"


@pytest.mark.req("C0-032")
def test_all_done_goes_straight_to_the_synthesis():
    state = all_answer(convened(coordinator="maman"), status="done")
    step = advance(state, SOON)
    assert (step.state.phase, step.state.tour) == ("SYNTHESIZE", 2)
    assert types_of(step).count("phase.changed") == 1


@pytest.mark.req("C0-032")
def test_one_step_makes_one_transition_however_late_it_comes():
    state = convened()
    step = advance(state, NOW + timedelta(days=30))
    assert (step.state.phase, step.state.tour) == ("CHALLENGE", 2)
    assert advance(step.state, NOW + timedelta(days=30)).events == []


@pytest.mark.req("C0-032", "C0-030")
@pytest.mark.parametrize("coordinator", ["", "maman", "henry"])
def test_a_hundred_steps_over_a_silent_council_end_it(coordinator: str):
    state, now, phases = convened(coordinator=coordinator), NOW, []
    for _ in range(100):
        now += HOUR
        state = advance(state, now).state
        phases.append(PHASES.index(state.phase))
    # One hour a phase; without a coordinating agent none is left to wait for after three.
    assert state.finished_at == NOW + (4 if coordinator else 3) * HOUR
    assert phases == sorted(phases)
    assert pending(state, now) == (Archive(),)
    assert (state.status, state.closed_reason) == (Status.TIMEOUT, ClosedReason.TIMEOUT)


def test_a_round_that_closed_reveals_what_was_sealed_as_it_was_given():
    text = "BLOCKING: no budget\n-->\n\r\n  🦎"
    state = answer(convened(), "sage", text).state
    assert state.entries == []
    step = advance(all_answer(state, "henry", "nova", "blaise"), SOON)
    entry = step.state.entry_of("sage", 1)
    assert entry is not None
    assert (entry.text, entry.nonce, entry.at) == (text, "salt-sage", SOON)
    assert entry.phase == "COLLECT"
    assert step.state.blocking_issues == ["no budget"]
    assert [one.sealed for one in step.state.participants.values()] == [""] * 4
    assert types_of(step).count("seal.opened") == 4


@pytest.mark.req("XC-008")
def test_a_sealed_text_that_is_gone_is_said_and_stops_nobody():
    state = all_answer(convened())
    del state.sealed["sage"]
    step = advance(state, SOON)
    assert step.state.phase == "CHALLENGE"
    assert [event.agent for event in step.events if event.type == "seal.missing"] == ["sage"]


def test_the_events_of_a_step_leave_the_state_it_started_from_alone():
    state = all_answer(convened())
    before = state.copy()
    advance(state, SOON)
    assert state == before


# --- agreement ---------------------------------------------------------------------------------


@pytest.mark.req("C0-074", "C0-075")
@pytest.mark.parametrize(
    ("mode", "phase", "status"),
    [
        ("debate", "SYNTHESIZE", Status.CONVERGED),
        ("analysis", "SYNTHESIZE", Status.CONVERGED),
        ("prd", "RESOLVE", Status.ACTIVE),
        ("review", "RESOLVE", Status.ACTIVE),
        ("synthesis", "RESOLVE", Status.ACTIVE),
    ],
)
def test_all_agreed_ends_the_rounds_early_in_debate_and_analysis_only(mode, phase, status):
    state = standing("CHALLENGE", ["WAITING"] * 3, mode=mode)
    step = advance(all_answer(state, status="agreed"), SOON)
    assert (step.state.phase, step.state.tour, step.state.status) == (phase, 3, status)


@pytest.mark.req("C0-074")
def test_early_agreement_is_consensus_and_stays_so_in_the_synthesis():
    state = all_answer(standing("CHALLENGE", ["WAITING"] * 3), status="agreed")
    step = advance(state, SOON)
    assert step.state.closed_reason is ClosedReason.CONSENSUS
    assert step.state.has_consensus
    assert step.events[-1].data["reason"] == "agreed"
    later = advance(step.state, SOON + MINUTE).state
    assert later.has_consensus


@pytest.mark.req("C0-074")
def test_those_who_left_need_not_agree():
    state = standing("CHALLENGE", ["AGREED", "DONE", "AGREED"])
    assert advance(state, SOON).state.status is Status.CONVERGED


@pytest.mark.req("C0-080", "C0-074")
def test_an_open_blocker_prevents_the_early_end():
    state = standing("CHALLENGE", ["WAITING"] * 2)
    state = answer(state, "a", "I agree.\nBLOCKING: the key costs money", status="agreed").state
    state = answer(state, "b", status="agreed").state
    state = advance(answer(state, "a", "The key costs money.").state, SOON).state
    assert (state.phase, state.status, state.has_consensus) == ("RESOLVE", Status.ACTIVE, False)
    assert state.blocking_issues == ["the key costs money"]


@pytest.mark.req("C0-074")
def test_one_voice_without_agreement_keeps_the_order_of_phases():
    state = standing("CHALLENGE", ["AGREED", "RESPONDED", "AGREED"])
    assert advance(state, SOON).state.phase == "RESOLVE"


# --- how it ends -------------------------------------------------------------------------------


@pytest.mark.req("C0-079")
@pytest.mark.parametrize(
    ("statuses", "now", "end"),
    [
        (["AGREED"] * 3, SOON, ("CONVERGED", "consensus", True)),
        (["RESPONDED"] * 3, SOON, ("CONVERGED", "phases_exhausted", False)),
        (["RESPONDED", "DONE", "AGREED"], SOON, ("CONVERGED", "phases_exhausted", False)),
        (["RESPONDED", "WAITING", "RESPONDED"], PAST, ("TIMEOUT", "timeout", False)),
        (["WAITING"] * 3, PAST, ("TIMEOUT", "timeout", False)),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_the_end_after_the_last_phase(mode, statuses, now, end):
    state = advance(standing("RESOLVE", statuses, mode=mode), now).state
    assert state.phase == "SYNTHESIZE"
    assert (state.status, state.closed_reason, state.has_consensus) == end


@pytest.mark.req("C0-079")
def test_a_phase_that_nobody_answered_makes_it_a_timeout():
    state = advance(convened(), PAST).state
    for _ in range(2):
        state = advance(all_answer(state), PAST).state
    assert state.phase == "SYNTHESIZE"
    assert (state.status, state.closed_reason) == (Status.TIMEOUT, ClosedReason.TIMEOUT)


@pytest.mark.req("C0-079")
def test_an_early_phase_closed_by_time_does_not_decide_the_end():
    state = advance(all_answer(convened(), "henry"), PAST).state
    for _ in range(2):
        state = advance(all_answer(state), PAST).state
    assert (state.status, state.closed_reason) == (
        Status.CONVERGED,
        ClosedReason.PHASES_EXHAUSTED,
    )


@pytest.mark.req("C0-036")
@pytest.mark.parametrize("by_hand", [Status.CONVERGED, Status.TIMEOUT])
@pytest.mark.parametrize("phase", PHASES[:3])
def test_a_status_set_by_hand_leads_to_the_synthesis_from_any_phase(phase, by_hand):
    state = standing(phase, ["WAITING", "RESPONDED"], status=by_hand)
    step = advance(state, SOON)
    assert (step.state.phase, step.state.status) == ("SYNTHESIZE", by_hand)
    assert step.state.finished_at is None, "the synthesis is still to be written"


def test_the_overall_deadline_leads_to_the_synthesis_from_any_phase():
    state = convened(ends_at=NOW + 30 * MINUTE)
    assert advance(state, NOW + 29 * MINUTE).state.phase == "COLLECT"
    step = advance(state, NOW + 30 * MINUTE)
    assert (step.state.phase, step.state.status) == ("SYNTHESIZE", Status.TIMEOUT)


# --- the synthesis -----------------------------------------------------------------------------


def in_synthesis(**fields: object) -> Conversation:
    state = convened(**fields)
    for _ in range(3):
        state = advance(all_answer(state), SOON).state
    assert state.phase == "SYNTHESIZE"
    return state


@pytest.mark.req("C0-063")
def test_the_synthesis_is_asked_of_the_coordinating_agent_alone():
    assert woken(in_synthesis(coordinator="maman"), SOON) == ["maman"]
    assert woken(in_synthesis(coordinator="maman", synthesizer="nova"), SOON) == ["nova"]


@pytest.mark.req("C0-063", "C0-030")
def test_a_written_synthesis_finishes_the_conversation_at_the_next_step():
    state = answer(in_synthesis(coordinator="maman"), "maman", "We build it.").state
    step = advance(state, SOON)
    assert step.state.finished_at == SOON
    assert pending(step.state, SOON) == (Archive(),)
    written = [one for one in step.state.entries if one.kind is EntryKind.SYNTHESIS]
    assert [(one.agent, one.text) for one in written] == [("maman", "We build it.")]


def test_nobody_is_asked_again_for_a_synthesis_that_is_written():
    state = in_synthesis(coordinator="maman")
    wake = wakes(state, SOON)[0]
    state = task_started(state, wake, driver="command", now=SOON, ends_at=None).state
    state = answer(state, "maman", "We build it.").state
    assert due_agents(state) == ()
    assert woken(state, SOON) == []


@pytest.mark.req("C0-063")
def test_without_a_synthesis_in_time_a_digest_stands_in_and_says_who_made_it():
    state = in_synthesis(coordinator="maman")
    assert advance(state, state.timeout_at - MINUTE).state == state
    step = advance(state, state.timeout_at)
    entry = step.state.entries[-1]
    assert (entry.agent, entry.kind, entry.origin) == (
        DIGEST_AUTHOR,
        EntryKind.SYNTHESIS,
        Origin.TOOL,
    )
    assert entry.text
    assert entry.digest == text_digest(entry.text)
    assert step.state.finished_at == state.timeout_at
    assert types_of(step) == ["digest.written", "conversation.finished"]


@pytest.mark.req("C0-063")
def test_when_the_named_one_has_failed_for_good_the_next_is_asked():
    state = in_synthesis(synthesizer="nova", coordinator="maman")
    state = failed(state, "nova", 3, SOON)
    assert due_agents(state) == ("maman",)
    state = failed(state, "maman", 1, NOW + 20 * MINUTE, final=True)
    assert due_agents(state) == ("henry",)


def test_when_all_have_failed_the_digest_does_not_wait_for_the_deadline():
    state = in_synthesis(participants={"henry": Participant(id="henry")})
    state = failed(state, "henry", 1, SOON, final=True)
    assert synthesizers(state) == ()
    assert advance(state, NOW + 5 * MINUTE).state.finished_at == NOW + 5 * MINUTE


def test_who_missed_the_last_round_is_not_asked_for_the_synthesis():
    state = standing("RESOLVE", ["WAITING", "RESPONDED", "RESPONDED"])
    assert due_agents(advance(state, PAST).state) == ("b",)


@pytest.mark.req("XC-016")
def test_a_synthesizer_that_waits_for_a_place_does_not_run_out_of_time():
    state = in_synthesis(coordinator="maman")
    wake = wakes(state, SOON)[0]
    state = task_queued(state, wake, driver="command", now=SOON).state
    late = state.timeout_at + HOUR
    assert advance(state, late).state == state
    state = task_started(state, wake, driver="command", now=late, ends_at=None).state
    assert advance(state, late).state.finished_at is None


# --- what is due -------------------------------------------------------------------------------


def test_a_first_wake_is_due_since_the_round_began():
    state = advance(all_answer(convened()), SOON).state
    assert {(wake.due_at, wake.attempt) for wake in wakes(state, PAST)} == {(SOON, 1)}


def test_who_has_answered_is_not_asked():
    assert woken(all_answer(convened(), "nova", "henry")) == ["sage", "blaise"]


def test_who_is_running_is_not_asked_again():
    state = convened()
    for wake in wakes(state):
        state = task_started(state, wake, driver="command", now=NOW, ends_at=None).state
    assert woken(state) == []


def test_who_waits_for_a_place_is_asked_under_the_same_task():
    state = convened()
    wake = wakes(state)[0]
    state = task_queued(state, wake, driver="command", now=NOW).state
    assert [one.task for one in wakes(state, PAST)].count(wake.task) == 1
    assert woken(state, PAST) == list(FOUR)


def test_a_failed_run_is_tried_twice_more_with_growing_patience():
    state, now, started = convened("henry"), NOW, []
    for patience in (10, 60):
        wake = wakes(state, now)[0]
        started.append(wake.attempt)
        state = task_started(state, wake, driver="command", now=now, ends_at=None).state
        state = task_failed(state, wake.task, said("exit code 1"), now=now).state
        assert woken(state, now + timedelta(seconds=patience - 1)) == []
        now += timedelta(seconds=patience)
    wake = wakes(state, now)[0]
    state = task_started(state, wake, driver="command", now=now, ends_at=None).state
    state = task_failed(state, wake.task, said("exit code 1"), now=now).state
    assert [*started, wake.attempt] == [1, 2, 3]
    assert woken(state, PAST) == []


def test_attempts_are_counted_anew_in_each_round():
    state = failed(all_answer(convened(), "henry", "nova", "blaise"), "sage", 3)
    state = advance(state, PAST).state
    assert "sage" in woken(state, PAST)


@pytest.mark.req("C0-076")
def test_a_run_that_must_not_be_tried_again_leaves_its_agent_waiting_while_others_can_answer():
    state = failed(all_answer(convened(), "henry", "nova"), "sage", 1, final=True)
    before = NOW + HOUR - timedelta(seconds=1)
    assert woken(state, before) == ["blaise"]
    assert advance(state, before).state == state
    assert state.participants["sage"].status is ParticipantStatus.WAITING
    assert answer(state, "sage").outcome == "recorded", "it may still answer by hand"
    assert advance(state, NOW + HOUR).state.rounds[0].absent["sage"] == said("exit code 1")


def refused(
    state: Conversation, agent: str, reason: Reason, now=NOW, **how: object
) -> Conversation:
    """Let a run of `agent` that is due be refused."""
    wake = next(one for one in wakes(state, now) if one.agent == agent)
    return task_refused(state, wake, reason, driver="command", now=now, **how).state


RESTING = Reason.of("rests", until=NOW + 15 * MINUTE, failures=3)
OUT = {
    "attempts used up": lambda state, agent: failed(state, agent, 3),
    "not to be tried again": lambda state, agent: failed(state, agent, 1, final=True),
    "resting": lambda state, agent: refused(state, agent, RESTING),
}


@pytest.mark.req("OP-002")
@pytest.mark.parametrize("fate", OUT)
def test_a_phase_closes_when_no_participant_is_left_who_can_still_answer(fate: str):
    state = OUT[fate](convened(), "sage")
    assert advance(state, SOON).state.phase == "COLLECT", "the others can answer"
    state = all_answer(state, "henry", "nova", "blaise")
    closed = advance(state, SOON).state
    assert (closed.phase, closed.rounds[0].reason) == ("CHALLENGE", "nobody-left")
    assert list(closed.rounds[0].absent) == ["sage"]
    assert closed.rounds[0].absent["sage"] != TIMEOUT, "why it could not is kept"


ABLE = {
    "may try again": lambda state: failed(state, "sage", 2),
    "capped": lambda state: refused(
        state, "sage", Reason.of("cap", limit="max_runs_per_day", most=1)
    ),
    "waits for a place": lambda state: (
        task_queued(
            failed(state, "sage", 2), wakes(failed(state, "sage", 2), PAST)[0], driver="x", now=NOW
        ).state
    ),
    "has not been asked": lambda state: state,
}


@pytest.mark.req("OP-002")
@pytest.mark.parametrize("standing", ABLE)
def test_a_phase_waits_for_one_who_can_still_answer(standing: str):
    state = ABLE[standing](all_answer(convened(), "henry", "nova", "blaise"))
    assert advance(state, SOON).state.phase == "COLLECT"


@pytest.mark.req("OP-002")
def test_one_whose_rest_is_over_can_answer():
    state = refused(all_answer(convened(), "henry", "nova"), "sage", RESTING)
    rested = NOW + 15 * MINUTE
    state = all_answer(state, "blaise", now=rested)
    assert advance(state, rested - timedelta(seconds=1)).state.phase == "CHALLENGE"
    assert advance(state, rested).state.phase == "COLLECT"
    assert woken(state, rested) == ["sage"]


@pytest.mark.req("OP-002", "C0-079")
@pytest.mark.parametrize("answering", [(), ("henry", "nova", "blaise")])
def test_the_end_says_that_no_agent_was_left_to_answer(answering: tuple[str, ...]):
    state = convened()
    while state.phase != "SYNTHESIZE":
        state = all_answer(state, *answering) if answering else state
        for agent in woken(state, PAST):
            state = failed(state, agent, 1, final=True)
        state = advance(state, SOON).state
    assert {one.reason for one in state.rounds[:-1]} == {"nobody-left"}
    assert (state.status, state.closed_reason) == (Status.TIMEOUT, ClosedReason.NOBODY_LEFT)


@pytest.mark.req("C0-033")
def test_a_run_whose_lease_is_over_counts_as_failed_and_is_tried_again():
    state = convened("henry")
    wake = wakes(state)[0]
    ends_at = NOW + 2 * MINUTE
    state = task_started(state, wake, driver="command", now=NOW, ends_at=ends_at).state
    assert advance(state, ends_at - timedelta(seconds=1)).events == []
    step = advance(state, ends_at)
    assert types_of(step) == ["task.lost"]
    assert step.state.tasks[wake.task].state is TaskState.F
    assert [one.attempt for one in wakes(step.state, ends_at + MINUTE)] == [2]


@pytest.mark.req("XC-016")
def test_the_deadline_stands_still_while_an_agent_waits_for_a_place():
    state = all_answer(convened(), "henry", "nova", "blaise")
    wake = wakes(state)[0]
    state = task_queued(state, wake, driver="command", now=NOW).state
    assert advance(state, PAST).state == state
    state = task_started(state, wake, driver="command", now=PAST, ends_at=None).state
    assert advance(state, PAST + HOUR - MINUTE).state.phase == "COLLECT"
    assert advance(state, PAST + HOUR).state.phase == "CHALLENGE"


@pytest.mark.req("C0-033")
@pytest.mark.parametrize("fate", ["removed", "answered"])
def test_a_queued_task_of_one_who_owes_nothing_does_not_hold_the_deadline(fate: str):
    state = convened()
    wake = wakes(state)[0]
    state = task_queued(state, wake, driver="command", now=NOW).state
    if fate == "removed":
        del state.participants[wake.agent]
    else:
        state.participants[wake.agent].status = ParticipantStatus.RESPONDED
    assert advance(state, PAST).state.phase == "CHALLENGE"


def test_tasks_of_a_closed_round_end_and_are_forgotten_one_round_later():
    state = convened("henry", "sage")
    first, second = wakes(state)
    state = task_started(state, first, driver="command", now=NOW, ends_at=PAST + HOUR).state
    state = task_queued(state, second, driver="command", now=NOW).state
    state = advance(all_answer(state, "sage").copy(timeout_at=NOW), NOW).state
    assert states_of_tasks(state) == {first.task: TaskState.X, second.task: TaskState.X}
    assert states_of_tasks(advance(all_answer(state), SOON).state) == {}


@pytest.mark.req("C0-027")
def test_the_coordinator_is_owed_one_notice_for_each_new_round():
    state = advance(all_answer(convened(coordinator="maman")), SOON).state
    assert Notify(agent="maman", tour=2) in pending(state, SOON)
    assert not any(isinstance(one, Notify) for one in pending(state.copy(notified_tour=2), SOON))
    without = advance(all_answer(convened()), SOON).state
    assert not any(isinstance(one, Notify) for one in pending(without, SOON))


def test_what_is_owed_is_read_from_the_saved_state_alone():
    state = convened(coordinator="maman")
    state = failed(all_answer(state, "henry"), "sage", 1)
    state = task_queued(state, wakes(state)[-1], driver="command", now=NOW).state
    state.sealed.clear()  # what is sealed lies in no state file
    again = from_record(to_record(state), topic=state.topic, brief=state.brief)
    for minutes in range(0, 90, 10):
        now = NOW + minutes * MINUTE
        assert pending(again, now) == pending(state, now)
        assert advance(again, now).state == advance(state, now).state


@pytest.mark.req("XC-004")
def test_the_same_state_at_the_same_time_gives_the_same_next_state():
    state = all_answer(convened())
    one, other = advance(state, SOON), advance(state.copy(), SOON)
    assert one == other
    assert pending(one.state, SOON) == pending(other.state, SOON)


@pytest.mark.req("C0-025")
def test_a_finished_conversation_is_left_alone():
    state = answer(in_synthesis(coordinator="maman"), "maman").state
    state = advance(state, SOON).state
    step = advance(state, PAST)
    assert (step.state, step.events) == (state, [])


def test_a_paused_conversation_stands_still_and_goes_on_with_the_time_it_had():
    state = pause(convened(), NOW + 30 * MINUTE).state
    assert advance(state, PAST).state == state
    assert pending(state, PAST) == ()
    state = resume(state, PAST).state
    assert advance(state, PAST + 29 * MINUTE).events == []
    assert advance(state, PAST + 30 * MINUTE).state.phase == "CHALLENGE"


def test_a_blind_phase_is_the_first_one_unless_it_was_opened():
    assert is_blind(convened())
    assert not is_blind(convened(sealed_phases=False))
    assert not is_blind(standing("CHALLENGE", ["WAITING"]))


# --- totality ----------------------------------------------------------------------------------


def expected(phase: str, statuses: tuple[str, ...], timed_out: bool, mode: str) -> str:
    """Say in the words of the document where a step leads."""
    staying = [status for status in statuses if status != "DONE"]
    agreed = bool(staying) and set(staying) == {"AGREED"}
    if phase == "SYNTHESIZE":
        return phase
    if not staying or (agreed and mode in ("debate", "analysis")):
        return "SYNTHESIZE"
    if "WAITING" not in statuses or timed_out:
        return PHASES[PHASES.index(phase) + 1]
    return phase


@pytest.mark.req("C0-032", "C0-062", "C0-075")
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_standing_has_exactly_one_outcome(phase: str, count: int):
    for statuses in product(("WAITING", "RESPONDED", "AGREED", "DONE"), repeat=count):
        for timed_out, mode in product((False, True), MODES):
            state = standing(phase, list(statuses), mode=mode)
            measure(state)
            now = PAST if timed_out else SOON
            step = advance(state, now)
            where = (phase, statuses, timed_out, mode)
            assert step.state.phase == expected(phase, statuses, timed_out, mode), where
            moved = step.state.phase != phase
            assert step.state.tour == state.tour + moved, where
            assert [event.type for event in step.events].count("phase.changed") == moved, where
            if moved:
                absent = {
                    agent
                    for agent, status in zip("abc", statuses, strict=False)
                    if status == "WAITING"
                }
                assert set(step.state.rounds[-2].absent) == absent, where
                reset = ["DONE" if status == "DONE" else "WAITING" for status in statuses]
                assert statuses_of(step.state) == reset, where
            elif phase != "SYNTHESIZE":
                assert step.state == state, where
            ended = step.state.phase == "SYNTHESIZE"
            over = ended and ((timed_out and not moved) or not synthesizers(step.state))
            assert (step.state.finished_at is not None) == over, where
            assert (step.state.closed_reason is not None) == (ended and moved), where
            again = advance(step.state, now)
            assert (again.state, again.events) == (step.state, []), where
            pending(step.state, now)
