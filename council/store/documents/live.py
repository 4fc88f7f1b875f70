"""The live file: what it is, how a new text takes its place, and what was in it comes to light.

The new text is written beside and then exchanged with the live file in one
step, so readers see the old text or the new one. Neither is synced: the
journal holds the text, and what a power cut leaves differs from what a person
wrote. The file that gave way is removed as soon as the kernel says that no
process can write in it any more; until then it lies in `displaced/` under a
name that says what was read of it, and what is written there late is found by
the difference and not lost.

Source: XC-001, `store.md` sections 2 (steps 9 and 10) and 9.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from council.core.errors import NotFoundError
from council.core.record import Any
from council.store import files
from council.store.files import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.store.conversations.naming import DocumentPlaces
    from council.store.documents.journal import Past, Tail

    IsAhead = Callable[[Any, Tail, Past, bytes], bool]
    Rename = Callable[[int, bytes, int, bytes, int], int]

HEAD, BEHIND, BACK, MISSING = "head", "behind", "back", "missing"
DAMAGED, AHEAD, EDITED, UNKNOWN = "damaged", "ahead", "edited", "unknown"
_EOF = b"<!--council-eof-->"
_OLD, _NEW = "old", "new"
_KEEP_S = 900
_KEEP_CROWDED_S = 60
_CROWD = 256
_TICK_NS = 50_000_000


def standing(
    places: DocumentPlaces,
    tail: Tail | None,
    reading: Reading | None,
    past: Past,
    is_ahead: IsAhead,
) -> str:
    """Return what the live file is, without a lock and without changing anything.

    `head`: the last revision. `behind`: an earlier one, because the last was not
    published, or a power cut took that back. `back`: an earlier one that a person
    put there. `missing`. `damaged`: what a power cut leaves of a text. `ahead`: a
    later revision than the journal knows. `edited`: anything else; and `unknown`
    where there is no journal.

    Args:
        places: Its files.
        tail: The last line of the journal.
        reading: The live file.
        past: The journal, for texts before the last.
        is_ahead: Returns true of a whole text of ours, later than the journal.

    Raises:
        CouncilError: The system refuses.
    """
    if tail is None or reading is None:
        return UNKNOWN if tail is None else MISSING
    if reading.digest == tail.head["digest"]:
        return HEAD
    if past.knows(reading.digest):
        # After a save that was taken in, the line that should have followed may be torn.
        wanted = "" if reading.digest == tail.head.get("seen") else tail.head["digest"]
        unseen = (
            _is_prepared(places.displaced, wanted)
            or _is_untouched(places.live)
            or was_pulled(places, tail.head["digest"])
        )
        return BEHIND if unseen else BACK
    is_cut = not reading.data or b"\0" in reading.data
    if is_cut or (_EOF not in reading.data and _is_untouched(places.live)):
        return DAMAGED
    return AHEAD if is_ahead(places, tail, past, reading.data) else EDITED


def _is_prepared(displaced: str, digest: str) -> bool:
    """Return true if the text with this digest, or any for "", lies prepared: it was not shown."""
    for path in files.paths_in(displaced, f"{_NEW}-{digest}"):
        reading = files.read_stable(path)
        if reading is not None and reading.digest == os.path.basename(path).split("-")[1]:
            return True
    return False


def was_pulled(places: DocumentPlaces, digest: str) -> bool:
    """Return true if the head with this digest came from another machine and was not shown here.

    Source: EN-004.
    """
    return files.content_of(places.pulled) == digest.encode()


def _is_untouched(path: str) -> bool:
    """Return true if a file stands as it was when the machine was started."""
    try:
        return os.lstat(path).st_ctime_ns < started_ns()
    except FileNotFoundError:
        return False


def started_ns() -> int:
    """Return when the machine was started, in nanoseconds of the epoch, 0 where it cannot say."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return 0 if clock is None else time.time_ns() - time.clock_gettime_ns(clock)


class Preparing:
    """The next text, written beside the live file and not yet on the disk.

    Args:
        displaced: Where it waits.
        data: The text.
        like: The file whose place it will take.
        digest: The digest of the text.

    Raises:
        OSError: The system refuses; the live file is untouched.
    """

    def __init__(self, displaced: str, data: bytes, like: Reading | None, digest: str) -> None:
        self.path, descriptor = files.open_temporary(
            displaced, data, prefix=f"{_NEW}-{digest}-", like=like
        )
        with files.closing(descriptor):
            # A clock ticks some hundred times a second. Whoever writes in this file within the
            # same tick changes its time all the same, if that lies in the past.
            a_tick_ago = time.time_ns() - 2 * _TICK_NS
            # given to another owner, say; `_is_as_read` reads the file then
            with suppress(OSError):
                os.utime(descriptor, ns=(a_tick_ago, a_tick_ago))
            self.facts = os.fstat(descriptor)

    def give_up(self) -> None:
        """Take it back."""
        files.remove(self.path)


def publish(prepared: str, live: str, displaced: str, seen: Reading | None) -> None:
    """Put a prepared text in the place of the live file.

    Args:
        prepared: Where it was prepared.
        live: The live file.
        displaced: Where the file that is there now goes, if it has to be kept.
        seen: What was read of the live file, None when there was none.

    Raises:
        OSError: The system refuses.
    """
    for _ in range(3):
        if seen is None and files.link(prepared, live):
            files.remove(prepared)
            files.sync_folder(os.path.dirname(live))
            break
        try:
            replaced = _swap(prepared, live, displaced)
        except FileNotFoundError:
            seen = None  # removed since we read it
            continue
        if seen is not None:
            _dispose(replaced, displaced, seen)
        break


def _swap(prepared: str, live: str, displaced: str) -> str:
    """Exchange the two files; return where the one that was live is now."""
    if exchange(prepared, live):
        return prepared
    kept = f"{displaced}/{_NEW}-0-{os.urandom(8).hex()}"
    os.link(live, kept, follow_symlinks=False)
    os.rename(prepared, live)
    return kept


def _dispose(replaced: str, displaced: str, seen: Reading) -> None:
    """Remove a file that gave way; keep it while another process may write in it."""
    is_final = not _may_be_written(replaced)
    if not _is_as_read(replaced, seen):
        return  # what was saved in it meanwhile is taken in by the next who comes
    if is_final:
        files.remove(replaced)
    else:
        os.rename(replaced, _fingerprint(displaced, seen))


def _may_be_written(path: str) -> bool:
    """Return true unless the kernel says that no process has a file open for writing.

    It gives a lease on a file that is read only while it has no writer. A file
    that has no name any more but ours can get none after that.
    """
    import fcntl

    lease = getattr(fcntl, "F_SETLEASE", None)
    if lease is None:
        return True
    with files.closing(os.open(path, files.READ)) as descriptor:
        try:
            fcntl.fcntl(descriptor, lease, fcntl.F_RDLCK)
        except OSError:
            return True  # it has a writer, or is somebody else's, or lies where there are no leases
    return False


def _is_as_read(path: str, seen: Reading) -> bool:
    """Return true if a file is as it was read; one read within a tick of its time is read again."""
    facts = os.lstat(path)
    if (facts.st_size, facts.st_mtime_ns) != (seen.facts.st_size, seen.facts.st_mtime_ns):
        return False
    if time.time_ns() - seen.facts.st_mtime_ns > _TICK_NS:
        return True
    now = files.read_stable(path)
    return now is None or now.data == seen.data


def _fingerprint(displaced: str, seen: Reading) -> str:
    # A time without a sign, which would part the name: a file may be dated before 1970.
    of_text = f"{seen.facts.st_mtime_ns % 2**64}-{len(seen.data)}-{seen.digest}"
    return f"{displaced}/{_OLD}-{of_text}-{os.urandom(4).hex()}"


def late_writes(displaced: str, past: Past) -> list[tuple[str, Reading]]:
    """Return what others wrote into displaced files, and clear away what is of no use any more.

    Args:
        displaced: The folder of displaced files.
        past: The journal: which texts were committed or taken in.

    Raises:
        OSError: The system refuses.
    """
    names = sorted(os.listdir(displaced))
    keep_s = _KEEP_CROWDED_S if len(names) > _CROWD else _KEEP_S
    found = []
    for name in names:
        path, parts = f"{displaced}/{name}", name.split("-")
        facts = os.lstat(path)
        if not stat.S_ISREG(facts.st_mode):
            continue
        if _is_old(parts) and _is_unchanged(facts, parts):
            if time.time() - facts.st_ctime > keep_s or not _may_be_written(path):
                files.remove(path)
            continue
        if not _is_old(parts) and not _is_new(parts):
            continue
        reading = files.read_stable(path)
        if reading is None:
            continue
        if reading.digest == parts[1]:
            files.remove(path)  # its writer died before the exchange
        elif not reading.data or past.knows(reading.digest) or _is_ours(reading.data, parts, past):
            settle(path, reading)
        else:
            found.append((path, reading))
    return found


def has_late_writes(displaced: str) -> bool:
    """Return true if a displaced file may hold what is not taken in yet; nothing is changed.

    That is one that is not as it was read, and one that still bears the name of the text that
    took its place: its process found in it what it had not read. No file is read for it, so
    what `late_writes` will find may be nothing.
    """
    try:
        names = os.listdir(displaced)
    except OSError:
        return False
    return any(_is_touched(f"{displaced}/{name}", name.split("-")) for name in names)


def _is_touched(path: str, parts: list[str]) -> bool:
    if _is_new(parts):
        return True
    if not _is_old(parts):
        return False
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and not _is_unchanged(facts, parts)


def _is_old(parts: list[str]) -> bool:
    return parts[0] == _OLD and len(parts) == 5


def _is_new(parts: list[str]) -> bool:
    return parts[0] == _NEW and len(parts) == 3


def _is_unchanged(facts: os.stat_result, parts: list[str]) -> bool:
    return parts[1:3] == [str(facts.st_mtime_ns % 2**64), str(facts.st_size)]


def _is_ours(data: bytes, parts: list[str], past: Past) -> bool:
    """Return true if `data` is what a process that died left of the text it prepared.

    A text that never was committed was never exchanged, so no other process has
    seen the file. Of one that was, a power cut may leave a part, filled with zeros.
    """
    digest = parts[1]
    if _is_old(parts) or digest == "0":
        return False
    try:
        return past.text(digest).startswith(data.rstrip(b"\0"))
    except NotFoundError:
        return not past.knows(digest)


def was_never_published(path: str, digest: str) -> bool:
    """Return true if a displaced file with this digest is a text of ours that stayed unseen."""
    return os.path.basename(path).startswith(f"{_NEW}-{digest}-")


def settle(path: str, late: Reading, displaced: str = "") -> None:
    """Say that this text of a displaced file is dealt with; only a further one is news.

    Args:
        path: The file.
        late: The text.
        displaced: The folder in which it lies from now on, "" to leave it where it is.

    Raises:
        OSError: The system refuses.
    """
    is_final = not _may_be_written(path)
    if is_final and os.lstat(path).st_mtime_ns == late.facts.st_mtime_ns:
        files.remove(path)
    else:
        os.rename(path, _fingerprint(displaced or os.path.dirname(path), late))


# --- Two files swapped in one step: a call of the Linux kernel that Python has no name for.
#
# It is called through `_ctypes`, the machine inside `ctypes`: the package around it costs a
# command that answers more than the rest of its write. Where an interpreter keeps that machine
# otherwise, `ctypes` itself is taken.


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NAME = "renameat2"
_NO_EXCHANGE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})

_found: list[tuple[Rename | None, Callable[[], int]]] = []


def ready_to_exchange() -> None:
    """Load what `exchange` needs; before a lock is taken, so that no process waits for it."""
    if sys.platform.startswith("linux"):
        _call()


def exchange(one: str, other: str) -> bool:
    """Swap two files atomically; False where kernel or file system cannot.

    Raises:
        OSError: One of them is missing, or the system refuses.
    """
    if not sys.platform.startswith("linux"):
        return False
    code = swap(one, other)
    if code == 0:
        return True
    if code is None or code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), other)


def swap(one: str, other: str) -> int | None:
    """Swap two files; return 0 or the number of the error, None where there is no such call."""
    rename, error = _call()
    if rename is None:
        return None
    first, second = os.fsencode(one), os.fsencode(other)
    return error() if rename(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE) else 0


def _call() -> tuple[Rename | None, Callable[[], int]]:
    """Find the call, once."""
    if not _found:
        try:
            _found.append(by_machine())
        except (ImportError, AttributeError, TypeError):
            _found.append(by_package())
    return _found[0]


def by_machine() -> tuple[Rename | None, Callable[[], int]]:
    """Return `renameat2`, None where the C library has none, and what gives the last error.

    Raises:
        ImportError, AttributeError, TypeError: The machine is not the one we know.
    """
    import _ctypes

    machine: Any = _ctypes
    number, path, flags = (
        type(f"_{code}", (machine._SimpleCData,), {"_type_": code}) for code in ("i", "z", "I")
    )
    call = {
        "_flags_": machine.FUNCFLAG_CDECL | machine.FUNCFLAG_USE_ERRNO,
        "_restype_": number,
        "_argtypes_": (number, path, number, path, flags),
    }
    function = type("_Function", (machine.CFuncPtr,), call)
    try:
        place = machine.dlsym(machine.dlopen(None, 0), _NAME)
    except OSError:
        return None, machine.get_errno
    return function(place), machine.get_errno


def by_package() -> tuple[Rename | None, Callable[[], int]]:
    """Do what `by_machine` does, by what Python documents."""
    import ctypes

    try:
        rename = getattr(ctypes.CDLL(None, use_errno=True), _NAME)
    except AttributeError:
        return None, ctypes.get_errno
    rename.argtypes = [
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    ]
    return rename, ctypes.get_errno
