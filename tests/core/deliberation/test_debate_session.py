"""The debate session has the shape of document 003 and makes nothing up."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from council.core.agents import Agent, AgentSettings
from council.core.conversations import steering
from council.core.conversations.procedures import Rules
from council.core.deliberation.debate_session import session_status, to_session
from council.core.ids import cuid
from tests.core.debates import REASONS, SYNTHESIS, Debate, soft_debate, turn_text

INSTANT = "an instant"
STANCE = ("agree", "disagree", "partial")
CONFIDENCE = (1, 2, 3, 4, 5, None)
TURN = {
    "agentId": str,
    "roundNumber": int,
    "position": str,
    "responses": [{"agentId": str, "stance": STANCE, "comment": str}],
    "reasoning": str,
    "confidence": CONFIDENCE,
    "timestamp": INSTANT,
}
SHAPE: dict[str, Any] = {
    "id": str,
    "topic": str,
    "context?": str,
    "status": ("active", "voting", "synthesizing", "complete", "cancelled"),
    "config": {
        "maxRounds": int,
        "agents": [
            {"agentId": str, "model": str, "role": str, "roleDescription": str, "driver": str}
        ],
        "consensusThreshold": int,
    },
    "rounds": [
        {"roundNumber": int, "turns": [TURN], "startedAt": INSTANT, "completedAt?": INSTANT}
    ],
    "votingRound?": {
        "votes": [
            {
                "agentId": str,
                "finalPosition": str,
                "confidence": CONFIDENCE,
                "agreements": [{"agentId": str, "stance": STANCE}],
            }
        ],
        "consensusReached": bool,
        "consensusType?": ("strong", "soft", "none"),
    },
    "synthesis?": {
        "synthesizerId": str,
        "consensusSummary?": str,
        "disagreementSummary?": str,
        "keyInsights": [{"agentId": str, "insight": str}],
        "recommendation": str,
        "createdAt": INSTANT,
    },
    "createdAt": INSTANT,
    "completedAt?": INSTANT,
    "humanInjections": [
        {
            "message": str,
            "injectedAt": INSTANT,
            "targetAgent?": str,
            "round": int,
            "place": int,
            "acknowledgements": [{"agentId": str, "timestamp": INSTANT}],
        }
    ],
}


def check(value: Any, shape: Any, where: str = "session") -> None:
    """Hold a value against a shape: exactly these keys, those with `?` may be missing."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), where
        needed = {key for key in shape if not key.endswith("?")}
        assert needed <= set(value) <= {key.rstrip("?") for key in shape}, where
        for key, one in value.items():
            check(one, shape.get(key, shape.get(f"{key}?")), f"{where}.{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for one in value:
            check(one, shape[0], where)
    elif isinstance(shape, tuple):
        assert value in shape, (where, value)
    elif shape == INSTANT:
        assert isinstance(value, str), where
        assert (value[10], value[-1]) == ("T", "Z"), where
    else:
        assert type(value) is shape, (where, value)


def session(debate: Debate, **agents: Agent) -> dict[str, Any]:
    whole = to_session(debate.state, agents)
    check(whole, SHAPE)
    return json.loads(json.dumps(whole))


@pytest.mark.req("DL-051", "DL-056", "DL-026", "DL-028", "DL-053")
def test_shape_holds_at_every_step_of_a_deliberation() -> None:
    debate = Debate("ann", "bob", "cid", sealed=True)
    seen = [session(debate)]
    debate.turn("ann", "Yes.")
    seen.append(session(debate))
    assert seen[-1]["rounds"][0]["turns"] == []
    debate.turn("bob", "No.")
    debate.turn("cid", "Maybe.")
    debate.inject("Mind the budget.", target="bob")
    debate.round("Yes.", {"cid": {"bob": "partial"}})
    debate.vote("Yes.", {"cid": {"ann": "partial"}})
    seen.append(session(debate))
    debate.synthesize(SYNTHESIS)
    seen.append(session(debate))
    assert ["votingRound" in one for one in seen] == [False, False, True, True]
    assert ["synthesis" in one for one in seen] == [False, False, False, True]
    assert ["completedAt" in one for one in seen] == [False, False, False, True]
    assert [one["roundNumber"] for one in seen[-1]["rounds"]] == [1, 2]
    assert all("completedAt" in one for one in seen[-1]["rounds"])
    assert "completedAt" not in seen[0]["rounds"][0]


@pytest.mark.req("DL-052")
def test_status_goes_through_the_words_of_the_document_in_their_order() -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=1))
    seen = [session_status(debate.state)]
    debate.round("Yes.", {})
    seen.append(session_status(debate.state))
    debate.vote("Yes.", {})
    seen.append(session_status(debate.state))
    debate.synthesize(SYNTHESIS)
    seen.append(session_status(debate.state))
    assert seen == ["active", "voting", "synthesizing", "complete"]


@pytest.mark.req("DL-052")
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_it_is_cancelled_from_any_open_state(steps: int) -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=1))
    if steps:
        debate.round("Yes.", {})
    if steps > 1:
        debate.vote("Yes.", {})
    debate.cancel()
    whole = session(debate)
    assert whole["status"] == "cancelled"
    assert "completedAt" in whole


@pytest.mark.req("DL-051")
@pytest.mark.parametrize("kept", ["cm6v0f8o0abcdefghijklmnop", ""])
def test_its_id_is_a_cuid_and_not_the_id_of_the_conversation(kept: str) -> None:
    debate = Debate("ann", "bob")
    debate.state.session_id = kept
    found = session(debate)["id"]
    assert re.fullmatch(r"c[0-9a-z]{24}", found)
    assert found == (kept or cuid(debate.state.conversation_id, debate.state.created_at))


@pytest.mark.req("DL-051")
def test_context_is_left_out_when_it_says_no_more_than_the_topic() -> None:
    assert session(Debate("ann", "bob"))["context"].startswith("Families ask")
    same = Debate("ann", "bob", topic="Why?", brief="Why?\n")
    assert "context" not in session(same)


@pytest.mark.req("DL-051")
def test_threshold_is_the_one_that_holds() -> None:
    assert session(Debate(*"abcde"))["config"]["consensusThreshold"] == 4
    chosen = Rules(max_rounds=3, threshold=5)
    assert session(Debate(*"abcde", rules=chosen))["config"]["consensusThreshold"] == 5
    assert session(Debate(*"abcde", rules=chosen))["config"]["maxRounds"] == 3


@pytest.mark.req("DL-055")
def test_each_agent_has_its_model_role_and_driver() -> None:
    debate = Debate("claude", "bob", models={"claude": "anthropic/claude-opus-4-5"})
    debate.state.participants["claude"].role = "Reasoner: deep analysis"
    known = Agent(
        id="bob",
        name="Bob",
        emoji="",
        driver="command",
        persona="# Bob\n\nDoubts everything.\n\nAlways.",
        settings=AgentSettings(),
    )
    claude, bob = session(debate, bob=known)["config"]["agents"]
    assert claude == {
        "agentId": "claude",
        "model": "anthropic/claude-opus-4-5",
        "role": "Reasoner",
        "roleDescription": "deep analysis",
        "driver": "",
    }
    assert (bob["driver"], bob["roleDescription"]) == ("command", "Doubts everything.")


@pytest.mark.req("DL-012", "DL-053")
def test_turns_stand_in_the_order_of_speaking_with_their_four_parts() -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=2))
    debate.turn("ann", "Yes.", 5)
    debate.turn("bob", "No.", 2, ann=("disagree", "too dear"))
    debate.round("No.", {})
    first, second = session(debate)["rounds"]
    assert [one["agentId"] for one in second["turns"]] == ["bob", "ann"]
    assert first["turns"][1] == {
        "agentId": "bob",
        "roundNumber": 1,
        "position": "No.",
        "responses": [{"agentId": "ann", "stance": "disagree", "comment": "too dear"}],
        "reasoning": REASONS,
        "confidence": 2,
        "timestamp": "2026-02-08T20:02:00Z",
    }


@pytest.mark.req("DL-012")
def test_a_text_that_cannot_be_read_is_kept_whole_and_states_nothing() -> None:
    debate = Debate("ann", "bob", "cid")
    debate.turn("ann", "Yes.")
    debate.say("bob", "Agreement, disagreement, and something about @ann.")
    debate.say("bob", "I agree with everybody and am 5 of 5 sure.")
    (turn,) = [one for one in session(debate)["rounds"][0]["turns"] if one["agentId"] == "bob"]
    assert (turn["position"], turn["responses"], turn["confidence"]) == ("", [], None)
    assert turn["reasoning"] == "I agree with everybody and am 5 of 5 sure."


@pytest.mark.req("DL-012", "DL-013")
def test_a_stance_that_is_none_is_left_out() -> None:
    debate = Debate("ann", "bob")
    debate.turn("ann", "Yes.")
    text = turn_text("No.", {"ann": "sort of", "human": "acknowledged"})
    debate.say("bob", text)
    debate.say("bob", text + "\n")
    assert session(debate)["rounds"][0]["turns"][1]["responses"] == []


@pytest.mark.req("DL-026")
def test_votes_are_those_of_the_vote_and_the_verdict_comes_when_it_is_closed() -> None:
    debate = Debate("ann", "bob", "cid", rules=Rules(max_rounds=1))
    debate.round("First.", {})
    debate.turn("ann", "Last.", 5, bob="agree", cid="partial")
    assert session(debate)["votingRound"] == {"votes": [], "consensusReached": False}
    debate.wait()
    voting = session(debate)["votingRound"]
    assert voting == {
        "votes": [
            {
                "agentId": "ann",
                "finalPosition": "Last.",
                "confidence": 5,
                "agreements": [
                    {"agentId": "bob", "stance": "agree"},
                    {"agentId": "cid", "stance": "partial"},
                ],
            }
        ],
        "consensusReached": False,
        "consensusType": "none",
    }
    voted = session(soft_debate())["votingRound"]
    assert (voted["consensusReached"], voted["consensusType"]) == (True, "soft")
    assert len(voted["votes"]) == 3


@pytest.mark.req("DL-028")
def test_synthesis_is_read_into_its_parts() -> None:
    synthesis = session(soft_debate())["synthesis"]
    assert synthesis == {
        "synthesizerId": "ann",
        "consensusSummary": "We build it as a script.",
        "disagreementSummary": "Cid wants a service.",
        "keyInsights": [
            {"agentId": "ann", "insight": "it is cheap"},
            {"agentId": "cid", "insight": "load may come"},
        ],
        "recommendation": "Start small and look at the load in spring.",
        "createdAt": "2026-02-08T20:07:00Z",
    }


@pytest.mark.req("DL-028")
def test_the_digest_stands_as_a_synthesis_of_the_tool() -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=1))
    debate.round("Yes.", {})
    debate.vote("Yes.", {})
    debate.finish()
    synthesis = session(debate)["synthesis"]
    assert synthesis["synthesizerId"] == "council"
    assert "disagreementSummary" not in synthesis
    assert [one["agentId"] for one in synthesis["keyInsights"]] == ["ann", "bob"]


@pytest.mark.req("DL-054", "DL-085")
def test_an_injection_tells_its_place_its_target_and_who_acknowledged_it() -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=2))
    debate.turn("ann", "Yes.")
    debate.inject("Mind the budget.", target="bob")
    debate.turn("bob", "No.", ann="disagree", human=("acknowledged", "it fits"))
    debate.inject("And the users.")
    debate.round("No.", {"ann": {"bob": "disagree"}})
    debate.inject("Too late?")
    first, second, third = session(debate)["humanInjections"]
    assert first == {
        "message": "Mind the budget.",
        "injectedAt": "2026-02-08T20:02:00Z",
        "targetAgent": "bob",
        "round": 1,
        "place": 1,
        "acknowledgements": [{"agentId": "bob", "timestamp": "2026-02-08T20:03:00Z"}],
    }
    assert (second["round"], second["place"], second["acknowledgements"]) == (2, 0, [])
    assert "targetAgent" not in second
    assert (third["round"], third["place"]) == (2, 2)


@pytest.mark.req("DL-100")
def test_pseudonyms_are_named_again() -> None:
    debate = Debate("ann", "bob", rules=Rules(max_rounds=1, anonymous=True))
    debate.turn("ann", "Yes.")
    ann = debate.alias("bob", "ann")
    debate.say("bob", turn_text("Yes.", {ann: ("agree", f"as {ann} says")}))
    turn = session(debate)["rounds"][0]["turns"][1]
    assert turn["responses"] == [{"agentId": "ann", "stance": "agree", "comment": "as Ann says"}]


def test_one_that_is_stopped_before_anybody_spoke_has_its_shape_too() -> None:
    debate = Debate("ann", "bob")
    debate.step(steering.stop(debate.state, debate.now))
    assert session(debate)["votingRound"] == {"votes": [], "consensusReached": False}
    debate.finish()
    assert session(debate)["votingRound"]["consensusType"] == "none"
