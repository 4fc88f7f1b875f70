"""Who runs whom: an agent runs where it lives, once at a time over all machines.

Source: EN-006.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from council.core.conversations import due
from council.core.times import parse_instant
from council.operations.engine.leases import LEASE_S, Lease, leased_tasks
from council.operations.engine.living import machines_of
from council.operations.place import Place
from tests.cli.commands import at_rest, wait_until, works_in
from tests.engine.machines import Machine, Machines, Maker
from tests.engine.servers import Server
from tests.operations.tables import until

pytestmark = pytest.mark.engine

NORTH, SOUTH = "m1", "m2"


class Agents:
    """Agents that say where they ran; one waits until it is let go."""

    def __init__(self, folder: Path) -> None:
        self.log, self.gate = folder / "runs.log", folder / "gate"
        self._folder = folder

    def program(self, name: str = "agent", *, waits: bool = False) -> str:
        path = self._folder / f"{name}.sh"
        wait = f"while [ ! -e {self.gate} ]; do sleep 0.02; done" if waits else ""
        path.write_text(
            f'#!/bin/sh\ncat >/dev/null\necho "$COUNCIL_AGENT ${{PWD##*/}} begin" >> {self.log}\n'
            f'{wait}\necho "$COUNCIL_AGENT ${{PWD##*/}} end" >> {self.log}\n'
            'case "$COUNCIL_PHASE" in\nSYNTHESIZE) echo "Decided." ;;\n'
            'COLLECT) echo "Yes, says $COUNCIL_AGENT." ;;\n'
            "*) printf 'Agreed.\\n\\nSTATUS: AGREED\\n' ;;\nesac\n"
        )
        path.chmod(0o755)
        return str(path)

    def said(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def agents(folder: Path) -> Agents:
    return Agents(folder)


@pytest.fixture
def two(machines: Maker, agents: Agents) -> Iterator[Machines]:
    both = machines(2)
    yield both
    agents.gate.touch()


def declares(machine: Machine, agent: str, program: str, **more: object) -> None:
    lines = [f"[agents.{agent}]", f'argv = ["{program}"]']
    lines += [f"{key} = {value}" for key, value in more.items()]
    machine.configure("\n" + "\n".join(lines) + "\n")


@pytest.mark.req("EN-006")
def test_each_agent_runs_on_the_machine_that_has_its_program(two: Machines, agents: Agents):
    north, south = two
    declares(north, "ann", agents.program())
    declares(south, "bob", agents.program())
    two.quiet()

    north.do("convene", "Where?", "--agents", "ann,bob")
    wait_until(lambda: _rounds(two) and not north.watched().live.exists())
    two.quiet()

    where = {line.split()[0]: line.split()[1] for line in agents.said()}
    assert where == {"ann": NORTH, "bob": SOUTH}
    assert two.same_everywhere() == []
    assert len(list((south.root / "conseils").glob("*.md"))) == 1


def _rounds(both: Machines) -> bool:
    for one in both:
        one.do("engine", "pull")
        one("heartbeat")
    return True


@pytest.mark.req("EN-006")
def test_machines_in_the_settings_say_where_an_agent_lives(two: Machines, agents: Agents):
    north = two[0]
    for one in two:
        declares(one, "ann", agents.program(), machines=f'["{SOUTH}"]')
        declares(one, "bob", agents.program(), machines=f'["{SOUTH}"]')
    two.quiet()

    north.do("convene", "Where?", "--agents", "ann,bob")
    assert north.do("heartbeat", "--json").json()["conversations"][0]["woken"] == []
    wait_until(lambda: _rounds(two) and len(agents.said()) >= 4)

    assert {line.split()[1] for line in agents.said()} == {SOUTH}


@pytest.mark.req("EN-006", "XC-007")
def test_a_conversation_that_waits_for_another_machine_is_idle_here(two: Machines, agents: Agents):
    north, south = two
    declares(south, "ann", agents.program(waits=True))
    declares(south, "bob", agents.program(waits=True))
    two.quiet()
    north.do("convene", "Where?", "--agents", "ann,bob")
    north.do("heartbeat")
    before = north.watched().live.stat()

    north.do("heartbeat")

    after = north.watched().live.stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert agents.said() == []


@pytest.mark.req("EN-006")
def test_an_agent_that_lives_on_two_machines_runs_once_at_a_time(two: Machines, agents: Agents):
    for one in two:
        declares(one, "ann", agents.program(waits=True))
        declares(one, "bob", agents.program("bob"))
    two.quiet()
    north, south = two
    north.do("convene", "One?", "--name", "one", "--agents", "ann,bob")
    south.do("engine", "pull")
    south.do("convene", "Two?", "--name", "two", "--agents", "ann,bob")
    wait_until(lambda: _rounds(two) and any(one.startswith("ann") for one in agents.said()))

    for _ in range(3):
        _rounds(two)

    assert sum(one.startswith("ann") and one.endswith("begin") for one in agents.said()) == 1
    agents.gate.touch()
    wait_until(lambda: _rounds(two) and sum(one.startswith("ann") for one in agents.said()) >= 4)
    at_work = 0
    for line in agents.said():
        if line.startswith("ann"):
            at_work += 1 if line.endswith("begin") else -1
            assert at_work in (0, 1)


@pytest.mark.req("EN-006")
def test_a_run_whose_machine_died_is_made_on_another_when_its_lease_is_over(
    two: Machines, agents: Agents, database: str
):
    north, south = two
    for one in two:
        declares(one, "ann", agents.program(waits=True))
        declares(one, "bob", agents.program("bob"), machines=f'["{NORTH}"]')
    two.quiet()
    north.do("convene", "Where?", "--agents", "ann,bob")
    wait_until(lambda: f"ann {NORTH} begin" in agents.said())
    _kill_all_of(north)
    two[1].do("engine", "pull")
    south("heartbeat")
    assert f"ann {SOUTH} begin" not in agents.said()

    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("UPDATE council.lease SET ends = clock_timestamp() - interval '1 s'")
    agents.gate.touch()
    wait_until(lambda: south("heartbeat").code == 0 and f"ann {SOUTH} end" in agents.said())


def _kill_all_of(machine: Machine) -> None:
    """Kill every process that works in the workspace of a machine, as a power cut does."""
    for one in os.listdir("/proc"):
        if works_in(machine.root, one):
            with suppress(ProcessLookupError):
                os.kill(int(one), signal.SIGKILL)


def ann_runs(two: Machines, agents: Agents) -> Machine:
    """Return the machine on which ann runs until the gate is opened, and bob has answered."""
    north = two[0]
    declares(north, "ann", agents.program(waits=True))
    declares(north, "bob", agents.program("bob"))
    two.quiet()
    north.do("convene", "Where?", "--agents", "ann,bob")
    wait_until(lambda: f"ann {NORTH} begin" in agents.said())
    return north


@pytest.mark.req("EN-006", "EN-008")
def test_a_run_whose_lease_is_lost_is_not_gone_where_its_place_is_held(
    two: Machines, agents: Agents, database: str
):
    north = ann_runs(two, agents)

    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("DELETE FROM council.lease")
    north.do("heartbeat")

    assert "task.lost" not in "".join(_events(north))


@pytest.mark.long
@pytest.mark.req("EN-006", "EN-008")
def test_an_answer_waits_for_a_lock_and_its_run_has_a_lease_until_it_stands(
    two: Machines, agents: Agents, database: str
):
    north = two[0]
    declares(north, "ann", agents.program(waits=True))
    north.do("convene", "Where?", "--agents", "ann", "--people", "owl")
    wait_until(lambda: f"ann {NORTH} begin" in agents.said())
    (journal,) = Path(Place(str(north.root), {}, None).paths.control).glob("*/revisions.jsonl")
    with psycopg.connect(database, autocommit=True) as other:
        other.execute(_HOLDS, (f"council control/{journal.parent.name}/lock",))
        agents.gate.touch()
        began: set[tuple[object, ...]] = set()

        def has_waited_twice() -> bool:
            began.update(other.execute(_WAITS, (f"council/{NORTH}",)).fetchall())
            return len(began) > 1

        until(has_waited_twice, "the time of one wait is up")
        other.execute("DELETE FROM council.lease")
        until(lambda: other.execute("SELECT FROM council.lease").fetchall(), "it is renewed")

    wait_until(lambda: "Ann (agent:ann): RESPONDED" in north.do("show").out)
    said = "".join(_events(north))
    assert "task.failed" not in said and "answer.refused" not in said
    assert agents.said().count(f"ann {NORTH} begin") == 1


_HOLDS = "SELECT pg_advisory_lock(hashtextextended(%s, 0))"
_WAITS = (
    "SELECT query_start FROM pg_stat_activity"
    " WHERE application_name = %s AND wait_event_type = 'Lock'"
)


@pytest.mark.req("EN-006", "EN-008")
def test_of_a_finished_answer_that_waits_and_another_run_one_counts(
    two: Machines, agents: Agents, folder: Path, database: str
):
    (folder / "beside").mkdir()
    north, south, others = *two, Agents(folder / "beside")
    declares(north, "ann", agents.program(waits=True))
    declares(south, "ann", others.program(waits=True))
    north.do("convene", "Where?", "--agents", "ann", "--people", "owl")
    wait_until(lambda: f"ann {NORTH} begin" in agents.said())
    with _stopped_supervisor(north), psycopg.connect(database, autocommit=True) as admin:
        agents.gate.touch()
        wait_until(lambda: f"ann {NORTH} end" in agents.said())
        admin.execute("UPDATE council.lease SET ends = clock_timestamp() - interval '1 s'")
        south.do("engine", "pull")
        wait_until(lambda: south("heartbeat") and f"ann {SOUTH} begin" in others.said())

    at_rest(north.root)
    others.gate.touch()
    at_rest(south.root)
    two.quiet()

    assert "Ann (agent:ann): RESPONDED" in north.do("show").out
    said = "".join(_events(north))
    assert (said.count("contribution.recorded"), said.count("task.failed")) == (1, 0)
    assert two.same_everywhere() == []


@pytest.mark.req("EN-006")
def test_of_two_machines_with_one_name_neither_takes_the_lease_of_the_other(
    two: Machines, folder: Path
):
    copied = folder / "copied"
    (copied / "memory/shared").mkdir(parents=True)
    (copied / "council.toml").write_bytes((two[0].root / "council.toml").read_bytes())
    north, clone = (Place(str(root), {}, None) for root in (two[0].root, copied))
    assert north.engine is not None
    assert clone.engine is not None

    assert Lease(north.engine, "ann", "t1").take()

    assert not Lease(clone.engine, "ann", "t2").take()
    assert leased_tasks(clone) == {"t1"}
    assert Lease(north.engine, "ann", "t3").take(), "the run of its own is gone"


@pytest.mark.req("EN-006")
def test_a_lease_is_renewed_at_once_when_the_machine_has_slept(
    two: Machines, database: str, monkeypatch: pytest.MonkeyPatch
):
    engine, slept, real = Place(str(two[0].root), {}, None).engine, [0.0], time.clock_gettime
    assert engine is not None
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real(clock) + slept[0])
    lease = Lease(engine, "ann", "t1")
    assert lease.take()
    with psycopg.connect(database, autocommit=True) as admin, lease.kept():
        ends = admin.execute("SELECT ends FROM council.lease").fetchall()
        began = time.monotonic()
        slept[0] = 300.0
        until(lambda: admin.execute("SELECT ends FROM council.lease").fetchall() != ends, "renewed")
    assert time.monotonic() - began < 5


@pytest.mark.req("EN-006")
def test_the_clock_of_the_database_is_that_of_all_machines(two: Machines):
    north = two[0]
    north.do("engine", "pull")
    mark = north.root / "memory/shared/.council/pulled"
    pulled = json.loads(mark.read_text())
    assert abs(pulled["offset"]) < 5, "the clocks of this machine are one"

    mark.write_text(json.dumps({**pulled, "offset": 300.0}))

    now = parse_instant(north.do("heartbeat", "--json").json()["now"])
    assert 290 < now.timestamp() - time.time() < 310


@pytest.mark.req("EN-006", "XC-007")
def test_a_note_lets_what_waits_for_another_machine_sleep_until_its_deadline(
    two: Machines, agents: Agents
):
    north, south = two
    for agent in ("ann", "bob"):
        declares(south, agent, agents.program(waits=True))
    two.quiet()
    north.do("convene", "Where?", "--agents", "ann,bob")

    place = Place(str(north.root), {}, None)
    state = place.conversations.read("active")

    assert due.next_due(state) == state.created_at, "somewhere it is due"
    assert due.next_due(state, here=place.has) == state.timeout_at


@pytest.mark.req("EN-006")
def test_what_the_files_of_an_agent_say_counts_for_other_machines_as_well(
    two: Machines, agents: Agents
):
    north, south = two
    soul = south.root / "memory/agents/ann/SOUL.md"
    soul.parent.mkdir(parents=True)
    soul.write_text("---\ndriver: openai\n---\nI am Ann.\n")
    south.configure(f'\n[agents.bob]\nmachines = ["{SOUTH}"]\n')
    two.quiet()

    north.do("convene", "Where?", "--agents", "ann,bob")
    north.do("heartbeat")

    place = Place(str(north.root), {}, None)
    assert [machines_of(place, one) for one in ("ann", "bob")] == [[SOUTH], [SOUTH]]
    assert place.conversations.read("active").tasks == {}
    assert list((north.root / "memory/agents").glob("*/tasks/*")) == []


@pytest.mark.req("EN-006")
def test_who_is_convened_is_known_to_be_run_here_before_others_see_it(
    two: Machines, agents: Agents, database: str
):
    north = two[0]
    declares(north, "ann", agents.program())
    declares(north, "bob", agents.program())

    north.do("convene", "Where?", "--agents", "ann,bob", "--root", str(north.root))

    with psycopg.connect(database) as admin:
        told = admin.execute(
            "SELECT value FROM council.name WHERE name = %s", (f"machine/{NORTH}/runs",)
        ).fetchone()
    assert told == ("ann,bob",)


@pytest.mark.req("EN-006")
def test_a_coordinator_is_notified_where_it_lives(two: Machines, agents: Agents):
    for one in two:
        one.configure(f'\n[agents.cleo]\nmachines = ["{SOUTH}"]\n')
    two.quiet()
    notices = [one.root / "memory/agents/cleo/tasks" for one in two]

    two[0].do("convene", "Who?", "--people", "owl,fox", "--coordinator", "cleo", "--open")
    for one in ("owl", "fox"):
        two[0].do("respond", "--as", one, "Tea.")
    two[0].do("heartbeat")
    two[1].do("engine", "pull")
    two[1].do("heartbeat")

    assert [one.exists() and any(one.iterdir()) for one in notices] == [False, True]


@pytest.mark.req("EN-006", "OP-011")
def test_a_run_that_goes_on_elsewhere_is_not_called_lost(two: Machines, agents: Agents):
    ann_runs(two, agents)
    south = two[1]
    south.do("engine", "pull")

    explained = south.do("explain", "active", "--json").out

    assert '"lost"' not in explained
    assert '"run"' in explained


@pytest.mark.req("EN-006")
def test_a_run_whose_lease_is_another_machines_is_ended_with_all_it_started(
    two: Machines, agents: Agents, database: str
):
    north = ann_runs(two, agents)

    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("UPDATE council.lease SET holder = 'm2:x', ends = ends + interval '1 h'")

    wait_until(lambda: not _at_work(north))
    wait_until(lambda: "task.lost" in "".join(_events(north)))
    assert f"ann {NORTH} end" not in agents.said()


@pytest.mark.req("EN-006", "EN-008")
def test_a_run_is_ended_before_a_lease_is_over_that_cannot_be_renewed(
    server: Server, machines: Maker, agents: Agents
):
    with closing(Server()) as primary:
        (north,) = machines(1, primary.url())
        declares(north, "ann", agents.program(waits=True))
        declares(north, "bob", agents.program("bob"))
        north.do("convene", "Where?", "--agents", "ann,bob")
        wait_until(lambda: f"ann {NORTH} begin" in agents.said())
        began = time.monotonic()
        primary.stop()

        until(lambda: not _at_work(north), "the run is ended")

        assert time.monotonic() - began < LEASE_S - 5, "another machine may begin then"
        primary.start()


@pytest.mark.long
@pytest.mark.req("EN-006")
def test_a_run_whose_supervisor_is_stopped_is_ended_before_its_lease_is_over(
    two: Machines, agents: Agents
):
    north = two[0]
    declares(north, "ann", agents.program(waits=True))
    north.do("convene", "Where?", "--agents", "ann", "--people", "owl")
    wait_until(lambda: f"ann {NORTH} begin" in agents.said())
    began = time.monotonic()
    with _stopped_supervisor(north):
        until(lambda: not _at_work(north), "the program is ended")
        assert time.monotonic() - began < LEASE_S, "another machine may begin then"


@contextmanager
def _stopped_supervisor(machine: Machine) -> Iterator[None]:
    """Stop, for a while, the supervisor of the run that is under way on a machine."""
    (program,) = _at_work(machine)
    supervisor = int(Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(supervisor, signal.SIGCONT)


def _at_work(machine: Machine) -> list[str]:
    """Return the programs of `Agents` that work in the workspace of a machine."""
    return [one for one in os.listdir("/proc") if works_in(machine.root, one) and _is_agent(one)]


def _is_agent(process: str) -> bool:
    try:
        return b"agent.sh" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return False


def _events(machine: Machine) -> list[str]:
    return [one.read_text() for one in (machine.root / "memory/shared/events").glob("*.jsonl")]


@pytest.mark.req("EN-006", "OP-011")
def test_it_is_said_on_which_machine_an_agent_is_started(two: Machines, agents: Agents):
    north = two[0]
    declares(north, "ann", agents.program(), machines=f'["{SOUTH}"]')
    declares(north, "bob", agents.program(), machines='["moon"]')
    two.quiet()
    north.do("convene", "Where?", "--agents", "ann,bob")

    explained = north.do("explain", "active").out

    assert f"a heartbeat on {SOUTH} starts ann" in explained
    assert "the next heartbeat starts" not in explained
    assert "bob lives on moon, and no machine of that name has joined" in explained
    examined = north("doctor")
    assert f"lives on {SOUTH}" in examined.out
    assert examined.code == 3 and f"council engine join {north.url} there" in examined.out
    assert agents.said() == []
