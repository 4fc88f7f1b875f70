"""How a server is reached: at a port of this machine, by those who have its token.

Source: IO-004, DL-066, DG-132.
"""

from __future__ import annotations

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
def listening(port: int, *, or_any: bool = False) -> Iterator[socket.socket]:
    """Listen on a port of this machine, 0 for any that is free; so does `or_any` if it is taken.

    Raises:
        UsageError: The port is taken.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except (OSError, OverflowError) as error:
            if not or_any:
                why = f"cannot listen on port {port}: {getattr(error, 'strerror', '') or error}"
                raise UsageError(why, "take another: --port N") from None
            listener.bind((HOST, 0))
        listener.listen(BACKLOG)
        yield listener
