"""What a session of PostgreSQL promises, and its verbs between several sessions."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from multiprocessing import get_context
from typing import Any, Protocol
from uuid import uuid4

import psycopg
import pytest

from council.core.errors import (
    IN_DOUBT,
    ConflictError,
    CouncilError,
    InvalidStateError,
    LockTimeoutError,
    NotFoundError,
    RefusedError,
    UnreachableError,
)
from council.drivers import postgres_server
from council.store.engine import postgres, schema
from council.store.engine.connection import HANGS_S, OLDEST, connected
from tests.engine.pairs import spoil
from tests.engine.servers import Server

pytestmark = pytest.mark.engine

STREAM, LOCK = "control/d1/revisions.jsonl", "control/d1/lock"
BOUND_S = 10.0


class Opener(Protocol):
    def __call__(self, machine: str = ..., *, schema: str = ...) -> postgres.Session: ...


@pytest.fixture
def opened(database: str) -> Iterator[Opener]:
    """Opens sessions in a database that has the tables."""
    with ExitStack() as stack:

        def session(machine: str = "north", *, schema: str = "council") -> postgres.Session:
            said = said_of(database, machine, schema)
            make_tables(said)
            return stack.enter_context(closing(postgres.Session(said)))

        yield session


def said_of(url: str, machine: str = "north", name: str = "council") -> dict[str, Any]:
    return {"url": url, "machine": machine, "schema": name}


def make_tables(said: dict[str, Any]) -> None:
    with connected(said) as connection:
        schema.migrate(connection, said["schema"])


def entry(seq: int, *, whole: bool = False, op: str = "", text: str = "") -> list[Any]:
    """Return an entry whose line has its sum where lines of a journal have it."""
    return [seq, op, whole, b'{"sum":"%s","x":"%s\xff"}\n' % (b"%064d" % seq, text.encode())]


def lines(*entries: list[Any]) -> list[bytes]:
    return [one[3] for one in entries]


def changed(session: postgres.Session, since: str = "") -> list[list[Any]]:
    """Return stream, number and why it was purged of each head that is news."""
    return [one[:3] for one in session.heads(since)["heads"]]


# --- Rows


@pytest.mark.req("EN-001")
def test_rows_come_back_byte_for_byte_with_what_is_known_of_the_head(opened: Opener):
    one, other = opened(), opened("south")
    first, second, third = entry(1, whole=True), entry(2), entry(3, whole=True)
    nothing = {"seq": 0, "purged": "", "sum": "", "lines": [], "last": 0}

    assert other.rows(STREAM, 0) == other.rows(STREAM, -1) == nothing
    one.commit(STREAM, [first, second])
    one.commit(STREAM, [third, entry(4)])

    whole = other.rows(STREAM, 0)
    assert whole == {
        "seq": 4,
        "purged": "",
        "sum": "",
        "lines": lines(first, second, third, entry(4)),
        "last": 4,
    }
    assert other.rows(STREAM, -1)["lines"] == lines(third, entry(4))
    assert other.rows(STREAM, 3) == {**whole, "sum": f"{3:064}", "lines": lines(entry(4))}
    assert other.rows(STREAM, 9) == {**whole, "sum": "", "lines": []}


@pytest.mark.req("EN-001")
def test_rows_and_lines_come_in_pages_that_are_not_large(opened: Opener):
    one, text = opened(), "x" * 400_000
    entries = [entry(at, text=text, whole=at == 2) for at in range(1, 10)]
    one.commit(STREAM, [*entries, entry(10, text=3 * text), entry(11)])
    one.log("l", [b"%d" % at + text.encode() for at in range(9)])

    numbers, after = [], 0
    while after < 11:
        page = one.rows(STREAM, after)
        assert page["seq"] == 11 and sum(map(len, page["lines"])) < 4 * len(text)
        numbers += [line[8:72] for line in page["lines"]]
        after = page["last"]
    assert numbers == [b"%064d" % at for at in range(1, 12)]
    assert one.rows(STREAM, -1)["lines"][0] == entries[1][3]

    page = first = one.logged("")
    said = [line for _, line in first["lines"]]
    while page["after"]:
        page = one.logged("", page["after"])
        assert sum(len(line) for _, line in page["lines"]) < 4 * len(text)
        said += [line for _, line in page["lines"]]
    assert [one[:1] for one in said] == [b"%d" % at for at in range(9)]


@pytest.mark.req("EN-001")
def test_what_a_dump_has_of_another_database_is_news_once(opened: Opener, database: str):
    one = opened()
    one.commit(STREAM, [entry(1)])
    one.log("l", [b"line"])
    for table in ("head", "log"):
        spoil(database, f"UPDATE {table} SET changed = '99999999'")

    since = one.heads("")["next"]

    assert changed(one) == [[STREAM, 1, ""]] and one.logged("")["lines"] == [["l", b"line"]]
    assert changed(one, since) == one.logged(since)["lines"] == []


@pytest.mark.req("EN-001", "EN-008")
def test_a_repeat_changes_nothing_and_another_line_of_the_same_number_is_refused_whole(
    opened: Opener,
):
    one, other = opened(), opened("south")
    one.commit(STREAM, [entry(1), entry(2), entry(3)])

    other.commit(STREAM, [entry(1), entry(2)])
    assert other.rows(STREAM, 0)["seq"] == 3
    with pytest.raises(ConflictError):
        other.commit(STREAM, [entry(3), entry(2, text="parted"), entry(4)])
    with pytest.raises(ConflictError):
        other.commit(
            STREAM,
            [entry(4), entry(3, text="parted")],
            claims=[["open/a", "d1"]],
            sealed=[["x", b"x"]],
        )

    assert one.rows(STREAM, 0)["lines"] == lines(entry(1), entry(2), entry(3))
    assert one.names("") == {}
    one.enter(LOCK, 1)
    assert one.sealed(STREAM, "x") is None


@pytest.mark.req("EN-001")
def test_an_operation_stands_once_in_a_stream(opened: Opener):
    one = opened()
    one.commit(STREAM, [entry(1, op="ask"), entry(2, op=""), entry(3, op="")])
    with pytest.raises(ConflictError):
        one.commit(STREAM, [entry(4, op="ask")])
    one.commit("control/d2/revisions.jsonl", [entry(1, op="ask")])
    assert one.rows(STREAM, 0)["seq"] == 3


@pytest.mark.req("EN-001")
def test_a_name_that_is_taken_refuses_the_whole_commit(opened: Opener):
    one, other = opened(), opened("south")
    one.commit(STREAM, [entry(1)], claims=[["open/active", "d1"]])

    with pytest.raises(ConflictError, match="'active' is taken"):
        other.commit("control/d2/revisions.jsonl", [entry(1)], claims=[["open/active", "d2"]])
    assert other.rows("control/d2/revisions.jsonl", 0)["seq"] == 0
    one.commit(STREAM, [entry(2)], freed=[["open/active", "d1"]])
    other.commit("control/d2/revisions.jsonl", [entry(1)], claims=[["open/active", "d2"]])
    assert one.names("open/") == {"open/active": "d2"}


@pytest.mark.req("EN-001")
def test_a_refusal_under_a_lock_leaves_the_lock_and_the_session_of_use(opened: Opener):
    one, other = opened(), opened("south")
    one.enter(LOCK, 1)
    one.commit(STREAM, [entry(1)])
    with pytest.raises(ConflictError):
        one.commit(STREAM, [entry(1, text="parted")])
    one.commit(STREAM, [entry(2)])
    with pytest.raises(LockTimeoutError):
        other.enter(LOCK, 0.05)
    one.leave(LOCK)
    other.enter(LOCK, 1)
    assert other.rows(STREAM, 0)["seq"] == 2


@pytest.mark.req("EN-001", "EN-003")
def test_what_is_committed_under_a_lock_is_seen_and_told_before_it_is_left(opened: Opener):
    listener, one = opened("south"), opened()
    opened(schema="elsewhere").commit(STREAM, [entry(1)])
    listener.listen()
    opened(schema="elsewhere").commit(STREAM, [entry(2)])

    one.enter(LOCK, 1)
    one.commit(STREAM, [entry(1)])
    one.log("events/a.jsonl", [b"line"])
    told = []
    while len(told) < 2:
        told += listener.notified(BOUND_S)
    assert told == [STREAM, "events/a.jsonl"]
    assert listener.rows(STREAM, 0)["seq"] == 1
    assert listener.notified(0) == []


# --- Locks


@pytest.mark.req("EN-001", "EN-008")
def test_a_lock_is_of_one_session_and_says_who_holds_it(opened: Opener):
    one, other = opened("north"), opened("south")
    one.enter(LOCK, 1)
    other.enter("control/d2/lock", 1)
    opened(schema="elsewhere").enter(LOCK, 1)

    began = time.monotonic()
    with pytest.raises(LockTimeoutError, match="held by machine north"):
        other.enter(LOCK, 0.3)
    assert 0.2 < time.monotonic() - began < 3
    one.close()
    other.enter(LOCK, 1)


@pytest.mark.req("EN-001")
def test_locks_within_locks_go_one_by_one(opened: Opener):
    one, other = opened(), opened("south")
    for key in ("a", "b"):
        one.enter(key, 1)
    one.leave("a")
    other.enter("a", 1)
    one.commit(STREAM, [entry(1)])
    with pytest.raises(LockTimeoutError):
        other.enter("b", 0.05)
    other.leave("b")
    other.leave("a")
    one.leave("b")
    other.enter("b", 1)


@pytest.mark.req("EN-008")
def test_one_who_hangs_loses_its_lock_and_can_commit_nothing_under_it(opened: Opener):
    one, other = opened(), opened("south")
    one.enter(LOCK, 1)

    began = time.monotonic()
    other.enter(LOCK, 9)
    assert time.monotonic() - began < BOUND_S
    with pytest.raises(UnreachableError):
        one.commit(STREAM, [entry(1)])
    assert one.broken
    with pytest.raises(UnreachableError):
        one.commit(STREAM, [entry(1)])
    assert other.rows(STREAM, 0)["seq"] == 0


@pytest.mark.req("EN-008")
def test_one_who_works_long_under_a_lock_keeps_it(opened: Opener):
    one, other = opened(), opened("south")
    one.enter(LOCK, 1)
    until = time.monotonic() + HANGS_S + 1
    seq = 0
    while time.monotonic() < until:
        seq += 1
        one.commit(STREAM, [entry(seq)])
        with pytest.raises(LockTimeoutError):
            other.enter(LOCK, 0.2)
    one.leave(LOCK)


@pytest.mark.req("EN-008")
def test_a_server_that_says_nothing_is_given_up_in_time(opened: Opener, server: Server):
    one = opened()
    with server.connect() as admin:
        pid = one._connection.info.backend_pid
        assert admin.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone()
    with stopped(pid):
        began = time.monotonic()
        with pytest.raises(UnreachableError, match="is not reached") as raised:
            one.commit(STREAM, [entry(1)])
        assert raised.value.hint == IN_DOUBT
        assert time.monotonic() - began < BOUND_S
    assert one.broken


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.req("EN-008")
def test_no_limit_of_the_servers_makes_a_commit_look_done(opened: Opener, database: str):
    with psycopg.connect(database, autocommit=True) as admin:
        for limit in ("statement_timeout = 1", "synchronous_commit = off"):
            admin.execute(f"ALTER ROLE postgres IN DATABASE {admin.info.dbname} SET {limit}")
    session = opened()
    shown = [
        session._connection.execute(f"SHOW {name}").fetchone()
        for name in ("statement_timeout", "synchronous_commit")
    ]
    assert shown == [("0",), ("on",)]


def _abandon(session: postgres.Session) -> None:
    session.abandon()
    session.close()


@pytest.mark.req("EN-008")
def test_a_forked_child_does_not_end_the_connection_of_its_parent(opened: Opener):
    one, other = opened(), opened("south")
    one.enter(LOCK, 1)
    child = get_context("fork").Process(target=_abandon, args=(one,))
    child.start()
    child.join()
    assert child.exitcode == 0
    one.commit(STREAM, [entry(1)])
    with pytest.raises(LockTimeoutError):
        other.enter(LOCK, 0.05)


# --- News


@pytest.mark.req("EN-001")
def test_a_change_that_is_committed_late_is_news_all_the_same(opened: Opener, database: str):
    one, other = opened(), opened("south")
    since = other.heads("")["next"]
    with psycopg.connect(database, options="-c search_path=council") as slow:
        slow.execute("INSERT INTO head (stream, seq) VALUES ('slow', 1)")
        slow.execute(
            "INSERT INTO log (stream, digest, line, machine) VALUES ('l', 'd', 'slow', '')"
        )
        one.commit("quick", [entry(1)])
        one.log("l", [b"quick"])
        late, late_lines = other.heads(since)["next"], other.logged("")
        assert changed(other, since) == [["quick", 1, ""]]
        assert late_lines["lines"] == [["l", b"quick"]]
    assert ["slow", 1, ""] in changed(other, late)
    assert ["l", b"slow"] in other.logged(late_lines["next"])["lines"]


@pytest.mark.req("EN-001")
def test_what_was_read_is_no_news_any_more(opened: Opener):
    one = opened()
    one.commit(STREAM, [entry(1)])
    one.log("l", [b"line"])
    since, until = "", time.monotonic() + BOUND_S
    while one.heads(since)["heads"] or one.logged(since)["lines"]:
        since = one.heads(since)["next"]
        assert time.monotonic() < until


@pytest.mark.req("EN-008")
def test_a_database_that_was_put_back_has_everything_anew(opened: Opener):
    one = opened()
    one.commit(STREAM, [entry(1)])
    one.log("l", [b"line"])
    now = one.heads("")["next"].split("/")
    others = ["1", "1", "1", "00000007", "1", str(int(now[-1]) + 1000)]

    for at, other in enumerate(others):
        since = "/".join([*now[:at], other, *now[at + 1 :]])
        assert one.heads(since)["anew"] and one.logged(since)["anew"]
        assert changed(one, since) == [[STREAM, 1, ""]]
        assert one.logged(since)["lines"] == [["l", b"line"]]


@pytest.mark.req("EN-001")
def test_nothing_is_passed_over_while_many_write(opened: Opener):
    reader, since, read = opened("reader"), "", ""
    seen: set[str] = set()
    said: set[bytes] = set()
    writers = [opened(f"m{at}") for at in range(4)]

    def write(session: postgres.Session, at: int) -> None:
        for seq in range(1, 31):
            session.commit(f"s{at}-{seq}", [entry(1)])
            session.log("log", [b"%d-%d" % (at, seq)])

    threads = [threading.Thread(target=write, args=one[::-1]) for one in enumerate(writers)]
    for one in threads:
        one.start()
    done = False
    while not done:
        done = not any(one.is_alive() for one in threads)
        heads, logged = reader.heads(since), reader.logged(read)
        seen.update(one[0] for one in heads["heads"])
        said.update(line for _, line in logged["lines"])
        since, read = heads["next"], logged["next"]

    wanted = [(at, seq) for at in range(4) for seq in range(1, 31)]
    assert seen == {f"s{at}-{seq}" for at, seq in wanted}
    assert said == {b"%d-%d" % one for one in wanted}


# --- Names, leases, bytes, logs, time


@pytest.mark.req("EN-001", "EN-006")
def test_a_name_stands_for_what_the_first_wanted(opened: Opener):
    one, other = opened(), opened("south")
    assert [one.claim("hook/1", "north"), other.claim("hook/1", "south")] == ["north", "north"]
    other.free("hook/1", "south")
    assert other.names("hook/") == {"hook/1": "north"}
    one.free("hook/1", "north")
    assert other.claim("hook/1", "south") == "south"


@pytest.mark.req("EN-001")
@pytest.mark.parametrize("table", ["name", "lease"])
def test_what_begins_in_a_way_is_found_by_an_index(server: Server, table: str):
    name = f"council_{uuid4().hex}"
    with server.connect() as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 LOCALE 'C.UTF-8'")
        try:
            make_tables(said_of(server.url(name)))
            with psycopg.connect(server.url(name), options="-c search_path=council") as owner:
                rest = {"name": "''", "lease": "'', now()"}[table]
                owner.execute(
                    f"INSERT INTO {table} SELECT 'open/' || n, {rest}"
                    " FROM generate_series(1, 10000) AS n"
                )
                owner.execute(f"ANALYZE {table}")
                asked = f"EXPLAIN SELECT * FROM {table} WHERE starts_with(name, %s)"
                plan = "".join(line for (line,) in owner.execute(asked, ("runs/",)))
            assert "Index Cond" in plan, plan
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.req("EN-006")
def test_a_lease_has_one_holder_and_ends_by_the_time_of_the_database(opened: Opener):
    one, other = opened(), opened("south")
    one.enter(LOCK, 1)  # the time of the database goes on in a transaction
    assert one.lease("agent/henry", "north:1", 60)
    assert not other.lease("agent/henry", "south:1", 60)
    assert one.lease("agent/henry", "north:1", 90)
    holder, left = other.leases("agent/")["agent/henry"]
    assert holder == "north:1" and 60 < left <= 90

    assert one.lease("agent/henry", "north:1", 0.05)
    while not other.lease("agent/henry", "south:1", 60):
        pass
    assert not one.lease("agent/henry", "north:1", 60)
    assert not one.lease("agent/henry", "north:1", 0)
    assert other.lease("agent/henry", "south:1", 0)
    assert other.leases("") == {}


@pytest.mark.req("EN-007")
def test_bytes_come_back_as_they_are_and_are_kept_once(opened: Opener):
    one, other = opened(), opened("south")
    piece = bytes(range(256)) * 4096
    one.put("d", 0, piece)
    other.put("d", 0, b"another")
    assert other.get("d", 0) == piece
    assert other.get("d", 1) is None


@pytest.mark.req("EN-007")
def test_a_sealed_text_is_given_under_the_lock_of_its_conversation_alone(opened: Opener):
    one, other = opened(), opened("south")
    one.commit(STREAM, [entry(1)], sealed=[["digest", b"\x00text"]])
    other.enter("control/d2/lock", 1)
    with pytest.raises(RefusedError):
        other.sealed(STREAM, "digest")
    other.enter(LOCK, 1)
    assert other.sealed(STREAM, "digest") == b"\x00text"
    assert other.sealed(STREAM, "other") is None
    other.leave(LOCK)
    with pytest.raises(RefusedError):
        other.sealed(STREAM, "digest")


@pytest.mark.req("EN-001")
def test_a_line_of_a_log_is_one_whoever_sends_it(opened: Opener):
    one, other = opened(), opened("south")
    one.log("a", [b"1", b"2", b"1"])
    other.log("a", [b"2", b"3\xff"])
    other.log("b", [b"1"])
    assert one.logged("")["lines"] == [["a", b"1"], ["a", b"2"], ["a", b"3\xff"], ["b", b"1"]]


@pytest.mark.req("EN-006")
def test_the_clock_goes_on_under_a_lock(opened: Opener):
    one = opened()
    one.enter(LOCK, 1)
    first = one.clock()
    assert first < one.clock() < first + BOUND_S


# --- Purging


@pytest.mark.req("EN-002")
def test_what_is_purged_is_gone_and_stays_told(opened: Opener):
    one, other = opened(), opened("south")
    one.commit(STREAM, [entry(1), entry(2)], sealed=[["x", b"secret"]])
    one.commit("channels/r/revisions.jsonl", [entry(1, text="secret"), entry(2)])
    one.put("d", 0, b"secret")
    one.log("events/a.jsonl", [b"secret", b"plain"])
    since = other.heads("")["next"]
    digest = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"

    one.purge(
        [STREAM],
        "purged by a person",
        [["channels/r/revisions.jsonl", [[1, entry(1, text="gone")[3]]]]],
        chunks=["d"],
        logs=[["events/a.jsonl", digest]],
    )

    assert sorted(head[:3] for head in other.heads(since)["heads"]) == [
        ["channels/r/revisions.jsonl", 2, "purged by a person"],
        [STREAM, 2, "purged by a person"],
    ]
    other.commit("channels/r/revisions.jsonl", [entry(3)])
    assert other.rows(STREAM, 0) == {
        "seq": 2,
        "purged": "purged by a person",
        "sum": "",
        "lines": [],
        "last": 2,
    }
    rewritten = other.rows("channels/r/revisions.jsonl", 0)
    assert rewritten["purged"] == "purged by a person"  # a machine that was away finds out yet
    assert rewritten["lines"] == lines(entry(1, text="gone"), entry(2), entry(3))
    other.enter(LOCK, 1)
    assert other.sealed(STREAM, "x") is None
    assert other.get("d", 0) is None
    other.log("events/a.jsonl", [b"secret"])
    assert other.logged("")["lines"] == [["events/a.jsonl", b"plain"]]


# --- Coming in


@pytest.mark.req("EN-002", "EN-008")
def test_what_is_in_the_way_of_a_connection_is_one_line_that_says_what_to_do(
    server: Server, database: str, monkeypatch: pytest.MonkeyPatch
):
    def refusal(url: str, name: str = "council") -> CouncilError:
        began = time.monotonic()
        with pytest.raises(CouncilError) as raised:
            postgres.Session(said_of(url, name=name))
        assert time.monotonic() - began < BOUND_S
        assert "\n" not in raised.value.message
        return raised.value

    gone = refusal("postgresql://postgres@127.0.0.1:1,127.0.0.1:2/council")
    assert isinstance(gone, UnreachableError) and gone.message.endswith(": Connection refused")
    missing = refusal(server.url("none"))
    assert 'database "none" does not exist' in missing.message and "createdb" in missing.hint
    empty = refusal(database)
    assert isinstance(empty, NotFoundError) and "council engine init" in empty.hint

    said = said_of(database)
    make_tables(said)
    with connected(said) as connection:
        connection.execute("INSERT INTO migration (number) VALUES (99)")
    newer = refusal(database)
    assert isinstance(newer, InvalidStateError) and "99" in newer.message
    with connected(said) as connection, pytest.raises(InvalidStateError):
        schema.migrate(connection, "council")

    assert OLDEST == postgres_server.OLDEST
    monkeypatch.setattr("council.store.engine.connection.OLDEST", 99)
    old = refusal(database)
    assert isinstance(old, InvalidStateError) and "needs 99 or newer" in old.message


@pytest.mark.req("EN-002")
def test_a_password_that_is_wrong_or_missing_is_said(monkeypatch: pytest.MonkeyPatch):
    with closing(Server(password="right")) as server:
        for given, why in (
            ("wrong", "password authentication failed"),
            ("", "no password supplied"),
        ):
            monkeypatch.setenv("PGPASSWORD", given)
            monkeypatch.setenv("PGPASSFILE", "/dev/null")
            with pytest.raises(UnreachableError, match=why) as raised:
                postgres.Session(said_of(server.url()))
            assert "PGPASSWORD" in raised.value.hint
        monkeypatch.setenv("PGPASSWORD", "right")
        make_tables(said_of(server.url()))
        postgres.Session(said_of(server.url())).close()


@pytest.mark.req("EN-002")
@pytest.mark.parametrize("name", ["select", "7-days", "a_b"])
def test_any_legal_name_can_be_the_schema(opened: Opener, name: str):
    session = opened(schema=name)
    session.enter(LOCK, 1)
    session.commit(STREAM, [entry(1)])
    assert opened(schema=name).rows(STREAM, 0)["seq"] == 1
    assert opened().rows(STREAM, 0)["seq"] == 0


@pytest.mark.req("EN-002")
def test_tables_are_made_once_however_many_ask_at_once(database: str):
    threads = [threading.Thread(target=make_tables, args=(said_of(database),)) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with connected(said_of(database)) as connection:
        assert connection.execute("SELECT number FROM migration").fetchall() == [(1,)]
        assert schema.migrate(connection, "council") == 0
