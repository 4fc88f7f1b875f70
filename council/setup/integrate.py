"""`council integrate`: our server and skill are put where an agent program looks for them.

Everything else in a settings file stays. JSON with comments would lose them, so it is left to the
person, who is told what to add. The skill is a link to the one of the workspace.

OpenClaw's agents take part, its clock runs the heartbeat, and our plugin serves its rooms. Each is
done by its own commands, which its gateway does not overwrite; a repeat adds what is missing.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Mapping
from contextlib import suppress

from council.agents import settings
from council.kernel import codec, files, words
from council.kernel.errors import Conflict, Invalid, Refusal, Unexpected
from council.kernel.ids import is_name
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import starting
from council.setup import agents, keys, schedule

if TYPE_CHECKING:
    from council.app import App

NAME = "council"
# The variable with a folder, the usual one below HOME, the settings (and those of a folder that is
# named), the skills, and the member of JSON settings that has the servers; TOML has none.
PROGRAMS = {
    "claude": "CLAUDE_CONFIG_DIR .claude ../.claude.json|.claude.json skills mcpServers",
    "codex": "CODEX_HOME .codex config.toml skills -",
    "gemini": "GEMINI_CLI_HOME . .gemini/settings.json .gemini/skills mcpServers",
    "opencode": "XDG_CONFIG_HOME .config opencode/opencode.json opencode/skills mcp",
}
PLUGIN = f"{words.PACKAGE}/setup/files/openclaw"
_ENTRY = "plugins.entries.council"  # in OpenClaw's configuration
_PATIENCE = 120.0  # seconds: a start of Node, and the gateway may be busy
_TABLES = re.compile(rf"\n?^\[mcp_servers\.{NAME}[.\]].*(?:\n(?!\[).*)*\n?", re.M)


def integrate(app: App, program: str, remove: bool = False, as_: str = "") -> dict[str, Any]:
    """Add council to a program for this user, or take it out again; a repeat changes nothing.

    `as_` is the agent that the program acts as, "" for a person.
    """
    if program == "openclaw":
        return _OPENCLAW[remove](app)
    variable, usual, file, skills, key = PROGRAMS[program].split()
    named = app.env.get(variable, "")
    base = named or f"{keys.home(app.env)}/{usual}"
    path = os.path.normpath(f"{base}/{file.split('|')[-1 if named else 0]}")
    path, skill = os.path.realpath(path), os.path.normpath(f"{base}/{skills}/{NAME}")
    ours, argv = f"{app.root}/skills/{NAME}", [*schedule.command(), "mcp", "--root", app.root]
    argv += ["--as", as_] if as_ else []
    with files.reported("change", path):
        found = files.read(path)
        before = after = found[0] if found else b""
        there, linked = _argv(before, key, path, argv), os.path.lexists(skill)
        is_linked = linked and os.path.islink(skill) and os.readlink(skill) == ours
        is_other = bool(there) and app.root not in there
        if not remove and (is_other or linked is not is_linked):
            what = f"{path if is_other else skill} has another {NAME}, which is kept"
            raise Conflict("not-ours", what, "remove it there first")
        if (there != argv or remove) and not (is_other or (remove and not there)):
            after = _changed(before, key, [] if remove else argv)
            _argv(after, key, path, argv)  # it can be read
        if after != before:
            _write(path, after, found)
        if is_linked and remove:
            os.unlink(skill)
            with suppress(OSError):
                os.rmdir(os.path.dirname(skill))  # if nothing else is in it
        elif not remove and not is_linked:
            os.makedirs(os.path.dirname(skill), exist_ok=True)
            os.symlink(ours, skill)
    is_same = after == before and is_linked is not remove
    outcome = "unchanged" if is_same else "removed" if remove else "added"
    return {"program": program, "settings": path, "skill": skill, "outcome": outcome}


def _write(path: str, data: bytes, found: Any) -> None:
    """Write settings with the owner and mode that they had; remove them if nothing is left."""
    if not data:
        return os.unlink(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    new = f"{path}.{os.getpid()}"
    files.fill(new, data, 0o600, durable=True, like=files.Seen(*found) if found else None)
    os.rename(new, path)
    return files.sync_folder(os.path.dirname(path))


def _entry(key: str, argv: list[str]) -> dict[str, Any]:
    """Return our server as JSON settings have it."""
    if key == "mcp":
        return {"type": "local", "command": argv}
    return {"command": argv[0], "args": argv[1:]}


def _argv(data: bytes, key: str, path: str, argv: list[str]) -> list[str]:
    """Return the command of the server of our name, [] where there is none."""
    form, hint = "TOML 1.0", f"change with codex mcp: {NAME} -- {shlex.join(argv)}"  # it reads 1.1
    try:
        if key == "-":
            entry = tomllib.loads(data.decode()).get("mcp_servers", {}).get(NAME)
        else:
            form, hint = "JSON", "change by hand: " + codec.dumps({key: {NAME: _entry(key, argv)}})
            entry = codec.loads(data or "{}").get(key, {}).get(NAME)
        command = entry.get("command", "?") if entry is not None else []
        return [command, *entry.get("args", [])] if isinstance(command, str) else [*command]
    except (ValueError, AttributeError, Invalid):
        raise Invalid("bad-settings", f"{path} is not plain {form}", hint) from None


def _changed(data: bytes, key: str, argv: list[str]) -> bytes:
    """Return settings with the server that `argv` starts in place of ours; [] is none."""
    text = data.decode()
    if key == "-":
        text, quoted = _TABLES.sub("", text), [codec.dumps(one) for one in argv]
        table = f"[mcp_servers.{NAME}]\ncommand = {''.join(quoted[:1])}\n"
        table += f"args = [{', '.join(quoted[1:])}]\n"
        return (text + ("\n" * bool(text) + table) * bool(argv)).encode()
    made = json.loads(text or "{}")
    servers = made.setdefault(key, {})
    servers.pop(NAME, None)
    if argv:
        servers[NAME] = _entry(key, argv)
    elif not servers:
        del made[key]
    space = re.search(r'^([ \t]+)"', text, re.M)
    text = json.dumps(made, indent=space[1] if space else 2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace") if made else b""


# --- OpenClaw ---


def install(app: App) -> dict[str, Any]:
    """Add OpenClaw's agents here, and there the skill, the plugin and the clock.

    `integrate` returns this, too; `steps` says what was done, `left` what was not.
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
    home = env.get("OPENCLAW_HOME") or keys.home(env)
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
    """Run OpenClaw and return what it printed."""
    cure = "install it: npm i -g openclaw"
    code, text, errors = schedule.called(["openclaw", *argv], env, cure=cure, seconds=_PATIENCE)
    if code:
        told = errors.partition(" Gateway target: ")[0][:300]
        what, fix = f"openclaw {' '.join(argv[:2])}: {told}", "is its gateway running?"
        raise Unexpected("no-openclaw", what, f"{fix} see: openclaw doctor")
    return text


_OPENCLAW = {False: install, True: remove}  # by whether it is taken out
