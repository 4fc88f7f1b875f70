"""Lets requests in: under our own names, from our own pages, with the token or a session.

No body is read before its sender is known. The cookie of a session is derived from the token of the
workspace, so it is valid after a restart, and until the token is removed. A browser adds its cookie
by itself, and what signs it in at a proxy; but it says which page made it send something.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from council.kernel.errors import Invalid, Refusal, Refused, Usage
from council.kernel.ids import is_name

API, STATIC, PERSON = "/api/", "/static/", "council-person"
_DRAIN_SECONDS, _DRAIN_PIECES = 1.0, 256  # of up to 64 KiB
SESSION_SECONDS = 30 * 24 * 60 * 60
_SAFE = ("GET", "HEAD", "OPTIONS")
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with "no-referrer" our forms have the origin "null"
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Keys:
    """What the token of a workspace opens: itself, one link a start, the cookie of browsers.

    Attributes:
        token: What programs send.
        session: The value of the cookie.
        link: Opens a session once, within a quarter of an hour.
    """

    def __init__(self, token: str) -> None:
        self.token, self.link, self._until = token, secrets.token_urlsafe(18), time.time() + 900
        self.session = hmac.digest(token.encode(), b"session", "sha256").hex()

    def is_link(self, word: str) -> bool:
        """Return whether a word is the link, which is used up by that."""
        is_valid = _same(word, self.link) and time.time() < self._until
        self._until = 0 if is_valid else self._until
        return is_valid


def _same(word: str, expected: str) -> bool:
    return hmac.compare_digest(word.encode("utf-8", "replace"), expected.encode())


class Guard:
    """The application behind its door.

    What is let in has `state.sender`, how we know it (the `token` or a `cookie`; "" for strangers,
    who get static files), and `state.person`, the name that a proxy passes on, "" for the owner.

    Attributes:
        origins: Where our pages are, such as `http://localhost:8420`.
        cookie: The name of the session's cookie.
        most: Bytes of a body.
        refuse: Makes the response of a refusal.
    """

    def __init__(
        self, app: ASGIApp, keys: Keys, origins: set[str], cookie: str, most: int,
        refuse: Callable[[Request, Refusal], Response],
    ) -> None:  # fmt: skip
        self.app, self.keys, self.cookie, self.most = app, keys, cookie, most
        self.origins, self.refuse = {one.lower() for one in origins}, refuse
        self._hosts = {name for origin in self.origins for name in _hosts(origin)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state |= {"sender": "", "person": ""}
        got = 0

        async def received() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            self._check_length(got)
            return message

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    ours.setdefault(name, value)
                if scope["path"].startswith(STATIC):
                    ours["cache-control"] = "max-age=300"
            await send(message)

        try:
            answer = self._let_in(scope, Headers(scope=scope), state)
        except Refusal as refusal:
            answer = self.refuse(Request(scope), refusal)
            if not state["sender"]:
                answer.headers["connection"] = "close"
                if "expect" not in Headers(scope=scope):  # else nothing is on its way
                    await _drain(receive)
        # What answers GET answers HEAD; the server leaves the body out.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await (answer or self.app)({**scope, "method": method}, received, sent)

    def _let_in(self, scope: Scope, headers: Headers, state: dict[str, str]) -> Response | None:
        """Note who asks; return the response to a link, None where the application has it."""
        if headers.get("host", "").lower() not in self._hosts:
            hint = 'a proxy needs its address in council.toml: [serve] origins = ["https://…"]'
            raise Refused("unknown-host", "this server has no such name", hint)
        origin, path, is_safe = headers.get("origin", ""), scope["path"], scope["method"] in _SAFE
        if origin.lower() not in {"", *self.origins}:
            raise Refused("foreign-origin", "pages of other origins may not ask")
        sender = state["sender"] = self._sender(headers)
        self._check_length(int(headers.get("content-length", "0")))
        if link := self._opened(scope, sender):
            return link
        if not sender and not (path.startswith(STATIC) and is_safe):
            what = "this needs the token of the workspace, or a session"
            hint = "open the link of council serve, or send Authorization: Bearer TOKEN"
            raise Refusal("unauthorized", what, hint, status=401)
        state["person"] = person = headers.get(PERSON, "") * (sender == "token")
        if person and not is_name(person):
            raise Usage("malformed", f"{PERSON} is not a name such as anna")
        is_program = sender == "token" and path.startswith(API)
        is_ours = origin or headers.get("sec-fetch-site") == "same-origin"
        if not (is_safe or is_program or is_ours):
            hint = "load the page again, then send the form once more"
            raise Refused("forged", "this did not come from one of our pages", hint)
        return None

    def _sender(self, headers: Headers) -> str:
        """Return whether the `token` or a `cookie` says who asks, else ""."""
        scheme, _, word = headers.get("authorization", "").partition(" ")
        if scheme:
            return "token" * (scheme.lower() == "bearer" and _same(word.strip(), self.keys.token))
        # A server at another port can put a cookie of the same name beside ours.
        cookies = [cookie_parser(one) for one in ";".join(headers.getlist("cookie")).split(";")]
        return "cookie" * any(_same(one.get(self.cookie, ""), self.keys.session) for one in cookies)

    def _opened(self, scope: Scope, sender: str) -> Response | None:
        """Return the response to a link: a session, and the address without the link."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        link = dict(query).get("link")
        if not link or scope["method"] != "GET" or not (sender or self.keys.is_link(link)):
            return None
        rest = urlencode([one for one in query if one[0] != "link"])
        path = "/" + scope["path"].lstrip("/")  # `//host` would lead elsewhere
        response = RedirectResponse(path + f"?{rest}" * bool(rest), 303)
        if not sender:
            response.set_cookie(
                self.cookie, self.keys.session, SESSION_SECONDS, httponly=True, samesite="lax"
            )
        return response

    def _check_length(self, count: int) -> None:
        if count > self.most:
            what = f"the body exceeds {self.most} bytes"
            raise Invalid("too-long", what, "send less at once", status=413)


def _hosts(origin: str) -> list[str]:
    """Return the values of `Host` for an origin; the default port may be left out or given."""
    scheme, _, name = origin.partition("://")
    port = ":443" if scheme == "https" else ":80"
    return [name.removesuffix(port), name if ":" in name.rpartition("]")[2] else name + port]


async def _drain(receive: Receive) -> None:
    """Drop what still comes, within bounds: some clients read no answer before they sent all."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            for _ in range(_DRAIN_PIECES):
                if not (await receive()).get("more_body"):
                    return
