"""The real OpenClaw with its gateway, on loopback, in a folder of its own.

    python -m tests.e2e.openclaw_host FOLDER

records what it says to turns that go well and turns that fail, for tests that run every day:
`tests/drivers/recorded/openclaw`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.clients import Clients, folder
from tests.e2e.model_server import ModelServer
from tests.e2e.model_server import model_server as serving

FOUR = ("henry", "sage", "nova", "alex")
BROKEN = {"badkey": "refuses", "mute": "hangs", "excuse": "says-error", "capped": "limits"}
TOKEN = "a-token-of-this-test"
START_S = 240.0


@dataclass
class Host:
    """OpenClaw with its gateway, and a folder for workspaces."""

    home: Path
    port: int
    models: ModelServer
    env: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    made: list[Path] = field(default_factory=list)

    @property
    def config(self) -> Path:
        return self.home / ".openclaw" / "openclaw.json"

    def run(
        self, argv: Sequence[str | Path], *, cwd: Path, timeout_s: float = 300, **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(one) for one in argv],
            cwd=cwd,
            env={**self.env, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def openclaw(self, *words: str) -> str:
        done = self.run(["openclaw", *words], cwd=self.home)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def council(self, root: Path, *words: str, timeout_s: float = 300, **more: str) -> str:
        done = self.run(
            [sys.executable, "-P", "-m", "council", *words], cwd=root, timeout_s=timeout_s, **more
        )
        assert done.returncode in (0, 3, 7), (words, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def workspace(self, name: str) -> Path:
        """Return a workspace with all agents of OpenClaw in it."""
        root = self.home.parent / name
        root.mkdir()
        self.council(root, "init", "--openclaw")
        self.made.append(root)
        return root

    def start(self) -> None:
        log = (self.home / "gateway.log").open("ab")
        words = ["openclaw", "gateway", "run"]
        self.process = subprocess.Popen(
            words, env=self.env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        ends_at = time.monotonic() + START_S
        while time.monotonic() < ends_at:
            with suppress(OSError):
                url = f"http://127.0.0.1:{self.port}/readyz"
                with urllib.request.urlopen(url, timeout=5) as reply:
                    if json.load(reply).get("ready"):
                        return
            assert self.process.poll() is None, (self.home / "gateway.log").read_text()[-2000:]
            time.sleep(0.3)
        raise AssertionError("the gateway is not ready")

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(30)  # it waits for turns that hang
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def configuration(host: Host) -> dict[str, Any]:
    """Return a configuration of agents whose model server has moods."""
    model = {
        "id": "scripted",
        "name": "Scripted",
        "reasoning": False,
        "input": ["text"],
        "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 200000,
        "maxTokens": 4096,
    }
    providers = {
        mood: {
            "baseUrl": host.models.base(mood, "/v1"),
            "apiKey": "sk-of-nobody",
            "api": "openai-completions",
            "models": [model],
        }
        for mood in ("tools", *BROKEN.values())
    }
    agents: dict[str, Any] = {one: {"workspace": str(host.home / one)} for one in FOUR}
    agents["henry"]["identity"] = {"name": "Henry the Elder", "emoji": "🦉"}
    for one, mood in BROKEN.items():
        folder = str(host.home / one)
        agents[one] = {"workspace": folder, "model": {"primary": f"{mood}/scripted"}}
    return {
        "gateway": {
            "mode": "local",
            "bind": "loopback",
            "port": host.port,
            "auth": {"mode": "token", "token": TOKEN},
            "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
        },
        "models": {
            "mode": "replace",
            "catalogRefresh": {"enabled": False},
            "providers": providers,
        },
        "agents": {
            "ownership": "explicit",
            "defaults": {
                "model": {"primary": "tools/scripted"},
                "skipBootstrap": True,
                "heartbeat": {"every": "0m"},
            },
            "entries": agents,
        },
        "tools": {"toolSearch": False},
        "memory": {"search": {"enabled": False}},
        "discovery": {"mdns": {"mode": "off"}},
        "update": {"checkOnStart": False},
        "logging": {"file": str(host.home / "openclaw.log")},
    }


@contextmanager
def openclaw(clients: Clients, where: Path) -> Iterator[Host]:
    """Have a gateway with its agents serve from a folder."""
    home = where / "home"
    state = home / ".openclaw"
    state.mkdir(parents=True)
    for one in (*FOUR, *BROKEN):
        (home / one).mkdir()
    kept = {one: os.environ[one] for one in ("LANG", "TMPDIR") if one in os.environ}
    env = {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{clients.path('openclaw')}",
        "HOME": str(home),
        "OPENCLAW_HOME": str(home),
        "OPENCLAW_STATE_DIR": str(state),
        "OPENCLAW_CONFIG_PATH": str(state / "openclaw.json"),
        "OPENCLAW_NO_AUTO_UPDATE": "1",
        "OPENCLAW_DISABLE_BONJOUR": "1",
        "OPENCLAW_SKIP_CHANNELS": "1",
        "OPENCLAW_EXEC_SHELL_SNAPSHOT": "0",
        "NO_COLOR": "1",
        "NODE_COMPILE_CACHE": str(where / "compiled"),
    }
    with serving() as models:
        made = Host(home, free_port(), models, env)
        made.config.write_text(json.dumps(configuration(made), ensure_ascii=False))
        try:
            made.start()
            yield made
        finally:
            for root in made.made:
                with suppress(AssertionError, subprocess.SubprocessError):
                    made.council(root, "halt")
            made.stop()


# --- Recording what it says

_SLOW = """#!/bin/sh
sleep 60
"""
# The name of a recording, the agent, its message, what else is said.
TURNS = (
    ("answers", "henry", "What do you think?", ("--timeout", "60")),
    ("bad-key", "badkey", "What do you think?", ("--timeout", "60")),
    ("hang", "mute", "What do you think?", ("--timeout", "8")),
    ("error-text", "excuse", "What do you think?", ("--timeout", "60")),
    ("limit", "capped", "What do you think?", ("--timeout", "60")),
    ("tool-failed", "sage", "Run this:\n\n{slow} respond <<'END'\ntext\nEND", ("--timeout", "8")),
    ("unknown-agent", "nosuch", "What do you think?", ("--timeout", "20")),
    (
        *("unknown-model", "nova", "What do you think?"),
        ("--model", "council-trial/none", "--timeout", "20"),
    ),
)


def record(host: Host, where: Path) -> None:
    """Write down what the real one says: one file a turn, with exit code and standard error."""
    where.mkdir(parents=True, exist_ok=True)
    slow = host.home / "council"
    slow.write_text(_SLOW)
    slow.chmod(0o755)

    def keep(name: str, argv: list[str]) -> None:
        done = host.run(argv, cwd=host.home)
        told = {"exit": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
        with suppress(ValueError):
            said = json.loads(done.stdout)
            meta = (said.get("result") or {}).get("meta") if isinstance(said, dict) else None
            if meta:  # long, of this machine, and read by no one here
                meta.pop("systemPromptReport", None)
                meta.pop("finalPromptText", None)
            if name == "cron-list":
                said["jobs"] = said["jobs"][:1]  # all are OpenClaw's own, and much alike
            told["stdout"] = json.dumps(said, ensure_ascii=False, indent=1)
        text = json.dumps(told, ensure_ascii=False, indent=1).replace(str(host.home), "/home/ann")
        (where / f"{name}.json").write_text(text.replace(str(host.port), "18789") + "\n")

    for name, agent, message, more in TURNS:
        words = ["openclaw", "agent", "--agent", agent, "--session-key", f"agent:{agent}:recorded"]
        keep(name, [*words, "--message", message.format(slow=slow), "--json", *more])
    keep("agents-list", ["openclaw", "agents", "list", "--json"])
    keep("cron-list", ["openclaw", "cron", "list", "--json"])
    argv = ["--command-argv", '["/bin/true"]', "--no-deliver", "--agent", "henry"]
    keep("cron-add", ["openclaw", "cron", "add", "--every", "5m", "--name", "clock", *argv])
    for name, agent in (("http-answers", "henry"), ("http-bad-key", "badkey")):
        asked = {"model": f"openclaw/{agent}", "messages": [{"role": "user", "content": "Well?"}]}
        url = f"http://127.0.0.1:{host.port}/v1/chat/completions"
        keep(
            name,
            [
                *("curl", "-sS", "-w", "\n%{http_code}", url, "-d", json.dumps(asked)),
                *("-H", f"authorization: Bearer {TOKEN}", "-H", "content-type: application/json"),
            ],
        )
    host.stop()
    words = ["openclaw", "agent", "--agent", "henry", "--session-key", "agent:henry:recorded"]
    keep("gateway-down", [*words, "--message", "Well?", "--json", "--timeout", "20"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, openclaw(Clients(folder()), Path(name)) as host:
        record(host, Path(sys.argv[1]))
