"""What every test may ask for: a workspace, the installed command, a fixed instant.

No test sees the COUNCIL_ variables, the language, the terminal, the editor or
the home of the user who runs the tests; no test needs a network.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from council.core.ids import is_name
from council.core.trust import run_claim
from council.operations.setup import AGENT_PROGRAMS
from council.store.keys import run_key
from council.store.paths import Workspace
from tests.coverage_of_requirements import SUITES
from tests.examples import mark_property, try_as_many_as
from tests.forks import Forks, stay_and_be_shared
from tests.shown_requirements import ShownRequirements, note_citations

BIN = Path(sys.executable).parent
MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 << 30
NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)

# A shared machine is slow at times: no example has a deadline, nor has the making of one.
# What judges a change tries the same examples each time; every other run searches for new ones.
settings.register_profile(
    "house",
    deadline=None,
    max_examples=100,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--suite", choices=SUITES, help="keep which requirements this run of a whole suite shows"
    )
    parser.addoption(
        "--engine", action="store_true", help="lay PostgreSQL under the workspaces of the tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    try_as_many_as(config)
    if config.getoption("--engine"):
        from tests.engine.beneath import Beneath

        config.pluginmanager.register(Beneath(is_worker=hasattr(config, "workerinput")))
    suite = config.getoption("--suite")
    if suite and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ShownRequirements(config, suite))
        if suite == SUITES[0] and not config.option.basetemp:
            work_in_memory(config)


def work_in_memory(config: pytest.Config) -> None:
    """Give the tests folders in memory where there is room: they wait for no disk there.

    The other suites stay on the disk, and `make faults` brings file systems of its own.
    """
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < ROOM_BYTES:
        return
    if os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:  # tests start programs that they write
        return
    config.option.basetemp = tempfile.mkdtemp(prefix="pytest-", dir=MEMORY)
    config.add_cleanup(partial(shutil.rmtree, config.option.basetemp, ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector of garbage off what is collected here: it stays, and forks share it."""
    gc.disable()
    try:
        return (yield)
    finally:
        stay_and_be_shared()
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    note_citations(item)
    mark_property(item)


class Ran(NamedTuple):
    """What a command left behind: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Return standard output as the one JSON document it must be."""
        return json.loads(self.out)


def without_agent_programs(path: str) -> str:
    """Return a PATH without folders of agent programs, which `init` would turn on here."""
    folders = [Path(one) for one in path.split(os.pathsep)]
    kept = (
        one
        for one in folders
        if (one / "sh").exists() or not any((one / name).exists() for name in AGENT_PROGRAMS)
    )
    return os.pathsep.join(map(str, kept))


class Council:
    """The `council` command, run as a process of its own in a workspace.

    With `forks` it is not started, but forked from a process that has it imported.
    """

    declares = True

    def __init__(self, root: Path, home: Path, forks: Forks | None = None) -> None:
        self.root = root
        self.home = home
        self.forks = forks

    def __call__(
        self,
        *words: str | Path,
        stdin: str | bytes = b"",
        now: datetime | str | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        timeout_s: float = 300,
    ) -> Ran:
        """Run `council WORDS`; `cwd` is the workspace unless given, `now` sets COUNCIL_NOW."""
        argv, where, given = self.argv(*words), cwd or self.root, self.env(now=now, env=env)
        data = stdin.encode() if isinstance(stdin, str) else stdin
        if self.forks is not None and self.forks.can_run(given):
            code, out, err = self.forks.run(argv, data, where, given, timeout_s)
            return Ran(code, out.decode(), err.decode())
        done = subprocess.run(
            argv,
            input=data,
            capture_output=True,
            cwd=where,
            env=given,
            timeout=timeout_s,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(
        self,
        *words: str | Path,
        now: datetime | str | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start `council WORDS` and return the process, for many at once."""
        return subprocess.Popen(
            self.argv(*words),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd or self.root,
            env=self.env(now=now, env=env),
        )

    def argv(self, *words: str | Path) -> list[str]:
        """Return the argv of the console script that belongs to this interpreter.

        While `declares` is set, whom `convene` and `ask` name has a folder, as people have.
        """
        given = [str(one) for one in words]
        if self.declares and given[:1] in (["convene"], ["ask"]):
            for option, value in pairwise(given):
                if option in ("--agents", "--coordinator", "--synthesizer"):
                    for one in filter(is_name, value.split(",")):
                        (self.root / "memory" / "agents" / one).mkdir(parents=True, exist_ok=True)
        return [str(BIN / "council"), *given]

    def env(
        self, *, now: datetime | str | None = None, env: dict[str, str] | None = None
    ) -> dict[str, str]:
        """Return the whole environment of a run: a short list, and what the test adds."""
        path = without_agent_programs(os.environ.get("PATH", os.defpath))
        clean = {
            "PATH": f"{BIN}{os.pathsep}{path}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }
        if "TMPDIR" in os.environ:
            clean["TMPDIR"] = os.environ["TMPDIR"]
        if now is not None:
            clean["COUNCIL_NOW"] = now.isoformat() if isinstance(now, datetime) else now
        if env and "COUNCIL_TASK_ID" in env:  # a run is claimed with the clock that it gets
            key = run_key(Workspace(str(self.root)))
            clean["COUNCIL_CLAIM"] = run_claim(key, {**clean, **env})
        return {**clean, **(env or {})}


@pytest.fixture(autouse=True, scope="session")
def clean_environment(tmp_path_factory: pytest.TempPathFactory):
    """Take the outer settings away from tests that work inside this process, too."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("COUNCIL_", "LC_", "XDG_")) or name in (
                "COLUMNS",
                "EDITOR",
                "LANGUAGE",
                "LINES",
                "VISUAL",
                "NO_COLOR",
                "FORCE_COLOR",
                "traceparent",
            ):
                patch.delenv(name)
        patch.setenv("LANG", "C.UTF-8")
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        # A shell that runs us in the background has it ignored, by all whom we start as well.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        quitting = signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        # `nohup` does the same with this one. A handler of ours is reset where a program starts.
        hangup = signal.getsignal(signal.SIGHUP)
        if hangup is signal.SIG_IGN:
            signal.signal(signal.SIGHUP, lambda *_: None)
        mask = os.umask(0o022)
        yield
        os.umask(mask)
        signal.signal(signal.SIGHUP, hangup)
        signal.signal(signal.SIGQUIT, quitting)
        signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def buried() -> Iterator[None]:
    """Take adopted processes that have ended out of the system's table, which is not endless."""
    yield
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace: a folder that holds `memory/shared/`."""
    root = tmp_path / "workspace"
    (root / "memory" / "shared").mkdir(parents=True)
    return root


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks | None]:
    """The process from which commands are forked, where the system has what it takes."""
    made = Forks() if sys.platform == "linux" else None
    yield made
    if made is not None:
        made.end()


@pytest.fixture
def council(workspace: Path, tmp_path: Path, forks: Forks | None) -> Council:
    """The command in `workspace`, with an empty home and a clean environment."""
    home = tmp_path / "home"
    home.mkdir()
    return Council(workspace, home, forks)


@pytest.fixture
def now() -> datetime:
    """A fixed instant: the evening on which the worked example takes place."""
    return NOW
