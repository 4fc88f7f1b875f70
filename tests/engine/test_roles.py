"""What the role of every day may do, and what it may not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from council.core.errors import CouncilError, NotFoundError, RefusedError
from council.store.engine import postgres, schema
from council.store.engine.connection import connected
from tests.engine.conftest import Roles
from tests.engine.machines import Machine
from tests.engine.test_postgres import LOCK, STREAM, entry, said_of
from tests.test_readme import HOUSE

pytestmark = pytest.mark.engine


@pytest.fixture
def daily(roles: Roles) -> Iterator[postgres.Session]:
    """A session of the daily role, in what the owner has made."""
    with connected(said_of(roles.owner)) as connection:
        schema.migrate(connection, "council")
        schema.enrol(connection, "council", "daily")
    with closing(postgres.Session(said_of(roles.daily))) as session:
        yield session


@pytest.mark.req("EN-002")
def test_the_daily_role_can_do_all_that_a_day_needs(daily: postgres.Session):
    daily.enter(LOCK, 1)
    daily.commit(STREAM, [entry(1)], claims=[["open/a", "d1"]], sealed=[["x", b"text"]])
    daily.commit(STREAM, [entry(2)], freed=[["open/a", "d1"]])
    assert daily.sealed(STREAM, "x") == b"text"
    daily.leave(LOCK)
    daily.claim("key", "00")
    daily.free("key", "00")
    assert daily.lease("agent/henry", "north:1", 9) and daily.lease("agent/henry", "north:1", 0)
    daily.put("d", 0, b"text")
    daily.log("events/a.jsonl", [b"line"])
    daily.seen()
    daily.clock()
    assert daily.heads("")["heads"][0][:3] == [STREAM, 2, ""]
    assert daily.rows(STREAM, 0)["seq"] == 2
    assert daily.logged("")["lines"] == [["events/a.jsonl", b"line"]]
    assert daily.get("d", 0) == b"text"
    assert not daily.asynchronous()


@pytest.mark.req("EN-002")
@pytest.mark.parametrize("held", [False, True])
def test_the_daily_role_cannot_purge_and_its_session_goes_on(
    daily: postgres.Session, roles: Roles, held: bool
):
    daily.commit(STREAM, [entry(1)])
    if held:
        daily.enter(LOCK, 1)
    with pytest.raises(RefusedError, match="may not"):
        daily.purge([STREAM], "gone")
    daily.commit(STREAM, [entry(2)])
    assert daily.rows(STREAM, 0) == {**daily.rows(STREAM, 0), "seq": 2, "purged": ""}
    with closing(postgres.Session(said_of(roles.owner))) as owner:
        assert owner.rows(STREAM, 0)["seq"] == 2


@pytest.mark.req("EN-002")
@pytest.mark.parametrize(
    "statement",
    [
        *(
            f"DELETE FROM {one}"
            for one in ("revision", "head", "log", "chunk", "sealed", "migration")
        ),
        *(f"TRUNCATE {one}" for one in ("revision", "head", "log", "name")),
        *(f"UPDATE {one} SET line = ''" for one in ("revision", "log")),
        "UPDATE revision SET op = ''",
        "UPDATE chunk SET data = ''",
        "UPDATE sealed SET data = ''",
        "UPDATE head SET purged = 'gone'",
        "INSERT INTO head (stream, seq, purged) VALUES ('s', 1, 'gone')",
        "INSERT INTO migration (number) VALUES (99)",
        "DROP TABLE revision",
        "CREATE TABLE council.more (one text)",
    ],
)
def test_the_daily_role_can_neither_change_nor_take_away_what_stands(
    daily: postgres.Session, roles: Roles, statement: str
):
    daily.commit(STREAM, [entry(1)])
    with (
        connected(said_of(roles.daily)) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


@pytest.mark.req("EN-002")
def test_a_later_migration_keeps_the_daily_role_at_work(roles: Roles, folder: Path):
    owner = Machine(folder / "m1", "m1", roles.owner)
    owner.do("engine", "init", owner.url, "--role", "daily")
    later = folder / "later" / "council"
    shutil.copytree(HOUSE / "council", later, ignore=shutil.ignore_patterns("__pycache__"))
    more = later / "store" / "engine" / "migrations" / "0002.sql"
    more.write_text("CREATE TABLE more (one bigserial)")
    env = {**owner.env(), "PYTHONPATH": str(later.parent)}
    words = [sys.executable, "-m", "council", "engine", "migrate"]
    ran = subprocess.run(words, cwd=owner.root, env=env, capture_output=True, text=True)
    assert ran.stdout == "1 step made\n", ran
    with connected(said_of(roles.daily)) as connection:
        assert connection.execute("SELECT count(*) FROM more").fetchone() == (0,)
        assert connection.execute("SELECT nextval('more_one_seq')").fetchone() == (1,)


@pytest.mark.req("EN-002")
def test_a_role_that_was_not_named_has_no_part_in_the_engine(roles: Roles):
    with connected(said_of(roles.owner)) as connection:
        schema.migrate(connection, "council")
        with pytest.raises(NotFoundError, match="no role 'nightly'"):
            schema.enrol(connection, "council", "nightly")
    with pytest.raises(CouncilError, match="permission denied for schema council"):
        postgres.Session(said_of(roles.daily))
    with (
        connected(said_of(roles.daily, name="another")) as connection,
        pytest.raises(RefusedError, match="may make no tables"),
    ):
        schema.migrate(connection, "another")
