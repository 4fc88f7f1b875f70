"""OpenClaw: its agents take part, its clock runs the heartbeat, and our plugin serves its rooms.

Each is done by OpenClaw's own commands, which its gateway does not overwrite. What stands is left;
called again, only what is missing is added.
"""

from __future__ import annotations

import os
import shutil

from council.agents import settings
from council.kernel import codec, files, words
from council.kernel.errors import Refusal, Unexpected
from council.kernel.ids import is_name
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import starting
from council.setup import agents, schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from council.app import App

PLUGIN = f"{words.PACKAGE}/setup/files/openclaw"
_ENTRY = "plugins.entries.council"
_PATIENCE = 120.0  # seconds: a start of Node, and the gateway may be busy


def install(app: App) -> dict[str, Any]:
    """Add OpenClaw's agents here, and there the skill, the plugin and the clock.

    Returns:
        What `integrate` returns, `steps` (what was done) and `left` (what was not), in words.

    Raises:
        NotFound: There is no program `openclaw`.
        Unexpected: It refuses; a repeat goes on where this stopped.
    """
    env = app.world
    found = {str(one.get("id")): one for one in _json(env, "agents", "list")}
    steps = _add_agents(app, {key: one for key, one in found.items() if is_name(key)})
    if not os.path.lexists(f"{_state(env)}/skills/council"):
        _called(env, "skills", "install", f"{app.root}/skills/council", "--global")
        steps.append("skill: council, for all agents")
    steps += _add_plugin(app, env) + _add_clock(app, env)
    left = [f"agent {key}: no legal id here" for key in found if not is_name(key)]
    return {**_told(env, "added", steps), "left": left}


def remove(app: App) -> dict[str, Any]:
    """Remove clock, plugin and skill from OpenClaw; agents stay. See `install`.

    Where other workspaces are served too, plugin and skill stay for them.
    """
    env, steps, clock = app.world, list[str](), f"{app.root}/{starting.CLOCK}"
    if job := settings.content(clock):
        _called(env, "cron", "rm", job.decode().strip())
        os.unlink(clock)
        steps.append("clock: removed")
    entry, served, others = _configured(app, env)
    if others and others != served:
        entry["config"]["workspaces"] = others
        _called(env, "config", "set", _ENTRY, codec.dumps(entry), "--strict-json", "--replace")
        steps.append("plugin: stays for other workspaces")
    elif entry and not others:
        _called(env, "plugins", "uninstall", "council", "--force")
        if _configured(app, env)[0]:
            _called(env, "config", "unset", _ENTRY)
        shutil.rmtree(f"{_state(env)}/skills/council", ignore_errors=True)
        steps.append("plugin and skill: removed")
    return _told(env, "removed", steps)


def _told(env: Mapping[str, str], outcome: str, steps: list[str]) -> dict[str, Any]:
    path = env.get("OPENCLAW_CONFIG_PATH") or f"{_state(env)}/openclaw.json"
    made = {"program": "openclaw", "settings": path, "skill": f"{_state(env)}/skills/council"}
    return {**made, "outcome": outcome if steps else "unchanged", "steps": steps}


def _add_agents(app: App, found: dict[str, dict[str, Any]]) -> list[str]:
    """Let OpenClaw's agents take part; one that has a table already stays as it is."""
    fresh = {key: one for key, one in found.items() if key not in app.settings.agents}
    for ident, one in fresh.items():
        own: dict[str, Any] = {key: one.get(f"identity{key.title()}") for key in ("name", "emoji")}
        agents.add(app, ident, driver="openclaw", **({} if app.soul(ident) else own))
    return [f"agent: {ident}" for ident in fresh]


def _add_plugin(app: App, env: Mapping[str, str]) -> list[str]:
    steps, there = list[str](), f"{_state(env)}/extensions/council"
    names = os.listdir(PLUGIN)
    same = (settings.content(f"{PLUGIN}/{n}") == settings.content(f"{there}/{n}") for n in names)
    if not all(same):
        _called(env, "plugins", "install", PLUGIN, "--force", "--accept-capabilities")
        steps.append("plugin: installed")
    before, _, others = _configured(app, env)
    own: dict[str, Any] = {"root": app.root}
    own |= {"relayed": True} if app.settings.tables.get("relay", {}).get("role") == "slave" else {}
    entry = {"enabled": True, "hooks": {"allowConversationAccess": True}}
    entry["config"] = {"command": schedule.command(), "workspaces": [*others, own]}
    if entry != before:
        _called(env, "config", "set", _ENTRY, codec.dumps(entry), "--strict-json")
        steps.append(f"plugin: serves {app.root}")
    return steps


def _add_clock(app: App, env: Mapping[str, str]) -> list[str]:
    path, jobs = f"{app.root}/{starting.CLOCK}", _json(env, "cron", "list", "--all")["jobs"]
    if (settings.content(path) or b"").decode().strip() in [one.get("id") for one in jobs]:
        return []
    made = _json(env, *clock_argv(app))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    files.replace(path, f"{made['id']}\n".encode(), 0o600)
    return ["clock: OpenClaw runs the heartbeat every 5m, without a model"]


def clock_argv(app: App) -> list[str]:
    """Return the command by which OpenClaw's clock runs the heartbeat; it asks no model.

    Its argv is absolute, since a shell there loses PATH; cron expressions would skip ticks.
    """
    ours = [key for key, one in app.settings.agents.items() if one.driver == "openclaw"]
    agent = app.settings.coordinator if app.settings.coordinator in ours else (*ours, "main")[0]
    beat = [*schedule.command(), "heartbeat", "--root", app.root, "--reply-token", "NO_REPLY"]
    argv = ["cron", "add", "--every", "5m", "--name", "council-heartbeat", "--agent", agent]
    argv += ["--command-argv", codec.dumps(beat)]
    return [*argv, "--command-cwd", app.root, "--no-deliver"]


def _state(env: Mapping[str, str]) -> str:
    """Return the folder in which OpenClaw keeps its state."""
    home = env.get("OPENCLAW_HOME") or env.get("HOME") or os.path.expanduser("~")
    return env.get("OPENCLAW_STATE_DIR") or f"{home}/.openclaw"


def _configured(app: App, env: Mapping[str, str]) -> tuple[dict[str, Any], list[Any], list[Any]]:
    """Return our entry of OpenClaw's configuration, {} for none; workspaces, those but this one."""
    try:
        entry: Any = _json(env, "config", "get", _ENTRY)
    except Unexpected:
        entry = {}
    entry = entry if isinstance(entry, dict) else {}
    served = (entry.get("config") or {}).get("workspaces") or []
    return entry, served, [one for one in served if one.get("root") != app.root]


def _json(env: Mapping[str, str], *argv: str) -> Any:
    text = _called(env, *argv, "--json")
    try:
        return codec.loads(text)
    except Refusal:
        what = f"openclaw {' '.join(argv[:2])} printed no JSON"
        raise Unexpected("no-openclaw", what, "see: openclaw doctor") from None


def _called(env: Mapping[str, str], *argv: str) -> str:
    """Run OpenClaw and return what it printed.

    Raises:
        NotFound: It is not there (`no-program`).
        Unexpected: It refuses, or does not end.
    """
    cure = "install it: npm i -g openclaw"
    code, text, errors = schedule.called(["openclaw", *argv], env, cure=cure, seconds=_PATIENCE)
    if code:
        told = errors.partition(" Gateway target: ")[0][:300]
        what, fix = f"openclaw {' '.join(argv[:2])}: {told}", "is its gateway running?"
        raise Unexpected("no-openclaw", what, f"{fix} see: openclaw doctor")
    return text
