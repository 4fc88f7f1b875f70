"""How a server is reached: at a port of this machine, by those who have its token.

Source: IO-004, DL-066, DG-132.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from council.core.errors import UsageError
from council.operations.page_server import HOST
from council.store.keys import made

BACKLOG = 1024
LEAST_TOKEN_CHARS = 16


def token_in(path: str) -> str:
    """Return the token in a file; the first who asks makes it, for its user alone.

    Raises:
        UsageError: The file holds none.
    """
    standing = made(path)
    token = standing.data.decode("utf-8", "replace").strip() if standing is not None else ""
    if len(token) < LEAST_TOKEN_CHARS:
        raise UsageError(f"{path} does not hold a token", "remove it: a new one is made")
    return token


@contextmanager
def listening(port: int, host: str = HOST, *, or_any: bool = False) -> Iterator[socket.socket]:
    """Listen on a port, 0 for any that is free; so does `or_any` if it is taken.

    Args:
        port: The port.
        host: Where: an address of this machine, or the name of one.
        or_any: Whether any other port will do.

    Raises:
        UsageError: The port is taken, or `host` is not of this machine.
    """
    hint = f"take one of this machine, such as --host {HOST}"
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise UsageError(f"no address is called {host!r}", hint) from None
    family, *_, (address, *_) = min(found, key=lambda one: one[0])  # IPv4 first
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, port))
        except (OSError, OverflowError) as error:
            if getattr(error, "errno", 0) == errno.EADDRNOTAVAIL:
                raise UsageError(f"{host} is no address of this machine", hint) from None
            if not or_any:
                why = f"cannot listen on port {port}: {getattr(error, 'strerror', '') or error}"
                raise UsageError(why, "take another: --port N") from None
            listener.bind((address, 0))
        listener.listen(BACKLOG)
        yield listener
