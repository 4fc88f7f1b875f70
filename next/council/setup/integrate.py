"""`council integrate`: our server and skill are put where an agent program looks for them.

The settings file is changed as text: our entry is inserted, and taken out again byte for byte.
What else is in it stays, comments too. The skill is a link to the one of the workspace.
"""

from __future__ import annotations

import os
import re
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
_TABLES = re.compile(rf"^\[mcp_servers\.{NAME}[.\]].*(?:\n(?!\[).*)*\n?", re.M)
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]', re.S)


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
        before = after = found[0].decode("utf-8", "surrogateescape") if found else ""
        there, linked = _words(before, key, path), os.path.lexists(skill)
        is_linked = linked and os.path.islink(skill) and os.readlink(skill) == ours
        is_other = bool(there) and app.root not in there
        if not remove and (is_other or linked is not is_linked):
            what = f"{path if is_other else skill} has another {NAME}, which is kept"
            raise Conflict("not-ours", what, "remove it there first")
        if there and not is_other and (remove or there != argv):
            after = _without(before, key, there)
        if not remove and there != argv:
            after = _with(after, key, argv)
        if after != before:
            _write(path, after, found)
        if is_linked and remove:
            os.unlink(skill)
            with suppress(OSError):
                os.rmdir(os.path.dirname(skill))  # if nothing else is in it
        elif not remove and not is_linked:
            os.makedirs(os.path.dirname(skill), exist_ok=True)
            os.symlink(ours, skill)
    outcome = "removed" if remove else "added"
    is_same = after == before and is_linked is not remove
    made = {"program": program, "settings": path, "skill": skill}
    return {**made, "outcome": "unchanged" if is_same else outcome}


def _write(path: str, text: str, found: Any) -> None:
    """Write settings with the owner and mode that they had; remove them if nothing is left."""
    if not text:
        return os.unlink(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    new, data = f"{path}.{os.getpid()}", text.encode("utf-8", "surrogateescape")
    files.fill(new, data, 0o600, durable=True, like=files.Seen(*found) if found else None)
    os.rename(new, path)
    return files.sync_folder(os.path.dirname(path))


def _words(text: str, key: str, path: str) -> list[str]:
    """Return the command of the server of our name, [] where there is none."""
    try:
        if key == "-":
            entry = tomllib.loads(text).get("mcp_servers", {}).get(NAME)
        else:
            bare = _TOKEN.sub(lambda one: "" if one[0][0] == "/" else one[0], text)
            whole = codec.loads(re.sub(r",(\s*[}\]])", r"\1", bare) if text.strip() else "{}")
            entry = whole.get(key, {}).get(NAME)
        command = entry.get("command", "?") if entry is not None else []
        return [command, *entry.get("args", [])] if isinstance(command, str) else [*command]
    except (ValueError, AttributeError, Invalid):
        raise Invalid("bad-settings", f"{path} cannot be read", "correct it first") from None


def _pieces(key: str, argv: list[str]) -> tuple[str, str]:
    """Return our entry for settings that have servers, and for those that have none."""
    command, args = codec.dumps(argv[0]), codec.dumps(argv[1:], spaced=True)
    if key == "-":
        return f"[mcp_servers.{NAME}]\ncommand = {command}\nargs = {args}\n", ""
    entry = f'{{"command": {command}, "args": {args}}}'
    if key == "mcp":
        entry = codec.dumps({"type": "local", "command": argv}, spaced=True)
    inner = f'\n    "{NAME}": {entry}'
    return inner, f'\n  "{key}": {{{inner}\n  }}'


def _with(text: str, key: str, argv: list[str]) -> str:
    inner, outer = _pieces(key, argv)
    if key == "-":
        return text + "\n" * bool(text) + inner
    if not text.strip():
        return f"{{{outer}\n}}\n"
    members, at = _members(text, 0)
    if key in members:
        (members, at), outer = _members(text, members[key][0]), inner
    return text[:at] + outer + "," * bool(members) + text[at:]


def _without(text: str, key: str, argv: list[str]) -> str:
    inner, outer = _pieces(key, argv)
    if key == "-":
        return _TABLES.sub("", text.replace(f"\n{inner}", "", 1))
    top, _ = _members(text, 0)
    begin, end = top[key] if outer in text else _members(text, top[key][0])[0][NAME]
    if text[end:].lstrip()[:1] == ",":
        end = text.index(",", end) + 1
    elif text[begin - 1] == ",":
        begin -= 1
    text = text[:begin] + text[end:]
    return "" if text == "{\n}\n" else text


def _members(text: str, start: int) -> tuple[dict[str, tuple[int, int]], int]:
    """Return where each member of the JSON object that begins after `start` is, and its inside.

    A member begins right after the comma or brace before it, and ends with its value.
    """
    depth, key, inside, begin, found = 0, "", 0, 0, dict[str, tuple[int, int]]()
    for token in _TOKEN.finditer(text, start):
        word, at = token[0], token.start()
        depth += (word in "{[") - (word in "}]")
        if word == "{" and depth == 1:
            inside = begin = at + 1
        elif word[0] == '"' and depth == 1 and not key:
            key = codec.loads(word)
        elif depth == 0 or (word == "," and depth == 1):
            if key:
                found[key] = (begin, begin + len(text[begin:at].rstrip()))
            key, begin = "", at + 1
        if depth == 0 and inside:
            break
    return found, inside
