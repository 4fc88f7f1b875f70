"""`council say`: one command for whatever a person wants to say, to anyone."""

from __future__ import annotations

import pytest

GUIDE = "## Topic\nUmbrellas\n## Goals\nA list.\n## Completion criteria\nAll agree.\n"


@pytest.fixture
def sealed(council) -> str:
    """The id of a discussion that was completed."""
    assert council("init", "--agents", "owl,gecko").code == 0
    (council.root / "guide.md").write_text(GUIDE)
    folder = council.root / "memory/shared/discussion-summary"
    folder.mkdir()
    (folder / "u.md").write_text("We like them.")
    words = ("discussion", "create", "umbrellas", "--as", "owl", "--guide", "guide.md")
    assert council(*words, "--participants", "owl,gecko").code == 0
    words = ("discussion", "complete", "umbrellas", "--as", "owl", "--summary", "u.md")
    assert council(*words).code == 0
    return "umbrellas"


@pytest.mark.req("XC-110")
def test_a_person_says_something_to_a_conversation_to_an_agent_and_to_a_channel(council):
    assert council("convene", "Shall we?", "--agents", "henry,sage").code == 0
    assert council("channel", "create", "chat", "lobby", "--participants", "henry,sage").code == 0

    assert council("say", "Mind the cost.", "--to", "active").code == 0
    assert council("say", "And you, hurry.", "--to", "henry").code == 0
    posted = council("say", "Good morning.", "--to", "lobby", "--json")

    assert posted.json()["message"]["content"] == "Good morning."
    guidance = council("show", "--json").json()["guidance"]
    assert [(one["text"], one["target"]) for one in guidance] == [
        ("Mind the cost.", None),
        ("And you, hurry.", "henry"),
    ]
    log = council.root / "memory" / "shared" / "channels" / "lobby.jsonl"
    assert "Good morning." in log.read_text(encoding="utf-8")


@pytest.mark.req("DG-065", "XC-110")
def test_a_word_to_a_sealed_room_is_answered_on_the_screen_however_it_is_said(council, sealed):
    said = council("say", "More.", "--to", sealed)
    as_json = council("say", "More.", "--to", sealed, "--json").json()
    posted = council("channel", "post", sealed, "More.", "--as", "person")
    posted_json = council("channel", "post", sealed, "More.", "--as", "person", "--json").json()

    assert "moderator: This discussion is closed." in said.out
    assert said.out.splitlines()[1:] == posted.out.splitlines()[1:]
    assert as_json["answer"] == "This discussion is closed."
    assert as_json.keys() == posted_json.keys()


def test_what_is_said_to_nobody_is_refused_and_tells_what_is_open(council):
    assert council("convene", "Shall we?", "--agents", "henry,sage").code == 0

    refused = council("say", "Hello?", "--to", "nobody")

    assert refused.code == 5 and "active" in refused.err
