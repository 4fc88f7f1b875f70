"""The workspace of one machine of a council, behind a net of its own."""

import glob
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from council.runs import processes
from tests.machines.servers import BOUND, Net
from tests.scenarios.workspaces import Workspace

AGENTS = {"ada": (0,), "bea": (1,), "eve": (0, 1)}  # and the machines that can run them
PEOPLE = {"ann": 0, "bob": 1}
SAYS = """echo "$COUNCIL_TASK_ID" >> {log}
sleep 1
echo "I am $COUNCIL_AGENT, and this is my answer in round $COUNCIL_TOUR."
"""
SETTINGS = 'retry_backoff = ["1s", "1s"]\nrun_timeout = "30s"\nmax_runs = 8\n'


class Machine(Workspace):
    def __init__(self, folder: Path, number: int, server, database: str) -> None:
        super().__init__(folder / str(number))
        self.root.mkdir()
        self.net = Net(server.port)
        self.url: str = server.url(database)  # past the net
        self.state = str(self.root / "memory/shared/.council")
        self.env |= {"HOME": str(folder), "USER": "u"}
        self.run("init", "--agents", ",".join([*AGENTS, *PEOPLE]), "--lang", "en", code=0)
        toml = self.root / "council.toml"
        toml.write_text(SETTINGS + toml.read_text())
        for agent in [agent for agent, where in AGENTS.items() if number in where]:
            self.program(agent, SAYS.format(log=folder / "runs"))
        verb = "join" if number else "init"
        done = self.run("engine", verb, server.url(database, self.net.port), code=0)
        assert "SeCret" not in done.stdout + done.stderr

    def run(self, *words: str, code: int | None = None) -> subprocess.CompletedProcess[str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=BOUND)
        assert code is None or process.returncode == code, f"{words}: {out}{err}"
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def supervisors(self) -> list[int]:
        return [pid for pid in processes.held(self.state).values() if pid > 1]

    def die(self) -> None:
        """End all that runs here, supervisors first."""
        for pid in self.supervisors():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for path in glob.glob(f"{self.state}/runs/*/pid"):
            processes.kill_noted(path)

    def has(self, word: bytes) -> list[Path]:
        """Return all files that contain a word."""
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return [path for path in files if word in path.read_bytes()]

    def closed(self) -> list[str]:
        with suppress(FileNotFoundError):
            return os.listdir(f"{self.state}/closed")
        return []
