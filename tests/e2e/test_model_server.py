"""The model server keeps its promises: its moods, its tools, an end within a moment."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.e2e.model_server import INPUT_TOKENS, OUTPUT_TOKENS, ModelServer, model_server
from tests.e2e.saying import ERROR_TEXT, HANDED_IN

PATHS = {
    "Chat": "/v1/chat/completions",
    "Responses": "/v1/responses",
    "Messages": "/v1/messages",
    "Gemini": "/v1beta/models/scripted:generateContent",
}
PROMPT = """\
# Council: Tea or coffee

You are **A** (agent id `a`), in the role of Skeptic.

**Your task (COLLECT, round 1):** give your own position on the topic.

```sh
council respond --name tea --as a --task tea/1/a/1 --root '/some where' - <<'END-OF-ANSWER'
your contribution
END-OF-ANSWER
```
"""


def body(protocol: str, prompt: str, *, streams: bool = False) -> dict[str, Any]:
    shell = {"type": "object", "properties": {"command": {"type": "string"}}}
    if protocol == "Gemini":
        tools = [{"functionDeclarations": [{"name": "shell", "parametersJsonSchema": shell}]}]
        return {"contents": [{"role": "user", "parts": [{"text": prompt}]}], "tools": tools}
    function = {"name": "shell", "parameters": shell}
    message = [{"role": "user", "content": prompt}]
    given: dict[str, Any] = {"model": "scripted", "stream": streams}
    if protocol == "Chat":
        tool: Any = {"type": "function", "function": function}
        return {**given, "messages": message, "tools": [tool]}
    if protocol == "Responses":
        return {**given, "input": message, "tools": [{"type": "function", **function}]}
    tools = [{"name": "shell", "input_schema": shell}]
    return {**given, "messages": message, "tools": tools}


def post(url: str, data: Any) -> tuple[int, Any]:
    request = urllib.request.Request(url, json.dumps(data).encode())
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@pytest.mark.parametrize("protocol", PATHS)
def test_each_protocol_answers_refuses_and_calls_a_shell(protocol: str):
    path = PATHS[protocol]
    with model_server() as server:
        _, answer = post(server.base("answers", path), body(protocol, PROMPT))
        said = server.requests[-1].said
        _, error = post(server.base("says-error", path), body(protocol, PROMPT))
        refused = [
            post(server.base(mood, path), body(protocol, PROMPT))[0]
            for mood in ("fails", "refuses", "limits")
        ]
        _, call = post(server.base("tools", path), body(protocol, PROMPT))
        called = server.requests[-1].called

        assert said.startswith("Position of a in COLLECT, round 1")
        assert json.dumps(said)[1:-1] in json.dumps(answer)
        assert ERROR_TEXT in json.dumps(error, ensure_ascii=False)
        assert refused == [500, 400 if protocol == "Gemini" else 401, 429]
        assert called.startswith("shell {'command': \"council respond --name tea --as a --task")
        assert "END-OF-ANSWER" in json.dumps(call) and "your contribution" not in called
        assert [one.protocol for one in server.model_calls()] == [protocol] * 6
        assert server.spent("answers") == (INPUT_TOKENS, OUTPUT_TOKENS)
        assert server.spent("fails") == (0, 0)


def test_after_the_result_of_its_call_the_model_ends_its_turn():
    asked = body("Chat", PROMPT)
    with model_server() as server:
        url = server.base("tools", PATHS["Chat"])
        message = post(url, asked)[1]["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "ok"}
        asked["messages"] += [message, result]
        _, ended = post(url, asked)

    assert ended["choices"][0]["message"]["content"] == HANDED_IN


def test_usage_is_streamed_only_to_a_client_that_asks_for_it():
    with model_server() as server:
        for options in ({}, {"stream_options": {"include_usage": True}}):
            asked = {**body("Chat", PROMPT, streams=True), **options}
            request = urllib.request.Request(
                server.base("answers", PATHS["Chat"]), json.dumps(asked).encode()
            )
            with urllib.request.urlopen(request, timeout=10) as answer:
                text = answer.read().decode()
            lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
            chunks = [json.loads(line) for line in lines[:-1]]
            assert lines[-1] == "[DONE]"
            assert any(one.get("usage") for one in chunks) == bool(options)
            said = "".join(one["choices"][0]["delta"].get("content") or "" for one in chunks[:-2])
            assert server.requests[-1].said.startswith(said[:200]) and len(said) > 200


def stream(server: ModelServer, mood: str) -> http.client.HTTPConnection:
    link = http.client.HTTPConnection(*server.server_address[:2], timeout=10)
    asked = json.dumps(body("Messages", PROMPT, streams=True))
    link.request("POST", f"/{mood}{PATHS['Messages']}", asked)
    return link


def test_the_server_ends_at_once_whatever_hangs_in_it():
    others = set(threading.enumerate())
    with model_server() as server:
        links = [stream(server, mood) for mood in ("hangs", "stalls", "babbles")]
        server.wait_for(lambda one: one.mood == "babbles" and one.status == 200, 10)
        server.wait_for(lambda one: one.mood == "stalls" and one.status == 200, 10)
        server.wait_for(lambda one: one.mood == "hangs", 10)
        began = time.monotonic()
    ended = time.monotonic() - began
    for one in links:
        one.close()

    assert ended < 5
    for one in set(threading.enumerate()) - others:
        one.join(10)
        assert not one.is_alive()


def test_a_client_that_leaves_is_noted():
    with model_server() as server:
        link = stream(server, "hangs")
        server.wait_for(lambda one: one.mood == "hangs", 10)
        link.close()

        assert server.wait_for(lambda one: one.left, 10).status == 0
