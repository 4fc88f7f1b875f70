"""Two workspaces in one process, joined to one database, for tests of what the store does.

Source: EN-007.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from council.operations.engine.pulled import read_pulled
from council.operations.engine.replica import catch_up
from council.operations.place import Place
from council.store import lock
from council.store.engine import schema
from council.store.events import tail
from tests.core.conversations.samples import NOW


class Pair(NamedTuple):
    """The same workspace on two machines."""

    a: Place
    b: Place

    def pull(self) -> None:
        """Bring to each what the other has committed."""
        for place in self:
            catch_up(place)
            assert not read_pulled(place).left


def joined_pair(url: str, folder: Path, daily: str = "") -> Pair:
    """Return two workspaces that have joined an empty database.

    Args:
        url: The database, as its owner.
        folder: Where the workspaces are made.
        daily: The same database as the role that they work with, "" for its owner.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path TO council")
        schema.migrate(connection, "council")
        if daily:
            schema.enrol(connection, "council", "daily")
    return Pair(*(_place(folder / name, name, daily or url) for name in ("a", "b")))


def _place(root: Path, name: str, url: str) -> Place:
    (root / "memory" / "shared").mkdir(parents=True)
    text = f'schemaVersion = 1\n[engine]\nurl = "{url}"\nmachine = "{name}"\n'
    (root / "council.toml").write_text(text)
    return Place(str(root), {}, NOW)


def leave(pair: Pair) -> None:
    """End the connections of both."""
    for place in pair:
        assert place.engine is not None
        place.engine.close()
        lock.engines.pop(place.paths.control, None)


def told(place: Place, *kinds: str) -> list[dict[str, Any]]:
    """Return the events of some types that a machine has told."""
    return [one for one in tail(place.paths) if one["type"] in kinds]


def spoil(url: str, statement: str, *values: object) -> int:
    """Change the database as its owner, past council; return how many rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path TO council")
        return connection.execute(sql.SQL(statement), values).rowcount  # type: ignore[arg-type]


def holding(root: str | Path, text: str) -> list[str]:
    """Return the files of a workspace in which a text can be read."""
    files = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    return [
        str(one.relative_to(root))
        for one in files
        if one.is_file() and text.encode() in one.read_bytes()
    ]


def tables_holding(url: str, text: str) -> list[str]:
    """Return the tables of the engine in which a text stands."""
    found = []
    with psycopg.connect(url) as admin:
        tables = admin.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'council'"
        ).fetchall()
        for (table,) in tables:
            rows = admin.execute(f'SELECT * FROM council."{table}"').fetchall()
            values = (
                one if isinstance(one, bytes) else str(one).encode() for row in rows for one in row
            )
            if any(text.encode() in one for one in values):
                found.append(table)
    return found
