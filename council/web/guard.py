"""Lets requests in: under our own names, from our own pages, with the token or a session.

No body is read before its sender is known. The cookie of a session is derived from the token of the
workspace, so it is valid after a restart, and until the token is removed.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import parse_qs, parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from council.kernel.ids import is_name
from council.web.problems import Problem

API, STATIC = "/api/", "/static/"
FORM_TOKEN, PERSON = "form_token", "council-person"
SESSION_SECONDS = 30 * 24 * 60 * 60
_FIELDS = 1000  # of a form
_DRAIN_SECONDS, _DRAIN_PIECES = 1.0, 256  # of up to 64 KiB
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
        form: What the forms of our pages contain: no other page knows it.
        link: Opens a session once, within a quarter of an hour.
    """

    def __init__(self, token: str) -> None:
        self.token, self.link, self._until = token, secrets.token_urlsafe(18), time.time() + 900
        self.session, self.form = (
            hmac.digest(token.encode(), kind, "sha256").hex() for kind in (b"session", b"form")
        )

    def is_link(self, word: str) -> bool:
        """Return whether a word is the link, which is used up by that."""
        is_valid = _same(word, self.link) and time.time() < self._until
        self._until = 0 if is_valid else self._until
        return is_valid


def _same(word: str, expected: str) -> bool:
    return hmac.compare_digest(word.encode("utf-8", "replace"), expected.encode())


class Guard:
    """The application behind its door.

    What is let in has `state.form_token` for its forms and `state.person`, the name that a proxy
    passes on, "" for the owner.

    Attributes:
        origins: Where our pages are, such as `http://localhost:8420`.
        cookie: The name of the session's cookie.
        most: Bytes of a body.
        refuse: Makes the response of a problem.
    """

    def __init__(
        self,
        app: ASGIApp,
        keys: Keys,
        origins: set[str],
        cookie: str,
        most: int,
        refuse: Callable[[Request, Problem], Response],
    ) -> None:
        self.app, self.keys, self.cookie, self.most = app, keys, cookie, most
        self.origins, self.refuse = {one.lower() for one in origins}, refuse
        self._hosts = {name for origin in self.origins for name in _hosts(origin)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, body = Headers(scope=scope), None

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    ours.setdefault(name, value)
                if scope["path"].startswith(STATIC):
                    ours["cache-control"] = "max-age=300"
            await send(message)

        try:
            sender = self._recognise(scope, headers)
            if link := self._opened(scope, sender):
                await link(scope, receive, sent)
                return
            is_static = scope["path"].startswith(STATIC)
            if not sender and not (is_static and scope["method"] in _SAFE):
                what = "this needs the token of the workspace, or a session"
                hint = "open the link of council serve, or send Authorization: Bearer TOKEN"
                raise Problem(401, "unauthorized", what, hint)
            body = await self._body(receive) if sender else b""
            self._check_form(scope, headers, body, sender)
        except Problem as problem:
            if body is None:
                problem.headers["connection"] = "close"
                if "expect" not in headers:  # else nothing is on its way
                    await _drain(receive)
            await self.refuse(Request(scope), problem)(scope, receive, sent)
            return
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def received() -> Message:
            return unread.pop() if unread else await receive()

        # What answers GET answers HEAD; the server leaves the body out.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        await self.app({**scope, "method": method}, received, sent)

    def _recognise(self, scope: Scope, headers: Headers) -> str:
        """Note who asks; return whether the `token` or a `cookie` says so, else ""."""
        if headers.get("host", "").lower() not in self._hosts:
            hint = 'a proxy needs its address in council.toml: [serve] origins = ["https://…"]'
            raise Problem(403, "unknown-host", "this server has no such name", hint)
        if headers.get("origin", "").lower() not in {"", *self.origins}:
            raise Problem(403, "foreign-origin", "pages of other origins may not ask")
        if int(headers.get("content-length", "0")) > self.most:
            raise self._too_long()
        scheme, _, word = headers.get("authorization", "").partition(" ")
        # A server at another port can put a cookie of the same name beside ours.
        cookies = [cookie_parser(one) for one in ";".join(headers.getlist("cookie")).split(";")]
        is_token = scheme.lower() == "bearer" and _same(word.strip(), self.keys.token)
        sessions = [one.get(self.cookie, "") for one in cookies if not scheme]
        is_session = any(_same(one, self.keys.session) for one in sessions)
        sender = "token" if is_token else "cookie" * is_session
        person = headers.get(PERSON, "") if sender == "token" else ""
        if person and not is_name(person):
            raise Problem(400, "malformed", f"{PERSON} is not a name such as anna")
        state = {"form_token": self.keys.form if sender else "", "person": person}
        scope.setdefault("state", {}).update(state)
        return sender

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

    async def _body(self, receive: Receive) -> bytes:
        body, is_more = bytearray(), True
        while is_more:
            message = await receive()
            if message["type"] != "http.request":
                raise Problem(400, "malformed", "the body was cut off")
            body += message.get("body", b"")
            if len(body) > self.most:
                raise self._too_long()
            is_more = message.get("more_body", False)
        return bytes(body)

    def _check_form(self, scope: Scope, headers: Headers, body: bytes, sender: str) -> None:
        """Refuse what a foreign page may have made a browser send.

        A browser adds its cookie by itself, and what signs it in at a proxy. So each form of our
        pages contains a word that no other page knows.
        """
        is_program = sender == "token" and scope["path"].startswith(API)
        if not sender or is_program or scope["method"] in _SAFE:
            return
        word = headers.get("x-form-token", "")
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            with suppress(ValueError):  # too many fields
                fields = parse_qs(body.decode("latin-1"), max_num_fields=_FIELDS)
                word = fields.get(FORM_TOKEN, [""])[0]
        if not _same(word, self.keys.form):
            hint = "load the page again, then send the form once more"
            raise Problem(403, "forged", "this did not come from one of our pages", hint)

    def _too_long(self) -> Problem:
        return Problem(413, "too-long", f"the body exceeds {self.most} bytes", "send less at once")


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
