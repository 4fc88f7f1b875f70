"""The installed command on a workspace of its own, with real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "council"]


class Workspace:
    """A workspace in a temporary directory, and the command in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        kept = {k: v for k, v in os.environ.items() if not k.startswith("COUNCIL_")}
        self.env = {**kept, "COUNCIL_ROOT": str(root), "NO_COLOR": "1", "USER": "tester"}
        self.env.pop("COLUMNS", None)

    def run(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [*COMMAND, *words],
            cwd=self.root,
            env={**self.env, **env},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def json(self, *words: str, stdin: str = "", **env: str) -> Any:
        """Run a command that has to succeed, and return its JSON document."""
        done = self.run(*words, "--json", stdin=stdin, **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def program(self, agent: str, script: str) -> None:
        """Let a shell script answer for an agent."""
        path = self.root / f"{agent}.sh"
        path.write_text(f"#!/bin/sh\ncat >/dev/null\n{script}\n")
        path.chmod(0o755)
        with (self.root / "council.toml").open("a") as file:
            file.write(f'\n[agents.{agent}]\nargv = ["{path}"]\n')

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command that is interrupted later."""
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
