"""The driver that asks a model behind any OpenAI-compatible server; it has no tools.

The client library runs in a process of its own, this module as a program, so the time limit and the
end of the run are those of any program, and only that process has the key. It prints events that
the reader `openai` understands.
"""

from __future__ import annotations

import json
import os
import sys

from council.agents.settings import AgentSettings
from council.kernel.record import Any
from council.runs.drivers.command import run_program
from council.runs.drivers.environment import seen_by
from council.runs.drivers.output import Output, RunPlace

KEY = "OPENAI_API_KEY"
# What only OpenAI's own server knows goes to no other.
OWN = ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
LOOPBACK = ("127.", "localhost", "[::1]")


def run(agent: AgentSettings, prompt: str, place: RunPlace) -> Output:
    """Ask the server once and return its answer, or why there is none."""
    name = agent.api_key_env or ("" if agent.base_url else KEY)
    key = place.environ.get(name, "").strip() if name else ""
    if name and not (key and key.isascii() and key.isprintable()):
        return Output(code="refused-key", words=f"no key: the variable {name} is not set")
    env = seen_by(place.environ, (*(() if agent.base_url else OWN), *agent.env))
    env[KEY] = key
    argv = [sys.executable, "-P", "-m", __name__, agent.model, agent.base_url]
    output = run_program(argv, prompt, "openai", env, place)
    if "No module named 'openai'" in output.words:
        output.code, output.words = "missing-program", "the Python package openai is missing"
    output.words = output.words.replace(key, "***") if key else output.words
    return output


# --- The program


def main() -> None:
    """Ask once: model and address are the arguments, the prompt is the standard input."""
    import openai  # late: the driver itself does without

    model, base_url = sys.argv[1:3]
    key, prompt = os.environ.get(KEY, ""), sys.stdin.buffer.read().decode("utf-8", "replace")
    host = base_url.partition("://")[2]
    # A proxy gets nothing that is asked of this very machine; no other host gets a prompt.
    is_far = not host.startswith(LOOPBACK)
    http = openai.DefaultHttpxClient(trust_env=is_far, follow_redirects=False)
    time = openai.Timeout(None, connect=10)
    client = openai.OpenAI(
        api_key=key or "-", base_url=base_url or None, http_client=http, timeout=time
    )
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": prompt}]}
    stream = {"stream": True, "stream_options": {"include_usage": True}}
    headers: Any = {} if key else {"headers": {"Authorization": openai.omit}}
    ways = [{**body, **stream}, {**body, "stream": True}, body]
    for way in ways:
        try:
            form: Any = {"cast_to": object, "stream": True, "stream_cls": openai.Stream[object]}
            _answered(client.post("/chat/completions", body=way, options=headers, **form))
            return
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if way is body or "stream" not in _words(error.body):  # it does not know that way
                _failed(_words(error.body) or str(error), error.status_code, error.code)
                return
        except openai.APIStatusError as error:
            sent = error.response.headers
            to = sent.get("location")
            words = f"it sends us to {to}: is base_url right?" if to else _words(error.body)
            wait = f"; retry after {sent['retry-after']} s" if "retry-after" in sent else ""
            where = f" at {error.request.url}" if error.status_code == 404 else ""
            status = f"HTTP {error.status_code}{where}: "
            _failed(f"{status}{words or error.message}{wait}", error.status_code, error.code)
            return
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            _failed(f"no connection to {client.base_url}: {cause}", 0, "unreachable")
            return


def _answered(stream: Any) -> None:
    """Print what a response says, as it comes."""
    response, text, reason, is_done = stream.response, "", "", False
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind == "text/html":
        page = f"{response.url} answers with a page for people: is base_url right?"
        _failed(page, 0, "bad-settings")
        return
    try:
        is_done = kind.endswith("json")
        whole = [f"data: {response.read().decode('utf-8', 'replace')}"] if is_done else []
        for line in whole or response.iter_lines():
            data = line.removeprefix("data:").strip()
            if not line.startswith("data:") or not data:
                continue
            if data == "[DONE]":
                is_done = True
                break
            event = json.loads(data)
            text, reason, fault = _piece(event, text, reason)
            if fault:
                _failed(fault, 0, str(event.get("code") or event.get("error_type") or ""))
                return
    except Exception as error:  # of the library that carries the bytes, or of the server's JSON
        if not reason:
            _failed(f"the answer broke off: {error or type(error).__name__}", 0, "unreachable")
            return
    if not reason and not is_done:
        _failed("the stream ended before the answer did", 0, "unreachable")
    else:
        _tell(end=reason or "stop")


def _piece(event: Any, text: str, reason: str) -> tuple[str, str, str]:
    """Print one piece; return the text until now, the finish reason, and a fault."""
    event = event if isinstance(event, dict) else {}
    usage = event.get("usage")
    if isinstance(usage, dict):
        _tell(use=usage)
    choices = event.get("choices")
    if not isinstance(choices, list):
        return text, reason, "" if isinstance(usage, dict) else _words(event)
    choice = choices[0] if choices and isinstance(choices[0], dict) else {}
    delta, whole = choice.get("delta"), choice.get("message")
    piece = _text(delta)
    is_end = isinstance(choice.get("finish_reason"), str) and choice["finish_reason"]
    if is_end and reason != "refusal":
        reason = choice["finish_reason"]
    if not piece and _text(whole):  # the last piece may have the whole message again
        piece = _text(whole).removeprefix(text) if _text(whole).startswith(text) else _text(whole)
    elif piece and is_end and piece == text:
        piece = ""
    refusal = (delta or {}).get("refusal") if isinstance(delta, dict) else None
    if isinstance(refusal, str) and refusal:
        piece, reason = refusal, "refusal"
    if piece:
        _tell(piece=piece)
    return text + piece, reason, ""


def _text(message: Any) -> str:
    """Return the text of a message, which may come in parts of several kinds."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        parts = [one.get("text") for one in content if isinstance(one, dict)]
        return "".join(one for one in parts if isinstance(one, str))
    return content if isinstance(content, str) else ""


def _words(body: Any) -> str:
    """Return what an error of a server says, in one line."""
    if isinstance(body, dict):
        keys = ("message", "error", "error_message", "detail", "msg", "code")
        said = next(filter(None, (_words(body.get(key)) for key in keys)), "")
        raw = body.get("metadata")
        more = _words(raw.get("raw")) if isinstance(raw, dict) else ""
        return f"{said}: {more}" if said and more else said
    text = "" if body is None else " ".join(str(body).split())
    return "" if text.startswith("<") else text[:400]


def _failed(words: str, status: int, code: Any) -> None:
    _tell(fault=words, status=status, code=code if isinstance(code, str) else "")


def _tell(**event: Any) -> None:
    sys.stdout.write(json.dumps(event) + "\n")  # ASCII: halves of an emoji stay what they are
    sys.stdout.flush()


if __name__ == "__main__":
    main()
