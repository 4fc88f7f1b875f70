"""The servers of the tests do what the tests of failures rely on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from tests.engine.conftest import Roles
from tests.engine.servers import Server

pytestmark = pytest.mark.engine


@pytest.fixture
def durable(server: Server) -> Iterator[Server]:
    """A server of this test alone, which syncs and asks for a password."""
    assert server.process is not None
    with closing(Server(is_durable=True, password="a word")) as made:
        yield made


def test_a_database_is_empty_and_belongs_to_its_owner(database: str, roles: Roles):
    with psycopg.connect(roles.owner) as owner:
        owner.execute("CREATE SCHEMA council")
        owner.execute("CREATE TABLE council.revision (seq int)")
    with psycopg.connect(database) as admin:
        assert admin.execute("SELECT count(*) FROM council.revision").fetchone() == (0,)
    with psycopg.connect(roles.daily) as daily, pytest.raises(psycopg.errors.Error):
        daily.execute("SELECT * FROM council.revision")


@pytest.mark.parametrize("way", ["immediate", "kill"])
def test_what_was_committed_is_there_after_a_stop(durable: Server, way: str):
    with durable.connect() as client:
        client.execute("CREATE TABLE noted AS SELECT 1 AS number")
    if way == "kill":
        durable.kill()
    else:
        durable.stop(way)
    with pytest.raises(psycopg.OperationalError):
        durable.connect()
    durable.start()
    with durable.connect() as client:
        assert client.execute("SELECT number FROM noted").fetchall() == [(1,)]


@pytest.mark.parametrize("is_synchronous", [True, False])
def test_a_promoted_standby_has_what_it_was_sent(durable: Server, is_synchronous: bool):
    with closing(durable.standby(is_synchronous=is_synchronous)) as standby:
        with durable.connect() as client:
            if not is_synchronous:  # else a commit waits for the standby
                standby.stop()
            client.execute("CREATE TABLE noted AS SELECT 1 AS number")
        durable.kill()
        if not is_synchronous:
            standby.start()
        standby.promote()
        with standby.connect() as client:
            found = client.execute("SELECT to_regclass('noted') IS NOT NULL").fetchone()
            assert found == (is_synchronous,)
            client.execute("CREATE TABLE later (number int)")
