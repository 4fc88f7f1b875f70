"""`council say`: one command for whatever a person wants to tell, whomever."""

from __future__ import annotations

import pytest


@pytest.mark.req("XC-110")
def test_a_person_says_something_to_a_conversation_to_an_agent_and_to_a_channel(council):
    assert council("convene", "Shall we?", "--agents", "henry,sage").code == 0
    assert council("channel", "create", "chat", "lobby", "--participants", "henry,sage").code == 0

    assert council("say", "Mind the cost.", "--to", "active").code == 0
    assert council("say", "And you, hurry.", "--to", "henry").code == 0
    posted = council("say", "Good morning.", "--to", "lobby", "--json")

    assert posted.json()["content"] == "Good morning."
    guidance = council("show", "--json").json()["guidance"]
    assert [(one["text"], one["target"]) for one in guidance] == [
        ("Mind the cost.", None),
        ("And you, hurry.", "henry"),
    ]
    log = council.root / "memory" / "shared" / "channels" / "lobby.jsonl"
    assert "Good morning." in log.read_text(encoding="utf-8")


def test_what_is_said_to_nobody_is_refused_and_tells_what_is_open(council):
    assert council("convene", "Shall we?", "--agents", "henry,sage").code == 0

    refused = council("say", "Hello?", "--to", "nobody")

    assert refused.code == 2 and "active" in refused.err
