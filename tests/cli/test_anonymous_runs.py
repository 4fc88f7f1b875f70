"""What a run may see of an anonymous deliberation: its own context, and no name of a peer."""

from __future__ import annotations

import pytest

AGENTS = "owl,gecko,heron"
PEERS = ("gecko", "heron", "Gecko", "Heron")
WAITING = ("DELIBERATE waits for", "member-")
NONSENSE = "## Position\nPenguins vote for snow.\n"


def in_run_of(agent: str) -> dict[str, str]:
    task = "6f8d2b1e-0000-4000-8000-000000000000.1"
    return {"COUNCIL_TASK_ID": f"{task}.{agent}.1", "COUNCIL_AGENT": agent}


@pytest.fixture
def anonymous(council, now):
    """The command in a workspace with an anonymous deliberation; gecko has spoken."""
    assert council("init", "--agents", AGENTS).code == 0
    words = ("--procedure", "deliberation", "--anonymous", "--agents", "gecko,owl,heron")
    done = council("convene", "Is snow better?", *words, now=now)
    assert done.code == 0, done.err
    done = council("respond", "--as", "gecko", NONSENSE + "\n## Confidence\n4\n", now=now)
    assert done.code == 0, done.err
    return council


@pytest.mark.req("DL-100", "XC-015")
@pytest.mark.parametrize(
    "words",
    [
        ["show"],
        ["show", "--json"],
        ["show", "--consensus"],
        ["show", "--open-questions"],
        ["show", "--format", "debate-session"],
        ["status"],
        ["status", "--json"],
        ["status", "--problems"],
        ["status", "--watch"],
    ],
    ids=" ".join,
)
def test_a_run_is_sent_to_its_context_and_people_see_everything(anonymous, now, words: list[str]):
    refused = anonymous(*words, env=in_run_of("owl"), now=now)

    assert refused.code == 6
    assert "council context" in refused.err
    assert not any(name in refused.out + refused.err for name in PEERS)
    if "--watch" not in words:
        assert anonymous(*words, now=now).code == 0


@pytest.mark.req("DL-100", "XC-015")
@pytest.mark.parametrize("words", [["list"], ["events", "tail"], ["what-if"], ["history"]])
def test_what_no_run_may_call_names_nobody_either(anonymous, now, words: list[str]):
    refused = anonymous(*words, env=in_run_of("owl"), now=now)

    assert refused.code == 6
    assert not any(name in refused.out + refused.err for name in PEERS)


@pytest.mark.req("DL-100")
def test_its_context_shows_a_run_what_was_said_and_not_by_whom(anonymous, now):
    seen = anonymous("context", env=in_run_of("owl"), now=now)

    assert seen.code == 0
    assert "Penguins vote for snow." in seen.out
    assert not any(name in seen.out for name in PEERS)


@pytest.mark.req("DL-100")
def test_an_answer_out_of_turn_is_not_told_who_has_the_floor(anonymous, now):
    refused = anonymous("respond", "Yes.", "--as", "heron", now=now)

    assert refused.code == 6
    assert all(said in refused.err for said in WAITING)
    assert "owl" not in refused.err


@pytest.mark.req("DL-100", "DL-015")
def test_what_an_answer_lacks_is_told_with_pseudonyms(anonymous, now):
    said = anonymous("respond", NONSENSE, "--json", "--as", "owl", now=now)

    faults = {one["code"]: one["agent"] for one in said.json()["faults"]}
    assert faults["missing-response"].startswith("member-")
    assert not any(name in said.out + said.err for name in PEERS)


@pytest.mark.req("DL-100")
def test_once_it_is_over_a_run_may_look(anonymous, now):
    assert anonymous("cancel", now=now).code == 0

    shown = anonymous("show", env=in_run_of("owl"), now=now)

    assert shown.code == 0
    assert "Gecko" in shown.out


def test_a_deliberation_with_names_is_shown_to_its_runs(council, now):
    assert council("init", "--agents", AGENTS).code == 0
    assert council("convene", "Snow?", "--procedure", "deliberation", now=now).code == 0

    assert council("show", env=in_run_of("owl"), now=now).code == 0
    assert council("status", env=in_run_of("owl"), now=now).code == 0
