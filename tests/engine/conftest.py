"""What the tests of the engine may ask for: a server, an empty database, roles.

They are skipped, with the reason, where no PostgreSQL can be started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest

from council.core.errors import NotFoundError
from tests.engine.machines import Machine, Machines, Maker
from tests.engine.servers import Server
from tests.faults.conftest import every, folder, ledger, pytest_terminal_summary
from tests.forks import Forks

__all__ = ["every", "folder", "ledger", "pytest_terminal_summary"]


class Roles(NamedTuple):
    """Addresses of one database: of its owner, and of a role that may but connect."""

    owner: str
    daily: str


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The server of this process: one for each worker. It does not sync; keep it running."""
    try:
        made = Server()
    except NotFoundError as error:
        pytest.skip(str(error))
    try:
        with made.connect() as admin:
            admin.execute("CREATE ROLE owner LOGIN")
            admin.execute("CREATE ROLE daily LOGIN")
        yield made
    finally:
        made.close()


@pytest.fixture
def another(server: Server) -> Iterator[Callable[..., Server]]:
    """Starts servers of this test alone, which may stop them; takes what `Server` takes."""
    with ExitStack() as stack:
        yield lambda *given, **named: stack.enter_context(closing(Server(*given, **named)))


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """The address, as postgres, of an empty database that is dropped at the end."""
    name = f"council_{uuid4().hex}"
    with server.connect() as admin:
        admin.execute(f"CREATE DATABASE {name} OWNER owner")
        try:
            yield server.url(name)
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def roles(database: str) -> Roles:
    """The addresses of the same database for its `owner` and for `daily`."""
    return Roles(*(database.replace("postgres@", f"{name}@", 1) for name in Roles._fields))


@pytest.fixture
def machines(database: str, folder: Path, forks: Forks | None) -> Maker:
    """Makes workspaces that are joined to one database, which is empty unless one is named."""

    def made(count: int, url: str = "") -> Machines:
        return Machines(
            Machine(folder / f"m{at}", f"m{at}", url or database, forks=forks)
            for at in range(1, count + 1)
        ).begin()

    return made
