"""What an agent may see in which phase."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from council.core.conversations.answers import inject, respond
from council.core.conversations.conversation import Conversation, Status
from council.core.conversations.machine import advance
from council.core.conversations.sight import parts
from council.core.conversations.steering import pause
from tests.core.conversations.samples import HOUR, MINUTE, NOW, all_answer, answer, convened

LATER = NOW + 2 * HOUR


def texts(state: Conversation, agent: str) -> list[str]:
    return [one["text"] for one in parts(state, agent, NOW)["contributions"]]


def challenged(**fields: object) -> Conversation:
    """Return a conversation of four that has just entered CHALLENGE."""
    return advance(all_answer(convened(**fields)), NOW).state


@pytest.mark.req("C0-048", "C0-051", "C0-047")
def test_in_collect_nobody_sees_an_answer_before_or_after_its_own():
    state = answer(answer(convened(), "henry").state, "sage").state
    for agent in ("henry", "sage", "nova", "stranger"):
        seen = parts(state, agent, NOW)
        assert texts(state, agent) == []
        assert seen["brief"] == "The family asks for the weather each morning."
    assert "henry on round" not in json.dumps(parts(state, "sage", NOW))
    assert [one["text"] for one in parts(state, "henry", NOW)["own"]] == ["henry on round 1"]


@pytest.mark.req("C0-048")
def test_a_blocker_raised_behind_the_seal_is_not_seen():
    state = convened()
    state = answer(state, "henry", "BLOCKING: secret worry").state
    state.blocking_issues.append("known to all")
    assert [one["text"] for one in parts(state, "sage", NOW)["blockers"]] == ["known to all"]
    assert "secret worry" not in json.dumps(parts(state, "sage", NOW))


@pytest.mark.req("C0-051", "C0-047")
def test_after_the_transition_all_answers_of_collect_are_seen_with_their_labels():
    seen = parts(challenged(), "henry", NOW)
    assert [one["agent"] for one in seen["contributions"]] == ["sage", "nova", "blaise"]
    assert {one["tour"] for one in seen["contributions"]} == {1}
    assert seen["contributions"][0]["label"] == "sage"


@pytest.mark.req("C0-051")
def test_in_challenge_others_of_the_same_round_are_seen_only_after_ones_own():
    state = answer(challenged(), "henry", "BLOCKING: no money").state
    assert "BLOCKING: no money" not in texts(state, "sage")
    assert parts(state, "sage", NOW)["blockers"] == []
    state = answer(state, "sage").state
    assert "BLOCKING: no money" in texts(state, "sage")
    assert parts(state, "sage", NOW)["blockers"] == [{"text": "no money", "agents": ["henry"]}]
    assert "BLOCKING: no money" not in texts(state, "nova")


@pytest.mark.req("C0-048")
def test_an_open_council_shows_collect_answers_at_once():
    state = answer(convened(sealed_phases=False), "henry").state
    assert texts(state, "sage") == ["henry on round 1"]
    assert parts(state, "sage", NOW)["blind"] is False


def test_who_takes_no_part_sees_the_closed_rounds_alone():
    state = answer(challenged(coordinator="maman"), "henry").state
    assert len(texts(state, "maman")) == 4
    assert "henry on round 2" not in texts(state, "maman")
    assert parts(state, "maman", NOW)["whyNot"] == "not-a-participant"


@pytest.mark.req("C0-063", "C0-073")
def test_the_synthesizer_sees_everything_late_answers_and_absentees_included():
    state = challenged(coordinator="maman")
    state = all_answer(state, "henry", "sage", "nova")
    state = advance(state, LATER).state
    late = f"{state.conversation_id}.2.blaise.1"
    state = respond(state, "blaise", "sorry, late", now=LATER, nonce="n", task=late).state
    assert parts(state, "henry", LATER)["late"] == []
    state = advance(all_answer(state), LATER).state
    assert state.phase == "SYNTHESIZE"
    seen = parts(state, "maman", LATER)
    assert len(seen["contributions"]) == 4 + 3 + 4
    assert [one["text"] for one in seen["late"]] == ["sorry, late"]
    assert [(one["agent"], one["tour"], one["reason"]) for one in seen["absent"]] == [
        ("blaise", 2, "timeout")
    ]
    assert seen["mayAnswer"] is True
    assert parts(state, "henry", LATER)["whyNot"] == "not-your-turn"
    assert parts(state, "henry", LATER)["synthesizer"] == "maman"
    assert parts(state, "henry", LATER)["late"] == []


@pytest.mark.req("C0-041")
def test_phase_round_and_task_are_told():
    seen = parts(challenged(), "henry", NOW)
    assert (seen["phase"], seen["tour"]) == ("CHALLENGE", 2)
    assert seen["task"] == f"{seen['conversationId']}.2.henry.1"
    assert json.loads(json.dumps(seen)) == seen


@pytest.mark.req("C0-042", "C0-043")
def test_who_has_answered_or_left_may_not_answer_and_hears_why():
    state = answer(convened(), "henry", status="done").state
    state = answer(state, "sage").state
    assert parts(state, "henry", NOW)["whyNot"] == "left"
    assert parts(state, "sage", NOW)["whyNot"] == "already-answered"
    assert parts(state, "nova", NOW)["mayAnswer"] is True
    assert parts(pause(state, NOW).state, "nova", NOW)["whyNot"] == "paused"
    stopped = state.copy(status=Status.TIMEOUT)
    assert parts(stopped, "nova", NOW)["whyNot"] == "ending"


def test_agreeing_is_not_offered_in_a_blind_phase():
    assert parts(convened(), "henry", NOW)["mayAgree"] is False
    assert parts(challenged(), "henry", NOW)["mayAgree"] is True


@pytest.mark.req("HR-025")
def test_guidance_reaches_all_with_the_name_of_the_one_it_is_for():
    state = inject(convened(), "for all", author="p", now=NOW).state
    state = inject(state, "for sage", author="p", now=NOW, target="sage").state
    heard = {
        agent: [(one["text"], one["forYou"]) for one in parts(state, agent, NOW)["injections"]]
        for agent in ("henry", "sage")
    }
    assert heard == {
        "henry": [("for all", False), ("for sage", False)],
        "sage": [("for all", False), ("for sage", True)],
    }
    assert [one["target"] for one in parts(state, "henry", NOW)["injections"]] == ["", "sage"]


@pytest.mark.req("C0-050")
def test_challenges_that_name_the_agent_are_listed_with_their_passages():
    state = challenged()
    state.participants["nova"].name = "Nova Prime"
    said = "@henry\n> henry on round 1\n\nWhy?\n\n@sage: fine.\n\nNova Prime forgets @henry's cost."
    state = answer(state, "blaise", said).state
    state = advance(all_answer(state, "henry", "sage", "nova"), NOW).state
    challenge = parts(state, "henry", NOW)["challenges"][0]
    assert (challenge["agent"], challenge["tour"]) == ("blaise", 2)
    assert challenge["passages"] == (
        "@henry\n> henry on round 1\n\nWhy?\n\nNova Prime forgets @henry's cost."
    )
    assert parts(state, "sage", NOW)["challenges"][0]["passages"] == "@sage: fine."
    assert "forgets" in parts(state, "nova", NOW)["challenges"][0]["passages"]
    assert parts(state, "blaise", NOW)["challenges"] == []


@pytest.mark.req("DL-103", "C0-049")
def test_quotations_of_peers_are_checked_against_what_they_said_before():
    state = answer(challenged(), "sage", "@henry\n> henry on round 1\n\n> never said").state
    state = answer(state, "henry").state
    entry = next(one for one in parts(state, "henry", NOW)["contributions"] if one["tour"] == 2)
    assert entry["quotations"] == [
        {"text": "henry on round 1", "of": "henry", "found": "found"},
        {"text": "never said", "of": "henry", "found": "missing"},
    ]


def test_the_parts_do_not_depend_on_the_time_but_for_overdue():
    state = challenged()
    early, later = parts(state, "henry", NOW), parts(state, "henry", NOW + MINUTE)
    assert early == later
    overdue = parts(state, "henry", NOW + HOUR + timedelta(hours=1))
    assert overdue == {**early, "overdue": True}


def test_when_all_is_over_everybody_sees_everything():
    state = advance(
        all_answer(challenged(phases=("COLLECT", "CHALLENGE", "SYNTHESIZE"))), NOW
    ).state
    state = advance(respond(state, "henry", "## Decision", now=NOW).state, NOW).state
    seen = parts(state, "nova", NOW)
    assert seen["whyNot"] == "finished"
    assert seen["contributions"][-1]["kind"] == "synthesis"
