"""Lets requests in: under our own names, from our own pages, with the token or a session.

Every response leaves through here, too, and gets the headers that keep a browser from obeying
what agents wrote.

Source: DL-066, DG-132, `trust.md`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from council.web import problems
from council.web.sessions import SESSION_S, Sessions

COOKIE = "council"
_SAFE = ("GET", "HEAD", "OPTIONS")
_OPEN = ("/static/",)
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """The application behind its door.

    Args:
        app: What answers requests that are let in.
        sessions: Who may ask.
        names: The values of `Host` under which we are reached.
        most_bytes: How long the body of a request may be.
    """

    def __init__(
        self, app: ASGIApp, sessions: Sessions, names: frozenset[str], most_bytes: int
    ) -> None:
        self._app = app
        self._sessions = sessions
        self._names = names
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let it in."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    answered.setdefault(name, value)
                answered.setdefault("cache-control", "no-store")
            await send(message)

        refusal = (
            self._refusal(scope, headers) or self._opened(scope) or self._let_in(scope, headers)
        )
        await (refusal or self._app)(scope, receive, sent)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Return why a request is refused whoever sends it."""
        if scope["type"] != "http":
            return problems.problem(403, "refused", "only HTTP is spoken here")
        if headers.get("host", "") not in self._names:
            return problems.problem(403, "refused", "this server is not reached by that name")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc not in self._names:
            return problems.problem(403, "refused", "a page from elsewhere may not ask")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._most_bytes:
            return problems.problem(413, "too-long", f"more than {self._most_bytes} bytes")
        return None

    def _opened(self, scope: Scope) -> Response | None:
        """Return the way on for one who opens a link, with a session."""
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        link = query.pop("link", "")
        if not link or scope["method"] != "GET":
            return None
        session = self._sessions.session_for(link, int(time.time()))
        if not session:
            return None
        where = scope["path"] + (f"?{urlencode(query)}" if query else "")
        answer = RedirectResponse(where, 303)
        answer.set_cookie(
            COOKIE, session, max_age=SESSION_S, path="/", httponly=True, samesite="strict"
        )
        return answer

    def _let_in(self, scope: Scope, headers: Headers) -> Response | None:
        """Note who asks; return why one who has shown nothing is refused."""
        state = scope.setdefault("state", {})
        state.update(environ={}, form_token="")
        if scope["path"].startswith(_OPEN):
            return None
        given = headers.get("authorization", "")
        if given.startswith("Bearer "):
            if self._sessions.is_token(given.removeprefix("Bearer ")):
                return None
        elif self._has_session(state, cookie_parser(headers.get("cookie", ""))):
            return None
        return problems.problem(
            401,
            "unauthorized",
            "this server needs its token, or a link that it printed",
            headers={"WWW-Authenticate": "Bearer"},
        )

    def _has_session(self, state: dict[str, Any], cookies: Mapping[str, str]) -> bool:
        session = cookies.get(COOKIE, "")
        if not self._sessions.is_session(session, int(time.time())):
            return False
        state["form_token"] = self._sessions.form_token(session)
        return True
