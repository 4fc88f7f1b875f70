"""Work that goes on after the command has returned.

A detached process has its own session and no terminal; the one who called the
command waits for nothing. It is forked, not started anew: what was imported
is there already, which is most of what a start costs.

What a detached process wants detached itself begins when its own work is over:
a run starts its successor from where it was started itself, so that a chain of
runs is as long as its rules say and no deeper than one of them.

Source: OP-001, `architecture.md` section 3, `cli.md` section 5.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from council.operations.place import Place


class _Work(Record):
    """What a process is to do; see `detach`."""

    do: Callable[[], object]
    log_file: str
    keep: tuple[int, ...]
    otherwise: Callable[[OSError], object] | None


# What begins when the work of this detached process is over; None in any other process.
_following: list[_Work] | None = None


def detach(
    work: Callable[[], object],
    *,
    log_file: str,
    keep: tuple[int, ...] = (),
    otherwise: Callable[[OSError], object] | None = None,
) -> None:
    """Do `work` in a new process that outlives this one.

    Args:
        work: What to do; an exception ends the process and goes to `log_file`.
        log_file: Where a failure is written down.
        keep: File descriptors that go over to the new process. They are closed
            here, if it cannot be started, too.
        otherwise: Called when that turns out later; None for nothing to do.

    Raises:
        OSError: The system has no room for another process.

    Source: OP-001.
    """
    wanted = _Work(do=work, log_file=log_file, keep=keep, otherwise=otherwise)
    if _following is not None:
        _following.append(wanted)
    elif _is_born(wanted):
        _live(wanted)


def wake_next(place: Place) -> None:
    """Have a heartbeat done by a process of its own, without waiting for it.

    A run leaves that to its supervisor, which does it when the run ends: the environment of a run
    lacks the keys of all other agents, and what is started from it would fail.
    """
    if place.is_in_run:
        return
    from council.store.files import make_folder

    make_folder(place.paths.control)  # a new workspace may have had nothing to keep there yet

    def work() -> None:
        from council.operations.heartbeat.beat import beat_in_turn

        beat_in_turn(place)

    detach(work, log_file=place.paths.failure_log)


def run_heartbeat(place: Place) -> None:
    """Run a heartbeat as a process of its own and wait for it; one with threads must not fork."""
    import subprocess

    # -P: a module that lies in the workspace must not be imported for one of ours.
    subprocess.run(
        [sys.executable, "-P", "-m", "council", "heartbeat", "--root", place.root],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(place.environ),
        check=False,
    )


def _is_born(work: _Work) -> bool:
    """Start a process for `work`; return true in that process, false in this one."""
    sys.stdout.flush()
    sys.stderr.flush()
    middle = -1
    try:
        middle = os.fork()
        if middle and os.waitpid(middle, 0)[1]:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    finally:
        if middle:
            for kept in work.keep:
                os.close(kept)
    if middle:
        return False
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
    except BaseException:
        os._exit(1)
    return True


def _live(work: _Work) -> NoReturn:
    """Do `work`, then start what it wants started, each in a process that begins right here."""
    global _following
    try:
        born = True
        while born:
            _following, born = [], False
            code = _failure_of(lambda work=work: _do(work), work.log_file)  # type: ignore[misc]
            for following in _following:
                work, born = following, _is_begun(following)
                if born:
                    break
        os._exit(code)
    finally:
        os._exit(1)


def _is_begun(work: _Work) -> bool:
    """Return `_is_born`; of what cannot be started the caller is informed."""
    try:
        return _is_born(work)
    except OSError as error:
        told, otherwise = error, work.otherwise
    if otherwise is not None:
        _failure_of(lambda: otherwise(told), work.log_file)
    return False


def _do(work: _Work) -> None:
    _obey_signals()
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    _close_others(work.keep)
    work.do()


def _failure_of(do: Callable[[], object], log_file: str) -> int:
    """Do something whatever happens; return the exit code, after writing down what went wrong."""
    try:
        do()
    except SystemExit:  # it was asked to end, which is no failure
        return 0
    except BaseException:
        write_down_failure(log_file)
        return 1
    return 0


def write_down_failure(log_file: str) -> None:
    """Add the exception that is being handled to a log that only its owner may read.

    In a shared workspace the group may, too.
    """
    import traceback

    from council.store.files import opened

    log = opened(log_file, os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        os.write(log, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os.close(log)


def _obey_signals() -> None:
    """Give up what the caller does when it is asked to leave: this process outlives it."""
    import signal  # loaded by every process that forks

    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _close_others(keep: tuple[int, ...]) -> None:
    """Close what was open in the parent, so that no pipe or lock is held by accident."""
    start = 3
    for kept in sorted(keep):
        os.closerange(start, kept)
        start = kept + 1
    os.closerange(start, 4096)
