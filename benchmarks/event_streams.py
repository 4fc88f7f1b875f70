"""What it costs to send one event to 200 readers: by FastAPI's own way, and as bytes they share.

`python -m benchmarks.event_streams` starts a server for each way, twice in turns, and prints the
processor time of the server for one event and how long the last reader waits for it. This is what
decision 0046 says of the two.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator
from statistics import median

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

READERS, EVENTS = 200, 50
WAYS = ("library", "shared")
_EVENT = {
    "schemaVersion": 1,
    "eventId": "4a7eb25d-fece-415b-9eed-1c534ce452d8:7-c6ad624e:0",
    "traceId": "4a7eb25dfece415b9eed1c534ce452d8",
    "type": "contribution.recorded",
    "agentId": "owl",
    "at": "2026-11-23T18:09:22Z",
    "data": {"phase": "DELIBERATE", "tour": 1, "status": "RESPONDED", "origin": "claimed"},
}


def application() -> FastAPI:
    """Return a server with a stream for each way; each `/next` is an event for all readers."""
    app = FastAPI()
    moved = asyncio.Condition()
    count = 0
    sent = f"id: 1\ndata: {json.dumps(_EVENT)}\n\n".encode()

    async def numbers() -> AsyncIterator[int]:
        at = count
        while True:
            async with moved:
                while at == count:
                    await moved.wait()
            at += 1
            yield at

    @app.get("/next")
    async def go_on() -> None:
        nonlocal count
        async with moved:
            count += 1
            moved.notify_all()

    @app.get("/used")
    def used() -> float:
        found = resource.getrusage(resource.RUSAGE_SELF)
        return found.ru_utime + found.ru_stime

    @app.get("/library", response_class=EventSourceResponse)
    async def library() -> AsyncIterator[ServerSentEvent]:
        async for number in numbers():
            yield ServerSentEvent(id=str(number), data=_EVENT)

    @app.get("/shared")
    async def shared() -> StreamingResponse:
        async def each() -> AsyncIterator[bytes]:
            async for _ in numbers():
                yield sent

        return StreamingResponse(each(), media_type="text/event-stream")

    return app


async def measured(way: str) -> tuple[float, float]:
    """Return the server's milliseconds for one event, and those until the last reader has it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        argv = [sys.executable, "-m", "benchmarks.event_streams", str(listener.fileno())]
        server = subprocess.Popen(argv, pass_fds=[listener.fileno()])
        port = listener.getsockname()[1]
        got: list[float] = []
        try:
            readers = [asyncio.create_task(_read(port, way, got)) for _ in range(READERS)]
            while len(got) < READERS:
                await _ask(port, "next")  # some may not be there yet
                await asyncio.sleep(0.5)
            before, waits = await _ask(port, "used"), []
            for _ in range(EVENTS):
                got.clear()
                begun = time.perf_counter()
                await _ask(port, "next")
                while len(got) < READERS:
                    await asyncio.sleep(0.002)
                waits.append(max(got) - begun)
            used = (await _ask(port, "used")) - before
        finally:
            server.kill()
            server.wait()
        for one in readers:
            one.cancel()
    return 1000 * used / EVENTS, 1000 * median(waits)


async def _read(port: int, way: str, got: list[float]) -> None:
    lines, asking = await asyncio.open_connection("127.0.0.1", port)
    asking.write(f"GET /{way} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    while line := await lines.readline():
        if line.startswith(b"data: "):
            got.append(time.perf_counter())


async def _ask(port: int, what: str) -> float:
    def asked() -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{what}", timeout=30) as answer:
            return json.loads(answer.read()) or 0.0

    return await asyncio.to_thread(asked)


async def _main() -> None:
    print(f"one event for {READERS} readers: ms of the server, ms until the last one has it")
    for way in WAYS * 2:
        used, waited = await measured(way)
        print(f"{way:8} {used:6.1f} {waited:6.1f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        import uvicorn

        listening = socket.socket(fileno=os.dup(int(sys.argv[1])))
        config = uvicorn.Config(application(), log_level="error")
        uvicorn.Server(config).run([listening])
    else:
        asyncio.run(_main())
