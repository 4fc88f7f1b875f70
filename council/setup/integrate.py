"""`council integrate`: our server and skill are put where an agent program looks for them.

Everything else in a settings file stays. JSON with comments would lose them, so it is left to the
person, who is told what to add. The skill is a link to the one of the workspace.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from contextlib import suppress

from council.kernel import codec, files
from council.kernel.errors import Conflict, Invalid
from council.kernel.record import TYPE_CHECKING, Any
from council.setup import keys, schedule

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
_TABLES = re.compile(rf"\n?^\[mcp_servers\.{NAME}[.\]].*(?:\n(?!\[).*)*\n?", re.M)


def integrate(app: App, program: str, remove: bool = False, as_: str = "") -> dict[str, Any]:
    """Add council to a program for this user, or take it out again; a repeat changes nothing.

    `as_` is the agent that the program acts as, "" for a person.

    Raises:
        Conflict: A server or skill of that name is there that is not ours (`not-ours`).
        Invalid: The settings cannot be read.
    """
    if program == "openclaw":
        from council.setup import openclaw  # late: of this program only

        return (openclaw.remove if remove else openclaw.install)(app)
    variable, usual, settings, skills, key = PROGRAMS[program].split()
    named = app.env.get(variable, "")
    base = named or f"{keys.home(app.env)}/{usual}"
    path = os.path.normpath(f"{base}/{settings.split('|')[-1 if named else 0]}")
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
    """Return the command of the server of our name, [] where there is none.

    Raises:
        Invalid: The settings cannot be read, or have comments (`bad-settings`).
    """
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
        text, words = _TABLES.sub("", text), [codec.dumps(one) for one in argv]
        table = f"[mcp_servers.{NAME}]\ncommand = {''.join(words[:1])}\n"
        table += f"args = [{', '.join(words[1:])}]\n"
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
