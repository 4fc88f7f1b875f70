"""Single files: written whole and durably or not at all, read whole and unchanged.

It knows nothing of conversations. Every refusal of the operating system comes
out as an error that says what could not be done, where, and what to do.

Source: XC-001, `store.md` sections 2 and 6.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from contextlib import suppress

from council.core.errors import CouncilError, InvalidStateError, RefusedError, StorageError
from council.core.ids import sha256_hex
from council.core.reading import read_json
from council.core.record import Any, Record

MAX_FILE_BYTES = 64 * 1024 * 1024
SETTLE_TRIES = 15
SETTLE_PAUSE_S = 0.005
TEMPORARY = ".tmp-"
_DRAWN_BYTES, _HEX = 8, "0123456789abcdef"
# Between the writing of a file and its name lies less than that, however slow the disk.
_ABANDONED_S = 600.0
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NOT_A_FILE = frozenset({errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENODEV})
_NO_LINK = frozenset({errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})
TO_SHARE = "council init --shared"
_FIX = "put the regular file back in its place"
_SHARED = stat.S_ISGID | stat.S_IWGRP
# How a file is opened that is only read: no link is followed, and no pipe is waited for.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Reading(Record):
    """A file as it was read: its bytes and the facts that identify this version of it."""

    data: bytes
    facts: os.stat_result
    settled: bool = True

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the bytes, which is worked out once."""
        known: str | None = self.__dict__.get("_digest")
        return known or self.know(sha256_hex(self.data))

    def know(self, digest: str) -> str:
        """Spare `digest` its work: this is what it would come to."""
        self.__dict__["_digest"] = digest
        return digest


def explained(error: OSError, doing: str, path: str) -> CouncilError:
    """Return the refusal that explains to a user what an error of the system means."""
    where = path
    if isinstance(error.filename, str):
        where = error.filename
    what = f"cannot {doing} {where}: {os.strerror(error.errno or 0)}"
    if error.errno in _FULL:
        return StorageError(what, "free some disk space, then run the same command again")
    if error.errno in _FORBIDDEN:
        return RefusedError(what, _remedy(where))
    if error.errno in _NOT_A_FILE:
        return InvalidStateError(what, "put a regular file in its place")
    return StorageError(what, "check the disk, then run the same command again")


def _remedy(path: str) -> str:
    """Return what to do about a place that is refused to this user."""
    for one in (path, os.path.dirname(path)):
        try:
            uid = os.lstat(one).st_uid
        except OSError:
            continue
        if uid != os.geteuid() and not os.access(one, os.W_OK):
            owner = user_name(uid)
            return f"{one} belongs to {owner}; to share the workspace {owner} runs: {TO_SHARE}"
    return "check the owner, the permissions and the mount of that place"


def user_name(uid: int) -> str:
    """Return what a user is called, `user 1000` where no account has that number."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


class explaining:  # noqa: N801 - reads as a statement: with explaining("write", path)
    """Turn every error of the system inside the block into a refusal."""

    def __init__(self, doing: str, path: str) -> None:
        self._doing, self._path = doing, path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            raise explained(error, self._doing, self._path) from error


class closing:  # noqa: N801 - reads as a statement: with closing(os.open(path, READ))
    """Close an open file at the end of the block."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def write_all(descriptor: int, data: bytes, offset: int | None = None) -> None:
    """Write all of `data`; the system may take it in pieces."""
    left = memoryview(data)
    while left:
        if offset is None:
            done = os.write(descriptor, left)
        else:
            done = os.pwrite(descriptor, left, offset)
            offset += done
        left = left[done:]


def add_lines(descriptor: int, data: bytes) -> None:
    """Add whole lines to an open file in one write; a line that was left torn is closed before.

    Who left it died in the middle of it, so it is left alone.
    """
    size = os.fstat(descriptor).st_size
    if data and size and os.pread(descriptor, 1, size - 1) != b"\n":
        data = b"\n" + data
    write_all(descriptor, data)


def sync(descriptor: int) -> None:
    """Bring a file to the disk. When it fails, never call it again on this descriptor."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_data(descriptor: int) -> None:
    """Bring the content and size of a file to the disk, under the rule of `sync`."""
    if sys.platform == "darwin":
        sync(descriptor)
    else:
        os.fdatasync(descriptor)


def sync_folder(path: str) -> None:
    """Bring the names in a folder to the disk."""
    with closing(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as descriptor:
        os.fsync(descriptor)


def names_in(folder: str) -> list[str]:
    """Return the names in a folder, in order; none where there is no such folder.

    Raises:
        OSError: The system refuses.
    """
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def paths_in(folder: str, prefix: str = "") -> list[str]:
    """Return the paths of what is in a folder and whose name begins so, in order.

    Raises:
        OSError: The system refuses.
    """
    return [f"{folder}/{one}" for one in names_in(folder) if one.startswith(prefix)]


def is_shared(folder: str) -> bool:
    """Return true if what is made in a folder belongs to its group, as it does to its owner."""
    try:
        return os.stat(folder or ".").st_mode & _SHARED == _SHARED
    except OSError:
        return False


def shared_mode(mode: int) -> int:
    """Return the permissions with which the group may do what the owner may.

    >>> oct(shared_mode(0o600)), oct(shared_mode(0o444)), oct(shared_mode(stat.S_IFDIR | 0o700))
    ('0o660', '0o444', '0o2770')
    """
    inherits = stat.S_ISGID if stat.S_ISDIR(mode) else 0
    return stat.S_IMODE(mode) | (mode & stat.S_IRWXU) >> 3 | inherits


def share(made: int | str, folder: str) -> None:
    """Give what was made in a shared folder to its group, whatever the umask was.

    This is the one rule of a shared workspace: everything follows the folder it lies in.

    Raises:
        OSError: The system refuses.

    Source: OP-009.
    """
    mode = os.stat(made).st_mode
    if shared_mode(mode) != stat.S_IMODE(mode) and is_shared(folder):
        os.chmod(made, shared_mode(mode))


def make_one_folder(path: str, mode: int) -> None:
    """Make a folder in one that is there.

    Raises:
        OSError: The system refuses; FileExistsError where there is one.
    """
    os.mkdir(path, mode)
    share(path, os.path.dirname(path))


def opened(path: str, flags: int, mode: int = 0o666) -> int:
    """Open a file, which is made if need be; the others of a shared folder find it as theirs.

    Args:
        path: The file; links are not followed.
        flags: Those of `os.open`, without O_CREAT.
        mode: Permissions of a new file, before the umask.

    Raises:
        OSError: The system refuses.
    """
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            folder = os.path.dirname(path)
            if not is_shared(folder):
                return os.open(path, flags | os.O_CREAT, mode)
        # It gets its name with its permissions: no other member is refused in between.
        temporary, descriptor = open_temporary(folder, b"", mode=mode, like=None)
        os.close(descriptor)
        try:
            link(temporary, path)
        finally:
            remove(temporary)


def make_folder(path: str, mode: int = 0o777) -> None:
    """Make a folder and those above it, durably; one that is there is left alone.

    Raises:
        CouncilError: The system refuses.
    """
    above = os.path.dirname(path)
    with explaining("make", path):
        if above and not os.path.lexists(above):
            make_folder(above)
        try:
            make_one_folder(path, mode)
        except FileExistsError:
            return
        sync_folder(above)


def write_temporary(folder: str, data: bytes, *, mode: int = 0o666, like: Reading | None) -> str:
    """Write `data` durably under a new random name in `folder` and return its path.

    The arguments are those of `open_temporary`.
    """
    path, descriptor = open_temporary(folder, data, mode=mode, like=like)
    try:
        with closing(descriptor):
            sync(descriptor)
    except BaseException:
        remove(path)
        raise
    return path


def open_temporary(
    folder: str, data: bytes, *, mode: int = 0o666, prefix: str = TEMPORARY, like: Reading | None
) -> tuple[str, int]:
    """Write `data` under a new random name in `folder`; return its path and the open file.

    It is on the disk only when the caller has synced it.

    Args:
        folder: Where; it must lie on the file system of the file it is meant for.
        data: The content.
        mode: Permissions, before the umask.
        prefix: How its name begins.
        like: The file it will replace: permissions and owner are taken from it.
    """
    path = os.path.join(folder, prefix + os.urandom(_DRAWN_BYTES).hex())
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, mode)
    try:
        if like is not None:
            _resemble(descriptor, like)
        share(descriptor, folder)
        write_all(descriptor, data)
    except BaseException:
        os.close(descriptor)
        remove(path)
        raise
    return path, descriptor


def _resemble(descriptor: int, like: Reading) -> None:
    now = os.fstat(descriptor)
    wanted = like.facts
    if (now.st_uid, now.st_gid) != (wanted.st_uid, wanted.st_gid):
        # only its owner or root could; the permissions below still follow
        with suppress(PermissionError):
            os.fchown(descriptor, wanted.st_uid, wanted.st_gid)
    if stat.S_IMODE(now.st_mode) != stat.S_IMODE(wanted.st_mode):
        os.fchmod(descriptor, stat.S_IMODE(wanted.st_mode))


def remove(path: str) -> bool:
    """Remove a file; return true if it was there. Never fails: what stays is only litter."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def is_temporary(path: str) -> bool:
    """Return true if a file bears such a name as `open_temporary` draws, and a person would not."""
    start, mark, drawn = os.path.basename(path).partition(TEMPORARY)
    return not start and bool(mark) and len(drawn) == 2 * _DRAWN_BYTES and not drawn.strip(_HEX)


def is_abandoned(path: str) -> bool:
    """Return true if no process can be about to give a temporary file its name any more."""
    try:
        return time.time() - os.lstat(path).st_mtime > _ABANDONED_S
    except FileNotFoundError:
        return False  # it has its name by now


def write_new(path: str, data: bytes, *, mode: int = 0o666) -> bool:
    """Write a file that must not exist yet, whole and durable under its name.

    Returns:
        False when the name is taken; the file there is untouched.

    Raises:
        CouncilError: The system refuses.
    """
    folder = os.path.dirname(path)
    with explaining("write", path):
        temporary = write_temporary(folder, data, mode=mode, like=None)
        try:
            if not link(temporary, path):
                return False
        finally:
            remove(temporary)
        sync_folder(folder)
    return True


def link(existing: str, new: str) -> bool:
    """Give a file a second name; False when that name is taken."""
    try:
        os.link(existing, new, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        # A file system without hard links: claim the name, then put the file there.
        try:
            claim = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)
        except FileExistsError:
            return False
        os.close(claim)
        os.replace(existing, new)
    return True


def replace(
    path: str, data: bytes, *, mode: int = 0o666, like: str = "", at_ns: int | None = None
) -> None:
    """Write a file whole and durable in the place of what is there, keeping mode and owner.

    Args:
        path: Where.
        data: The content.
        mode: Permissions of a new file, before the umask.
        like: The file whose mode and owner it has, "" for the one that is there.
        at_ns: What it is dated, None for now. One that is dated may be lost: its name is not
            brought to the disk.

    Raises:
        CouncilError: The system refuses; the old file is untouched.
    """
    with explaining("write", path):
        standing = read_stable(like or path)
        folder = os.path.dirname(path)
        temporary = write_temporary(folder, data, mode=mode, like=standing)
        try:
            if at_ns is not None:
                os.utime(temporary, ns=(at_ns, at_ns))
            os.rename(temporary, path)
        except BaseException:
            remove(temporary)
            raise
        if at_ns is None:
            sync_folder(folder)


def read_stable(path: str) -> Reading | None:
    """Read a whole regular file, again while a process is writing it; None when there is none.

    `settled` is False when it still changed after all tries.

    Raises:
        InvalidStateError: It is a link, a pipe, a device, a folder, or far too big.
        CouncilError: The system refuses.
    """
    for attempt in range(SETTLE_TRIES):
        if attempt:
            time.sleep(SETTLE_PAUSE_S)
        with explaining("read", path):
            try:
                reading = _read_once(path)
            except FileNotFoundError:
                return None
        if reading.settled:
            break
    return reading


def content_of(path: str) -> bytes:
    """Return what a file holds, nothing where there is none or it cannot be read."""
    try:
        reading = read_stable(path)
    except CouncilError:
        return b""
    return b"" if reading is None else reading.data


def json_object(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that some bytes are, None where they are none."""
    try:
        value = read_json(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def open_regular(path: str, *, follow: bool = False, hint: str = _FIX) -> int:
    """Open a regular file for reading, without waiting; return the open file.

    Args:
        path: Which.
        follow: Whether a link will do, since it was a person who named it.
        hint: What to do about one that is not regular.

    Raises:
        InvalidStateError: It is a pipe, a device or a folder.
        OSError: It is a link, or the system refuses.
    """
    return regular(os.open(path, READ & ~os.O_NOFOLLOW if follow else READ), path, hint)


def regular(descriptor: int, path: str, hint: str = _FIX) -> int:
    """Return an open file that is a regular one.

    Raises:
        InvalidStateError: It is none, and closed; `hint` says what to do.
    """
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InvalidStateError(f"{path} is not a regular file", hint)
    return descriptor


def is_also_in(folder: str, descriptor: int) -> bool:
    """Return true if an open file lies somewhere below a folder, too, by another name."""
    ours = os.fstat(descriptor)
    if ours.st_nlink < 2:
        return False
    for above, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                if os.path.samestat(ours, os.lstat(os.path.join(above, name))):
                    return True
    return False


def _read_once(path: str) -> Reading:
    with closing(open_regular(path)) as descriptor:
        before = os.fstat(descriptor)
        if before.st_size > MAX_FILE_BYTES:
            raise InvalidStateError(
                f"{path} is larger than {MAX_FILE_BYTES // 2**20} MiB", "make it smaller"
            )
        data = read_all(descriptor, before.st_size)
        after = os.fstat(descriptor)
    is_same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return Reading(data=data, facts=after, settled=is_same and len(data) == after.st_size)


def read_all(descriptor: int, size: int) -> bytes:
    """Read an open file from its beginning to its end, which `size` is a guess of."""
    whole = os.read(descriptor, max(size, 4096) + 1)
    if len(whole) == size:
        return whole  # there was room for more, so this was all of it
    pieces = [whole]
    while pieces[-1]:
        pieces.append(os.read(descriptor, max(size, 4096) + 1))
    return b"".join(pieces)


def is_same(path: str, reading: Reading) -> bool:
    """Return true if `path` still is the very version of the file that was read."""
    try:
        now = os.lstat(path)
    except FileNotFoundError:
        return False
    was = reading.facts
    is_unchanged = (now.st_size, now.st_mtime_ns) == (was.st_size, was.st_mtime_ns)
    return is_unchanged and os.path.samestat(now, was)
