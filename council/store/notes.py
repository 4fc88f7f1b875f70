"""Notes: small files that may be lost, since what they say can be found out again.

They are neither synced nor replaced as a whole; who reads one that is torn or
gone does the work that it would have spared. One of them stands beside the registry of
document 002: until when no heartbeat has to open it. It holds for the file that it names by
inode, size and time of change; for any other it says nothing.

The time stamp of a dated file says when what it notes was read: it is compared
with the time stamps of what was looked at. The file gets its name only with its time
stamp, so one whose writer dies never claims to be younger than it is.

Source: PR-422, XC-001, XC-007.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime

from council.store import files
from council.store.paths import record_files

_MOST_BYTES = 200
_BOOT = "/proc/sys/kernel/random/boot_id"
REGISTRY = "registry.jsonl"
_LIVENESS = ".told/liveness"
_NEVER = "-"


def text_in(path: str) -> str:
    """Return what a note holds, "" when there is none that can be read."""
    try:
        with files.closing(os.open(path, files.READ)) as descriptor:
            return os.read(descriptor, _MOST_BYTES).decode("ascii", "replace")
    except OSError:
        return ""


def boot() -> str:
    """Return what distinguishes this boot of the machine from others, "" where nothing does."""
    return text_in(_BOOT).strip()


def write_text(path: str, text: str) -> None:
    """Write a note; one that is lost is found out again."""
    flags = os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK
    with suppress(OSError), files.closing(files.opened(path, flags)) as descriptor:
        os.write(descriptor, text.encode("ascii"))


def registry_facts(folder: str) -> str | None:
    """Return what differs between two states of the registry's file, None without one."""
    for path in record_files(f"{folder}/{REGISTRY}"):
        found = os.lstat(path)
        return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"
    return None


def liveness_is_due(folder: str, now: datetime) -> bool:
    """Return true if the registry in the folder of the protocol has to be opened by now.

    Where there is no registry it never has.
    """
    facts = registry_facts(folder)
    if facts is None:
        return False
    known, _, due = text_in(f"{folder}/{_LIVENESS}").rpartition(" ")
    if known != facts:
        return True
    return due != _NEVER and (not due.isdigit() or int(due) <= now.timestamp())


def note_liveness(folder: str, facts: str, due: datetime | None) -> None:
    """Note when an agent falls silent next, None for never, for the registry of those facts."""
    write_text(
        f"{folder}/{_LIVENESS}", f"{facts} {_NEVER if due is None else int(due.timestamp())}"
    )


# A change within the same tick of a coarse clock is not seen; some tick by two seconds.
YOUNG_NS = 2_000_000_000


def replace_dated(path: str, data: bytes, at_ns: int) -> bool:
    """Let a file hold `data` and be dated `at_ns`; one that holds it is only dated anew.

    Returns:
        Whether it had to be written.

    Raises:
        CouncilError: It cannot be written; the old file is untouched.
    """
    standing = files.read_stable(path)
    if standing is not None and standing.data == data:
        try:
            os.utime(path, ns=(at_ns, at_ns))
            return False
        except PermissionError:
            pass  # only its owner may set a time: in its place comes a file of ours
        except OSError:
            return False  # it stays as old as it seems
    files.make_folder(os.path.dirname(path))
    files.replace(path, data, at_ns=at_ns)
    return True
