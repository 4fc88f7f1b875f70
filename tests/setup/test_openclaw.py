"""OpenClaw set up by its own commands, of which a small program does what the real ones do."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from council.agents.settings import AgentSettings
from council.app import App
from council.kernel.ids import digest
from council.rooms import decisions, service
from council.rooms.row import ROOMS
from council.setup import init, schedule
from council.setup.integrate import PLUGIN, integrate
from tests.scenarios.workspaces import COMMAND, Workspace
from tests.setup.conftest import BARE

STAND_IN = f"""#!{sys.executable}
import json, os, shutil, sys
home, words = os.environ["HOME"], [one for one in sys.argv[1:] if one != "--json"]
state = home + "/.openclaw"
def load(): return json.load(open(home + "/config")) if os.path.exists(home + "/config") else {{}}
def save(made): json.dump(made, open(home + "/config", "w"))
open(home + "/calls", "a").write(json.dumps(sys.argv[1:]) + chr(10))
config, verb = load(), words[:2]
if verb == ["agents", "list"]:
    print(open(home + "/agents").read())
elif verb == ["config", "get"]:
    if words[2] not in config: sys.exit("[openclaw] Reason: not set")
    print(json.dumps(config[words[2]]))
elif verb == ["config", "set"]: save({{**config, words[2]: json.loads(words[3])}})
elif verb == ["config", "unset"]: save({{k: v for k, v in config.items() if k != words[2]}})
elif verb == ["plugins", "install"]: shutil.copytree(words[2], state + "/extensions/council")
elif verb == ["plugins", "uninstall"]: shutil.rmtree(state + "/extensions/council")
elif verb == ["skills", "install"]: shutil.copytree(words[2], state + "/skills/council")
elif verb == ["cron", "add"]:
    save({{**config, "job": words}}); print(json.dumps({{"id": "j-1"}}, indent=1))
elif verb == ["cron", "list"]:
    print(json.dumps({{"jobs": [{{"id": "j-1"}}] if "job" in config else []}}))
elif verb == ["cron", "rm"]: save({{k: v for k, v in config.items() if k != "job"}})
"""
AGENTS = [
    {"id": "henry", "identityName": "Henry the Elder", "identityEmoji": "🦉", "isDefault": True},
    {"id": "sage"},
    {"id": "No Name"},
]


class Host:
    """A user with OpenClaw, and a workspace of sage's."""

    def __init__(self, root: Path) -> None:
        self.home, self.root = root / "home", str(root / "ws")
        for path, text in (("bin/openclaw", STAND_IN), ("home/agents", json.dumps(AGENTS))):
            (root / path).parent.mkdir()
            (root / path).write_text(text)
            (root / path).chmod(0o755)
        self.env = {"PATH": f"{root}/bin:{os.environ['PATH']}", "HOME": str(self.home)}
        init.init(self.root, ["sage"], "", BARE)

    def app(self, root: str = "") -> App:
        return App(root or self.root, None, self.env)

    def config(self) -> dict:
        return json.loads((self.home / "config").read_text())

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return Workspace(Path(self.root)).run(*words, **self.env, OPENCLAW_SHELL="exec")


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_agents_skill_plugin_and_clock_are_added_once(host):
    made = integrate(host.app(), "openclaw")
    assert [one.split(":")[0] for one in made["steps"]] == [
        *("agent", "agent", "skill", "plugin", "plugin", "clock")
    ]
    assert made["left"] == ["agent No Name: no legal id here"]
    assert (made["outcome"], made["settings"]) == ("added", f"{host.home}/.openclaw/openclaw.json")
    henry, sage = (host.app().settings.agents[one] for one in ("henry", "sage"))
    assert (henry.driver, sage.driver) == ("openclaw", "openclaw")
    assert host.app().soul("henry").name == "Henry the Elder"
    entry = host.config()["plugins.entries.council"]
    assert entry["config"]["workspaces"] == [{"root": host.root}]
    assert entry["hooks"] == {"allowConversationAccess": True}
    argv = host.config()["job"]
    beat = json.loads(argv[argv.index("--command-argv") + 1])
    assert os.path.isabs(beat[0]) and beat[-2:] == ["--reply-token", "NO_REPLY"]
    (told,) = schedule.schedule(host.app(), cron=True)["warnings"]
    assert "integrate openclaw" in told
    assert [one["kind"] for one in host.app().clocks()] == ["openclaw"]
    assert integrate(host.app(), "openclaw")["steps"] == []
    steps = ["clock: removed", "plugin and skill: removed"]
    assert integrate(host.app(), "openclaw", remove=True)["steps"] == steps
    assert host.config() == {}
    assert host.app().clocks() == []
    assert integrate(host.app(), "openclaw", remove=True)["outcome"] == "unchanged"


def test_other_workspaces_are_served_on(host):
    other = f"{host.root}-2"
    init.init(other, ["sage"], "", BARE)
    integrate(host.app(), "openclaw")
    integrate(host.app(other), "openclaw")
    integrate(host.app(), "openclaw", remove=True)
    served = host.config()["plugins.entries.council"]["config"]["workspaces"]
    assert served == [{"root": other}]


def test_an_agents_shell_asks_the_clock_or_says_whom_to_wake(host):
    integrate(host.app(), "openclaw")
    done = host.run("convene", "Tabs?", "--agents", "henry,sage", "--json")
    waits = {"henry": "openclaw-clock", "sage": "openclaw-clock"}
    assert json.loads(done.stdout)["waiting"] == waits
    done = host.run("heartbeat", "--reply-token", "NO_REPLY")
    assert (done.stdout, done.stderr) == ("NO_REPLY\n", "")
    integrate(host.app(), "openclaw", remove=True)
    done = host.run("heartbeat", "--reply-token", "NO_REPLY")
    assert "NO_REPLY" not in done.stdout
    told = [f"wake {one} with sessions_send: run `council context" for one in ("henry", "sage")]
    assert all(line.startswith(told[at]) for at, line in enumerate(done.stderr.splitlines()))
    calls = (host.home / "calls").read_text().splitlines()
    assert '["cron", "run", "j-1"]' in calls and not any('["agent"' in one for one in calls)


@pytest.mark.slow
def test_rooms_are_found_by_their_channel_and_leave_turns_to_openclaw(host):
    service.create(host.app(), "chat", "kitchen", "anna", ["henry", "sage"])
    room, claw = ROOMS.document(host.app(), "kitchen").peek(), AgentSettings(driver="openclaw")
    ours, hook = f"henry {room.channel_id}.1.henry.1", "henry r1"
    for ended, starts in (([], True), ([ours], True), ([ours, hook], False)):
        room.ended_runs = ended
        assert ROOMS.starts(room, claw) is starts
    assert ROOMS.starts(room, AgentSettings(driver="command"))
    channel = "123456789012345678"
    service.change(host.app(), "kitchen", "a", decisions.tie, channel)
    assert service.named(host.app(), channel) == "kitchen"
    assert not ROOMS.starts(ROOMS.document(host.app(), "kitchen").peek(), claw)


# --- The plugin, in a real Node

NODE = shutil.which("node")
GUIDE = "## Topic\nWhich colour?\n## Goals\nOne.\n## Completion criteria\nAll agree."
ROOM = {"sessionKey": "agent:sage:discord:channel:kitchen", "agentId": "sage", "runId": "r1"}


class Plugin:
    """The plugin with the real command, in a workspace of henry and sage."""

    def __init__(self, root: Path) -> None:
        self.root = str(root / "ws")
        init.init(self.root, ["henry", "sage"], "", BARE)

    def __call__(self, *calls: tuple) -> list:
        config = {"command": COMMAND, "workspaces": [{"root": self.root}]}
        argv = [str(NODE), f"{os.path.dirname(__file__)}/calls.mjs", f"{PLUGIN}/index.js"]
        argv.append(json.dumps({"config": config, "calls": calls}))
        done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=True)
        return json.loads(done.stdout)


@pytest.fixture
def plugin(tmp_path):
    if NODE is None:
        pytest.skip("there is no node")
    return Plugin(tmp_path)


@pytest.mark.slow
def test_turns_in_a_room(plugin):
    other = {**ROOM, "sessionKey": "agent:sage:main"}
    henry = {"sessionKey": "agent:henry:discord:channel:kitchen", "agentId": "henry", "runId": "r2"}
    made = {"name": "kitchen", "participants": ["henry", "sage"]}
    begins = [("hook", "before_agent_reply", {}, ctx) for ctx in (ROOM, other, henry)]
    talk = [{"role": "user", "content": "Q?"}, {"role": "assistant", "content": "The blue one."}]
    end = ("hook", "agent_end", {"success": True, "messages": talk}, henry)
    said = plugin(("tool", "create-chat-channel", made, {"agentId": "sage"}), *begins, end, end)
    assert said[0]["speakers"] == ["henry", "sage"]
    assert said[1:] == [{"handled": True}, None, None, None, None]
    w, channel = Workspace(Path(plugin.root)), "123456789012345678"
    room = w.json("show", "kitchen")
    assert room["currentSpeaker"] == "sage"
    assert [one["content"] for one in room["messages"]] == ["The blue one."]
    w.run("channel", "tie", "kitchen", "--discord", channel)
    henry["sessionKey"] = f"agent:henry:discord:channel:{channel}"
    assert plugin(("hook", "before_agent_reply", {}, henry)) == [{"handled": True}]


@pytest.mark.slow
def test_tools_and_the_command_of_document_001(plugin):
    me, summary = {"agentId": "henry"}, "memory/shared/discussion-summary/s.md"
    os.makedirs(os.path.dirname(f"{plugin.root}/{summary}"))
    Path(plugin.root, summary).write_text("Blue.")
    guide = {"discussion-guide": GUIDE, "participants": ["henry", "sage"], "name": "colour"}
    ctx = {"channel": "discord", "sessionKey": "agent:henry:discord:group:den", "senderId": "7"}
    modes = [
        ("command", "set-channel-mode", {}, {**ctx, "args": one})
        for one in ("none", "chat", "report", "work", "--help", "")
    ]
    said = plugin(
        ("tool", "create-report-channel", {"name": "news"}, me),
        ("tool", "create-work-channel", {"name": "desk", "members": ["sage"]}, me),
        ("tool", "create-discussion-channel", guide, me),
        ("tool", "discussion-complete", {"discussion-channel": "colour", "summary": summary}, me),
        ("tool", "discussion-complete", {"discussion-channel": "news", "summary": summary}, me),
        ("tool", "dirigent-register", {"discordUserId": "123456789012345678"}, me),
        ("tool", "create-report-channel", {"name": "news"}, {}),
        ("schema", "create-discussion-channel", {}, me),
        *modes,
    )
    assert [one["mode"] for one in said[:4]] == ["report", "work", "discussion", "discussion"]
    assert said[3]["turnState"] == "archived"
    assert "news is no discussion" in said[4]
    assert said[5]["agentId"] == "henry"
    assert "no agent or no workspace" in said[6]
    assert said[7]["required"] == ["discussion-guide", "participants"]
    assert said[8:11] == ["Mode: none", "Mode: chat", "Mode: report"]
    assert "cannot become a work room" in said[11]
    assert said[12:] == ["Say none, chat or report."] * 2
    identities = Path(plugin.root, "memory/shared/identities.json").read_text()
    assert json.loads(identities)[0]["agentId"] == "henry"


@pytest.mark.slow
def test_shells_know_their_agent_and_only_those_of_a_run_its_token(plugin):
    key, folder = "agent:henry:council:c1", Path(plugin.root, "memory/shared/.council/openclaw")
    folder.mkdir(mode=0o700)
    note = folder / f"{digest(key)}.json"
    given = {"COUNCIL_TOKEN": "t", "TRACEPARENT": "00", "LD_PRELOAD": "/x", "COUNCIL_TOUR": 1}
    note.write_text(json.dumps(given))
    note.chmod(0o600)
    asks = [("hook", "resolve_exec_env", {"sessionKey": one}, {"agentId": "henry"}) for one in (
        key, f"{key}2", "agent:henry:main")]  # fmt: skip
    who = {"sessionKey": "agent:x:main"}, {"agentId": "x/../henry"}
    stranger = ("hook", "resolve_exec_env", *who)
    of_run = {"COUNCIL_TOKEN": "t", "TRACEPARENT": "00"}
    place = {"COUNCIL_ROOT": plugin.root, "COUNCIL_AGENT": "henry"}
    assert plugin(*asks, stranger) == [of_run, place, place, None]
    note.chmod(0o644)
    assert plugin(asks[0]) == [place]
