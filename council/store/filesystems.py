"""Which file systems a conversation may lie on.

On a network file system a kernel lock of one machine does not exclude those
of others, so what the store promises would not hold there.

Source: `store.md` section 6.
"""

from __future__ import annotations

import os

from council.core.errors import RefusedError
from council.store import files

_NETWORK = frozenset({"9p", "afs", "cifs", "coda", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"})
_NETWORK_IN_USER_SPACE = frozenset({"fuse.rclone", "fuse.s3fs", "fuse.sshfs"})


def file_system_of(path: str) -> str:
    """Return the type of the file system that `path` lies on, "" when it cannot be told."""
    reading = None
    try:
        descriptor = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        reading = files.read_all(descriptor, 64 * 1024)
    finally:
        os.close(descriptor)
    return type_in(reading.decode("utf-8", "replace"), os.path.realpath(path))


def type_in(mounts: str, path: str) -> str:
    """Return the type of the innermost mount of a `mountinfo` table that holds `path`."""
    best, found = -1, ""
    for line in mounts.splitlines():
        place, _, kind = line.partition(" - ")
        words = place.split(" ")
        if len(words) < 5 or not kind:
            continue
        point = words[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = point in ("/", path) or path.startswith(point + "/")
        if inside and len(point) >= best:
            best, found = len(point), kind.split(" ")[0]
    return found


def refuse_network(path: str, kind: str | None = None) -> None:
    """Let a local file system pass.

    Raises:
        RefusedError: It is a network file system.
    """
    kind = file_system_of(path) if kind is None else kind
    if kind in _NETWORK or kind in _NETWORK_IN_USER_SPACE:
        raise RefusedError(
            f"{path} lies on a network file system ({kind}), where locks do not exclude",
            "use a local disk; if only this machine ever writes, set force_network_fs = true",
        )
