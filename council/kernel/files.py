"""Files: read without waiting, written whole, locked, exchanged without losing what others save.

A page is published by exchanging it with the live file in one step (`renameat2` on Linux,
`renamex_np` on macOS). The file that was live is put aside under a name that says what had been
read of it. The next command compares, and takes in what a program saved in between, or wrote
later through a file that it holds open. Without such a call, a hard link and a rename do it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from _thread import get_ident

from council.kernel.errors import Conflict, Invalid, NotFound, Unexpected
from council.kernel.ids import digest
from council.kernel.record import Any

_LAST = b"<!--council:eof rev="  # a page's last line begins so
_YOUNG_NS = 50_000_000
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PAUSE = 0.003  # seconds
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FILE = (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENODEV, errno.ENOTDIR)
_NO_CALL = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
_NO_LINK = (errno.EPERM, errno.EMLINK, *_NO_CALL)
_FULL, _DENIED = ("disk-full", "free some space"), ("no-permission", "check owner and permissions")
_CURES = {errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.EACCES: _DENIED, errno.EPERM: _DENIED}
_CURES[errno.EROFS] = ("read-only", "make the file system writable")


class reported:  # noqa: N801 - reads as a statement: with reported("write", path)
    """Turn an OSError inside the block into a refusal that names the path and the cure."""

    def __init__(self, doing: str, path: str) -> None:
        self._doing, self._path = doing, path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if not isinstance(error, OSError):
            return
        place = error.filename2 or error.filename  # of two the one that is wanted
        path = place if isinstance(place, str) else self._path
        reason = "it is a link" if error.errno == errno.ELOOP else os.strerror(error.errno or 0)
        message = f"cannot {self._doing} {path}: {reason}"
        if error.errno in _NO_FILE:
            raise Invalid("not-a-file", message, "put a regular file or folder there") from error
        code, cure = _CURES.get(error.errno or 0, ("disk-failed", "check the disk"))
        raise Unexpected(code, message, f"{cure}, then run the command again") from error


class Seen:
    """A file as it was read: its bytes, their digest, and its `stat`."""

    def __init__(self, data: bytes, facts: os.stat_result) -> None:
        self.data, self.facts, self.digest = data, facts, digest(data)
        self.young = abs(time.time_ns() - facts.st_mtime_ns) < _YOUNG_NS
        self.name = f"old-{facts.st_ino}-{self.digest}"  # for putting it aside


def names(folder: str) -> list[str]:
    """Return the names in a folder; none if there is no such folder."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def read(path: str, most: int = 64 << 20) -> tuple[bytes, os.stat_result] | None:
    """Return a regular file of up to `most` bytes, None if there is none; refuse anything else."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise Invalid("not-a-file", f"{path} is not a regular file", "put a regular file there")
        if facts.st_size > most:
            raise Invalid("too-large", f"{path}: over {most >> 20} MB", "make it smaller")
        data = more = os.read(descriptor, facts.st_size + 1)
        while more and len(data) != facts.st_size:
            more = os.read(descriptor, 1 << 20)
            data += more
        return data, facts
    finally:
        os.close(descriptor)


def content(path: str, most: int = 64 << 20) -> bytes | None:
    """Return a file's bytes, None where there is none; what cannot be read is a refusal."""
    with reported("read", path):
        found = read(path, most)
    return found[0] if found else None


def look(path: str) -> Seen | None:
    """Return a page; wait up to 75 ms if it was just changed and looks half-written."""
    for _ in range(15):
        found = read(path)
        seen = Seen(*found) if found else None
        if seen is None or not seen.young or _LAST in seen.data:
            break
        time.sleep(0.005)
    return seen


def write_all(descriptor: int, data: bytes, offset: int = 0) -> None:
    """Write all of `data` at an offset; the system may take it in pieces."""
    rest = memoryview(data)
    while rest:
        done = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[done:], offset + done


def sync(descriptor: int) -> None:
    """Bring a file's bytes and size to the disk."""
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS, whose fsync leaves them in the disk's memory
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


def sync_folder(path: str) -> None:
    """Bring the names in a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folders(folder: str) -> None:
    """Sync a folder and those above it, up to the one that contains `.council`."""
    sync_folder(folder)
    while "/.council/" in f"{folder}/":
        folder = os.path.dirname(folder)
        sync_folder(folder)


def remove(path: str) -> None:
    """Remove a file if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def fill(path: str, data: bytes, mode: int, durable: bool, like: Seen | None = None) -> None:
    """Write a new file in place of any with this name; owner and mode are those of `like`."""
    remove(path)
    descriptor = os.open(path, _MAKE, mode)
    try:
        if like is not None:
            if os.geteuid() == 0:
                os.fchown(descriptor, like.facts.st_uid, like.facts.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(like.facts.st_mode))
        write_all(descriptor, data)
        if durable:
            sync(descriptor)
    except OSError:
        remove(path)
        raise
    finally:
        os.close(descriptor)


def replace(path: str, data: bytes, mode: int = 0o644, durable: bool = False, by: str = "") -> None:
    """Put a file in place of the one with this name, in one step; `by` is where it is written."""
    by = by or f"{path}.{os.getpid()}.{get_ident()}"
    fill(by, data, mode, durable)
    try:
        os.rename(by, path)
    except OSError:
        remove(by)
        raise
    if durable:
        sync_folder(os.path.dirname(path))


def publish(path: str, data: bytes, seen: Seen | None, aside: str, durable: bool) -> bool:
    """Put `data` in the place of the live file; return False if it has to be looked at again.

    `seen` is the live file as it was read. It goes to `aside`, a path on the same file system.
    With `durable` the new content survives a power cut.
    """
    fill(aside, data, 0o644, durable, seen)
    try:
        if seen is None:
            done = _link(aside, path)
            remove(aside)
        else:
            _exchange(path, aside)
            done = discard(aside) is not False
    except FileNotFoundError:  # an editor has just removed it
        remove(aside)
        return False
    if durable and done:
        sync_folder(os.path.dirname(path))
    return done


def _link(existing: str, path: str) -> bool:
    """Give a file a second name, or another one where there are no links; False if taken."""
    try:
        os.link(existing, path, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        os.rename(existing, path)
    return True


def _exchange(path: str, aside: str) -> None:
    code = _call(os.fsencode(path), os.fsencode(aside))  # live first: watchers see its name move
    if code in _NO_CALL:
        os.rename(aside, f"{aside}.new")
        _link(path, aside)
        os.rename(f"{aside}.new", path)
    elif code:
        raise OSError(code, os.strerror(code), path)


def discard(path: str, later: bool = False) -> bool | None:
    """Remove a page that was put aside, if its bytes are as its name says and nobody has it open.

    A write lease tells; where there are none, `later` says that a command has passed since.
    Return True: it is gone. False: it was written to. None: it has to stay for now.
    """
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return True
    try:
        alone = later
        try:
            import _signal  # type: ignore[import-not-found]  # late: `signal` is slow to import

            fcntl.fcntl(descriptor, fcntl.F_SETSIG, _signal.SIGURG)  # which is ignored
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)  # until it is closed
            alone = True
        except AttributeError:  # a system without leases
            pass
        except OSError as error:  # EAGAIN: it is open; others: the file system has none
            alone = later and error.errno != errno.EAGAIN
        data = os.pread(descriptor, os.fstat(descriptor).st_size + 1, 0)
        same = path.endswith(f"-{digest(data)}")
        if same and alone:
            remove(path)
        return (alone or None) if same else False
    finally:
        os.close(descriptor)


def _call(path: bytes, aside: bytes) -> int:
    """Exchange two files in one step; return 0 or the number of the error."""
    mac = hasattr(fcntl, "F_FULLFSYNC")
    name = "renamex_np" if mac else "renameat2"
    machine: Any
    try:
        import _ctypes as machine  # late: for writers; `ctypes` takes ten times as long

        number = type("Number", (machine._SimpleCData,), {"_type_": "i"})
        shape = {"_flags_": machine.FUNCFLAG_CDECL | machine.FUNCFLAG_USE_ERRNO}
        made = type("Call", (machine.CFuncPtr,), {**shape, "_restype_": number})
        call = made(machine.dlsym(machine.dlopen(None, 0), name))
    except (ImportError, TypeError, AttributeError, OSError):  # a system without the call
        return errno.ENOSYS
    failed = call(path, aside, 2) if mac else call(-100, path, -100, aside, 2)
    return int(machine.get_errno()) if failed else 0


class Lock:
    """An exclusive lock, held inside a `with` block: `flock` on a file that is never removed.

    It ends with its process, and `filelock.FileLock` on the same file excludes us and is excluded.
    Who waits asks again every few milliseconds, as other threads, too, can do.
    The file is made in a folder that exists; without the folder, or if it was moved while we
    waited: NotFound (`no-folder`). After `patience` seconds: Conflict (`locked`).
    """

    def __init__(self, path: str, patience: float = 30.0) -> None:
        self._path, self._patience, self._descriptor = path, patience, -1

    def __enter__(self) -> None:
        until = time.monotonic() + self._patience
        with reported("lock", self._path):
            try:
                while not self._acquires():
                    if time.monotonic() > until:
                        message = f"{self._path}: locked by another command"
                        hint = "run the command again, or look for a stopped council process"
                        raise Conflict("locked", f"{message} for {self._patience:.0f} s", hint)
                    time.sleep(_PAUSE)
            except (FileNotFoundError, NotADirectoryError):
                message = f"no folder {os.path.dirname(self._path)}: closed, or never begun"
                raise NotFound("no-folder", message) from None

    def __exit__(self, *_: object) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a forked child may have a copy
        os.close(descriptor)

    def _acquires(self) -> bool:
        """Return whether we have the lock now, on the file that has the name now."""
        descriptor = os.open(self._path, _LOCK, 0o600)
        try:
            if locks(descriptor) and os.path.samestat(os.fstat(descriptor), os.lstat(self._path)):
                self._descriptor = descriptor
        finally:
            if self._descriptor != descriptor:
                os.close(descriptor)
        return self._descriptor >= 0


def locks(descriptor: int) -> bool:
    """Lock an open file for this process, and return whether that worked at once."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
