"""A note beside the registry: until when no heartbeat has to open it.

It holds for the file that it names by inode, size and time of change; for any
other it says nothing. It is a cache: one that is missing, torn or lost by a
power cut costs a look.

Source: PR-422, XC-007.
"""

from __future__ import annotations

import os

from council.store import notes
from council.store.paths import record_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

REGISTRY = "registry.jsonl"
_NOTE = ".told/liveness"
_NEVER = "-"


def facts_of(folder: str) -> str | None:
    """Return what differs between two states of the registry's file, None without one."""
    for path in record_files(f"{folder}/{REGISTRY}"):
        found = os.lstat(path)
        return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"
    return None


def is_due(folder: str, now: datetime) -> bool:
    """Tell whether the registry in the folder of the protocol has to be opened by now.

    Where there is no registry it never has.
    """
    facts = facts_of(folder)
    if facts is None:
        return False
    known, _, due = notes.text_in(f"{folder}/{_NOTE}").rpartition(" ")
    if known != facts:
        return True
    return due != _NEVER and (not due.isdigit() or int(due) <= now.timestamp())


def write(folder: str, facts: str, due: datetime | None) -> None:
    """Note when somebody falls silent next, None for never, for the registry of those facts."""
    notes.write_text(
        f"{folder}/{_NOTE}", f"{facts} {_NEVER if due is None else int(due.timestamp())}"
    )
