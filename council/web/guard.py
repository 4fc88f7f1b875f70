"""Lets requests in: under our own names, from our own pages, with the token or a session.

Nothing of a body is read before its sender is known, and what is let in has its body with it, whole
and bounded. Every response leaves through here, too, and gets the headers that keep a browser from
obeying what agents wrote.

Source: DL-066, DG-132, `trust.md`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from council.core.ids import is_name
from council.web.frame import bare
from council.web.problems import problem
from council.web.sessions import SESSION_S, Sessions

API = "/api/council/"
MOST_HEAD_BYTES = 32 * 1024
BODY_S = 30.0  # how long the body of a request may take
FORM_TOKEN = "form_token"
LINK = "link"
# What a run shows beside its token, and the variables of the run that it has them from.
OF_RUN = {
    "council-task": "COUNCIL_TASK_ID",
    "council-agent": "COUNCIL_AGENT",
    "council-name": "COUNCIL_NAME",
}
PERSON = "council-person"  # who has signed on at a proxy, which has the token
_DRAINED_S, _DRAINED_BYTES = 1.0, 16 * 1024 * 1024
_MOST_WORD_CHARS = 500
_MOST_FIELDS = 1000
_SAFE = ("GET", "HEAD", "OPTIONS")
_ONCE = ("host", "origin", "authorization", "content-type", "content-length", PERSON, *OF_RUN)
_PORTS = {"http": ":80", "https": ":443"}
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # Not "no-referrer": a form of ours would then come from the origin "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Refused(Exception):  # noqa: N818
    """A request goes no further; `response` says why, or where to go on."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class Guard:
    """The application behind its door.

    Args:
        app: What answers requests that are let in.
        sessions: Who may ask.
        origins: Where our pages are reached, such as `http://localhost:8420`.
        cookie: What the cookie of a session is called.
        most_bytes: How long the body of a request may be.
    """

    def __init__(
        self,
        app: ASGIApp,
        sessions: Sessions,
        origins: frozenset[str],
        cookie: str,
        most_bytes: int,
    ) -> None:
        self._app = app
        self._sessions = sessions
        self._origins = origins
        self._names = frozenset(name for origin in origins for name in _names_of(origin))
        self._cookie = cookie
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or let it in."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers, body = Headers(scope=scope), None

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    answered.setdefault(name, value)
                answered.setdefault("cache-control", "no-store")
            await send(message)

        try:
            self._check(scope, headers)
            self._open(scope, headers)
            by_cookie = self._recognise(scope, headers)
            body = await self._body(receive)
            self._check_form(scope, headers, body, by_cookie=by_cookie)
        except Refused as refused:
            if body is None:
                refused.response.headers["connection"] = "close"
                if "expect" not in headers:  # else it has sent nothing, and waits for our word
                    await _drained(receive)
            await refused.response(scope, receive, sent)
            return
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def received() -> Message:
            return unread.pop() if unread else await receive()

        # What answers to GET answers to HEAD; the server leaves the body out.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        try:
            await self._app({**scope, "method": method}, received, sent)
        except asyncio.CancelledError:  # the server ends, and waits no longer
            with suppress(RuntimeError):  # it has begun to answer
                await problem(503, "ending", "the server ends")(scope, received, sent)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Refuse what is wrong from any sender."""
        if any(len(headers.getlist(one)) > 1 for one in _ONCE):
            raise _refused(400, "malformed", "a header stands twice that may stand once")
        lines = [
            scope["raw_path"],
            scope["query_string"],
            *(one for pair in headers.raw for one in pair),
        ]
        if sum(map(len, lines)) > MOST_HEAD_BYTES:
            raise _refused(431, "too-long", f"its head is longer than {MOST_HEAD_BYTES} bytes")
        if "transfer-encoding" in headers and "content-length" in headers:
            raise _refused(400, "malformed", "the length of the body is said in two ways")
        if not _is_plain_path(scope["path"]):
            raise _refused(400, "malformed", "no path here looks like that")
        if headers.get("host", "").lower() not in self._names:
            raise _refused(403, "refused", "this server is not reached by that name")
        if headers.get("origin", "").lower() not in {"", *self._origins} or not _is_ours(
            scope["method"], headers
        ):
            raise _refused(403, "refused", "a page from elsewhere may not ask")
        if "websocket" in headers.get("upgrade", "").lower():
            raise _refused(403, "refused", "no WebSocket is served here")
        if _length(headers) > self._most_bytes:
            raise self._too_long()

    def _open(self, scope: Scope, headers: Headers) -> None:
        """Give a browser that opens a link a session, and the address without the link."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        link = dict(query).get(LINK)
        if link is None or scope["method"] != "GET":
            return
        session = self._sessions.session_for(link, int(time.time()))
        if not (session or self._session(headers)):
            return
        rest = urlencode([one for one in query if one[0] != LINK])
        where = quote(scope["path"]) + (f"?{rest}" if rest else "")
        answer: Response = RedirectResponse(where, 303)
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            # Where a foreign page sent it here, a browser follows without its strict cookies.
            answer = Response(headers={"refresh": f"0;url={answer.headers['location']}"})
        if session:
            answer.set_cookie(
                self._cookie, session, max_age=SESSION_S, path="/", httponly=True, samesite="strict"
            )
        raise Refused(answer)

    def _recognise(self, scope: Scope, headers: Headers) -> bool:
        """Note who asks; return true if a cookie shows it.

        Raises:
            Refused: Nothing shows it.
        """
        path, state = scope["path"], scope.setdefault("state", {})
        state.update(environ={}, form_token="")
        if path.startswith("/static/"):
            if scope["method"] not in _SAFE or "transfer-encoding" in headers or _length(headers):
                raise _refused(405, "method-not-allowed", "this is only to be read")
            return False
        scheme, _, given = headers.get("authorization", "").partition(" ")
        given = given.strip() if scheme.lower() == "bearer" else ""
        if given and "council-task" in headers:
            if not path.startswith(API) or path.endswith("/events"):
                raise _refused(403, "refused", "a run is served commands alone")
            shown = {OF_RUN[one]: headers[one] for one in OF_RUN if one in headers}
            state["environ"] = {"COUNCIL_TOKEN": given, **shown}
            if all(one.isprintable() and len(one) < _MOST_WORD_CHARS for one in shown.values()):
                return False
        elif given and self._sessions.is_token(given):
            state["form_token"] = self._sessions.form_token("")
            if person := headers.get(PERSON, ""):
                if not is_name(person):
                    raise _refused(400, "malformed", f"{PERSON} is no name such as anna")
                state["environ"] = {"COUNCIL_PERSON": person}
            return False
        elif not scheme and (session := self._session(headers)):
            state["form_token"] = self._sessions.form_token(session)
            return True
        raise Refused(_unknown(path, headers))

    def _session(self, headers: Headers) -> str:
        """Return the session that a browser shows, "" for none that holds.

        A server at another port of this machine can put a cookie of the same name beside ours.
        """
        pairs = ";".join(headers.getlist("cookie")).split(";")
        told = [cookie_parser(one).get(self._cookie, "") for one in pairs]
        return next((one for one in told if self._sessions.is_session(one, int(time.time()))), "")

    async def _body(self, receive: Receive) -> bytes:
        """Return the whole body of a request."""
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_S):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise _refused(400, "malformed", "its body was cut off")
                    body += message.get("body", b"")
                    if len(body) > self._most_bytes:
                        raise self._too_long()
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise _refused(408, "too-slow", f"its body took over {BODY_S:.0f} s") from None

    def _check_form(self, scope: Scope, headers: Headers, body: bytes, *, by_cookie: bool) -> None:
        """Refuse what a foreign page may have made a browser send.

        A browser shows its cookie by itself; at a proxy it signs on by itself. So each form of ours
        holds a word that no other page knows.
        """
        expected = scope["state"]["form_token"]
        is_form = bool(expected) and not scope["path"].startswith(API)
        if scope["method"] in _SAFE or not (by_cookie or is_form):
            return
        given = ""
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            with suppress(ValueError):  # too many fields
                fields = parse_qs(body.decode("latin-1"), max_num_fields=_MOST_FIELDS)
                given = fields.get(FORM_TOKEN, [""])[0]
        if not self._sessions.is_form_token(given, expected):
            hint = "load the page again, then send the form once more"
            raise _refused(403, "forged", "this did not come from a page of ours", hint)

    def _too_long(self) -> Refused:
        return _refused(413, "too-long", f"its body is longer than {self._most_bytes} bytes")


def _refused(status: int, code: str, detail: str, hint: str = "") -> Refused:
    return Refused(problem(status, code, detail, hint))


def _length(headers: Headers) -> int:
    return int(headers.get("content-length", "0")[:20])


def _names_of(origin: str) -> list[str]:
    """Return the values of `Host` for an origin: its default port may be said."""
    scheme, _, name = origin.partition("://")
    has_port = ":" in name.rpartition("]")[2]
    return [name] if has_port else [name, name + _PORTS[scheme]]


def _is_plain_path(path: str) -> bool:
    """Return true if a path, decoded, is one that no program reads in two ways."""
    parts = path.split("/")
    return (
        parts[0] == ""
        and not any(one < " " or one in "\x7f\\" for one in path)
        and "" not in parts[1:-1]
        and not {".", ".."} & set(parts)
    )


def _is_ours(method: str, headers: Headers) -> bool:
    """Return true if no foreign page is behind a request, but for a link that a person follows."""
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return True
    return (
        method in _SAFE
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _unknown(path: str, headers: Headers) -> Response:
    """Return what one gets who has shown nothing: a browser a page, a program the problem."""
    needed = {"WWW-Authenticate": "Bearer"}
    if path.startswith("/api/") or "text/html" not in headers.get("accept", ""):
        said = "this server needs its token, or a link that it printed"
        return problem(401, "unauthorized", said, "a fresh link: council serve --link", needed)
    return HTMLResponse(bare("locked.html", headers, path=quote(path)), 401, needed)


async def _drained(receive: Receive) -> None:
    """Take what still comes, within bounds: some clients read no answer before they sent all."""
    left = _DRAINED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAINED_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return
