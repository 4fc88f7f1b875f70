"""Lets requests in: under our own names, from our own pages, with the token or a session.

No body is read before its sender is known. Sessions and links are derived from the workspace's
token, so a session survives a restart; a link opens one session, at the server that printed it.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from base64 import urlsafe_b64encode
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import RedirectResponse, Response

from council.kernel.ids import is_name
from council.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

API, STATIC, SIGN_IN = "/api/", "/static/", "/sign-in"
FORM_TOKEN, PERSON = "form_token", "council-person"
BODY_SECONDS, LINK_SECONDS, SESSION_SECONDS = 30.0, 15 * 60, 30 * 24 * 60 * 60
_FORM_BYTES, _FIELDS = 4096, 1000  # of the sign-in form; of any form
_DRAIN_SECONDS, _DRAIN_BYTES = 1.0, 16 << 20
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


class Sessions:
    """Links, sessions and form tokens: words that end with a digest keyed by the token."""

    def __init__(self, token: str) -> None:
        self._token, self._start, self._used = token, secrets.token_urlsafe(9), set[str]()

    def is_token(self, word: str) -> bool:
        """Return whether a word is the token of the workspace."""
        return _same(word, self._token)

    def link(self) -> str:
        """Return a word that opens one session."""
        return self._signed(f"link {self._start}", LINK_SECONDS)

    def session(self, link: str = "") -> str:
        """Return a new session; for a link, which is used up by that, "" if it is void."""
        if link and (link in self._used or not self._is_valid(f"link {self._start}", link)):
            return ""
        self._used.add(link)
        return self._signed("session", SESSION_SECONDS)

    def is_session(self, word: str) -> bool:
        """Return whether a word is a session that is valid now."""
        return self._is_valid("session", word)

    def form_token(self, session: str) -> str:
        """Return what the forms of a session contain; "" is the session of the token itself."""
        return self._digest("form", session)

    def _signed(self, kind: str, seconds: int) -> str:
        word = f"{secrets.token_urlsafe(9)}.{int(time.time()) + seconds}"
        return f"{word}.{self._digest(kind, word)}"

    def _is_valid(self, kind: str, signed: str) -> bool:
        word, _, digest = signed.rpartition(".")
        is_ours = _same(digest, self._digest(kind, word))
        return is_ours and time.time() < int(word.rpartition(".")[2])

    def _digest(self, kind: str, word: str) -> str:
        what = f"{kind}\0{word}".encode("utf-8", "replace")
        return urlsafe_b64encode(hmac.digest(self._token.encode(), what, "sha256")[:18]).decode()


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
        sessions: Sessions,
        origins: set[str],
        cookie: str,
        most: int,
        refuse: Callable[[Request, Problem], Response],
    ) -> None:
        self.app, self.sessions, self.cookie, self.most = app, sessions, cookie, most
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
            await send(message)

        try:
            known = self._recognise(scope, headers)
            if link := self._opened(scope, known):
                await link(scope, receive, sent)
                return
            self._check_open(scope, headers, known)
            body = await self._body(receive)
            self._check_form(scope, headers, body, known)
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
        """Note who asks; return whether the `token` or a `cookie` says so, else "".

        Raises:
            Problem: No sender may ask like that.
        """
        state = scope.setdefault("state", {})
        state.update(form_token="", person="")
        if headers.get("host", "").lower() not in self._hosts:
            hint = (
                'behind a proxy, name its address: [serve] origins = ["https://…"] in council.toml'
            )
            raise Problem(403, "unknown-host", "this server has no such name", hint)
        if headers.get("origin", "").lower() not in {"", *self.origins}:
            raise Problem(403, "foreign-origin", "pages of other origins may not ask")
        if int(headers.get("content-length", "0")) > self.most:
            raise self._too_long()
        scheme, _, word = headers.get("authorization", "").partition(" ")
        if scheme:
            if scheme.lower() != "bearer" or not self.sessions.is_token(word.strip()):
                return ""
            state.update(person=headers.get(PERSON, ""), form_token=self.sessions.form_token(""))
            if state["person"] and not is_name(state["person"]):
                raise Problem(400, "malformed", f"{PERSON} is not a name such as anna")
            return "token"
        # A server at another port can put a cookie of the same name beside ours.
        cookies = [cookie_parser(one) for one in ";".join(headers.getlist("cookie")).split(";")]
        words = (one.get(self.cookie, "") for one in cookies)
        if session := next(filter(self.sessions.is_session, words), ""):
            state["form_token"] = self.sessions.form_token(session)
        return "cookie" if session else ""

    def _opened(self, scope: Scope, known: str) -> Response | None:
        """Return the response to a link: a session, and the address without the link."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        link = dict(query).get("link")
        if not link or scope["method"] != "GET":
            return None
        session = self.sessions.session(link)
        if not (session or known):
            return None
        rest = urlencode([one for one in query if one[0] != "link"])
        path = "/" + scope["path"].lstrip("/")  # `//host` would lead elsewhere
        response = RedirectResponse(path + f"?{rest}" * bool(rest), 303)
        return self.signed_in(response, session) if session else response

    def signed_in(self, response: Response, session: str) -> Response:
        """Return a response that gives a browser its session."""
        how = {"max_age": SESSION_SECONDS, "path": "/", "httponly": True}
        response.set_cookie(self.cookie, session, samesite="lax", **how)  # type: ignore[arg-type]
        return response

    def _check_open(self, scope: Scope, headers: Headers, known: str) -> None:
        """Refuse a stranger, but for static files and the form that takes the token."""
        is_static = scope["method"] in _SAFE and scope["path"].startswith(STATIC)
        length = int(headers.get("content-length", "0"))
        is_small = length < _FORM_BYTES and "transfer-encoding" not in headers
        if not (known or (is_small and (is_static or scope["path"] == SIGN_IN))):
            what = "this needs the token of the workspace, or a session"
            hint = "send Authorization: Bearer TOKEN, or open the link that council serve prints"
            raise Problem(401, "unauthorized", what, hint)

    async def _body(self, receive: Receive) -> bytes:
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Problem(400, "malformed", "the body was cut off")
                    body += message.get("body", b"")
                    if len(body) > self.most:
                        raise self._too_long()
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise Problem(408, "too-slow", f"the body took over {BODY_SECONDS:.0f} s") from None

    def _check_form(self, scope: Scope, headers: Headers, body: bytes, known: str) -> None:
        """Refuse what a foreign page may have made a browser send.

        A browser adds its cookie by itself, and what signs it in at a proxy. So each form of our
        pages contains a word that no other page knows.
        """
        is_program = known == "token" and scope["path"].startswith(API)
        if not known or is_program or scope["method"] in _SAFE:
            return
        word = headers.get("x-form-token", "")
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            with suppress(ValueError):  # too many fields
                fields = parse_qs(body.decode("latin-1"), max_num_fields=_FIELDS)
                word = fields.get(FORM_TOKEN, [""])[0]
        if not _same(word, scope["state"]["form_token"]):
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
    left = _DRAIN_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return
