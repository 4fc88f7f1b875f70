"""What is known of an agent, and where it is taken from."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from council.core.agents import AgentSettings
from council.core.errors import InvalidInputError
from council.store.agents import agent, agent_of_directory, default_emoji, known_agents
from council.store.settings import Settings

SOUL = """---
name: Sage
emoji: "🦎"
role: Skeptic
model: 4
driver: command
capabilities: [code, review]
handles: "@sage"
---

You doubt everything,
also this.
"""


def soul(tmp_path, agent_id, text, folder="memory/agents"):
    path = tmp_path / folder / agent_id / "SOUL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_no_emoji_is_given_twice_while_another_is_left() -> None:
    assert default_emoji("zoe", {default_emoji("zoe")}) != default_emoji("zoe")
    taken: set[str] = set()
    for number in range(16):
        taken.add(default_emoji(f"agent{number}", taken))
    assert len(taken) == 16
    assert default_emoji("zoe", taken) == default_emoji("zoe")
    assert default_emoji("henry", {"🦉"}) != "🦉"


def test_an_agent_nobody_wrote_about_has_defaults(tmp_path):
    one = agent(str(tmp_path), Settings(), "zoe")
    assert (one.id, one.name, one.driver, one.role, one.model) == ("zoe", "Zoe", "manual", "", "")
    assert one.emoji == default_emoji("zoe")
    assert one.workspace == str(tmp_path / "memory/agents/zoe")
    assert one.faults == []


def test_soul_says_who_an_agent_is(tmp_path):
    soul(tmp_path, "sage", SOUL)
    one = agent(str(tmp_path), Settings(), "sage")
    assert one.label == "🦎 Sage"
    assert (one.role, one.model, one.driver) == ("Skeptic", "4", "command")
    assert one.capabilities == ["code", "review"]
    assert one.handles == ["@sage"]
    assert one.persona == "You doubt everything,\nalso this."


def test_each_fact_has_one_place_that_counts_first(tmp_path):
    soul(tmp_path, "sage", SOUL)
    told = AgentSettings(
        driver="scripted", name="Other", emoji="🐢", role="x", model="y", persona="z"
    )
    settings = Settings(agents={"sage": told, "nova": told})
    one = agent(str(tmp_path), settings, "sage")
    assert one.driver == "scripted"
    assert (one.name, one.emoji, one.role, one.model) == ("Sage", "🦎", "Skeptic", "4")
    assert one.persona.startswith("You doubt")
    other = agent(str(tmp_path), settings, "nova")
    assert (other.name, other.emoji, other.role, other.model) == ("Other", "🐢", "x", "y")
    assert other.persona == "z"


def test_a_command_in_the_settings_makes_the_driver_even_against_soul(tmp_path):
    soul(tmp_path, "sage", "---\ndriver: manual\n---\n")
    settings = Settings(agents={"sage": AgentSettings(argv=["x"])})
    assert agent(str(tmp_path), settings, "sage").driver == "command"


def test_soul_may_name_a_preset(tmp_path):
    soul(tmp_path, "sage", "---\npreset: claude\n---\n")
    one = agent(str(tmp_path), Settings(), "sage")
    assert one.driver == "command"
    assert one.settings.preset == "claude"
    assert Settings().timeout_of(one.settings) == Settings().preset_timeout


def test_a_model_behind_a_server_has_the_time_of_a_preset_wherever_it_is_named(tmp_path):
    soul(tmp_path, "sage", "---\ndriver: openai\n---\n")
    named = Settings(agents={"nova": AgentSettings(base_url="http://127.0.0.1:1/v1")})
    for one in (agent(str(tmp_path), Settings(), "sage"), agent(str(tmp_path), named, "nova")):
        assert one.driver == "openai"
        assert named.timeout_of(one.settings) == named.preset_timeout


def test_a_soul_without_front_matter_is_all_persona_and_costs_no_yaml(tmp_path):
    soul(tmp_path, "sage", "# Sage\n\nI doubt.\n")
    script = (
        "import sys; from council.store.agents import agent;"
        "from council.store.settings import Settings;"
        f"one = agent({str(tmp_path)!r}, Settings(), 'sage');"
        "print(one.persona == '# Sage\\n\\nI doubt.', 'yaml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"True False\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nname: [\n---\n", "SOUL.md has front matter that is not YAML"),
        ("---\n" + "[" * 5000 + "\n---\n", "SOUL.md has front matter nested more than 100 deep"),
        (b"---\nname: \xff\n---\n", "SOUL.md is not UTF-8"),
        ("---\nname: {a: 1}\n---\n", "SOUL.md of sage: name is not a text of one line"),
        ('---\nname: "a\\nb"\n---\n', "SOUL.md of sage: name is not a text of one line"),
        ('---\nname: "a\\u202eb"\n---\n', "SOUL.md of sage: name is not a text of one line"),
        ("---\ncapabilities: [a, [b]]\n---\n", "SOUL.md of sage: capabilities is not a list"),
    ],
)
def test_a_broken_soul_is_a_clear_fault_and_the_defaults_hold(tmp_path, text, said):
    soul(tmp_path, "sage", text)
    one = agent(str(tmp_path), Settings(), "sage")
    assert one.name == "Sage"
    assert one.emoji == "🦎"
    assert len(one.faults) == 1
    assert said in one.faults[0]


def test_a_soul_that_is_no_file_holds_nobody_up(tmp_path):
    soul(tmp_path, "sage", "").unlink()
    os.mkfifo(tmp_path / "memory/agents/sage/SOUL.md")
    assert "is not a plain file" in agent(str(tmp_path), Settings(), "sage").faults[0]


@pytest.mark.req("XC-009")
def test_a_folder_that_is_a_link_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    soul(outside, "x", "---\nname: Impostor\n---\n", folder="")
    (tmp_path / "root/memory/agents").mkdir(parents=True)
    (tmp_path / "root/memory/agents/sage").symlink_to(outside / "x")
    one = agent(str(tmp_path / "root"), Settings(), "sage")
    assert one.name == "Sage"
    assert "is a symbolic link" in one.faults[0]
    assert known_agents(str(tmp_path / "root"), Settings()) == []


def test_an_illegal_id_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="not a legal agent id"):
        agent(str(tmp_path), Settings(), "../sage")


def test_an_emoji_made_of_several_is_one_line(tmp_path):
    soul(tmp_path, "sage", '---\nemoji: "👩‍💻"\nrole: "Stratège\u00a0: prudent"\n---\n')
    one = agent(str(tmp_path), Settings(), "sage")
    assert one.faults == []
    assert one.emoji == "👩‍💻"


def test_the_family_has_the_emoji_of_the_document_and_others_a_stable_one():
    assert [default_emoji(one) for one in ("henry", "sage", "nova", "blaise")] == list("🦉🦎🌟🧮")
    assert default_emoji("zoe") == default_emoji("zoe")
    assert len({default_emoji(f"agent{number}") for number in range(100)}) > 8


def test_agents_are_those_with_settings_or_a_folder(tmp_path):
    for name in ("sage", "henry", "Not-Legal", ".hidden"):
        (tmp_path / "memory/agents" / name).mkdir(parents=True)
    (tmp_path / "memory/agents/file").write_text("")
    settings = Settings(agents={"nova": AgentSettings(), "sage": AgentSettings()})
    assert known_agents(str(tmp_path), settings) == ["henry", "nova", "sage"]
    assert known_agents(str(tmp_path / "empty"), Settings()) == []


def test_the_folder_of_agents_can_be_moved(tmp_path):
    soul(tmp_path, "sage", SOUL, folder="workspaces/agents")
    settings = Settings(paths={"agents": "workspaces/agents"})
    assert known_agents(str(tmp_path), settings) == ["sage"]
    assert agent(str(tmp_path), settings, "sage").role == "Skeptic"


def test_a_directory_tells_whose_it_is(tmp_path):
    inside = tmp_path / "memory/agents/sage/notes/deep"
    inside.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere/nova"
    elsewhere.mkdir(parents=True)
    (tmp_path / "link").symlink_to(elsewhere)
    settings = Settings(agents={"nova": AgentSettings(workspace="elsewhere/nova")})
    root = str(tmp_path)
    assert agent_of_directory(root, settings, str(inside)) == "sage"
    assert agent_of_directory(root, settings, str(elsewhere)) == "nova"
    assert agent_of_directory(root, settings, str(tmp_path / "link")) == "nova"
    assert agent_of_directory(root, settings, str(tmp_path / "memory/agents")) is None
    assert agent_of_directory(root, settings, str(tmp_path / "elsewhere")) is None
    assert agent_of_directory(root, settings, root) is None


def test_the_nearest_folder_counts_and_a_shared_one_is_nobodys(tmp_path):
    (tmp_path / "work/inner").mkdir(parents=True)
    settings = Settings(
        agents={
            "a": AgentSettings(workspace="work"),
            "b": AgentSettings(workspace="work/inner"),
            "c": AgentSettings(workspace="work"),
        }
    )
    assert agent_of_directory(str(tmp_path), settings, str(tmp_path / "work/inner")) == "b"
    assert agent_of_directory(str(tmp_path), settings, str(tmp_path / "work")) is None


def test_soul_may_lie_in_the_workspace_of_an_agent(tmp_path):
    soul(tmp_path, "nova", "---\nrole: Dreamer\n---\n", folder="elsewhere")
    settings = Settings(agents={"nova": AgentSettings(workspace="elsewhere/nova")})
    assert agent(str(tmp_path), settings, "nova").role == "Dreamer"
