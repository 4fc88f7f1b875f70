#!/usr/bin/env bash
# mcp 2.3.0 (Python), a tool made from a function, with a text that may be left out.
#
# One would expect: what fits the schema that the tool shows arrives as it was sent.
# Seen: only a parameter that is annotated `str` and nothing else is left alone. For `str | None` a
# text that is JSON is read as JSON first: "null" arrives as None, an object or a list is refused as
# no string. An enum refuses "null", which it lists. Numbers and "true" pass, so tests with plain
# words do not show it; agents hand one another JSON every day.
#
# Council's tools stand on the low-level server and read JSON only where the schema wants no string.
. "$(dirname "$0")/_setup.sh" mcp==2.3.0

"$python" - 2>/dev/null <<'PY'
import anyio, sys
from typing import Literal
import jsonschema
from mcp import Client
from mcp.server import MCPServer

server = MCPServer("one")

@server.tool()
def note(plain: str = "-", optional: str | None = "-", word: Literal["null", "-"] = "-") -> str:
    return repr(next((one for one in (plain, optional, word) if one != "-"), "-"))

expected = {
    ("plain", '{"a": 1}'): "'{\"a\": 1}'", ("optional", '{"a": 1}'): "refused",
    ("plain", "null"): "'null'", ("optional", "null"): "None", ("word", "null"): "refused",
    ("optional", "true"): "'true'",
}

async def main():
    seen = {}
    async with Client(server) as client:
        schema = (await client.list_tools()).tools[0].input_schema
        for name, text in expected:
            jsonschema.validate({name: text}, schema)
            result = await client.call_tool("note", {name: text})
            seen[name, text] = "refused" if result.is_error else result.content[0].text
            print(f"mcp 2.3.0, {name} = {text}: {seen[name, text]}")
    return seen

sys.exit(anyio.run(main) != expected)
PY
