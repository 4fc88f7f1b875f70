"""What a conversation came to, and document 003's shape of it."""

from council.councils import decisions, evolution, views
from council.councils.model import Heard
from tests.councils.play import Play


def debate() -> Play:
    play = Play("deliberation", "claude,gpt,glm", max_rounds=1, coordinator="glm")
    play.turn("claude", "Tiles.")
    play.do(decisions.say, "The roof is small.", "anna", to="gpt")
    play.turn("gpt", "Tin.", claude="disagree")
    play.turn("glm", "Tiles.", claude="agree", gpt="partial")
    play.turn("claude", choice="A", gpt="disagree", glm="agree")
    assert "votingRound" in views.debate_session(play.state)
    assert len(views.debate_session(play.state)["votingRound"]["votes"]) == 0  # sealed
    play.turn("gpt", choice="B", claude="disagree", glm="disagree")
    play.turn("glm", choice="A", claude="agree", gpt="disagree")
    return play


def test_the_shape_of_document_003() -> None:
    play = debate()
    assert views.debate_session(play.state)["status"] == "synthesizing"
    heard = Heard(recommendation="Tin!", consensus="Tiles.", insights={"gpt": "Noise."})
    play.says("glm", "We chose.", heard=heard)
    made = views.debate_session(play.state)
    assert list(made) == [
        *("id", "topic", "status", "config", "rounds", "votingRound", "synthesis", "createdAt"),
        *("completedAt", "humanInjections"),
    ]
    assert made["id"].startswith("c") and made["status"] == "complete"
    assert made["config"]["consensusThreshold"] == 2
    first = made["rounds"][0]
    assert first["roundNumber"] == 1 and first["completedAt"]
    assert first["turns"][1] == {
        "agentId": "gpt", "roundNumber": 1, "position": "Tin.",
        "responses": [{"agentId": "claude", "stance": "disagree", "comment": ""}],
        "reasoning": "Tin. says gpt in round 1", "confidence": 4,
        "timestamp": "2026-11-28T09:00:00Z",
    }  # fmt: skip
    assert made["votingRound"]["consensusType"] == "soft"
    assert made["votingRound"]["votes"][0]["agreements"][0] == {
        "agentId": "gpt",
        "stance": "disagree",
    }
    assert made["synthesis"]["keyInsights"] == [{"agentId": "gpt", "insight": "Noise."}]
    assert made["humanInjections"][0]["targetAgent"] == "gpt"
    assert made["humanInjections"][0]["acknowledgements"] == ["gpt"]


def test_the_decision_of_a_council_is_its_recommendation() -> None:
    play = Play(agents="a,b,c")
    play.all_say()
    play.says("a", status="agreed")
    play.says("b", status="agreed")
    play.says("c", heard=Heard(position="Tin.", blockers=["the beams"]))
    play.all_say()
    play.says(evolution.speaker(play.state), "All in all: tiles.")
    made = views.decision(play.state)
    assert (made["outcome"], made["decision"]) == ("no-consensus", "All in all: tiles.")
    assert made["blockers"] == [{"agent": "c", "text": "the beams"}]
