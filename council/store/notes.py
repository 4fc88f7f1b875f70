"""Notes: small files that may be lost, since what they say can be found out again.

They are neither synced nor replaced as a whole; who reads one that is torn or
gone does the work that it would have spared.
"""

from __future__ import annotations

import os

from council.store import files

_MOST_BYTES = 200
_BOOT = "/proc/sys/kernel/random/boot_id"


def text_in(path: str) -> str:
    """Return what a note holds, "" when there is none that can be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, _MOST_BYTES).decode("ascii", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def boot() -> str:
    """Return what tells this boot of the machine from others, "" where nothing does."""
    return text_in(_BOOT).strip()


def write_text(path: str, text: str) -> None:
    """Write a note; one that is lost is found out again."""
    try:
        descriptor = files.opened(path, os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK)
    except OSError:
        return
    try:
        os.write(descriptor, text.encode("ascii"))
    except OSError:
        return
    finally:
        os.close(descriptor)
