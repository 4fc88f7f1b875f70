#!/usr/bin/env bash
# fasta2a 2.1.1 (agents of pydantic-ai as servers) and the client of a2a-sdk 1.3.0, both of A2A 1.0.
#
# Guess: the client gets the answer. The card names 1.0, and the server's notes name this client.
# Seen: the client refuses whatever the server sends. The time of a status is local and has no zone;
# the SDK reads it as a protobuf timestamp, which must have one. In the JSON nothing looks odd.
# With a "Z" added to the times a stream works, but a client that does not stream gets a task that
# is not done, and no answer: 1.0 waits for the end unless told not to, this server never does.
#
# Council speaks no A2A. Its times end with Z.
. "$(dirname "$0")/_setup.sh" fasta2a==2.1.1 a2a-sdk==1.3.0 pydantic-ai-slim==2.68.0 \
  starlette==1.10.0 httpx==0.28.1 protobuf==7.36.2

"$python" - <<'PY'
import asyncio, sys, httpx
from datetime import datetime
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers import get_artifact_text, new_text_message
from a2a.types import Role, SendMessageRequest, TaskState
from fasta2a import storage
from fasta2a.pydantic_ai import agent_to_a2a
from google.protobuf import json_format
from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel

class Zoned(datetime):
    def isoformat(self):
        return super().isoformat() + "Z"

async def asked(kind, streams):
    storage.datetime, may_answer, url = kind, asyncio.Event(), "http://localhost"

    async def answer(messages, info):
        await may_answer.wait()
        yield "Yes."

    app = agent_to_a2a(Agent(FunctionModel(stream_function=answer), name="kettle"), url=url)
    reached = httpx.AsyncClient(transport=httpx.ASGITransport(app))
    async with app.router.lifespan_context(app), reached as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=streams)).create(card)
        message = new_text_message("A second kettle?", role=Role.ROLE_USER)
        asyncio.get_running_loop().call_later(0 if streams else 20, may_answer.set)
        try:
            request = SendMessageRequest(message=message)
            events = [event async for event in client.send_message(request)]
        except json_format.ParseError as error:
            return "Failed to parse timestamp" in str(error) and "time refused"
    texts = [get_artifact_text(one.artifact_update.artifact) for one in events]
    last = events[-1].task if events[-1].HasField("task") else events[-1].status_update
    return last.status.state == TaskState.TASK_STATE_COMPLETED and "Yes." in texts

seen = {}
for kind in (datetime, Zoned):
    for streams in (True, False):
        seen[kind, streams] = asyncio.run(asked(kind, streams))
        print(f"{kind.__name__} as time, streaming {streams}: answered:", seen[kind, streams])
sys.exit([*seen.values()] != ["time refused", "time refused", True, False])
PY
