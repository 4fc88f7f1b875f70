"""How clients reach the server: over standard input and output, or over HTTP on this machine.

Over HTTP only who has the token is answered, and only under a name of this machine: a page in a
browser has neither. What reaches neither is refused before anything is read of it.

Source: IO-004.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from contextlib import suppress

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from council.core.errors import UsageError
from council.mcp.serving import Serving
from council.operations.page_server import HOST
from council.operations.place import Place
from council.working.listening import LEAST_TOKEN_CHARS, listening, token_in

TOKEN = "COUNCIL_MCP_TOKEN"
PATH = "/mcp"
_NAMES = (HOST, "localhost")
_GRACE_S = 2


def over_stdio(place: Place, agent: str) -> None:
    """Serve one client until it goes away."""
    server = Serving(place, agent).server()

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    with suppress(BrokenPipeError):
        try:
            anyio.run(serve)
        except* (BrokenPipeError, anyio.BrokenResourceError):
            pass  # it has gone, and reads no answer any more


def over_http(place: Place, agent: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve clients on this machine until the process is asked to end.

    Args:
        place: The workspace.
        agent: Who acts, "" for people.
        port: The port; 0 for any that is free.
        tell: Gets the lines that say where it is and where the token lies.

    Raises:
        UsageError: The port is taken, or the token of the environment is too short.
    """
    import uvicorn  # what serves one client by its pipes starts sooner without it

    token, where = _token(place)
    with listening(port) as listener:  # from now on, as it says, clients are taken in
        port = listener.getsockname()[1]
        app = _guarded(Serving(place, agent).server(), token)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        tell(f"listening on http://{HOST}:{port}{PATH}; every request needs the header")
        tell(f"Authorization: Bearer TOKEN, where TOKEN is what {where} holds")
        anyio.run(uvicorn.Server(config).serve, [listener])


def _token(place: Place) -> tuple[str, str]:
    """Return the token, and where its user finds it: the variable, else a file made for it."""
    if given := place.environ.get(TOKEN, ""):
        if len(given) < LEAST_TOKEN_CHARS:
            raise UsageError(
                f"{TOKEN} is too short", f"take at least {LEAST_TOKEN_CHARS} characters"
            )
        return given, f"the variable {TOKEN}"
    path = f"{place.paths.control}/mcp-token"
    return token_in(path), path


def _guarded(server: Server[object], token: str) -> ASGIApp:
    """Return the application, which answers only requests with the token, under our names."""
    allowed = TransportSecuritySettings(
        allowed_hosts=[f"{name}:*" for name in _NAMES],
        allowed_origins=[f"http://{name}:*" for name in _NAMES],
    )
    inner = server.streamable_http_app(streamable_http_path=PATH, transport_security=allowed)
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode()
            if not hmac.compare_digest(given, wanted):
                said = "this server needs its token: Authorization: Bearer TOKEN\n"
                headers = {"www-authenticate": "Bearer"}
                await PlainTextResponse(said, 401, headers)(scope, receive, send)
                return
        await inner(scope, receive, send)

    return guarded
