"""One program run to its end: fed, listened to, bounded, and gone afterwards.

The program leads its own session. It gets its input while its output is read,
so that neither side can block the other; it may not run longer or say more
than allowed; and when it ends, or must, all it has started ends with it
(`keeper`), also what it left behind holding our pipes. When the process
that supervises it dies in any way, `keeper` ends it.

Source: C0-046, C0-076, `cli.md` section 5.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

from council.core.record import Any, Record
from council.drivers.keeper import begin_keeper, end_session
from council.drivers.runs import EndAsked

TAIL_BYTES = 64 * 1024

_CHUNK_BYTES = 64 * 1024
# More than any pipe holds: whatever was printed before the end is still read.
_CHUNKS_AFTER_END = 64
_CHECK_EVERY_S = 0.05
_LOOK_FOR_REPORTS_S = 0.1
# The kernel waits for 24 days at most; after an hour the pipes are waited for anew.
_LONGEST_WAIT_S = 3600.0


class Finished(Record):
    """How a program ended.

    Args:
        exit_code: What it returned, None when a signal ended it.
        ended_by: The name of that signal, else "".
        stdout: All it printed, or the end of it; the rest is missing if `too_long`.
        stderr: The end of what it said on standard error.
        stdout_cut: The beginning of `stdout` is missing.
        stderr_cut: The beginning of `stderr` is missing.
        interrupted: This process was asked to end it; `stdout` is what it had printed.
    """

    exit_code: int | None
    ended_by: str = ""
    stdout: bytes
    stderr: bytes
    stdout_cut: bool = False
    stderr_cut: bool = False
    timed_out: bool = False
    too_long: bool = False
    interrupted: bool = False
    seconds: float = 0.0


def run_process(
    argv: list[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    stdin: bytes,
    timeout_s: float,
    max_stdout_bytes: int | None,
    stops: Callable[[], bool] | None = None,
    hears: Callable[[bytes, bool], None] | None = None,
    keep: tuple[int, ...] = (),
) -> Finished:
    """Run a program and return once it and all it has started are gone.

    Args:
        argv: The program and its arguments; no shell reads them.
        cwd: The folder it works in.
        environment: All the variables it gets.
        stdin: What it can read, all of it at once or never.
        timeout_s: When it is ended.
        max_stdout_bytes: What it may print before it is ended; None keeps only
            the end of what it prints and never ends it.
        stops: Asked now and then whether it must be ended, None for never.
        hears: Given all that it prints, as it comes; true for what is on standard error.
        keep: Descriptors that stay open until it is gone, even if this process dies before.

    Raises:
        OSError: It cannot be started.
        ValueError: An argument or a variable holds a NUL.
    """
    started = time.monotonic()
    timed_out = stopped = interrupted = False
    longest = _LOOK_FOR_REPORTS_S if stops is not None else _LONGEST_WAIT_S
    with begin_keeper(timeout_s, keep) as keeper:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=True,
            start_new_session=True,
            preexec_fn=keeper.ties(),  # noqa: PLW1509 - it takes no lock
        )
        talk = _Talk(process, stdin, max_stdout_bytes, hears)
        try:
            while not talk.too_long and not _has_ended(process):
                left = started + timeout_s - time.monotonic()
                timed_out, stopped = left <= 0, stops is not None and stops()
                if timed_out or stopped:
                    break
                talk.go_on(min(left, longest if talk.hears_the_end else _CHECK_EVERY_S))
            talk.read_the_rest()
        except EndAsked:
            interrupted = True
            talk.read_the_rest()
        finally:
            talk.takes_answer = False
            _end(process, talk)
            keeper.is_over = True
            talk.close()
    code, seconds = process.returncode, time.monotonic() - started
    return Finished(
        exit_code=code if code >= 0 else None,
        ended_by=_signal_name(-code) if code < 0 else "",
        stdout=bytes(talk.stdout),
        stderr=bytes(talk.stderr),
        stdout_cut=talk.stdout_cut,
        stderr_cut=talk.stderr_cut,
        # While we were stopped, another process may have ended what had no time left.
        timed_out=timed_out or (code < 0 and seconds > timeout_s),
        too_long=talk.too_long,
        interrupted=interrupted,
        seconds=seconds,
    )


class _Talk:
    """The three pipes of a program, served as they become ready."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        stdin: bytes,
        max_stdout: int | None,
        hears: Callable[[bytes, bool], None] | None,
    ) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.stdout_cut = False
        self.stderr_cut = False
        self.too_long = False
        self.takes_answer = True
        self._max_stdout = max_stdout
        self._hears = hears
        self._unsent = memoryview(stdin)
        self._process = process
        self._selector = selectors.DefaultSelector()
        self._watch(process.stdin, selectors.EVENT_WRITE, self._send)
        self._watch(process.stdout, selectors.EVENT_READ, self._hear_answer)
        self._watch(process.stderr, selectors.EVENT_READ, self._hear_complaint)
        self._end_descriptor = _end_descriptor(process.pid)
        if self._end_descriptor is not None:
            self._selector.register(self._end_descriptor, selectors.EVENT_READ, None)

    @property
    def hears_the_end(self) -> bool:
        """Return true if the end of the program interrupts `go_on`."""
        return self._end_descriptor is not None

    def go_on(self, seconds: float) -> bool:
        """Serve what is ready, or becomes ready in time; return true if anything was."""
        ready = self._selector.select(seconds)
        for key, _ in ready:
            if key.data is not None:
                key.data(key.fileobj)
        return any(key.data is not None for key, _ in ready)

    def read_the_rest(self) -> None:
        """Read what the program had printed when it ended, and wait for no other writer."""
        for _ in range(_CHUNKS_AFTER_END):
            if self.too_long or not self.go_on(0):
                return

    def forget_the_end(self) -> None:
        """Stop being interrupted by an end that is already known."""
        if self._end_descriptor is not None:
            self._selector.unregister(self._end_descriptor)
            os.close(self._end_descriptor)
            self._end_descriptor = None

    def close(self) -> None:
        """Let go of all pipes, even if others still hold their other ends."""
        self.forget_the_end()
        for key in list(self._selector.get_map().values()):
            self._drop(key.fileobj)
        self._selector.close()

    def _watch(self, pipe: Any, event: int, serve: Callable[[Any], None]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, event, serve)

    def _drop(self, pipe: Any) -> None:
        self._selector.unregister(pipe)
        # Closing standard input flushes nothing: it is only ever written by descriptor.
        with contextlib.suppress(OSError):
            pipe.close()

    def _send(self, pipe: Any) -> None:
        try:
            sent = os.write(pipe.fileno(), self._unsent[:_CHUNK_BYTES]) if self._unsent else 0
        except BlockingIOError:
            return
        except OSError:
            self._unsent = memoryview(b"")
            sent = 0
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._drop(pipe)

    def _hear_answer(self, pipe: Any) -> None:
        chunk = self._read(pipe)
        if not self.takes_answer or self.too_long:
            return
        self.stdout += chunk
        if self._hears is not None:
            self._hears(chunk, False)
        if self._max_stdout is None:
            self.stdout_cut = _keep_the_end(self.stdout) or self.stdout_cut
        elif len(self.stdout) > self._max_stdout:
            del self.stdout[self._max_stdout :]
            self.too_long = True

    def _hear_complaint(self, pipe: Any) -> None:
        chunk = self._read(pipe)
        self.stderr += chunk
        if self._hears is not None:
            self._hears(chunk, True)
        self.stderr_cut = _keep_the_end(self.stderr) or self.stderr_cut

    def _read(self, pipe: Any) -> bytes:
        try:
            chunk = os.read(pipe.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return b""
        except OSError:
            chunk = b""
        if not chunk:
            self._drop(pipe)
        return chunk


def _keep_the_end(content: bytearray) -> bool:
    """Drop the beginning of what has become too much; return true if that was needed."""
    if len(content) <= 2 * TAIL_BYTES:
        return False
    del content[:-TAIL_BYTES]
    return True


def _end_descriptor(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid) if sys.platform.startswith("linux") else None
    except OSError:
        return None


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return true if the program itself has ended, leaving its group id reserved if we can."""
    if not sys.platform.startswith("linux"):
        return process.poll() is not None
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, flags) is not None


def _end(process: subprocess.Popen[bytes], talk: _Talk) -> None:
    """End everything that is left of the program and what it has started."""

    def pause(seconds: float) -> None:
        if process.poll() is not None:
            talk.forget_the_end()
        talk.go_on(seconds)

    end_session(process.pid, pause)
    process.wait()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
