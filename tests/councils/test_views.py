"""What a conversation came to, and document 003's shape of it."""

import json
from pathlib import Path

from council.councils import decisions, evolution, views
from council.councils.model import Heard
from tests.councils.play import Play


def test_the_shape_of_document_003() -> None:
    play = Play("deliberation", "claude,gpt,glm", max_rounds=1, coordinator="glm")
    play.turn("claude", "Tiles.")
    play.do(decisions.say, "The roof is small.", "anna", to="gpt")
    play.turn("gpt", "Tin.", claude="disagree")
    play.turn("glm", "Tiles.", claude="agree", gpt="partial")
    play.turn("claude", choice="A", gpt="disagree", glm="agree")
    assert views.debate_session(play.state)["votingRound"]["votes"] == []  # sealed
    play.turn("gpt", choice="B", claude="disagree", glm="disagree")
    play.turn("glm", choice="A", claude="agree", gpt="disagree")
    assert views.debate_session(play.state)["status"] == "synthesizing"
    heard = Heard(recommendation="Tin!", consensus="Tiles.", insights={"gpt": "Noise."})
    play.says("glm", "We chose.", heard=heard)
    made, path = views.debate_session(play.state), Path(__file__).parent / "pages/debate-003.json"
    recorded = json.loads(path.read_text(encoding="utf-8"))
    assert made == recorded and [*made] == [*recorded]


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
