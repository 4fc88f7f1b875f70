"""One connection to the server: it brings its requests in time, or it is closed.

uvicorn waits without end for the first line of a request, and takes as many connections as come.

Source: DL-066.
"""

from __future__ import annotations

import asyncio
import resource

from h11 import LocalProtocolError
from uvicorn.protocols.http.h11_impl import H11Protocol

# Each may need a second descriptor, for what is asked of the worker.
MOST_CONNECTIONS = min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
HEAD_S = 10.0  # how long the head of a request may take
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
    b"Retry-After: 5\r\nConnection: close\r\n\r\n"
)


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
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.abort()
            return
        try:
            super().send_400_response(msg)
        except LocalProtocolError:  # the answer before it was the last one
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
