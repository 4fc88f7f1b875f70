"""The log of messages: one file a day under `protocol/log/`, one line a message.

What a line says is decided in `wire.log_lines`.

Source: PR-585, PR-586, A-75.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from council.store import added_lines, files
from council.store.paths import Workspace, resolve_inside

_SUFFIX = ".log"


def log_path(workspace: Workspace, day: str) -> str:
    """Return the file of a day, `2026-02-08`."""
    return resolve_inside(os.path.join(workspace.protocol, "log"), f"{day}{_SUFFIX}")


def log(workspace: Workspace, day: str, lines: Sequence[str], *, since: int | None = None) -> None:
    """Add lines to the log of a day.

    Args:
        workspace: Where it lies.
        day: The day.
        lines: The lines.
        since: The size of the file before they may have been written by
            a process that died; None when none can have.

    Raises:
        CouncilError: The system refuses.
    """
    data = [line.encode("utf-8", "replace") for line in lines]
    added_lines.add(log_path(workspace, day), data, since=since)


def read_log(workspace: Workspace, *, since: str = "") -> Iterator[tuple[str, str]]:
    """Yield day and line of everything that was logged, oldest first.

    Args:
        workspace: Where it lies.
        since: The first day to read, "" for all.
    """
    for name in files.names_in(os.path.dirname(log_path(workspace, "day"))):
        day = name.removesuffix(_SUFFIX)
        if name.endswith(_SUFFIX) and day >= since[:10]:
            for line in added_lines.read_lines(log_path(workspace, day)):
                yield day, line.decode("utf-8", "replace")
