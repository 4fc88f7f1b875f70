"""The identity source of another program: `ego.json`, which is read and never written.

Beside it a note says which state of it was taken over last, so that a process that
asks all the time reads it only after it has changed.

Source: DG-017 to DG-019.
"""

from __future__ import annotations

import json
import os
import time

from council.core.errors import CouncilError, InvalidInputError
from council.core.reading import read_json
from council.store import files
from council.store.conversations.naming import prepare_control
from council.store.paths import Workspace

# A file changed twice within one tick of the file system's clock seems unchanged the second time.
_CLOCK_TICK_NS = 20_000_000


def read(path: str) -> object:
    """Return the source as parsed JSON, None when there is no such file.

    Raises:
        InvalidInputError: It is not JSON.
        CouncilError: The system refuses.
    """
    standing = files.read_stable(os.path.realpath(path))
    if standing is None:
        return None
    try:
        return read_json(standing.data.decode("utf-8-sig"))
    except ValueError as error:
        said = " ".join(str(error).split())
        raise InvalidInputError(
            f"{path} is not JSON: {said}", "nothing was taken over; correct it there"
        ) from None


def look(path: str) -> list[int]:
    """Return the stamp of the source; an empty list when it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]


def was_taken(workspace: Workspace, path: str, looks: list[int]) -> bool:
    """Return true if this state of the source was taken over, and the registry is still there."""
    try:
        note = read_json(files.content_of(workspace.scan_mark))
    except (CouncilError, ValueError):
        return False
    return note in ([path, looks, os.path.lexists(workspace.identities)], [path, looks, False])


def note_taken(workspace: Workspace, path: str, looks: list[int]) -> None:
    """Remember which state of the source was taken over, as it looked before it was read.

    A state that is younger than the clock can show is not remembered.

    Raises:
        CouncilError: The system refuses.
    """
    if time.time_ns() - max(looks[:2], default=0) <= _CLOCK_TICK_NS:
        return
    prepare_control(workspace)
    note = [path, looks, os.path.lexists(workspace.identities)]
    files.replace(workspace.scan_mark, json.dumps(note).encode("ascii"))
