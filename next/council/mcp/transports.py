"""`council mcp`: how clients reach the server, by standard input or by HTTP on this machine."""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import sys
from contextlib import suppress

from council.app import App
from council.councils import service
from council.kernel.errors import Invalid, NotFound, Usage
from council.kernel.ids import checked_name
from council.kernel.record import Any

TOKEN, PATH, PORT = "COUNCIL_MCP_TOKEN", "/mcp", 8421
SHORTEST = 16  # characters of a token


def serve_mcp(
    app: App, as_: str = "", http: bool = False, port: int | None = None
) -> dict[str, Any]:
    """Serve clients until they are gone, or the process is ended.

    Raises:
        NotFound: The SDK is not installed (`no-extra`).
        Usage: The port is taken, or one is given without `http`.
        Invalid: The token is too short, or the agent's id is none.
    """
    try:
        from council.mcp.serving import Serving  # late: it needs the extra
    except ModuleNotFoundError as error:
        what = f"the Python package {error.name} is missing"
        raise NotFound("no-extra", what, "pip install 'council-files[mcp]'") from None
    if port is not None and not http:
        raise Usage("usage", "--port needs --http", "council mcp --http --port N")
    agent = ""
    with suppress(Usage):  # without an agent it acts as a person
        agent = checked_name(service.who(app, as_), "agent id")
    server = Serving(app, agent).server
    with suppress(BrokenPipeError):
        if http:
            _http(app, server, PORT if port is None else port)
        else:
            _stdio(server)
    return {}


def _stdio(server: Any) -> None:
    import anyio  # late: part of the extra, as are the following
    from mcp.server.stdio import stdio_server  # late: as above

    async def serve() -> None:
        async with stdio_server() as (lines, outgoing), anyio.create_task_group() as group:
            send, receive = anyio.create_memory_object_stream[Any](0)
            group.start_soon(_answered, lines, send, outgoing.send)
            await server.run(receive, outgoing, server.create_initialization_options())

    try:
        anyio.run(serve)
    except* (BrokenPipeError, anyio.BrokenResourceError):
        pass  # the client has gone


async def _answered(lines: Any, requests: Any, answer: Any) -> None:
    """Pass requests on; one that cannot be read is answered, which the SDK does not do."""
    import mcp_types as types  # late: as above
    from mcp.shared.message import SessionMessage  # late: as above

    async with requests:
        async for one in lines:
            if not isinstance(one, Exception):
                await requests.send(one)
                continue
            ident, fault = None, types.ErrorData(code=types.PARSE_ERROR, message="no valid request")
            with suppress(Exception):  # JSON all the same, such as half an emoji
                ident = json.loads(one.errors()[0]["input"]).get("id")  # type: ignore[attr-defined]
            error = types.JSONRPCError(jsonrpc="2.0", id=ident, error=fault)
            await answer(SessionMessage(error))


def _http(app: App, server: Any, port: int) -> None:
    import anyio  # late: part of the extra, as are the following
    import uvicorn  # late: as above
    from starlette.responses import PlainTextResponse  # late: as above

    path = f"{app.state_folder}/mcp-token"
    token = app.env.get(TOKEN) or _kept(path)
    if len(token) < SHORTEST:
        what = f"the token is shorter than {SHORTEST} characters"
        raise Invalid("bad-token", what, f"set {TOKEN} to a longer one, or remove {path}")
    inner = server.streamable_http_app(streamable_http_path=PATH)  # checks Host and Origin
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        sent = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(sent, wanted):
            how = {"www-authenticate": "Bearer"}
            refused = PlainTextResponse("Authorization: Bearer TOKEN is missing\n", 401, how)
            await refused(scope, receive, send)
        else:
            await inner(scope, receive, send)

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise Usage("port", f"port {port}: {error}", "choose another with --port") from None
        listener.listen()
        where = f"http://127.0.0.1:{listener.getsockname()[1]}{PATH}"
        kept = f"the variable {TOKEN}" if app.env.get(TOKEN) else path
        sys.stderr.write(f"council: listening on {where}; Authorization: Bearer, then {kept}\n")
        sys.stderr.flush()
        own: Any = {"log_level": "warning", "access_log": False, "timeout_graceful_shutdown": 2}
        config = uvicorn.Config(guarded, server_header=False, **own)
        anyio.run(uvicorn.Server(config).serve, [listener])


def _kept(path: str) -> str:
    """Return the token in a file that only its user can read; the first who asks makes it."""
    with suppress(FileExistsError), open(path, "x", opener=_private) as file:
        file.write(secrets.token_urlsafe(32))
    with open(path, encoding="utf-8") as file:
        return file.read(1000).strip()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
