"""A connection to the database of an engine: how it is made, asked, locked and given up.

One that holds a lock stays inside a transaction. So the server ends one that hangs
(`idle_in_transaction_session_timeout`) and one that is cut off (keepalives); its locks go
with it, and as locks and rows share the connection, a process that lost the lock can
commit nothing under it.

Source: EN-001, EN-006, EN-008.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus

from council.core.errors import (
    IN_DOUBT,
    ConflictError,
    CouncilError,
    InvalidStateError,
    LockTimeoutError,
    RefusedError,
    UnreachableError,
)
from council.core.record import Any
from council.store.engine.sessions import LIMIT_S

CONNECT_S = 3
HANGS_S = 5
_GRACE_S = 1.0
_KEEPALIVES = {"keepalives_idle": 2, "keepalives_interval": 1, "keepalives_count": 3}
OLDEST = 15
_SERVER = {
    "tcp_keepalives_idle": 2,
    "tcp_keepalives_interval": 1,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": HANGS_S * 1000,
    "idle_in_transaction_session_timeout": HANGS_S * 1000,
    "synchronous_commit": "on",
    # A commit that a limit of the server's own ends while it waits for a standby looks done.
    "statement_timeout": 0,
}
_SECRET = "a password comes from PGPASSWORD, PGPASSFILE or ~/.pgpass"
_CURES = {
    "no password supplied": _SECRET,
    "password authentication failed": _SECRET,
    "does not exist": "first, as its administrator: createdb, createuser",
    "Connection refused": "try again; does PostgreSQL run there, is the port in the URL right?",
    "failed to resolve host": "is the host in the URL right?",
    "invalid integer value": "correct the URL",
}
_LOCK = "hashtextextended(current_schema() || ' ' || %s, 0)"


class _Connection(psycopg.Connection[Any]):
    """A connection that waits for the server for `limit_s` at most."""

    limit_s = LIMIT_S

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Do what the base does, with a bound where none is given."""
        return super().wait(gen, interval, self.limit_s if timeout is None else timeout)


def connected(config: dict[str, Any]) -> _Connection:
    """Return a connection in the schema of a council.

    Raises:
        UnreachableError: There is none to be had; says why in one line.
        InvalidStateError: The server is too old.
    """
    url = str(config["url"])
    options = " ".join(f"-c {name}={value}" for name, value in _SERVER.items())
    try:
        made = _Connection.connect(
            make_conninfo(
                url,
                connect_timeout=CONNECT_S,
                tcp_user_timeout=HANGS_S * 1000,
                target_session_attrs="read-write",
                application_name=f"council/{config.get('machine', '')}",
                options=f'{options} -c search_path="{config["schema"]}"',
                **_KEEPALIVES,
            ),
            autocommit=True,
            prepare_threshold=None,
        )
    except psycopg.Error as error:
        why = one_line(error)
        cure = next((cure for sign, cure in _CURES.items() if sign in why), "")
        raise UnreachableError(url, why, cure) from None
    found = made.info.server_version // 10_000
    if found < OLDEST:
        made.close()
        raise InvalidStateError(
            f"the server of {url} is PostgreSQL {found}; council needs {OLDEST} or newer",
            "upgrade it, or name another server in the URL",
        )
    return made


def one_line(error: psycopg.Error) -> str:
    """Return what went wrong, without the address, which the message names anyway."""
    said = str(error.diag.message_primary or error).partition("\n")[0]
    return said.rpartition("failed: ")[2].removeprefix("FATAL:").strip() or "it does not answer"


class LockingConnection:
    """One connection, which stays inside a transaction while it holds a lock.

    Args:
        config: `url`, `schema` and `machine`.

    Attributes:
        broken: Whether it was lost; it is of no use any more then, and holds nothing.
        limit_s: For how long the database may say nothing.

    Raises:
        UnreachableError: The database is not reached.
        InvalidStateError: There is no council in it, or one of a newer version.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        from council.store.engine.schema import check

        self.broken = False
        self.limit_s = LIMIT_S
        self._url = str(config["url"])
        self._machine = str(config["machine"])
        self._connection = connected(config)
        self._held: list[str] = []
        try:
            check(self._connection, str(config["schema"]))
        except psycopg.Error as error:
            self.close()
            raise UnreachableError(self._url, one_line(error)) from None
        except CouncilError:
            self.close()
            raise

    def close(self) -> None:
        """End the connection; what is held by it is free again."""
        self.broken = True
        with suppress(psycopg.Error):
            self._connection.close()

    def abandon(self) -> None:
        """Leave the connection to the parent, in a process that was forked."""
        self.broken = True
        with suppress(OSError, psycopg.Error):
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, self._connection.fileno())
            os.close(nowhere)

    # Asking.

    @contextmanager
    def _asking(self, hint: str = "") -> Iterator[psycopg.Cursor[Any]]:
        """Yield a cursor; what the database refuses becomes a refusal of ours.

        `hint` is that of a connection which is lost meanwhile.

        Outside of a lock each question is a transaction of its own, under one all
        belong to that which goes on as long as the lock is held.
        """
        if self.broken:
            raise UnreachableError(self._url, "the connection was lost")
        self._connection.limit_s = self.limit_s
        try:
            with self._connection.cursor() as cursor:
                yield cursor
        except CouncilError:
            raise
        except psycopg.errors.InsufficientPrivilege as error:
            self._undo()
            raise RefusedError(
                f"the role of {self._url} may not do that: {one_line(error)}",
                "name the owner of the engine in the URL",
            ) from None
        except psycopg.Error as error:
            self.close()
            raise UnreachableError(self._url, one_line(error), hint) from None
        except BaseException:
            self.close()  # what it was in the middle of is not known
            raise

    def _undo(self) -> None:
        """Take back what was begun; under a lock the next transaction begins at once."""
        try:
            if self._connection.info.transaction_status != TransactionStatus.IDLE:
                self._connection.execute("ROLLBACK AND CHAIN" if self._held else "ROLLBACK")
        except psycopg.Error:
            self.close()

    @contextmanager
    def _changing(self) -> Iterator[psycopg.Cursor[Any]]:
        """Yield a cursor for several changes: all hold once the block ends, or none does.

        Under a lock the next transaction begins at once.
        """
        with self._asking(IN_DOUBT) as cursor:
            if not self._held:
                cursor.execute("BEGIN")
            try:
                yield cursor
            except ConflictError:
                self._undo()
                raise
            cursor.execute("COMMIT AND CHAIN" if self._held else "COMMIT")

    def _ended_alone(self, cursor: psycopg.Cursor[Any]) -> None:
        """Let a single change hold at once, under a lock as well."""
        if self._held:
            cursor.execute("COMMIT AND CHAIN")

    # Locks.

    def enter(self, key: str, wait_s: float) -> None:
        """Take the lock of a key.

        Raises:
            LockTimeoutError: It was not free for so many seconds.
            UnreachableError: Nor will it be before a standby answers, for which a commit waits.
        """
        with self._asking() as cursor:
            self._connection.limit_s = wait_s + _GRACE_S
            try:
                self._at_once(
                    cursor,
                    key,
                    "" if self._held else "BEGIN; ",
                    f"SET LOCAL lock_timeout = {max(1, int(wait_s * 1000))}; ",
                    f"SELECT pg_advisory_lock({_LOCK}); SET LOCAL lock_timeout = 0",
                )
            except psycopg.errors.LockNotAvailable:
                self._undo()
                holder, waits_for = self._holder(key)
                if waits_for == "SyncRep":  # its client may have given up, and it holds on
                    raise UnreachableError(
                        self._url, "a synchronous standby does not answer"
                    ) from None
                raise LockTimeoutError(key, holder, wait_s) from None
            self._held.append(key)

    def leave(self, key: str) -> None:
        """Give the lock of a key back; nothing happens where it is not held."""
        if key not in self._held:
            return
        with self._asking() as cursor:
            self._held.remove(key)
            end = "" if self._held else "; COMMIT"
            self._at_once(cursor, key, f"SELECT pg_advisory_unlock({_LOCK})", end)

    @staticmethod
    def _at_once(cursor: psycopg.Cursor[Any], key: str, *statements: str) -> None:
        """Ask several things about a key in one message."""
        cursor.execute("".join(statements).replace("%s", sql.quote(key)).encode())

    def _holder(self, key: str) -> tuple[str, str]:
        """Return which machine holds a lock and what it waits for, "" where that has gone."""
        with self._asking() as cursor:
            found = cursor.execute(
                "SELECT application_name, coalesce(wait_event, '')"
                " FROM pg_stat_activity JOIN pg_locks USING (pid)"
                " WHERE locktype = 'advisory' AND granted AND database = datid"
                f" AND (classid::bigint << 32 | objid::bigint) = {_LOCK}",
                (key,),
            ).fetchone()
        return (f"machine {found[0].removeprefix('council/')}", found[1]) if found else ("", "")

    # For the link.

    @property
    def is_holding(self) -> bool:
        """Whether any lock is held."""
        return bool(self._held)

    def is_fresh(self) -> bool:
        """Return false where the server has ended the connection, which only its use else shows."""
        if self.broken:
            return False
        heard = select.poll()
        heard.register(self._connection.fileno(), select.POLLIN)
        return not heard.poll(0)
