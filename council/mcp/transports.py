"""How clients reach the server: by standard input, or by HTTP on this machine with a token."""

from __future__ import annotations

import hmac
import json
import sys
from contextlib import suppress

import anyio
import mcp_types as types
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from starlette.responses import PlainTextResponse

from council.app import App
from council.kernel.record import Any
from council.listening import listener, token_of
from council.mcp.serving import Serving

HOST, PORT, PATH = "127.0.0.1", 8421, "/mcp"


def over_stdio(app: App, agent: str) -> None:
    """Serve one client until it goes away."""
    server = Serving(app, agent).server

    async def serve() -> None:
        async with stdio_server() as (lines, outgoing), anyio.create_task_group() as group:
            send, requests = anyio.create_memory_object_stream[Any](0)
            answers, made = anyio.create_memory_object_stream[Any](0)
            calls = _Calls()
            group.start_soon(calls.pass_on, lines, send, outgoing.send)
            group.start_soon(calls.pass_back, made, outgoing)
            async with answers:
                await server.run(requests, answers, server.create_initialization_options())

    try:
        anyio.run(serve)
    except* (BrokenPipeError, anyio.BrokenResourceError):
        pass  # it has gone


class _Calls:
    """The requests that are not answered yet; at the end of input the SDK would cancel them."""

    def __init__(self) -> None:
        self._open, self._changed = set[Any](), anyio.Condition()

    async def pass_on(self, lines: Any, requests: Any, answer: Any) -> None:
        """Pass requests on; one that cannot be read is answered, which the SDK does not do."""
        async with requests:
            async for one in lines:
                if isinstance(one, Exception):
                    await answer(_unreadable(one))
                    continue
                said = one.message
                if isinstance(said, types.JSONRPCRequest):
                    self._open |= {said.id} if said.method != "subscriptions/listen" else set()
                elif getattr(said, "method", "") == "notifications/cancelled":
                    self._open.discard((said.params or {}).get("requestId"))
                await requests.send(one)
            async with self._changed:
                while self._open:
                    await self._changed.wait()

    async def pass_back(self, answers: Any, outgoing: Any) -> None:
        """Pass answers back to the client."""
        async with outgoing:
            async for one in answers:
                await outgoing.send(one)
                async with self._changed:
                    self._open.discard(getattr(one.message, "id", None))
                    self._changed.notify_all()


def _unreadable(fault: Any) -> SessionMessage:
    """Return the answer to a line that is no JSON, or no request, under its id if it has one."""
    ident, error = None, types.ErrorData(code=types.PARSE_ERROR, message="no valid request")
    for one in fault.errors() if hasattr(fault, "errors") else ():
        said = one["input"]
        with suppress(ValueError):  # JSON all the same, such as half an emoji
            said = json.loads(said) if isinstance(said, str | bytes) else said
        if isinstance(said, dict) and {"id", "method"} <= said.keys():
            ident = said["id"] if type(said["id"]) in (int, str) else None
            error.code = error.code if said is not one["input"] else types.INVALID_REQUEST
            break
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=ident, error=error))


def over_http(app: App, agent: str, port: int) -> None:
    """Serve clients on this machine that have the token.

    Raises:
        Usage: The port cannot be used.
        Invalid: The token is too short.
    """
    token, place = token_of(app, "mcp-token", "COUNCIL_MCP_TOKEN")
    inner = Serving(app, agent).server.streamable_http_app(streamable_http_path=PATH, host=HOST)
    missing = PlainTextResponse(
        "Authorization: Bearer TOKEN is missing\n", 401, {"www-authenticate": "Bearer"}
    )

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        sent = dict(scope.get("headers", ())).get(b"authorization", b"")
        is_known = hmac.compare_digest(sent, f"Bearer {token}".encode())
        await (inner if is_known or scope["type"] == "lifespan" else missing)(scope, receive, send)

    with listener(HOST, port) as socket:
        where = f"http://{HOST}:{socket.getsockname()[1]}{PATH}"
        sys.stderr.write(f"council: listening on {where}; its bearer token is in {place}\n")
        sys.stderr.flush()
        quiet: Any = {"log_level": "warning", "access_log": False, "server_header": False}
        config = uvicorn.Config(guarded, timeout_graceful_shutdown=2, **quiet)
        anyio.run(uvicorn.Server(config).serve, [socket])
