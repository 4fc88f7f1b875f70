"""The tasks extension: a conversation that a client opened is a task, which it polls.

The SDK has the shapes of results that extensions need, and no tasks of its own. A task is the
conversation itself, so nothing is kept here, and a server that is started anew knows it as well. A
client that takes part in it must answer meanwhile: it gets the plain result, as a client does that
does not declare the extension.

Source: IO-005.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

EXTENSION = "io.modelcontextprotocol/tasks"
_POLL_MS = 2000

Answer = dict[str, Any]
Context = ServerRequestContext[Any, Any]
Reading = Callable[[str, Answer], Awaitable[Answer]]


class TaskParams(types.RequestParams):
    """What is said of a task: which it is."""

    task_id: str


def instead(ctx: Context, name: str, answer: Answer, agent: str) -> Answer | None:
    """Return the task that a client gets instead of an answer, None where it gets the answer."""
    record = answer.get("record") or {}
    if name != "convene" or answer.get("error") or record["dryRun"]:
        return None
    capabilities = ctx.session.client_capabilities
    declared = (capabilities.extensions or {}) if capabilities is not None else {}
    is_new = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    if not is_new or EXTENSION not in declared or agent in record["participants"]:
        return None
    said = f"{record['name']}: {record['phase']} (round {record['tour']})"
    at = record["createdAt"]
    task = _task(record["conversationId"], "working", said, at, at)
    return {"resultType": "task", **task}


def _task(task: str, status: str, said: str, created: str, updated: str) -> Answer:
    told = {"taskId": task, "status": status, "statusMessage": said, "createdAt": created}
    return {**told, "lastUpdatedAt": updated, "ttlMs": None, "pollIntervalMs": _POLL_MS}


def add_to(server: Server[Any], reading: Reading) -> None:
    """Have a server answer for tasks; `reading` asks how a conversation stands."""

    async def get(_: Context, params: TaskParams) -> Answer:
        found = await reading("tasks/get", {"taskId": params.task_id})
        minutes = found.pop("result", None)
        task = _task(
            params.task_id, found["status"], found["said"], found["createdAt"], found["updatedAt"]
        )
        if found["status"] != "completed":
            return task
        content = [{"type": "text", "text": minutes["text"]}]
        result = {"content": content, "structuredContent": minutes, "isError": False}
        return {**task, "result": {**result, "resultType": "complete"}}

    async def cancel(_: Context, params: TaskParams) -> Answer:
        return await reading("tasks/cancel", {"taskId": params.task_id})

    server.extensions[EXTENSION] = {}
    server.add_request_handler("tasks/get", TaskParams, get)
    server.add_request_handler("tasks/cancel", TaskParams, cancel)
