"""The driver that asks a model behind any OpenAI-compatible server; it has no tools.

The client library runs in a process of its own, this module as a program (`presets.toml`), so the
time limit and the end of the run are those of any program, and only that process has the key. It
prints what the server sends, one event a line, for the reader `openai`.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import chain

from council.kernel.record import Any

# What a server may not know: the fields of a request, and words by which it refuses them.
MAY_GO = (
    (("response_format",), ("response_format", "schema", "grammar", "json", "structured")),
    (("stream", "stream_options"), ("stream",)),
)
LOOPBACK = ("127.", "localhost", "[::1]")


def main() -> None:
    """Ask once: address, variable of the key, model and perhaps a schema are the arguments."""
    base_url, name, model, *schema = sys.argv[1:]
    key = os.environ.get(name, "").strip()
    if name and not (key and key.isascii() and key.isprintable()):
        return _tell(fault=f"no key: the variable {name} is not set", code="refused-key")
    import openai  # late: an extra; `programs.fault` has found it

    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    # A proxy gets nothing that is asked of this very machine; no other host gets a prompt.
    is_far = not base_url.partition("://")[2].startswith(LOOPBACK)
    http = openai.DefaultHttpxClient(trust_env=is_far, follow_redirects=False)
    how: Any = {"http_client": http, "timeout": openai.Timeout(None, connect=10)}
    client = openai.OpenAI(api_key=key or "-", base_url=base_url or None, **how)
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": prompt}]}
    headers: Any = {} if key else {"headers": {"Authorization": openai.omit}}
    form: Any = {"cast_to": object, "stream": True, "stream_cls": openai.Stream[object]}
    body |= {"stream": True, "stream_options": {"include_usage": True}}
    if schema:
        named = {"name": "answer", "strict": True, "schema": json.loads(schema[0])}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    while True:
        try:
            answer = client.post("/chat/completions", body=body, options=headers, **form)
            return _pass_on(answer.response)
        except openai.APIStatusError as error:
            status, words = error.status_code, _words(error.body) or error.message
            known, told = status not in (400, 422, 500, 501), words.casefold()
            refused = [names for names, signs in MAY_GO if any(sign in told for sign in signs)]
            gone = [one for names in refused for one in names if one in body and not known]
            if gone:
                body = {name: one for name, one in body.items() if name not in gone}
                continue
            sent, where = error.response.headers, f" at {error.request.url}" * (status == 404)
            code = error.code
            if to := sent.get("location"):
                code, words = "bad-settings", f"it sends us to {to}: is base_url right?"
            words += f"; retry after {sent['retry-after']} s" if "retry-after" in sent else ""
            return _tell(fault=f"HTTP {status}{where}: {words}", status=status, code=code)
        except openai.APIConnectionError as error:
            words = f"no connection to {client.base_url}: {error.__cause__ or error}"
            return _tell(fault=words, code="unreachable")


def _pass_on(response: Any) -> None:
    """Print what a server sends, as it comes; say so where it breaks off."""
    kind, rest = response.headers.get("content-type", "").partition(";")[0].strip(), b""
    if kind == "text/html":
        page = f"{response.url} answers with a page for people: is base_url right?"
        return _tell(fault=page, code="bad-settings")
    try:
        if kind.endswith("json"):
            return _tell(**json.loads(response.read()))
        for piece in chain(response.iter_bytes(), [b"\n"]):  # `iter_lines` cuts at U+2028
            *lines, rest = (rest + piece).replace(b"\r", b"\n").split(b"\n")
            for line in lines:
                data = line.decode("utf-8", "replace").removeprefix("data:").strip()
                if data == "[DONE]":
                    return None
                if line.startswith(b"data:") and data:
                    _tell(**json.loads(data))
    except Exception as error:  # of the library that carries the bytes, or of the server's JSON
        words = f"the answer broke off: {error or type(error).__name__}"
        return _tell(fault=words, code="unreachable")
    return _tell(fault="the stream ended before the answer did", code="unreachable")


def _words(body: Any) -> str:
    """Return what an error of a server says, in one line."""
    while isinstance(body, dict):
        keys = ("message", "error", "error_message", "detail", "msg")
        body = next((body[key] for key in keys if body.get(key)), "")
    text = " ".join(str(body or "").split())
    return "" if text.startswith("<") else text[:400]


def _tell(**event: Any) -> None:
    print(json.dumps(event), flush=True)  # ASCII: halves of an emoji stay what they are


if __name__ == "__main__":
    main()
