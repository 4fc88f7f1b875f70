"""A process that has everything imported: each command is a fork of it, none is started anew.

Starting an interpreter and importing takes ten times as long as most commands. What a fork runs is
`council.__main__.main`, with its own environment, folder, standard streams and exit code, so that
only what Python does before its first line is missing. Tests of that start programs themselves.

Asked over a socket: three files (the standard streams) and a JSON object; answered with the id of
the process, and with how it ended.
"""

from __future__ import annotations

import array
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

# What Python reads before its first line, or modules while they are imported, is not for a fork.
_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "FORCE_", "NO_COLOR", "TERMINAL_", "PY_COLORS", "TZ")
_LONGEST_REQUEST = 4 << 20
_MOST_FILES = 1024
_SERVED = "--serve"
_SET_SUBREAPER, _GET_SUBREAPER = 36, 37
_LARGE_PAGE, _COLLAPSE = 2 << 20, 25


class Forks:
    """The process that forks.

    It is no test's child, so tests may wait for theirs, and ends with the pipe that is held here.
    """

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="forks-")
        self._path = f"{self._folder}/socket"
        theirs, self._line = os.pipe()
        with _without_heirs():
            subprocess.run(
                [sys.executable, "-m", "tests.forks", _SERVED, self._path, str(theirs)],
                cwd=Path(__file__).parent.parent,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs],
                check=True,
            )
        os.close(theirs)

    def can_run(self, env: dict[str, str]) -> bool:
        """Return true if nothing in an environment is read before the first line."""
        given = {name: value for name, value in env.items() if name.startswith(_AT_START)}
        return given == {"LANG": "C.UTF-8"}

    def run(
        self, argv: list[str], stdin: bytes, cwd: Path, env: dict[str, str], timeout_s: float
    ) -> tuple[int, bytes, bytes]:
        """Run a command; return its exit code (negative: the signal that ended it) and outputs.

        Raises:
            subprocess.TimeoutExpired: It was killed, because it took too long.
        """
        with _file() as given, _file() as out, _file() as err:
            given.write(stdin)
            given.seek(0)
            streams = (given.fileno(), out.fileno(), err.fileno())
            with Forked(self._path, argv, cwd, env, streams) as process:
                try:
                    ended = process.wait(timeout_s)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise
            out.seek(0)
            err.seek(0)
            return ended, out.read(), err.read()

    def start(self, argv: list[str], cwd: Path, env: dict[str, str], stderr: BinaryIO) -> Forked:
        """Start a command that reads nothing and return it; what it says comes by its `stdout`."""
        said, says = os.pipe()
        with open(os.devnull, "rb") as nothing, open(says, "wb") as out:
            streams = (nothing.fileno(), out.fileno(), stderr.fileno())
            return Forked(self._path, argv, cwd, env, streams, open(said, "rb"))

    def end(self) -> None:
        """End the process that forks."""
        os.close(self._line)
        shutil.rmtree(self._folder)


class Forked:
    """A command that was forked, with those of the ways of `subprocess.Popen` that tests need.

    Attributes:
        pid: Its process id.
        stdout: What it says, where that was asked for.
    """

    def __init__(
        self,
        path: str,
        argv: list[str],
        cwd: Path,
        env: dict[str, str],
        streams: tuple[int, int, int],
        stdout: BinaryIO | None = None,
    ) -> None:
        self.stdout = stdout
        self._argv = argv
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.connect(path)
        files = array.array("i", streams)
        asked = json.dumps({"argv": argv, "cwd": str(cwd), "env": env}).encode()
        self._line.sendmsg(
            [len(asked).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)]
        )
        self._line.sendall(asked)
        self._answers = self._line.makefile("rb")
        self.pid = int(self._answers.readline())
        self._ended: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code, negative for the signal that ended it.

        Raises:
            subprocess.TimeoutExpired: It has not ended in time.
        """
        if self._ended is None:
            if timeout is not None and not select.select([self._line], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self._argv, timeout)
            self._ended = int(self._answers.readline())
            self._answers.close()
            self._line.close()
        return self._ended

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if self._ended is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._line.close()


def stay_and_be_shared() -> None:
    """Keep the collector of garbage off all there is, which stays, and give it large pages.

    A fork copies a list of the pages of its parent: one line for each 4 KiB, or for each 2 MiB.
    Where the system knows no such pages nothing changes.
    """
    gc.collect()
    gc.freeze()
    with suppress(OSError, AttributeError):
        advise = ctypes.CDLL(None).madvise
        for line in Path("/proc/self/maps").read_text().splitlines():
            span, access, _, _, file, *_ = line.split()
            begin, end = (int(one, 16) for one in span.split("-"))
            begin = -(-begin // _LARGE_PAGE) * _LARGE_PAGE
            length = end // _LARGE_PAGE * _LARGE_PAGE - begin
            if access == "rw-p" and file == "0" and length > 0:
                advise(ctypes.c_void_p(begin), ctypes.c_size_t(length), _COLLAPSE)


def _file() -> BinaryIO:
    """Return an empty file that stands on no disk."""
    return open(os.memfd_create("stream"), "w+b")


@contextmanager
def _without_heirs() -> Iterator[None]:
    """Adopt no process that is left behind meanwhile, whatever a test has asked for before."""
    libc, was = ctypes.CDLL(None), ctypes.c_int()
    libc.prctl(_GET_SUBREAPER, ctypes.byref(was), 0, 0, 0)
    libc.prctl(_SET_SUBREAPER, 0, 0, 0, 0)
    yield
    libc.prctl(_SET_SUBREAPER, was.value, 0, 0, 0)


def serve(path: str, lifeline: int) -> None:
    """Fork for each request, until the other end of a pipe is closed; return where that begins."""
    _import_everything()
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(path)
    door.listen(64)
    if os.fork():
        return
    os.setsid()
    watched = select.epoll()
    watched.register(door, select.EPOLLIN)
    watched.register(lifeline, select.EPOLLHUP)
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for ready, _ in watched.poll():
            if ready == lifeline:
                os._exit(0)
            if ready == door.fileno():
                line, _ = door.accept()
                child = _started(line)
                ended = os.pidfd_open(child)
                running[ended] = child, line
                watched.register(ended, select.EPOLLIN)
                continue
            child, line = running.pop(ready)
            watched.unregister(ready)  # a child may still hold it, too
            os.close(ready)
            _, status = os.waitpid(child, 0)
            with line, suppress(OSError):
                line.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _import_everything() -> None:
    import council

    for one in pkgutil.walk_packages(council.__path__, "council."):
        with suppress(ImportError):
            importlib.import_module(one.name)
    stay_and_be_shared()


def _started(line: socket.socket) -> int:
    """Start the command that is asked for, say its id and return it."""
    size, files = _received(line)
    said = bytearray()
    while len(said) < size:
        piece = line.recv(_LONGEST_REQUEST)
        if not piece:
            os._exit(1)  # who asked is gone
        said += piece
    asked = json.loads(said)
    child = os.fork()
    if not child:
        _become(asked, files)
    for one in files:
        os.close(one)
    with suppress(OSError):
        line.sendall(f"{child}\n".encode())
    return child


def _received(line: socket.socket) -> tuple[int, list[int]]:
    files = array.array("i")
    head, extra, _, _ = line.recvmsg(4, socket.CMSG_SPACE(3 * files.itemsize))
    for level, kind, data in extra:
        assert (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        files.frombytes(data)
    return int.from_bytes(head, "big"), list(files)


def _become(asked: dict[str, Any], files: list[int]) -> NoReturn:
    """Be the command; never come back."""
    code = 1
    try:
        for number, one in enumerate(files):
            os.dup2(one, number)
        os.closerange(3, _MOST_FILES)
        streams = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
        for number, (name, mode) in enumerate(streams):
            errors = getattr(sys, name).errors
            new = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
            setattr(sys, name, new)
            setattr(sys, f"__{name}__", new)
        os.environ.clear()
        os.environ.update(asked["env"])
        os.chdir(asked["cwd"])
        sys.argv = asked["argv"]
        sys.path[0] = str(Path(sys.executable).parent)
        from council.__main__ import main

        main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        import threading

        threading._shutdown()  # type: ignore[attr-defined]
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


if __name__ == "__main__" and sys.argv[1:2] == [_SERVED]:
    serve(sys.argv[2], int(sys.argv[3]))
