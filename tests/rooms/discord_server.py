"""A local server that plays the REST interface of Discord, as far as rooms use it."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN, BOT, GUILD, CHANNEL = "a-token", 900, 100, 200
STAMP = "2026-11-28T09:00:00.000000+00:00"


class Server:
    """What it knows; `limits` has requests (`POST messages`) that get a 429 first."""

    url = ""

    def __init__(self) -> None:
        self.names = {BOT: "council"}
        self.messages: list[dict[str, Any]] = []
        self.nonces: dict[str, dict[str, Any]] = {}
        self.limits: list[str] = []
        self.deleted: list[str] = []
        self.count = 0

    def write(self, account: int, text: str) -> dict[str, Any]:
        """Let an account say something."""
        self.count += 1
        number = (int(time.time() * 1000) - 1420070400000 << 22) + self.count
        made: dict[str, Any] = {
            **{"id": str(number), "type": 0, "channel_id": str(CHANNEL), "content": text},
            **{"author": self.user(account), "timestamp": STAMP, "tts": False, "flags": 0},
            **{"edited_timestamp": None, "attachments": [], "embeds": [], "pinned": False},
        }
        self.messages.append(made)
        return made

    def said(self) -> list[str]:
        """Return what the bot said."""
        return [one["content"] for one in self.messages if one["author"]["id"] == str(BOT)]

    def user(self, account: int) -> dict[str, Any]:
        made = {"id": str(account), "username": self.names[account], "avatar": None}
        return {**made, "discriminator": "0", "bot": account == BOT}

    def answer(self, words: list[str], query: Any, body: Any) -> tuple[int, Any]:
        match words:
            case ["GET", "users", "@me"]:
                return 200, {**self.user(BOT), "mfa_enabled": False, "flags": 0}
            case ["GET", "users", "@me", "guilds"]:
                names = {"name": "Home", "icon": None, "owner": True, "features": []}
                names |= {"approximate_member_count": 3, "approximate_presence_count": 2}
                rows = [{**names, "id": str(GUILD + at), "permissions": 8 - at} for at in (0, 8)]
                return 200, rows * (query.get("after") in (None, ["0"]))
            case ["GET", "guilds", _, "channels"]:
                made = self.answer(["GET", "channels", ""], query, body)[1]
                rule = {"id": str(GUILD), "type": 0, "allow": "0", "deny": "1024"}
                return 200, [{**made, "permission_overwrites": [rule]}, {**made, "id": "201"}]
            case ["GET", "channels", _]:
                made = {"id": str(CHANNEL), "type": 0, "guild_id": str(GUILD), "name": "den"}
                return 200, {**made, "position": 1, "permission_overwrites": [], "topic": None}
            case ["GET", "guilds", _, "members", account] if int(account) in self.names:
                made = {"user": self.user(int(account)), "roles": [], "joined_at": STAMP}
                return 200, {**made, "flags": 0, "banner": None}
            case ["GET", "channels", _, "messages"]:
                after, most = int(query["after"][0]), int(query["limit"][0])
                found = [one for one in self.messages if int(one["id"]) > after]
                return 200, found[:most][::-1]
            case ["POST", "channels", _, "messages"]:
                assert len(body["content"]) <= 2000
                assert body["allowed_mentions"] == {"parse": []}
                nonce = body.get("nonce", "")
                if nonce not in self.nonces:
                    made = self.write(BOT, body["content"])
                    self.nonces |= {nonce: made} if nonce else {}
                    return 200, made
                return 200, self.nonces[nonce]
            case ["DELETE", "channels", _, "messages", ident]:
                self.deleted += [one["content"] for one in self.messages if one["id"] == ident]
                self.messages = [one for one in self.messages if one["id"] != ident]
                return 204, None
        return 404, {"code": 10007, "message": "Unknown"}


@contextmanager
def discord_server() -> Iterator[Server]:
    """Run the server on loopback; its `url` is for COUNCIL_DISCORD_URL."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts, more, status = urlsplit(self.path), {}, 401
            words = [self.command, *parts.path.split("/")[3:]]
            found: Any = {"code": 0, "message": "401: Unauthorized"}
            if (route := f"{words[0]} {words[-1]}") in state.limits:
                state.limits.remove(route)
                status, more = 429, {"Retry-After": "0.2", "X-RateLimit-Scope": "user"}
                found = {"message": "You are being rate limited.", "retry_after": 0.2}
                found["global"] = False
            elif self.headers["Authorization"] == f"Bot {TOKEN}":
                status, found = state.answer(words, parse_qs(parts.query), json.loads(body or b"0"))
            data = b"" if found is None else json.dumps(found).encode()
            self.send_response(status)
            head = {"Content-Type": "application/json", "Content-Length": str(len(data))}
            for name, value in {**head, **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None: ...

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/api/v10"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
