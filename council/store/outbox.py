"""What was asked of a workspace while its caller does not know yet how it ended.

Before a command changes anything it draws an id and notes it here; the change
bears that id, and the note goes once the caller was answered. A command that finds
the note of the same request, of a process that has ended, takes its id over, so
that what that process had done is found and not done again.

A note is an empty file in a folder of the user's own: its name says everything, what
is asked for and the id, and who works holds its lock. It is not synced: on ext4 and
XFS the sync of the journal line that bears the id carries the earlier name with it.

Source: OP-008.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager, suppress

from council.core.ids import sha256_hex
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KEPT_S = 24 * 60 * 60
_KEY_DIGITS = 32
_TIME_DIGITS = 8
_DRAWN_BYTES = 12
# What keeps the note away keeps the change away as well, and that says so in its own words.
_UNWRITABLE = (errno.EACCES, errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS)

_words: list[str] = []
_resumed: list[str] = []
_noted: list[tuple[str, int]] = []


class Operation(Record):
    """One request to change something, which counts once.

    `id` is "" where the answer is not acknowledged. `is_repeat` says that an earlier
    process, which has ended, noted the same request and may have done it.
    """

    id: str = ""
    is_repeat: bool = False

    @property
    def begun_s(self) -> int:
        """Return when the id was drawn, in seconds since 1970."""
        return int(self.id[:_TIME_DIGITS], 16)


def asked(words: list[str]) -> None:
    """Begin a command that answers its caller, `told`; without it nothing is noted."""
    _words[:] = [one for one in words if one != "--json"]


def told() -> None:
    """Take the notes of this command out: its caller knows how it ended."""
    from council.store import lock

    for path, descriptor in _noted:
        lock.release(path, descriptor)
    _noted.clear()


def _forget() -> None:
    """Leave notes and caller to the parent, in a process that was forked."""
    _words.clear()
    _noted.clear()


os.register_at_fork(after_in_child=_forget)


def operation(folder: str, *facts: str) -> Operation:
    """Note that something is asked for; return its id.

    Args:
        folder: Where notes lie.
        facts: What is meant beyond the words of the command: who asks, of what, with which text.

    Raises:
        CouncilError: The disk refuses. A folder that cannot be written notes nothing.
    """
    if _resumed:
        return Operation(id=_resumed[-1], is_repeat=True)
    if not _words:
        return Operation()
    from council.store.files import explaining

    # A short text can be guessed from its digest, so others may not read it.
    own = f"{folder}/{os.getuid()}"
    key = sha256_hex(repr([facts, _words]).encode())[:_KEY_DIGITS]
    with explaining("write", own):
        try:
            return _operation(own, key)
        except OSError as error:
            if error.errno in _UNWRITABLE:
                return Operation()
            raise


def _operation(folder: str, key: str) -> Operation:
    from council.store import lock

    now = int(time.time())
    for name in make_folder(folder):
        noted, _, op_id = name.partition(".")
        path = f"{folder}/{name}"
        if is_old(name, now):
            with suppress(FileNotFoundError):
                os.unlink(path)
        elif noted == key:
            descriptor = lock.claim(path)
            if descriptor is not None:
                _noted.append((path, descriptor))
                return Operation(id=op_id, is_repeat=True)
    while True:
        op_id = _drawn(now)
        path = f"{folder}/{key}.{op_id}"
        descriptor = lock.claim(path, new=True)
        if descriptor is not None:
            _noted.append((path, descriptor))
            return Operation(id=op_id)


@contextmanager
def resumed(op_id: str) -> Iterator[None]:
    """Let what is asked for inside the block be what had this id when it was asked before."""
    _resumed.append(op_id)
    try:
        yield
    finally:
        _resumed.pop()


def is_resumed() -> bool:
    """Return true if what is asked for now was asked before, and has an id."""
    return bool(_resumed)


def own_id() -> str:
    """Return the id that this command has drawn, or a new one."""
    return _noted[-1][0].rpartition(".")[2] if _noted else _drawn(int(time.time()))


def _drawn(now: int) -> str:
    return f"{now:0{_TIME_DIGITS}x}{os.urandom(_DRAWN_BYTES).hex()}"


def is_old(name: str, now_s: int) -> bool:
    """Return true if the name of a note says that no process may take its id over any more."""
    begun = name.partition(".")[2][:_TIME_DIGITS]
    return begun < f"{max(now_s - KEPT_S, 0):0{_TIME_DIGITS}x}"


def make_folder(folder: str) -> list[str]:
    """Make a folder of the user's own among the notes if need be; return what lies in it.

    Raises:
        OSError: The system refuses.
    """
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        from council.store.files import make_one_folder

        above = os.path.dirname(folder)
        for one in (os.path.dirname(above), above):
            with suppress(FileExistsError):
                make_one_folder(one, 0o777)
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)  # of a shared workspace, too: it is for one user alone
        return []
