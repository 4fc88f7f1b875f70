"""`council mcp` with those that it is made for: the conformance runner, real claude and codex."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.conftest import Council
from tests.e2e.test_programs import Table, minutes

pytestmark = pytest.mark.e2e

EXPECTED = Path(__file__).with_name("mcp-conformance.yml")
TOKEN = "a-token-of-some-length"
# The runner calls fixtures by fixed names. What stands for each of them is of the same kind here.
STANDS_FOR = {
    '"test_simple_text"': '"status"',
    '"test_error_handling","arguments":{}': '"show","arguments":{"conversation":"nothing"}',
    '"test_tool_with_progress","arguments":{}': '"wait","arguments":{"timeout_s":11}',
    '"test_simple_prompt"': '"turn"',
    '"test_prompt_with_arguments","arguments":{"arg1":"testValue1","arg2":"testValue2"}': (
        '"turn","arguments":{"agent":"testvalue1","conversation":"testvalue2"}'
    ),
    "test://static-text": "council://conversation/active",
    "test://template/123/data": "council://record/n123",
    "test://watched-resource": "council://conversation/active",
}


class Relay:
    """Stands between the runner and the server: adds the token, and puts in what stands for what.

    All else goes through as it is, other names of the host as well.
    """

    def __init__(self, port: int, names: dict[str, str]) -> None:
        self._port = port
        self._names = names

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = re.search(r"(?i)^content-length: *(\d+)", head, re.MULTILINE)
            body = (await reader.readexactly(int(length[1]) if length else 0)).decode()
            for name, other in self._names.items():
                body = body.replace(name, other)
            first, *fields = head.strip().split("\r\n")
            fields = [one for one in fields if not re.match("(?i)content-length|connection", one)]
            fields += [f"Authorization: Bearer {TOKEN}", "Connection: close"]
            fields.append(f"Content-Length: {len(body.encode())}")
            there, to = await asyncio.open_connection("127.0.0.1", self._port)
            to.write("\r\n".join([first, *fields, "", body]).encode())
            while piece := await there.read(65536):
                writer.write(piece)
                await writer.drain()
            to.close()
        writer.close()


@contextmanager
def relayed(port: int, names: dict[str, str]) -> Iterator[int]:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    begun = asyncio.start_server(Relay(port, names).serve, "127.0.0.1", 0)
    server = asyncio.run_coroutine_threadsafe(begun, loop).result(30)
    yield server.sockets[0].getsockname()[1]
    asyncio.run_coroutine_threadsafe(_ended(), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)


async def _ended() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for one in others:
        one.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@contextmanager
def listening(council: Council, *words: str) -> Iterator[int]:
    given = ("mcp", "--http", "--port", "0", *words)
    process = council.start(*given, env={"COUNCIL_MCP_TOKEN": TOKEN})
    try:
        found = re.search(r":(\d+)/mcp", process.stderr.readline().decode())
        yield int(found[1])
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.req("IO-004", "CL-007")
def test_the_official_conformance_runner_passes(council, clients, row, tmp_path):
    runner = clients.need("conformance")
    council("init", "--agents", "owl")
    council("agent", "add", "testvalue1", "--name", "testValue1")
    council("convene", "Shall we?", "--agents", "owl,testvalue1")
    council("convene", "And testValue2?", "--agents", "owl,testvalue1", "--name", "testvalue2")
    council("convene", "And 123?", "--agents", "owl,testvalue1", "--name", "n123")
    council("respond", "Yes.", "--as", "owl", "--name", "active")
    (tmp_path / "bytes.bin").write_bytes(b"\xff\x00")
    binary = council("artifact", "publish", tmp_path / "bytes.bin").out.strip()
    names = {**STANDS_FOR, "test://static-binary": f"council://artifact/{binary}"}
    with (
        row("conformance", "all server scenarios that apply") as told,
        listening(council, "--as", "owl") as port,
        relayed(port, names) as relay,
    ):
        done = subprocess.run(
            [
                *(str(runner), "server", "--url", f"http://127.0.0.1:{relay}/mcp"),
                *("--expected-failures", str(EXPECTED), "-o", str(tmp_path / "results")),
            ],
            env={**os.environ, "PATH": clients.path("conformance"), "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        print(done.stdout)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
        passed = len(re.findall(r"^✓", done.stdout, re.MULTILINE))
        told.came_out = (
            f"{passed} pass, {len(re.findall('^  - ', EXPECTED.read_text(), re.M))} do not apply"
        )


LISTS = {"claude": "mcp list", "codex": "mcp list", "gemini": "mcp list"}


@pytest.mark.req("CL-007")
@pytest.mark.parametrize("client", LISTS)
def test_integrate_adds_the_server_to_a_real_program_and_takes_it_away(
    at_table, clients, model_server, row, client
):
    with row(client, "integrate, list, uninstall") as told:
        at_table.seat(client, model_server.base("answers"))
        at_table("init", "--agents", "owl,gecko")

        for _ in range(2):
            added = at_table("integrate", client, "--install", "--as", "owl")
            assert added.out == f"{client}: has the server council now\n", added.err
        listed = _run(at_table, client, *LISTS[client].split())
        assert "--as owl" in listed and listed.count("--as owl") == 1, listed
        if client == "claude":
            assert "Connected" in listed
        at_table("integrate", client, "--uninstall")

        assert "--as owl" not in _run(at_table, client, *LISTS[client].split())
        told.came_out = "added once, listed, taken away"


def _run(table: Table, *words: str) -> str:
    done = subprocess.run(
        words,
        cwd=table.root,
        env=table.env(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.req("CL-007", "IO-004")
def test_real_claude_and_codex_hold_a_council_by_the_tools(at_table, clients, model_server, row):
    with row("claude, codex", "a council by the tools") as told:
        for one in ("claude", "codex"):
            at_table.seat(one, model_server.base("mcp"))
        at_table.settle("", "claude", "codex")
        settings = at_table.root / "council.toml"
        tool = 'answer = "tool"\n'
        settings.write_text(re.sub(r"(preset = .*\n)", rf"\1{tool}", settings.read_text()))

        done = at_table("ask", "Shall we?", "--agents", "claude,codex", "--timeout", "60s")

        written = minutes(at_table) if done.code == 0 else ""
        logs = [one.read_text()[-1500:] for one in at_table.root.rglob("runs/*.log")]
        assert done.code == 0, done.out + done.err + "\n".join(logs)
        assert re.search(r"all \d+ texts verified", written), written
        offered = {tool for one in model_server.model_calls() for tool in _council_tools(one)}
        assert {"context", "respond", "synthesize"} <= offered and "convene" not in offered
        told.came_out = re.search(r"all \d+ texts verified", written)[0]


def _council_tools(request) -> set[str]:
    names = re.findall(
        r'"name": ?"(?:mcp__council__|council[._]+)?(\w+)"', json.dumps(request.body)
    )
    return set(names)


@pytest.mark.req("CL-007")
@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_real_program_that_a_person_started_lists_and_calls_the_tools(
    at_table, clients, model_server, row, client
):
    with row(client, "a turn by the tools, started by hand") as told:
        at_table.seat(client, model_server.base("mcp"))
        at_table("init", "--agents", "owl,gecko")
        at_table("convene", "Shall we?", "--agents", "owl,gecko")
        assert at_table("integrate", client, "--install", "--as", "owl").code == 0
        words = {
            "claude": ["claude", "--print", "--allowedTools=mcp__council"],
            "codex": ["codex", "exec", "--skip-git-repo-check", "--full-auto"],
        }[client]

        said = _run(at_table, *words, "Take your turn in the council.")

        shown = at_table("show", "--json").json()
        assert shown["participants"]["owl"]["status"] != "WAITING" or shown["sealed"], said
        told.came_out = "answered, claimed"
