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
        _write(path, data)
    files.sync_folder(folder)
    return digest


def _write(path: str, data: bytes) -> None:
    descriptor = _open(path, data)
    try:
        files.sync(descriptor)
    except BaseException:
        files.remove(path)
        raise
    finally:
        os.close(descriptor)


def _open(path: str, data: bytes) -> int:
    """Write a snapshot that is not there yet, for the caller to sync and close.

    It has its name from the beginning, so that one commit of the file system's
    own journal holds both. Nothing speaks of it before that, and one whose
    writer died is written anew by whoever needs it.

    Raises:
        FileExistsError: It is there, whatever its condition.
        OSError: The system refuses.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o444)
    try:
        files.write_all(descriptor, data)
    except BaseException:
        os.close(descriptor)
        files.remove(path)
        raise
    return descriptor


class Beginning:
    """A snapshot that is on its way to the disk, and there only when `finish` returns.

    What is written meanwhile shares its way there: two files that are brought
    to the disk one after the other cost little more than one, if the second
    was set out before the first is waited for.

    Args:
        folder: Where the snapshots lie.
        data: The text.
        digest: Its digest.

    Raises:
        OSError: The system refuses.
    """

    def __init__(self, folder: str, data: bytes, digest: str) -> None:
        self._folder, self._path = folder, _path(folder, digest)
        self._descriptor = -1
        try:
            self._descriptor = _open(self._path, data)
        except FileExistsError:
            keep(folder, data, digest)
        else:
            files.set_out(self._descriptor)

    def finish(self) -> None:
        """Wait until it is on the disk, with its name.

        Raises:
            OSError: The system refuses; there is no snapshot.
        """
        if self._descriptor < 0:
            return
        try:
            files.sync(self._descriptor)
            files.sync_folder(self._folder)
        except BaseException:
            self.give_up()
            raise
        self._close()

    def give_up(self) -> None:
        """Take it back."""
        if self._descriptor >= 0:
            files.remove(self._path)
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
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
