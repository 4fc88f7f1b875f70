"""What an agent asks the people who steer: where they read it, and how they answer."""

from __future__ import annotations

import pytest

from tests.store.debates import turn

QUESTION = "@human, what is the budget?"
ASKS = "ann asks a person: @human, what is the budget?"


@pytest.fixture(params=["council", "deliberation"])
def asking(council, request):
    """A conversation of agents that answer by hand, in which ann has asked the people."""
    agents = "".join(f'[agents.{agent}]\ndriver = "manual"\n' for agent in ("ann", "bob"))
    (council.root / "council.toml").write_text(f"schemaVersion = 1\n{agents}", encoding="utf-8")
    opened = council(
        *("convene", "Tea or coffee?", "--procedure", request.param, "--agents", "ann,bob"),
        "--open",
    )
    assert opened.code == 0, opened.err
    text = turn(position=f"Tea. {QUESTION}")
    said = council("respond", "--as", "ann", "-", stdin=text)
    assert said.code == 0, said.err
    return council


@pytest.mark.req("HR-024")
def test_a_question_to_people_is_shown_everywhere_until_somebody_says_the_answer(asking):
    status = asking("status").out
    assert ASKS in status
    assert 'council say "…" --to active' in status
    (found,) = asking("status", "--json").json()["conversations"]
    assert found["questionsToPeople"] == [{"asker": "ann", "tour": 1, "text": QUESTION}]

    assert f"a person: ann asks “{QUESTION}”" in asking("explain", "active").out
    french = asking("explain", "active", "--lang", "fr").out
    assert f"une personne : ann demande « {QUESTION} »" in french

    shown = asking("show", "--open-questions").out
    assert f"round 1: {ASKS}" in shown
    assert 'a person answers with: council say "…" --to active' in shown
    (question,) = asking("show", "--open-questions", "--json").json()["questions"]
    assert (question["asker"], question["asked"]) == ("ann", "human")

    said = asking("say", "5000 euros.", "--to", "active")
    assert said.out == "active: said; all will read it\n"

    for words in (("status",), ("explain", "active"), ("show", "--open-questions")):
        assert "asks a person" not in asking(*words).out
        assert "what is the budget" not in asking(*words).out
    assert "5000 euros." in asking("context", "--as", "bob").out


@pytest.mark.req("HR-024")
def test_nothing_waits_for_a_person_any_more_when_it_is_over(asking):
    assert asking("cancel").code == 0
    shown = asking("show", "--open-questions").out
    assert "council say" not in shown


@pytest.mark.req("HR-025")
def test_guidance_for_one_says_to_all_who_is_to_answer(asking):
    said = asking("say", "Can you pay?", "--to", "bob")
    assert said.out == "active: said; all will read it, bob is to answer it\n"
    given = asking("inject", "And when?", "--to", "bob")
    assert given.out == "active: guidance added; all will read it, bob is to answer it\n"
    for agent, mark in (("ann", "| for @bob"), ("bob", "| for you")):
        prompt = asking("context", "--as", agent).out
        assert "Can you pay?" in prompt
        assert mark in prompt
