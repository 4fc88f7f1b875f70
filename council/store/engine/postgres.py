"""What is asked of the database of an engine: the verbs, by one connection.

Source: EN-001, EN-006, EN-007, EN-008.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import psycopg

from council.core.errors import IN_DOUBT, ConflictError, RefusedError
from council.core.record import Any
from council.store.engine.connection import LockingConnection
from council.store.engine.sessions import AT_ONCE_BYTES

CHANNEL = "council"
_ROWS_AT_ONCE = 10_000
# What `council link` passes on from its socket.
VERBS = (
    *("enter", "leave", "rows", "commit", "heads", "claim", "names", "free", "lease", "leases"),
    *("put", "get", "sealed", "log", "logged", "clock", "seen", "machines"),
    *("asynchronous", "purge"),
)
# The cluster, the database, its tables, its timeline and when it was started, of which a restore
# or a promotion changes one, and the oldest transaction that may commit yet.
_NOW = (
    "SELECT concat_ws('/', system_identifier, (SELECT oid FROM pg_database"
    " WHERE datname = current_database()), 'head'::regclass::oid,"
    " left(pg_walfile_name(pg_current_wal_lsn()), 8),"
    " extract(epoch FROM pg_postmaster_start_time()),"
    " pg_snapshot_xmin(pg_current_snapshot())) FROM pg_control_system()"
)
# What a dump was taken of may have numbers of transactions that are yet to come.
_IS_NEWS = (
    "changed >= %(first)s::xid8"
    " AND (%(first)s = '0' OR changed < pg_snapshot_xmax(pg_current_snapshot()))"
)
# Gives what stands: ours if the name was free.
_CLAIM = (
    "INSERT INTO name VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = name.value"
    " RETURNING value"
)
_ANEW = "0"
# Of the bytes of files those stay that the last row of another file names, or an artifact.
_TAKE_BYTES = (
    "DELETE FROM chunk WHERE digest = ANY(%s) AND NOT EXISTS (SELECT FROM head"
    " JOIN revision USING (stream, seq) WHERE starts_with(stream, 'files/')"
    " AND (position(digest::bytea IN line) > 0"
    " OR (position(digest IN stream) > 0 AND position('\"digest\"'::bytea IN line) > 0)))"
)


def _page(query: str) -> str:
    """Return a query for the first rows of another one, by their number: some MB, or one line."""
    return (
        "SELECT * FROM (SELECT *, sum(length(line)) OVER (ORDER BY number) - length(line) AS before"
        f" FROM ({query} ORDER BY number LIMIT {_ROWS_AT_ONCE}) AS next) AS page"
        f" WHERE before < {AT_ONCE_BYTES} ORDER BY number"
    )


class Session(LockingConnection):
    """One connection, and all that is asked by it: each verb as the link passes it on."""

    # Journals.

    def rows(self, stream: str, after: int) -> dict[str, Any]:
        """Return a page of the rows of a stream after a number, and what is known of its head.

        Args:
            stream: Which.
            after: The number; -1 for those from the last whole text on.

        Returns:
            `seq` and `purged` of the head, the `sum` of the row with that number, the `lines`,
            and the number of the `last` of them: below `seq` there are more after it.
        """
        asked = {"stream": stream, "after": after}
        with self._asking() as cursor:
            head = cursor.execute(
                "SELECT head.seq, purged, coalesce(encode(substring(line FROM 9 FOR 64), 'escape'),"
                " '') FROM head LEFT JOIN revision AS row ON row.stream = head.stream"
                " AND row.seq = %(after)s WHERE head.stream = %(stream)s",
                asked,
            ).fetchone() or (0, "", "")
            lines = cursor.execute(
                _page(
                    "SELECT seq AS number, line FROM revision WHERE stream = %(stream)s AND seq >"
                    " CASE WHEN %(after)s::bigint >= 0 THEN %(after)s ELSE coalesce((SELECT"
                    " max(seq) - 1 FROM revision WHERE stream = %(stream)s AND whole), 0) END"
                ),
                asked,
                binary=True,
            ).fetchall()
        seq = max(head[0], lines[-1][0] if lines else 0)  # some may have come meanwhile
        return {
            "seq": seq,
            "purged": head[1],
            "sum": head[2],
            "lines": [bytes(line) for _, line, *_ in lines],
            "last": lines[-1][0] if lines else seq,
        }

    def commit(
        self,
        stream: str,
        entries: Sequence[Sequence[Any]],
        claims: Sequence[Sequence[str]] = (),
        freed: Sequence[Sequence[str]] = (),
        sealed: Sequence[Sequence[Any]] = (),
    ) -> None:
        """Make rows of lines, and take or free names, all or nothing; a repeat changes nothing.

        Args:
            stream: Whose.
            entries: Number, operation, whether it holds a whole text, and the line, of each.
            claims: Names with what they are to stand for.
            freed: Names with what they stood for.
            sealed: Texts of a blind phase, by digest.

        Raises:
            ConflictError: A number or a name is taken; nothing has changed.
        """
        with self._changing() as cursor:
            for name, value in freed:
                cursor.execute("DELETE FROM name WHERE name = %s AND value = %s", (name, value))
            for name, value in claims:
                if cursor.execute(_CLAIM, (name, value)).fetchone() != (value,):
                    raise ConflictError(
                        f"{name.partition('/')[2]!r} is taken on another machine",
                        "choose another name",
                    )
            for digest, data in sealed:
                cursor.execute(
                    "INSERT INTO sealed VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                    (stream, digest, data),
                )
            if entries and self._insert(cursor, stream, entries):
                cursor.execute(
                    "INSERT INTO head (stream, seq) VALUES (%s, %s) ON CONFLICT (stream) DO"
                    " UPDATE SET seq = greatest(head.seq, excluded.seq),"
                    " changed = pg_current_xact_id()",
                    (stream, entries[-1][0]),
                )
                self._notify(cursor, stream)

    def _insert(
        self, cursor: psycopg.Cursor[Any], stream: str, entries: Sequence[Sequence[Any]]
    ) -> bool:
        """Return true if any is new; a number that holds the very same line is a repeat."""
        seqs, ops, wholes, lines = (list(column) for column in zip(*entries, strict=True))
        cursor.execute(
            "INSERT INTO revision (stream, seq, op, whole, line, machine)"
            " SELECT %s, seq, op, whole, line, %s"
            " FROM unnest(%s::bigint[], %s::text[], %s::boolean[], %b::bytea[])"
            " AS entry (seq, op, whole, line) ON CONFLICT DO NOTHING",
            (stream, self._machine, seqs, ops, wholes, lines),
        )
        added = cursor.rowcount
        if added < len(entries):
            cursor.execute(
                "SELECT seq, line FROM revision WHERE stream = %s AND seq = ANY(%s)", (stream, seqs)
            )
            standing = {seq: bytes(line) for seq, line in cursor}
            if any(standing.get(seq) != line for seq, line in zip(seqs, lines, strict=True)):
                raise ConflictError(
                    f"another machine went on with {stream}", "nothing was recorded; try again"
                )
        return added > 0

    def _notify(self, cursor: psycopg.Cursor[Any], stream: str) -> None:
        """Tell who listens, once this is committed."""
        cursor.execute("SELECT pg_notify(%s, current_schema() || ' ' || %s)", (CHANNEL, stream))

    def heads(self, since: str) -> dict[str, Any]:
        """Return how far each stream has come that may have changed since an earlier call.

        Of each its number, why it was purged, and the sum of its last line. Whether that is
        `anew`, all that there is: the database may lack what it had at the earlier call.

        Args:
            since: What that call gave as `next`, "" for all streams.
        """
        with self._asking() as cursor:
            first, then = self._window(cursor, since)
            found = cursor.execute(
                "SELECT stream, seq, purged, encode(substring(line FROM 9 FOR 64), 'escape')"
                " FROM head LEFT JOIN revision USING (stream, seq)"
                f" WHERE {_IS_NEWS} ORDER BY changed",
                {"first": first},
            ).fetchall()
        return {"heads": [list(one) for one in found], "next": then, "anew": first == _ANEW}

    def _window(self, cursor: psycopg.Cursor[Any], since: str) -> tuple[str, str]:
        """Return the first transaction that may be news, and from where on the next call looks.

        Numbers of transactions mean nothing in another life of the database: all is news then.
        """
        found = cursor.execute(_NOW).fetchone()
        then = str(found[0]) if found else ""
        (life, _, first), (now, _, oldest) = since.rpartition("/"), then.rpartition("/")
        return first if life == now and int(first) <= int(oldest) else _ANEW, then

    # Names and leases.

    def claim(self, name: str, value: str) -> str:
        """Let a name stand for a value unless it stands for one; return what it stands for."""
        with self._asking(IN_DOUBT) as cursor:
            found = cursor.execute(_CLAIM, (name, value)).fetchone()
            self._ended_alone(cursor)
        return str(found[0]) if found else value

    def free(self, name: str, value: str) -> None:
        """Let a name stand for nothing any more, if it stands for this value."""
        with self._asking(IN_DOUBT) as cursor:
            cursor.execute("DELETE FROM name WHERE name = %s AND value = %s", (name, value))
            self._ended_alone(cursor)

    def names(self, prefix: str) -> dict[str, str]:
        """Return what the names stand for that begin in a way."""
        with self._asking() as cursor:
            return dict(
                cursor.execute(
                    "SELECT name, value FROM name WHERE starts_with(name, %s)", (prefix,)
                ).fetchall()
            )

    def lease(self, name: str, holder: str, seconds: float) -> bool:
        """Take a lease for so long, or renew it; return true if the holder has it now.

        0 s gives it back; then it returns true if the holder had it.
        """
        with self._asking(IN_DOUBT) as cursor:
            if seconds <= 0:
                cursor.execute("DELETE FROM lease WHERE name = %s AND holder = %s", (name, holder))
                was_held = cursor.rowcount > 0
                self._ended_alone(cursor)
                return was_held
            found = cursor.execute(
                "INSERT INTO lease VALUES (%s, %s, clock_timestamp() + make_interval(secs => %s))"
                " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ends = excluded.ends"
                " WHERE lease.holder = excluded.holder OR lease.ends < clock_timestamp()"
                " RETURNING holder",
                (name, holder, seconds),
            ).fetchone()
            self._ended_alone(cursor)
        return found is not None

    def leases(self, prefix: str) -> dict[str, list[Any]]:
        """Return the holder of each lease that begins in a way and lasts, and for how many s."""
        with self._asking() as cursor:
            found = cursor.execute(
                "SELECT name, holder, extract(epoch FROM ends - clock_timestamp())::float8"
                " FROM lease WHERE starts_with(name, %s) AND ends >= clock_timestamp()",
                (prefix,),
            ).fetchall()
        return {name: [holder, left] for name, holder, left in found}

    # Bytes.

    def put(self, digest: str, number: int, data: bytes) -> None:
        """Keep one piece of some bytes; the same twice is one."""
        with self._asking() as cursor:
            cursor.execute(
                "INSERT INTO chunk VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                (digest, number, data),
            )
            self._ended_alone(cursor)

    def get(self, digest: str, number: int) -> bytes | None:
        """Return one piece of some bytes, None where there is none."""
        with self._asking() as cursor:
            found = cursor.execute(
                "SELECT data FROM chunk WHERE digest = %s AND number = %s", (digest, number)
            ).fetchone()
        return bytes(found[0]) if found else None

    def sealed(self, stream: str, digest: str) -> bytes | None:
        """Return a text of a blind phase, None where there is none.

        Raises:
            RefusedError: The lock of its conversation is not held by this session.
        """
        if f"{os.path.dirname(stream)}/lock" not in self._held:
            raise RefusedError("a sealed text is given only inside a commit")
        with self._asking() as cursor:
            found = cursor.execute(
                "SELECT data FROM sealed WHERE stream = %s AND digest = %s", (stream, digest)
            ).fetchone()
        return bytes(found[0]) if found else None

    # Logs.

    def log(self, stream: str, lines: Sequence[bytes]) -> None:
        """Add lines to a log; one that stands in it stays where it is."""
        with self._changing() as cursor:
            cursor.execute(
                "INSERT INTO log (stream, digest, line, machine) SELECT %s, encode(sha256(line),"
                " 'hex'), line, %s FROM unnest(%b::bytea[]) AS entry (line) ON CONFLICT DO NOTHING",
                (stream, self._machine, list(lines)),
            )
            if cursor.rowcount:
                self._notify(cursor, stream)

    def logged(self, since: str, after: int = 0, words: Sequence[bytes] = ()) -> dict[str, Any]:
        """Return a page of what was added to logs since an earlier call, in order.

        While a transaction of any kind is open on the server, some lines come again.

        Args:
            since: What the first page of that call gave as `next`, "" for all lines.
            after: What the page before gave as `after`, 0 for the first.
            words: Of these each line is to have one, if there are any.

        Returns:
            `lines`, log and line of each, `next`, `after`, which is 0 on the last page, and
            `anew` as `heads` does.
        """
        with self._asking() as cursor:
            first, then = self._window(cursor, since)
            found = cursor.execute(
                _page(
                    "SELECT id AS number, line, stream FROM log"
                    f" WHERE {_IS_NEWS} AND line IS NOT NULL AND id > %(after)s"
                    " AND (%(words)b::bytea[] = '{}' OR EXISTS (SELECT"
                    " FROM unnest(%(words)b::bytea[]) AS word WHERE position(word IN line) > 0))"
                ),
                {"first": first, "after": after, "words": list(words)},
            ).fetchall()
        is_full = len(found) == _ROWS_AT_ONCE or sum(len(one[1]) for one in found) >= AT_ONCE_BYTES
        return {
            "lines": [[stream, bytes(line)] for _, line, stream, _ in found],
            "next": then,
            "after": found[-1][0] if is_full else 0,
            "anew": first == _ANEW,
        }

    # The rest.

    def clock(self) -> float:
        """Return the time of the database, in seconds since 1970."""
        with self._asking() as cursor:
            found = cursor.execute(
                "SELECT extract(epoch FROM clock_timestamp())::float8"
            ).fetchone()
        return float(found[0]) if found else 0.0

    def seen(self) -> float:
        """Note that this machine is there, unless that was 10 s ago or less; return the time."""
        with self._asking() as cursor:
            found = cursor.execute(
                "WITH told AS (INSERT INTO machine (name) SELECT %(name)s WHERE NOT EXISTS"
                " (SELECT FROM machine WHERE name = %(name)s AND seen > now() - interval '10 s')"
                " ON CONFLICT (name) DO UPDATE SET seen = clock_timestamp())"
                " SELECT extract(epoch FROM clock_timestamp())::float8",
                {"name": self._machine},
            ).fetchone()
            self._ended_alone(cursor)
        return float(found[0]) if found else 0.0

    def machines(self) -> list[list[Any]]:
        """Return each machine with how many seconds ago it was seen."""
        with self._asking() as cursor:
            found = cursor.execute(
                "SELECT name, extract(epoch FROM clock_timestamp() - seen)::float8"
                " FROM machine ORDER BY name"
            ).fetchall()
        return [list(one) for one in found]

    def asynchronous(self) -> bool:
        """Return true if a standby may lack what the primary has acknowledged."""
        with self._asking() as cursor:
            found = cursor.execute(
                "SELECT count(*) FROM pg_stat_replication"
                " WHERE current_setting('synchronous_standby_names') = ''"
            ).fetchone()
        return bool(found and found[0])

    def purge(
        self,
        streams: Sequence[str],
        reason: str,
        rewrites: Sequence[Sequence[Any]] = (),
        sealed: Sequence[Sequence[str]] = (),
        chunks: Sequence[str] = (),
        logs: Sequence[Sequence[str]] = (),
    ) -> None:
        """Take things away for good, all or nothing; by the owner alone.

        Args:
            streams: Those whose rows and sealed texts go; their heads say why.
            reason: Why.
            rewrites: Streams with the lines, number and bytes of each, that take the place of
                others; their heads say why as well.
            sealed: Stream and digest of sealed texts that go besides.
            chunks: Digests of bytes that go, unless another file needs them.
            logs: Log and digest of each line that goes. The digest stays, so that a machine which
                still has the line does not bring it back.

        Raises:
            RefusedError: The role may not; nothing has changed.
        """
        with self._changing() as cursor:
            changed = [*streams, *(stream for stream, _ in rewrites)]
            cursor.execute("DELETE FROM revision WHERE stream = ANY(%s)", (list(streams),))
            cursor.execute("DELETE FROM sealed WHERE stream = ANY(%s)", (list(streams),))
            for stream, digest in sealed:
                cursor.execute(
                    "DELETE FROM sealed WHERE stream = %s AND digest = %s", (stream, digest)
                )
            for stream, lines in rewrites:
                for seq, line in lines:
                    cursor.execute(
                        "UPDATE revision SET line = %s WHERE stream = %s AND seq = %s",
                        (line, stream, seq),
                    )
            cursor.execute(
                "UPDATE head SET purged = %s, changed = pg_current_xact_id()"
                " WHERE stream = ANY(%s)",
                (reason, changed),
            )
            cursor.execute(_TAKE_BYTES, (list(chunks),))
            cursor.execute(
                "UPDATE log SET line = NULL FROM unnest(%s::text[], %s::text[])"
                " AS gone (stream, digest)"
                " WHERE (log.stream, log.digest) = (gone.stream, gone.digest)",
                ([stream for stream, _ in logs], [digest for _, digest in logs]),
            )
            for stream in changed:
                self._notify(cursor, stream)

    # For the link.

    def listen(self) -> None:
        """Hear from now on of what others commit."""
        with self._asking() as cursor:
            cursor.execute(f"LISTEN {CHANNEL}")

    def notified(self, timeout_s: float) -> list[str]:
        """Wait until something was committed, or so long; return the streams."""
        with self._asking() as cursor:
            schema = cursor.execute("SELECT current_schema()").fetchone()
            found = list(self._connection.notifies(timeout=timeout_s, stop_after=1))
            found += list(self._connection.notifies(timeout=0))
        parts = [one.payload.partition(" ") for one in found]
        return [stream for name, _, stream in parts if schema and name == schema[0]]
