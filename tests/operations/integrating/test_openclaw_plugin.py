"""The plugin of OpenClaw in a real Node, where one is: each hook, and each that goes wrong."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from council.operations.integrating.openclaw import PACKAGE_PLUGIN
from tests.cli.commands import wait_until

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node")

# Registers the plugin, then calls the hooks that it is told to, as OpenClaw does.
CALLS = """
const { default: plugin } = await import(process.argv[1]);
const { config, calls } = JSON.parse(process.argv[2]);
const hooks = {};
plugin.register({ pluginConfig: config, on: (name, hook) => { hooks[name] = hook; } });
const said = [];
for (const [name, event, ctx] of calls) said.push((await hooks[name](event, ctx)) ?? null);
console.log(JSON.stringify(said));
process.exit(); // nothing that still waits is of interest
"""
KEY = "agent:henry:council:c1"
ROOM = "agent:sage:discord:channel:kitchen"


class Plugin:
    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.shared = folder / "root" / "shared"
        self.asked = folder / "asked"
        (self.state / "council").mkdir(parents=True)
        (self.shared / "channels").mkdir(parents=True)
        self.program, self.relayed = folder / "council", False
        self.answers('{"allowed": false}')

    def answers(self, said: str, *, then: str = "") -> None:
        """Let the program that stands for council print something at each call."""
        line = f'echo "$@" >> "{self.asked}"\n{then}\n'
        self.program.write_text(f"#!/bin/sh\n{line}cat <<'END'\n{said}\nEND\n")
        self.program.chmod(0o755)

    def leave(self, told: object, mode: int = 0o600) -> Path:
        path = self.state / "council" / f"{hashlib.sha256(KEY.encode()).hexdigest()}.json"
        path.write_text(told if isinstance(told, str) else json.dumps(told))
        path.chmod(mode)
        return path

    def __call__(self, *calls: tuple[str, object, object]) -> list[object]:
        root, shared = str(self.shared.parent), str(self.shared)
        workspace = {"root": root, "shared": shared, "relayed": self.relayed}
        told = {"command": [str(self.program)], "workspaces": [workspace]}
        done = subprocess.run(
            [
                *(str(NODE), "--input-type=module", "-e", CALLS, f"{PACKAGE_PLUGIN}/index.js"),
                json.dumps({"config": told, "calls": calls}),
            ],
            env={"OPENCLAW_STATE_DIR": str(self.state), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        found: list[object] = json.loads(done.stdout)
        return found

    def calls(self) -> list[str]:
        return self.asked.read_text().splitlines() if self.asked.exists() else []


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


@pytest.mark.req("CL-003", "CL-006")
def test_the_shell_of_the_session_of_a_run_gets_its_variables_and_no_other_shell_any(plugin):
    own = {"COUNCIL_TOKEN": "t", "COUNCIL_ROOT": "/r", "traceparent": "00-1"}
    plugin.leave({"env": {**own, "LD_PRELOAD": "/x", "COUNCIL_TOUR": 1}})
    keys = (KEY, KEY.upper(), f"{KEY}2", "agent:henry:main", "", None)
    said = plugin(*(("resolve_exec_env", {"sessionKey": one}, {}) for one in keys))
    assert said[0] == own
    assert said[1:] == [None] * 5


@pytest.mark.req("CL-006")
@pytest.mark.parametrize(
    ("told", "mode"),
    [
        ("{", 0o600),
        ("null", 0o600),
        ("[]", 0o600),
        ("", 0o600),
        ('{"env":{"COUNCIL_X":"1"}}', 0o644),
    ],
)
def test_a_note_that_is_broken_or_that_others_may_read_gives_nothing(plugin, told, mode):
    plugin.leave(told, mode)
    (said,) = plugin(("resolve_exec_env", {"sessionKey": KEY}, {}))
    assert said in (None, {})


def test_a_link_in_the_place_of_a_note_gives_nothing(plugin, tmp_path):
    plugin.leave({"env": {"COUNCIL_X": "1"}}).rename(tmp_path / "there")
    (plugin.state / "council" / f"{hashlib.sha256(KEY.encode()).hexdigest()}.json").symlink_to(
        tmp_path / "there"
    )
    assert plugin(("resolve_exec_env", {"sessionKey": KEY}, {})) == [None]


@pytest.mark.req("CL-006")
def test_in_a_room_the_one_without_the_floor_is_silenced_and_elsewhere_none_is_asked(plugin):
    (plugin.shared / "channels" / "kitchen.md").write_text("a room")
    ctx = {"sessionKey": ROOM, "agentId": "sage", "runId": "r1"}
    elsewhere = [{**ctx, "sessionKey": one} for one in (KEY, "agent:sage:main", f"{ROOM}x", None)]
    said = plugin(
        ("before_agent_reply", {}, ctx), *(("before_agent_reply", {}, x) for x in elsewhere)
    )
    assert said == [{"handled": True}, None, None, None, None]
    root = plugin.shared.parent
    assert plugin.calls() == [f"turn begin kitchen --as sage --root {root} --json --run-id r1"]


@pytest.mark.req("CL-006")
@pytest.mark.parametrize("said", ['{"allowed": true}', "no json", "[]", ""])
def test_a_turn_that_may_begin_or_of_which_nothing_is_known_goes_on(plugin, said):
    (plugin.shared / "channels" / "kitchen.md").write_text("a room")
    plugin.answers(said)
    ctx = {"sessionKey": ROOM, "agentId": "sage", "runId": "r1"}
    assert plugin(("before_agent_reply", {}, ctx)) == [None]
    plugin.answers('{"allowed": false}', then="exit 3")
    assert plugin(("before_agent_reply", {}, ctx)) == [None]
    plugin.program.unlink()
    assert plugin(("before_agent_reply", {}, ctx)) == [None]


@pytest.mark.req("CL-006")
@pytest.mark.parametrize(("success", "how"), [(True, "--messages -"), (False, "--text NO_REPLY")])
def test_the_end_of_a_turn_in_a_room_is_reported_once_failed_or_not(plugin, success, how):
    (plugin.shared / "channels" / "kitchen.md").write_text("a room")
    plugin.answers('{"allowed": true}')
    ctx = {"sessionKey": ROOM, "agentId": "sage", "runId": "r1"}
    end = ("agent_end", {"success": success, "runId": "r1", "messages": [{"role": "user"}]}, ctx)
    plugin(("before_agent_reply", {}, ctx), end, end)
    root = plugin.shared.parent
    assert plugin.calls()[1:] == [f"turn end kitchen --as sage --root {root} --run-id r1 {how}"]


@pytest.mark.req("CL-006", "DG-156", "DG-160")
def test_on_a_slave_the_master_is_asked_about_each_room_and_gets_its_anchor_back(plugin):
    plugin.relayed = True
    plugin.answers('{"allowed": true, "currentSpeaker": "sage", "anchor": 12}')
    ctx = {"sessionKey": ROOM, "agentId": "sage", "runId": "r1"}
    end = ("agent_end", {"success": True, "runId": "r1", "messages": []}, ctx)
    plugin(
        ("before_agent_reply", {}, ctx), ("before_agent_reply", {}, {**ctx, "sessionKey": KEY}), end
    )
    whose = f"kitchen --as sage --root {plugin.shared.parent}"
    assert plugin.calls() == [
        f"turn begin {whose} --json --run-id r1",
        f"turn end {whose} --run-id r1 --anchor 12 --messages -",
    ]
    plugin.answers('{"allowed": false, "reason": "master_unreachable"}')
    assert plugin(("before_agent_reply", {}, ctx)) == [{"handled": True}]


@pytest.mark.req("CL-006")
def test_a_turn_that_ends_starts_a_heartbeat_only_where_a_council_is_open(plugin):
    end = ("agent_end", {"success": True}, {"sessionKey": "agent:henry:main"})
    plugin(end)
    assert plugin.calls() == []
    (plugin.shared / "council-active-conversation.md").write_text("open")
    plugin(end, end)
    wait_until(plugin.calls)
    assert plugin.calls() == [f"heartbeat --root {plugin.shared.parent}"]


def test_why_a_turn_of_a_council_failed_is_left_for_the_driver(plugin):
    note = plugin.leave({"env": {"COUNCIL_X": "1"}})
    (plugin.shared / "council-active-conversation.md").write_text("open")
    plugin(("agent_end", {"success": False, "error": "429 slow down"}, {"sessionKey": KEY}))
    assert note.with_suffix(".seen").read_text() == "429 slow down"
    plugin(("agent_end", {"success": True}, {"sessionKey": KEY}))
    assert not note.with_suffix(".seen").exists()
    assert plugin.calls() == []  # what started the turn goes on by itself
