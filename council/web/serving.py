"""The server: what answers under which path. How it is started stands in `starting`.

Source: DL-066, DL-067.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

import council
from council.core.agents import with_default_port_left_out
from council.core.times import render_instant
from council.operations.page_server import HOST
from council.operations.place import Place
from council.store.settings import language
from council.web import api, debates, forms, pages, problems, streams
from council.web.asking import RefusedError
from council.web.description import ABOUT, describe
from council.web.events import Hub
from council.web.guard import Guard
from council.web.sessions import Sessions
from council.working.calling import Worker

_NAMES = (HOST, "localhost")
_SLACK_BYTES = 64 * 1024
_STATIC = f"{os.path.dirname(__file__)}/static"


def application(
    place: Place, sessions: Sessions, host: str, port: int
) -> tuple[ASGIApp, Callable[[], None]]:
    """Return everything that is served, behind its guard, and what ends its streams."""
    fixed = {"COUNCIL_ROOT": place.root}
    if place.fixed_now is not None:
        fixed["COUNCIL_NOW"] = render_instant(place.fixed_now)
    worker = Worker("council.web.working", {**place.environ, **fixed})
    hub = Hub(place, worker)
    most = place.settings.max_text_bytes

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(hub.watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait([watching])  # it ends a thread that calls this loop
            worker.end()

    app = FastAPI(
        title="council",
        version=council.__version__,
        description=ABOUT,
        responses=problems.described(),
        lifespan=life,
        redirect_slashes=False,  # it would lead to http, also behind a proxy
        docs_url=None,
        redoc_url=None,
        exception_handlers={
            RequestValidationError: _invalid,
            HTTPException: _unknown,
            RefusedError: _refused,
        },
    )
    cookie = f"council-{port}"
    app.openapi = lambda: describe(app, cookie)  # type: ignore[method-assign]
    app.state.worker = worker
    app.state.workspace = os.path.basename(place.root) or place.root
    app.state.language = language(place.settings, "", place.environ)
    app.include_router(api.router(most))
    app.include_router(debates.router())
    app.include_router(streams.router(hub))
    app.include_router(pages.router())
    app.include_router(forms.router(most))
    app.mount("/static", StaticFiles(directory=_STATIC))
    ours = {with_default_port_left_out(f"http://{name}:{port}") for name in (*_NAMES, host)}
    origins = frozenset((*ours, *place.settings.serve.origins))
    return Guard(app, sessions, origins, cookie, 2 * most + _SLACK_BYTES), hub.end


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = [
        f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors()
    ]
    return problems.problem(422, "invalid-input", "; ".join(faults), "see /openapi.json")


async def _refused(request: Request, error: Exception) -> Response:
    """Return why what was asked for was refused: a problem to programs, a page to people."""
    assert isinstance(error, RefusedError)
    if request.url.path.startswith(f"{api.PREFIX}/"):
        return problems.of_error(error.error)
    return pages.page("error.html", request, error.error["status"], refused=error.error)


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "refused")
    headers = dict(error.headers or {})
    if not request.url.path.startswith(f"{api.PREFIX}/") and request.state.form_token:
        if request.method == "GET" and (path := request.url.path).endswith("/"):
            query = f"?{request.url.query}" if request.url.query else ""
            return RedirectResponse(quote(path.rstrip("/")) + query, 308)
        return await _refused(request, RefusedError(error.status_code, code, str(error.detail)))
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        known = [one for one in iter_route_contexts(request.app.routes) if one.methods]
        there = [one for one in known if one.path_regex.match(request.url.path)]
        allowed = {method for one in there for method in one.methods or ()}
        headers["Allow"] = ", ".join(sorted(allowed))
    return problems.problem(error.status_code, code, str(error.detail), headers=headers)
