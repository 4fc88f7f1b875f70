"""Adding council to agent programs: all else in their settings stays."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from council.app import App
from council.kernel.errors import Conflict, Invalid
from council.setup import init
from council.setup.integrate import PROGRAMS, integrate
from tests.vectors.rows import tables_of

FILES = {
    "claude": ".claude.json", "codex": ".codex/config.toml", "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/opencode.json",
}  # fmt: skip
SETTINGS = tables_of("settings")
CASES = [(p, text) for p in FILES for text in SETTINGS["toml" if p == "codex" else "json"]]


def path_of(app, program):
    return f"{app.env['HOME']}/{FILES[program]}"


def content(path):
    return Path(path).read_bytes()


def servers(app, program):
    text = Path(path_of(app, program)).read_text(encoding="utf-8")
    if program == "codex":
        return tomllib.loads(text)["mcp_servers"]
    return json.loads(text)["mcp" if program == "opencode" else "mcpServers"]


@pytest.mark.parametrize(("program", "text"), CASES)
def test_what_is_added_is_removed_and_all_else_stays(app, program, text):
    path, text = path_of(app, program), text.replace("KEY", PROGRAMS[program].split()[-1])
    if text:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(path, 0o640)
    done = integrate(app, program, as_="ann")
    assert (done["outcome"], done["settings"]) == ("added", path)
    assert "name: council" in Path(f"{done['skill']}/SKILL.md").read_text(encoding="utf-8")
    after = content(path)
    assert integrate(app, program, as_="ann")["outcome"] == "unchanged"
    assert content(path) == after
    assert integrate(app, program, as_="bea")["outcome"] == "added"  # it acts as another one now
    assert integrate(app, program, remove=True)["outcome"] == "removed"
    assert not os.path.lexists(done["skill"])
    if text:
        same = content(path) == text.encode()
        assert same if program == "codex" else json.loads(content(path)) == json.loads(text)
        assert os.stat(path).st_mode & 0o777 == 0o640
    else:
        assert not os.path.exists(path)
    assert integrate(app, program, remove=True)["outcome"] == "unchanged"


@pytest.mark.parametrize("program", FILES)
def test_the_entry_starts_the_server_of_this_workspace(app, program):
    integrate(app, program, as_="ann")
    entry = servers(app, program)["council"]
    words = entry["command"] if program == "opencode" else [entry["command"], *entry["args"]]
    assert os.access(words[0], os.X_OK) and words[1:] == ["mcp", "--root", app.root, "--as", "ann"]


@pytest.mark.parametrize("program", FILES)
def test_what_the_program_has_written_since_is_kept(app, program):
    integrate(app, program)
    path, table = path_of(app, program), {"other": {"command": "x", "args": []}}
    if program == "codex":
        with open(path, "a", encoding="utf-8") as file:
            file.write(
                '[mcp_servers.council.tools.say]\nmode = "x"\n[mcp_servers.other]\nargs = []\n'
            )
    else:
        key, now = PROGRAMS[program].split()[-1], servers(app, program)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"a": 1, key: {**now, **table}, "b": 2}, file, indent=2)
    assert integrate(app, program, remove=True)["outcome"] == "removed"
    assert [*servers(app, program)] == ["other"]


@pytest.mark.parametrize("program", FILES)
def test_what_is_not_ours_is_neither_replaced_nor_removed(app, program, tmp_path):
    other = tmp_path / "other"
    init.init(str(other), ["ann"], "", {"PATH": "/nonexistent"})
    integrate(App(str(other), env=app.env), program)
    before = content(path_of(app, program))
    with pytest.raises(Conflict, match="which is kept"):
        integrate(app, program)
    assert integrate(app, program, remove=True)["outcome"] == "unchanged"
    assert content(path_of(app, program)) == before
    integrate(App(str(other), env=app.env), program, remove=True)
    skill = integrate(app, program)["skill"]
    integrate(app, program, remove=True)
    os.makedirs(skill)
    with pytest.raises(Conflict):
        integrate(app, program)
    assert not os.path.exists(path_of(app, program))


@pytest.mark.parametrize(("program", "text"), SETTINGS["left"])
def test_settings_that_cannot_be_read_are_left_alone(app, program, text):
    path = path_of(app, program)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")
    with pytest.raises(Invalid) as caught:
        integrate(app, program)
    assert content(path) == text.encode() and app.root in caught.value.hint  # what to add


def test_a_folder_that_a_variable_names_is_used(app, tmp_path):
    app.env["CLAUDE_CONFIG_DIR"] = str(tmp_path / "c")
    done = integrate(app, "claude")
    assert done["settings"] == f"{tmp_path}/c/.claude.json"
    assert done["skill"] == f"{tmp_path}/c/skills/council"
