"""The worked example of document 000, played by scripted agents through the demo."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from council.drivers.scripted import parse_script
from tests.cli.commands import wait_until

DEMO = Path(__file__).parent.parent.parent / "council" / "demo"
FOUR = ("henry", "sage", "nova", "blaise")
PHASES = ("COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE")
TOPICS = {"en": "Should we build a weather bot?", "fr": "Faut-il créer un bot météo ?"}
TITLES = {"en": "Round {}: {}", "fr": "Tour {} : {}"}
# The parts of a synthesis that the minutes show under headings of their own.
UNQUOTED = {
    "en": ["## Decision", "## Dissent", "## Recommendation", "## Next step"],
    "fr": ["## Décision", "## Désaccord", "## Recommandation", "## Prochaine étape"],
}


def said_by(lang: str, agent: str) -> dict[str, str]:
    script = parse_script((DEMO / lang / agent / "answers.md").read_text(encoding="utf-8"))
    return {one.due: one.text for one in script}


def section(minutes: str, heading: str, level: str = "## ") -> str:
    """Return what stands under a heading of our minutes, up to the next of its level."""
    after = minutes.split(f"\n{level}{heading}\n", 1)[1]
    return after.split(f"\n{level}", 1)[0]


@pytest.mark.req("C0-082", "C0-061", "C0-063", "C0-030", "XC-011", "XC-012")
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_demo_archives_tours_one_to_three_of_four_agents(council, tmp_path, lang):
    root = tmp_path / "stage"

    done = council("demo", "--root", root, "--lang", lang, "--json")

    assert done.code == 0, done.err
    told = done.json()
    assert [one["phase"] for one in told["phases"]] == list(PHASES)
    assert [one["tour"] for one in told["phases"]] == [1, 2, 3, 4]
    assert all(set(one["answers"]) == set(FOUR) for one in told["phases"][:3])
    path = Path(told["minutes"])
    assert path.parent == root / "conseils"
    minutes = path.read_text(encoding="utf-8")
    assert f"conversation: {told['conversationId']}" in minutes
    for tour, phase in enumerate(PHASES[:3], 1):
        played = section(minutes, TITLES[lang].format(tour, phase))
        for agent in FOUR:
            label = next(
                line[4:]
                for line in played.splitlines()
                if line.startswith("### ") and line.endswith(agent.capitalize())
            )
            own = section(played, label, "### ").splitlines()
            for line in said_by(lang, agent)[phase].splitlines():
                assert f"> {line}" in own, (agent, phase, line)
    synthesis = said_by(lang, "maman")["SYNTHESIZE"]
    kept = json.loads(path.with_suffix(".json").read_bytes())
    assert kept["texts"]["4-maman"].strip() == synthesis.strip()
    quoted = {line[2:] for line in minutes.splitlines() if line.startswith("> ")}
    own = [line for line in synthesis.splitlines() if line not in quoted]
    assert own == UNQUOTED[lang], "the minutes have headings of their own"
    assert not list((root / "memory" / "shared").glob("council-*-conversation.md"))


@pytest.mark.req("C0-082")
def test_demo_shows_the_commands_each_phase_and_the_minutes(council, tmp_path):
    root = tmp_path / "stage"

    done = council("demo", "--root", root, "--lang", "en")

    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert "\x1b" not in done.out, "no colours where there is no terminal"
    for command in ("$ council init --lang en", "$ council heartbeat"):
        assert command in lines
    assert any(line.startswith(f'$ council convene "{TOPICS["en"]}"') for line in lines)
    shown = [line.split()[0] for line in lines if line.startswith(PHASES)]
    assert shown == list(PHASES)
    for label in ("🦉 Henry", "🦎 Sage", "🌟 Nova", "🧮 Blaise"):
        assert sum(label in line and "✓" in line for line in lines) == 3
    assert sum("✗ was never said" in line for line in lines) == 1
    assert sum(line.strip().startswith("BLOCKING:") for line in lines) == 1
    assert f"# 3 of 4 agreed: {TOPICS['en']}" in lines
    assert [line for line in lines if line.startswith("## ")] == [
        "## Decision",
        "## Dissent and blockers",
        "## Next step",
    ]
    assert Path(lines[-3]).is_file() or (council.root / lines[-3]).is_file()
    assert "council ask" in lines[-1]


@pytest.mark.long
@pytest.mark.req("C0-031")
def test_demo_plays_again_in_the_same_place_and_leaves_only_minutes(council, tmp_path):
    root = tmp_path / "stage"
    first = council("demo", "--root", root, "--json")
    second = council("demo", "--root", root, "--json")

    assert (first.code, second.code) == (0, 0), first.err + second.err
    one, two = Path(first.json()["minutes"]), Path(second.json()["minutes"])
    assert two.name == one.stem + "-2.md"
    assert [path.name for path in (root / "memory" / "agents").iterdir()] == [".gitignore"]
    assert council("list", "--json", "--root", root).json() == []


def test_demo_leaves_agents_settings_and_open_conversations_of_a_user_alone(council):
    council("init", "--agents", "henry,tom")
    settings = council.root / "council.toml"
    settings.write_text('schemaVersion = 1\n[agents.sage]\nargv = ["false"]\n')
    opened = council("convene", "Ours", "--agents", "henry,tom", "--json").json()
    before = {
        path: path.read_bytes()
        for path in (settings, *council.root.glob("memory/agents/*/*.md"), Path(opened["path"]))
    }

    done = council("demo", "--root", council.root, "--json")

    assert done.code == 0, done.err
    assert done.json()["name"] == "demo"
    assert set(done.json()["phases"][0]["answers"]) == {f"demo-{agent}" for agent in FOUR}
    assert "✗" in Path(done.json()["minutes"]).read_text(encoding="utf-8")
    assert {path: path.read_bytes() for path in before} == before
    agents = sorted(path.name for path in (council.root / "memory/agents").iterdir())
    assert agents == [".gitignore", "henry", "tom"]


def test_interrupted_demo_leaves_nothing_open_and_no_agents(council, tmp_path):
    root = tmp_path / "stage"
    started = council.start("demo", "--root", root)
    shared = root / "memory" / "shared"
    opened = "council-*-conversation.md"
    wait_until(lambda: list(shared.glob(opened)) or started.poll() is not None)

    os.kill(started.pid, signal.SIGINT)
    _, err = started.communicate(timeout=300)

    assert started.returncode == 130, err
    assert err.decode().splitlines()[-1:] == ["interrupted"]
    assert not list(shared.glob(opened))
    assert [path.name for path in (root / "memory" / "agents").iterdir()] == [".gitignore"]
    assert not list((root / "conseils").iterdir())


def test_texts_of_the_demo_are_of_the_right_length_and_exist_in_both_languages():
    for lang, topic in TOPICS.items():
        assert (DEMO / lang / "topic.txt").read_text(encoding="utf-8").strip() == topic
        for agent in FOUR:
            texts = said_by(lang, agent)
            assert list(texts) == list(PHASES[:3])
            assert all(60 <= len(text.split()) <= 160 for text in texts.values()), texts
        assert json.dumps(said_by(lang, "maman")).count("## ") == 6
