"""The server as its clients see it: the official client of the SDK over real processes."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from council.mcp.serving import Serving
from council.operations.place import open_place
from tests.conftest import Council


class Serve:
    """Starts servers in the workspace and connects to them, each with the words of `council mcp`.

    A server is one of this process, so that no test waits for the SDK to be loaded; by `stdio` it
    is `council mcp` itself. What carries calls out is a process of its own in both.
    """

    def __init__(self, council: Council, log: Path) -> None:
        self.council = council
        self.log = log

    @asynccontextmanager
    async def __call__(
        self, *words: str, env: dict[str, str] | None = None, **how: Any
    ) -> AsyncIterator[Client]:
        agent = words[1] if words else (env or {}).get("COUNCIL_AGENT", "")
        env = self.council.env(env={**(env or {}), **({"COUNCIL_AGENT": agent} if agent else {})})
        root = str(self.council.root)
        place = open_place(root, "", {**env, "COUNCIL_ROOT": root})
        async with Client(Serving(place, agent).server(), **how) as client:
            yield client

    @asynccontextmanager
    async def stdio(self, *words: str, **how: Any) -> AsyncIterator[Client]:
        """Connect to a process of its own, by its standard input and output."""
        argv = self.council.argv("mcp", *words)
        given = StdioServerParameters(
            command=argv[0], args=argv[1:], cwd=self.council.root, env=self.council.env()
        )
        with self.log.open("a") as log:
            async with Client(stdio_client(given, errlog=log), **how) as client:
                yield client


@pytest.fixture
def serve(council: Council, tmp_path: Path) -> Serve:
    """What starts servers in the workspace."""
    return Serve(council, tmp_path / "server.log")


@pytest.fixture
def play() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Play a scene that waits; none may hang, and what goes wrong in it is said as it is."""

    def played(scene: Coroutine[Any, Any, Any]) -> Any:
        try:
            return asyncio.run(asyncio.wait_for(scene, 120))
        except BaseException as error:
            wrong = error
            while isinstance(wrong, BaseExceptionGroup):
                wrong = wrong.exceptions[0]
            where = traceback.extract_tb(wrong.__traceback__)
            ours = [one for one in where if one.filename.startswith(str(Path(__file__).parent))]
            said = f"{type(wrong).__name__}: {wrong}\n{''.join(traceback.format_list(ours))}"
        pytest.fail(said)

    return played


@pytest.fixture
def opened(council: Council) -> Council:
    """A workspace in which two agents who answer by hand have begun a council."""
    assert council("init", "--agents", "owl,gecko").code == 0
    assert council("convene", "Shall we build it?", "--agents", "owl,gecko").code == 0
    return council
