"""The workspace of one machine of a council, with the command in it and a net before it."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from council.runs import processes
from tests.machines.servers import BOUND, Net

AGENTS = {"ada": (0,), "bea": (1,), "eve": (0, 1)}  # and the machines that can run them
PEOPLE = {"ann": 0, "bob": 1}
SAYS = """#!/bin/sh
cat >/dev/null
echo "$COUNCIL_TASK_ID" >> {log}
sleep 1
echo "I am $COUNCIL_AGENT, and this is my answer in round $COUNCIL_TOUR."
"""
SETTINGS = 'retry_backoff = ["1s", "1s"]\nrun_timeout = "30s"\nmax_runs = 8\n'


class Machine:
    """A workspace of its own, behind a net of its own."""

    def __init__(self, folder: Path, number: int, server, database: str) -> None:
        self.root, self.net = folder / str(number), Net(server.port)
        self.url: str = server.url(database)  # past the net
        self.state = str(self.root / "memory/shared/.council")
        kept = {k: v for k, v in os.environ.items() if not k.startswith("COUNCIL_")}
        self.env = {**kept, "COUNCIL_ROOT": str(self.root), "HOME": str(folder), "USER": "u"}
        everybody = ",".join([*AGENTS, *PEOPLE])
        self.run("init", str(self.root), "--agents", everybody, "--lang", "en", code=0)
        toml = self.root / "council.toml"
        text = SETTINGS + toml.read_text()
        script = self.root / "says.sh"
        script.write_text(SAYS.format(log=folder / "runs"))
        script.chmod(0o755)
        for agent, where in AGENTS.items():
            text += f'\n[agents.{agent}]\nargv = ["{script}"]\n' * (number in where)
        toml.write_text(text)
        verb = "join" if number else "init"
        done = self.run("engine", verb, server.url(database, self.net.port), code=0)
        assert "SeCret" not in done.stdout + done.stderr

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "council", *words]
        streams = {
            "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
        }  # fmt: skip
        return subprocess.Popen(command, cwd="/", env=self.env, text=True, **streams)

    def run(self, *words: str, code: int | None = None) -> subprocess.CompletedProcess[str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=BOUND)
        assert code is None or process.returncode == code, f"{words}: {out}{err}"
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def supervisors(self) -> list[int]:
        return [pid for pid in processes.held(self.state).values() if pid > 1]

    def closed(self) -> list[str]:
        with suppress(FileNotFoundError):
            return os.listdir(f"{self.state}/closed")
        return []
