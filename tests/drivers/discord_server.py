"""A local server that plays the REST interface of Discord, version 10, as far as rooms use it.

Its payloads and status codes have the form that Discord documents: messages are listed newest
first, errors have `code` and `message`, answers bear the headers of rate limits. A `mishap` that
a test puts in the queue of a route happens to the next requests of that route.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "a-token-that-only-this-server-takes"
EPOCH_MS = 1420070400000
ADMINISTRATOR, VIEW, SEND, HISTORY = 1 << 3, 1 << 10, 1 << 11, 1 << 16
BOT, OWNER, GUILD, GENERAL = 900, 901, 100, 200
STAMP = "2026-02-08T20:00:00.000000+00:00"


def snowflake(count: int) -> int:
    """Return an id of this instant; later ones are larger."""
    return (int(time.time() * 1000) - EPOCH_MS << 22) + count


class Mishap:
    """What happens to a request instead of its answer.

    `kind` is `limit` (429, for `seconds`), `error` (500), `gone` (the connection is closed unread),
    `lost` (the request is done, and the connection closed before its answer), `hang`,
    `garbage JSON` (200 with that), or a status with a code of Discord, such as `403/50013`.
    """

    def __init__(self, kind: str, seconds: float = 0.0, scope: str = "user") -> None:
        self.kind, self.seconds, self.scope = kind, seconds, scope


class Server:
    """The state of the service; tests read and change it under no lock but `lock`."""

    url = ""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users: dict[int, dict[str, Any]] = {}
        self.members: dict[int, list[int]] = {}
        self.roles = {GUILD: VIEW | SEND | HISTORY, 101: ADMINISTRATOR}
        self.channels: dict[int, dict[str, Any]] = {}
        self.messages: dict[int, list[dict[str, Any]]] = {}
        self.nonces: dict[str, dict[str, Any]] = {}
        self.mishaps: dict[str, list[Mishap]] = {}
        self.limits: dict[str, tuple[float, Mishap]] = {}
        self.requests: list[str] = []
        self.deleted: list[dict[str, Any]] = []
        self.takes_nonces = True
        self.shows_content = True
        self.lags = False  # what the bot posted is not listed yet
        self.on_request: Callable[[str], None] | None = None
        self._count = 0
        for account, name, bot in ((BOT, "council", True), (OWNER, "owner", False)):
            self.join(account, name, bot=bot)
        self.members[BOT] = [101]
        self.add_channel(GENERAL, "general")

    # What a test does to it.

    def join(self, account: int, name: str, *, bot: bool = False) -> int:
        self.users[account] = {
            "id": str(account), "username": name.lower(), "global_name": name, "avatar": None,
            "discriminator": "0", "public_flags": 0, "bot": bot,
        }  # fmt: skip
        self.members[account] = []
        return account

    def add_channel(self, number: int, name: str, **facts: Any) -> int:
        self.channels[number] = {
            "id": str(number), "type": 0, "guild_id": str(GUILD), "name": name, "position": 1,
            "permission_overwrites": [], "topic": None, "nsfw": False, "last_message_id": None,
            "parent_id": None, "rate_limit_per_user": 0, **facts,
        }  # fmt: skip
        self.messages[number] = []
        return number

    def write(self, account: int, text: str, channel: int = GENERAL, **facts: Any) -> int:
        """Let an account write a message, and return its id."""
        with self.lock:
            return int(self._add(channel, account, text, **facts)["id"])

    def said(self, channel: int = GENERAL, account: int = BOT) -> list[str]:
        with self.lock:
            found = self.messages.get(channel, [])
            return [one["content"] for one in found if one["author"]["id"] == str(account)]

    def fail(self, route: str, *kinds: str, seconds: float = 0.0, scope: str = "user") -> None:
        """Let the next requests of a route (`POST messages`) meet mishaps."""
        self.mishaps.setdefault(route, []).extend(Mishap(one, seconds, scope) for one in kinds)

    def _add(self, channel: int, account: int, text: str, **facts: Any) -> dict[str, Any]:
        self._count += 1
        mentioned = [int(one) for one in re.findall(r"<@!?(\d+)>", text)]
        message = {
            "id": str(snowflake(self._count)), "type": 0, "channel_id": str(channel),
            "author": self.users[account], "content": text, "timestamp": STAMP, "tts": False,
            "edited_timestamp": None, "mention_everyone": False, "mention_roles": [],
            "mentions": [self.users[one] for one in mentioned if one in self.users],
            "attachments": [], "embeds": [], "pinned": False, "flags": 0, "components": [], **facts,
        }  # fmt: skip
        self.messages[channel].append(message)
        self.channels[channel]["last_message_id"] = message["id"]
        return message

    # What it answers.

    def answer(  # noqa: PLR0911 - one for each route
        self, method: str, path: str, query: dict[str, str], body: dict[str, Any]
    ) -> tuple[int, Any]:
        parts = path.strip("/").split("/")[2:]  # after /api/v10
        match [method, *parts]:
            case ["GET", "users", "@me"]:
                return 200, {**self.users[BOT], "mfa_enabled": False, "flags": 0, "verified": True}
            case ["GET", "guilds", guild]:
                return (200, self._guild()) if int(guild) == GUILD else _error(404, 10004)
            case ["GET", "guilds", _, "channels"]:
                return 200, list(self.channels.values())
            case ["POST", "guilds", _, "channels"]:
                return self._make(body)
            case ["GET", "guilds", _, "members", account]:
                return self._member(int(account))
            case [_, "channels", number, *_] if int(number) not in self.channels:
                return _error(404, 10003)
            case ["GET", "channels", number]:
                return 200, self.channels[int(number)]
            case ["GET", "channels", number, "messages"]:
                return 200, self._listed(int(number), query)
            case ["POST", "channels", number, "messages"]:
                return self._posted(int(number), body)
            case ["DELETE", "channels", number, "messages", message]:
                return self._taken_away(int(number), message)
            case ["PUT", "channels", number, "permissions", account]:
                rules = self.channels[int(number)]["permission_overwrites"]
                rules[:] = [one for one in rules if one["id"] != account]
                rules.append({"id": account, "allow": "0", "deny": "0", **body})
                return 204, None
        return _error(404, 0)

    def _guild(self) -> dict[str, Any]:
        roles = [
            {
                "id": str(key), "name": f"role-{key}", "color": 0, "hoist": False, "icon": None,
                "unicode_emoji": None, "position": 0, "permissions": str(rights), "flags": 0,
                "managed": False, "mentionable": False,
                "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            }
            for key, rights in self.roles.items()
        ]  # fmt: skip
        nothing = (
            "icon splash discovery_splash banner description afk_channel_id application_id rules_ch"
            "annel_id system_channel_id public_updates_channel_id vanity_url_code widget_channel_id"
            " safety_alerts_channel_id max_presences"
        )
        return {
            "id": str(GUILD), "name": "The Council", "owner_id": str(OWNER), "roles": roles,
            "emojis": [], "stickers": [], "features": [], "mfa_level": 0, "verification_level": 0,
            "default_message_notifications": 0, "explicit_content_filter": 0, "afk_timeout": 300,
            "system_channel_flags": 0, "premium_tier": 0, "preferred_locale": "en-US",
            "nsfw_level": 0, "premium_progress_bar_enabled": False, "region": "deprecated",
            "widget_enabled": False, "max_members": 100, "max_video_channel_users": 25,
            "premium_subscription_count": 0, "approximate_member_count": len(self.members),
            "approximate_presence_count": 1, **dict.fromkeys(nothing.split()),
        }  # fmt: skip

    def _member(self, account: int) -> tuple[int, Any]:
        if account not in self.members:
            return _error(404, 10007)
        return 200, {
            "user": self.users[account], "nick": None, "avatar": None, "banner": None,
            "roles": [str(one) for one in self.members[account]], "joined_at": STAMP,
            "premium_since": None, "deaf": False, "mute": False, "flags": 0, "pending": False,
        }  # fmt: skip

    def _make(self, body: dict[str, Any]) -> tuple[int, Any]:
        rules = [
            {**one, "allow": str(one.get("allow", 0)), "deny": str(one.get("deny", 0))}
            for one in body.get("permission_overwrites", [])
        ]
        number = self.add_channel(300 + len(self.channels), body["name"])
        self.channels[number].update(topic=body.get("topic"), permission_overwrites=rules)
        return 201, self.channels[number]

    def _listed(self, channel: int, query: dict[str, str]) -> list[dict[str, Any]]:
        after, most = int(query.get("after", 0)), int(query.get("limit", 50))
        found = [one for one in self.messages[channel] if int(one["id"]) > after]
        if self.lags:
            found = [one for one in found if one["author"]["id"] != str(BOT)]
        chosen = found[:most] if "after" in query else found[-most:]
        if not self.shows_content:
            mine = str(BOT)
            chosen = [
                one if one["author"]["id"] == mine else {**one, "content": ""} for one in chosen
            ]
        return chosen[::-1]

    def _posted(self, channel: int, body: dict[str, Any]) -> tuple[int, Any]:
        text, nonce = body.get("content", ""), body.get("nonce")
        units = len(text.encode("utf-16-le")) // 2
        if not text.strip() or units > 2000 or "\0" in text or len(str(nonce or "")) > 25:
            return _error(400, 50035)
        assert body["allowed_mentions"] == {"parse": []}, "a post could ping"
        if nonce and body.get("enforce_nonce") and self.takes_nonces and nonce in self.nonces:
            return 200, self.nonces[nonce]
        message = self._add(channel, BOT, text.strip())
        if nonce:
            self.nonces[nonce] = message
        return 200, {**message, "nonce": nonce}

    def _taken_away(self, channel: int, message: str) -> tuple[int, Any]:
        found = [one for one in self.messages[channel] if one["id"] == message]
        if not found:
            return _error(404, 10008)
        self.messages[channel].remove(found[0])
        self.deleted.append(found[0])
        return 204, None


def _error(status: int, code: int) -> tuple[int, Any]:
    texts = {10003: "Unknown Channel", 50013: "Missing Permissions", 50001: "Missing Access"}
    return status, {"code": code, "message": texts.get(code, f"Error {code}")}


def route_of(method: str, path: str) -> str:
    """Return `METHOD thing`, by which requests are counted and mishaps are chosen."""
    words = [one for one in path.split("/") if one and not one.isdecimal()]
    return f"{method} {words[-1] if words else ''}"


@contextmanager
def discord_server() -> Iterator[Server]:
    """Run the service on loopback; `url` is what `DISCORD_API_URL` is to be."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            data = self.rfile.read(length)
            parts = urlsplit(self.path)
            query = {key: one[-1] for key, one in parse_qs(parts.query).items()}
            route = route_of(self.command, parts.path)
            if state.on_request is not None:
                state.on_request(route)
            with state.lock:
                state.requests.append(route)
                waiting = state.mishaps.get(route, [])
                mishap = waiting.pop(0) if waiting else None
                if mishap is not None and mishap.kind == "limit":
                    state.limits[route] = (time.monotonic() + mishap.seconds, mishap)
                until_s, limit = state.limits.get(route, (0.0, None))
                if limit is not None and until_s > time.monotonic():
                    mishap = Mishap("limit", round(until_s - time.monotonic(), 3), limit.scope)
            if mishap is not None and mishap.kind not in ("lost",):
                self._miss(mishap)
                return
            if self.headers.get("Authorization") != f"Bot {TOKEN}":
                self._send(401, {"code": 0, "message": "401: Unauthorized"})
                return
            with state.lock:
                status, answer = state.answer(
                    self.command, parts.path, query, json.loads(data or b"{}")
                )
            if mishap is not None:
                self._hang_up()
                return
            if state.on_request is not None:
                state.on_request(f"done {route}")
            self._send(status, answer)

        def _miss(self, mishap: Mishap) -> None:
            if mishap.kind == "gone":
                self._hang_up()
            elif mishap.kind == "hang":
                time.sleep(mishap.seconds)
                self._hang_up()
            elif mishap.kind == "limit":
                body = {
                    "message": "You are being rate limited.", "retry_after": mishap.seconds,
                    "global": mishap.scope == "global",
                }  # fmt: skip
                more = {"Retry-After": str(mishap.seconds), "X-RateLimit-Scope": mishap.scope}
                if mishap.scope == "global":
                    more["X-RateLimit-Global"] = "true"
                self._send(429, body, more, remaining=0 if mishap.scope == "user" else 1,
                           reset_after=mishap.seconds)  # fmt: skip
            elif mishap.kind.startswith("garbage "):
                self._send(200, json.loads(mishap.kind.removeprefix("garbage ")))
            elif mishap.kind == "error":
                self._send(500, {"message": "500: Internal Server Error", "code": 0})
            else:
                status, _, code = mishap.kind.partition("/")
                self._send(*_error(int(status), int(code or 0)))

        def _hang_up(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def _send(
            self,
            status: int,
            answer: Any,
            more: dict[str, str] | None = None,
            remaining: int = 4,
            reset_after: float = 1.0,
        ) -> None:
            data = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            if data:
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            reset = datetime.now(UTC).timestamp() + reset_after
            bucket = route_of(self.command, urlsplit(self.path).path).encode().hex()[:24]
            for name, value in {
                "X-RateLimit-Limit": "5", "X-RateLimit-Remaining": str(remaining),
                "X-RateLimit-Reset": f"{reset:.3f}",
                "X-RateLimit-Reset-After": f"{reset_after:.3f}",
                "X-RateLimit-Bucket": bucket, **(more or {}),
            }.items():  # fmt: skip
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_PUT = _serve  # noqa: N815

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # a client that was killed hangs up

    server = Quiet(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/api/v10"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
