"""The tables of an engine: numbered migrations, and what a daily role may do.

The role that made them owns them. Another one, for every day, can add revisions, lines of
logs and bytes, and can neither change nor take away any.

Source: EN-002, XC-013.
"""

from __future__ import annotations

from importlib.resources import files

import psycopg
from psycopg import sql

from council.core.errors import InvalidStateError, NotFoundError, RefusedError
from council.core.record import Any

_MIGRATIONS = "migrations"
# What a daily role may do to each table besides reading it; that a stream was purged is said
# by the owner alone.
_DAILY = {
    "INSERT": ("revision", "name", "lease", "chunk", "sealed", "log", "machine"),
    "INSERT (stream, seq)": ("head",),
    "UPDATE (seq, changed)": ("head",),
    "UPDATE": ("name", "lease", "machine"),
    "DELETE": ("name", "lease"),
}


def known() -> list[tuple[int, str]]:
    """Return the migrations that this council knows: number and SQL, in order."""
    folder = files("council.store.engine") / _MIGRATIONS
    found = [one for one in folder.iterdir() if one.name.endswith(".sql")]
    return sorted((int(one.name[:4]), one.read_text(encoding="utf-8")) for one in found)


def version(connection: psycopg.Connection[Any], schema: str) -> int:
    """Return the number of the last migration that was made, 0 where there is no council."""
    name = sql.Identifier(schema, "migration").as_string(connection)
    if connection.execute("SELECT to_regclass(%s)", (name,)).fetchone() == (None,):
        return 0
    found = connection.execute("SELECT max(number) FROM migration").fetchone()
    return int(found[0]) if found and found[0] else 0


def check(connection: psycopg.Connection[Any], schema: str) -> None:
    """Refuse a database in which no council of this version is.

    Raises:
        NotFoundError: There is no council in it.
        InvalidStateError: There is one of another version.
    """
    found, newest = version(connection, schema), known()[-1][0]
    if not found:
        raise NotFoundError(
            f"the database has no council in its schema {schema!r}",
            "where the council is: council engine init URL",
        )
    if found != newest:
        way = "council engine migrate" if found < newest else "install a newer council here"
        raise InvalidStateError(
            f"the engine has version {found} of its tables; this council knows {newest}", way
        )


def migrate(connection: psycopg.Connection[Any], schema: str) -> int:
    """Make the tables, or bring them to what this council knows; return how many steps it took.

    A role that was enrolled may do to new tables what every day needs.

    Raises:
        InvalidStateError: They are of a newer version.
        RefusedError: The role may not.
    """
    steps = 0
    try:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", (schema,))
            connection.execute(
                sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema))
            )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migration (number integer PRIMARY KEY,"
                " at timestamptz NOT NULL DEFAULT clock_timestamp())"
            )
            found = version(connection, schema)
            for number, text in known():
                if number > found:
                    connection.execute(text.encode())
                    connection.execute("INSERT INTO migration (number) VALUES (%s)", (number,))
                    steps += 1
            for role in _enrolled(connection, schema) if steps else ():
                enrol(connection, schema, role)
    except psycopg.errors.InsufficientPrivilege as error:
        raise RefusedError(
            f"the role may make no tables: {error.diag.message_primary}",
            "name the owner of the database in the URL",
        ) from None
    if found > known()[-1][0]:
        check(connection, schema)
    return steps


def _enrolled(connection: psycopg.Connection[Any], schema: str) -> list[str]:
    found = connection.execute(
        "SELECT rolname FROM pg_class, aclexplode(relacl) JOIN pg_roles ON grantee = pg_roles.oid"
        " WHERE relname = 'revision' AND relnamespace = to_regnamespace(%s)"
        " AND privilege_type = 'INSERT' AND grantee <> relowner",
        (sql.Identifier(schema).as_string(connection),),
    )
    return [role for (role,) in found]


def enrol(connection: psycopg.Connection[Any], schema: str, role: str) -> None:
    """Let a role do the work of every day.

    Raises:
        NotFoundError: There is no such role.
    """
    known_role = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
    if known_role is None:
        raise NotFoundError(
            f"the database knows no role {role!r}", f"first: CREATE ROLE {role} LOGIN PASSWORD …"
        )
    whom, where = sql.Identifier(role), sql.Identifier(schema)
    with connection.transaction():
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(where, whom))
        for what in ("SELECT ON ALL TABLES", "USAGE ON ALL SEQUENCES"):
            connection.execute(
                sql.SQL("GRANT {} IN SCHEMA {} TO {}").format(sql.SQL(what), where, whom)
            )
        for verb, tables in _DAILY.items():
            for table in tables:
                connection.execute(
                    sql.SQL("GRANT {} ON {} TO {}").format(
                        sql.SQL(verb), sql.Identifier(table), whom
                    )
                )
