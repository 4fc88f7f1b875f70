"""The messages of a room that other machines share: each line of the log is a row.

The log here holds the rows in their order, and after them what was added here and is no
row yet: a line of a person's, or one whose writer died. A note says how many rows the log
holds, where they end, and the digest of the last. All of this is done under the lock of the
room, but a person waits for no lock, and a database may be put back. So that last row has to
stand in the database and at its place here; else all rows come again, and what stands here
and is none of them becomes rows.

Source: EN-001, EN-005, `store.md` section 1.
"""

from __future__ import annotations

import os
from collections import Counter

from council.core.ids import sha256_hex
from council.store import files, notes
from council.store.rooms.channel_messages import is_torn, read_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.engine.joined import Engine

_HEX_DIGITS = 64


class SharedLog:
    """The log of one room.

    Args:
        engine: The engine that shares it.
        path: The log.
        folder: The folder of the room, for the note.
    """

    def __init__(self, engine: Engine, path: str, folder: str) -> None:
        self._engine = engine
        self._path = path
        self._note = f"{folder}/rows"
        self._stream = engine.stream_of(path)

    def bring(self) -> None:
        """Add what was said elsewhere, and make rows of what was added here.

        Raises:
            UnreachableError: The database is not reached; what was not done comes later.
            CouncilError: The system refuses.
        """
        noted = seq, end, digest = self._noted()
        rows = self._rows(max(seq - 1, 0))
        last = rows.pop(0) if seq and rows else b""
        is_lost = seq > 0 and sha256_hex(last) != digest
        standing = None if is_lost else self._after(last, end)
        if standing is None:
            rows = self._rows(0)
            seq, end, standing = 0, 0, self._after(b"", 0) or b""
        lines, torn = _besides(rows, standing)
        whole = [*rows, *lines]
        self._put(end, standing, b"".join(whole) + torn)
        if lines:
            self._commit(seq + len(rows), lines)
            if is_lost:
                from council.store.engine.differing import report

                report(self._engine, "engine.behind", self._path, len(lines))
        if whole:
            seq, end, digest = seq + len(whole), end + sum(map(len, whole)), sha256_hex(whole[-1])
        if (seq, end, digest) != noted:
            self._keep(seq, end, digest)

    def commit(self, line: bytes) -> None:
        """Make a row of a line that is about to be added here, after `bring`.

        Raises:
            ConflictError: Another machine went on meanwhile.
            UnreachableError: The database is not reached.
        """
        self._commit(self._noted()[0], [line])

    def added(self, line: bytes) -> None:
        """Note that the line of `commit` was added here."""
        seq, end, _ = self._noted()
        self._keep(seq + 1, end + len(line), sha256_hex(line))

    def _commit(self, seq: int, lines: list[bytes]) -> None:
        from council.store.engine.sessions import batches

        entries = [[seq + at, "", False, line] for at, line in enumerate(lines, 1)]
        for part in batches(lines):
            self._engine.session.commit(self._stream, entries[part])

    def _rows(self, after: int) -> list[bytes]:
        found: list[bytes] = self._engine.rows(self._stream, after)["lines"]
        return found

    def _after(self, last: bytes, end: int) -> bytes | None:
        """Return what stands here after the last row, None unless that ends at its place."""
        start = end - len(last)
        try:
            descriptor = files.open_regular(self._path)
        except FileNotFoundError:
            return None if end else b""
        with files.closing(descriptor):
            found = read_at(descriptor, max(start, 0), os.fstat(descriptor).st_size)
        return found[len(last) :] if start >= 0 and found.startswith(last) else None

    def _put(self, end: int, standing: bytes, wanted: bytes) -> None:
        """Let other bytes stand from a place on than those that were read there."""
        if wanted == standing:
            return
        if wanted.startswith(standing):
            self._append(wanted[len(standing) :])
            return
        with files.closing(files.open_regular(self._path)) as before:
            files.replace(self._path, read_at(before, 0, end) + wanted)
            # What a person added since it was read lies in the old file alone.
            late = read_at(before, end + len(standing), os.fstat(before).st_size)
        if late:
            self._append(late)

    def _append(self, data: bytes) -> None:
        with files.closing(files.opened(self._path, os.O_WRONLY | os.O_APPEND)) as descriptor:
            files.write_all(descriptor, data)
            files.sync_data(descriptor)

    def _noted(self) -> tuple[int, int, str]:
        seq, _, rest = notes.text_in(self._note).partition(" ")
        end, _, digest = rest.partition(" ")
        is_whole = seq.isdigit() and end.isdigit() and len(digest) == _HEX_DIGITS
        return (int(seq), int(end), digest) if is_whole else (0, 0, "")

    def _keep(self, seq: int, end: int, digest: str) -> None:
        notes.write_text(self._note, f"{seq} {end} {digest}")


def _besides(rows: list[bytes], data: bytes) -> tuple[list[bytes], bytes]:
    """Return the lines in a log that are no rows, and a last one that its writer left torn.

    A line that lacks only its end gets it. Where the log ends within the rows none is its own.
    """
    if b"".join(rows).startswith(data):
        return [], b""
    missing = Counter(rows)
    *whole, last = data.split(b"\n")
    own = []
    for line in (one + b"\n" for one in whole):
        if missing[line]:
            missing[line] -= 1
        else:
            own.append(line)
    if not last or is_torn(last):
        return own, last
    return [*own, last + b"\n"], b""
