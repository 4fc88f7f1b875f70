"""Making a workspace."""

import os
import re
import tomllib
from pathlib import Path

import pytest

from council.agents import settings, souls
from council.kernel.errors import Invalid
from council.setup import init
from tests.setup.conftest import BARE


def test_a_workspace_has_its_files_and_a_second_call_changes_nothing(tmp_path):
    root = str(tmp_path / "ws")
    made = init.init(root, ["ann", "bob"], "fr", BARE)
    assert _text(root, "memory/shared/.council/format") == "3\n"
    assert settings.load(root).language == "fr"
    assert not settings.load(root).faults
    assert "Liste de contrôle" in _text(root, init.CHECKLIST)
    assert [one.emoji for one in souls.souls(root).values()] == ["🍀", "🐢"]
    assert "council.toml" in made["made"]
    before = {path: path.stat().st_mtime_ns for path in Path(root).rglob("*")}
    again = init.init(root, ["ann", "bob"], "", BARE)
    assert again["made"] == []
    assert {path: path.stat().st_mtime_ns for path in Path(root).rglob("*")} == before


def test_what_people_wrote_is_never_overwritten(tmp_path):
    root = str(tmp_path)
    os.makedirs(f"{root}/skills/council/references")
    for path in ("council.toml", ".gitignore", "skills/council/references/COUNCIL.md"):
        Path(f"{root}/{path}").write_text("# mine\n")
    init.init(root, ["ann"], "", BARE)
    for path in ("council.toml", ".gitignore", "skills/council/references/COUNCIL.md"):
        assert _text(root, path) == "# mine\n"


def test_programs_on_path_become_agents_unless_others_are_named(tmp_path):
    os.mkdir(f"{tmp_path}/bin")
    for name in ("claude", "codex", "ollama", "pi"):
        Path(f"{tmp_path}/bin/{name}").write_text("#!/bin/sh\n")
        os.chmod(f"{tmp_path}/bin/{name}", 0o755)
    env = {"PATH": f"{tmp_path}/bin"}
    made = init.init(f"{tmp_path}/all", [], "", env)
    assert made["agents"] == made["known"] == ["claude", "codex"]
    assert settings.load(f"{tmp_path}/all").agents["codex"].preset == "codex"
    assert made["programs"] == ["claude", "codex", "pi", "ollama"]
    some = init.init(f"{tmp_path}/some", ["claude", "ann"], "", env)
    assert (some["agents"], some["known"]) == (["claude"], ["ann", "claude"])
    with open(f"{tmp_path}/some/council.toml", "rb") as file:
        assert list(tomllib.load(file)["agents"]) == ["claude"]


@pytest.mark.parametrize("mark", ["README", "0f0e0d0c-0000-4000-8000-000000000000/revisions.jsonl"])
def test_a_folder_of_version_0_2_is_refused(tmp_path, mark):
    path = tmp_path / "memory/shared/.council" / mark
    path.parent.mkdir(parents=True)
    path.write_text("")
    with pytest.raises(Invalid, match=r"0\.2") as refused:
        init.init(str(tmp_path), [], "", BARE)
    assert "cda4bd19" in refused.value.hint
    assert not os.path.exists(tmp_path / "council.toml")


def test_the_skill_keeps_to_the_agent_skills_format():
    files = dict(init.skill())
    skill = files["skills/council/SKILL.md"]
    head = re.match(r"---\n(.*?)\n---\n", skill, re.S)
    keys = dict(re.findall(r"^([A-Za-z-]+):\s*(.*)$", head[1], re.M))
    assert set(keys) <= {"name", "description", "license", "compatibility", "metadata"}
    assert keys["name"] == "council" and 1 <= len(keys["description"]) <= 1024
    assert not set(keys["description"]) & set("[]{}#") and ": " not in keys["description"]
    assert len(skill.splitlines()) < 500
    for path, text in files.items():
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert os.path.normpath(f"{os.path.dirname(path)}/{link}") in files


def _text(root, path):
    return Path(f"{root}/{path}").read_text(encoding="utf-8")
