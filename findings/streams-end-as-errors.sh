#!/usr/bin/env bash
# fastapi 0.165.0, which traces by itself where OpenTelemetry is set up, and a stream of server-sent
# events that its reader closes, as every page does that is left.
#
# One would expect: a span with status 200 and no error, as nothing has failed.
# Seen: status ERROR with `error.type` ConnectionError, even for FastAPI's own EventSourceResponse.
# It has no last piece, so each counts as broken off, and a board shows 100 % of errors.
#
# Council's stream of events is such a response; it sets up no telemetry, so nothing is reported.
. "$(dirname "$0")/_setup.sh" fastapi==0.165.0 starlette==1.10.0 uvicorn==0.54.0 \
  opentelemetry-api==1.45.2 opentelemetry-sdk==1.45.2

"$python" - <<'PY'
import asyncio, socket, sys, uvicorn
from fastapi import FastAPI
from fastapi.sse import EventSourceResponse
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

seen, ended = {}, asyncio.Event()

class Watch(SpanProcessor):
    def on_end(self, span):
        if span.kind.name == "SERVER":
            facts, status = span.attributes, span.status.status_code.name
            code, fault = facts["http.response.status_code"], facts.get("error.type")
            seen[facts["url.path"]] = code, fault, status
            ended.set()

app = FastAPI(telemetry={"tracer_provider": (provider := TracerProvider())})
provider.add_span_processor(Watch())

@app.get("/events", response_class=EventSourceResponse)
async def events():
    yield {"number": 1}
    await asyncio.Event().wait()

@app.get("/whole")
async def whole():
    return {"number": 1}

async def main():
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    listener = socket.create_server(("127.0.0.1", 0))
    task = asyncio.create_task(server.serve([listener]))
    for path in ("/whole", "/events"):
        while not server.started:
            await asyncio.sleep(0.01)
        ended.clear()
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await reader.readuntil(b"number")
        writer.close()
        await ended.wait()
        print("fastapi 0.165.0", path, *seen[path])
    server.should_exit = True
    await task

asyncio.run(asyncio.wait_for(main(), 60))
sys.exit(seen != {"/whole": (200, None, "UNSET"), "/events": (200, "ConnectionError", "ERROR")})
PY
