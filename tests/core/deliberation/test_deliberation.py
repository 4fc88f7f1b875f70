"""Deliberations as the machine plays them: turns, second asking, ends of rounds, failures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from council.core.conversations.answers import inject, respond
from council.core.conversations.conversation import (
    ClosedReason,
    Conversation,
    EntryKind,
    Participant,
    ParticipantStatus,
    Status,
    Step,
    TaskState,
)
from council.core.conversations.due import (
    due_agents,
    order_now,
    speaking_order,
    synthesizers,
    takes_turns,
)
from council.core.conversations.machine import advance
from council.core.conversations.procedures import Rules
from council.core.conversations.steering import pause, resume, stop, wind_up
from council.core.conversations.tasks import task_failed, task_queued, task_started
from council.core.deliberation.deliberation import dominating, history
from council.core.errors import AlreadyAnsweredError, NotYourTurnError, RefusedError
from council.core.ids import task_id
from council.core.reading_answers.rendering import render_turn
from council.core.reading_answers.turns import Response
from council.core.reasons import TIMEOUT, said
from tests.core.conversations.samples import (
    CONVERSATION_ID,
    HOUR,
    MINUTE,
    NOW,
    convened,
    types_of,
    wakes,
    woken,
)

SECOND = timedelta(seconds=1)
GARBAGE = "A fine plan, @claude, @gpt and @glm. Consensus! AGREED."


def debate(*agents: str, rules: Mapping[str, object] | None = None, **fields: object):
    """Return a deliberation that has just begun, of `agents` or the three of the document."""
    given = {
        "procedure": "deliberation",
        "phases": ("DELIBERATE", "VOTE", "SYNTHESIZE"),
        "phase": "DELIBERATE",
        "sealed_phases": False,
        "rules": Rules(**{"stability": False, **(rules or {})}),
    }
    return convened(*agents or ("claude", "gpt", "glm"), **{**given, **fields})


def form(
    stances: Mapping[str, str] | None = None,
    position: str = "Build it.",
    *,
    reasoning: str = "One reason.",
    vote: bool = False,
) -> str:
    """Return the text of a turn or of a vote."""
    said = [Response(agent=agent, stance=stance) for agent, stance in (stances or {}).items()]
    return render_turn(
        position=position, responses=said, reasoning=reasoning, confidence=4, vote=vote
    )


def ballot(stances: Mapping[str, str]) -> str:
    return form(stances, reasoning="", vote=True)


def say(
    state: Conversation, agent: str, text: str, now: datetime = NOW + MINUTE, **more: object
) -> Step:
    """Let an agent answer and take the steps that are due then, as every command does."""
    given = {"nonce": f"salt-{agent}", **more}
    step = respond(state, agent, text, now=now, **given)
    return step.then(advance(step.state, now))


def speaks(
    state: Conversation, stance: str = "partial", now: datetime = NOW + MINUTE, **more: object
) -> Conversation:
    """Let the first who is to answer take a complete turn with `stance` to all others."""
    agent = due_agents(state)[0]
    words = {
        "position": f"{agent} wants {state.tour}.",
        "reasoning": f"{agent} {state.tour}: " + " ".join(f"w{state.tour}{n}" for n in range(9)),
        **more,
    }
    others = {one: stance for one in state.participants if one != agent}
    return say(state, agent, form(others, **words), now=now).state


def round_of(state: Conversation, stance: str = "partial", **more: object) -> Conversation:
    tour = state.tour
    while state.tour == tour:
        state = speaks(state, stance, **more)
    return state


def say_stances(state: Conversation, agent: str, stances: Mapping[str, str]) -> Conversation:
    """Let an agent take a turn whose reasoning is new each round."""
    reasoning = f"{agent} {state.tour}: " + " ".join(f"w{state.tour}{n}" for n in range(9))
    return say(state, agent, form(stances, reasoning=reasoning)).state


def fails(state: Conversation, agent: str, times: int, now: datetime = NOW, **how: object):
    """Let `times` runs of `agent` fail one after the other."""
    for _ in range(times):
        now += 2 * MINUTE
        wake = next(one for one in wakes(state, now) if one.agent == agent)
        state = task_started(state, wake, driver="command", now=now, ends_at=now + HOUR).state
        state = task_failed(state, wake.task, said("exit code 1"), now=now, **how).state
    return advance(state, now).state


def reasons(state: Conversation) -> list[tuple[str, str]]:
    """Return phase and reason of each closed round."""
    return [(one.phase, one.reason) for one in state.rounds if one.ended_at is not None]


def kinds_of(state: Conversation, agent: str) -> list[str]:
    return [str(one.kind) for one in state.entries if one.agent == agent]


# --- the floor ---------------------------------------------------------------------------------


@pytest.mark.req("DL-021", "XC-104")
def test_rounds_start_one_place_later_each_time_and_one_speaks_after_the_other():
    state = debate(rules={"max_rounds": 4})
    spoken = []
    for _ in range(12):
        assert len(woken(state)) == 1
        spoken += woken(state)
        state = speaks(state)

    assert " ".join(spoken) == "claude gpt glm gpt glm claude glm claude gpt claude gpt glm"
    assert state.phase == "VOTE"


@pytest.mark.req("DL-021")
def test_who_speaks_out_of_turn_is_refused_and_nothing_changes():
    state = debate()

    with pytest.raises(NotYourTurnError, match="gpt"):
        respond(state, "gpt", form(), now=NOW)

    assert say(state, "claude", form()).state.rounds[-1].speaker == "gpt"


@pytest.mark.req("DL-081")
def test_answer_at_the_last_moment_takes_no_time_from_the_next_speaker():
    late = NOW + HOUR + MINUTE

    step = say(debate(), "claude", form(), now=late)

    assert "turn.missed" not in types_of(step)
    assert step.state.rounds[-1].absent == {}
    assert (step.state.rounds[-1].speaker, step.state.rounds[-1].turn_at) == ("gpt", late)
    assert step.state.timeout_at == late + HOUR


@pytest.mark.req("DL-021")
def test_one_who_joins_takes_the_floor_from_nobody():
    state = debate(rules={"max_rounds": 3})
    state = round_of(state)
    state = speaks(speaks(state))
    assert due_agents(state) == ("claude",), "the last of the second round has the floor"

    joined = state.copy()
    joined.participants["nova"] = Participant(id="nova")

    assert speaking_order(joined).index("nova") < speaking_order(joined).index("claude")
    assert due_agents(advance(joined, NOW + MINUTE).state) == ("claude",)
    then = say(joined, "claude", form({"gpt": "agree", "glm": "agree"})).state
    assert due_agents(then) == ("nova",)


@pytest.mark.req("DL-021", "DL-081")
def test_one_who_was_passed_over_and_is_asked_again_takes_the_floor_from_nobody():
    state = advance(debate(), NOW + HOUR).state
    assert due_agents(state) == ("gpt",)

    step = say(state, "claude", GARBAGE, now=NOW + HOUR + MINUTE)

    assert step.state.participants["claude"].again == 1
    assert due_agents(step.state) == ("gpt",)
    then = say(step.state, "gpt", form({"claude": "agree"}), now=NOW + HOUR + 2 * MINUTE).state
    assert due_agents(then) == ("claude",)


@pytest.mark.req("XC-104")
def test_order_drawn_by_lot_stays_while_the_round_is_open_and_repeats_nobody():
    """Neither guidance nor late answers to the last round move the order of this one."""
    for number in range(40):
        state = debate("a", "b", "c", order="shuffle", conversation_id=f"{number}")
        state = inject(state, "Be brief.", author="ann", now=NOW).state
        last = speaking_order(state)[-1]
        for _ in range(3):
            state = speaks(state)
        state = inject(state, "Briefer.", author="ann", now=NOW).state
        order = speaking_order(state)
        late = respond(state, order[0], "Too late.", now=NOW, task=f"{number}.1.{order[0]}.1").state
        assert late.entries[-1].kind is EntryKind.LATE
        assert speaking_order(late) == order
        assert order[0] != last, "the last speaker of a round is never the first of the next"


@pytest.mark.req("XC-104")
@pytest.mark.parametrize(
    ("order", "spoken"),
    [
        ("fixed", ["a", "b", "c", "a", "b", "c"]),
        ("rotate", ["a", "b", "c", "b", "c", "a"]),
        ("parallel", ["a", "b", "c", "a", "b", "c"]),
    ],
)
def test_each_order_of_speaking_is_had_by_name_in_a_council(order, spoken):
    state = convened(*"abc", order=order, sealed_phases=False)
    heard = []
    for _ in range(6):
        assert takes_turns(state) is (order != "parallel")
        assert woken(state) == list(due_agents(state))
        assert len(woken(state)) == 1 or order == "parallel"
        agent = due_agents(state)[0]
        heard.append(agent)
        state = say(state, agent, f"{agent} {state.tour}").state
    assert heard == spoken
    assert state.phase == "RESOLVE"


@pytest.mark.req("XC-104")
def test_order_by_lot_in_a_council_follows_from_conversation_and_round():
    state = convened(*"abcdef", order="shuffle", sealed_phases=False)
    twin = convened(*"abcdef", order="shuffle", sealed_phases=False)
    orders = []
    for _ in range(3):
        orders.append(speaking_order(state))
        assert speaking_order(twin) == orders[-1]
        for agent in orders[-1]:
            assert due_agents(state) == (agent,)
            state = say(state, agent, f"{agent} {state.tour}").state
            twin = say(twin, agent, f"{agent} {twin.tour}").state
    assert len(set(orders)) > 1
    other = convened(*"abcdef", order="shuffle", sealed_phases=False, conversation_id="x")
    assert speaking_order(other) != orders[0]


@pytest.mark.req("XC-104", "DL-097")
def test_what_is_sealed_is_said_at_once_whatever_the_order():
    state = debate(sealed_phases=True, order="fixed", rules={"max_rounds": 3})

    assert order_now(state) == "parallel"
    assert woken(state) == ["claude", "gpt", "glm"]
    state = round_of(state)
    assert order_now(state) == "fixed"
    assert woken(state) == ["claude"]


# --- asked once more ---------------------------------------------------------------------------


@pytest.mark.req("DL-013", "DL-015", "DL-047")
@pytest.mark.parametrize("sealed", [False, True])
def test_answer_without_the_form_is_kept_and_asked_for_once_more_and_aborts_nothing(sealed):
    state = debate(sealed_phases=sealed)

    step = say(state, "claude", GARBAGE)
    asked = step.state
    assert step.events[0].data["askedAgain"] is True
    assert [one["code"] for one in step.faults][:1] == ["no-form"]
    assert ("faults" in step.events[0].data) is not sealed, "others read the events"
    assert "claude" in woken(asked), "the same agent is asked again"
    assert sealed or due_agents(asked) == ("claude",)

    again = say(asked, "claude", GARBAGE + " Again.", nonce="another").state
    assert again.participants["claude"].again == 0
    with pytest.raises(AlreadyAnsweredError):
        respond(again, "claude", form(), now=NOW, nonce="third")
    for agent in ("gpt", "glm"):
        again = say(again, agent, form({"claude": "agree", "gpt": "agree", "glm": "agree"})).state
    assert again.tour == 2
    assert kinds_of(again, "claude") == ["draft", "contribution"]
    assert again.rounds[0].verdict["towards"]["claude"] == "absent"


@pytest.mark.req("DL-013")
def test_good_answer_to_the_second_asking_takes_the_place_of_the_first():
    state = say(debate(), "claude", GARBAGE).state
    text = form(position="Ship it.")

    before = state
    state = say(state, "claude", text).state

    assert kinds_of(state, "claude") == ["draft", "contribution"]
    assert kinds_of(before, "claude") == ["contribution"], "a rule changes no state it is given"
    assert state.entry_of("claude", 1).text == text
    assert due_agents(state) == ("gpt",)


@pytest.mark.req("DL-015")
def test_missing_response_is_asked_for_twice_and_then_stored_with_the_gap():
    state = say(debate(), "claude", form()).state
    state = say(state, "gpt", form({"claude": "agree"})).state

    first = say(state, "glm", form({"claude": "agree"}))
    faults = first.events[0].data["faults"]
    assert faults == [{"code": "missing-response", "agent": "gpt", "found": ""}]
    assert due_agents(first.state) == ("glm",)
    second = say(first.state, "glm", form({"claude": "agree"}, position="I insist."))

    assert second.events[0].data["faults"] == faults
    assert second.events[0].data["askedAgain"] is True, "for the stance alone"
    third = say(second.state, "glm", "I have said it.")

    assert third.events[0].data["faults"] == faults
    assert third.events[0].data["askedAgain"] is False
    assert third.state.tour == 2
    assert third.state.entry_of("glm", 1).text == "I have said it."
    (turn,) = [one.turns["glm"] for one in history(third.state) if "glm" in one.turns]
    assert (turn.position, turn.stance_to("claude")) == ("I insist.", "agree")


@pytest.mark.req("HR-008", "HR-009")
def test_what_is_missing_but_stances_is_asked_for_once():
    state = say(debate(), "claude", form().replace("## Confidence", "## Certainty")).state
    assert due_agents(state) == ("claude",)
    state = say(state, "claude", "It depends.").state

    assert due_agents(state) == ("gpt",)


@pytest.mark.req("DL-015")
def test_nobody_owes_a_response_to_who_has_not_spoken_yet_or_cannot_be_seen():
    assert say(debate(), "claude", form()).events[0].data["faults"] == []
    sealed = say(debate(sealed_phases=True), "claude", form()).state
    assert say(sealed, "gpt", form()).faults == []


@pytest.mark.req("DL-013", "DL-087")
@pytest.mark.parametrize("sealed", [False, True])
def test_run_that_answers_the_second_asking_with_the_same_words_has_answered(sealed):
    state = debate(sealed_phases=sealed)
    for attempt in (1, 2):
        wake = next(one for one in wakes(state, NOW + MINUTE) if one.agent == "claude")
        assert wake.attempt == attempt
        claimed = task_started(state, wake, driver="command", now=NOW, ends_at=NOW + HOUR).state
        state = say(claimed, "claude", GARBAGE, task=wake.task, nonce=f"salt-{attempt}").state

    assert state.tasks[wake.task].state is TaskState.D
    assert state.participants["claude"].again == 0
    assert "claude" not in due_agents(state)
    said = [state.sealed["claude"].text] if sealed else [one.text for one in state.entries]
    assert said == [GARBAGE]


@pytest.mark.req("DL-087")
@pytest.mark.parametrize("sealed", [False, True])
def test_first_answer_sent_twice_is_a_repeat_also_when_another_one_was_asked_for(sealed):
    task = task_id(CONVERSATION_ID, 1, "claude", 1)
    state = say(debate(sealed_phases=sealed), "claude", GARBAGE, task=task).state
    step = respond(state, "claude", GARBAGE, now=NOW, nonce="n", task=task)
    assert (step.outcome, step.state) == ("already-recorded", state)

    after = say(state, "claude", form(), nonce="other").state
    step = respond(after, "claude", GARBAGE, now=NOW, nonce="n")
    assert (step.outcome, step.state) == ("already-recorded", after)

    for agent in ("gpt", "glm"):
        after = say(after, agent, form({"claude": "agree", "gpt": "agree"})).state
    assert after.tour == 2
    late = respond(after, "claude", GARBAGE, now=NOW, task=task)
    assert (late.outcome, late.state) == ("already-recorded", after)


@pytest.mark.req("DL-013", "DL-081")
def test_who_does_not_answer_the_second_asking_stands_with_the_first():
    state = say(debate(), "claude", GARBAGE).state

    step = advance(state, NOW + HOUR)

    assert types_of(step) == ["turn.incomplete", "turn.started"]
    assert step.state.rounds[-1].absent == {}
    assert kinds_of(step.state, "claude") == ["contribution"]
    assert due_agents(step.state) == ("gpt",)


@pytest.mark.req("DL-013")
def test_who_leaves_is_not_asked_again():
    state = say(debate(), "claude", GARBAGE, status="done").state

    assert due_agents(state) == ("gpt",)
    assert state.participants["claude"].status is ParticipantStatus.DONE


@pytest.mark.req("DL-014", "DL-047")
def test_agreement_as_a_status_is_refused_where_it_is_a_stance():
    with pytest.raises(RefusedError, match="stance"):
        respond(debate(), "claude", form(), now=NOW, status="agreed")


# --- domination ------------------------------------------------------------------------------


@pytest.mark.req("DL-083")
def test_who_says_more_than_half_again_its_share_dominates_from_round_two_on():
    state = debate(rules={"max_rounds": 5})
    long = " ".join(f"word{number}" for number in range(200))
    state = say(state, "claude", form(reasoning=long)).state
    assert dominating(state) == ()
    state = say(state, "gpt", form({"claude": "partial"})).state
    state = say(state, "glm", form({"claude": "partial", "gpt": "agree"})).state

    assert state.tour == 2
    assert dominating(state) == ("claude",)


# --- when the rounds end -----------------------------------------------------------------------


@pytest.mark.req("DL-023", "DL-024", "DL-047")
def test_strong_consensus_ends_the_rounds_after_a_whole_round_only():
    state = debate()
    state = say(state, "claude", form({"gpt": "agree", "glm": "agree"})).state
    state = say(state, "gpt", form({"claude": "agree", "glm": "agree"})).state
    assert (state.phase, state.tour) == ("DELIBERATE", 1)

    step = say(state, "glm", form({"claude": "agree", "gpt": "agree"}))

    assert (step.state.phase, step.state.tour) == ("VOTE", 2)
    assert reasons(step.state) == [("DELIBERATE", "consensus")]
    assert types_of(step).count("consensus.checked") == 1


@pytest.mark.req("DL-022", "DL-023")
def test_five_rounds_are_the_most_unless_said_otherwise():
    state = debate()
    while state.phase == "DELIBERATE":
        state = round_of(state, "disagree")

    assert [one.phase for one in state.rounds] == ["DELIBERATE"] * 5 + ["VOTE"]
    assert state.rounds[4].reason == "max-rounds"


@pytest.mark.req("DL-023", "DL-025")
@pytest.mark.parametrize("paused", [False, True])
def test_stop_ends_the_rounds_and_leads_to_the_vote_then_to_the_synthesis(paused):
    state = speaks(debate())
    if paused:
        state = pause(state, NOW + MINUTE).state

    stopped = stop(state, NOW + 2 * MINUTE)

    assert stopped.state.phase == "VOTE"
    assert reasons(stopped.state) == [("DELIBERATE", "stopped")]
    assert woken(stopped.state, NOW + 2 * MINUTE) == ["claude", "gpt", "glm"]
    assert advance(stopped.state, NOW + 3 * MINUTE).state.phase == "VOTE"
    assert stop(stopped.state, NOW + 3 * MINUTE).state.phase == "SYNTHESIZE"


@pytest.mark.req("DL-023", "DL-025")
@pytest.mark.parametrize("status", [Status.CONVERGED, Status.TIMEOUT])
def test_status_set_by_hand_ends_the_rounds_and_the_vote_is_still_held(status):
    state = speaks(debate())
    state.status = status

    state = advance(state, NOW + 2 * MINUTE).state
    assert reasons(state) == [("DELIBERATE", "stopped")]
    state = advance(state, NOW + 3 * MINUTE).state
    assert state.phase == "VOTE", "who is asked for a vote has the time to give it"

    for agent in ("claude", "gpt", "glm"):
        votes = {one: "agree" for one in state.participants if one != agent}
        state = say(state, agent, ballot(votes), now=NOW + 4 * MINUTE).state
    assert state.phase == "SYNTHESIZE"
    assert (state.status, state.closed_reason) == (Status.CONVERGED, ClosedReason.CONSENSUS)


@pytest.mark.req("DL-023", "C0-036")
def test_status_set_by_hand_during_the_vote_ends_it():
    state = stop(debate(), NOW).state
    state.status = Status.TIMEOUT

    state = advance(state, NOW + MINUTE).state

    assert (state.phase, state.status) == ("SYNTHESIZE", Status.TIMEOUT)


@pytest.mark.req("DL-088")
def test_round_in_which_fewer_than_two_spoke_leads_to_the_vote():
    state = debate()
    for _ in range(2):
        state = advance(state, state.timeout_at).state
    state = say(state, "glm", form(), now=state.timeout_at - SECOND).state

    assert state.phase == "VOTE"
    assert reasons(state) == [("DELIBERATE", "too-few")]
    assert state.rounds[0].absent == {"claude": TIMEOUT, "gpt": TIMEOUT}


@pytest.mark.req("DL-088")
def test_no_round_is_opened_for_one_who_is_left_alone():
    state = debate()
    state = say(state, "claude", form(), status="done").state
    state = say(state, "gpt", form({"claude": "partial"}), status="done").state
    state = say(state, "glm", form({"claude": "partial", "gpt": "partial"})).state

    assert state.phase == "VOTE"
    assert reasons(state) == [("DELIBERATE", "too-few")]


@pytest.mark.req("DL-099")
def test_same_stances_in_two_rounds_running_lead_to_the_vote():
    state = debate(order="parallel", rules={"stability": True})
    mine = {
        "claude": {"gpt": "disagree", "glm": "agree"},
        "gpt": {"claude": "partial", "glm": "agree"},
        "glm": {"claude": "agree", "gpt": "disagree"},
    }
    for tour in (1, 2):
        assert (state.phase, state.tour) == ("DELIBERATE", tour)
        for agent, stances in mine.items():
            state = say_stances(state, agent, stances)

    assert (state.phase, state.tour) == ("VOTE", 3)
    assert reasons(state)[-1] == ("DELIBERATE", "stable")


@pytest.mark.req("DL-099")
def test_stance_that_moves_keeps_the_rounds_going_and_so_does_the_option():
    for stability, last in ((True, "partial"), (False, "disagree")):
        state = debate(order="parallel", rules={"stability": stability})
        for stance in ("disagree", last):
            for agent in ("claude", "gpt", "glm"):
                others = {one: "disagree" for one in state.participants if one != agent}
                if agent == "glm":
                    others["claude"] = stance
                state = say_stances(state, agent, others)
        assert (state.phase, state.tour) == ("DELIBERATE", 3)


@pytest.mark.req("DL-082")
def test_answers_repeated_in_a_third_round_force_the_vote_and_in_a_second_do_not():
    state = debate(rules={"max_rounds": 5})
    reasoning = " ".join(f"because{number}" for number in range(20))
    turns = 0
    while state.phase == "DELIBERATE":
        stance = ("disagree", "partial", "disagree")[state.tour % 3]
        state = speaks(state, stance, reasoning=reasoning)
        turns += 1

    assert turns == 9
    assert reasons(state)[-1] == ("DELIBERATE", "repetition")


@pytest.mark.req("DL-023")
def test_early_end_at_a_soft_consensus_is_a_choice():
    for early, phase in (("soft", "VOTE"), ("strong", "DELIBERATE")):
        state = debate(order="parallel", rules={"early_stop": early})
        for agent, stances in {
            "claude": {"gpt": "agree", "glm": "partial"},
            "gpt": {"claude": "agree", "glm": "agree"},
            "glm": {"claude": "partial", "gpt": "partial"},
        }.items():
            state = say(state, agent, form(stances)).state
        assert state.rounds[0].verdict["type"] == "soft"
        assert state.phase == phase


@pytest.mark.req("DL-084", "DL-025", "DL-026")
def test_deadlock_goes_through_the_vote_to_a_synthesis_without_consensus():
    state = round_of(debate(rules={"max_rounds": 1}), "disagree")
    for agent in ("claude", "gpt", "glm"):
        votes = {one: "disagree" for one in state.participants if one != agent}
        state = say(state, agent, ballot(votes)).state

    assert state.phase == "SYNTHESIZE"
    assert state.rounds[1].verdict["type"] == "none"
    assert state.has_consensus is False
    assert state.closed_reason is ClosedReason.PHASES_EXHAUSTED


@pytest.mark.req("DL-047", "DL-025")
def test_vote_is_judged_by_the_same_rule_and_may_undo_what_the_rounds_found():
    state = round_of(debate(), "agree")
    assert (state.phase, state.has_consensus) == ("VOTE", True)
    for agent in ("claude", "gpt", "glm"):
        votes = {one: "disagree" for one in state.participants if one != agent}
        state = say(state, agent, ballot(votes)).state

    assert (state.phase, state.has_consensus) == ("SYNTHESIZE", False)
    assert state.closed_reason is ClosedReason.PHASES_EXHAUSTED


@pytest.mark.req("DL-095")
def test_stance_of_the_advocate_prevents_no_consensus_and_makes_none():
    for advocate, expected in (("glm", "strong"), ("", "soft")):
        state = debate(rules={"advocate": advocate})
        state = say(state, "claude", form({"gpt": "agree"})).state
        state = say(state, "gpt", form({"claude": "agree"})).state
        state = say(state, "glm", form({"claude": "disagree", "gpt": "disagree"})).state
        assert state.rounds[0].verdict["type"] == expected

    alone = debate(rules={"advocate": "glm"})
    alone = say(alone, "claude", form({"gpt": "disagree"})).state
    alone = say(alone, "gpt", form({"claude": "disagree"})).state
    alone = say(alone, "glm", form({"claude": "agree", "gpt": "agree"})).state
    assert alone.rounds[0].verdict["type"] == "none"


@pytest.mark.req("DL-024")
@pytest.mark.parametrize("how", ["time", "stop"])
def test_no_further_round_starts_once_the_rounds_have_ended(how):
    state = debate(ends_at=NOW + HOUR / 2)
    state = round_of(state, "disagree")
    state = (
        advance(state, NOW + HOUR / 2) if how == "time" else stop(state, NOW + 2 * MINUTE)
    ).state
    for hours in range(1, 12):
        state = advance(state, NOW + hours * HOUR).state

    assert [one.phase for one in state.rounds].count("DELIBERATE") == 2
    assert state.finished_at is not None


# --- who cannot be had -------------------------------------------------------------------------


@pytest.mark.req("DL-081", "XC-105")
def test_turn_that_times_out_is_skipped_with_a_note_and_not_tried_again():
    state = debate()
    (wake,) = wakes(state)
    state = task_started(state, wake, driver="command", now=NOW, ends_at=NOW + HOUR).state
    state = task_failed(state, wake.task, said("timed out"), now=NOW + MINUTE, final=True).state

    step = advance(state, NOW + MINUTE)

    assert types_of(step) == ["turn.missed", "turn.started"]
    assert step.state.rounds[-1].absent == {"claude": said("timed out")}
    assert woken(step.state, NOW + HOUR) == ["gpt"]


@pytest.mark.req("DL-086", "XC-105")
def test_failing_model_is_tried_twice_more_then_skipped_with_the_reason():
    state = fails(debate(), "claude", 2)
    assert due_agents(state) == ("claude",)
    assert woken(state, NOW + HOUR / 2) == ["claude"]

    state = fails(state, "claude", 1, now=NOW + 6 * MINUTE)

    assert len(state.tasks) == 3
    assert state.rounds[-1].absent == {"claude": said("exit code 1")}
    assert due_agents(state) == ("gpt",)


@pytest.mark.req("DL-086")
def test_two_failures_and_a_success_are_a_turn():
    state = fails(debate(), "claude", 2)
    wake = wakes(state, NOW + HOUR / 2)[0]
    assert wake.attempt == 3
    state = task_started(
        state, wake, driver="command", now=NOW + 6 * MINUTE, ends_at=NOW + HOUR
    ).state

    state = say(state, "claude", form(), task=wake.task, now=NOW + 7 * MINUTE).state

    assert state.rounds[-1].absent == {}
    assert due_agents(state) == ("gpt",)


@pytest.mark.req("DL-086", "DL-013")
def test_who_is_asked_again_is_asked_at_once_whatever_failed_before():
    state = fails(debate(), "claude", 1)
    (wake,) = wakes(state, NOW + 10 * MINUTE)
    at = NOW + 10 * MINUTE
    state = task_started(state, wake, driver="command", now=at, ends_at=at + HOUR).state
    state = say(state, "claude", GARBAGE, task=wake.task, now=at + SECOND).state

    assert [one.agent for one in wakes(state, at + SECOND)] == ["claude"]


@pytest.mark.req("XC-105", "C0-072")
def test_phase_of_a_council_goes_on_without_who_failed_for_good():
    state = fails(convened("a", "b"), "a", 3)
    assert state.phase == "COLLECT", "b can still answer"

    state = say(state, "b", "Yes.").state

    assert state.phase == "CHALLENGE"
    assert state.rounds[0].absent == {"a": said("exit code 1")}


@pytest.mark.req("DL-086", "DL-088")
def test_all_models_fail_and_it_ends_without_waiting_and_without_a_verdict():
    state = debate()
    now = NOW
    while state.finished_at is None:
        now += 2 * MINUTE
        for wake in wakes(state, now):
            state = task_started(state, wake, driver="command", now=now, ends_at=now + HOUR).state
            state = task_failed(state, wake.task, said("exit code 1"), now=now).state
        state = advance(state, now).state
        assert now < NOW + 2 * HOUR

    assert state.status is Status.TIMEOUT
    assert [one.verdict["type"] for one in state.rounds[:2]] == ["none", "none"]
    assert state.entries[-1].agent == "council", "the digest stands in"


@pytest.mark.req("DL-081", "DL-087")
def test_late_turn_counts_while_its_round_is_open_and_is_kept_apart_after_it():
    state = advance(debate(), NOW + HOUR).state
    assert state.rounds[-1].absent == {"claude": TIMEOUT}

    heard = say(state, "claude", form(), now=NOW + HOUR + MINUTE).state
    assert heard.rounds[-1].absent == {}
    assert due_agents(heard) == ("gpt",)

    now = NOW + HOUR
    for agent in ("gpt", "glm"):
        now += MINUTE
        state = say(state, agent, form({"gpt": "disagree"}), now=now).state
    assert state.tour == 2
    entries = len(state.entries)
    with pytest.raises(NotYourTurnError):
        respond(state, "claude", form(), now=now)
    task = task_id(CONVERSATION_ID, 1, "claude", 1)
    late = respond(state, "claude", form(), now=now, task=task)
    assert late.outcome == "late"
    assert late.state.entries[entries:][0].kind is EntryKind.LATE
    assert late.state.entry_of("claude", 2) is None
    assert due_agents(late.state) == due_agents(state)


@pytest.mark.req("DL-087")
def test_other_text_is_refused_and_the_same_text_again_is_success():
    state = say(debate(), "claude", form()).state

    with pytest.raises(AlreadyAnsweredError):
        respond(state, "claude", form(position="No, wait."), now=NOW)
    again = respond(state, "claude", form(), now=NOW)

    assert (again.outcome, again.state) == ("already-recorded", state)


@pytest.mark.req("DL-081", "XC-016")
def test_who_waits_for_a_place_has_its_whole_turn_when_it_gets_one():
    state = debate()
    (wake,) = wakes(state)
    state = task_queued(state, wake, driver="command", now=NOW).state
    late = NOW + 3 * HOUR
    assert due_agents(advance(state, late).state) == ("claude",)

    state = task_started(state, wake, driver="command", now=late, ends_at=late + HOUR).state

    assert state.timeout_at == late + HOUR
    assert due_agents(advance(state, late + HOUR - SECOND).state) == ("claude",)


@pytest.mark.req("DL-081")
def test_pause_takes_no_time_from_who_has_the_floor():
    state = pause(debate(), NOW + MINUTE).state
    assert advance(state, NOW + 5 * HOUR).events == []

    state = resume(state, NOW + 5 * HOUR).state

    assert due_agents(advance(state, NOW + 5 * HOUR + 58 * MINUTE).state) == ("claude",)
    assert due_agents(advance(state, NOW + 5 * HOUR + 59 * MINUTE).state) == ("gpt",)


@pytest.mark.req("DL-081")
def test_answer_given_during_a_pause_leaves_the_next_its_whole_time():
    state = pause(debate(), NOW + 59 * MINUTE).state
    state = say(state, "claude", form(), now=NOW + 2 * HOUR).state

    step = resume(state, NOW + 3 * HOUR)
    step = step.then(advance(step.state, NOW + 4 * HOUR))

    assert step.state.rounds[-1].absent == {}
    assert due_agents(step.state) == ("gpt",)


# --- the synthesis -----------------------------------------------------------------------------


def at_synthesis(**more: object) -> Conversation:
    state = round_of(debate(rules={"max_rounds": 1}, **more), "agree")
    for agent in ("claude", "gpt", "glm"):
        votes = {one: "agree" for one in state.participants if one != agent}
        state = say(state, agent, ballot(votes)).state
    return state


@pytest.mark.req("DL-005")
def test_synthesizer_is_the_one_who_is_named():
    assert due_agents(at_synthesis(synthesizer="glm")) == ("glm",)


@pytest.mark.req("DL-005")
def test_synthesis_falls_to_the_first_who_spoke_where_nobody_is_named():
    assert due_agents(at_synthesis()) == ("claude",)


@pytest.mark.req("DL-005", "DL-095")
def test_mediator_who_does_not_take_part_can_sum_up_and_hands_on_when_it_fails():
    state = at_synthesis(synthesizer="judge")
    assert due_agents(state) == ("judge",)
    written = respond(state, "judge", "## Recommendation\nShip.", now=NOW + MINUTE)
    assert written.outcome == "recorded"

    failed = fails(state, "judge", 3)
    assert due_agents(failed) == ("claude",)
    late = advance(state, state.timeout_at)
    assert synthesizers(late.state)[:1] == ("claude",)
    assert types_of(late) == ["turn.missed"]


@pytest.mark.req("DL-005")
def test_synthesis_is_asked_of_one_after_the_other_and_then_made_by_rule():
    state = at_synthesis(synthesizer="glm")
    asked = []
    while state.finished_at is None:
        asked += due_agents(state)
        state = advance(state, state.timeout_at).state

    assert asked == ["glm", "claude", "gpt"]
    assert state.entries[-1].agent == "council"


@pytest.mark.req("DL-005")
def test_each_who_is_handed_the_synthesis_has_the_whole_time_for_it():
    state = at_synthesis(synthesizer="judge")
    near = state.timeout_at - 10 * MINUTE

    state = fails(state, "judge", 3, now=near - 2 * MINUTE)

    assert due_agents(state) == ("claude",)
    assert due_agents(advance(state, near + 30 * MINUTE).state) == ("claude",)


@pytest.mark.req("DL-023", "DL-047", "C0-063")
@pytest.mark.parametrize("phase", ["DELIBERATE", "VOTE", "SYNTHESIZE"])
def test_winding_up_ends_it_at_once_with_a_digest_and_holds_no_empty_vote(phase):
    state = speaks(debate())
    if phase != "DELIBERATE":
        state = stop(state, NOW + MINUTE).state
    if phase == "SYNTHESIZE":
        state = stop(state, NOW + MINUTE).state
    assert state.phase == phase

    step = wind_up(pause(state, NOW + 2 * MINUTE).state, NOW + 3 * MINUTE)

    assert step.state.finished_at == NOW + 3 * MINUTE
    assert step.state.entries[-1].kind is EntryKind.SYNTHESIS
    played = [one.phase for one in step.state.rounds]
    assert played == ["DELIBERATE", *(["VOTE"] if phase != "DELIBERATE" else []), "SYNTHESIZE"]
    assert all(one.ended_at is not None for one in step.state.rounds)
    assert advance(step.state, NOW + HOUR).events == []


@pytest.mark.req("DL-013", "DL-023")
def test_nobody_is_asked_again_for_a_round_that_was_stopped():
    state = say(debate(), "claude", GARBAGE).state
    assert state.participants["claude"].again == 1

    state = stop(state, NOW + 2 * MINUTE).state

    assert [one.again for one in state.participants.values()] == [0, 0, 0]
