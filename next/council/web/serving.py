"""The server: what answers under which path, and how it is started."""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import signal
import socket
from contextlib import asynccontextmanager, suppress
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI, Form, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

import council
from council.app import App
from council.kernel import errors, files
from council.kernel.errors import Invalid, Usage
from council.web import api, debates, problems, stream
from council.web.guard import API, HEAD_BYTES, SIGN_IN, Guard, Sessions
from council.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

HOST, PORT = "127.0.0.1", 8420
TOKEN = "web-token"  # a file in `.council`
_NAMES = (HOST, "localhost", "[::1]")
_STATIC = f"{os.path.dirname(__file__)}/static"
_SLACK = 64 * 1024  # bytes of a body beside its text
_BARE = """<!doctype html><meta charset="utf-8"><title>{title}</title><h1>{title}</h1>
<p>{detail}</p><p>{hint}</p>{form}"""
_FORM = """<form method="post" action="/sign-in"><label>Token <input name="token" type="password">
</label> <button>Sign in</button></form>"""


def create(app: App, sessions: Sessions, port: int, host: str = HOST) -> Guard:
    """Return everything that is served, behind its guard."""
    web = FastAPI(
        title="council",
        version=council.__version__,
        description=problems.ABOUT,
        responses=problems.described(),
        lifespan=_life,
        redirect_slashes=False,  # it would lead to http, also behind a proxy
        docs_url=None,
        redoc_url=None,
        exception_handlers={
            RequestValidationError: _invalid,
            HTTPException: _unknown,
            errors.Refusal: _refused,
            Problem: _refused,
        },
    )
    env = {k: v for k, v in app.env.items() if k not in ("COUNCIL_AGENT", "COUNCIL_NAME")}
    web.state.open = lambda: App(app.root, app.fixed, env)  # a request reads settings anew
    cookie, ours = f"council-{port}", {f"http://{name}:{port}" for name in (*_NAMES, _named(host))}
    web.openapi = lambda: problems.description(web, cookie)  # type: ignore[method-assign]
    most = 2 * app.settings.max_text_bytes + _SLACK
    guard = Guard(web, sessions, ours | _origins(app), cookie, most, refuse)

    @web.post(SIGN_IN, include_in_schema=False)
    async def sign_in(token: str = Form(default="", max_length=1000)) -> Response:
        if not sessions.is_token(token.strip()):
            hint = f"it is in memory/shared/.council/{TOKEN}"
            raise Problem(401, "unauthorized", "this is not the token of the workspace", hint)
        return guard.signed_in(RedirectResponse("/", 303), sessions.session())

    for router in (api.router, debates.router, stream.routes(stream.Stream(web.state.open))):
        web.include_router(router)
    if find_spec("council.web.pages"):
        from council.web import pages  # type: ignore[attr-defined]  # late: it may be missing

        web.include_router(pages.pages(app))
    if os.path.isdir(_STATIC):
        web.mount("/static", StaticFiles(directory=_STATIC))
    return guard


@asynccontextmanager
async def _life(_: FastAPI) -> AsyncIterator[None]:
    """Reap the supervisors that requests start: nobody else waits for them."""

    def reap(*_: object) -> None:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    with suppress(ValueError, RuntimeError):  # not in the main thread, as in tests
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, reap)
    yield


def refuse(request: Request, problem: Problem) -> Response:
    """Return a refusal: a problem for programs, a page for browsers."""
    if request.url.path.startswith(API) or "text/html" not in request.headers.get("accept", ""):
        return problem.response()
    if find_spec("council.web.pages"):
        from council.web import pages  # type: ignore[attr-defined]  # late: it may be missing

        if hasattr(pages, "refused"):
            response: Response = pages.refused(request, problem)
            response.headers.update(problem.headers)
            return response
    title = problem.code.replace("-", " ").capitalize()
    words = {"title": title, "detail": problem.detail, "hint": problem.hint}
    form = _FORM if problem.status == 401 else ""
    page = _BARE.format(**{key: escape(word) for key, word in words.items()}, form=form)
    return HTMLResponse(page, problem.status, problem.headers)


async def _refused(request: Request, error: Exception) -> Response:
    return refuse(request, problems.of(error) if isinstance(error, errors.Refusal) else error)  # type: ignore[arg-type]


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = [
        f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in error.errors()
    ]
    return refuse(request, Problem(422, "invalid", "; ".join(faults)[:1000], "see /openapi.json"))


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "refused")
    problem = Problem(error.status_code, code, str(error.detail))
    if error.status_code == 405:
        allowed = api.methods(request.app, request.url.path)
        problem.headers["Allow"] = ", ".join(sorted(allowed))
    return refuse(request, problem)


def token_of(app: App) -> str:
    """Return the token of the workspace; the first who asks makes it, for its user only.

    Raises:
        Invalid: The file does not contain one.
    """
    path = f"{app.state_folder}/{TOKEN}"
    with files.reported("write", path), suppress(FileExistsError):
        new = f"{path}.{os.getpid()}"
        files.fill(new, f"{secrets.token_urlsafe(24)}\n".encode(), 0o600, durable=True)
        try:
            os.link(new, path)
        finally:
            os.unlink(new)
    found = files.read(path, 1000)
    token = found[0].decode("utf-8", "replace").strip() if found else ""
    if len(token) < 16 or not token.isascii():
        raise Invalid("no-token", f"{path} contains no token", "remove it: a new one is made")
    return token


def start(
    app: App, host: str = "", port: int | None = None
) -> tuple[dict[str, Any], Callable[[], None]]:
    """Listen; return where, and what serves until the process is asked to end.

    Raises:
        Usage: The port is taken, or `host` is not an address of this machine.
    """
    table = app.settings.tables.get("serve", {})
    wanted = table.get("port", PORT) if port is None else port
    if not isinstance(wanted, int) or not 0 <= wanted < 65536:
        raise Usage("bad-port", f"no port {wanted!r}", "use 0 to 65535")
    listener = _listener(host or HOST, wanted)
    at = listener.getsockname()
    sessions, name = Sessions(token_of(app)), _named(host or HOST)
    config = uvicorn.Config(
        create(app, sessions, at[1], host or HOST), ws="none", loop="asyncio", http="h11",
        proxy_headers=False, server_header=False, access_log=False, log_level="critical",
        h11_max_incomplete_event_size=HEAD_BYTES, timeout_graceful_shutdown=1,
    )  # fmt: skip
    url = f"http://{HOST if name in ('0.0.0.0', '[::]') else name}:{at[1]}"
    made = {"url": url, "host": at[0], "port": at[1], "link": f"{url}/?link={sessions.link()}"}
    made |= {"token": os.path.relpath(f"{app.state_folder}/{TOKEN}", app.root)}
    made["loopback"] = at[0].startswith("127.") or at[0] == "::1"

    def run() -> None:
        gc.set_threshold(10_000)  # commands collect nothing; a server lives long
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run([listener])

    return made, run


def _listener(host: str, port: int) -> socket.socket:
    hint = f"use an address of this machine, such as --host {HOST}"
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        *how, _, address = min(found, key=lambda one: one[0])  # IPv4 first
        listener = socket.socket(*how)  # with the protocol, else asyncio leaves Nagle's delay on
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)
    except UnicodeError:
        raise Usage("bad-host", f"no address {host[:60]!r}", hint) from None
    except OSError as error:
        what = f"cannot listen at {host[:60]} port {port}: {error.strerror or error}"
        raise Usage("cannot-listen", what, f"use another one: --port N; {hint}") from None
    return listener


def _named(host: str) -> str:
    return f"[{host.strip('[]')}]" if ":" in host else host.lower()


def _origins(app: App) -> set[str]:
    """Return the further addresses of `[serve]`; those that are none are left out."""
    told = app.settings.tables.get("serve", {}).get("origins", [])
    return {one.rstrip("/") for one in told if isinstance(one, str) and "://" in one}
