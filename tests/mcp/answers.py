"""An agent that answers by the tools of `council mcp`, as a program with a model does."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

COUNCIL = [sys.executable, "-P", "-m", "council", "mcp"]


async def main() -> None:
    """Read what is asked, answer it, and note what is offered."""
    given = StdioServerParameters(command=COUNCIL[0], args=COUNCIL[1:], env=dict(os.environ))
    async with Client(stdio_client(given)) as client:
        offered = [one.name for one in (await client.list_tools()).tools]
        Path("offered.txt").write_text("\n".join(offered))
        read = (await client.call_tool("context")).structured_content["prompt"]
        done = await client.call_tool(
            "respond", {"text": "Yes.", "task": os.environ["COUNCIL_TASK_ID"]}
        )
        if done.is_error:
            done = await client.call_tool("synthesize", {"text": "# Decision\n\nYes."})
        assert not done.is_error and read
    if os.environ["COUNCIL_PHASE"] != "COLLECT":
        return
    other = subprocess.run(
        [*COUNCIL, "--as", "nobody"], capture_output=True, text=True, check=False
    )
    Path("refused.txt").write_text(other.stderr)


asyncio.run(main())
