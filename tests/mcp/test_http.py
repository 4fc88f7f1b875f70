"""`council mcp --http`: only this machine, only under its names, only with the token."""

from __future__ import annotations

import asyncio
import http.client
import re
import socket
import stat
from contextlib import closing, contextmanager

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

TOKEN = "a-token-of-some-length"


@contextmanager
def listening(council, *words, env=None):
    process = council.start("mcp", "--http", "--port", "0", *words, env=env)
    try:
        line = process.stderr.readline().decode()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", line)
        assert found, line + process.stderr.read().decode()
        yield int(found[1]), process
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()
        process.stdout.close()


def status(port: int, **headers: str) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as asked:
        asked.putrequest("POST", "/mcp", skip_host="Host" in headers)
        body = b"{}"
        given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
        for name, value in given.items():
            asked.putheader(name, value)
        asked.endheaders(body)
        return asked.getresponse().status


@pytest.mark.req("IO-004")
def test_over_http_who_has_the_token_is_served_and_nobody_else(opened, play):
    with listening(opened, "--as", "owl", env={"COUNCIL_MCP_TOKEN": TOKEN}) as (port, process):
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert status(port) == status(port, Authorization="Bearer wrong") == 401
        assert status(port, **right, Host=f"evil.example:{port}") == 421
        assert status(port, **right, Origin="http://evil.example") == 403
        assert status(port, **right) == 406  # it is let in, and asks for nothing that there is
        assert _addresses_of(process.pid, port) == ["0100007F"]

        async def scene():
            async def names() -> list[str]:
                by = httpx2.AsyncClient(headers=right, timeout=60)
                there = streamable_http_client(f"http://localhost:{port}/mcp", http_client=by)
                async with Client(there) as client:
                    await client.call_tool("context")
                    answers = [client.call_tool("status") for _ in range(8)]
                    await asyncio.gather(*answers)
                    return [one.name for one in (await client.list_tools()).tools]

            return await asyncio.gather(*[names() for _ in range(3)])

        assert all("respond" in one for one in play(scene()))
        process.terminate()
        assert process.wait(30) in (0, -15)


def _addresses_of(process: int, port: int) -> list[str]:
    with open(f"/proc/{process}/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    return [
        at
        for at, of in (row[1].split(":") for row in rows if row[3] == "0A")
        if int(of, 16) == port
    ]


@pytest.mark.req("IO-004")
def test_a_token_is_made_for_its_user_alone_where_none_is_given(opened):
    with listening(opened, "--as", "owl") as (port, process):
        said = process.stderr.readline().decode()
        kept = opened.root / "memory/shared/.council/mcp-token"
        assert str(kept) in said and kept.read_text().strip() not in said
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert status(port, Authorization=f"Bearer {kept.read_text().strip()}") == 406


def test_a_port_that_is_taken_and_a_short_token_are_said_in_a_line(opened):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = opened("mcp", "--http", "--port", port)
    short = opened("mcp", "--http", "--port", "0", env={"COUNCIL_MCP_TOKEN": "short"})

    assert refused.code == short.code == 2
    assert refused.err.startswith(f"council: cannot listen on port {port}: ")
    assert short.err.startswith("council: COUNCIL_MCP_TOKEN is too short")
    assert len(refused.err.splitlines()) == len(short.err.splitlines()) == 1
