"""Asking a server by HTTP, once: no proxy gets what is sent, nor does a place it sends us to.

Source: CL-003, DG-161.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR
from threading import Thread
from urllib.parse import urlsplit

from council.core.record import Any, Record


class Reply(Record):
    """What a server answered, whatever it is; `reason` is its word for the status."""

    status: int
    reason: str
    content: bytes


def http_call(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None = None,
    *,
    limit_s: float,
    most_bytes: int,
) -> Reply:
    """Return the answer of a server.

    Args:
        method: Such as POST.
        url: The whole address, http or https.
        headers: What is sent besides.
        body: What is sent, None for nothing.
        limit_s: How long all of it may take, in seconds.
        most_bytes: How much of the answer is read.

    Raises:
        TimeoutError: It took longer.
        OSError: There is no whole answer.
    """
    there, found, sockets = urlsplit(url), list[Reply | OSError](), list[Any]()
    path = there.path + (f"?{there.query}" if there.query else "")

    def ask() -> None:
        try:
            kind = HTTPSConnection if there.scheme == "https" else HTTPConnection
            connection = kind(there.netloc, timeout=limit_s)
            connection.connect()
            sockets.append(connection.sock)
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            content = reply.read(most_bytes)
            found.append(Reply(status=reply.status, reason=reply.reason, content=content))
        except OSError as error:
            found.append(error)
        except (HTTPException, ValueError, OverflowError) as error:
            found.append(OSError(str(error) or type(error).__name__))

    # The limit of a socket begins anew with each byte, and looking for a name has none.
    asking = Thread(target=ask, daemon=True)
    asking.start()
    asking.join(limit_s)
    if not found:
        for one in sockets:
            with suppress(OSError):
                one.shutdown(SHUT_RDWR)
        raise TimeoutError(f"no answer within {limit_s:g} s")
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]
