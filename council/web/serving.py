"""The server: what answers under which path, and how it listens.

Source: DL-066, DL-067, DG-005.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

import council
from council.core.errors import UsageError
from council.operations.place import Place
from council.store.keys import made
from council.store.settings import language
from council.web import api, council_pages, forms, pages, problems, streams
from council.web.events import Hub
from council.web.guard import Guard
from council.web.sessions import Sessions
from council.working.calling import Worker

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_GRACE_S = 2
_SLACK_BYTES = 64 * 1024
_STATIC = f"{os.path.dirname(__file__)}/static"


def application(place: Place, sessions: Sessions, names: frozenset[str]) -> ASGIApp:
    """Return everything that is served, behind its guard."""
    worker = Worker("council.web.working", {**place.environ, "COUNCIL_ROOT": place.root})
    hub = Hub(place, worker)
    most = place.settings.max_text_bytes

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(hub.watch())
        try:
            yield
        finally:
            watching.cancel()
            worker.end()

    app = FastAPI(
        title="council",
        version=council.__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        exception_handlers={
            RequestValidationError: _invalid,
            HTTPException: _unknown,
            pages.RefusedError: pages.refused,
        },
    )
    app.state.worker = worker
    app.state.workspace = os.path.basename(place.root) or place.root
    app.state.language = language(place.settings, "", place.environ)
    app.include_router(api.router(worker, most))
    app.include_router(streams.router(hub, worker))
    app.include_router(council_pages.router())
    app.include_router(pages.router())
    app.include_router(forms.router(most))
    app.mount("/static", StaticFiles(directory=_STATIC))
    return Guard(app, sessions, names, 2 * most + _SLACK_BYTES)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = [
        f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors()
    ]
    return problems.problem(422, "invalid-input", "; ".join(faults), "see /openapi.json")


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "refused")
    headers = dict(error.headers or {})
    if not request.url.path.startswith(f"{api.PREFIX}/") and request.state.form_token:
        refusal = {"status": error.status_code, "message": str(error.detail), "hint": ""}
        return await pages.refused(request, pages.RefusedError(refusal))
    return problems.problem(error.status_code, code, str(error.detail), headers=headers)


def serve(place: Place, port: int, tell: Callable[[str], None]) -> None:
    """Serve the workspace on this machine until the process is asked to end.

    Args:
        place: The workspace.
        port: The port; 0 for any that is free.
        tell: Gets the lines that say where it is.

    Raises:
        UsageError: The port is taken, or there is no token.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except (OSError, OverflowError) as error:
            why = f"cannot listen on port {port}: {error}"
            raise UsageError(why, "take another: --port N") from None
        listener.listen(1024)
        port = listener.getsockname()[1]
        sessions = Sessions(_token(place), int(time.time()))
        names = frozenset(f"{name}:{port}" for name in _NAMES)
        config = uvicorn.Config(
            application(place, sessions, names),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
        )
        tell(f"http://{HOST}:{port}/?link={sessions.link(int(time.time()))}")
        uvicorn.Server(config).run([listener])


def _token(place: Place) -> str:
    path = f"{place.paths.control}/web-token"
    standing = made(path)
    token = standing.data.decode("utf-8", "replace").strip() if standing is not None else ""
    if len(token) < 16:
        raise UsageError(f"{path} does not hold a token", "remove it: a new one is made")
    return token
