"""A workspace with an open council, and real clients of `council mcp` in it."""

import subprocess
from contextlib import asynccontextmanager, contextmanager

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.scenarios.workspaces import COMMAND, Workspace

TOKEN = "a-token-of-some-length"


class Served(Workspace):
    """A workspace whose `council mcp` is reached in one of two ways, by one of two revisions."""

    def __init__(self, root, way="stdio", mode="auto"):
        super().__init__(root)
        self.way, self.mode = way, mode

    @asynccontextmanager
    async def client(self, *words, **more):
        if self.way == "stdio":
            words = [*COMMAND[1:], "mcp", *words]
            server = StdioServerParameters(command=COMMAND[0], args=words, env=self.env)
            async with Client(server, mode=self.mode, **more) as client:
                yield client
            return
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with self.http(*words) as url:
            async with (
                httpx2.AsyncClient(headers=headers, timeout=60) as carrier,
                Client(
                    streamable_http_client(url, http_client=carrier), mode=self.mode, **more
                ) as client,
            ):
                yield client

    @contextmanager
    def http(self, *words):
        env = {**self.env, "COUNCIL_MCP_TOKEN": TOKEN}
        process = subprocess.Popen(
            [*COMMAND, "mcp", "--http", "--port", "0", *words],
            cwd=self.root, env=env, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            line = process.stderr.readline()
            assert "listening on http://127.0.0.1:" in line and TOKEN not in line
            yield next(word for word in line.split() if word.startswith("http")).rstrip(";")
        finally:
            process.terminate()
            process.communicate(timeout=30)


WAYS = ["stdio-auto", "http-auto"]
OLDER = [pytest.param(f"{way}-legacy", marks=pytest.mark.slow) for way in ("stdio", "http")]


@pytest.fixture(params=[*WAYS, *OLDER])
def served(request, tmp_path):
    return opened(Served(tmp_path, *request.param.split("-")))


@pytest.fixture
def stdio(tmp_path):
    return opened(Served(tmp_path))


def opened(served):
    served.run("init", str(served.root), "--agents", "ann,bea", "--lang", "en")
    served.json("convene", "Which kettle?", "--agents", "ann,bea", "--name", "tea")
    return served
