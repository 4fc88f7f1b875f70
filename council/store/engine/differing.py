"""Where a journal here and its rows in the database say different things.

The database may have been put back, or have taken over without its last rows: it gets again
what this replica has beyond it. Where both went on, the lines from here are kept aside. Where
lines were purged on another machine, those here become holes as well.

Source: EN-002, EN-004, EN-008.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from council.core.events import Event
from council.core.record import Any
from council.store import events as event_log
from council.store import files, notes
from council.store.documents import journal, lines
from council.store.documents.lines import Line
from council.store.engine.joined import names_of, note_pull
from council.store.engine.sessions import batches
from council.store.engine.streams import kind_of

_CONFLICTS, _AHEAD = "conflicts", "-ahead-"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.engine.joined import Engine, Sealed
    from council.store.paths import Workspace


def settle_difference(engine: Engine, path: str) -> list[Line]:
    """Bring a journal in line that has lines which the database has not, or other ones.

    Called under its lock.

    Returns:
        The lines that were added here.

    Raises:
        UnreachableError: The database is not reached.
        CouncilError: The system refuses.
    """
    stream, here = engine.stream_of(path), list(journal.read(path))
    found = engine.rows(stream, 0)
    there = lines.decoded(found["lines"])
    sums = {one.sum for one in there}
    common = next((at for at in range(len(here), 0, -1) if here[at - 1].sum in sums), 0)
    extra, last = here[common:], there[-1] if there else None
    if (
        last is None
        or (common and here[common - 1].sum == last.sum)
        # Ours begins after all that it kept; one that has just joined has a record of its own.
        or (here[0].head["seq"] > last.head["seq"] and os.path.lexists(engine.workspace.pulled))
    ):
        # It has none of its own beyond ours: it was put back, or it is new.
        _give_back(engine, path, extra)
        if there:
            report(engine, "engine.behind", path, len(extra))
        return []
    content, end = files.content_of(path), here[common - 1].end if common else 0
    folder = os.path.dirname(path)
    is_document = stream.endswith(f"/{journal.FILE}")
    conflicts = f"{folder if is_document else engine.control}/{_CONFLICTS}"
    kept = f"{conflicts}/{os.path.basename(path)}{_AHEAD}{here[-1].sum[:16]}.txt"
    files.make_folder(conflicts)
    # A blind text goes with the line that names it: nothing else here will.
    texts = [text for digest, text in _sealed_beside(path) if digest.encode() in content[end:]]
    files.write_new(kept, content[end:] + b"".join(texts), mode=0o600)
    after = here[common - 1].sum if common else ""
    at = next((n + 1 for n, one in enumerate(there) if one.sum == after), 0)
    files.replace(path, content[:end] + b"".join(found["lines"][at:]), mode=0o600)
    note_pull(folder, last)
    engine.copy_events(there[at:])
    within = os.path.relpath(kept, engine.workspace.root)
    report(engine, "engine.parted", path, len(extra), file=within)
    return there[at:]


def kept_aside(workspace: Workspace) -> list[str]:
    """Return the files that hold lines from here which the database went on without."""
    folders = [workspace.control]
    for above in (workspace.control, workspace.channels):
        folders += files.paths_in(above)
    found = [one for folder in folders for one in files.paths_in(f"{folder}/{_CONFLICTS}")]
    return [one for one in found if _AHEAD in os.path.basename(one)]


def _give_back(engine: Engine, path: str, extra: list[Line]) -> None:
    """Make rows again of lines that the database has not."""
    stream = engine.stream_of(path)
    sealed = _sealed_beside(path)  # with the first lines: it stands before they name it
    given = [(one, lines.written(one)) for one in extra]
    for part in batches([row for _, row in given]):
        engine.insert(stream, given[part], sealed, names_of(stream, extra[-1].head, is_new=True))
        sealed = []


def _sealed_beside(path: str) -> Sealed:
    """Return the sealed texts that lie beside the journal of a conversation, by digest."""
    folder = f"{os.path.dirname(path)}/sealed"
    names = [one for one in files.names_in(folder) if one.endswith(".json")]
    found = [(one[: -len(".json")], files.content_of(f"{folder}/{one}")) for one in names]
    return [(digest, data) for digest, data in found if data]


def report(engine: Engine, kind: str, path: str, count: int, **more: str) -> None:
    """Say in an event that the database and this machine had other lines of a stream.

    Args:
        engine: The engine.
        kind: The type of the event.
        path: What the stream is of.
        count: How many lines.
        more: What else the event says.

    Raises:
        CouncilError: The system refuses.
    """
    stream, now = engine.stream_of(path), datetime.now(UTC).replace(microsecond=0)
    data: dict[str, Any] = {"stream": stream, "lines": count, "machine": engine.machine, **more}
    owner = kind_of(stream)[1] if stream.endswith(f"/{journal.FILE}") else ""
    records = event_log.loose_records([Event(type=kind, data=data)], owner, now)
    event_log.append(engine.workspace, records)


# --- What was purged elsewhere


def hollow(engine: Engine, path: str, known: int, purged: str) -> None:
    """Leave of the lines of a conversation here what a purge elsewhere has left of them.

    They are kept aside before: the texts that they have, and the database has not, are yet
    to be taken out of other files here (`purging.entries`).

    Args:
        engine: The engine.
        path: The journal.
        known: The number of the last line that is here, 0 for none.
        purged: What the database says of the purge.

    Raises:
        UnreachableError: The database is not reached.
        CouncilError: The system refuses.
    """
    if purged_here(path) == purged:
        return
    here = {line.sum: line for line in journal.read(path)}
    data = b""
    for row in engine.rows(engine.stream_of(path), 0)["lines"]:
        line = lines.decode(row[:-1])
        if line is not None and line.head["seq"] <= known:
            own = here.get(line.sum, line)  # what was thinned here stays so
            is_less = lines.is_hole(own.body) and not lines.is_hole(line.body)
            data += lines.written(own) if is_less else row
    if known and data != files.content_of(path):
        kept = f"{os.path.dirname(path)}/{journal.BEFORE_PURGE}{known}"
        files.write_new(kept, files.content_of(path), mode=0o600)
        files.replace(path, data, mode=0o600)
    notes.write_text(_note_of_purge(path), purged)


def purged_here(path: str) -> str:
    """Return the last purge that has reached a journal of a conversation here, "" for none."""
    return notes.text_in(_note_of_purge(path))


def _note_of_purge(path: str) -> str:
    return f"{os.path.dirname(path)}/purged"
