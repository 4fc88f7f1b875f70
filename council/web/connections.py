"""One connection to the server: it brings its requests in time, or it is closed.

uvicorn waits without end for the first line of a request, and takes as many connections as come.

Source: DL-066.
"""

from __future__ import annotations

import asyncio
import resource
from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from council.web.problems import problem

# Each may need a second descriptor, for what is asked of the worker.
MOST_CONNECTIONS = min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
HEAD_S = 10.0  # how long the head of a request may take


def _last_words(status: int, code: str, detail: str, **headers: str) -> bytes:
    """Return a refusal as it is sent where no request was read, before the connection closes."""
    told = problem(status, code, detail, headers={"connection": "close", **headers})
    phrase = HTTPStatus(status).phrase.encode()
    lines = [b"HTTP/1.1 %d %s" % (status, phrase), *map(b": ".join, told.raw_headers), b"", b""]
    return b"\r\n".join(lines) + bytes(told.body)


_FULL = _last_words(503, "full", "too many are connected; ask again", **{"retry-after": "5"})


class Connection(H11Protocol):
    """A connection, as uvicorn makes one for each that comes in."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it in, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.write(_FULL)
            transport.close()
        else:
            self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Take what comes in; a request that has begun is waited for no longer."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._head_timer is None:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; after an answer has begun nothing can be said any more."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_last_words(400, "malformed", msg))
            self.transport.close()
        else:
            self.transport.abort()

    def shutdown(self) -> None:
        """End it with the server; only what was asked and has no answer yet is waited for."""
        if self.cycle is not None and (self.cycle.response_started or self.cycle.more_body):
            self.transport.abort()
        else:
            super().shutdown()

    def _wait_for_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
