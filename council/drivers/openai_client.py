"""The program that the driver `openai` runs: it asks a server once and prints the answer.

    python openai_client.py MODEL SILENCE_S [BASE_URL] <prompt

The prompt comes on standard input, the key in `OPENAI_API_KEY`; the text goes to standard output
as it comes. Standard error says in plain lines what was used (`used input=1200 output=300
usd=0.01`) and last how it ended: `answered`; `failed: WHY`; `failed STATUS CODE: WORDS` in those of
the server; or `silent: HOW LONG`. It stands alone and imports nothing of council, so that no other
process loads the client library and none but this one sees the key.

Source: CL-004.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sys
from contextlib import suppress
from typing import Any

import openai

_MOST_CHARS = 300
_MOST_USED = 10**12
_MEMORY_BYTES = 1 << 30
_CONNECT_S = 10.0
# Our alarm comes first: the library would ask a server that says nothing twice more.
_READ_LATER_S = 1.0
_ENDS = {
    "length": "the answer was cut off where the server's limit on tokens lies",
    "content_filter": "the server's content filter held the answer back",
    "error": "the server broke off its answer",
}


class Asking:
    """One question: what was used, and how it ends."""

    def __init__(self, model: str, silence_s: float, base_url: str) -> None:
        self.model, self.silence_s = model, silence_s
        self.used: dict[str, float] = {}
        self.end, self.has_text, self.refusal = "", False, ""
        self.last_status = self.elsewhere = ""
        key = os.environ.get("OPENAI_API_KEY", "")
        self.has_key = bool(key)
        self.options: Any = {} if key else {"headers": {"Authorization": openai.omit}}
        hooks: Any = {"request": [self._sent], "response": [self._heard]}
        self.client = openai.OpenAI(
            api_key=key,
            admin_api_key="",  # so that the library takes "" for a key
            base_url=base_url or None,
            timeout=openai.Timeout(
                None, connect=_CONNECT_S, read=silence_s + _READ_LATER_S, write=silence_s
            ),
            http_client=openai.DefaultHttpxClient(event_hooks=hooks),
        )

    def ask(self, prompt: str) -> str:
        """Print the answer; return why there is none, "" if there is."""
        signal.signal(signal.SIGALRM, self._is_silent)
        body = {"model": self.model, "messages": [{"role": "user", "content": prompt}]}
        usage = {"stream_options": {"include_usage": True}}
        streamed: dict[str, Any] = {**body, "stream": True}
        ways = [{**streamed, **usage}, streamed, body]
        for place, way in enumerate(ways):
            try:
                return self._answer(way)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if place + 1 == len(ways) or "stream" not in _words(error.body):
                    raise
        raise AssertionError

    def _answer(self, body: dict[str, Any]) -> str:
        stream = self.client.post(
            "/chat/completions",
            body=body,
            options=self.options,
            cast_to=object,
            stream=True,
            stream_cls=openai.Stream[object],
        )
        kind = stream.response.headers.get("content-type", "").partition(";")[0].strip()
        if kind.endswith("json"):  # a server that does not stream, or was asked not to
            whole = json.loads(stream.response.read())
            if isinstance(whole, dict) and whole.get("error"):
                raise openai.APIError("", stream.response.request, body=whole["error"])
            self._take(whole)
            self.end = self.end or "stop"
        elif kind.startswith("text/html"):
            return f"{stream.response.url} answers with a page for people: is base_url right?"
        else:
            for chunk in stream:
                self._take(chunk)
        return self._fault()

    def _take(self, chunk: Any) -> None:
        """Print what a piece of the answer says; what is not as it should be says nothing."""
        if not isinstance(chunk, dict):
            return
        if isinstance(usage := chunk.get("usage"), dict):
            self._count(usage)
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        if isinstance(end := choice.get("finish_reason"), str):
            self.end = end or self.end
        said = choice.get("delta") or choice.get("message")
        if not isinstance(said, dict):
            return
        if isinstance(said.get("refusal"), str):
            self.refusal += said["refusal"]
        if text := _text_of(said.get("content")):
            self.has_text = self.has_text or bool(text.strip())
            sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
            sys.stdout.buffer.flush()

    def _count(self, usage: dict[str, Any]) -> None:
        """Keep what was used; a later count takes the place of an earlier one."""
        names = {"prompt_tokens": "input", "completion_tokens": "output", "cost": "usd"}
        for name, own in names.items():
            number = usage.get(name)
            if isinstance(number, int | float) and 0 <= number < _MOST_USED:
                self.used[own] = number

    def _fault(self) -> str:
        """Return why what came is no answer, "" if it is one."""
        if self.end in _ENDS:
            return _ENDS[self.end]
        if not self.end:
            return "the stream ended before the answer did"
        if not self.has_text and self.refusal:
            return f"the model refused: {_words(self.refusal)}"
        if not self.has_text:
            return f"the answer is empty (finish_reason {_words(self.end)})"
        return ""

    def how(self, error: openai.APIError) -> str:
        """Return how it ends with an error of the library, in the server's own words."""
        if isinstance(error, openai.APIStatusError):
            status = error.status_code
            said = _words(error.body) or error.response.reason_phrase
            where = f" at {error.request.url}" if status == 404 else ""
            if self.elsewhere:
                where = f"; it sends us to {_words(self.elsewhere)}: is base_url right?"
            if status == 401 and not self.has_key:
                where = "; no key was sent: see api_key_env"
            return f"failed {status} {_code(error)}: {said} (HTTP {status}{where})"
        if isinstance(error, openai.APITimeoutError) and self.last_status:
            return f"silent: {self.silence_s:g}"
        if isinstance(error, openai.APIConnectionError):
            cause = _words(str(error.__cause__ or error)) or type(error.__cause__).__name__
            if self.last_status:
                return f"failed: the connection broke: {cause}"
            return f"failed: no connection to {self.client.base_url}: {cause}"
        numbered = error.code if re.fullmatch("[45][0-9][0-9]", error.code or "") else "0"
        return f"failed {numbered} {_code(error)}: {_words(error.body) or _words(error.message)}"

    def _sent(self, _request: object) -> None:
        self.last_status = ""
        signal.setitimer(signal.ITIMER_REAL, self.silence_s)

    def _heard(self, response: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.last_status = f"{response.status_code} {response.reason_phrase}".strip()
        to = response.request.url.join(response.headers.get("location", ""))
        if to.host != response.request.url.host:  # what is asked here is asked of no other host
            self.elsewhere = str(to)
            del response.headers["location"]
        if response.is_error:  # the time may run out before the library gives up
            sys.stderr.write(f"the server answered {self.last_status}\n")
            sys.stderr.flush()

    def _is_silent(self, *_: object) -> None:
        self.tell(f"silent: {self.silence_s:g}")
        os._exit(1)

    def tell(self, ended: str) -> None:
        """Say what was used and how it ended, in the lines that the driver reads."""
        used = " ".join(f"{name}={number:.12g}" for name, number in self.used.items())
        told = f"used {used}\n{ended}\n" if used else f"{ended}\n"
        os.write(2, told.encode("utf-8", "replace"))


def _code(error: openai.APIError) -> str:
    """Return the code that goes with an error, a `-` for none."""
    given = (str(one) for one in (error.code, error.type) if one)
    return next((one for one in given if not one.isdigit() and one.isidentifier()), "-")


def _text_of(content: object) -> str:
    """Return the text of an answer; one in parts has others than text among them."""
    if isinstance(content, list):
        texts = [one.get("text") for one in content if isinstance(one, dict)]
        return "".join(one for one in texts if isinstance(one, str))
    return content if isinstance(content, str) else ""


def _words(body: object) -> str:
    """Return what an error says, as one line."""
    if isinstance(body, dict):
        found = (body.get(key) for key in ("message", "error", "detail", "code"))
        said = next(filter(None, map(_words, found)), "")
        more = body.get("metadata")
        raw = _words(more.get("raw")) if isinstance(more, dict) else ""
        return f"{said}: {raw}"[:_MOST_CHARS] if said and raw else said
    text = "" if body is None else " ".join(str(body).split())
    if key := os.environ.get("OPENAI_API_KEY"):  # cut off it would not be known for one
        text = text.replace(key, "***")
    return "" if text.startswith("<") else text[:_MOST_CHARS]


def main() -> int:
    """Ask once; return 1 if there is no answer."""
    model, silence_s, *base_url = sys.argv[1:]
    asking = Asking(model, float(silence_s), "".join(base_url))
    try:
        fault = asking.ask(sys.stdin.buffer.read().decode("utf-8"))
        ended = f"failed: {fault}" if fault else "answered"
    except openai.APIError as error:
        ended = asking.how(error)
    except MemoryError:
        ended = "failed: the server sends a line without end"
    except (ValueError, RecursionError) as error:
        ended = f"failed: the server sent what is no JSON: {_words(str(error))}"
    except Exception as error:  # of the library that carries the bytes, which is its own matter
        ended = f"failed: the server sent what cannot be read: {_words(str(error))}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    asking.tell(ended)
    return int(ended != "answered")


if __name__ == "__main__":
    with suppress(OSError, ValueError):  # the library reads a line whole, however long
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    sys.exit(main())
