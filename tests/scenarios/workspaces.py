"""The installed command on a workspace of its own, with real processes."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "council"]


class Terminal:
    """A terminal of 80 columns with a command on it, and all that was printed there."""

    def __init__(self, argv: list[str], folder: Path, env: dict[str, str]) -> None:
        self.end, inside = pty.openpty()
        termios.tcsetwinsize(inside, (24, 80))
        self.process = subprocess.Popen(
            argv, cwd=folder, env=env, stdin=inside, stdout=inside, stderr=inside,
            start_new_session=True,
        )  # fmt: skip
        os.close(inside)
        self.seen = b""

    def until(self, words: str = "") -> str:
        """Return all that was printed once an expression fits it, or once the command is over."""
        while not words or not re.search(words, self.seen.decode(errors="replace")):
            assert select.select([self.end], [], [], 60)[0], self.seen.decode()
            try:
                self.seen += os.read(self.end, 65536)
            except OSError:  # the command is over
                self.process.wait(60)
                break
        return self.seen.decode()


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
            [*COMMAND, *words], cwd=self.root, env={**self.env, **env}, input=stdin,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

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
            [*COMMAND, *words], cwd=self.root, env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def terminal(self, *words: str) -> Terminal:
        """Start a command on a terminal of 80 columns."""
        return Terminal([*COMMAND, *words], self.root, self.env)
