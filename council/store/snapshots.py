"""The history of a conversation: each text it ever had, under its own digest.

A snapshot is written once and never changed. It is only used when it still is
what its name says.

Source: `store.md` sections 1, 2 (step 7) and 5, C0-078.
"""

from __future__ import annotations

import os

from council.core.digests import sha256_hex
from council.core.errors import InvalidStateError, NotFoundError
from council.store import files


def digest_of(data: bytes) -> str:
    """Return the digest under which a text is kept."""
    return sha256_hex(data)


def _path(folder: str, digest: str) -> str:
    return f"{folder}/{digest}"


def keep(folder: str, data: bytes, digest: str = "") -> str:
    """Write a snapshot durably, unless it is there, and return its digest.

    Args:
        folder: Where the snapshots lie.
        data: The text.
        digest: Its digest, where the caller knows it.

    Raises:
        OSError: The system refuses.
    """
    digest = digest or digest_of(data)
    path = _path(folder, digest)
    if has(folder, digest):
        # Its writer may have died before it was on the disk: it is written anew.
        temporary = files.write_temporary(folder, data, mode=0o444, like=None)
        try:
            os.rename(temporary, path)
        except BaseException:
            files.remove(temporary)
            raise
    else:
        _write(folder, path, data)
    files.sync_folder(folder)
    return digest


def _write(folder: str, path: str, data: bytes) -> None:
    """Write a snapshot that is not there yet.

    It gets its name before it is synced, so that one commit of the file
    system's own journal holds both. Nothing speaks of it before that.
    """
    temporary, descriptor = files.open_temporary(folder, data, mode=0o444, like=None)
    try:
        os.rename(temporary, path)
        files.sync(descriptor)
    except BaseException:
        files.remove(temporary)
        files.remove(path)
        raise
    finally:
        os.close(descriptor)


def is_kept(folder: str, digest: str, data: bytes) -> bool:
    """Tell whether a snapshot with this digest and content is there."""
    standing = files.read_stable(_path(folder, digest))
    return standing is not None and standing.data == data


def has(folder: str, digest: str) -> bool:
    """Tell whether a snapshot with this digest is there, whatever its condition."""
    return os.path.lexists(_path(folder, digest))


def get(folder: str, digest: str) -> bytes:
    """Return a snapshot.

    Raises:
        NotFoundError: It is not there; archiving prunes snapshots.
        InvalidStateError: It is no longer what was written.
    """
    standing = files.read_stable(_path(folder, digest))
    if standing is None:
        raise NotFoundError(
            f"no snapshot {digest} in {folder}", "archived conversations keep one a phase"
        )
    if digest_of(standing.data) != digest:
        raise InvalidStateError(
            f"the snapshot {_path(folder, digest)} is damaged",
            "restore it from a backup, or take the file as it stands: council adopt",
        )
    return standing.data
