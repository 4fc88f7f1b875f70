"""The worked example with four agents that never call `council`: they read and edit the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from council.drivers.scripted import parse_script

DEMO = Path(__file__).parent.parent.parent / "council" / "demo"
PROGRAM = Path(__file__).parent.parent / "agents" / "edits_file.py"
PHASES = ("COLLECT", "CHALLENGE", "RESOLVE")
WAYS = {
    "henry": ("--status", "json", "--save", "in-place"),
    "sage": ("--status", "line", "--save", "rename"),
    "nova": ("--status", "json", "--save", "two-writes"),
    "blaise": ("--status", "line", "--save", "two-saves"),
}
TITLES = {"en": "Round {}: {}", "fr": "Tour {} : {}"}
# The parts of a synthesis that the minutes show under headings of their own.
UNQUOTED = {
    "en": ["## Decision", "## Dissent", "## Recommendation", "## Next step"],
    "fr": ["## Décision", "## Désaccord", "## Recommandation", "## Prochaine étape"],
}


class Debate:
    """The debate of document 000 in a workspace, its agents being programs that edit."""

    def __init__(self, council, lang: str) -> None:
        self.council = council
        self.lang = lang
        self.file = council.root / "memory" / "shared" / "council-active-conversation.md"
        topic = (DEMO / lang / "topic.txt").read_text(encoding="utf-8").strip()
        brief = DEMO / lang / "brief.md"
        opened = council(
            *("convene", topic, "--brief-file", brief, "--agents", ",".join(WAYS)),
            *("--synthesizer", "henry", "--lang", lang, "--json"),
        )
        assert opened.code == 0, opened.err
        self.id = opened.json()["conversationId"]

    def edit(self, agent: str, *words: str) -> str:
        """Let an agent read and edit the file; no `council` is within its reach."""
        script = DEMO / self.lang / (words[1] if words else agent) / "answers.md"
        done = subprocess.run(
            [sys.executable, PROGRAM, self.file, agent, script, *WAYS[agent], *words],
            env={"PATH": "/nonexistent"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def beat(self) -> dict:
        done = self.council("heartbeat", "--json")
        assert done.code == 0, done.err
        (seen,) = done.json()["conversations"]
        return seen

    def said(self, agent: str, phase: str) -> str:
        script = (DEMO / self.lang / agent / "answers.md").read_text(encoding="utf-8")
        return next(one.text for one in parse_script(script) if one.due == phase)


@pytest.mark.req("C0-001", "C0-019", "C0-082", "C0-054", "C0-041", "C0-044")
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_agents_with_only_file_access_complete_the_debate(council, lang):
    debate = Debate(council, lang)

    for tour, phase in enumerate(PHASES, 1):
        for agent in WAYS:
            assert debate.edit(agent) == f"{phase} {tour}"
            if agent in ("sage", "blaise"):
                seen = debate.beat()
        assert seen["transition"]["from"] == phase
        assert seen["transition"]["reason"] == "all-answered"
    assert debate.edit("henry", "--speaks-as", "maman") == "SYNTHESIZE 4"
    archived = debate.beat()["archived"]

    minutes = (council.root / archived).read_text(encoding="utf-8")
    lines = minutes.splitlines()
    for tour, phase in enumerate(PHASES, 1):
        assert f"## {TITLES[lang].format(tour, phase)}" in lines
        for agent in WAYS:
            for line in debate.said(agent, phase).splitlines():
                assert lines.count(f"> {line}") >= 1, (agent, phase, line)
    quoted = {line[2:] for line in lines if line.startswith("> ")}
    own = [line for line in debate.said("maman", "SYNTHESIZE").splitlines() if line not in quoted]
    assert own == UNQUOTED[lang], "the minutes have headings of their own"
    data = (council.root / archived).with_suffix(".json").read_text(encoding="utf-8")
    kept = json.loads(data)["texts"]
    assert kept["4-henry"].strip() == debate.said("maman", "SYNTHESIZE").strip()
    assert not debate.file.exists()
    entries = [line for line in lines if line.startswith("<!--council:entry")]
    assert len(entries) == 13, "each contribution once, and the synthesis"


@pytest.mark.req("C0-048", "C0-051", "C0-001")
def test_answers_of_a_blind_phase_leave_the_file_at_the_next_command(council):
    debate = Debate(council, "en")
    texts = {}
    for agent in list(WAYS)[:3]:
        debate.edit(agent)
        texts[agent] = debate.said(agent, "COLLECT").splitlines()[0]
        assert texts[agent] in debate.file.read_text(encoding="utf-8")

        council("status")  # reads and does not write
        debate.beat()

        shown = debate.file.read_text(encoding="utf-8")
        assert not [line for line in texts.values() if line in shown]
        assert debate.edit(agent) == "nothing to do"
    for agent in WAYS:
        seen = council("context", "--as", agent).out
        assert not [one for one, line in texts.items() if one != agent and line in seen]

    debate.edit("blaise")
    debate.beat()

    shown = debate.file.read_text(encoding="utf-8")
    assert all(line in shown for line in texts.values())


@pytest.mark.req("C0-045", "C0-017")
@pytest.mark.parametrize("agent", list(WAYS))
def test_each_way_of_saving_changes_the_state_of_its_author_alone(council, agent):
    debate = Debate(council, "en")
    before = council("show", "--json").json()["participants"]

    debate.edit(agent)
    debate.beat()

    after = council("show", "--json").json()["participants"]
    assert after[agent]["status"] == "RESPONDED"
    assert after[agent]["lastAction"]
    assert {one: after[one] for one in WAYS if one != agent} == {
        one: before[one] for one in WAYS if one != agent
    }
