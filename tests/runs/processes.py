"""What the tests of runs with real processes share."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from council.agents.settings import AgentSettings
from council.app import App
from council.councils.model import State
from council.runs import processes
from council.runs.drivers import Output, RunPlace
from council.runs.supervisor import run_agent

PROGRAM = """#!/bin/sh
cat >/dev/null
echo $$ $COUNCIL_TOUR >> {root}/starts.{agent}
{does}
"""


class Council:
    """A workspace whose agents run shell scripts, and its conversation `k`."""

    def __init__(self, root: Path, *, people: str = "bob") -> None:
        self.root, self.people = root, people
        kept = {k: v for k, v in os.environ.items() if not k.startswith("COUNCIL_")}
        self.env = {**kept, "COUNCIL_ROOT": str(root), "HOME": str(root / "home")}
        self.programs: dict[str, str] = {}

    def run(self, *words: str, **env: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "council", *words],
            **{"cwd": self.root, "env": {**self.env, **env}, "stdin": subprocess.DEVNULL},
            **{"capture_output": True, "text": True, "timeout": 60, "check": False},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begin(self, *words: str, starts: bool = True, backoff: str = "1s", **programs: str) -> None:
        """Open the conversation; each program is a shell script that answers for an agent."""
        agents = ",".join(programs)
        self.run("init", str(self.root), "--agents", agents, "--lang", "en")
        settings = f'run_timeout = "40s"\nretry_backoff = ["{backoff}"]\n'
        (self.root / "council.toml").write_text(settings)
        if starts:
            self.equip(**programs)
        people = ["--people", self.people] if self.people else []
        self.run(
            *("convene", "Tea?", "--name", "k", "--timeout", "9h"),
            *("--agents", ",".join(filter(None, (agents, self.people))), *people, *words),
        )
        if not starts:  # until here they answered by hand
            self.equip(**programs)

    def equip(self, **programs: str) -> None:
        for agent, does in programs.items():
            path = self.root / f"{agent}.sh"
            path.write_text(PROGRAM.format(root=self.root, agent=agent, does=does))
            path.chmod(0o755)
            with (self.root / "council.toml").open("a") as file:
                file.write(f'\n[agents.{agent}]\nargv = ["{path}"]\n')

    def app(self) -> App:
        return App(str(self.root), env=self.env)

    def state(self) -> State:
        return self.app().conversation("k").peek()

    def starts(self, agent: str) -> list[list[str]]:
        """Return process id and round of each start of an agent's program."""
        try:
            return [line.split() for line in (self.root / f"starts.{agent}").open()]
        except FileNotFoundError:
            return []

    def said(self, agent: str) -> list[int]:
        """Return the rounds in which an agent's answers were recorded."""
        return [one.tour for one in self.state().entries if one.agent == agent]

    def waiting(self) -> dict[str, str]:
        """Return why agents are not started, as the heartbeat says."""
        return json.loads(self.run("heartbeat", "--json"))["conversations"][0]["waiting"]

    def held(self) -> dict[str, int]:
        return processes.held(self.app().state_folder)


class Bench:
    """A run of an agent in a folder, whose programs are in `bin`."""

    def __init__(self, root: str | Path, agent: str = "ada") -> None:
        self.root, self.agent, run = Path(root), agent, f"c.1.{agent}.1"
        self.place = RunPlace(root=str(root), id=run, agent=agent, folder=f"{root}/runs/{run}")
        self.place.environ = {"PATH": f"{root}/bin:{os.environ['PATH']}", "HOME": str(root)}
        self.place.seconds = 20.0

    def program(self, does: str, name: str = "prog", shell: str = "/bin/sh") -> None:
        """Make a program of a script."""
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{shell}\n{does}\n")
        path.chmod(0o755)

    def run(self, prompt: str = "What now?", **fields: Any) -> Output:
        agent = AgentSettings(id=self.agent, **{"driver": "command", **fields})
        return run_agent(agent, prompt, self.place)

    def read(self, name: str) -> str:
        return (self.root / name).read_text()


def until(test, most: float = 60.0):
    """Wait until a test gives something true, and return it."""
    ends = time.monotonic() + most
    while not (found := test()):
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
