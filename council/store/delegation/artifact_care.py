"""Looking after artifacts: what refers to them, what may go, what is damaged.

An artifact stays while its id stands in any file of the workspace, the event
log and other artifacts that nothing refers to left out, and for a while after
it was last published or fetched. What refers to it from elsewhere cannot be
seen here. With an engine only the copy here goes, and can be fetched again.

Source: XC-008, XC-018, P8-035, `cli.md` section 2 (`artifact gc`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime

from council.core.delegation.artifacts import PREFIX, ids_in, is_artifact_id
from council.core.errors import InvalidStateError, RefusedError
from council.core.events import Event
from council.core.record import Record
from council.core.times import render_instant
from council.store import events, files
from council.store.conversations.naming import prepare_control
from council.store.delegation import artifacts
from council.store.delegation.artifacts import CONTENT, METADATA
from council.store.documents import journal, lines
from council.store.lock import Lock, engines
from council.store.paths import Workspace

# A publisher that has not written for so long is dead.
ABANDONED_S = 3600.0
_ID_CHARS = len(PREFIX) + 64
_USES = frozenset(("artifact.publish", "artifact.fetch"))
_MARK = '"artifact.'


class Remains(Record):
    """What lies in the folder of artifacts and is none.

    `nameless` are metadata without content, `undescribed` ids of content without
    metadata, `abandoned` temporary files of publishers that died, `foreign`
    whatever else.
    """

    nameless: list[str] = []
    undescribed: list[str] = []
    abandoned: list[str] = []
    foreign: list[str] = []


def remains(workspace: Workspace, now: datetime) -> Remains:
    """Find what is in the folder of artifacts and is none.

    Raises:
        CouncilError: The system refuses.
    """
    found = Remains()
    folder = workspace.artifacts
    names = set(files.names_in(folder))
    is_alone = engines.get(workspace.control) is None  # else the content may lie in the engine
    with files.explaining("read", folder):
        for name in sorted(names):
            path = f"{folder}/{name}"
            described = name.removesuffix(METADATA)
            wanted = name.removesuffix(CONTENT)
            if name.startswith(files.TEMPORARY):
                with suppress(FileNotFoundError):  # its publisher has finished meanwhile
                    if now.timestamp() - os.lstat(path).st_mtime > ABANDONED_S:
                        found.abandoned.append(path)
            elif described != name and is_artifact_id(described):
                if is_alone and described + CONTENT not in names:
                    found.nameless.append(path)
            elif wanted != name and is_artifact_id(wanted):
                if wanted + METADATA not in names:
                    found.undescribed.append(wanted)
            else:
                found.foreign.append(path)
    return found


def unneeded(workspace: Workspace, before: datetime) -> list[tuple[str, int]]:
    """Return the artifacts that may go, with their sizes in bytes.

    Args:
        workspace: Where.
        before: Only those last published or fetched before this instant.

    Raises:
        CouncilError: A file cannot be read, so it may hold the one reference.
    """
    sizes: dict[str, int] = {}
    for wanted in artifacts.ids(workspace):
        try:
            one = artifacts.find(workspace, wanted)
        except (InvalidStateError, RefusedError):
            continue  # of unknown age, or no file at all; `doctor` names it
        if one.created_at < before:
            sizes[wanted] = one.size_bytes
    if not sizes:
        return []
    kept = referred_to(workspace) | used_since(workspace, before)
    return [(wanted, size) for wanted, size in sizes.items() if wanted not in kept]


def referred_to(workspace: Workspace) -> set[str]:
    """Return the ids that stand in a file of the workspace, or in an artifact that is referred to.

    Raises:
        CouncilError: A file cannot be read.
    """
    found: set[str] = set()
    # In this order: what moves meanwhile, from live files into minutes, is met once at least.
    for top in (workspace.shared, workspace.briefs, workspace.minutes, workspace.agents):
        for path in _files(workspace, top):
            found |= ids_in_file(path)
    ahead = list(found)
    while ahead:
        try:
            path = artifacts.content_path(workspace, ahead.pop())
        except RefusedError:
            continue  # a link holds no artifact
        for wanted in ids_in_file(path) - found:
            found.add(wanted)
            ahead.append(wanted)
    return found


def _files(workspace: Workspace, top: str) -> Iterator[str]:
    apart = {workspace.artifacts, workspace.events}

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    with files.explaining("read", top):
        for folder, inner, names in os.walk(top, onerror=refuse):
            inner[:] = [one for one in inner if f"{folder}/{one}" not in apart]
            for name in names:
                yield f"{folder}/{name}"


def ids_in_file(path: str) -> set[str]:
    """Return the ids of artifacts in a file of any size; none where there is no plain file."""
    with files.explaining("read", path):
        try:
            descriptor = files.open_regular(path)
        except (OSError, InvalidStateError):
            if not os.path.lexists(path) or not stat.S_ISREG(os.lstat(path).st_mode):
                return set()
            raise
        found: set[str] = set()
        with open(descriptor, "rb", buffering=0) as file:
            before = ""
            while piece := file.read(artifacts.PIECE_BYTES):
                if not before and piece.startswith(lines.BEGINS):
                    # In the patches of a journal an id of its last text may stand in parts. One
                    # that is broken is looked through all the same.
                    with suppress(ValueError, TypeError, LookupError):
                        last = journal.last_text(path)
                        found.update(ids_in(last[1].decode("latin-1")) if last else ())
                text = before + piece.decode("latin-1")
                if PREFIX in text:
                    found.update(ids_in(text))
                before = text[-_ID_CHARS:]
    return found


def used_since(workspace: Workspace, since: datetime) -> set[str]:
    """Return the artifacts that were published or fetched at or after an instant."""
    first = render_instant(since)
    found: set[str] = set()
    for record in events.holding(workspace, _MARK, since=first):
        if record.get("type") in _USES and str(record["at"]) >= first:
            found.update(record.get("artifactIds") or ())
    return found


def remove(
    workspace: Workspace,
    wanted: Iterable[str],
    *,
    since: datetime | None = None,
    now: datetime | None = None,
    reason: str = "",
) -> list[tuple[str, int]]:
    """Remove artifacts, metadata first; return those that went, with their sizes.

    Args:
        workspace: Where.
        wanted: Their ids.
        since: What was published or fetched since then stays, after all; None spares nothing.
        now: The present, for the event; None writes none: it is to be forgotten.
        reason: Why, for the event.

    Raises:
        CouncilError: The system refuses.
    """
    gone: list[tuple[str, int]] = []
    prepare_control(workspace)
    folder = workspace.artifacts
    with files.explaining("remove from", folder), Lock(workspace.artifacts_lock):
        spared = used_since(workspace, since) if since is not None else set()
        for one in wanted:
            path = artifacts.content_path(workspace, one)
            if one in spared or not os.path.lexists(path):
                continue
            size = os.lstat(path).st_size
            files.remove(artifacts.metadata_path(workspace, one))
            os.unlink(path)
            gone.append((one, size))
        if gone:
            files.sync_folder(folder)
        if gone and now is not None:
            told = Event(
                type="artifact.removed",
                artifacts=[one for one, _ in gone],
                data={"size": sum(size for _, size in gone), "reason": reason},
            )
            events.append(workspace, events.loose_records([told], "", now))
    return gone


def clear(workspace: Workspace, paths: Iterable[str]) -> None:
    """Remove what `remains` found and is of no use: temporary files, metadata without content.

    Raises:
        CouncilError: The system refuses.
    """
    prepare_control(workspace)
    with Lock(workspace.artifacts_lock):
        for path in paths:
            described = path.removesuffix(METADATA)
            if described == path or not os.path.lexists(described + CONTENT):
                files.remove(path)
