"""Which files an agent may name inside a run: its own, where it works, what is shared."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from council.core.errors import RefusedError
from council.core.trust import run_claim
from council.operations.delegation.permitted import permitted
from council.store.events import tail
from council.store.keys import run_key
from council.store.paths import Workspace
from tests.conftest import Council

HELLO = "art_5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


@pytest.fixture
def house(council: Council, tmp_path: Path) -> Council:
    """Two agents with something of their own, something shared and something outside."""
    assert council("init", "--agents", "owl,fox").code == 0
    for path in (
        council.root / "memory/agents/owl/notes.md",
        council.root / "memory/agents/fox/notes.md",
        council.root / "memory/shared/shared.md",
        council.root / "memory/shared/.council/secret",
        tmp_path / "project/plan.md",
        tmp_path / "outside.md",
        council.root / "top.md",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("hello\n")
    return council


def run_of(house: Council, agent: str = "owl", cwd: Path | None = None) -> dict[str, str]:
    """The environment of a run, as the drivers make it."""
    environ = {
        "COUNCIL_ROOT": str(house.root),
        "COUNCIL_AGENT": agent,
        "COUNCIL_TASK_ID": "c.1.owl.1",
        "COUNCIL_CWD": str(cwd or house.root.parent / "project"),
    }
    key = run_key(Workspace(str(house.root)))
    return {**environ, "COUNCIL_CLAIM": run_claim(key, environ)}


def rejected(house: Council) -> list[dict]:
    return [one for one in tail(Workspace(str(house.root))) if one["type"] == "guard.rejected"]


@pytest.mark.req("P8-001", "XC-009")
@pytest.mark.parametrize(
    ("path", "fine"),
    [
        ("workspace/memory/agents/owl/notes.md", True),
        ("workspace/memory/shared/shared.md", True),
        ("project/plan.md", True),
        ("workspace/memory/agents/fox/notes.md", False),
        ("workspace/memory/shared/.council/secret", False),
        ("workspace/memory/shared/../agents/fox/notes.md", False),
        ("workspace/top.md", False),
        ("outside.md", False),
        ("/etc/passwd", False),
    ],
)
def test_run_reads_its_own_folder_where_it_works_and_what_is_shared(house, tmp_path, path, fine):
    said = house("artifact", "publish", tmp_path / path, env=run_of(house))

    assert said.code == (0 if fine else 6)
    told = rejected(house)
    assert len(told) == (0 if fine else 1)
    assert all((one["agentId"], one["data"]["guard"]) == ("owl", "path") for one in told)
    if not path.startswith("/"):
        assert house("artifact", "publish", tmp_path / path).code == 0, "a person may"


@pytest.mark.req("P8-001")
def test_run_in_the_root_reads_there_and_not_in_the_folders_of_others(house):
    env = run_of(house, cwd=house.root)
    assert house("artifact", "publish", "top.md", env=env).code == 0
    assert house("artifact", "publish", "memory/agents/fox/notes.md", env=env).code == 6
    assert house("artifact", "publish", "memory/shared/.council/secret", env=env).code == 6


@pytest.mark.req("P8-001", "XC-009")
def test_link_that_leads_out_is_refused_and_one_that_stays_is_followed(house, tmp_path):
    own = house.root / "memory/agents/owl"
    (own / "out").symlink_to(tmp_path / "outside.md")
    (own / "fox").symlink_to(house.root / "memory/agents/fox")
    (own / "in").symlink_to(own / "notes.md")

    env = run_of(house)
    assert house("artifact", "publish", own / "out", env=env).code == 6
    assert house("artifact", "publish", own / "fox/notes.md", env=env).code == 6
    assert house("artifact", "publish", own / "in", env=env).code == 0


@pytest.mark.req("P8-001")
@pytest.mark.parametrize(
    "words",
    [
        ("respond", "--file", "F"),
        ("channel", "post", "weather", "--file", "F"),
        ("turn", "end", "weather", "--run-id", "r", "--messages", "F"),
        ("msg", "sign", "M1|W1>O1|S|T1|P1|D|-|0|S1|B5|done", "--key-file", "F"),
        ("msg", "verify", "M1|O1>W1|R|T1|P1|N|-|0|S1|B5|call=x", "--key-file", "F"),
        ("msg", "convert", "M1|O1>W1|R|T1|P1|N|-|0|S1|B5|call=x", "--to", "V4", "--sidecar", "F"),
        ("artifact", "fetch", HELLO, "--out", "F"),
    ],
)
def test_no_command_of_a_run_takes_a_file_of_another_agent(house, words):
    house("artifact", "publish", stdin="hello\n")
    house("agent", "join", "--as", "owl", "--caps", "plan")
    house("convene", "Weather", "--agents", "owl,fox", "--name", "weather")
    house("channel", "create", "chat", "weather", "--participants", "owl,fox")
    secret = house.root / "memory/agents/fox/notes.md"
    before = secret.read_bytes()

    given = [str(secret) if one == "F" else one for one in words]
    said = house(*given, env=run_of(house))

    assert (said.code, said.err.count("\n")) == (6, 1), said.err
    assert "of what this run may use" in said.err or "not where this run may write" in said.err
    assert len(rejected(house)) == 1
    assert secret.read_bytes() == before


@pytest.mark.req("P8-001")
def test_run_writes_over_files_only_in_its_own_folder_or_outside_of_the_workspace(house, tmp_path):
    house("artifact", "publish", stdin="hello\n")
    env = run_of(house, cwd=house.root)
    fetch = ("artifact", "fetch", HELLO, "--out")

    assert house(*fetch, "memory/agents/owl/notes.md", env=env).code == 0
    assert house(*fetch, "new.md", env=env).code == 0
    assert house(*fetch, "new.md", env=env).code == 6
    assert house(*fetch, "memory/shared/new.md", env=env).code == 6
    assert house(*fetch, "council.toml", env=env).code == 6
    assert house(*fetch, tmp_path / "project/plan.md", env=run_of(house)).code == 0
    assert house(*fetch, tmp_path / "outside.md", env=run_of(house)).code == 6
    assert house(*fetch, "memory/agents/fox/new.md", env=env).code == 6


@pytest.mark.req("P8-001")
def test_agent_that_works_in_the_root_owns_nobody_elses_folder(house):
    settings = house.root / "council.toml"
    settings.write_text('[agents.owl]\nworkspace = "."\n')
    environ = run_of(house)

    own = house.root / "memory/agents/owl/notes.md"
    assert permitted(str(own), environ) == str(own)
    with pytest.raises(RefusedError):
        permitted(str(house.root / "memory/agents/fox/notes.md"), environ)
    with pytest.raises(RefusedError):
        permitted(str(settings), environ)


def test_people_and_what_is_no_file_pass(house):
    assert permitted("/etc/passwd", {}) == "/etc/passwd"
    assert permitted("-", run_of(house)) == "-"
    assert permitted("", run_of(house)) == ""


STEALS = """
import subprocess, sys
publish = [sys.executable, "-m", "council", "artifact", "publish"]
tried = ("memory/agents/fox/notes.md", "top.md")
print("exits", [subprocess.run([*publish, one]).returncode for one in tried])
"""


@pytest.mark.req("P8-001", "XC-008")
def test_real_run_is_held_to_its_folders(house):
    (house.root / "steals.py").write_text(STEALS)
    argv = json.dumps([sys.executable, str(house.root / "steals.py")])
    (house.root / "council.toml").write_text(
        f'[agents.owl]\nargv = {argv}\n[agents.fox]\nargv = ["echo", "nothing"]\n'
    )

    assert house("convene", "Weather", "--agents", "owl,fox", "--phases", "collect").code == 0
    assert house("heartbeat", "--wait", "4m").code == 0

    (minutes,) = (house.root / "conseils").glob("*.md")
    assert "exits [6, 0]" in minutes.read_text()
    assert {one["agentId"] for one in rejected(house)} == {"owl"}
