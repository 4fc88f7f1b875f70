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
from contextlib import suppress

from council.agents import settings
from council.kernel import codec, files, words
from council.kernel.errors import Conflict, Invalid, Unexpected
from council.kernel.ids import is_name
from council.kernel.record import TYPE_CHECKING, Any
from council.runs import starting
from council.setup import agents, keys, schedule

if TYPE_CHECKING:
    from council.app import App

NAME = "council"
TOML = "mcp_servers"
# The variable with a folder, the usual one below HOME, the settings (and those of a folder that is
# named), the skills, and the member of the settings that has the servers.
PROGRAMS = {
    "claude": "CLAUDE_CONFIG_DIR .claude ../.claude.json|.claude.json skills mcpServers",
    "codex": f"CODEX_HOME .codex config.toml skills {TOML}",
    "gemini": "GEMINI_CLI_HOME . .gemini/settings.json .gemini/skills mcpServers",
    "opencode": "XDG_CONFIG_HOME .config opencode/opencode.json opencode/skills mcp",
}
PLUGIN = f"{words.PACKAGE}/setup/files/openclaw"
_ENTRY = "plugins.entries.council"  # in OpenClaw's configuration
_TABLES = re.compile(rf"\n?^\[{TOML}\.{NAME}[.\]].*(?:\n(?!\[).*)*\n?", re.M)


def integrate(app: App, program: str, remove: bool = False, as_: str = "") -> dict[str, Any]:
    """Add council to a program for this user, or take it out again; a repeat changes nothing.

    `as_` is the agent that the program acts as, "" for a person. Of OpenClaw `steps` says what was
    done, `left` what was not.
    """
    if program == "openclaw":
        host = OpenClaw(app)
        return host.remove() if remove else host.install()
    variable, usual, file, skills, key = PROGRAMS[program].split()
    named = app.env.get(variable, "")
    base = named or f"{keys.home(app.env)}/{usual}"
    path = os.path.normpath(f"{base}/{file.split('|')[-1 if named else 0]}")
    path, skill = os.path.realpath(path), os.path.normpath(f"{base}/{skills}/{NAME}")
    ours = f"{app.root}/skills/{NAME}"
    argv = [*schedule.command(), "mcp", "--root", app.root, *(["--as", as_] if as_ else [])]
    with files.reported("change", path):
        found = files.read(path)
        before = after = found[0] if found else b""
        there = _argv(before, key, path, argv)
        link = os.readlink(skill) if os.path.islink(skill) else "?" * os.path.lexists(skill)
        is_other = bool(there) and app.root not in there
        if not remove and (is_other or link not in ("", ours)):
            what = f"{path if is_other else skill} has another {NAME}, which is kept"
            raise Conflict("not-ours", what, "remove it there first")
        if not is_other and there != (wanted := [] if remove else argv):
            after = _changed(before, key, wanted)
            _argv(after, key, path, argv)  # it can be read
        if after != before and after:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            new, like = f"{path}.{os.getpid()}", files.Seen(*found) if found else None
            files.fill(new, after, 0o600, durable=True, like=like)
            os.rename(new, path)
        elif after != before:
            os.unlink(path)
        if remove and link == ours:
            os.unlink(skill)
        elif not remove and not link:
            os.makedirs(os.path.dirname(skill), exist_ok=True)
            os.symlink(ours, skill)
    is_same = after == before and (link == ours) is not remove
    outcome = "unchanged" if is_same else "removed" if remove else "added"
    return {"program": program, "settings": path, "skill": skill, "outcome": outcome}


def _entry(key: str, argv: list[str]) -> dict[str, Any]:
    """Return our server as settings have it."""
    if key == "mcp":
        return {"type": "local", "command": argv}
    return {"command": argv[0], "args": argv[1:]}


def _argv(data: bytes, key: str, path: str, argv: list[str]) -> list[str]:
    """Return the command of the server of our name, [] where there is none."""
    form, hint = "JSON", "change by hand: " + codec.dumps({key: {NAME: _entry(key, argv)}})
    if key == TOML:  # codex reads 1.1
        form, hint = "TOML 1.0", f"change with codex mcp: {NAME} -- {shlex.join(argv)}"
    try:
        found = tomllib.loads(data.decode()) if key == TOML else codec.loads(data or "{}")
        entry = found.get(key, {}).get(NAME, {"command": []})
        command = entry.get("command", "?")
        return [command, *entry.get("args", [])] if isinstance(command, str) else [*command]
    except (ValueError, AttributeError, Invalid):
        raise Invalid("bad-settings", f"{path} is not plain {form}", hint) from None


def _changed(data: bytes, key: str, argv: list[str]) -> bytes:
    """Return settings with the server that `argv` starts in place of ours; [] is none."""
    text = data.decode()
    if key == TOML:
        text = _TABLES.sub("", text)
        if argv:
            rows = [f"{name} = {codec.dumps(one)}\n" for name, one in _entry(key, argv).items()]
            text += "\n" * bool(text) + f"[{TOML}.{NAME}]\n{''.join(rows)}"
        return text.encode()
    made = json.loads(text or "{}")
    servers = made.setdefault(key, {})
    servers.pop(NAME, None)
    servers |= {NAME: _entry(key, argv)} if argv else {}
    if not servers:
        del made[key]
    space = re.search(r'^([ \t]+)"', text, re.M)
    text = json.dumps(made, indent=space[1] if space else 2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace") if made else b""


class OpenClaw:
    """OpenClaw, as its commands show and change it; `steps` are the changes."""

    def __init__(self, app: App) -> None:
        self.app, self.env, self.steps = app, app.world, list[str]()
        home = self.env.get("OPENCLAW_HOME") or keys.home(self.env)
        self.state = self.env.get("OPENCLAW_STATE_DIR") or f"{home}/.openclaw"
        self.skill, self.clock = f"{self.state}/skills/{NAME}", f"{app.root}/{starting.CLOCK}"

    def install(self) -> dict[str, Any]:
        """Add its agents here, and there the skill, the plugin and the clock."""
        found = {str(one.get("id")): one for one in self._json("agents", "list")}
        for ident in [a for a in found if is_name(a) and a not in self.app.settings.agents]:
            own = {key: found[ident].get(f"identity{key.title()}") for key in ("name", "emoji")}
            agents.add(self.app, ident, driver="openclaw", **({} if self.app.soul(ident) else own))
            self.steps.append(f"agent: {ident}")
        if not os.path.lexists(self.skill):
            self._called("skills", "install", f"{self.app.root}/skills/{NAME}", "--global")
            self.steps.append("skill: council, for all agents")
        self._add_plugin()
        self._add_clock()
        left = [f"agent {one}: no legal id here" for one in found if not is_name(one)]
        return {**self._told("added"), "left": left}

    def remove(self) -> dict[str, Any]:
        """Remove the clock; plugin and skill, too, unless other workspaces are served."""
        if job := settings.content(self.clock):
            self._called("cron", "rm", job.decode().strip())
            os.unlink(self.clock)
            self.steps.append("clock: removed")
        entry, served, others = self._configured()
        if others and others != served:
            entry["config"]["workspaces"] = others
            self._called("config", "set", _ENTRY, codec.dumps(entry), "--strict-json", "--replace")
            self.steps.append("plugin: stays for other workspaces")
        elif entry and not others:
            self._called("plugins", "uninstall", NAME, "--force")
            if self._configured()[0]:
                self._called("config", "unset", _ENTRY)
            shutil.rmtree(self.skill, ignore_errors=True)
            self.steps.append("plugin and skill: removed")
        return self._told("removed")

    def _told(self, outcome: str) -> dict[str, Any]:
        path = self.env.get("OPENCLAW_CONFIG_PATH") or f"{self.state}/openclaw.json"
        made = {"program": "openclaw", "settings": path, "skill": self.skill, "steps": self.steps}
        return {**made, "outcome": outcome if self.steps else "unchanged"}

    def _add_plugin(self) -> None:
        folders, names = (PLUGIN, f"{self.state}/extensions/{NAME}"), os.listdir(PLUGIN)
        old, new = ([settings.content(f"{one}/{name}") for name in names] for one in folders)
        if old != new:
            self._called("plugins", "install", PLUGIN, "--force", "--accept-capabilities")
            self.steps.append("plugin: installed")
        before, _, others = self._configured()
        is_slave = self.app.settings.tables.get("relay", {}).get("role") == "slave"
        own = {"root": self.app.root, **({"relayed": True} if is_slave else {})}
        entry = {"enabled": True, "hooks": {"allowConversationAccess": True}}
        entry["config"] = {"command": schedule.command(), "workspaces": [*others, own]}
        if entry != before:
            self._called("config", "set", _ENTRY, codec.dumps(entry), "--strict-json")
            self.steps.append(f"plugin: serves {self.app.root}")

    def _add_clock(self) -> None:
        """Let its clock run the heartbeat; it asks no model.

        The argv is absolute, since a shell there loses PATH; cron expressions would skip ticks.
        """
        job, jobs = settings.content(self.clock), self._json("cron", "list", "--all")["jobs"]
        if (job or b"").decode().strip() in [one.get("id") for one in jobs]:
            return
        root, main = self.app.root, self.app.settings.coordinator
        ours = [key for key, one in self.app.settings.agents.items() if one.driver == "openclaw"]
        beat = [*schedule.command(), "heartbeat", "--root", root, "--reply-token", "NO_REPLY"]
        argv = ["--agent", main if main in ours else (*ours, "main")[0], "--command-cwd", root]
        argv += ["--every", "5m", "--name", "council-heartbeat", "--no-deliver"]
        made = self._json("cron", "add", *argv, "--command-argv", codec.dumps(beat))
        os.makedirs(os.path.dirname(self.clock), mode=0o700, exist_ok=True)
        files.replace(self.clock, f"{made['id']}\n".encode(), 0o600)
        self.steps.append("clock: OpenClaw runs the heartbeat every 5m, without a model")

    def _configured(self) -> tuple[dict[str, Any], list[Any], list[Any]]:
        """Return our entry of its configuration, {} for none; workspaces, those but this one."""
        entry: Any = {}
        with suppress(Invalid, Unexpected):
            entry = self._json("config", "get", _ENTRY) or {}
        served = entry.get("config", {}).get("workspaces", [])
        return entry, served, [one for one in served if one.get("root") != self.app.root]

    def _json(self, *argv: str) -> Any:
        return codec.loads(self._called(*argv, "--json"), f"openclaw {' '.join(argv[:2])}")

    def _called(self, *argv: str) -> str:
        # Some seconds are a start of Node, and its gateway may be busy.
        return schedule.called(["openclaw", *argv], self.env, seconds=120)
