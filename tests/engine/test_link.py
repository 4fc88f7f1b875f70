"""`council link`: one process of a machine through which all commands reach the engine."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from council.core.errors import ConflictError, LockTimeoutError, NotFoundError, UnreachableError
from council.operations.place import Place
from council.store.documents import lines
from council.store.engine import sessions
from tests.engine.links import Linked, control_of, direct_to, holder, linked, said_of, session_of
from tests.engine.machines import Machine, Maker
from tests.engine.servers import Server
from tests.operations.tables import until
from tests.test_start_up import heavy, modules_after

pytestmark = pytest.mark.engine

KEY = "control/some/lock"
OPENS_NOTHING = {"psycopg", "socket", "threading", "selectors", "subprocess", "typing", "re"}


@pytest.fixture
def machine(machines: Maker) -> Machine:
    return machines(1)[0]


@pytest.fixture
def link(machine: Machine) -> Iterator[Linked]:
    with linked(machine) as made:
        yield made


def cut_off(server: Server) -> None:
    """End every connection that holds a lock."""
    with server.connect() as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE state LIKE 'idle in transaction%'"
        )


def convened(machine: Machine) -> None:
    machine.do("convene", "Tea?", "--people", "owl,gecko")


def status_of(machine: Machine, agent: str) -> object:
    return machine.do("show", "--json").json()["participants"][agent]["status"]


@pytest.mark.req("EN-003", "EN-008")
def test_sessions_of_a_link_exclude_each_other_and_those_without_it(machine, link):
    one, other, direct = session_of(machine), session_of(machine), direct_to(machine)

    one.enter(KEY, 5.0)
    for late in (other, direct):
        with pytest.raises(LockTimeoutError):
            late.enter(KEY, 0.1)
    one.enter(f"{KEY}/2", 5.0)
    one.leave(KEY)
    other.enter(KEY, 5.0)
    with pytest.raises(LockTimeoutError):
        direct.enter(f"{KEY}/2", 0.1)
    one.leave(f"{KEY}/2")
    direct.enter(f"{KEY}/2", 5.0)


@pytest.mark.req("EN-008")
def test_what_a_killed_client_held_is_free_at_once_and_no_other_client_has_it(machine, link):
    dying = holder(machine, KEY)
    one, direct = session_of(machine), direct_to(machine)
    with pytest.raises(LockTimeoutError):
        one.enter(KEY, 0.1)

    dying.kill()
    dying.wait()
    began = time.monotonic()
    one.enter(KEY, 5.0)

    assert time.monotonic() - began < 2
    with pytest.raises(LockTimeoutError):
        direct.enter(KEY, 0.1)
    one.close()
    direct.enter(KEY, 5.0)


@pytest.mark.req("EN-003")
def test_what_is_refused_comes_back_as_what_it_is(machine, link):
    one = session_of(machine)
    line = b'{"op":"","digest":""}\n'

    one.enter(KEY, 5.0)
    one.commit("control/c/revisions.jsonl", [[1, "a", True, line]])
    with pytest.raises(ConflictError) as refused:
        one.commit("control/c/revisions.jsonl", [[1, "b", True, b"another\n"]])

    assert refused.value.exit_code == 4 and refused.value.message
    assert one.rows("control/c/revisions.jsonl", 0)["lines"] == [line]
    one.leave(KEY)
    assert not one.broken


@pytest.mark.req("EN-001", "EN-003")
def test_a_link_passes_nothing_to_another_engine_than_the_settings_name(machine, link):
    with pytest.raises(NotFoundError, match="'another'"):
        sessions.opened(str(control_of(machine)), {**said_of(machine), "schema": "another"})
    session_of(machine).clock()


@pytest.mark.req("EN-003")
def test_a_link_that_hangs_keeps_a_command_for_less_than_ten_seconds(machine, link):
    convened(machine)
    link.stop()
    for code, told, words in (
        (7, "kept", ("respond", "Yes: we want it.", "--as", "owl")),
        (7, "council link does not answer", ("cancel",)),
    ):
        began = time.monotonic()
        refused = machine(*words)
        assert time.monotonic() - began < 10
        assert refused.code == code and told in refused.err

    link.process.send_signal(signal.SIGCONT)
    until(lambda: status_of(machine, "owl") == "RESPONDED", "what was kept is sent")


@pytest.mark.req("EN-005", "EN-008")
def test_a_link_outlives_its_database(another: Callable[..., Server], folder: Path):
    server = another()
    machine = Machine(folder / "m1", "m1", server.url())
    machine.init()
    with linked(machine) as link:
        convened(machine)
        server.stop()
        said = link.says("is not reached")
        assert "council link does not answer" not in said
        began = time.monotonic()
        refused = machine("respond", "Yes: we want it.", "--as", "owl")
        assert refused.code == 7 and time.monotonic() - began < 5

        server.start()
        link.says("is back")
        until(lambda: status_of(machine, "owl") == "RESPONDED", "what was kept is sent")


@pytest.mark.req("EN-003")
def test_there_is_one_link_and_another_takes_over_when_it_was_killed(machine, link):
    convened(machine)
    second = machine("link")
    assert second.code == 4 and "runs already" in second.err and str(link.process.pid) in second.err

    link.end(signal.SIGKILL)
    machine.do("respond", "Yes: we want it.", "--as", "owl")  # by itself
    with linked(machine) as later:
        machine.do("respond", "No: it costs too much.", "--as", "gecko")
        session_of(machine).clock()
        assert later.end() == 0
    assert not os.path.lexists(control_of(machine) / "link.sock")


@pytest.mark.req("EN-003")
def test_the_socket_is_for_its_user_alone(machine, link):
    found = os.lstat(control_of(machine) / "link.sock")

    assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600


@pytest.mark.req("EN-003")
def test_a_workspace_without_an_engine_has_no_link(council):
    council("init")
    refused = council("link")

    assert refused.code == 5 and "council engine join" in refused.err


@pytest.mark.req("EN-003")
def test_a_workspace_may_lie_deep(database: str, folder: Path):
    deep = folder / "/".join(["a-folder-with-a-long-name"] * 8) / "m1"
    machine = Machine(deep, "m1", database)
    machine.init()
    with linked(machine):
        one = session_of(machine)
        one.enter(KEY, 5.0)
        with pytest.raises(LockTimeoutError):
            direct_to(machine).enter(KEY, 0.1)


@pytest.mark.req("EN-003")
@pytest.mark.parametrize(
    "words",
    [("respond", "Yes: we want it.", "--as", "owl"), ("heartbeat",), ("context", "--as", "owl")],
)
def test_commands_load_nothing_heavy_to_reach_a_link(machine, link, tmp_path: Path, words):
    convened(machine)
    machine.do("heartbeat")
    _, without = modules_after(machine, tmp_path, "status", "--help")
    code, modules = modules_after(machine, tmp_path, *words)

    assert code == 0
    assert heavy(modules) == [] and OPENS_NOTHING & modules <= without


@pytest.mark.req("EN-001", "EN-003")
def test_what_a_person_saves_is_soon_in_the_file_of_another_machine(machines: Maker):
    one, other = machines(2)
    with linked(one), linked(other):
        convened(one)
        there = other.watched().live
        until(there.exists, "the conversation came")
        began = time.monotonic()
        one.save("We have no kettle.")
        until(lambda: b"We have no kettle." in there.read_bytes(), "the edit came")
        assert time.monotonic() - began < 5  # alone it is under 1 s; without news 10 s


@pytest.mark.req("EN-003")
def test_watch_that_advances_is_the_link_where_there_is_none(machines: Maker):
    one, other = machines(2)
    watching = Linked(one, "status", "--watch", "--advance")
    try:
        until(lambda: os.path.lexists(control_of(one) / "link.sock"), "it links")
        second = one("link")
        assert second.code == 4 and "runs already" in second.err
        session_of(one).clock()
        convened(other)
        until(lambda: one.watched().live.exists(), "the conversation came")
    finally:
        watching.end()


@pytest.mark.req("EN-008")
def test_a_lock_that_is_given_back_twice_leaves_no_later_one_to_another_client(machine, link):
    one, other, direct = session_of(machine), session_of(machine), direct_to(machine)
    one.leave(KEY)
    one.enter(KEY, 5.0)
    for late in (other, direct):
        with pytest.raises(LockTimeoutError):
            late.enter(KEY, 0.1)
    one.leave(KEY)
    direct.enter(KEY, 5.0)


@pytest.mark.req("EN-008")
def test_a_commit_that_gets_back_but_some_of_its_locks_leaves_none_behind(machine, link, server):
    engine, direct = Place(str(machine.root), {}, None).engine, direct_to(machine)
    assert engine is not None
    first, second = (f"{engine.control}/some/{name}" for name in ("lock", "lock2"))
    engine.left_s = 4.5
    engine.waits_until()
    engine.enter(first, 1.0)
    engine.enter(second, 1.0)
    cut_off(server)
    direct.enter(engine.stream_of(second), 5.0)
    data, _ = lines.made(None, {"op": "", "digest": ""}, None, b"text")
    with pytest.raises(UnreachableError, match="while this was being recorded"):
        engine.commit(f"{engine.control}/some/revisions.jsonl", data)

    direct.enter(KEY, 1.0)
    with pytest.raises(UnreachableError):
        engine.session.rows("control/some/revisions.jsonl", 0)
    engine.leave(second)
    engine.leave(first)
    assert engine.session.rows("control/some/revisions.jsonl", 0)["lines"] == []
    engine.close()


@pytest.mark.req("EN-008")
def test_a_session_that_lost_its_connection_while_it_held_a_lock_commits_nothing(
    machine, link, server
):
    one = session_of(machine)
    one.enter(KEY, 5.0)
    cut_off(server)
    for _ in range(2):
        with pytest.raises(UnreachableError):
            one.commit("control/c/revisions.jsonl", [[1, "a", True, b"{}\n"]])

    assert one.broken
    assert direct_to(machine).rows("control/c/revisions.jsonl", 0)["lines"] == []


@pytest.mark.req("EN-003")
def test_a_link_that_no_command_can_find_any_more_says_so_and_ends(machine, link):
    shutil.rmtree(control_of(machine))
    link.says("so the link ends; start it again")
    assert link.process.wait(timeout=30) == 0
