#!/usr/bin/env bash
# mcp 2.3.0 (Python), a low-level server whose handler returns a plain dict.
#
# Guess: what one revision of the protocol accepts, the other accepts, too: the SDK serves both.
# Seen: a client of 2025-11-25 gets the tools; one of 2026-07-28 gets an error for the same server,
# since that revision's results need fields that only the SDK's models fill in. A server that is
# tested with `initialize` alone seems right. Handlers have to return the SDK's models.
. "$(dirname "$0")/_setup.sh" mcp==2.3.0

"$python" - 2>/dev/null <<'PY'
import anyio, sys
from mcp import Client
from mcp.server.lowlevel import Server

async def tools(_, params):
    return {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}

async def main():
    found = {}
    for mode in ("legacy", "auto"):
        try:
            async with Client(Server("one", on_list_tools=tools), mode=mode) as client:
                found[mode] = [one.name for one in (await client.list_tools()).tools]
        except BaseException as error:
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            found[mode] = type(error).__name__
        print(f"{mode}: {found[mode]}")
    return found

found = anyio.run(main)
sys.exit(not (found["legacy"] == ["look"] and found["auto"] != ["look"]))
PY
