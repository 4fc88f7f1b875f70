"""What a bare machine does not have: the list, with a reason each, and what stands in for it.

A stand-in is a small program that writes down how it was called and answers as the real one does,
as far as `council` looks. Nothing of the machine is changed by it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.operations.test_schedule import CRONTAB

_HOUSE = Path(__file__).resolve().parents[2]
# What each stand-in begins with.
_NOTED = """#!/bin/sh
echo "${{0##*/}} $*" >>"{calls}"
"""
# OpenClaw as it was recorded; what each of its agents says at the end of a turn is one recording.
_SAYS = "import json, sys; print(json.load(open(sys.argv[1]))['stdout'])"
_OPENCLAW = f"""
if [ "$1" = agent ]; then
    exec {sys.executable} -c "{_SAYS}" {_HOUSE}/tests/drivers/recorded/openclaw/answers.json
fi
exec {sys.executable} {_HOUSE}/tests/agents/openclaw.py "$@"
"""
# What programs do that keep servers of MCP.
_KEEPS_A_SERVER = """
case "$*" in
*" remove "*) rm "$HOME/server" ;;
*" add "*) echo council >"$HOME/server" ;;
*) cat "$HOME/server" ;;
esac
"""


class Foreign(NamedTuple):
    """Why a program cannot be called for real in a test, and what its stand-in does."""

    reason: str
    does: str = ":"
    started_by: str = ""  # the command of council that starts it, where no page names it


FOREIGN = {
    "pipx": Foreign("installs from a package index; `make e2e` installs for real"),
    "uv": Foreign("installs from a package index; `make e2e` installs for real"),
    "pip": Foreign("installs from a package index; `make e2e` installs for real"),
    "make": Foreign("sets up .venv: .ci/run plays `make demo` before this, `make test` is this"),
    "crontab": Foreign(
        "changes the crontab of the user", CRONTAB.partition("\n")[2], "council schedule --cron"
    ),
    "systemctl": Foreign("needs a user manager of systemd", ":", "council schedule --systemd"),
    "loginctl": Foreign("needs systemd"),
    "openclaw": Foreign("needs OpenClaw", _OPENCLAW),
    "gemini": Foreign("needs Gemini CLI and a login", _KEEPS_A_SERVER),
    "llm": Foreign("needs llm and a key"),
    "ollama": Foreign("needs a server of Ollama"),
    "opencode": Foreign("needs opencode and a login"),
    "apprise": Foreign("sends to services elsewhere; tests of the recipes call it for real"),
    "notify-send": Foreign("needs a desktop session"),
    "ssh": Foreign("needs a second machine"),
    "caddy": Foreign("needs Caddy; `make e2e` plays its settings"),
    "systemd-analyze": Foreign("needs systemd"),
    "chgrp": Foreign("needs a group called team"),
    "pg_dump": Foreign("needs the database of the page"),
}
# The same of commands of council, by their first words.
FOREIGN_COMMANDS = {
    "engine": "needs an empty database: docs/engine.md is played with a PostgreSQL server",
    "link": "needs an engine, and runs until it is stopped: played in docs/engine.md",
    "serve": "runs until it is stopped: played in docs/web.md",
    "mcp": "serves a program at its standard input: played in docs/clients/mcp.md",
    "demo": "takes half a minute: .ci/run plays it first of all",
    "status --watch": "runs until it is stopped: played in docs/clients/discord.md",
    "watch": "the same",
    "edit": "opens an editor",
}
# What every machine has, or the shell itself.
TOOLS = {
    *("cd", "export", "mkdir", "cp", "mv", "rm", "tar", "cat", "ls", "grep", "tail", "git"),
    *("curl", "chmod", "echo", "python", "pytest"),
}


def put_stand_ins(folder: Path, *, but: Sequence[str] = ()) -> Path:
    """Write the stand-ins into a folder; return the file in which their calls are written."""
    calls = folder / "calls"
    for name, program in FOREIGN.items():
        if name not in but:
            path = folder / name
            path.write_text(f"{_NOTED.format(calls=calls)}{program.does}\n")
            path.chmod(0o755)
    return calls
