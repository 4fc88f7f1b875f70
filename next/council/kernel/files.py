"""Files: read without waiting, written whole, and exchanged without losing what others save.

A page is published by exchanging it with the live file in one step (Linux `renameat2`, macOS
`renamex_np`). What was live is then put aside under a name that says what had been read of it:
whoever comes next compares, and takes in what a program wrote in between or writes later
through the file that it holds open. Where no such call exists, a hard link and a rename do it.
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

    Exchange = Callable[[bytes, bytes], int]

MOST = 64 * 1024 * 1024
YOUNG_NS = 50_000_000  # a write in the same tick of a file's clock may not change its time
_TRIES, _PAUSE_S = 15, 0.005
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FULL = (errno.ENOSPC, errno.EDQUOT)
_DENIED = (errno.EACCES, errno.EPERM)
_NO_FILE = (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENODEV, errno.ENOTDIR)
_NO_CALL = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
_NO_LINK = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)


class Seen:
    """A file as it was read: its bytes, their digest, and what `lstat` said of it."""

    def __init__(self, data: bytes, facts: os.stat_result) -> None:
        self.data, self.facts, self._digest = data, facts, ""
        self.young = abs(time.time_ns() - facts.st_mtime_ns) < YOUNG_NS

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes."""
        self._digest = self._digest or digest(self.data)
        return self._digest

    def name(self, rev: int) -> str:
        """Return the name under which this file is put aside: what it is compared with later."""
        facts = self.facts
        letter = "y" if self.young else "q"
        inode_size = f"{facts.st_ino}-{facts.st_size}-{facts.st_mtime_ns % 2**64}"
        return f"old-{rev}-{letter}-{self.digest[:12]}-{inode_size}"


class reported:  # noqa: N801 - reads as a statement: with reported("write", path)
    """Turn an error of the system inside the block into a refusal that names path and cure."""

    def __init__(self, doing: str, path: str) -> None:
        self._doing, self._path = doing, path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            raise refusal(error, self._doing, self._path) from error


def refusal(error: OSError, doing: str, path: str) -> Refusal:
    """Return the refusal that explains an error of the system."""
    where = error.filename if isinstance(error.filename, str) else path
    message = f"cannot {doing} {where}: {os.strerror(error.errno or 0)}"
    if error.errno in _FULL:
        return Unexpected("disk-full", message, "free some space, then run the command again")
    if error.errno == errno.EROFS:
        return Unexpected("read-only", message, "make the file system writable, or copy the folder")
    if error.errno in _DENIED:
        return Unexpected("no-permission", message, _whose(where))
    if error.errno in _NO_FILE:
        return Invalid("not-a-file", message, "put a regular file or folder in its place")
    return Unexpected("disk-failed", message, "check the disk, then run the command again")


def _whose(path: str) -> str:
    for place in (path, os.path.dirname(path)):
        try:
            owner = os.lstat(place).st_uid
        except OSError:
            continue
        if owner != os.geteuid():
            return f"{place} belongs to user {owner}: run as that user, or `chown` the workspace"
    return "check owner and permissions of that path"


def names(folder: str) -> list[str]:
    """Return the names in a folder; none where there is no such folder."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def read(path: str, most: int = MOST) -> Seen | None:
    """Return a regular file; None where there is none. Links, pipes and folders are refused.

    Raises:
        Invalid: It is not a regular file (`not-a-file`), or larger than 64 MB (`too-large`).
        OSError: The system refuses.
    """
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            hint = "put the regular file back, or remove it"
            raise Invalid("not-a-file", f"{path} is not a regular file", hint)
        if facts.st_size > most:
            raise Invalid("too-large", f"{path} is larger than {most >> 20} MB", "make it smaller")
        data = os.read(descriptor, facts.st_size + 1)
        while len(data) != facts.st_size or not data:
            more = os.read(descriptor, 65536)
            if not more:
                break
            data += more
        return Seen(data, facts)
    finally:
        os.close(descriptor)


def read_whole(path: str, is_whole: Callable[[bytes], bool]) -> Seen | None:
    """Return a file; where it looks half-written and was just changed, wait up to 75 ms."""
    seen = read(path)
    for _ in range(_TRIES):
        if seen is None or not seen.young or is_whole(seen.data):
            break
        time.sleep(_PAUSE_S)
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
    """Sync a folder and those above it, up to the one that holds `.council`."""
    inside = "/.council/" in folder + "/"
    sync_folder(folder)
    while inside and folder:
        inside = not folder.endswith("/.council")
        folder = os.path.dirname(folder)
        sync_folder(folder)


def make_folder(path: str) -> None:
    """Make a folder and those above it; one that is there is left alone."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
        make_folder(path)


def fill(path: str, data: bytes, mode: int, *, durable: bool, like: Seen | None = None) -> None:
    """Write a new file in the place of whatever has this name; permissions are those of `like`."""
    remove(path)
    descriptor = os.open(path, _MAKE, mode)
    try:
        if like is not None:
            made, facts = os.fstat(descriptor), like.facts
            if (made.st_uid, made.st_gid) != (facts.st_uid, facts.st_gid) and os.geteuid() == 0:
                os.fchown(descriptor, facts.st_uid, facts.st_gid)
            if stat.S_IMODE(made.st_mode) != stat.S_IMODE(facts.st_mode):
                os.fchmod(descriptor, stat.S_IMODE(facts.st_mode))
        write_all(descriptor, data)
        if durable:
            sync(descriptor)
    finally:
        os.close(descriptor)


def write(path: str, data: bytes, mode: int = 0o600) -> None:
    """Write a file durably under its name: the old file or the new one, never a part."""
    new = f"{path}.new"
    fill(new, data, mode, durable=True)
    os.rename(new, path)
    sync_folder(os.path.dirname(path))


def remove(path: str) -> None:
    """Remove a file if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def publish(path: str, data: bytes, folder: str, seen: Seen | None, rev: int, durable: bool) -> bool:
    """Put `data` in the place of the live file; return False to look at it again.

    Args:
        path: The live file.
        data: Its new content.
        folder: Where the old file is put aside; on the same file system.
        seen: The live file as it was read, None where there was none.
        rev: The revision that had been published.
        durable: Whether the new content is to survive a power cut.
    """
    new = f"{folder}/page.new"
    fill(new, data, 0o644, durable=durable, like=seen)
    if seen is None:
        done = _link(new, path)
        if done:
            remove(new)
    else:
        aside = f"{folder}/{seen.name(rev)}"
        done = _replace(new, path, aside) and discard(aside) is not False
    if durable and done:
        sync_folder(os.path.dirname(path))
    return done


def _link(new: str, path: str) -> bool:
    """Give a file its name; return False, without it, where the name is taken."""
    try:
        os.link(new, path, follow_symlinks=False)
    except FileExistsError:
        remove(new)
        return False
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        os.rename(new, path)
        return True
    remove(new)
    return True


def _replace(new: str, path: str, aside: str) -> bool:
    """Exchange two files, the live one first, so that watchers see both moves of its name."""
    os.rename(new, aside)
    code = _exchange(path, aside)
    if code in _NO_CALL:
        os.rename(aside, new)
        try:
            os.link(path, aside, follow_symlinks=False)
            os.rename(new, path)
            return True
        except OSError as error:
            if error.errno in _NO_LINK:
                os.rename(new, path)
                return True
            code = error.errno or errno.EIO
    if code == errno.ENOENT:  # an editor has just removed it
        remove(aside)
        remove(new)
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


def discard(path: str, *, later: bool = False) -> bool | None:
    """Remove a page that was put aside, if it is as its name says and no program has it open.

    Args:
        path: The page.
        later: Whether a command has passed since; it is then removed where the system cannot say
            who has it open.

    Returns:
        True: it is gone. False: it was written to. None: it has to stay for now.
    """
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return True
    try:
        alone = _is_alone(descriptor)  # until the file is closed nobody can open it
        if not _fits(path, descriptor):
            return False
        if alone or (alone is None and later):
            remove(path)
            return True
        return None
    finally:
        os.close(descriptor)


def _is_alone(descriptor: int) -> bool | None:
    """Return whether no other program has a file open, by a write lease; None: cannot say."""
    import fcntl  # late: only writers need it

    if not hasattr(fcntl, "F_SETLEASE"):
        return None
    try:
        import _signal  # type: ignore[import-not-found]  # late: `signal` is slow to import

        fcntl.fcntl(descriptor, fcntl.F_SETSIG, _signal.SIGURG)  # ignored unless someone asks
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    return True


_calls: dict[str, Exchange] = {}


def _exchange(path: str, aside: str) -> int:
    """Exchange two files in one step; return 0 or the number of the error."""
    call = _calls.get("") or _calls.setdefault("", _found_call())
    return call(os.fsencode(path), os.fsencode(aside))


def _found_call() -> Exchange:
    """Return the system's exchange; `_ctypes` alone is loaded five times as fast as `ctypes`."""
    name = "renamex_np" if sys.platform == "darwin" else "renameat2"
    code: Any
    try:
        try:
            import _ctypes  # late: only writers need it

            machine: Any = _ctypes
            number, path = (type(k, (machine._SimpleCData,), {"_type_": k}) for k in "iz")
            shape = {"_flags_": machine.FUNCFLAG_CDECL | machine.FUNCFLAG_USE_ERRNO}
            types = (path, path, number) if name[6] == "x" else (number, path, number, path, number)
            shape |= {"_restype_": number, "_argtypes_": types}
            call = type("Call", (machine.CFuncPtr,), shape)(
                machine.dlsym(machine.dlopen(None, 0), name)
            )
            code = machine.get_errno
        except (ImportError, AttributeError, TypeError):
            import ctypes  # late: see above

            call, code = getattr(ctypes.CDLL(None, use_errno=True), name), ctypes.get_errno
    except (OSError, AttributeError):
        return lambda path, aside: errno.ENOSYS
    if name[6] == "x":
        return lambda path, aside: code() if call(path, aside, 2) else 0
    return lambda path, aside: code() if call(-100, path, -100, aside, 2) else 0
