"""Files that are shared as a whole: their versions are rows of a stream, their bytes are chunks.

A row says which bytes a file has, by their digest, or that there is none any more. A small
note in `.council/brought/` holds the number of the last row that was brought to this machine.
A file that is what one of the rows from there on says is only behind; any other was edited by
a person. An edit becomes the next row; when another machine was first, the row stands, and
the edit is kept in `.council/conflicts/`. The note may be lost: what was edited meanwhile back
to what it once was is then taken for behind.

A file that is gone is brought again. Only to remove the mark of the halt is an edit. One that
was purged and stands here yet is no edit either.

Source: EN-007.
"""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from hashlib import sha256

from council.core.errors import ConflictError, InvalidStateError
from council.core.events import Event
from council.core.ids import sha256_hex
from council.store import events as event_log
from council.store import files, notes
from council.store.engine.streams import PREFIX
from council.store.lock import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.store.delegation.artifacts import Reader
    from council.store.engine.joined import Engine

CHUNK_BYTES = 1024 * 1024


def bring(engine: Engine, path: str) -> None:
    """Make a local file what its last row says, or its edit the next row.

    Raises:
        InvalidStateError: Its bytes in the engine are not those that the row names.
        CouncilError: The engine is not reached, or the system refuses.
    """
    folder = f"{engine.control}/brought"
    files.make_folder(folder)
    patience_s = engine.waits_until() - time.monotonic()
    # A process must not undo what another has just brought.
    with Lock(f"{folder}/lock", patience_s):
        while not _is_settled(engine, path):
            pass


def forget(engine: Engine) -> None:
    """Forget what was brought: another database, or the same one anew, has all to say."""
    for path in files.paths_in(f"{engine.control}/brought"):
        if not path.endswith("/lock"):
            files.remove(path)


def stream_of(engine: Engine, path: str) -> str:
    """Return what the database calls the versions of a file."""
    return PREFIX + engine.stream_of(path)


def publish(engine: Engine, path: str, data: bytes | None) -> bool:
    """Make bytes the next row of a file, before they are written to it; None for no file.

    Returns:
        False when there are rows that were not brought yet.

    Raises:
        CouncilError: The engine is not reached; there is no such row.
    """
    found = engine.session.rows(stream_of(engine, path), -1)
    seq = int(found["seq"])
    return seq <= known(engine, path) and _is_added(engine, path, seq + 1, data)


def put(engine: Engine, digest: str, source: Reader) -> None:
    """Put the bytes of which this is the SHA-256 into the engine, chunk by chunk."""
    number = 0
    while piece := source.read(CHUNK_BYTES):
        engine.session.put(digest, number, piece)
        number += 1


def pieces(engine: Engine, digest: str, size: int, name: str) -> Iterator[bytes]:
    """Yield bytes that are in the engine; they count when all came and no error was raised.

    Args:
        engine: Where.
        digest: The SHA-256 of all of them.
        size: How many they are.
        name: What they are, for an error.

    Raises:
        InvalidStateError: They are others, or not all there.
    """
    found = sha256()
    for number in range(-(-size // CHUNK_BYTES)):
        piece = engine.session.get(digest, number) or b""
        found.update(piece)
        yield piece
    if found.hexdigest() != digest:
        raise InvalidStateError(
            f"the bytes of {name} in the engine are not those that were published",
            "restore them from a backup of the database",
        )


def _is_settled(engine: Engine, path: str) -> bool:
    """Return true when file and rows are in line, false when another machine came between."""
    brought = known(engine, path)
    found = engine.rows(stream_of(engine, path), max(brought - 1, 0))
    rows = [_row(engine, path, line) for line in found["lines"]]
    standing, seq = files.read_stable(path), found["seq"]
    here = "" if standing is None else standing.digest
    is_gone = standing is None and (path != engine.workspace.halt_mark or not brought)
    if rows and here == _digest(rows[-1]):
        pass
    elif found["purged"] and not rows:
        files.remove(path)
    elif is_gone or here in map(_digest, rows):
        if not rows:
            return True
        _write(engine, path, rows[-1])
    elif seq <= brought:  # an edit; also of a database that was put back to what it held before
        seq += 1
        if not _is_added(engine, path, seq, None if standing is None else standing.data):
            return False
    elif not rows:
        return True  # its rows were taken out
    else:
        if standing is not None:
            _keep(engine, path, standing.data)
        _write(engine, path, rows[-1])
    notes.write_text(_note(engine, path), str(seq))
    return True


def _is_added(engine: Engine, path: str, seq: int, data: bytes | None) -> bool:
    """Add a row; return false if another machine has just added it."""
    row: dict[str, object] = {"absent": True}
    if data is not None:
        from io import BytesIO

        row = {"digest": sha256_hex(data), "size": len(data)}
        put(engine, sha256_hex(data), BytesIO(data))
    # No two rows are the same: one that another machine has just added is not taken for this.
    line = json.dumps({**row, "drawn": os.urandom(8).hex()}).encode()
    try:
        engine.session.commit(stream_of(engine, path), [[seq, "", True, line]])
    except ConflictError:
        return False
    return True


def _write(engine: Engine, path: str, row: dict[str, object]) -> None:
    """Make a file what a row says, once all its bytes are here and are right."""
    digest = _digest(row)
    if not digest:
        files.remove(path)
        return
    data = b"".join(pieces(engine, digest, int(str(row["size"])), path))
    files.make_folder(os.path.dirname(path))
    files.replace(path, data)


def _keep(engine: Engine, path: str, data: bytes) -> None:
    """Keep an edit that came too late, and say so."""
    folder = f"{engine.control}/conflicts"
    files.make_folder(folder)
    kept = f"{folder}/{sha256_hex(data)[:24]}-{os.path.basename(path)}"
    files.write_new(kept, data)
    event = Event(
        type="edit.refused",
        data={
            "field": stream_of(engine, path),
            "reason": "another machine was first; the edit is in .council/conflicts",
        },
    )
    now = datetime.fromtimestamp(engine.session.clock(), UTC)
    event_log.append(engine.workspace, event_log.loose_records([event], "", now))


def _row(engine: Engine, path: str, line: bytes) -> dict[str, object]:
    """Return what a row says.

    Raises:
        InvalidStateError: It is none of ours.
    """
    row = files.json_object(line)
    if row is None or not isinstance(row.get("size", None if "digest" in row else 0), int):
        raise InvalidStateError(
            f"this council does not understand a row of {stream_of(engine, path)} in the engine",
            "restore it from a backup of the database",
        )
    return row


def _digest(row: dict[str, object]) -> str:
    """Return which bytes a row names, "" for none: it was absent, or was purged."""
    return str(row.get("digest", ""))


def _note(engine: Engine, path: str) -> str:
    return f"{engine.control}/brought/{sha256_hex(stream_of(engine, path).encode())[:32]}"


def known(engine: Engine, path: str) -> int:
    """Return the number of the row that was brought last, 0 where none is known."""
    text = notes.text_in(_note(engine, path))
    return int(text) if text.isascii() and text.isdigit() else 0
