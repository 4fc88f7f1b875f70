"""The one module that locks.

A lock is a kernel lock (`flock`) on a file that stays: it ends with its
process whatever happens to it, waiting is done by the kernel in order of
arrival, and a program that holds the same file through `filelock.FileLock`
is excluded and excludes us. The file names its holder for people to read;
nothing is decided by that text.

A child made by `fork` gives up its copies at once and one made by `exec`
never has them, so a lock cannot outlive the process that took it.

Source: XC-002, C0-077, `store.md` section 2 step 2.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from council.core.errors import InvalidStateError, LockTimeoutError
from council.core.record import Any
from council.store.files import explaining, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from council.store.engine.joined import Engine

DEFAULT_TIMEOUT_S = 30.0
SHARED_TIMEOUT_S = 7.0  # where other machines wait as well
NOTICE_AFTER_S = 1.0
_POLL_S = 0.01
_HOLDER_BYTES = 160

_held: set[int] = set()

# The engines that workspaces have joined, by their folder of control: what is locked here is
# locked for the other machines as well.
engines: dict[str, Engine] = {}


def _let_go_in_child() -> None:
    for descriptor in list(_held):
        os.close(descriptor)
    _held.clear()
    for engine in engines.values():
        engine.abandon()


os.register_at_fork(after_in_child=_let_go_in_child)


def engine_of(path: str) -> Engine | None:
    """Return the engine that shares a file, None where no other machine has it."""
    for engine in tuple(engines.values()):
        if engine.stream_of(path):
            return engine
    return None


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


class _TimeIsUpError(Exception):
    """The alarm rang while the kernel still kept us waiting."""


class Lock:
    """An exclusive lock on a file, held inside a `with` block.

    Args:
        path: The lock file; it is made if need be and never removed.
        timeout_s: How long to wait at most.
        say: Takes the one line for people who wait longer than a second.

    Attributes:
        was_left: Whether its last holder died with it, or was cut off by a power cut.

    Raises:
        LockTimeoutError: It was held for all that time; the error names the holder.
        CouncilError: The system refuses the file.
    """

    def __init__(
        self,
        path: str,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        say: Callable[[str], None] = _say,
    ) -> None:
        self.path = path
        self._timeout_s = timeout_s
        self._say = say
        self._descriptor = -1
        self.was_left = False
        self._engine = engine_of(path)

    @property
    def is_held(self) -> bool:
        """Whether this process holds it."""
        return self._descriptor >= 0

    def __enter__(self) -> Lock:
        started = time.monotonic()
        until = started + self._timeout_s
        if self._engine is not None:
            until = min(until, self._engine.waits_until())
        with explaining("lock", self.path):
            self._acquired(started, until)
        if self._engine is not None:
            try:
                self._engine.enter(self.path, until)
            except BaseException:
                self._let_go()
                raise
        return self

    def _acquired(self, started: float, until: float) -> Lock:
        while True:
            descriptor, ours = self._open()
            _held.add(descriptor)
            try:
                if not _take(descriptor):
                    self._wait(descriptor, started, until)
                named = self._named()
                if named is not None and os.path.samestat(named, ours):
                    self.was_left = named.st_size > 0
                    self._write_holder(descriptor, named.st_size)
                    self._descriptor = descriptor
                    return self
            except BaseException:
                _close(descriptor)
                raise
            # Another process removed or replaced the file while we waited for it.
            _close(descriptor)

    def __exit__(self, *_: object) -> None:
        if self._engine is not None and self._descriptor in _held:
            self._engine.leave(self.path)
        self._let_go()

    def _let_go(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor not in _held:
            return  # this is a forked child: the lock is its parent's
        with suppress(OSError):  # the name of the holder is only for people
            os.ftruncate(descriptor, 0)
        _close(descriptor)

    def _open(self) -> tuple[int, os.stat_result]:
        descriptor = _open(self.path)
        ours = os.fstat(descriptor)
        if not stat.S_ISREG(ours.st_mode):
            os.close(descriptor)
            raise InvalidStateError(f"{self.path} is not a regular file", "remove it")
        return descriptor, ours

    def _named(self) -> os.stat_result | None:
        """Return the facts of the file that has the name of the lock now."""
        try:
            return os.lstat(self.path)
        except FileNotFoundError:
            return None

    def _write_holder(self, descriptor: int, size: int) -> None:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text = f"pid {os.getpid()} on {os.uname().nodename} since {at}\n".encode()
        try:
            if size > len(text):
                os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, text, 0)
        except OSError:
            pass  # a full disk must not keep anybody from reading under the lock

    def _wait(self, descriptor: int, started: float, deadline: float) -> None:
        # `signal` itself loads `enum`, while others wait for the processor.
        import _signal  # type: ignore[import-not-found]

        signal: Any = _signal
        notice_at = started + NOTICE_AFTER_S
        waiting = True

        def on_alarm(_number: int, _frame: FrameType | None) -> None:
            nonlocal notice_at
            now = time.monotonic()
            if waiting and now >= deadline:
                raise _TimeIsUpError
            if waiting and now >= notice_at:
                notice_at = deadline + 1
                self._tell()
            # Rings again even if it came just before the kernel began to wait.
            signal.setitimer(signal.ITIMER_REAL, max(0.01, min(deadline - now, 1.0)), 1.0)

        try:
            before = signal.signal(signal.SIGALRM, on_alarm)
        except ValueError:  # only the main thread may have alarms
            self._poll(descriptor, started, deadline, notice_at)
            return
        mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        begun = time.monotonic()
        first = max(0.001, min(deadline, notice_at) - begun)
        timer = signal.setitimer(signal.ITIMER_REAL, first, 1.0)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            waiting = False
        except _TimeIsUpError:
            waiting = False
            if not _take(descriptor):
                raise self._too_late(time.monotonic() - started) from None
        finally:
            waiting = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            if timer[0]:
                left = timer[0] - (time.monotonic() - begun)
                signal.setitimer(signal.ITIMER_REAL, max(0.001, left), timer[1])

    def _poll(self, descriptor: int, started: float, deadline: float, notice_at: float) -> None:
        while not _take(descriptor):
            now = time.monotonic()
            if now >= deadline:
                raise self._too_late(now - started)
            if now >= notice_at:
                notice_at = deadline + 1
                self._tell()
            time.sleep(min(_POLL_S, deadline - now))

    def _tell(self) -> None:
        self._say(f"waiting for {self.path}, held by {holder_of(self.path) or 'another process'}")

    def _too_late(self, waited_s: float) -> LockTimeoutError:
        return LockTimeoutError(self.path, holder_of(self.path), waited_s)


def holder_of(path: str) -> str:
    """Return who holds a lock file, as far as is known, "" otherwise.

    Ours write it into the file; of others the kernel may know the process.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        text = os.read(descriptor, _HOLDER_BYTES).decode("utf-8", "replace").strip()
        inode = os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)
    return " ".join(text.split()) or _holder_by_kernel(inode)


def _holder_by_kernel(inode: int) -> str:
    try:
        descriptor = os.open("/proc/locks", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        lines = os.read(descriptor, 2**20).decode("ascii", "replace").splitlines()
    finally:
        os.close(descriptor)
    for line in lines:
        words = line.split()
        if len(words) > 5 and words[1] == "FLOCK" and words[5].endswith(f":{inode}"):
            return f"pid {words[4]}"
    return ""


def _open(path: str) -> int:
    return opened(path, os.O_RDWR | os.O_NONBLOCK, 0o600)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _close(descriptor: int) -> None:
    if descriptor in _held:
        _held.discard(descriptor)
        os.close(descriptor)


def claim(path: str, *, new: bool = False) -> int | None:
    """Hold a file that stands for work under way, until `release` or the end of the process.

    Args:
        path: The file.
        new: Whether it is made; otherwise it must be there.

    Returns:
        A descriptor, None when a process holds the file or it has gone.

    Raises:
        OSError: The system refuses.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags | (os.O_CREAT | os.O_EXCL if new else 0), 0o600)
    except FileNotFoundError:
        if new:
            raise
        return None
    _held.add(descriptor)
    # Its holder takes it away: a name that has gone stands for nothing.
    if _take(descriptor) and os.fstat(descriptor).st_nlink:
        return descriptor
    _close(descriptor)
    return None


def release(path: str, descriptor: int) -> None:
    """Take a file away that `claim` holds, then let it go."""
    with suppress(OSError):  # who finds it later checks whether what it stands for was done
        os.unlink(path)
    _close(descriptor)


def let_go(descriptor: int) -> None:
    """Let a file go that `claim` holds, and leave it where it is."""
    _close(descriptor)


def try_lock(path: str) -> int | None:
    """Take a lock that goes over to child processes; None when a process has it.

    Returns:
        A descriptor. The lock is free when the last copy of it is closed; a
        program started by `exec` gets none.
    """
    with explaining("lock", path):
        descriptor = _open(path)
        try:
            if _take(descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None
