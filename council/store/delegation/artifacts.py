"""Artifacts on the disk: bytes named by their digest, and what is known of them.

Bytes are written under a temporary name while their digest is worked out, and
get their own name when they are durable; then come the metadata, which make
the artifact one. So a process that dies leaves nothing that anybody sees, or
bytes that are right and only lack metadata. Nothing here is held in memory
but a piece at a time, except where a caller asks for bytes.

Only coming and going happens under the lock; a reader needs none.

Source: P8-031 to P8-037, XC-001, XC-009, XC-107.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress

from council.core.delegation import artifacts as rules
from council.core.delegation.artifacts import Artifact, checked_id, id_of_bytes
from council.core.errors import (
    CouncilError,
    DamagedArtifactError,
    InvalidInputError,
    InvalidStateError,
    NotFoundError,
    RefusedError,
)
from council.core.events import Event
from council.core.reading import read_json
from council.core.record import Any
from council.store import events, files, shared
from council.store.conversations.naming import prepare_control
from council.store.lock import Lock, engines
from council.store.paths import Workspace, resolve_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import BinaryIO, Protocol

    class Reader(Protocol):
        """Whatever gives bytes piece by piece, such as an open file."""

        def read(self, size: int, /) -> bytes:
            """Return up to `size` bytes, none at the end."""

    Seen = Callable[[int], object]

CONTENT = ".json"
METADATA = ".meta.json"
PIECE_BYTES = 1024 * 1024
_MODE = 0o444


def content_path(workspace: Workspace, artifact_id: str) -> str:
    """Return where the bytes of an artifact lie (P8-032)."""
    return resolve_inside(workspace.artifacts, checked_id(artifact_id) + CONTENT)


def metadata_path(workspace: Workspace, artifact_id: str) -> str:
    """Return where the metadata of an artifact lie (P8-033)."""
    return resolve_inside(workspace.artifacts, checked_id(artifact_id) + METADATA)


def publish(
    workspace: Workspace,
    data: bytes | Reader,
    *,
    content_type: str = "",
    publisher: str = "",
    trace: str = "",
    now: datetime,
) -> Artifact:
    """Publish bytes and return what is known of them; bytes that are there stay as they are.

    The arguments are those of `put`.

    Raises:
        CouncilError: The system refuses; nothing was published.
    """
    return put(
        workspace, data, content_type=content_type, publisher=publisher, trace=trace, now=now
    )[0]


def put(
    workspace: Workspace,
    data: bytes | Reader,
    *,
    content_type: str = "",
    publisher: str = "",
    trace: str = "",
    now: datetime,
    seen: Seen | None = None,
) -> tuple[Artifact, bool]:
    """Publish bytes; return what is known of them and whether they are new.

    Args:
        workspace: Where.
        data: The bytes, or where they are read from, piece by piece.
        content_type: What they are, such as `text/plain`; "" is any bytes.
        publisher: Who publishes them, "" where that is unknown.
        trace: The trace they belong to, "" for none.
        now: The present.
        seen: Called after each piece with how many bytes have been read.

    Raises:
        CouncilError: The system refuses; nothing was published.
    """
    folder = workspace.artifacts
    files.make_folder(folder)
    prepare_control(workspace)
    temporary = ""
    with files.explaining("publish in", folder):
        try:
            if isinstance(data, bytes):
                wanted, size = id_of_bytes(data), len(data)
            else:
                temporary, descriptor = files.open_temporary(folder, b"", mode=_MODE, like=None)
                with open(descriptor, "wb", buffering=0) as file:
                    wanted, size = drained(
                        data, lambda piece: files.write_all(descriptor, piece), seen
                    )
                    files.sync(file.fileno())
            path = content_path(workspace, wanted)
            whole = _is_whole(path, wanted, size)
            given = Artifact(
                artifact_id=wanted,
                size_bytes=size,
                content_type=content_type or rules.DEFAULT_TYPE,
                publisher=publisher,
                trace=trace,
                created_at=now,
            )
            put_shared(workspace, wanted, data if isinstance(data, bytes) else temporary)
            with Lock(workspace.artifacts_lock):
                if not whole or not os.path.lexists(path):
                    if isinstance(data, bytes):
                        temporary = files.write_temporary(folder, data, mode=_MODE, like=None)
                    os.rename(temporary, path)
                    temporary = ""
                    files.sync_folder(folder)
                standing, is_new = _described(workspace, given)
                _tell(workspace, "artifact.publish", standing, publisher, trace, now, new=is_new)
        finally:
            if temporary:
                files.remove(temporary)
    return standing, is_new


def drained(
    source: Reader, write: Callable[[bytes], object] | None = None, seen: Seen | None = None
) -> tuple[str, int]:
    """Read all that a reader gives, piece by piece; return the id of it and how many bytes it was.

    Args:
        source: Where the bytes come from.
        write: Gets each piece.
        seen: Called after each piece with how many bytes have been read.
    """
    import hashlib

    digest, size = hashlib.sha256(), 0
    while piece := source.read(PIECE_BYTES):
        digest.update(piece)
        if write is not None:
            write(piece)
        size += len(piece)
        if seen is not None:
            seen(size)
    return rules.artifact_id(digest.hexdigest()), size


def _is_whole(path: str, wanted: str, size: int) -> bool:
    """Return true if a file holds the bytes of an artifact."""
    try:
        facts = os.lstat(path)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size != size:
            return False
        with open(_opened(path), "rb", buffering=0) as file:
            return drained(file)[0] == wanted
    except FileNotFoundError:
        return False


def _described(workspace: Workspace, given: Artifact) -> tuple[Artifact, bool]:
    """Write the metadata of an artifact unless they are there; return those that hold."""
    path = metadata_path(workspace, given.artifact_id)
    text = json.dumps(given.to_record(), ensure_ascii=False, indent=2) + "\n"
    data = text.encode("utf-8", "replace")
    while True:
        shared.bring(path)
        try:
            standing = _metadata(path)
        except InvalidStateError:
            standing = None
        if standing is not None and standing.artifact_id == given.artifact_id:
            return standing, False
        if shared.publish(path, data):
            files.replace(path, data)
            return given, True


def put_shared(workspace: Workspace, wanted: str, source: bytes | str) -> None:
    """Put the bytes of an artifact, or those in a file, where other machines find them.

    They find the artifact by its metadata, which are shared after this.
    """
    engine = engines.get(workspace.control)
    if engine is None:
        return
    from io import BytesIO

    from council.store.engine import shared_files

    with BytesIO(source) if isinstance(source, bytes) else open(source, "rb") as file:
        shared_files.put(engine, wanted.removeprefix(rules.PREFIX), file)


def _fetch(workspace: Workspace, wanted: str) -> None:
    """Bring the bytes of an artifact here, if another machine has published it.

    Raises:
        InvalidStateError: They are not those that its id names; nothing was written.
        CouncilError: The engine is not reached, or the system refuses.
    """
    known = _described_elsewhere(workspace, wanted)
    if known is None:
        return
    from council.store.engine import shared_files

    engine, digest = engines[workspace.control], wanted.removeprefix(rules.PREFIX)
    temporary, descriptor = files.open_temporary(workspace.artifacts, b"", mode=_MODE, like=None)
    try:
        with files.closing(descriptor):
            for piece in shared_files.pieces(engine, digest, known.size_bytes, wanted):
                files.write_all(descriptor, piece)
            files.sync(descriptor)
        with Lock(workspace.artifacts_lock):
            os.rename(temporary, content_path(workspace, wanted))
            files.sync_folder(workspace.artifacts)
    except BaseException:
        files.remove(temporary)
        raise


def _described_elsewhere(workspace: Workspace, wanted: str) -> Artifact | None:
    """Return what another machine said of an artifact whose bytes are not here, None for none."""
    if engines.get(workspace.control) is None:
        return None
    path = metadata_path(workspace, wanted)
    if not os.path.lexists(path):
        files.make_folder(workspace.artifacts)
        shared.bring(path)
    return _metadata(path)


def _metadata(path: str) -> Artifact | None:
    standing = files.read_stable(path)
    if standing is None:
        return None
    try:
        return rules.artifact_of(read_json(standing.data))
    except (ValueError, KeyError, TypeError, AttributeError, CouncilError):
        raise InvalidStateError(
            f"{path} cannot be understood", "publish the same bytes again: it is written anew"
        ) from None


def _tell(
    workspace: Workspace,
    kind: str,
    one: Artifact,
    agent: str,
    trace: str,
    now: datetime,
    **more: Any,
) -> None:
    """Write an event about an artifact; it belongs to the trace that is named, if one is."""
    event = Event(
        type=kind,
        agent=agent,
        trace=trace,
        artifacts=[one.artifact_id],
        data={"size": one.size_bytes, "contentType": one.content_type, **more},
    )
    events.append(workspace, events.loose_records([event], "", now))


def tell_fetch(
    workspace: Workspace, one: Artifact, *, agent: str, trace: str = "", now: datetime
) -> None:
    """Write the event of a fetch (P8-037)."""
    _tell(workspace, "artifact.fetch", one, agent, trace, now)


def find(workspace: Workspace, artifact_id: str) -> Artifact:
    """Return what is known of an artifact.

    Bytes that lack metadata, because their publisher died, are an artifact of
    an unknown type.

    Raises:
        NotFoundError: There is none.
        RefusedError: The id is a path, or the file a link or a folder.
        InvalidStateError: Its metadata cannot be understood.
    """
    wanted = checked_id(artifact_id)
    path = content_path(workspace, wanted)
    with files.explaining("read", path):
        try:
            facts = os.lstat(path)
        except FileNotFoundError:
            elsewhere = _described_elsewhere(workspace, wanted)
            if elsewhere is not None:
                return elsewhere
            raise NotFoundError(f"no artifact {wanted}", "see: council artifact list") from None
    if not stat.S_ISREG(facts.st_mode):
        raise RefusedError(f"{path} is not a regular file", "move it elsewhere")
    known = _metadata(metadata_path(workspace, wanted))
    if known is not None:
        return known
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(int(facts.st_mtime), UTC)
    return Artifact(artifact_id=wanted, size_bytes=facts.st_size, created_at=at)


def ids(workspace: Workspace) -> Iterator[str]:
    """Yield the ids of all artifacts that have content here, in order."""
    yield from _named(workspace, CONTENT)


def known_ids(workspace: Workspace) -> list[str]:
    """Return the ids of all artifacts that can be read, from here or from other machines."""
    found = set(ids(workspace))
    if engines.get(workspace.control) is not None:
        found.update(_named(workspace, METADATA))
    return sorted(found)


def _named(workspace: Workspace, ending: str) -> Iterator[str]:
    for name in files.names_in(workspace.artifacts):
        wanted = name.removesuffix(ending)
        if wanted != name and rules.is_artifact_id(wanted):
            yield wanted


def local_path(workspace: Workspace, artifact_id: str) -> str:
    """Return where the bytes of an artifact lie, which are fetched if need be.

    Raises:
        CouncilError: As `open_verified`, but what lies here is not verified.
    """
    path = content_path(workspace, artifact_id)
    if not os.path.lexists(path):
        _fetch(workspace, artifact_id)
    return path


def open_verified(
    workspace: Workspace, artifact_id: str, *, now: datetime, seen: Seen | None = None
) -> BinaryIO:
    """Open an artifact for reading once all its bytes were found to be right.

    Raises:
        NotFoundError: There is none.
        DamagedArtifactError: Its bytes are not those that its id names; the event is written.
        RefusedError: The id is a path, or the file a link.
    """
    wanted = checked_id(artifact_id)
    with files.explaining("read", content_path(workspace, wanted)):
        file = _file_of(workspace, wanted)
        try:
            pour(workspace, wanted, file, now=now, seen=seen)
            file.seek(0)
        except BaseException:
            file.close()
            raise
    return file


def _file_of(workspace: Workspace, wanted: str) -> BinaryIO:
    try:
        return open(_opened(local_path(workspace, wanted)), "rb", buffering=0)
    except FileNotFoundError:
        raise NotFoundError(f"no artifact {wanted}", "see: council artifact list") from None


def pour(
    workspace: Workspace,
    wanted: str,
    file: BinaryIO,
    write: Callable[[bytes], object] | None = None,
    *,
    now: datetime,
    seen: Seen | None = None,
) -> None:
    """Read the open file of an artifact as `drained` does.

    Raises:
        DamagedArtifactError: Its bytes are not those that its id names; the event is written.
    """
    found, _ = drained(file, write, seen)
    if found != wanted:
        raise _damage(workspace, wanted, found, now)


def _damage(workspace: Workspace, wanted: str, found: str, now: datetime) -> DamagedArtifactError:
    """Write the event of a damaged artifact; return the refusal."""
    path = content_path(workspace, wanted)
    event = Event(type="artifact.damaged", artifacts=[wanted], data={"found": found})
    with suppress(CouncilError):  # a disk that takes no event must not hide the damage
        events.append(workspace, events.loose_records([event], "", now))
    return DamagedArtifactError(wanted, path, found)


def read(
    workspace: Workspace,
    artifact_id: str,
    max_bytes: int = files.MAX_FILE_BYTES,
    *,
    now: datetime,
) -> bytes:
    """Return the bytes of an artifact that is not too large for memory.

    Raises:
        InvalidInputError: It is larger than `max_bytes`.
        CouncilError: As `open_verified`.
    """
    wanted = checked_id(artifact_id)
    with (
        files.explaining("read", content_path(workspace, wanted)),
        _file_of(workspace, wanted) as file,
    ):
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise InvalidInputError(
                f"{wanted} holds {size} bytes, more than {max_bytes}",
                f"council artifact fetch {wanted} --out FILE",
            )
        data = files.read_all(file.fileno(), size)
    found = id_of_bytes(data)
    if found != wanted:
        raise _damage(workspace, wanted, found, now)
    return data


def _opened(path: str) -> int:
    return files.open_regular(path, hint="remove it, then publish it again")


def published_if_long(
    workspace: Workspace,
    text: str,
    *,
    publisher: str = "",
    trace: str = "",
    now: datetime,
) -> tuple[str, str]:
    """Return a text as `shortened` does, the whole of it published if it was cut.

    Raises:
        CouncilError: It is no text, or the system refuses.

    Source: P8-025, P8-042.
    """
    short, whole = rules.shortened(text)
    if whole:
        publish(
            workspace,
            rules.bytes_of(text),
            content_type=rules.TEXT_TYPE,
            publisher=publisher,
            trace=trace,
            now=now,
        )
    return short, whole
