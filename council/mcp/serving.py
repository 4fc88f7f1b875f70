"""The server: what `texts/mcp.json` offers, in the words of the SDK, and how clients reach it.

Each call opens the workspace anew, in a thread. `wait` is many short looks: it reports progress
between them, and can be cancelled.
"""

from __future__ import annotations

import hmac
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import anyio
import jsonschema
import mcp_types as types
import uvicorn
from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from starlette.responses import PlainTextResponse

from council import __version__
from council.app import App
from council.kernel import codec, words
from council.kernel.errors import Invalid, Refusal, Usage
from council.kernel.ids import checked_text, cut
from council.kernel.record import Any
from council.listening import listener, token_of
from council.mcp import offers
from council.mcp.offers import TOOLS, Given

Context = ServerRequestContext[Any, Any]
Made = dict[str, Any]
Handler = Callable[[Context, Any], Awaitable[types.Result]]
MOST = 50_000  # bytes of a result; some clients refuse a larger one whole
SLICE, LOOK, SHORT = 5.0, 1.0, 0.05  # seconds
HOST, PORT, PATH = "127.0.0.1", 8421, "/mcp"
_OF_AGENTS = ("context", "respond", "wait")
_EMPTY: tuple[Any, ...] = ("", None, [], {})


class Serving:
    """One server of a workspace; `agent` is who acts, "" a person, who cannot answer."""

    def __init__(self, app: App, agent: str) -> None:
        self._open = partial(App, app.root, app.fixed, {**app.env, "COUNCIL_AGENT": agent})
        known = codec.loads(words.template("texts/mcp.json"))
        tools = [one for one in known["tools"] if agent or one["name"] not in _OF_AGENTS]
        self._schemas = {one["name"]: one["inputSchema"] for one in tools}
        self._bus, self._followed = InMemorySubscriptionBus(), dict[tuple[int, str], Any]()
        templates = {"resourceTemplates": known["templates"]}
        answers: dict[str, tuple[type[types.Result], Callable[[App, Any], Made]]] = {
            "list_tools": (types.ListToolsResult, lambda *_: {"tools": tools}),
            "list_prompts": (types.ListPromptsResult, lambda *_: {"prompts": known["prompts"]}),
            "list_resource_templates": (types.ListResourceTemplatesResult, lambda *_: templates),
            "get_prompt": (types.GetPromptResult, offers.prompt),
            "completion": (types.CompleteResult, offers.complete),
            "list_resources": (types.ListResourcesResult, offers.listed),
            "read_resource": (types.ReadResourceResult, offers.read),
        }
        handlers: Made = {f"on_{name}": self._asking(*one) for name, one in answers.items()}
        self.server: Server[Any] = Server(
            "council", version=__version__, title="Council", lifespan=self._life,
            instructions=known["instructions"].format(who=agent or "a person", root=app.root),
            on_call_tool=self._tool, on_subscriptions_listen=ListenHandler(self._bus),
            on_subscribe_resource=self._follow, on_unsubscribe_resource=self._unfollow, **handlers,
        )  # fmt: skip

    async def _done(self, function: Callable[..., Any], *given: Any) -> Any:
        """Return what a function of the workspace, as it is now, returns."""
        call = partial(function, self._open(), *given)
        return await to_thread.run_sync(call, abandon_on_cancel=True)

    def _asking(self, form: type[types.Result], function: Callable[[App, Any], Made]) -> Handler:
        """Return the handler that a function is; a refusal is a protocol error."""

        async def asked(_: Context, params: Any) -> types.Result:
            try:
                return form.model_validate(await self._done(function, params))
            except Refusal as error:
                raise MCPError(types.INVALID_PARAMS, _line(error), error.to_json()) from None

        return asked

    async def _tool(self, ctx: Context, params: Any) -> types.CallToolResult:
        """Carry out a call; what fails is a text alone, which every client shows."""
        name, schema = params.name, self._schemas.get(params.name)
        if schema is None:
            what = f"no tool {name[:40]!r}; there are {', '.join(self._schemas)}"
            raise MCPError(types.INVALID_PARAMS, what)
        try:
            given = _arguments(params.arguments or {}, schema, self._open().settings.max_text_bytes)
            offset = given.pop("offset", 0)
            done = self._wait(ctx, given) if name == "wait" else self._done(TOOLS[name], given)
            made = await done
        except Refusal as error:
            return _result(_line(error), True)
        except OSError as error:
            return _result(f"disk: {error.strerror}: {error.filename}", True)
        data = (made if isinstance(made, str) else codec.dumps(made)).encode(errors="replace")
        failed = isinstance(made, dict) and "error" in made
        if offset or len(data) > MOST:
            piece = data[offset : offset + MOST].decode(errors="ignore")
            end = offset + len(piece.encode())
            more = f"{name} with offset {end}" if piece and end < len(data) else "no more"
            return _result(f"{piece}\n\n[{len(data)} bytes in all; next: {more}]", failed)
        return _result(data.decode(), failed, made)

    async def _wait(self, ctx: Context, given: Given) -> Made:
        most, begin = given.get("timeout_s", 30), anyio.current_time()
        while True:
            spent = anyio.current_time() - begin
            await ctx.session.report_progress(spent, most, "waiting for your turn")
            left = given["seconds"] = min(SLICE, max(0.0, most - spent))
            made: Made = await self._done(TOOLS["wait"], given)
            if made["outcome"] != "timeout" or left < SLICE:
                return made
            given["conversation"] = made["conversationId"]

    async def _follow(self, ctx: Context, params: Any) -> types.EmptyResult:
        await self._asking(types.ReadResourceResult, offers.read)(ctx, params)  # or it is refused
        # A session is made for each request; what a client said at first is one object.
        self._followed[id(ctx.session.client_params), params.uri] = ctx.session
        return types.EmptyResult()

    async def _unfollow(self, ctx: Context, params: Any) -> types.EmptyResult:
        self._followed.pop((id(ctx.session.client_params), params.uri), None)
        return types.EmptyResult()

    @asynccontextmanager
    async def _life(self, _: Server[Any]) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(self._tell)
            yield
            group.cancel_scope.cancel()

    async def _tell(self) -> None:
        """Tell clients which resources changed: look again and again, since hints get lost."""
        seen = await self._done(offers.stamps)
        while True:
            await anyio.sleep(LOOK)
            before, seen = seen, await self._done(offers.stamps)
            if before.keys() != seen.keys():
                await self._bus.publish(ResourcesListChanged())
            for uri in {uri for uri, _ in before.items() ^ seen.items()}:
                await self._bus.publish(ResourceUpdated(uri=uri))
                for session in [s for (_, one), s in self._followed.items() if one == uri]:
                    with suppress(Exception):  # a client that has gone keeps it from no other
                        await session.send_resource_updated(uri)


def _arguments(given: Made, schema: Made, most: int) -> Given:
    """Return the arguments of a call as its schema wants them.

    What is empty counts as left out: strict clients make models fill in everything.
    """
    known = schema["properties"]
    made = Given(str, _taken(given, schema, most) if known else {})
    if fault := next(jsonschema.Draft202012Validator(schema).iter_errors(dict(made)), None):
        where = fault.json_path[2:] and f"{fault.json_path[2:]}: "
        raise Usage("usage", where + cut(fault.message, 200), f"the arguments: {', '.join(known)}")
    return made


def _taken(value: Any, schema: Made, most: int) -> Any:
    """Return a value without what is empty in it; lists, numbers and the like may be texts."""
    kind, options = schema.get("type", "string"), schema.get("enum", ())
    if isinstance(value, str):
        checked_text(value.encode("utf-8", "surrogatepass"), most)
        value = {one.casefold(): one for one in options}.get(value.strip().casefold(), value)
        with suppress(Invalid):
            text = value.lower() if kind == "boolean" else value
            value = text if kind == "string" else codec.loads(text)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)  # some clients have one kind of number
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties") or {}
        made = {key: _taken(one, known.get(key, others), most) for key, one in value.items()}
        return {k: one for k, one in made.items() if one not in _EMPTY or not (known or others)}
    if isinstance(value, list):
        rows = [_taken(one, schema.get("items", {}), most) for one in value]
        return [one for one in rows if "items" not in schema or one not in _EMPTY]
    return "" if schema and isinstance(value, str) and not value.strip() else value


def _line(error: Refusal) -> str:
    """Return a refusal as one line that names arguments instead of options."""
    said = f"{error.code}: {error.message}" + f" ({error.hint})" * bool(error.hint)
    return re.sub(r"--([a-z]+)", r"`\1`", said.replace("--name", "`conversation`"))


def _result(text: str, failed: bool, data: Any = None) -> types.CallToolResult:
    content = types.TextContent(text=text)
    data = data if isinstance(data, dict) and not failed else None
    return types.CallToolResult(content=[content], is_error=failed, structured_content=data)


def over_stdio(app: App, agent: str) -> None:
    """Serve one client until it goes away; what it has asked until then is answered."""
    server, owed = Serving(app, agent).server, set[Any]()

    async def pass_on(lines: Any, requests: Any, answer: Any) -> None:
        async with requests:
            async for one in lines:
                if isinstance(one, Exception):  # the SDK would say nothing
                    await answer(_unreadable(one))
                    continue
                said = one.message
                if isinstance(said, types.JSONRPCRequest) and said.method != "subscriptions/listen":
                    owed.add(said.id)
                elif getattr(said, "method", "") == "notifications/cancelled":
                    owed.discard((said.params or {}).get("requestId"))
                await requests.send(one)
            while owed:  # at the end of its requests the SDK cancels them
                await anyio.sleep(SHORT)

    async def pass_back(answers: Any, outgoing: Any) -> None:
        async with outgoing:
            async for one in answers:
                await outgoing.send(one)
                owed.discard(getattr(one.message, "id", None))

    async def serve() -> None:
        async with stdio_server() as (lines, outgoing), anyio.create_task_group() as group:
            send, requests = anyio.create_memory_object_stream[Any](0)
            answers, made = anyio.create_memory_object_stream[Any](0)
            group.start_soon(pass_on, lines, send, outgoing.send)
            group.start_soon(pass_back, made, outgoing)
            await server.run(requests, answers, server.create_initialization_options())

    try:
        anyio.run(serve)
    except* (BrokenPipeError, anyio.BrokenResourceError):
        pass  # it has gone


def _unreadable(fault: Any) -> SessionMessage:
    """Return the answer to a line that is no JSON, or no request, under its id if it has one."""
    ident, error = None, types.ErrorData(code=types.PARSE_ERROR, message="no valid request")
    for one in fault.errors() if hasattr(fault, "errors") else ():
        said = one["input"]
        with suppress(ValueError):  # JSON all the same, such as half an emoji
            said = json.loads(said) if isinstance(said, str | bytes) else said
        if isinstance(said, dict) and {"id", "method"} <= said.keys():
            ident = said["id"] if type(said["id"]) in (int, str) else None
            error.code = error.code if said is not one["input"] else types.INVALID_REQUEST
            break
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=ident, error=error))


def over_http(app: App, agent: str, port: int) -> None:
    """Serve clients on this machine that have the token."""
    token, place = token_of(app, "mcp-token", "COUNCIL_MCP_TOKEN")
    inner = Serving(app, agent).server.streamable_http_app(streamable_http_path=PATH, host=HOST)
    said = "Authorization: Bearer TOKEN is missing\n"
    missing = PlainTextResponse(said, 401, {"www-authenticate": "Bearer"})

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        sent = dict(scope.get("headers", ())).get(b"authorization", b"")
        is_known = hmac.compare_digest(sent, f"Bearer {token}".encode())
        await (inner if is_known or scope["type"] == "lifespan" else missing)(scope, receive, send)

    with listener(HOST, port) as socket:
        where = f"http://{HOST}:{socket.getsockname()[1]}{PATH}"
        sys.stderr.write(f"council: listening on {where}; its bearer token is in {place}\n")
        sys.stderr.flush()
        quiet: Any = {"log_level": "warning", "access_log": False, "server_header": False}
        config = uvicorn.Config(guarded, timeout_graceful_shutdown=2, **quiet)
        anyio.run(uvicorn.Server(config).serve, [socket])
