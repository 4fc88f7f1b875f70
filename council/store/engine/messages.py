"""The messages of a room that other machines share: each line of the log is a row.

The log here holds the rows in their order, and after them what was added here and is no
row yet: a line of a person's, or one whose writer died. A note says how many rows the log
holds and where they end. All of this is done under the lock of the room.

Source: EN-001, EN-005, `store.md` section 1.
"""

from __future__ import annotations

import os

from council.store import files, notes
from council.store.rooms.channel_messages import is_torn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.engine.joined import Engine


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
            UnreachableError: The database is not reached; nothing has changed.
            OSError: The system refuses.
        """
        seq, end = self._noted()
        own = _added(self._path, end)
        if own is None:  # cut by a person, or put back: all rows come again, then what was added
            seq, end, rows = 0, 0, self._rows(0)
            others = b"".join(rows)
            own = _besides(rows, files.content_of(self._path))
            self._replace(0, rows, own)
        else:
            rows = self._rows(seq)
            others = b"".join(rows)
            if own.startswith(others):
                own = own[len(others) :]  # the writer of these died before the note
            else:
                self._replace(end, rows, own)
        seq, end = seq + len(rows), end + len(others)
        lines = [one + b"\n" for one in own.split(b"\n")]
        last = lines.pop()[:-1]
        if last and not is_torn(last):
            lines.append(last + b"\n")
            with files.closing(files.opened(self._path, os.O_WRONLY | os.O_APPEND)) as log:
                files.write_all(log, b"\n")
        if lines:
            self._commit(seq, lines)
        if rows or lines:
            self._keep(seq + len(lines), end + sum(map(len, lines)))

    def commit(self, line: bytes) -> None:
        """Make a row of a line that is about to be added here, after `bring`.

        Raises:
            ConflictError: Another machine went on meanwhile.
            UnreachableError: The database is not reached.
        """
        self._commit(self._noted()[0], [line])

    def added(self) -> None:
        """Note that the line of `commit` stands here."""
        self._keep(self._noted()[0] + 1)

    def _commit(self, seq: int, lines: list[bytes]) -> None:
        entries = [[seq + at, "", False, line] for at, line in enumerate(lines, 1)]
        self._engine.session.commit(self._stream, entries)

    def _rows(self, after: int) -> list[bytes]:
        found: list[bytes] = self._engine.session.rows(self._stream, after)["lines"]
        return found

    def _replace(self, end: int, rows: list[bytes], own: bytes) -> None:
        """Put rows between those that stand and what was added here."""
        if own or not end:
            standing = files.content_of(self._path)[:end]
            files.replace(self._path, standing + b"".join(rows) + own)
            return
        with files.closing(files.opened(self._path, os.O_WRONLY | os.O_APPEND)) as descriptor:
            files.write_all(descriptor, b"".join(rows))
            files.sync_data(descriptor)

    def _noted(self) -> tuple[int, int]:
        seq, _, end = notes.text_in(self._note).partition(" ")
        return (int(seq), int(end)) if seq.isdigit() and end.isdigit() else (0, 0)

    def _keep(self, seq: int, end: int | None = None) -> None:
        if end is None:
            end = os.stat(self._path).st_size if os.path.lexists(self._path) else 0
        notes.write_text(self._note, f"{seq} {end}")


def _besides(rows: list[bytes], data: bytes) -> bytes:
    """Return what stands in a log and is no row, nor the beginning of one that was cut."""
    *whole, last = data.split(b"\n")
    known = set(rows)
    own = [one + b"\n" for one in whole if one + b"\n" not in known]
    return b"".join([*own, b"" if any(row.startswith(last) for row in rows) else last])


def _added(path: str, start: int) -> bytes | None:
    """Return what stands in a log from a place on, None where it ends before that."""
    try:
        descriptor = files.open_regular(path)
    except FileNotFoundError:
        return b"" if not start else None
    with files.closing(descriptor):
        size = os.fstat(descriptor).st_size
        if size < start:
            return None
        os.lseek(descriptor, start, os.SEEK_SET)
        return files.read_all(descriptor, size - start)
