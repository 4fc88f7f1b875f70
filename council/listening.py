"""What servers of a workspace need: a token, and a socket that listens."""

from __future__ import annotations

import os
import secrets
import socket

from council.app import App
from council.kernel import files
from council.kernel.errors import Invalid, Usage
from council.kernel.record import Any

SHORTEST = 16  # characters of a token


def token_of(app: App, name: str, variable: str = "") -> tuple[str, str]:
    """Return a token, and where it is: in a variable, else in a file, made for its user only."""
    path, found = f"{app.state_folder}/{name}", app.env.get(variable, "")
    where = f"the variable {variable}" if found else path
    with files.reported("write", path):
        if not found and not os.path.lexists(path):
            data = f"{secrets.token_urlsafe(24)}\n".encode()
            files.replace(path, data, 0o600, durable=True)
        data = found.encode() if found else (files.read(path, 1000) or [b""])[0]
    token = data.decode("utf-8", "replace").strip()
    if len(token) < SHORTEST or not token.isascii():
        what = f"the token in {where} is shorter than {SHORTEST} characters, or not ASCII"
        raise Invalid("bad-token", what, "set a longer one, or remove the file: one is made")
    return token, where


def listener(host: str, port: Any) -> socket.socket:
    """Return a socket that listens at a name or address of this machine."""
    hint = "choose another with --port, or an address of this machine"
    if not isinstance(port, int) or not 0 <= port < 65536:
        raise Usage("cannot-listen", f"no port {port!r}", hint)
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        *how, _, address = min(found, key=lambda one: one[0])  # IPv4 first
        made = socket.socket(*how)  # with the protocol, else asyncio leaves Nagle's delay on
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(1024)
    except (OSError, UnicodeError) as error:
        what = f"cannot listen at {host[:60]} port {port}: {getattr(error, 'strerror', error)}"
        raise Usage("cannot-listen", what, hint) from None
    return made
