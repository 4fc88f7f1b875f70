"""The four protocols in which clients talk to models: what they ask, and how an answer looks.

One class a protocol. `read` takes a request apart into one common form, `whole` is an
answer in one piece, `events` the same answer as Server-Sent Events, `refusal` the body
of an error, `breaking` an error amid a stream. Shapes and error bodies are the documented ones.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

# What each answer costs. Of the input a part was read from a cache: Anthropic counts that
# part beside the input, the others within it.
INPUT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS = 1000, 200, 100

FAILS, REFUSES, LIMITS = "fails", "refuses", "limits"
_numbers = itertools.count(1)

Json = dict[str, Any]


class Call(NamedTuple):
    """A call of a tool that the client declared."""

    tool: str
    arguments: Json
    namespace: str = ""


class Reply(NamedTuple):
    """What the model says: a text, or a call of a tool."""

    text: str = ""
    call: Call | None = None


class Entry(NamedTuple):
    """One thing in the history: of the `user`, the `model`, a `call`, or a `result` of one."""

    kind: str
    text: str


class Tool(NamedTuple):
    """A tool that the client declared, with the JSON Schema of its arguments."""

    name: str
    schema: Json
    namespace: str = ""


class Asked(NamedTuple):
    """What a request asks, whatever its protocol."""

    model: str
    streams: bool
    entries: tuple[Entry, ...]
    tools: tuple[Tool, ...]
    wants: Json | None = None
    """The JSON Schema that the answer must have, if one was given."""


def text_of(content: Any) -> str:
    """Return the text of a content, which is a text, a part or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or "")
    return ""


def pieces(text: str, size: int = 48) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


Event = tuple[str, Json | str]
"""The name of an event, "" for none, and its data."""


class Chat:
    """OpenAI chat completions."""

    @staticmethod
    def read(path: str, body: Json) -> Asked:
        entries = []
        for one in body.get("messages", ()):
            role, text = one.get("role"), text_of(one.get("content"))
            if role == "user":
                entries.append(Entry("user", text))
            elif role == "tool":
                entries.append(Entry("result", text))
            elif role == "assistant":
                entries += [Entry("model", text)] if text else []
                for call in one.get("tool_calls") or ():
                    function = call.get("function", {})
                    entries.append(
                        Entry("call", f"{function.get('name')} {function.get('arguments')}")
                    )
        tools = tuple(
            Tool(one["function"]["name"], one["function"].get("parameters") or {})
            for one in body.get("tools") or ()
            if one.get("type") == "function"
        )
        wants = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        return Asked(body.get("model", ""), bool(body.get("stream")), tuple(entries), tools, wants)

    @staticmethod
    def usage() -> Json:
        return {
            "prompt_tokens": INPUT_TOKENS,
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
            "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }

    @classmethod
    def whole(cls, asked: Asked, reply: Reply) -> Json:
        message: Json = {"role": "assistant", "content": reply.text or None}
        if reply.call:
            message["tool_calls"] = [_chat_call(reply.call)]
        choice = {"index": 0, "message": message, "finish_reason": _chat_reason(reply)}
        return {
            "id": f"chatcmpl-{next(_numbers)}",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": asked.model,
            "choices": [choice],
            "usage": cls.usage(),
        }

    @classmethod
    def events(cls, asked: Asked, reply: Reply, body: Json) -> Iterator[Event]:
        base = {
            "id": f"chatcmpl-{next(_numbers)}",
            "object": "chat.completion.chunk",
            "created": 1_790_000_000,
            "model": asked.model,
        }
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        more: Json = {"usage": None} if with_usage else {}

        def chunk(delta: Json, reason: str | None = None) -> Event:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            return "", {**base, "choices": [choice], **more}

        yield chunk({"role": "assistant", "content": ""})
        if reply.call:
            yield chunk({"tool_calls": [{"index": 0, **_chat_call(reply.call)}]})
        else:
            for piece in pieces(reply.text):
                yield chunk({"content": piece})
        yield chunk({}, _chat_reason(reply))
        if with_usage:
            yield "", {**base, "choices": [], "usage": cls.usage()}
        yield "", "[DONE]"

    @staticmethod
    def refusal(mood: str) -> tuple[int, Json]:
        return _openai_refusal(mood)

    @staticmethod
    def breaking() -> Event:
        return "", _openai_refusal(FAILS)[1]


def _chat_reason(reply: Reply) -> str:
    return "tool_calls" if reply.call else "stop"


def _chat_call(call: Call) -> Json:
    return {
        "id": f"call_{next(_numbers)}",
        "type": "function",
        "function": {"name": call.tool, "arguments": json.dumps(call.arguments)},
    }


def _openai_refusal(mood: str) -> tuple[int, Json]:
    status, kind, code, message = {
        FAILS: (
            500,
            "server_error",
            None,
            "The server had an error while processing your request. Sorry about that!",
        ),
        REFUSES: (
            401,
            "invalid_request_error",
            "invalid_api_key",
            "Incorrect API key provided: sk-wrong. You can find your API key at "
            "https://platform.openai.com/account/api-keys.",
        ),
        LIMITS: (
            429,
            "insufficient_quota",
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
    }[mood]
    return status, {"error": {"message": message, "type": kind, "param": None, "code": code}}


class Responses:
    """OpenAI responses."""

    @staticmethod
    def read(path: str, body: Json) -> Asked:
        given = body.get("input", ())
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        entries = []
        for one in items:
            kind = one.get("type", "message")
            if kind == "message" and one.get("role") == "user":
                entries.append(Entry("user", text_of(one.get("content"))))
            elif kind == "message" and one.get("role") == "assistant":
                entries.append(Entry("model", text_of(one.get("content"))))
            elif kind.endswith("_call_output"):
                entries.append(Entry("result", text_of(one.get("output"))))
            elif kind.endswith("_call"):
                entries.append(Entry("call", f"{one.get('name')} {one.get('arguments')}"))
        tools: list[Tool] = []
        for one in body.get("tools") or ():
            if one.get("type") == "function":
                tools.append(Tool(one["name"], one.get("parameters") or {}))
            elif one.get("type") == "namespace":
                tools += [
                    Tool(inner["name"], inner.get("parameters") or {}, one["name"])
                    for inner in one.get("tools") or ()
                    if inner.get("type") == "function"
                ]
        wants = ((body.get("text") or {}).get("format") or {}).get("schema")
        model, streams = body.get("model", ""), bool(body.get("stream"))
        return Asked(model, streams, tuple(entries), tuple(tools), wants)

    @staticmethod
    def _response(asked: Asked, status: str, output: list[Json]) -> Json:
        usage = {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        }
        return {
            "id": f"resp_{next(_numbers)}",
            "object": "response",
            "created_at": 1_790_000_000,
            "status": status,
            "model": asked.model,
            "output": output,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "temperature": 1.0,
            "top_p": 1.0,
            "usage": usage if status == "completed" else None,
        }

    @staticmethod
    def _item(reply: Reply) -> Json:
        if reply.call:
            named = {"namespace": reply.call.namespace} if reply.call.namespace else {}
            return {
                "type": "function_call",
                "id": f"fc_{next(_numbers)}",
                "call_id": f"call_{next(_numbers)}",
                "name": reply.call.tool,
                **named,
                "arguments": json.dumps(reply.call.arguments),
                "status": "completed",
            }
        return {
            "type": "message",
            "id": f"msg_{next(_numbers)}",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
        }

    @classmethod
    def whole(cls, asked: Asked, reply: Reply) -> Json:
        return cls._response(asked, "completed", [cls._item(reply)])

    @classmethod
    def events(cls, asked: Asked, reply: Reply, body: Json) -> Iterator[Event]:
        done = cls.whole(asked, reply)
        began = {**done, "status": "in_progress", "output": [], "usage": None}
        [item] = done["output"]
        count = itertools.count()

        def event(kind: str, **data: Any) -> Event:
            return kind, {"type": kind, "sequence_number": next(count), **data}

        yield event("response.created", response=began)
        yield event("response.in_progress", response=began)
        place = {"item_id": item["id"], "output_index": 0}
        if reply.call:
            started = {**item, "arguments": "", "status": "in_progress"}
            yield event("response.output_item.added", output_index=0, item=started)
            given = item["arguments"]
            for piece in pieces(given):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
            yield event("response.function_call_arguments.done", **place, arguments=given)
        else:
            started = {**item, "content": [], "status": "in_progress"}
            yield event("response.output_item.added", output_index=0, item=started)
            [part] = item["content"]
            place["content_index"] = 0
            yield event("response.content_part.added", **place, part={**part, "text": ""})
            for piece in pieces(reply.text):
                yield event("response.output_text.delta", **place, delta=piece, logprobs=[])
            yield event("response.output_text.done", **place, text=reply.text, logprobs=[])
            yield event("response.content_part.done", **place, part=part)
        yield event("response.output_item.done", output_index=0, item=item)
        yield event("response.completed", response=done)

    @staticmethod
    def refusal(mood: str) -> tuple[int, Json]:
        return _openai_refusal(mood)

    @staticmethod
    def breaking() -> Event:
        error = {"code": "server_error", "message": _openai_refusal(FAILS)[1]["error"]["message"]}
        response = {"id": f"resp_{next(_numbers)}", "status": "failed", "error": error}
        kind = "response.failed"
        return kind, {"type": kind, "sequence_number": 99, "response": response}


class Messages:
    """Anthropic messages."""

    @staticmethod
    def read(path: str, body: Json) -> Asked:
        entries = []
        for one in body.get("messages", ()):
            content = one.get("content")
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = []
            for part in parts or ():
                if part.get("type") == "tool_result":
                    entries.append(Entry("result", text_of(part.get("content"))))
                elif part.get("type") == "tool_use":
                    given = json.dumps(part.get("input"))
                    entries.append(Entry("call", f"{part.get('name')} {given}"))
                elif not text_of(part).lstrip().startswith("<system-reminder>"):
                    texts.append(text_of(part))
            said = "\n".join(filter(None, texts))
            if said:
                entries.append(Entry("user" if one.get("role") == "user" else "model", said))
        tools = tuple(
            Tool(one["name"], one.get("input_schema") or {})
            for one in body.get("tools") or ()
            if "name" in one
        )
        form = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
        model, streams = body.get("model", ""), bool(body.get("stream"))
        return Asked(model, streams, tuple(entries), tools, form.get("schema"))

    @staticmethod
    def usage(output: int) -> Json:
        return {
            "input_tokens": INPUT_TOKENS - CACHED_TOKENS,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": CACHED_TOKENS,
            "output_tokens": output,
        }

    @staticmethod
    def _block(reply: Reply) -> Json:
        if reply.call:
            return {
                "type": "tool_use",
                "id": f"toolu_{next(_numbers)}",
                "name": reply.call.tool,
                "input": reply.call.arguments,
            }
        return {"type": "text", "text": reply.text}

    @classmethod
    def whole(cls, asked: Asked, reply: Reply) -> Json:
        return {
            "id": f"msg_{next(_numbers)}",
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "content": [cls._block(reply)],
            "stop_reason": "tool_use" if reply.call else "end_turn",
            "stop_sequence": None,
            "usage": cls.usage(OUTPUT_TOKENS),
        }

    @classmethod
    def events(cls, asked: Asked, reply: Reply, body: Json) -> Iterator[Event]:
        done = cls.whole(asked, reply)

        def event(kind: str, **data: Any) -> Event:
            return kind, {"type": kind, **data}

        began = {**done, "content": [], "stop_reason": None, "usage": cls.usage(1)}
        yield event("message_start", message=began)
        [block] = done["content"]
        if reply.call:
            yield event("content_block_start", index=0, content_block={**block, "input": {}})
            for piece in pieces(json.dumps(reply.call.arguments)):
                delta = {"type": "input_json_delta", "partial_json": piece}
                yield event("content_block_delta", index=0, delta=delta)
        else:
            yield event("content_block_start", index=0, content_block={**block, "text": ""})
            yield event("ping")
            for piece in pieces(reply.text):
                delta = {"type": "text_delta", "text": piece}
                yield event("content_block_delta", index=0, delta=delta)
        yield event("content_block_stop", index=0)
        ends = {"stop_reason": done["stop_reason"], "stop_sequence": None}
        yield event("message_delta", delta=ends, usage={"output_tokens": OUTPUT_TOKENS})
        yield event("message_stop")

    @staticmethod
    def refusal(mood: str) -> tuple[int, Json]:
        status, kind, message = {
            FAILS: (500, "api_error", "Internal server error"),
            REFUSES: (401, "authentication_error", "invalid x-api-key"),
            LIMITS: (
                429,
                "rate_limit_error",
                "This request would exceed your account's rate limit. Please try again later.",
            ),
        }[mood]
        error = {"type": kind, "message": message}
        return status, {"type": "error", "error": error, "request_id": f"req_{next(_numbers)}"}

    @staticmethod
    def breaking() -> Event:
        error = {"type": "overloaded_error", "message": "Overloaded"}
        return "error", {"type": "error", "error": error}


class Gemini:
    """Gemini's generateContent and streamGenerateContent. A wrong key is a 400 there."""

    @staticmethod
    def read(path: str, body: Json) -> Asked:
        entries = []
        for one in body.get("contents", ()):
            parts = one.get("parts") or ()
            said = text_of([part for part in parts if "text" in part and not part.get("thought")])
            if said:
                entries.append(Entry("model" if one.get("role") == "model" else "user", said))
            for part in parts:
                if "functionCall" in part:
                    call = part["functionCall"]
                    given = json.dumps(call.get("args"))
                    entries.append(Entry("call", f"{call.get('name')} {given}"))
                elif "functionResponse" in part:
                    response = part["functionResponse"].get("response") or {}
                    text = response.get("output") or response.get("error") or json.dumps(response)
                    entries.append(Entry("result", text_of(text)))
        tools = tuple(
            Tool(one["name"], one.get("parametersJsonSchema") or one.get("parameters") or {})
            for group in body.get("tools") or ()
            for one in group.get("functionDeclarations") or ()
        )
        form = body.get("generationConfig") or {}
        wants = form.get("responseJsonSchema") or form.get("responseSchema")
        if wants is None and form.get("responseMimeType") == "application/json":
            wants = {"type": "object"}
        model = path.rsplit("/", 1)[-1].split(":", 1)[0]
        return Asked(model, ":stream" in path, tuple(entries), tools, wants)

    @staticmethod
    def _piece(asked: Asked, part: Json, *, last: bool) -> Json:
        candidate: Json = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if last:
            candidate["finishReason"] = "STOP"
        usage = {
            "promptTokenCount": INPUT_TOKENS,
            "cachedContentTokenCount": CACHED_TOKENS,
            "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        }
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": asked.model,
            "responseId": f"r{next(_numbers)}",
        }

    @classmethod
    def whole(cls, asked: Asked, reply: Reply) -> Json:
        if reply.call:
            call = {"name": reply.call.tool, "args": reply.call.arguments}
            return cls._piece(asked, {"functionCall": call}, last=True)
        return cls._piece(asked, {"text": reply.text}, last=True)

    @classmethod
    def events(cls, asked: Asked, reply: Reply, body: Json) -> Iterator[Event]:
        if reply.call:
            yield "", cls.whole(asked, reply)
            return
        *first, last = pieces(reply.text)
        for piece in first:
            yield "", cls._piece(asked, {"text": piece}, last=False)
        yield "", cls._piece(asked, {"text": last}, last=True)

    @staticmethod
    def refusal(mood: str) -> tuple[int, Json]:
        code, status, message, reason = {
            FAILS: (500, "INTERNAL", "An internal error has occurred. Please retry.", ""),
            REFUSES: (
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                "API_KEY_INVALID",
            ),
            LIMITS: (
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota, please check your plan and billing details.",
                "RATE_LIMIT_EXCEEDED",
            ),
        }[mood]
        error: Json = {"code": code, "message": message, "status": status}
        if reason:
            kind = "type.googleapis.com/google.rpc.ErrorInfo"
            error["details"] = [{"@type": kind, "reason": reason, "domain": "googleapis.com"}]
        return code, {"error": error}

    @staticmethod
    def breaking() -> Event:
        message = "The model is overloaded. Please try again later."
        return "", {"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}}


Protocol = type[Chat] | type[Responses] | type[Messages] | type[Gemini]


def protocol_of(path: str) -> Protocol | None:
    """Return the protocol in which a path without its query is asked, None for no model call."""
    if path.endswith("/chat/completions"):
        return Chat
    if path.endswith("/responses"):
        return Responses
    if path.endswith("/messages"):
        return Messages
    if path.endswith((":generateContent", ":streamGenerateContent")):
        return Gemini
    return None
