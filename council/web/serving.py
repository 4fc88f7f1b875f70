"""The server: what answers under which path, and how it is started."""

from __future__ import annotations

import gc
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import iter_route_contexts
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

import council
from council import listening
from council.app import App
from council.kernel import errors
from council.web import api, pages, problems, stream
from council.web.guard import API, Guard, Keys
from council.web.operations import Asked

HOST, PORT = "127.0.0.1", 8420
TOKEN = "web-token"  # a file in `.council`
_SLACK = 64 * 1024  # bytes of a body beside its text
_STATIC = f"{os.path.dirname(__file__)}/static"


def create(app: App, keys: Keys, port: int, host: str = HOST) -> Guard:
    """Return everything that is served, behind its guard."""
    failures = errors.Refusal, RequestValidationError, HTTPException, Exception
    handlers: dict[Any, Any] = dict.fromkeys(failures, refuse)
    cookie = f"council-{port}"
    known = HTTPBearer(auto_error=False), APIKeyCookie(name=cookie, auto_error=False)
    web = FastAPI(
        title="council",
        version=council.__version__,
        description=problems.INTERFACE["about"],
        responses=problems.described(),
        exception_handlers=handlers,
        dependencies=[Depends(one) for one in known],  # the guard is what asks for either
        redirect_slashes=False,  # it would lead to http, also behind a proxy
        docs_url=None,
        redoc_url=None,
    )
    env = {k: v for k, v in app.env.items() if k not in ("COUNCIL_AGENT", "COUNCIL_NAME")}
    web.state.open = lambda: Asked(app.root, app.fixed, env)  # each request reads settings anew
    web.openapi = lambda: problems.description(web)  # type: ignore[method-assign]
    configured = app.settings.tables.get("serve", {}).get("origins", [])
    origins = {one.rstrip("/") for one in configured if isinstance(one, str)}
    origins |= {f"http://{name}:{port}" for name in (HOST, "localhost", "[::1]", _named(host))}
    streams = stream.routes(stream.Stream(web.state.open))
    for router in (api.councils, api.others, api.debates, streams, pages.routes()):
        web.include_router(router)
    web.mount("/static", StaticFiles(directory=_STATIC))
    return Guard(web, keys, origins, cookie, 2 * app.settings.max_text_bytes + _SLACK, refuse)


def refuse(request: Request, error: Exception) -> Response:
    """Return a refusal: a problem for programs, a page for browsers.

    Details of an error of our own go where commands put them.
    """
    problem = problems.of(error)
    if problem.code == "unexpected":
        path = f"{request.app.state.open().state_folder}/errors.log"
        with suppress(OSError), open(path, "a", encoding="utf-8", errors="replace") as file:
            traceback.print_exception(error, file=file)
        problem.hint = f"the details are in {path}"
    status: Any = problem.more["status"]
    if "text/html" not in request.headers.get("accept", "") or request.url.path.startswith(API):
        response = problems.response(problem, status)
    else:
        response = pages.rendered(request, "error.html", status, {"error": problem})
    response.headers.update(problems.HEADERS.get(status, {}))
    if status == 405:  # of all routes of this path; Starlette names those of one
        routes = [one for one in iter_route_contexts(request.app.routes) if one.methods]
        there = [one.methods for one in routes if one.path_regex.match(request.url.path)]
        response.headers["Allow"] = ", ".join(sorted({m for one in there for m in one or ()}))
    return response


def start(app: App, host: str, port: int | None) -> tuple[dict[str, Any], Callable[[], None]]:
    """Listen; return where, and what serves until the process is asked to end."""
    wanted = app.settings.tables.get("serve", {}).get("port", PORT) if port is None else port
    listener = listening.listener(host or HOST, wanted)
    address, number = listener.getsockname()[:2]
    name, keys = _named(host or HOST), Keys(listening.token_of(app, TOKEN)[0])
    config = uvicorn.Config(
        create(app, keys, number, host or HOST), ws="none", loop="asyncio", proxy_headers=False,
        server_header=False, access_log=False, log_level="critical", timeout_graceful_shutdown=1,
    )  # fmt: skip
    url = f"http://{HOST if name == '0.0.0.0' else '[::1]' if name == '[::]' else name}:{number}"
    place = {"url": url, "host": address, "port": number, "link": f"{url}/?link={keys.link}"}
    place["token"] = os.path.relpath(f"{app.state_folder}/{TOKEN}", app.root)
    place["loopback"] = address.startswith("127.") or address == "::1"

    def run() -> None:
        gc.set_threshold(10_000)  # commands collect nothing; a server lives long
        signal.signal(signal.SIGCHLD, _reap)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run([listener])

    return place, run


def _reap(*_: object) -> None:
    """Take the exit code of supervisors that requests started: nobody else waits for them."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _named(host: str) -> str:
    return f"[{host.strip('[]')}]" if ":" in host else host.lower()
