"""Killed at every system call, of the disk and of the network, then asked again elsewhere.

Source: EN-008.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

# What commands load when they run: a child must not spend its calls on it.
from tests.engine import bad_engines
from tests.engine.machines import Machine, Machines
from tests.engine.servers import Server
from tests.faults import scenes, tracing
from tests.faults.commands import Runner
from tests.faults.invariants import Expected, Watched
from tests.faults.ledger import Ledger
from tests.faults.scenes import Scene

PART = "engine, killed clients"
CALLS = (*tracing.CALLS, *tracing.TALKING)
_FEW = 20

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(bool(tracing.missing()), reason=tracing.missing() or "-"),
]


class OnTwoMachines(Scene):
    """A scene of one machine that is played on two: struck on the first, retried on the other."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.server, self.database = server, f"kills_{uuid4().hex}"
        self.other = Runner(folder / "other", folder / "beside-other")
        self.watched_there = Watched(self.other.root)
        self._others_ready = folder / "other-ready"
        with server.connect() as admin:
            admin.execute(f"CREATE DATABASE {self.database}")
        super().__init__(folder)
        self.machines = Machines(
            Machine(one.root, one.root.name, "") for one in (self.runner, self.other)
        )

    def close(self) -> None:
        with self.server.connect() as admin:
            for name in (self.database, f"{self.database}_ready"):
                admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def make(self) -> None:
        url = self.server.url(self.database)
        super().make()
        self.do("engine", "init", url, "--machine", "first")
        (self.other.root / "memory" / "shared").mkdir(parents=True)
        with self._elsewhere():
            self.do("engine", "join", url, "--machine", "second")

    def configure(self, tables: str) -> None:
        super().configure(tables)
        with self._elsewhere():
            super().configure(tables)

    def set_aside(self) -> None:
        with self._elsewhere():
            self.do("engine", "pull")
        tracing.all_is_quiet()
        super().set_aside()
        shutil.move(self.other.root, self._others_ready)
        with self.server.connect() as admin:
            admin.execute(f"CREATE DATABASE {self.database}_ready TEMPLATE {self.database}")

    def bring_back(self) -> None:
        super().bring_back()
        shutil.rmtree(self.other.root, ignore_errors=True)
        shutil.copytree(self._others_ready, self.other.root, symlinks=True)
        with self.server.connect() as admin:
            admin.execute(f"DROP DATABASE {self.database} WITH (FORCE)")
            admin.execute(f"CREATE DATABASE {self.database} TEMPLATE {self.database}_ready")
        for one in (self.watched, self.watched_there):  # a command does the same at any time
            mark = Path(one.workspace.pulled)
            mark.write_text(json.dumps(json.loads(mark.read_text()) | {"at": time.time()}))

    @contextmanager
    def _elsewhere(self) -> Iterator[None]:
        """Give commands on the other machine."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        self.runner, self.other = self.other, self.runner
        self.watched, self.watched_there = self.watched_there, self.watched

    def promised_elsewhere(self) -> list[str]:
        """Return what was acknowledged and is not to be had on the other machine at once."""
        if "--sealed" in self.options:  # what is sealed can be had at the reveal alone
            return []
        answer = (self.answering, 1)
        promised = Expected()
        if answer in self.expected.said:
            promised.acknowledge(*answer, self.expected.said[answer])
        with self._elsewhere():
            self.do("engine", "pull")
            return self.watched.at_once(promised)

    def pulled_elsewhere(self) -> list[str]:
        """Let the other machine bring what there is; return what it says that is wrong."""
        with self._elsewhere():
            ran = self.runner.run("engine", "pull", now=self.now)
        tracing.all_is_quiet()
        return [line for line in ran.err.splitlines() if line] if ran.code or ran.err else []

    def retry(self, worse: Callable[[], object] | None = None) -> list[str]:
        with self._elsewhere():
            return [f"elsewhere: {line}" for line in super().retry(worse)]

    def go_on(self, worse: Callable[[], object] | None = None) -> list[str]:
        with self.server.connect(self.database) as admin:  # time passes for leases as well
            admin.execute("UPDATE council.lease SET ends = clock_timestamp()")
        with self._elsewhere():
            wrong = super().go_on(worse)
            if "--sealed" in self.options:  # now the reveal
                for agent in sorted({*"abc"} - {agent for agent, _ in self.expected.said}):
                    self.say(agent)
        self.do("engine", "pull")
        return [*wrong, *super().go_on(worse)]

    def settled(self) -> list[str]:
        """Return what is wrong once both machines have pulled."""
        for runner in (self.other, self.runner):
            runner.run("engine", "pull", now=self.now)
            tracing.all_is_quiet()
        wrong = [f"{line}, first" for line in self.watched.settled(self.expected)]
        wrong += [f"{line}, second" for line in self.watched_there.settled(self.expected)]
        return wrong + self.machines.same_everywhere()


@contextmanager
def on_two_machines(kind: type[Scene], folder: Path, server: Server) -> Iterator[OnTwoMachines]:
    made = type(kind.__name__, (OnTwoMachines, kind), {})
    with closing(made(folder, server)) as scene:
        yield scene


def kill_everywhere(
    scene: OnTwoMachines,
    ledger: Ledger,
    every: int,
    *,
    heirs: bool = False,
    worse: Callable[[], object] | None = None,
) -> None:
    """Kill the command at each point; then retry on the other machine, go on, and check."""
    scene.put_up()
    points = scene.runner.points(
        *scene.command, now=scene.now, heirs=heirs, worse=worse, calls=CALLS
    )
    assert len(points) > _FEW, "nothing of this command was seen"
    assert any(point.call in tracing.TALKING for point in points), "it spoke with no server"
    if worse is not None:
        points.reverse()  # what it does last is what it should have done first
    for point in tracing.each(points, every):
        scene.put_up()
        scene.strike(tracing.kill_at(point), heirs=heirs, worse=worse)
        wrong = [*scene.watched.at_once(scene.expected), *scene.promised_elsewhere()]
        wrong += [*scene.retry(worse), *scene.go_on(worse)]
        ledger.point([*wrong, *scene.settled()], point)
        if worse is not None and ledger.wrong:
            return


KINDS = (
    scenes.OpenAnswer,
    scenes.BlindAnswer,
    scenes.Reveal,
    scenes.EditPending,
    scenes.HeartbeatByHand,
    scenes.HeartbeatWithRuns,
    scenes.Synthesis,
)


@pytest.mark.req("EN-008", "EN-004")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_command_killed_at_any_call_and_given_elsewhere_counts_once(
    folder: Path, server: Server, ledger: Ledger, every: int, kind: type[Scene]
):
    with on_two_machines(kind, folder, server) as scene:
        kill_everywhere(scene, ledger, every)
    ledger.assert_clean()


@pytest.mark.req("EN-008", "EN-006")
def test_a_run_killed_at_any_call_is_made_once(
    folder: Path, server: Server, ledger: Ledger, every: int
):
    with on_two_machines(scenes.HeartbeatWithRuns, folder, server) as scene:
        kill_everywhere(scene, ledger, every, heirs=True)
    ledger.assert_clean()


def test_an_engine_that_acknowledges_before_it_commits_is_caught(
    folder: Path, server: Server, ledger: Ledger
):
    seen = Ledger(PART, ledger.title)
    with on_two_machines(scenes.OpenAnswer, folder, server) as scene:
        kill_everywhere(scene, seen, 1, worse=bad_engines.acknowledges_before_it_commits)
    ledger.bad_store(bool(seen.wrong))
    assert seen.wrong
