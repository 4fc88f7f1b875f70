"""A deliberation of three agents that never call `council`: they read and edit the file."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.agents.debates_file import take_part

WAYS = {"claude": "in-place", "gpt": "rename", "glm": "two-writes"}


class Table:
    """A deliberation in a workspace, its agents being programs that edit."""

    def __init__(self, council, lang: str) -> None:
        self.council = council
        self.file = council.root / "memory" / "shared" / "council-active-conversation.md"
        opened = council(
            *("convene", "Tea or coffee?", "--brief", "Say which.", "--agents", ",".join(WAYS)),
            *("--procedure", "deliberation", "--sealed", "--max-rounds", "3"),
            *("--synthesizer", "glm", "--lang", lang, "--json"),
        )
        assert opened.code == 0, opened.err

    def edit(self, agent: str, forgets: int = 0) -> str:
        """Let an agent read and edit the file; it knows nothing of `council`."""
        return take_part(self.file, agent, WAYS[agent], forgets)

    def beat(self) -> dict:
        done = self.council("heartbeat", "--json")
        assert done.code == 0, done.err
        (seen,) = done.json()["conversations"]
        return seen

    def state(self) -> dict:
        text = self.file.read_text(encoding="utf-8")
        return json.loads(text.split("\n<!--council-state\n")[1].split("\n-->")[0])


@pytest.mark.req("DL-056", "DL-021", "DL-013", "DL-015", "DL-025", "DL-097", "C0-001")
def test_agents_with_only_file_access_complete_a_deliberation(council):
    table = Table(council, "en")

    for agent in WAYS:
        assert table.edit(agent) == "DELIBERATE 1"
        table.beat()
        if agent != "glm":
            assert f"says {agent}" not in table.file.read_text(encoding="utf-8")
            assert table.edit(agent) == "nothing to do"
    assert table.state()["tour"] == 2

    for agent in ("gpt", "glm", "claude"):
        idle = [one for one in WAYS if one != agent]
        assert {table.edit(one) for one in idle} == {"nothing to do"}
        assert table.edit(agent, forgets=2) == "DELIBERATE 2"
        table.beat()
        if agent != "gpt":  # before whom no one spoke
            assert table.state()["participants"][agent]["again"] == 2
            assert {table.edit(one) for one in idle} == {"nothing to do"}
            assert table.edit(agent) == "DELIBERATE 2 again"
            table.beat()
    assert table.state()["tour"] == 3

    # Everything but the file is lost, in the middle of a round.
    assert table.edit("glm") == "DELIBERATE 3"
    table.beat()
    shutil.rmtree(table.file.parent / ".council")
    assert "history.lost" in council("check", "--name", "active").err
    for agent in ("claude", "gpt"):
        assert table.edit(agent) == "DELIBERATE 3"
        table.beat()

    assert table.state()["currentPhase"] == "VOTE"
    for agent in WAYS:
        assert table.edit(agent) == "VOTE 4"
    table.beat()
    assert [table.edit(agent) for agent in WAYS] == ["nothing to do"] * 2 + ["SYNTHESIZE 5"]
    archived = table.beat()["archived"]

    minutes = (council.root / archived).read_text(encoding="utf-8")
    block = json.loads((council.root / archived).with_suffix(".json").read_bytes())
    told = [(one["tour"], one["agent"], one["kind"]) for one in block["ledger"]]
    assert told == [
        *[(1, agent, "contribution") for agent in ("claude", "gpt", "glm")],
        (2, "gpt", "contribution"),
        *[(2, agent, kind) for agent in ("glm", "claude") for kind in ("draft", "contribution")],
        *[(3, agent, "contribution") for agent in ("glm", "claude", "gpt")],
        *[(4, agent, "contribution") for agent in ("claude", "gpt", "glm")],
        (5, "glm", "synthesis"),
    ]
    types = [one["verdict"]["type"] for one in block["rounds"] if one.get("verdict")]
    assert types == ["none", "none", "none", "strong"]
    assert "Serve tea." in minutes
    assert not table.file.exists()


@pytest.mark.long
@pytest.mark.req("DL-056", "DL-021")
def test_deliberation_goes_on_from_its_file_alone_after_every_turn(council):
    table = Table(council, "fr")
    turns = 0
    for agent in WAYS:  # what is sealed lies beside the file, so the first round stays whole
        table.edit(agent)
        table.beat()
    while table.file.exists() and turns < 20:
        shutil.rmtree(table.file.parent / ".council", ignore_errors=True)
        did = [table.edit(agent) for agent in WAYS]
        turns += sum(one != "nothing to do" for one in did)
        table.beat()

    assert turns == 3 + 3 + 3 + 1
    (minutes,) = (council.root / "conseils").glob("*.md")
    assert minutes.read_text(encoding="utf-8").count("The reason of gpt in round 3.") >= 1
