"""The package as people get it: built, checked, served by an index, installed by name.

The index is a folder of this test, served on loopback. What council depends on comes from where
the pip of this machine gets it: without that, these tests are skipped.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import council as product
from tests.e2e.conftest import Row

pytestmark = pytest.mark.e2e

HOUSE = Path(__file__).resolve().parents[2]
# As it was before the tests hid it: where pip finds its settings.
OUTER = dict(os.environ)
TOOLS = ("build", "twine", "pipx", "uv", "skills-ref")
EXACTLY = f"council-files=={product.__version__}"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
A_MINUTE_S = 60
ASK = ("ask", "--rehearse", "One more kettle?")  # with members that are no models

Told = Callable[[str, str], AbstractContextManager[Row]]


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing about it."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Shop:
    """The built package in an index of its own, and the tools that install it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = folder / "a checkout"
        self.dist = folder / "index" / "council-files"
        self.dist.mkdir(parents=True)
        self.index = ""
        self.python = folder / "tools" / "bin" / "python"

    def env(self, *folders: Path) -> dict[str, str]:
        """Return the environment of installers: this index before the ordinary one."""
        here = self.folder
        outer = {k: v for k, v in OUTER.items() if not k.startswith(("COUNCIL_", "VIRTUAL_ENV"))}
        tools = str(self.python.parent)
        path = os.pathsep.join([*map(str, folders), tools, "/usr/local/bin", "/usr/bin", "/bin"])
        given = {
            "PATH": path,
            "PIPX_HOME": str(here / "pipx"),
            "PIPX_BIN_DIR": str(here / "pipx-bin"),
            "PIPX_MAN_DIR": str(here / "pipx-man"),
            "UV_TOOL_DIR": str(here / "uv-tools"),
            "UV_TOOL_BIN_DIR": str(here / "uv-bin"),
            "UV_CACHE_DIR": str(here / "uv-cache"),
            "UV_PYTHON": sys.executable,
            "UV_PYTHON_DOWNLOADS": "never",
        }
        if self.index:
            given["UV_INDEX"] = self.index
            given["PIP_EXTRA_INDEX_URL"] = " ".join(
                filter(None, [outer.get("PIP_EXTRA_INDEX_URL"), self.index])
            )
        return {**outer, **given}

    def run(
        self,
        *words: str | Path,
        cwd: Path | None = None,
        folders: tuple[Path, ...] = (),
        **env: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, with these folders first on PATH."""
        return subprocess.run(
            list(map(str, words)),
            cwd=cwd or self.folder,
            env={**self.env(*folders), **env},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )

    def do(self, *words: str | Path, **how: Any) -> str:
        """Run a command that must succeed; return what it printed."""
        done = self.run(*words, **how)
        assert done.returncode == 0, f"{shlex.join(map(str, words))}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def virtual(self, name: str, python: str | Path = sys.executable) -> Path:
        """Make an empty virtual environment; return the folder of its programs."""
        self.do(python, "-m", "venv", self.folder / name)
        return self.folder / name / "bin"


def tracked_files(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return [one for one in listed.stdout.splitlines() if (root / one).is_file()]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """The package, built of a clean checkout, in an index on loopback."""
    shop = Shop(tmp_path_factory.mktemp("shop"))
    shop.virtual("tools")
    got = shop.run(shop.python, "-m", "pip", "install", "--quiet", *TOOLS)
    if got.returncode:
        why = [line for line in got.stderr.splitlines() if line.startswith("ERROR")][-1:]
        reason = f"the package is not tried: pip gets nothing here: {''.join(why)[:200]}"
        print(reason, file=sys.stderr)  # the table has no row for what was not begun
        pytest.skip(reason)
    for name in tracked_files(HOUSE):
        (shop.checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(HOUSE / name, shop.checkout / name)
    shop.do(shop.python, "-m", "build", "--outdir", shop.dist, shop.checkout)
    links = [
        f'<a href="{one.name}#sha256={hashlib.sha256(one.read_bytes()).hexdigest()}">{one.name}</a>'
        for one in sorted(shop.dist.iterdir())
    ]
    (shop.dist / "index.html").write_text(f"<!DOCTYPE html><body>{'<br>'.join(links)}</body>")
    serve = partial(Quiet, directory=str(shop.dist.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        shop.index = f"http://127.0.0.1:{server.server_port}/"
        yield shop
        server.shutdown()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Runs an installed `council` in an empty folder, with an empty home and nothing else."""
    (tmp_path / "home").mkdir()
    (tmp_path / "team").mkdir()

    def run(program: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
        before = (path, str(program.parent), "/usr/bin", "/bin")
        env = {
            "PATH": os.pathsep.join(filter(None, before)),
            "HOME": str(tmp_path / "home"),
            "LANG": "C.UTF-8",
            "COLUMNS": "400",
        }
        return subprocess.run(
            [program, *words],
            cwd=tmp_path / "team",
            env=env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )

    yield run


def by_pip(shop: Shop) -> Path:
    programs = shop.virtual("by-pip")
    shop.do(programs / "pip", "install", "--quiet", EXACTLY)
    return programs / "council"


def by_pipx(shop: Shop) -> Path:
    shop.do("pipx", "install", EXACTLY)
    return shop.folder / "pipx-bin" / "council"


def by_uv_tool(shop: Shop) -> Path:
    shop.do("uv", "tool", "install", "council-files")
    return shop.folder / "uv-bin" / "council"


def by_uv_pip(shop: Shop) -> Path:
    shop.do("uv", "venv", shop.folder / "by-uv-pip")
    python = shop.folder / "by-uv-pip" / "bin" / "python"
    shop.do("uv", "pip", "install", "--python", python, "council-files")
    return python.parent / "council"


def from_a_checkout(shop: Shop) -> Path:
    programs = shop.virtual("editable")
    shop.do(programs / "pip", "install", "--quiet", "-e", shop.checkout)
    return programs / "council"


INSTALLERS = [by_pip, by_pipx, by_uv_tool, by_uv_pip, from_a_checkout]


@pytest.mark.req("TB-001")
def test_what_is_built_passes_the_check_of_the_index(shop: Shop, row: Told):
    with row("twine", "check --strict") as told:
        built = [one for one in shop.dist.iterdir() if one.suffix in (".whl", ".gz")]
        assert len(built) == 2
        shop.do("twine", "check", "--strict", *built)
        told.came_out = ", ".join(f"{one.suffix} {one.stat().st_size >> 10} KiB" for one in built)


@pytest.mark.req("TB-001")
@pytest.mark.parametrize("install", INSTALLERS, ids=lambda one: one.__name__)
def test_installed_by_name_it_asks_within_a_minute_and_gets_its_extra(
    install: Callable[[Shop], Path], shop: Shop, alone, row: Told, tmp_path: Path
):
    with row(install.__name__.replace("_", " "), "install, ask, add [web]") as told:
        council = install(shop)
        assert alone(council, "--version").stdout == f"council {product.__version__}\n"
        began = time.monotonic()
        asked = alone(council, *ASK)
        took_s = time.monotonic() - began

        assert asked.returncode == 0, asked.stdout + asked.stderr
        assert took_s < A_MINUTE_S
        (minutes,) = (tmp_path / "team" / "conseils").glob("*.md")
        assert "One more kettle?" in minutes.read_text(encoding="utf-8")

        refused = alone(council, "serve")
        assert refused.returncode == 5 and "[web]" in refused.stderr, refused.stderr
        command = refused.stderr.partition("(install it: ")[2].rstrip().removesuffix(")")
        # Words of the installer that was used, which do what they promise.
        shop.do("sh", "-c", command, folders=(council.parent,))
        assert "not served (council serve" in alone(council, "doctor").stdout
        told.came_out = f"asked in {took_s:.0f} s; {command}"


@pytest.mark.req("TB-001")
def test_uvx_runs_it_by_name(shop: Shop, row: Told, tmp_path: Path):
    with row("uvx", "--from council-files") as told:
        council = ("uvx", "--from", "council-files", "council")
        # uvx takes an installed tool where there is one.
        here: dict[str, Any] = {"cwd": tmp_path, "UV_TOOL_DIR": str(tmp_path / "none")}
        began = time.monotonic()
        asked = shop.do(*council, *ASK, **here)
        assert "One more kettle?" in asked and time.monotonic() - began < A_MINUTE_S
        refused = shop.run(*council, "serve", **here)
        command = "uvx --from 'council-files[web]' council"
        assert command in " ".join(refused.stderr.split())
        shop.do("sh", "-c", f"{command} --version", **here)
        told.came_out = command


@pytest.mark.req("TB-001")
@pytest.mark.parametrize("version", PYTHONS)
def test_it_runs_on_each_python_that_it_names(
    version: str, shop: Shop, alone, row: Told, tmp_path: Path
):
    with row(f"Python {version}", "install, ask") as told:
        found = python_of(version)
        if found is None:
            pytest.skip("no such Python on this machine")
        programs = shop.virtual(f"python-{version}", found)
        shop.do(programs / "python", "-m", "pip", "install", "--quiet", EXACTLY)
        asked = alone(programs / "council", *ASK)
        assert asked.returncode == 0, asked.stdout + asked.stderr
        assert "Warning" not in asked.stderr
        told.came_out = "minutes written"


def python_of(version: str) -> Path | None:
    """Return a Python of a version: on PATH, or one of pyenv."""
    home = Path(OUTER.get("PYENV_ROOT") or Path(OUTER.get("HOME", "/")) / ".pyenv")
    named = shutil.which(f"python{version}", path="/usr/local/bin:/usr/bin")
    found = [Path(named)] if named else []
    found += sorted(home.glob(f"versions/{version}.*/bin/python{version}"))
    return next((one for one in found if has_venv(one)), None)


def has_venv(python: Path) -> bool:
    tried = subprocess.run([python, "-c", "import ensurepip, venv"], capture_output=True)
    return tried.returncode == 0


@pytest.mark.req("TB-002")
@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_reference_validator_takes_the_skill(
    language: str, shop: Shop, row: Told, tmp_path: Path
):
    with row("skills-ref", f"the skill of init --lang {language}"):
        council = Path(sys.executable).parent / "council"
        shop.do(council, "init", tmp_path / "ws", "--agents", "a1", "--lang", language)
        shop.do("agentskills", "validate", tmp_path / "ws" / "skills" / "council")
