"""A scripted model server on loopback, for real clients: four protocols, eleven moods.

    python -m tests.e2e.model_server --port 0 [--log FILE]

prints its address and serves until it is ended. In a test:

    with model_server() as server:
        base = server.base("answers", "/v1")     # http://127.0.0.1:PORT/answers/v1
        …
        assert server.requests[-1].status == 200

The first part of a path is the mood:

- `answers`: a text that fits the prompt, with `STATUS: AGREED` where the prompt allows it;
- `tools`: calls the client's shell with the `council respond …` that stands in the prompt
  (`vote`, `synthesize`, `turn end` likewise; where none stands there it runs a
  `council context …` first), and ends its turn after the result;
- `mcp`: calls the tools of a server named council: `context`, then `respond`;
- `fails` (500), `refuses` (a wrong key: 401, with Gemini 400 as in reality), `limits` (429);
- `hangs`: takes the request and says nothing; `stalls`: begins to answer, then nothing;
- `babbles`: streams without end; `breaks`: begins to answer, then an error of the provider;
- `says-error`: answers 200 with a text that is an error message.

Each answer counts `INPUT_TOKENS` (of these `CACHED_TOKENS` from a cache) and `OUTPUT_TOKENS`.
What is no model call is answered so that a client goes on: lists of models, counts of tokens.
"""

from __future__ import annotations

import argparse
import gzip
import json
import select
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.e2e.protocols import (
    CACHED_TOKENS,
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Asked,
    Event,
    Messages,
    Protocol,
    Reply,
    protocol_of,
)
from tests.e2e.saying import reply_to

__all__ = ["CACHED_TOKENS", "INPUT_TOKENS", "OUTPUT_TOKENS", "ModelServer", "model_server"]

MOODS = (
    "answers",
    "tools",
    "mcp",
    "fails",
    "refuses",
    "limits",
    "hangs",
    "stalls",
    "babbles",
    "breaks",
    "says-error",
)
MODEL = "scripted"
BABBLES_FOR_S = 600.0
BABBLE_PAUSE_S = 0.005
_MAX_BODY_BYTES = 64 << 20
_MAX_REQUESTS = 10_000


@dataclass
class Request:
    """One request, and what became of it."""

    at: float
    method: str
    mood: str
    path: str
    headers: dict[str, str]
    """By names in small letters."""
    body: Any
    protocol: str = ""
    """`Chat`, `Responses`, `Messages` or `Gemini`; "" for what is no model call."""
    said: str = ""
    called: str = ""
    status: int = 0
    """0 while there is no answer yet."""
    input_tokens: int = 0
    output_tokens: int = 0
    left: bool = False
    """The client closed the connection before the end."""
    prompt: str = field(default="", repr=False)
    """The last thing that a user said, whatever the protocol."""


class ModelServer(ThreadingHTTPServer):
    """The server, with all that was asked of it; `stop` ends it and all that hangs in it."""

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, port: int = 0, log: Path | None = None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.requests: deque[Request] = deque(maxlen=_MAX_REQUESTS)
        self.ended = threading.Event()
        self.changed = threading.Condition()
        self._log = log
        self._sockets: set[socket.socket] = set()
        self._serving = threading.Thread(target=self.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def base(self, mood: str, path: str = "") -> str:
        """Return the base URL for a client that shall meet this mood."""
        assert mood in MOODS, mood
        return f"{self.url}/{mood}{path}"

    def model_calls(self, mood: str = "") -> list[Request]:
        """Return what was asked of the model, in one mood or in all."""
        return [one for one in list(self.requests) if one.protocol and mood in ("", one.mood)]

    def spent(self, mood: str = "") -> tuple[int, int]:
        """Return the tokens of input and output that the answers so far have counted."""
        calls = self.model_calls(mood)
        return sum(one.input_tokens for one in calls), sum(one.output_tokens for one in calls)

    def wait_for(self, wanted: Callable[[Request], bool], timeout_s: float = 60) -> Request:
        """Return the first request of which this is true; wait until there is one."""
        with self.changed:
            found = self.changed.wait_for(
                lambda: next(filter(wanted, list(self.requests)), None), timeout_s
            )
        assert found, f"no such request within {timeout_s} s"
        return found

    def note(self, request: Request) -> None:
        """Tell whoever waits that something about a request has changed."""
        with self.changed:
            if request not in self.requests:
                self.requests.append(request)
            self.changed.notify_all()

    def write_log(self, request: Request) -> None:
        if self._log is not None:
            with self.changed, self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(request), ensure_ascii=False) + "\n")

    def start(self) -> None:
        self._serving.start()

    def stop(self) -> None:
        """End: no more connections, and all that are open are closed."""
        self.ended.set()
        self.shutdown()
        for one in list(self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self.server_close()
        self._serving.join()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._sockets.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._sockets.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # a client that leaves is no fault of ours
            super().handle_error(request, client_address)


class _ClientLeftError(OSError):
    """The client closed the connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer
    request_noted: Request

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Take every method in one way: `do_GET`, `do_POST` and all others."""
        if name.startswith("do_"):
            return self._handle
        raise AttributeError(name)

    def log_message(self, *_: Any) -> None:
        """Say nothing: the log is what was kept of the requests."""

    def _handle(self) -> None:
        whole, _, _query = self.path.partition("?")
        first, _, rest = whole.lstrip("/").partition("/")
        mood, path = (first, f"/{rest}") if first in MOODS else ("answers", whole)
        headers = {name.lower(): value for name, value in self.headers.items()}
        noted = Request(time.time(), self.command, mood, path, headers, self._body())
        protocol = protocol_of(path) if self.command == "POST" else None
        asked = None
        if protocol and isinstance(noted.body, dict):
            noted.protocol = protocol.__name__
            asked = protocol.read(path, noted.body)
            noted.prompt = next((e.text for e in reversed(asked.entries) if e.kind == "user"), "")
        self.server.note(noted)
        try:
            if protocol is None or asked is None:
                self._side_call(noted)
            else:
                self._model_call(noted, protocol, asked)
        except OSError:
            noted.left = True
            self.close_connection = True
        finally:
            self.server.note(noted)
            self.server.write_log(noted)

    def _body(self) -> Any:
        length = min(int(self.headers.get("Content-Length") or 0), _MAX_BODY_BYTES)
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            raw = b"".join(self._chunks())
        else:
            raw = self.rfile.read(length)
        if self.headers.get("Content-Encoding") == "gzip":
            raw = gzip.decompress(raw)
        try:
            return json.loads(raw) if raw else None
        except ValueError:
            return raw.decode("utf-8", "replace")

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(100).split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline(100)
        self.rfile.readline(100)

    def _model_call(self, noted: Request, protocol: Protocol, asked: Asked) -> None:
        mood = noted.mood
        if mood == "hangs":
            self._say_nothing()
        elif mood in ("fails", "refuses", "limits"):
            status, body = protocol.refusal(mood)
            self._send(noted, status, body)
        else:
            reply = reply_to(mood, asked)
            noted.said = reply.text
            noted.called = f"{reply.call.tool} {reply.call.arguments}" if reply.call else ""
            if mood in ("stalls", "babbles", "breaks"):
                noted.said = ""
                self._without_end(noted, protocol, asked, reply)
            else:
                noted.input_tokens, noted.output_tokens = INPUT_TOKENS, OUTPUT_TOKENS
                self._answer(noted, protocol, asked, reply)

    def _answer(self, noted: Request, protocol: Protocol, asked: Asked, reply: Reply) -> None:
        if not asked.streams:
            self._send(noted, 200, protocol.whole(asked, reply))
        elif protocol.__name__ == "Gemini" and "alt=sse" not in self.path:
            self._send(noted, 200, [data for _, data in protocol.events(asked, reply, noted.body)])
        else:
            self._open_stream(noted)
            for event in protocol.events(asked, reply, noted.body):
                self._send_event(event)

    def _without_end(self, noted: Request, protocol: Protocol, asked: Asked, reply: Reply) -> None:
        """Begin an answer, and then break off, say nothing more, or go on and on."""
        if noted.mood == "breaks" and not asked.streams:
            self._send(noted, *protocol.refusal("fails"))
            return
        if not asked.streams:
            self._open_stream(noted, "application/json")
            more: Callable[[], None] = lambda: self.wfile.write(b" " * 1024)  # noqa: E731
        else:
            self._open_stream(noted)
            events = list(protocol.events(asked, Reply("Position: begin " * 9), noted.body))
            texts = [at for at, one in enumerate(events) if "Position: begin" in json.dumps(one[1])]
            for event in events[: texts[0] + 1]:
                self._send_event(event)
            more = lambda: self._send_event(events[texts[0]])  # noqa: E731
        if noted.mood == "breaks":
            self._send_event(protocol.breaking())
            return
        if noted.mood == "stalls":
            self._say_nothing()
        ends = time.monotonic() + BABBLES_FOR_S
        while time.monotonic() < ends and not self.server.ended.wait(BABBLE_PAUSE_S):
            for _ in range(20):
                more()
            self.wfile.flush()

    def _open_stream(self, noted: Request, kind: str = "text/event-stream") -> None:
        noted.status = 200
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        self.server.note(noted)

    def _send_event(self, event: Event) -> None:
        name, data = event
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        named = f"event: {name}\n" if name else ""
        self.wfile.write(f"{named}data: {text}\n\n".encode())
        self.wfile.flush()

    def _say_nothing(self) -> None:
        """Wait until the client leaves or the server ends."""
        while not self.server.ended.wait(0.05):
            if select.select([self.connection], [], [], 0)[0] and not self.connection.recv(
                1, socket.MSG_PEEK
            ):
                raise _ClientLeftError
        self.close_connection = True
        raise _ClientLeftError

    def _side_call(self, noted: Request) -> None:
        path = noted.path
        if self.headers.get("Upgrade"):
            self._send(noted, 426, {"error": {"message": "This server speaks no WebSocket."}})
        elif path.endswith("/count_tokens"):
            self._send(noted, 200, {"input_tokens": INPUT_TOKENS})
        elif path.endswith(":countTokens"):
            self._send(noted, 200, {"totalTokens": INPUT_TOKENS})
        elif path.endswith("/models"):
            if noted.mood in ("fails", "refuses", "limits"):
                self._send(noted, *Messages.refusal(noted.mood))
            else:
                self._send(noted, 200, _models())
        else:
            self._send(noted, 200, {})

    def _send(self, noted: Request, status: int, body: Any) -> None:
        data = json.dumps(body, ensure_ascii=False).encode()
        noted.status = status
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _models() -> dict[str, Any]:
    """Return a list of models that is right for each protocol."""
    one = {
        "id": MODEL,
        "object": "model",
        "type": "model",
        "owned_by": "loopback",
        "created": 1_790_000_000,
        "created_at": "2026-01-01T00:00:00Z",
        "display_name": "Scripted",
    }
    gemini = {"name": f"models/{MODEL}", "displayName": "Scripted"}
    return {"object": "list", "data": [one], "has_more": False, "models": [gemini]}


@contextmanager
def model_server(port: int = 0, log: Path | None = None) -> Iterator[ModelServer]:
    """Serve on a port, a free one for 0, while the block runs."""
    server = ModelServer(port, log)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def main() -> None:
    options = argparse.ArgumentParser(description="A scripted model server on loopback.")
    options.add_argument("--port", type=int, default=0, help="0: a free one (default)")
    options.add_argument("--log", type=Path, help="append each request as a line of JSON")
    given = options.parse_args()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ended.set())
    ended = threading.Event()
    with model_server(given.port, given.log) as server:
        print(server.url, flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
