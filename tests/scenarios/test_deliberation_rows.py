"""A deliberation as document 003 shows it: its usual agents, its roles, its place on the disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.debates import SYNTHESIS, turn_text

ONE_ROUND = ("--procedure", "deliberation", "--max-rounds", "1")
CAST = {
    "claude": ("anthropic/claude-opus-4-5", "Reasoner", "deep analysis, nuance"),
    "gpt": ("openai/gpt-4o", "Pragmatist", "practical solutions, implementation"),
    "glm": ("zai/glm-4.7", "Synthesizer", "efficiency, common ground"),
}
# Runs one command and writes down which module touched the disk of a conversation.
WATCHED = """
import os, sys
report = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def watch(event, given):
    if event not in ("open", "os.rename", "os.remove", "os.link", "os.truncate"):
        return
    paths = [one for one in given[:2] if isinstance(one, str)]
    if not any(is_of_a_conversation(one) for one in paths):
        return
    frame = sys._getframe(1)
    while frame and "/council/" not in frame.f_code.co_filename:
        frame = frame.f_back
    who = frame.f_code.co_filename.rpartition("/council/")[2] if frame else "?"
    os.write(report, f"{who}\\n".encode())
def is_of_a_conversation(path):
    if path.endswith("-conversation.md"):
        return True
    inside = path.partition("/.council/")[2].split("/")
    return len(inside[0]) == 36 and "prompts" not in inside  # what was rendered can be made anew
sys.addaudithook(watch)
sys.argv[0] = "council"
from council.__main__ import main
sys.exit(main())
"""


def roles(council) -> dict[str, tuple[str, str, str]]:
    """Return model, role and description of each agent, as the session shows them."""
    session = json.loads(council("show", "--format", "debate-session").out)
    return {
        one["agentId"]: (one["model"], one["role"], one["roleDescription"])
        for one in session["config"]["agents"]
    }


def stances(agent: str, others: tuple[str, ...]) -> dict[str, str]:
    return {one: "agree" for one in others if one != agent}


@pytest.mark.req("DL-003")
def test_who_names_nobody_gets_three_agents_of_three_models_and_may_set_others(council):
    assert council("convene", "Tea?", *ONE_ROUND).code == 0
    found = roles(council)
    assert list(found) == list(CAST)
    for agent, (model, role, description) in CAST.items():
        assert found[agent][:2] == (model, role)
        assert found[agent][2].startswith(description)

    (council.root / "council.toml").write_text('[agents.gpt]\nmodel = "openai/gpt-6"\n')
    assert council("archive").code == 0
    assert council("convene", "Coffee?", *ONE_ROUND).code == 0
    assert roles(council)["gpt"][:2] == ("openai/gpt-6", "Pragmatist")


@pytest.mark.req("DL-004")
@pytest.mark.parametrize("many", [2, 3, 5])
def test_any_number_from_two_takes_part_and_each_debate_gives_the_roles(council, many: int):
    agents = ("ann", "bob", "cid", "dan", "eve")[:many]
    words = (*ONE_ROUND, "--agents", ",".join(agents))
    assert council("convene", "Tea?", *words, "--role", "bob=Sceptic: doubts all").code == 0
    assert {agent: found[1:] for agent, found in roles(council).items()} == {
        agent: ("Sceptic", "doubts all") if agent == "bob" else ("", "") for agent in agents
    }
    for agent in agents:
        said = council("respond", turn_text("Yes.", stances(agent, agents)), "--as", agent)
        assert said.code == 0, said.err
    assert council("status", "--json").json()["conversations"][0]["currentPhase"] == "VOTE"
    assert council("archive").code == 0

    assert council("convene", "Tea?", *words, "--role", "bob=Optimist").code == 0
    assert roles(council)["bob"][1] == "Optimist"


@pytest.mark.req("DL-004")
def test_one_agent_alone_does_not_deliberate(council):
    refused = council("convene", "Tea?", *ONE_ROUND, "--agents", "ann")

    assert refused.code == 2
    assert "two agents" in refused.err


@pytest.mark.req("DL-001", "DL-002")
def test_three_models_speak_in_turns_vote_and_end_in_a_synthesis(council):
    agents = tuple(CAST)
    assert council("convene", "Tea or coffee?", *ONE_ROUND).code == 0
    for phase in ("DELIBERATE", "VOTE"):
        for agent in agents:
            open_now = council("status", "--json").json()["conversations"][0]
            assert open_now["currentPhase"] == phase
            assert open_now["waiting"][0] == agent
            text = turn_text(f"Tea, says {agent}.", stances(agent, agents))
            assert council("respond", text, "--as", agent).code == 0
    assert council("respond", SYNTHESIS, "--as", "glm").code == 0
    assert council("heartbeat").code == 0

    (listed,) = council("list", "--archived", "--json").json()
    minutes = (council.root / listed["path"]).read_text(encoding="utf-8")
    assert minutes.count("Tea, says ") >= 6
    assert "Start small and look at the load in spring." in minutes
    kept = (council.root / listed["path"]).with_suffix(".json").read_text(encoding="utf-8")
    for model, _, _ in CAST.values():
        assert model in kept


@pytest.mark.req("DL-057")
def test_only_the_store_touches_the_disk_of_a_conversation(council):
    report = council.root.parent / "touched"

    def touched_by(*words: str) -> set[str]:
        report.unlink(missing_ok=True)
        argv = [sys.executable, "-c", WATCHED, str(report), *words]
        done = subprocess.run(
            argv, cwd=council.root, env=council.env(), capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return set(report.read_text().split())

    text = turn_text("Tea.", {})
    commands = (
        ("convene", "Tea?", *ONE_ROUND, "--people", "ann,bob", "--sealed"),
        ("context", "--as", "ann"),
        ("respond", text, "--as", "ann"),
        ("inject", "Mind the budget."),
        ("show",),
        ("history",),
        ("check",),
        ("status",),
        ("heartbeat",),
        ("archive",),
    )
    for words in commands:
        found = touched_by(*words)
        assert found, words
        assert {one for one in found if not one.startswith("store/")} == set(), words


def test_the_watch_over_the_disk_sees_a_stranger(tmp_path: Path):
    """Without this the test above could be blind."""
    path = tmp_path / "council" / "operations"
    path.mkdir(parents=True)
    (path / "stranger.py").write_text("open('x-conversation.md', 'w').close()\n")
    main = "import runpy; main = lambda: runpy.run_path(sys.argv[1]) and 0"
    watched = WATCHED.replace("from council.__main__ import main", main)
    report = tmp_path / "touched"
    argv = [sys.executable, "-c", watched, str(report), str(path / "stranger.py")]
    subprocess.run(argv, cwd=tmp_path, check=True)
    assert report.read_text().split() == ["operations/stranger.py"]
