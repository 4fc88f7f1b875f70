"""A PostgreSQL server for a while: found on this machine, made, started, stopped and removed.

It listens on a free port of this machine alone and asks for a password: the owner of a server
can have it run programs as its user. Root starts it as another user, because it refuses root.

Source: EN-001.
"""

from __future__ import annotations

import glob
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from council.core.errors import CouncilError, NotFoundError
from council.drivers.keeper import begin_keeper

OLDEST = 15
_USERS = ("postgres", "nobody")
_FOLDERS = (  # of Debian, of Fedora, of Homebrew; besides what is on PATH
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)
_OWNER = "council"
_READY_S = 30.0
_STOPPED_S = 10.0
_DAY_S = 86400.0


class Server(NamedTuple):
    """Where a server is, and the variable that holds its password."""

    url: str
    secret: dict[str, str]


@contextmanager
def own_server(*, is_durable: bool = False) -> Iterator[Server]:
    """Start an empty server; when the block ends, or this process, nothing of it is left.

    Args:
        is_durable: It syncs what it commits, though it is not to outlive a loss of power.

    Raises:
        NotFoundError: No PostgreSQL that is new enough can be started here.
        CouncilError: It does not start.
    """
    programs, user = folder_of_programs(), server_user()
    folder = tempfile.mkdtemp(prefix="council-postgres-")
    try:
        given: dict[str, Any] = {"cwd": folder, **as_user(user)}
        password = secrets.token_hex(16)
        with open(f"{folder}/password", "x") as file:
            file.write(password)
        if user is not None:
            for path in (folder, file.name):
                os.chown(path, user.pw_uid, user.pw_gid)
        _make(programs, file.name, given)
        with socket.socket() as tried:
            tried.bind(("127.0.0.1", 0))
            port = tried.getsockname()[1]
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": "",
            "fsync": "on" if is_durable else "off",
        }
        argv = [f"{programs}/postgres", "-D", f"{folder}/data"]
        argv += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(f"{folder}/log", "wb") as log, kept(argv, signal.SIGINT, log, **given) as made:
            _await_ready(made, folder)
            url = f"postgresql://{_OWNER}@127.0.0.1:{port}/postgres"
            yield Server(url, {"PGPASSWORD": password})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def kept(
    argv: list[str], ends_by: signal.Signals, output: Any, **given: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program while the block lasts; it ends with it, and with this process.

    Args:
        argv: The program and its arguments.
        ends_by: What asks it to end.
        output: Where it prints to, as `subprocess` takes it.
        given: What `subprocess.Popen` takes besides.
    """
    with begin_keeper(_DAY_S) as keeper:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for us, who end it
            preexec_fn=keeper.ties(),  # noqa: PLW1509 - it takes no lock
            **given,
        )
        try:
            yield process
        finally:
            process.send_signal(ends_by)
            try:
                process.wait(_STOPPED_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            keeper.is_over = True


def folder_of_programs() -> str:
    """Return the folder of the newest PostgreSQL on this machine.

    Raises:
        NotFoundError: There is none, or it is too old.
    """
    on_path = shutil.which("postgres")
    folders = [os.path.dirname(os.path.realpath(on_path))] if on_path else []
    folders += [one for pattern in _FOLDERS for one in glob.glob(pattern)]
    found = max(((_version(one), one) for one in folders), default=(0, ""))
    if found[0] < OLDEST:
        older = f" (only {found[0]})" if found[0] else ""
        raise NotFoundError(
            f"no PostgreSQL {OLDEST} or newer is installed on this machine{older}",
            "install it, such as: apt-get install postgresql; brew install postgresql",
        )
    return found[1]


def _version(folder: str) -> int:
    """Return the version of the server in a folder, 0 where there is none."""
    try:
        done = subprocess.run([f"{folder}/postgres", "--version"], capture_output=True, check=False)
    except OSError:
        return 0
    found = re.search(rb"\) (\d+)", done.stdout)
    return int(found[1]) if found and os.path.lexists(f"{folder}/initdb") else 0


def server_user() -> pwd.struct_passwd | None:
    """Return the user that a server is started as, None for ourselves.

    Raises:
        NotFoundError: We are root, and there is no other user.
    """
    if os.geteuid():
        return None
    for name in _USERS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise NotFoundError(
        f"PostgreSQL refuses root, and there is no user {' or '.join(_USERS)} here",
        "run this command as a user other than root",
    )


def as_user(user: pwd.struct_passwd | None) -> dict[str, Any]:
    """Return what `subprocess` is given to start a program as a user, None for ourselves."""
    if user is None:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _make(programs: str, password: str, given: Mapping[str, Any]) -> None:
    words = ["-N", "-U", _OWNER, "-A", "scram-sha-256", "--pwfile", password, "-E", "UTF8"]
    done = subprocess.run(
        [f"{programs}/initdb", "-D", "data", "--locale=C", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        start_new_session=True,
        **given,
    )
    if done.returncode:
        raise _failure("initdb", done.stderr)


def _await_ready(process: subprocess.Popen[bytes], folder: str) -> None:
    until = time.monotonic() + _READY_S
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError, IndexError), open(f"{folder}/data/postmaster.pid") as file:
            if file.read().splitlines()[7].strip() == "ready":
                return
        time.sleep(0.01)
    with open(f"{folder}/log", "rb") as log:
        raise _failure("postgres", log.read())


def _failure(program: str, said: bytes) -> CouncilError:
    lines = said.decode("utf-8", "replace").strip().splitlines() or ["it says nothing"]
    return CouncilError(f"PostgreSQL does not start, {program} says: {lines[-1]}")
