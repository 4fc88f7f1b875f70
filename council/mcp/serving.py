"""The server: what it offers, and how its answers look in the Model Context Protocol.

What it does, the processes of `working` do. Everything is offered from `schemas/mcp.json`, but what
a run may not do (`core.trust`), and what needs an agent where there is none.

Source: IO-004, IO-005, IO-008, HR-010, CL-007.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, get_args

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError

import council
from council.core.errors import CouncilError, NotFoundError, RefusedError, UsageError
from council.core.plain_text import json_text
from council.core.trust import is_permitted
from council.mcp import tasks
from council.mcp.following import Following
from council.mcp.tools import TOOLS, WAIT_S
from council.operations.delegation.expected_results import fault
from council.operations.place import Place
from council.working.calling import Worker, in_fields

Context = ServerRequestContext[Any, Any]
Answer = dict[str, Any]
Handler = Callable[[Context, Any], Awaitable[Answer]]

_DEFINITIONS = f"{os.path.dirname(council.__file__)}/schemas/mcp.json"
_FIXED = ("agent", "as", "root", "token", "now")
_SLICE_S = 5
_PAGE, _MOST_DIGITS = 100, 10
_TURN = (
    " To take part: `context` shows what is asked of you; `respond` (or `vote` or `synthesize`, as"
    " it says) answers, once in a round."
)
# Codes of JSON-RPC; what a request names and there is not is a wrong parameter of it.
_WRONG, _FAILED = types.INVALID_PARAMS, types.INTERNAL_ERROR


class Serving:
    """What one server offers and answers.

    Args:
        place: The workspace, with the environment that every call has.
        agent: Who acts, "" for people, who open, steer and read.
    """

    def __init__(self, place: Place, agent: str) -> None:
        with open(_DEFINITIONS, encoding="utf-8") as file:
            known = json.load(file)
        self._agent, self._root = agent, place.root
        self._worker = Worker("council.mcp.working", place.environ)
        self._following = Following(place)
        self._same: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        in_run = place.is_in_run
        self._tools = {one["name"]: one for one in known["tools"] if self._may(one["name"], in_run)}
        self._prompts = {} if in_run else {one["name"]: one for one in known["prompts"]}
        self._templates = known["resourceTemplates"]

    def _may(self, name: str, in_run: bool) -> bool:
        tool = TOOLS[name]
        return is_permitted(tool.verb, in_run=in_run) and bool(self._agent or not tool.acts)

    def server(self) -> Server[Any]:
        """Return a server of the SDK that has all of it."""

        @asynccontextmanager
        async def life(_: Server[Any]) -> AsyncIterator[None]:
            followed = asyncio.create_task(self._following.follow())
            try:
                yield
            finally:
                followed.cancel()
                self._worker.end()

        server: Server[Any] = Server(
            "council",
            version=council.__version__,
            title="Council",
            instructions=self._instructions(),
            lifespan=life,
            on_subscriptions_listen=ListenHandler(self._following.bus),
        )
        templates, prompts = self._templates, list(self._prompts.values())
        handlers: dict[str, Handler] = {
            "ListTools": self._listing("tools", list(self._tools.values())),
            "CallTool": self._call,
            "ListResources": self._resources,
            "ListResourceTemplates": self._listing("resourceTemplates", templates),
            "ReadResource": self._read,
            "Subscribe": self._subscribe,
            "Unsubscribe": self._unsubscribe,
            "ListPrompts": self._listing("prompts", prompts),
            "GetPrompt": self._prompt,
            "Complete": self._complete,
        }
        for name, handler in handlers.items():
            _add(server, name, handler)
        if "convene" in self._tools:
            tasks.add_to(server, self._reading)
        return server

    def _instructions(self) -> str:
        who = f"You act as {self._agent}" if self._agent else "You act as a person"
        turn = _TURN if self._agent else ""
        return (
            f"Agents and people deliberate here and decide. {who}, in the workspace {self._root};"
            f" no argument changes that.{turn} Where a message names a command such as"
            " `council status`, the tool of that name does the same."
        )

    # --- Tools

    async def _call(self, ctx: Context, params: types.CallToolRequestParams) -> Answer:
        definition = self._tools.get(params.name)
        if definition is None:
            unknown = NotFoundError(f"no tool {params.name!r}", f"one of: {', '.join(self._tools)}")
            raise _refusal(unknown, _WRONG)
        given = params.arguments or {}
        try:
            self._check(given, definition["inputSchema"])
            answer = await self._answer(ctx, params.name, given)
        except CouncilError as error:
            answer = {"record": None, "text": "", "error": error.to_record()}
        task = tasks.instead(ctx, params.name, answer, self._agent)
        return task or _result(answer)

    def _check(self, given: Answer, schema: Answer) -> None:
        """Let arguments pass that fit; what is fixed no argument can change.

        Raises:
            RefusedError: They say who acts, or where.
            UsageError: They do not fit.
        """
        for name in _FIXED:
            if name in given and name not in schema["properties"]:
                acts = f"as {self._agent}" if self._agent else "for people"
                raise RefusedError(
                    f"this server acts {acts} in {self._root}", f"leave `{name}` out"
                )
        if wrong := fault(given, schema):
            raise UsageError(f"the arguments do not fit {wrong}", "see the schema of the tool")

    async def _answer(self, ctx: Context, name: str, given: Answer) -> Answer:
        if name == "wait":
            return await self._waited(ctx, given)
        operation = given.get("operation_id")
        if not operation:
            return await self._worker.call(name, given)
        # The second of two that are under way at once finds what the first has done.
        async with self._same[operation]:
            return await self._worker.call(name, given)

    async def _waited(self, ctx: Context, given: Answer) -> Answer:
        """Wait in short parts: so it can be cancelled, and its client hears that it goes on."""
        longest, now = given.get("timeout_s", WAIT_S), asyncio.get_running_loop().time
        begun = now()
        await ctx.session.report_progress(0, longest)
        while True:
            left = max(0, longest - (now() - begun))
            part = {**given, "timeout_s": min(_SLICE_S, left)}
            answer = await self._worker.call("wait", part)
            found = answer["record"] or {}
            if answer.get("error") or found["outcome"] != "timeout" or left <= _SLICE_S:
                return answer
            stands = f"{found['phase']} (round {found['tour']}), until {found['deadline']}"
            await ctx.session.report_progress(now() - begun, longest, stands)

    # --- Resources, prompts, names

    async def _reading(self, name: str, given: Answer) -> Answer:
        """Return what a reading answers.

        Raises:
            MCPError: It came to nothing; the code of the error stands in its data.
        """
        try:
            answer = await self._worker.call(name, given)
        except CouncilError as failed:
            raise _refusal(failed, _FAILED) from None
        if error := answer.get("error"):
            code = _FAILED if error["code"] in ("unexpected", "storage") else _WRONG
            raise MCPError(code, _line(error), {**given, **error})
        return answer["record"]  # type: ignore[no-any-return]

    async def _resources(self, _: Context, params: types.PaginatedRequestParams) -> Answer:
        found = await self._reading("resources/list", {})
        return _page("resources", found["resources"], params.cursor)

    async def _read(self, _: Context, params: types.ReadResourceRequestParams) -> Answer:
        return await self._reading("resources/read", {"uri": params.uri})

    async def _subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> Answer:
        await self._reading("resources/read", {"uri": params.uri})  # one that is not there: refused
        self._following.of(ctx.session).add(params.uri)
        return {}

    async def _unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> Answer:
        self._following.of(ctx.session).discard(params.uri)
        return {}

    async def _prompt(self, _: Context, params: types.GetPromptRequestParams) -> Answer:
        known = self._prompts.get(params.name)
        if known is None:
            unknown = NotFoundError(
                f"no prompt {params.name!r}", f"one of: {', '.join(self._prompts)}"
            )
            raise _refusal(unknown, _WRONG)
        given = {"name": params.name, "arguments": params.arguments or {}}
        found = await self._reading("prompts/get", given)
        said = {"role": "user", "content": {"type": "text", "text": found["prompt"]}}
        return {"description": known["description"], "messages": [said]}

    async def _complete(self, _: Context, params: types.CompleteRequestParams) -> Answer:
        given = {"argument": params.argument.name, "value": params.argument.value}
        return {"completion": await self._reading("completion/complete", given)}

    @staticmethod
    def _listing(key: str, items: list[Answer]) -> Handler:
        async def listed(_: Context, params: types.PaginatedRequestParams) -> Answer:
            return _page(key, items, params.cursor)

        return listed


def _add(server: Server[Any], name: str, handler: Handler) -> None:
    """Have the requests of a name answered by a handler, whose answers are of their form."""
    request = getattr(types, f"{name}Request")
    result = getattr(types, f"{name}Result", types.EmptyResult)
    params = request.model_fields["params"].annotation
    params = next(one for one in (*get_args(params), params) if one is not type(None))

    async def answered(ctx: Context, params: Any) -> Any:
        answer = await handler(ctx, params)
        return answer if answer.get("resultType") else result.model_validate(answer)

    server.add_request_handler(request.model_fields["method"].default, params, answered)


def _page(key: str, items: list[Answer], cursor: str | None) -> Answer:
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) < _MOST_DIGITS):
        raise _refusal(UsageError(f"no cursor {cursor[:60]!r}", "begin without one"), _WRONG)
    at = int(cursor or 0)
    more = {"nextCursor": str(at + _PAGE)} if at + _PAGE < len(items) else {}
    return {key: items[at : at + _PAGE], **more}


def _result(answer: Answer) -> Answer:
    """Return what a tool answers; one that came to nothing says so in one line, with its code."""
    error, record = answer.get("error"), answer.get("record")
    text = answer["text"] or ("" if record is None else json_text(record))
    if error:
        record = {"error": error, **(record or {})}
        text = "\n".join(filter(None, [_line(error), text]))
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": record,
        "isError": bool(error),
    }


def _line(error: Answer) -> str:
    """Return the one line of an error: its code, what is wrong, and what to do."""
    hint = f" ({error['hint']})" if error.get("hint") else ""
    said = " ".join(f"{error['message']}{hint}".split())
    return f"{error['code']}: {in_fields(said)}"


def _refusal(error: CouncilError, code: int) -> MCPError:
    return MCPError(code, _line(error.to_record()), error.to_record())
