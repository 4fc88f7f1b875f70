"""Lets requests in: under our own names, from our own pages, with the token or a session.

No body is read before its sender is known; one that is let in is whole and bounded. Every response
leaves through here as well, with the headers that keep a browser from obeying text of agents.

Sessions and links are derived from the workspace's token, so they survive a restart of the server;
a link opens one session, within a quarter of an hour and only at the server that printed it.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from base64 import urlsafe_b64encode
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import RedirectResponse, Response

from council.kernel.ids import is_name
from council.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

API, STATIC, SIGN_IN = "/api/", "/static/", "/sign-in"
FORM_TOKEN, LINK, PERSON = "form_token", "link", "council-person"
HEAD_BYTES, BODY_SECONDS = 32 * 1024, 30.0
LINK_SECONDS, SESSION_SECONDS = 15 * 60, 30 * 24 * 60 * 60
_FIELDS = 1000  # of a form
_DRAIN_SECONDS, _DRAIN_BYTES = 1.0, 16 << 20
_SAFE = ("GET", "HEAD", "OPTIONS")
_ONCE = ("host", "origin", "authorization", "content-type", "content-length", PERSON)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # With "no-referrer" the forms of our pages would come from the origin "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Sessions:
    """Links, sessions and form tokens: words that end with a digest keyed by the token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._start, self._used = secrets.token_urlsafe(9), dict[str, int]()

    def is_token(self, word: str) -> bool:
        """Return whether a word is the token of the workspace."""
        return hmac.compare_digest(word.encode("utf-8", "replace"), self._token)

    def link(self) -> str:
        """Return a word that opens one session."""
        return self._signed(f"link {self._start}", LINK_SECONDS)

    def session(self) -> str:
        """Return a new session."""
        return self._signed("session", SESSION_SECONDS)

    def opened(self, link: str) -> str:
        """Return a new session for a link, which is used up by that; "" if the link is void."""
        ends = self._ends(f"link {self._start}", link)
        if ends < time.time() or link in self._used:
            return ""
        self._used = {one: at for one, at in self._used.items() if at > time.time()} | {link: ends}
        return self.session()

    def is_session(self, word: str) -> bool:
        """Return whether a word is a session that is valid now."""
        return time.time() < self._ends("session", word)

    def form_token(self, session: str) -> str:
        """Return what the forms of a session contain; "" is the session of the token itself."""
        return self._digest("form", session)

    def _signed(self, kind: str, seconds: int) -> str:
        word = f"{secrets.token_urlsafe(9)}.{int(time.time()) + seconds}"
        return f"{word}.{self._digest(kind, word)}"

    def _ends(self, kind: str, signed: str) -> int:
        """Return when a word ends, in seconds since 1970; 0 if it is not ours."""
        word, _, digest = signed.rpartition(".")
        ends = word.rpartition(".")[2]
        is_ours = same(digest, self._digest(kind, word))
        return int(ends) if is_ours and ends.isascii() and ends.isdigit() else 0

    def _digest(self, kind: str, word: str) -> str:
        what = f"{kind}\0{word}".encode("utf-8", "replace")
        return urlsafe_b64encode(hmac.digest(self._token, what, "sha256")[:18]).decode()


def same(word: str, expected: str) -> bool:
    """Return whether two words are the same, in a time that tells nothing."""
    return hmac.compare_digest(word.encode("utf-8", "replace"), expected.encode())


class Guard:
    """The application behind its door.

    What is let in has `state.form_token` for its forms and `state.person`, the name that a proxy
    passes on ("" for the owner); `state.signed_in` is false only for static files and `/sign-in`.

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
        self._hosts = {name for one in self.origins for name in _hosts(one)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, state, body = Headers(scope=scope), scope.setdefault("state", {}), None
        state.update(form_token="", person="", signed_in=False)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    ours.setdefault(name, value)
            await send(message)

        try:
            self._check(scope, headers)
            by_cookie = self._recognise(scope, headers)
            if link := self._link(scope, headers):
                await link(scope, receive, sent)
                return
            if not state["signed_in"] and not self._is_open(scope, headers):
                raise Problem(
                    401, "unauthorized", "this needs the token of the workspace, or a session",
                    "send Authorization: Bearer TOKEN with memory/shared/.council/web-token, "
                    "or open the link that council serve prints",
                )  # fmt: skip
            body = await self._body(receive)
            self._check_form(scope, headers, body, by_cookie)
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

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Refuse what is wrong from any sender."""
        if any(len(headers.getlist(one)) > 1 for one in _ONCE):
            raise Problem(400, "malformed", "a header is given twice", "send it once")
        size = sum(len(name) + len(value) for name, value in headers.raw)
        if size + len(scope["raw_path"]) + len(scope["query_string"]) > HEAD_BYTES:
            raise Problem(431, "too-long", f"address and headers exceed {HEAD_BYTES} bytes")
        if "transfer-encoding" in headers and "content-length" in headers:
            raise Problem(400, "malformed", "the length of the body is given in two ways")
        parts = scope["path"].split("/")
        is_plain = (
            not {".", ".."} & {*parts} and "" not in parts[1:-1] and "\\" not in scope["path"]
        )
        if not (is_plain and parts[0] == "" and scope["path"].isprintable()):
            raise Problem(400, "malformed", "this is not a path")
        if headers.get("host", "").lower() not in self._hosts:
            hint = 'behind a proxy, add its address to [serve] of council.toml: origins = ["https://…"]'
            raise Problem(403, "unknown-host", "this server has no such name", hint)
        if headers.get("origin", "").lower() not in {"", *self.origins} or not _is_ours(
            scope["method"], headers
        ):
            raise Problem(403, "foreign-origin", "pages of other origins may not ask")
        if not headers.get("content-length", "0").isdecimal():
            raise Problem(400, "malformed", "the length of the body is not a number")
        if int(headers.get("content-length", "0")[:20]) > self.most:
            raise self._too_long()

    def _recognise(self, scope: Scope, headers: Headers) -> bool:
        """Note who asks; return whether a cookie says so."""
        state, (scheme, _, word) = scope["state"], headers.get("authorization", "").partition(" ")
        if scheme:
            if scheme.lower() == "bearer" and self.sessions.is_token(word.strip()):
                person = headers.get(PERSON, "")
                if person and not is_name(person):
                    raise Problem(400, "malformed", f"{PERSON} is not a name such as anna")
                token = self.sessions.form_token("")
                state.update(form_token=token, person=person, signed_in=True)
            return False
        # A server at another port can put a cookie of the same name beside ours.
        pairs = ";".join(headers.getlist("cookie")).split(";")
        words = [cookie_parser(one).get(self.cookie, "") for one in pairs]
        session = next(filter(self.sessions.is_session, words), "")
        if session:
            state.update(form_token=self.sessions.form_token(session), signed_in=True)
        return bool(session)

    def _link(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the response to a link: a session, and the address without the link."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        link = dict(query).get(LINK)
        if link is None or scope["method"] != "GET":
            return None
        session = self.sessions.opened(link)
        if not session and not scope["state"]["signed_in"]:
            return None
        rest = urlencode([one for one in query if one[0] != LINK])
        where = quote(scope["path"]) + f"?{rest}" * bool(rest)
        response: Response = RedirectResponse(where, 303)
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            # After a redirect from a foreign page a browser leaves strict cookies out.
            response = Response(headers={"refresh": f"0;url={where}"})
        return self.signed_in(response, session) if session else response

    def signed_in(self, response: Response, session: str) -> Response:
        """Return a response that gives a browser its session."""
        how = {"max_age": SESSION_SECONDS, "path": "/", "httponly": True}
        response.set_cookie(self.cookie, session, samesite="strict", **how)  # type: ignore[arg-type]
        return response

    def _is_open(self, scope: Scope, headers: Headers) -> bool:
        """Return whether anybody may ask this: static files, and the sign-in form."""
        path, length = scope["path"], int(headers.get("content-length", "0")[:20])
        is_static = path.startswith(STATIC) and scope["method"] in _SAFE and not length
        return (
            is_static or (path == SIGN_IN and length < 4096)
        ) and "transfer-encoding" not in headers

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

    def _check_form(self, scope: Scope, headers: Headers, body: bytes, by_cookie: bool) -> None:
        """Refuse what a foreign page may have made a browser send.

        A browser adds its cookie by itself, and what signs it in at a proxy. So each form of our
        pages contains a word that no other page knows.
        """
        expected, is_page = scope["state"]["form_token"], not scope["path"].startswith(API)
        if scope["method"] in _SAFE or not expected or not (by_cookie or is_page):
            return
        word = headers.get("x-form-token", "")
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            with suppress(ValueError):  # too many fields
                fields = parse_qs(body.decode("latin-1"), max_num_fields=_FIELDS)
                word = fields.get(FORM_TOKEN, [""])[0]
        if not same(word, expected):
            hint = "load the page again, then send the form once more"
            raise Problem(403, "forged", "this did not come from one of our pages", hint)

    def _too_long(self) -> Problem:
        return Problem(413, "too-long", f"the body exceeds {self.most} bytes", "send less at once")


def _hosts(origin: str) -> list[str]:
    """Return the values of `Host` for an origin; its default port may be left out or given."""
    scheme, _, name = origin.partition("://")
    has_port = ":" in name.rpartition("]")[2]
    port = _DEFAULT_PORTS.get(scheme, "")
    return [name, name.removesuffix(port)] if has_port else [name, name + port]


def _is_ours(method: str, headers: Headers) -> bool:
    """Return whether no foreign page made a browser ask, unless by a link that a person follows."""
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return True
    mode, goal = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return method in _SAFE and mode == "navigate" and goal == "document"


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
