"""A workspace with an open council, and real clients of `council mcp` in it."""

from contextlib import asynccontextmanager, contextmanager

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.scenarios.workspaces import COMMAND, Workspace

TOKEN, ANN = "a-token-of-some-length", ("--as", "ann")


class Served(Workspace):
    """A workspace whose `council mcp` is reached in one of two ways, by one of two revisions.

    `url` is where a server listens already.
    """

    def __init__(self, root, way="stdio", mode="auto"):
        super().__init__(root)
        self.way, self.mode, self.url = way, mode, ""
        self.env["COUNCIL_MCP_TOKEN"] = TOKEN
        self.run("init", str(root), "--agents", "ann,bea", "--lang", "en")
        self.json("convene", "Which kettle?", "--agents", "ann,bea", "--name", "tea")

    @asynccontextmanager
    async def client(self, *words, **more):
        if self.way == "stdio":
            words = [*COMMAND[1:], "mcp", *words]
            server = StdioServerParameters(command=COMMAND[0], args=words, env=self.env)
            async with Client(server, mode=self.mode, **more) as client:
                yield client
            return
        headers = {"Authorization": f"Bearer {TOKEN}"}
        carrier = httpx2.AsyncClient(headers=headers, timeout=60)
        with self.http(*words) as url:
            way = streamable_http_client(url, http_client=carrier)
            async with carrier, Client(way, mode=self.mode, **more) as client:
                yield client

    @contextmanager
    def http(self, *words):
        if self.url:
            yield self.url
            return
        process = self.start("mcp", "--http", "--port", "0", *words)
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
    return Served(tmp_path, *request.param.split("-"))


@pytest.fixture
def stdio(tmp_path):
    return Served(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server, for ann, of all tests that leave the council as it is."""
    made = Served(tmp_path_factory.mktemp("shared"), "http")
    with made.http(*ANN) as made.url:
        yield made
