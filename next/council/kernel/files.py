"""Files: read without waiting, written whole, exchanged without losing what others save.

A page is published by exchanging it with the live file in one step (`renameat2` on Linux,
`renamex_np` on macOS). The file that was live is put aside under a name that says what had been
read of it. The next command compares, and takes in what a program saved in between, or wrote
later through a file that it holds open. Without such a call, a hard link and a rename do it.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time

from council.kernel.errors import Invalid, Refusal, Unexpected
from council.kernel.ids import digest
from council.kernel.record import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 64 * 1024 * 1024
_YOUNG_NS = 50_000_000  # a later write in the same tick of the file's clock keeps its time
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FILE = (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENODEV, errno.ENOTDIR)
_NO_CALL = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
_NO_LINK = (errno.EPERM, errno.EMLINK, *_NO_CALL)
_KNOWN = {
    errno.ENOSPC: ("disk-full", "free some space, then run the command again"),
    errno.EDQUOT: ("disk-full", "free some space, then run the command again"),
    errno.EROFS: ("read-only", "make the file system writable"),
    errno.EACCES: ("no-permission", "check owner and permissions"),
    errno.EPERM: ("no-permission", "check owner and permissions"),
}


class reported:  # noqa: N801 - reads as a statement: with reported("write", path)
    """Turn an OSError inside the block into a refusal that names the path and the cure."""

    def __init__(self, doing: str, path: str) -> None:
        self._doing, self._path = doing, path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> Refusal:
        path = error.filename if isinstance(error.filename, str) else self._path
        message = f"cannot {self._doing} {path}: {os.strerror(error.errno or 0)}"
        if error.errno in _NO_FILE:
            return Invalid("not-a-file", message, "put a regular file or folder in its place")
        usual = ("disk-failed", "check the disk, then run the command again")
        code, hint = _KNOWN.get(error.errno or 0, usual)
        if code == "no-permission":
            for place in filter(os.path.lexists, (path, os.path.dirname(path))):
                owner = os.lstat(place).st_uid
                if owner != os.geteuid():
                    hint = f"{place} belongs to user {owner}: run as that user, or chown it"
                    break
        return Unexpected(code, message, hint)


class Seen:
    """A file as it was read: its bytes and its `stat`."""

    def __init__(self, data: bytes, facts: os.stat_result) -> None:
        self.data, self.facts, self._digest = data, facts, ""
        self.young = abs(time.time_ns() - facts.st_mtime_ns) < _YOUNG_NS

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes."""
        self._digest = self._digest or digest(self.data)
        return self._digest

    def name(self, rev: int) -> str:
        """Return the name for putting this file aside: what it will be compared with."""
        at = f"{self.facts.st_ino}-{self.facts.st_size}-{self.facts.st_mtime_ns % 2**64}"
        return f"old-{rev}-{'y' if self.young else 'q'}-{self.digest[:12]}-{at}"


def names(folder: str) -> list[str]:
    """Return the names in a folder; none if there is no such folder."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def read(path: str, most: int = _MOST) -> Seen | None:
    """Return a regular file, None if there is none; links, pipes and folders are refused.

    Raises:
        Invalid: It is not a regular file (`not-a-file`), or has over `most` bytes (`too-large`).
    """
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise Invalid("not-a-file", f"{path} is not a regular file", "put the file back")
        if facts.st_size > most:
            raise Invalid("too-large", f"{path}: over {most >> 20} MB", "make it smaller")
        data = more = os.read(descriptor, facts.st_size + 1)
        while more and len(data) != facts.st_size:
            more = os.read(descriptor, 1 << 20)
            data += more
        return Seen(data, facts)
    finally:
        os.close(descriptor)


def read_whole(path: str, is_whole: Callable[[bytes], bool]) -> Seen | None:
    """Return a file; wait up to 75 ms if it was just changed and looks half-written."""
    seen = read(path)
    for _ in range(15):
        if seen is None or not seen.young or is_whole(seen.data):
            break
        time.sleep(0.005)
        seen = read(path)
    return seen


def write_all(descriptor: int, data: bytes, offset: int = 0) -> None:
    """Write all of `data` at an offset; the system may take it in pieces."""
    rest = memoryview(data)
    while rest:
        done = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[done:], offset + done


def sync(descriptor: int) -> None:
    """Bring a file's bytes and size to the disk."""
    if sys.platform == "darwin":
        import fcntl  # late: only this system needs it here

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


def write(new: str, path: str, data: bytes) -> None:
    """Write a private file durably, by way of `new`: the old bytes or the new ones, no part."""
    fill(new, data, 0o600, durable=True)
    os.rename(new, path)
    sync_folder(os.path.dirname(path))


def publish(path: str, data: bytes, seen: Seen | None, aside: str, durable: bool) -> bool:
    """Put `data` in the place of the live file; return False if it has to be looked at again.

    Args:
        path: The live file.
        data: Its new content.
        seen: The live file as it was read, None if there was none.
        aside: Where the old file is put; on the same file system.
        durable: Whether the new content has to survive a power cut.
    """
    new = f"{os.path.dirname(aside)}/page.new"
    fill(new, data, 0o644, durable, seen)
    if seen is None:
        done = _link(new, path)
        remove(new)
    else:
        done = _exchange(new, path, aside) and discard(aside) is not False
    if durable and done:
        sync_folder(os.path.dirname(path))
    return done


def _link(existing: str, path: str) -> bool:
    """Give a file a second name, or, where there are no links, another one; False if taken."""
    try:
        os.link(existing, path, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        os.rename(existing, path)
    return True


def _exchange(new: str, path: str, aside: str) -> bool:
    """Replace the live file, which goes to `aside`; return False if it is gone."""
    os.rename(new, aside)
    code = _call(os.fsencode(path), os.fsencode(aside))  # live first: watchers see its name move
    if code == errno.ENOENT:
        remove(aside)
    elif code in _NO_CALL:
        os.rename(aside, new)
        try:
            os.link(path, aside, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
        os.rename(new, path)
        return True
    elif code:
        raise OSError(code, os.strerror(code), path)
    return not code


def is_untouched(path: str) -> bool:
    """Return whether a page that was put aside is still as its name says."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return True
    except BlockingIOError:  # the command that has the lock is about to remove it
        return False
    try:
        return _fits(path, descriptor)
    finally:
        os.close(descriptor)


def _fits(path: str, descriptor: int) -> bool:
    _, _, letter, start, *facts = os.path.basename(path).split("-")
    now = os.fstat(descriptor)
    if facts != [str(now.st_ino), str(now.st_size), str(now.st_mtime_ns % 2**64)]:
        return False
    return letter == "q" or digest(os.pread(descriptor, now.st_size + 1, 0)).startswith(start)


def discard(path: str, later: bool = False) -> bool | None:
    """Remove a page that was put aside, if it is as its name says and no program has it open.

    A write lease tells whether a program has it open. `later` says that a command has passed
    since: the page is then removed also where there are no leases.

    Returns:
        True: it is gone. False: it was written to. None: it has to stay for now.
    """
    import fcntl  # late: only writers need it

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
        if not _fits(path, descriptor):
            return False
        if alone:
            remove(path)
        return alone or None
    finally:
        os.close(descriptor)


def _call(path: bytes, aside: bytes) -> int:
    """Exchange two files in one step; return 0 or the number of the error."""
    mac = sys.platform == "darwin"
    name = "renamex_np" if mac else "renameat2"
    machine: Any
    try:
        try:  # late: only writers need it; the package `ctypes` takes ten times as long
            import _ctypes as machine

            number = type("Number", (machine._SimpleCData,), {"_type_": "i"})
            shape = {"_flags_": machine.FUNCFLAG_CDECL | machine.FUNCFLAG_USE_ERRNO}
            made = type("Call", (machine.CFuncPtr,), {**shape, "_restype_": number})
            call = made(machine.dlsym(machine.dlopen(None, 0), name))
        except (ImportError, TypeError, AttributeError):
            import ctypes as machine  # late: see above

            call = getattr(machine.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError):
        return errno.ENOSYS
    failed = call(path, aside, 2) if mac else call(-100, path, -100, aside, 2)
    return int(machine.get_errno()) if failed else 0
