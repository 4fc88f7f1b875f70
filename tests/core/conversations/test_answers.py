"""Answers: who may speak now, what repeats, what is late, what is sealed, what is refused."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.conversations.answers import inject, respond, sealed_digest
from council.core.conversations.conversation import (
    Conversation,
    EntryKind,
    Origin,
    ParticipantStatus,
    TaskState,
)
from council.core.conversations.machine import advance
from council.core.conversations.tasks import task_queued, task_started
from council.core.errors import (
    AlreadyAnsweredError,
    CouncilError,
    InvalidInputError,
    NotAParticipantError,
    NotYourTurnError,
    RefusedError,
    UsageError,
)
from council.core.ids import task_id, text_digest
from tests.core.conversations.samples import (
    CONVERSATION_ID,
    HOUR,
    MINUTE,
    NOW,
    all_answer,
    answer,
    convened,
    standing,
    types_of,
    wakes,
)
from tests.core.debates import Debate
from tests.examples import examples

SOON = NOW + MINUTE
HARD_TEXTS = [
    "# A heading\n## Another",
    "```\nfence\n```",
    "--> <!--council-state {} -->",
    "[Tour 2]: not mine",
    "🦎🏳️‍🌈 emoji",
    "line\r\nends\rof\nall kinds",
    "\u202eright to left\u202c שלום",
    "  spaces around  \n\n",
]


def challenge(*statuses: str, **fields: object) -> Conversation:
    return standing("CHALLENGE", list(statuses) or ["WAITING"] * 3, **fields)


def test_the_argument_is_never_changed():
    state = challenge()
    before = state.copy()
    answer(state, "a", "BLOCKING: no")
    inject(state, "Hurry.", author="someone", now=NOW)
    assert state == before


# --- accepted ----------------------------------------------------------------------------------


@pytest.mark.req("C0-043", "C0-045", "C0-017")
def test_an_answer_sets_the_status_and_time_of_its_author_and_of_nobody_else():
    state = challenge()
    assert state.participants["a"].last_action is None
    step = answer(state, "a", now=SOON)
    one = step.state.participants["a"]
    assert (step.outcome, one.status, one.last_action) == (
        "recorded",
        ParticipantStatus.RESPONDED,
        SOON,
    )
    for other in "bc":
        assert step.state.participants[other] == state.participants[other]
    assert types_of(step) == ["contribution.recorded"]


@pytest.mark.req("C0-018")
def test_two_answers_of_four_are_a_rate_of_one_half():
    state = all_answer(convened(), "henry", "nova")
    assert state.response_rate == 0.5


@pytest.mark.req("C0-044")
def test_an_answer_is_added_after_all_that_stands():
    state = all_answer(challenge(), "a", "b")
    before = state.copy().entries
    after = answer(state, "c", "third").state.entries
    assert after[:2] == before
    assert [one.text for one in after] == ["a on round 2", "b on round 2", "third"]


@pytest.mark.req("C0-044")
@pytest.mark.parametrize("text", HARD_TEXTS)
@pytest.mark.parametrize("phase", ["COLLECT", "CHALLENGE"])
def test_a_text_is_kept_as_it_was_given(phase: str, text: str):
    state = answer(standing(phase, ["WAITING"]), "a", text).state
    state = advance(state, SOON).state
    entry = state.entries[0]
    assert entry.text == text
    assert entry.id == f"{1 if phase == 'COLLECT' else 2}-a"


@pytest.mark.parametrize(
    ("status", "kept"), [("responded", "RESPONDED"), ("agreed", "AGREED"), ("done", "DONE")]
)
def test_the_three_ways_to_answer(status: str, kept: str):
    state = answer(challenge(), "a", status=status).state
    assert state.participants["a"].status == kept
    assert state.entries[-1].status == kept


@pytest.mark.req("C0-080")
def test_blockers_are_taken_from_the_text_once_and_kept_with_it():
    state = answer(challenge(), "a", "BLOCKING: no budget\nfine\nBLOCKING: no time").state
    state = answer(state, "b", "BLOCKING: no budget").state
    assert state.blocking_issues == ["no budget", "no time"]
    assert [one.blocking for one in state.entries] == [["no budget", "no time"], ["no budget"]]


@pytest.mark.req("XC-014")
@pytest.mark.parametrize("phase", ["COLLECT", "CHALLENGE"])
@pytest.mark.parametrize("origin", [Origin.VERIFIED, Origin.CLAIMED])
def test_each_contribution_keeps_how_sure_we_are_of_its_author(phase: str, origin: Origin):
    step = answer(standing(phase, ["WAITING"]), "a", origin=origin)
    assert step.events[0].data["origin"] == origin
    assert advance(step.state, SOON).state.entries[0].origin is origin


def test_an_answer_ends_the_run_that_was_to_bring_it():
    state = convened("henry", "sage")
    first, second = wakes(state)
    state = task_started(state, first, driver="command", now=NOW, ends_at=None).state
    state = task_queued(state, second, driver="command", now=NOW).state
    state = all_answer(state)
    assert state.tasks[first.task].state is TaskState.D
    assert state.tasks[second.task].state is TaskState.X


@pytest.mark.req("C0-077")
@settings(max_examples=15)
@given(order=st.permutations([f"agent-{number}" for number in range(40)]))
@pytest.mark.parametrize("sealed", [True, False])
def test_forty_answers_in_any_order_are_forty_entries_each_once(sealed: bool, order: list[str]):
    state = convened(*sorted(order), sealed_phases=sealed)
    for agent in order:
        state = answer(state, agent).state
        assert answer(state, agent).outcome == "already-recorded"
    state = advance(state, SOON).state
    assert len(state.entries) == 40
    assert {one.id: one.text for one in state.entries} == {
        f"1-{agent}": f"{agent} on round 1" for agent in order
    }


# --- sealed ------------------------------------------------------------------------------------


@pytest.mark.req("C0-048")
@pytest.mark.parametrize("text", ["yes", "BLOCKING: a secret blocker"])
def test_in_a_blind_phase_only_a_salted_digest_shows(text: str):
    step = answer(convened(), "sage", text, nonce="salt", task="")
    state = step.state
    assert state.entries == []
    assert state.blocking_issues == []
    assert state.participants["sage"].sealed == sealed_digest("salt", text)
    assert [(one.agent, one.text, one.nonce, one.tour) for one in step.seal] == [
        ("sage", text, "salt", 1)
    ]
    assert text not in repr(step.events)


def test_the_seal_depends_on_the_salt_so_that_a_short_answer_cannot_be_guessed():
    assert sealed_digest("salt", "yes") == hashlib.sha256(b"salt\nyes").hexdigest()
    assert sealed_digest("salt", "yes") != sealed_digest("other", "yes")
    with pytest.raises(UsageError):
        answer(convened(), "sage", "yes", nonce="")


@pytest.mark.req("C0-048")
def test_an_opened_council_hides_nothing():
    step = answer(convened(sealed_phases=False), "sage", "yes")
    assert step.seal == []
    assert [one.text for one in step.state.entries] == ["yes"]


@pytest.mark.req("C0-074")
def test_nobody_can_agree_with_what_nobody_has_read():
    with pytest.raises(RefusedError):
        answer(convened(), "sage", status="agreed")
    assert answer(convened(sealed_phases=False), "sage", status="agreed").outcome == "recorded"


# --- again -------------------------------------------------------------------------------------


@pytest.mark.req("C0-042")
@pytest.mark.parametrize("phase", ["COLLECT", "CHALLENGE"])
@pytest.mark.parametrize("status", ["responded", "done"])
def test_the_same_text_again_is_success_and_changes_nothing(phase: str, status: str):
    state = answer(standing(phase, ["WAITING"] * 2), "a", "yes", status=status).state
    step = answer(state, "a", "yes", status=status, now=NOW + HOUR, nonce="other salt")
    assert (step.outcome, step.state, step.events, step.seal) == (
        "already-recorded",
        state,
        [],
        [],
    )


@pytest.mark.req("C0-042")
@pytest.mark.parametrize("phase", ["COLLECT", "CHALLENGE"])
@pytest.mark.parametrize("status", ["responded", "done"])
def test_another_text_after_an_answer_is_refused(phase: str, status: str):
    state = answer(standing(phase, ["WAITING"] * 2), "a", "yes", status=status).state
    with pytest.raises(AlreadyAnsweredError):
        answer(state, "a", "yes.", status=status)


@pytest.mark.req("C0-042")
def test_one_who_left_is_refused_in_every_later_round():
    state = answer(convened(), "sage", "bye", status="done").state
    state = advance(all_answer(state, "henry", "nova", "blaise"), SOON).state
    assert answer(state, "sage", "bye").outcome == "already-recorded"
    with pytest.raises(AlreadyAnsweredError):
        answer(state, "sage", "one more word")


def test_what_a_person_said_to_all_is_no_answer_of_the_agent_of_that_name():
    state = convened("henry", "sage")
    state.participants["sage"].status = ParticipantStatus.DONE
    state = inject(state, "Keep it short.", author="sage", now=NOW).state
    with pytest.raises(AlreadyAnsweredError):
        answer(state, "sage", "Keep it short.")
    state = advance(all_answer(state, "henry"), SOON).state
    late = answer(state, "sage", "Keep it short.", task=task_id(CONVERSATION_ID, 1, "sage", 1))
    assert late.outcome == "late"


# --- late --------------------------------------------------------------------------------------


def test_slow_answer_is_not_filed_under_the_next_phase():
    state = advance(all_answer(convened(), "henry", "nova", "blaise"), NOW + HOUR).state
    before = state.copy()
    step = answer(state, "sage", "slow", task=task_id(CONVERSATION_ID, 1, "sage", 1))
    assert step.outcome == "late"
    late = step.state.entries[-1]
    assert (late.kind, late.phase, late.tour, late.text) == (EntryKind.LATE, "COLLECT", 1, "slow")
    assert types_of(step) == ["contribution.late"]
    assert step.state.participants == before.participants, "sage still owes an answer"
    assert step.state.entries[:-1] == before.entries
    assert answer(step.state, "sage", "on time").outcome == "recorded"


def test_a_late_answer_raises_no_blocker_and_counts_once():
    state = advance(convened(), NOW + HOUR).state
    task = task_id(CONVERSATION_ID, 1, "sage", 1)
    state = answer(state, "sage", "BLOCKING: too late", task=task).state
    assert state.blocking_issues == []
    again = answer(state, "sage", "BLOCKING: too late", task=task)
    assert (again.outcome, again.state, again.events) == ("late", state, [])
    other = answer(state, "sage", "and another", task=task)
    assert [one.id for one in other.state.entries] == ["1-sage-late", "1-sage-late-2"]


def test_a_retry_of_an_answer_whose_round_has_closed_is_already_recorded():
    state = advance(all_answer(convened()), SOON).state
    step = answer(state, "sage", "sage on round 1", task=task_id(CONVERSATION_ID, 1, "sage", 1))
    assert (step.outcome, step.state) == ("already-recorded", state)


def test_after_the_end_everything_is_late():
    state = all_answer(challenge(), status="done")
    state = advance(advance(state, SOON).state, NOW + 3 * HOUR).state
    assert state.finished_at is not None
    assert answer(state, "a", "one more thing").outcome == "late"
    with pytest.raises(NotAParticipantError):
        answer(state, "stranger", "hello")


@pytest.mark.parametrize(
    "task",
    [
        "nonsense",
        task_id("11111111-2222-4333-8444-555555555555", 1, "sage", 1),
        task_id(CONVERSATION_ID, 2, "sage", 1),
        task_id(CONVERSATION_ID, 0, "sage", 1),
    ],
)
def test_a_task_that_was_never_given_is_refused(task: str):
    with pytest.raises(InvalidInputError):
        answer(convened(), "sage", task=task)


@pytest.mark.req("XC-014")
def test_a_task_of_somebody_else_is_refused():
    with pytest.raises(RefusedError):
        answer(convened(), "sage", task=task_id(CONVERSATION_ID, 1, "henry", 1))


# --- refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE"])
def test_a_stranger_is_refused_in_every_phase(phase: str):
    with pytest.raises(NotAParticipantError):
        answer(standing(phase, ["WAITING"] * 2), "stranger")


@pytest.mark.parametrize("text", ["", "  \n\t", "nul \x00 inside", "half \ud800 a pair"])
def test_a_text_that_cannot_be_kept_is_refused(text: str):
    state = challenge()
    with pytest.raises(InvalidInputError):
        respond(state, "a", text, now=NOW)
    with pytest.raises(InvalidInputError):
        inject(state, text, author="someone", now=NOW)


def test_an_unknown_status_is_wrong_usage():
    with pytest.raises(UsageError):
        answer(challenge(), "a", status="maybe")


@settings(max_examples=examples(200))
@given(
    phase=st.sampled_from(["COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE"]),
    agent=st.sampled_from(["a", "b", "stranger", ""]),
    text=st.text(st.characters(), max_size=12),
    status=st.sampled_from(["responded", "agreed", "done", "?"]),
    task=st.one_of(st.just(""), st.text(max_size=8), st.integers(0, 5).map(
        lambda tour: task_id(CONVERSATION_ID, tour, "a", 1)
    )),
)  # fmt: skip
def test_any_answer_is_taken_or_refused_with_a_reason(phase, agent, text, status, task):
    state = standing(phase, ["WAITING", "DONE"], coordinator="b")
    try:
        step = answer(state, agent, text or " ", status=status, task=task)
    except CouncilError as refusal:
        assert refusal.message
        assert refusal.hint
    else:
        assert step.outcome in ("recorded", "late")


# --- the synthesis -----------------------------------------------------------------------------


def in_synthesis(**fields: object) -> Conversation:
    return advance(standing("RESOLVE", ["RESPONDED"] * 3, **fields), SOON).state


@pytest.mark.req("C0-063")
def test_the_coordinating_agent_writes_the_synthesis():
    step = answer(in_synthesis(coordinator="maman"), "maman", "We build it.")
    entry = step.state.entries[-1]
    assert (entry.kind, entry.agent, entry.tour) == (EntryKind.SYNTHESIS, "maman", 4)
    assert types_of(step) == ["synthesis.written"]


@pytest.mark.req("C0-063")
def test_nobody_else_writes_the_synthesis_where_one_is_named():
    state = in_synthesis(coordinator="maman")
    with pytest.raises(NotYourTurnError) as refusal:
        answer(state, "a", "We build it.")
    assert "maman" in refusal.value.message


def test_a_participant_writes_the_synthesis_where_nobody_is_named():
    state = answer(in_synthesis(), "b", "We build it.").state
    assert state.entries[-1].agent == "b"
    assert state.participants["b"].status is ParticipantStatus.RESPONDED


@pytest.mark.req("C0-012", "C0-018")
def test_the_response_rate_follows_a_participant_who_writes_the_synthesis():
    state = answer(in_synthesis(), "b", "We build it.").state
    assert state.response_rate == round(1 / 3, 4)


@pytest.mark.req("C0-074")
def test_writing_the_synthesis_leaves_the_consensus_that_was_reached():
    state = all_answer(challenge(), status="agreed")
    state = answer(advance(state, SOON).state, "b", "We build it.").state
    assert state.has_consensus


@pytest.mark.req("C0-042")
def test_one_synthesis_stands_and_its_repeat_is_harmless():
    state = answer(in_synthesis(coordinator="maman"), "maman", "We build it.").state
    again = answer(state, "maman", "We build it.")
    assert (again.outcome, again.state, again.events) == ("already-recorded", state, [])
    with pytest.raises(AlreadyAnsweredError):
        answer(state, "maman", "We do not.")


# --- guidance ----------------------------------------------------------------------------------


def test_guidance_is_kept_beside_the_contributions_and_owes_nobody_anything():
    state = challenge()
    step = inject(state, "Think of the budget.", author="daniel", now=SOON, target="b")
    entry = step.state.entries[-1]
    assert (entry.kind, entry.agent, entry.target) == (EntryKind.INJECTION, "daniel", "b")
    assert entry.digest == text_digest("Think of the budget.")
    assert step.state.participants == state.participants
    assert types_of(step) == ["guidance.added"]


def test_two_guidances_of_one_person_have_two_ids():
    state = inject(challenge(), "one", author="daniel", now=NOW).state
    state = inject(state, "two", author="daniel", now=NOW).state
    assert len({one.id for one in state.entries}) == 2


@pytest.mark.parametrize("name", ["ada-injection", "ada-late", "ada-draft", "council"])
def test_whatever_agents_are_called_no_two_entries_have_one_id(name: str):
    state = convened("ada", name)
    state = inject(state, "Be brief.", author="ada", now=NOW).state
    for agent in ("ada", name):
        state = answer(state, agent).state
    state = advance(state, NOW).state
    state = answer(state, "ada", "Late.", task=task_id(state.conversation_id, 1, "ada", 1)).state
    state = advance(state, NOW + 9 * HOUR).state

    ids = [one.id for one in state.entries]
    assert len(ids) >= 4
    assert len(set(ids)) == len(ids)


def test_guidance_to_one_who_does_not_take_part_is_refused():
    with pytest.raises(NotAParticipantError):
        inject(challenge(), "hello", author="daniel", now=NOW, target="stranger")


# the words of the last round


def second_round() -> Conversation:
    state = convened("a", "b", sealed_phases=False)
    for agent in "ab":
        state = answer(state, agent, f"said by {agent}").state
    return advance(state, NOW + MINUTE).state


@pytest.mark.req("OP-008")
def test_the_words_of_the_last_round_stand_there_and_are_no_answer_to_this_one():
    state = second_round()

    step = answer(state, "a", "said by a")

    assert (state.tour, step.outcome) == (2, "already-recorded")
    assert step.state.entry_of("a", 2) is None


@pytest.mark.req("OP-008")
@pytest.mark.parametrize(
    "meant",
    [{"task": f"{CONVERSATION_ID}.2.a.1"}, {"anew": True}, {"status": "agreed"}],
    ids=["by its task", "anew", "with another status"],
)
def test_the_same_words_count_again_where_this_round_is_meant(meant: dict[str, object]):
    step = answer(second_round(), "a", "said by a", **meant)

    assert step.outcome == "recorded"
    assert step.state.entry_of("a", 2).text == "said by a"


@pytest.mark.req("OP-008")
def test_a_position_may_be_held_in_the_same_words_in_the_next_structured_round():
    debate = Debate("a", "b")
    for agent, peer in ("ab", "ba", "ba", "ab"):  # the order rotates
        debate.turn(agent, f"Position of {agent}.", **{peer: "disagree"})

    said = [(one.agent, one.tour) for one in debate.state.entries if one.kind == "contribution"]
    assert {("a", 1), ("b", 1), ("a", 2)} <= {*said}
