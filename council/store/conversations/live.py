"""The live file: how a new text takes its place, and what was in it comes to light.

The new text is written beside and then exchanged with the live file in one
step, so readers see the old text or the new one. The file that was there
stays for a while in `displaced/` under a name that tells what we had read of
it: whoever still writes to it through an open descriptor, or saved in the
very moment of the exchange, is found by the difference and not lost.

Source: XC-001, `store.md` section 2 steps 9 and 10.
"""

from __future__ import annotations

import os
import stat
import time

from council.core.errors import InvalidStateError
from council.core.record import Record
from council.store import files
from council.store.conversations import snapshots
from council.store.files import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_OLD, _NEW = "old", "new"
_KEEP_S = 900
_KEEP_CROWDED_S = 60
_CROWD = 256
_TICK_NS = 50_000_000


class Late(Record):
    """A text that somebody wrote into a file after it was displaced."""

    path: str
    data: bytes
    modified_ns: int


def prepare(displaced: str, data: bytes, like: Reading | None, digest: str = "") -> Preparing:
    """Write the next text durably beside the live file.

    Args:
        displaced: Where it waits.
        data: The text.
        like: The file whose place it will take.
        digest: The digest of the text, where the caller knows it.

    Raises:
        OSError: The system refuses; the live file is untouched.
    """
    preparing = Preparing(displaced, data, like, digest or snapshots.digest_of(data))
    try:
        preparing.finish()
    except BaseException:
        preparing.give_up()
        raise
    return preparing


class Preparing:
    """The next text on its way to the disk beside the live file; there when `finish` returns.

    What is done meanwhile costs no time of its own.

    Args:
        displaced: Where it waits.
        data: The text.
        like: The file whose place it will take.
        digest: The digest of the text.

    Raises:
        OSError: The system refuses; the live file is untouched.
    """

    path: str
    facts: os.stat_result

    def __init__(self, displaced: str, data: bytes, like: Reading | None, digest: str) -> None:
        self.path, self._descriptor = files.open_temporary(
            displaced, data, prefix=f"{_NEW}-{digest}-", like=like
        )
        # A clock ticks some hundred times a second. Whoever writes in this file within the same
        # tick changes its time all the same, if that lies in the past.
        a_tick_ago = time.time_ns() - 2 * _TICK_NS
        try:  # noqa: SIM105 - contextlib is slow to import
            os.utime(self._descriptor, ns=(a_tick_ago, a_tick_ago))
        except OSError:
            pass  # given to another owner, say; `_changed_within_a_tick` reads the file then
        files.set_out(self._descriptor)

    def finish(self) -> None:
        """Wait until it is on the disk.

        Raises:
            OSError: The system refuses.
        """
        descriptor, self._descriptor = self._descriptor, -1
        try:
            files.sync(descriptor)
            self.facts = os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def give_up(self) -> None:
        """Take it back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        files.remove(self.path)


def is_prepared(displaced: str, data: bytes) -> bool:
    """Tell whether a text still lies prepared, so that it never was published."""
    prefix = f"{_NEW}-{snapshots.digest_of(data)}-"
    for name in os.listdir(displaced):
        if name.startswith(prefix):
            reading = files.read_stable(f"{displaced}/{name}")
            if reading is not None and reading.data == data:
                return True
    return False


def publish(prepared: str, live: str, displaced: str, seen: Reading | None) -> None:
    """Put a prepared text in the place of the live file.

    A file that is new there is durable under its name. An exchange need not
    be: if a power cut takes it back, the old text is there, the journal says
    what comes after it, and whoever works next publishes it again.

    Args:
        prepared: What `prepare` returned.
        live: The live file.
        displaced: Where the file that is there now goes.
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
        if seen is not None and not _changed_within_a_tick(replaced, seen):
            os.rename(
                replaced, _fingerprint(displaced, seen.digest, len(seen.data), seen.modified_ns)
            )
        break


def _swap(prepared: str, live: str, displaced: str) -> str:
    """Exchange the two files; return where the one that was live is now."""
    if files.exchange(prepared, live):
        return prepared
    kept = f"{displaced}/{_NEW}-0-{os.urandom(8).hex()}"
    os.link(live, kept, follow_symlinks=False)
    os.rename(prepared, live)
    return kept


def _changed_within_a_tick(path: str, seen: Reading) -> bool:
    """Tell whether a file was rewritten so soon after it was read that its time did not move."""
    if time.time_ns() - seen.modified_ns > _TICK_NS:
        return False
    now = files.read_stable(path)
    return now is not None and now.data != seen.data


def _fingerprint(displaced: str, digest: str, size: int, modified_ns: int) -> str:
    named = f"{_OLD}-{_stamp(modified_ns)}-{size}-{digest}-{os.urandom(4).hex()}"
    return f"{displaced}/{named}"


def _stamp(modified_ns: int) -> str:
    """Return a time without a sign, which would part the name: a file may be dated before 1970."""
    return str(modified_ns % 2**64)


def late_writes(displaced: str, history: str, is_known: Callable[[str], bool]) -> list[Late]:
    """Return what was written too late, and clear away what is of no use any more.

    Args:
        displaced: The folder of displaced files.
        history: The folder of snapshots.
        is_known: Tells of a digest whether the text under it was committed or taken in.

    Raises:
        OSError: The system refuses.
    """
    names = sorted(os.listdir(displaced))
    keep_s = _KEEP_CROWDED_S if len(names) > _CROWD else _KEEP_S
    found = []
    for name in names:
        path = f"{displaced}/{name}"
        facts = os.lstat(path)
        if not stat.S_ISREG(facts.st_mode):
            continue
        parts = name.split("-")
        if parts[0] == _OLD and len(parts) == 5:
            if _is_as_read(facts, parts):
                if time.time() - facts.st_ctime > keep_s:
                    files.remove(path)
                continue
            known = parts[3]
        elif parts[0] == _NEW and len(parts) == 3:
            known = ""
        else:
            continue
        late = _late(path, known, parts[1], history, is_known)
        if late is None:
            continue
        digest = snapshots.digest_of(late.data)
        if digest == known or is_known(digest):
            settle(late)
        else:
            found.append(late)
    return found


def has_late_writes(displaced: str) -> bool:
    """Tell whether a displaced file is not as it was read; nothing is changed.

    It costs a look at each file, and reads none: what `late_writes` will find may be nothing.
    """
    try:
        names = os.listdir(displaced)
    except OSError:
        return False
    return any(_is_touched(f"{displaced}/{name}", name) for name in names)


def _is_touched(path: str, name: str) -> bool:
    parts = name.split("-")
    if parts[0] != _OLD or len(parts) != 5:
        return False
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and not _is_as_read(facts, parts)


def _is_as_read(facts: os.stat_result, parts: list[str]) -> bool:
    return parts[1:3] == [_stamp(facts.st_mtime_ns), str(facts.st_size)]


def was_never_published(path: str, digest: str) -> bool:
    """Tell whether a displaced file with this digest is a text of ours that nobody ever saw."""
    return os.path.basename(path).startswith(f"{_NEW}-{digest}-")


def _late(
    path: str, known: str, named: str, history: str, is_known: Callable[[str], bool]
) -> Late | None:
    """Return what a displaced file holds, None when it is a text of ours that never was live."""
    reading = files.read_stable(path)
    if reading is None:
        return None
    late = Late(path=path, data=reading.data, modified_ns=reading.modified_ns)
    if not known and snapshots.digest_of(reading.data) == named:
        files.remove(path)  # its writer died before the exchange
        return None
    if not reading.data or (not known and _is_ours(reading.data, named, history, is_known)):
        settle(late)
        return None
    return late


def _is_ours(data: bytes, digest: str, history: str, is_known: Callable[[str], bool]) -> bool:
    """Tell whether `data` is what a dying writer managed to write of the text named `digest`.

    Of a text that never was committed the snapshot may be torn, too; but then
    nobody can have seen it, and so nobody else has written here.
    """
    if not snapshots.has(history, digest):
        return not is_known(digest)
    try:
        return snapshots.get(history, digest).startswith(data)
    except InvalidStateError:
        if is_known(digest):
            raise
        return True


def settle(late: Late, displaced: str = "") -> None:
    """Say that this text of a displaced file is dealt with; only a further one is news.

    Args:
        late: The text.
        displaced: The folder in which it lies from now on, "" to leave it where it is.

    Raises:
        OSError: The system refuses.
    """
    digest, size = snapshots.digest_of(late.data), len(late.data)
    folder = displaced or os.path.dirname(late.path)
    os.rename(late.path, _fingerprint(folder, digest, size, late.modified_ns))
