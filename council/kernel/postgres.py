"""PostgreSQL as it is used here: the tables, one connection a process, transactions that repeat.

Poolers may stand between: nothing is set at the start of a connection or kept beyond a
transaction. How long a server may be silent is measured here, since its own limits do not end
every wait: not the one for a standby, for example.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import nullcontext

import psycopg
from psycopg import errors as sql
from psycopg.conninfo import conninfo_to_dict

from council.kernel.errors import Away, Conflict, Invalid, NotFound, Refusal, Refused, Unexpected
from council.kernel.ids import cut
from council.kernel.record import Any

PATIENCE = 5.0  # seconds in which a server has to say something
AGAIN = 1.0  # seconds after which a server that was away is asked again
AHEAD = 5.0  # seconds by which clocks may differ: leases and deadlines are compared with them
_BEGIN = """CREATE SCHEMA IF NOT EXISTS council;
    CREATE TABLE IF NOT EXISTS council.version (number int PRIMARY KEY)"""
MIGRATIONS = (
    """CREATE TABLE council.machines (number int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
        name text NOT NULL, joined timestamptz NOT NULL DEFAULT now());
    CREATE TABLE council.log (seq bigint PRIMARY KEY, place text NOT NULL, kind text NOT NULL,
        head text NOT NULL, data bytea NOT NULL, machine int NOT NULL,
        at timestamptz NOT NULL DEFAULT clock_timestamp());
    CREATE INDEX log_place ON council.log (place, seq);
    CREATE INDEX log_head ON council.log (head);
    CREATE TABLE council.files (place text, digest text, data bytea NOT NULL,
        PRIMARY KEY (place, digest))""",
)
_KEY = 0x636F756E63696C  # of the advisory lock by which writers take turns
_DURABLE = """SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') IN ('off', 'local')"""
_LOST = (sql.OperationalError, sql.InterfaceError, OSError)


class _Silent(sql.OperationalError):
    """The server has said nothing for too long."""


class _Connection(psycopg.Connection[Any]):
    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        return super().wait(_watched(gen), *args, **options)


def _watched(gen: Any) -> Generator[Any, Any, Any]:
    """Do what `gen` does, until the other side is silent for too long."""
    try:
        wanted, until = next(gen), time.monotonic() + PATIENCE
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > until:
                raise _Silent(f"no answer within {PATIENCE:.0f} s")
            until = time.monotonic() + PATIENCE if ready else until
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


class Server:
    """A database by its URL, and the connection that this process keeps to it.

    Older tables are brought up to date; where there are none, only who `begins` makes them.
    A URL that is none of PostgreSQL: Invalid (`bad-url`).
    """

    def __init__(self, url: str, begins: bool = False) -> None:
        self.url, self._begins = url, begins
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error:
            parts = {}
        if not parts:
            hint = "write it like postgresql://USER@HOST/DATABASE"
            raise Invalid("bad-url", "not a URL of PostgreSQL", hint)
        shown = (parts.get("host", "this machine"), parts.get("port"), parts.get("dbname"))
        self.name = "{}:{}/{}".format(*(one or "" for one in shown)).replace(":/", "/")
        self._secret = str(parts.get("password") or "")
        self._open: _Connection | None = None
        self._away: tuple[float, Refusal] | None = None
        self._busy = threading.RLock()

    def ask(self, query: str, *values: Any) -> list[Any]:
        """Return the rows of a query, which may be asked again."""
        return list(self._repeated(lambda one, _: one.execute(query, values).fetchall(), False))

    def write(self, act: Callable[[Any, bool], Any]) -> Any:
        """Return what `act` does as the only writer, in one transaction that is durable.

        It is called with a cursor; and once more, with True, if the connection broke: what it did
        may then be there. So it may after Away: the server is not reached, or silent.
        """
        return self._repeated(act, True)

    def _repeated(self, act: Callable[[Any, bool], Any], writes: bool) -> Any:
        for again in (False, True):
            with self._busy:
                try:
                    connection = self._connected()
                    with connection.transaction() if writes else nullcontext():
                        cursor = connection.cursor()
                        if writes:
                            cursor.execute(_DURABLE)
                            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_KEY,))
                        return act(cursor, again)
                except _LOST as error:
                    if self._open is not None:
                        self._open.close()  # what is under way on it may be committed or not
                    if again or isinstance(error, _Silent):
                        raise self._refusal(error) from error
                except psycopg.Error as error:
                    raise self._refusal(error) from error
        raise AssertionError

    def _connected(self) -> _Connection:
        if self._open is not None and not self._open.closed:
            return self._open
        if self._away and time.monotonic() < self._away[0] + AGAIN:
            raise self._away[1]
        options: dict[str, Any] = {"connect_timeout": int(PATIENCE), "client_encoding": "utf8"}
        try:
            made = _Connection.connect(self.url, autocommit=True, prepare_threshold=None, **options)
            made.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            if self._begins:
                made.execute(_BEGIN)
            query = "SELECT coalesce(max(number), 0) FROM council.version"
            [(number,)] = made.execute(query)
            for later, statements in enumerate(MIGRATIONS[number:], number + 1):
                query = "INSERT INTO council.version VALUES (%s) ON CONFLICT DO NOTHING RETURNING 1"
                with made.transaction():
                    if made.execute(query, (later,)).fetchone():  # else another machine did it
                        made.execute(statements)
            before = time.time()
            [(clock,)] = made.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        except (sql.UndefinedTable, sql.InvalidSchemaName):
            what = f"{self.name} has no council"
            raise NotFound("no-engine", what, "council engine init URL") from None
        except (psycopg.Error, OSError) as error:
            raise self._refusal(error) from error
        if number > len(MIGRATIONS):
            what, hint = f"{self.name} has tables of a newer version", "update council here"
            raise Conflict("newer-version", what, hint)
        if (apart := max(before - clock, clock - time.time())) > AHEAD:
            what = f"the clocks of this machine and of {self.name} differ by {apart:.0f} s"
            raise Refused("clocks-differ", what, "set both by NTP, then run the command again")
        self._open = made
        return made

    def _refusal(self, error: Exception) -> Refusal:
        words = "".join(c if c.isprintable() else " " for c in str(error))
        words = cut(words.replace(self._secret, "***") if self._secret else words, 200)
        if isinstance(error, sql.InsufficientPrivilege):
            hint = "grant the role of the URL all rights on the database"
            return Refused("no-permission", f"{self.name}: {words}", hint)
        if isinstance(error, (*_LOST, sql.ReadOnlySqlTransaction)):
            hint = "run the same command again when it is back: it counts once"
            away = Away("engine-away", f"{self.name} is not available: {words}", hint)
            self._away = time.monotonic(), away
            return away
        return Unexpected("engine", f"{self.name}: {words}", "see the log of the server")
