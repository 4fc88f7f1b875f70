#!/usr/bin/env bash
# fasta2a 2.1.1 (agents of pydantic-ai as servers of A2A), and a short look at a task.
#
# Guess: `historyLength: 1` shows the newest message, and whoever asks without it gets all of them.
# Seen: it is cut where it is kept. From then on everybody gets one message, whatever they ask for,
# and the question is gone: the store takes the last messages of its own record and puts them back.
# A reader that saves tokens takes the reasons from all others, where the protocol means a limit of
# one answer. `historyLength: 0`, which asks for none, shows all.
#
# Council shows parts of a conversation from its journal, so reading changes nothing.
. "$(dirname "$0")/_setup.sh" fasta2a==2.1.1 pydantic-ai-slim==2.68.0 starlette==1.10.0 \
  httpx2==2.16.2

"$python" - <<'PY'
import sys
from fasta2a.pydantic_ai import agent_to_a2a
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from starlette.testclient import TestClient

app = agent_to_a2a(Agent(TestModel(custom_output_text="Yes."), name="kettle"))
question = {"role": "ROLE_USER", "messageId": "1", "parts": [{"text": "A second kettle?"}]}

with TestClient(app, "http://localhost") as client:

    def asked(method, **params):
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return client.post("/", json=call).json()["result"]

    def texts(task):
        return [part["text"] for one in task["history"] for part in one["parts"]]

    def answered():
        task = asked("SendMessage", message=question)["task"]
        for _ in range(1000):
            if task["status"]["state"] == "TASK_STATE_COMPLETED":
                return task["id"]
            task = asked("GetTask", id=task["id"])
        sys.exit("no answer")

    seen, task = {}, answered()
    for look in ({}, {"historyLength": 0}, {"historyLength": 1}, {}, {"historyLength": 5}):
        shown = texts(asked("GetTask", id=task, **look))
        seen.setdefault(str(look), []).append(shown)
        print(f"fasta2a 2.1.1, GetTask {look or '(all)'}: {shown}")

both, last = ["A second kettle?", "Yes."], ["Yes."]
expected = {"{}": [both, last], "{'historyLength': 0}": [both]}
expected |= {"{'historyLength': 1}": [last], "{'historyLength': 5}": [last]}
sys.exit(seen != expected)
PY
