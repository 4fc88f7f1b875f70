"""The driver `openai`: one question to a server on loopback, by the real client library."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from council.core.agents import Agent, AgentSettings
from council.drivers import openai, openai_client
from council.drivers.processes import Finished
from council.drivers.waking import look_up, run_driver
from council.store.reason_words import reason_words
from tests.drivers.programs import BASE, turn
from tests.e2e.model_server import INPUT_TOKENS, OUTPUT_TOKENS, model_server

KEY = "sk-loopback-0123456789"
SHORT = timedelta(seconds=1.5)


class Server(ThreadingHTTPServer):
    """Answers each question as a function of the test says."""

    def __init__(self, answer: Callable[[Any, dict[str, Any]], None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.path, headers, body))
        with suppress(OSError):
            self.server.answer(self, body)

    def says(self, body: object, code: int = 200, kind: str = "application/json", **headers: str):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def streams(self, *chunks: object) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for one in chunks:
            line = one if isinstance(one, bytes) else b"data: " + json.dumps(one).encode()
            self.wfile.write(line + b"\n\n")
            self.wfile.flush()


class Came(NamedTuple):
    """What the client printed, and how it says that it ended."""

    text: str
    ended: str
    used: str


@pytest.fixture
def ask_here(capfdbinary, monkeypatch):
    """The client called in this process, which has its library loaded once for many questions."""

    def ask(url: str, key: str = "") -> Came:
        monkeypatch.setenv("OPENAI_API_KEY", key)
        monkeypatch.setattr(sys, "argv", ["openai_client", "small", "30", url])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Should we?")))
        before = signal.getsignal(signal.SIGALRM)
        try:
            openai_client.main()
        finally:
            signal.signal(signal.SIGALRM, before)
        text, said = (one.decode() for one in capfdbinary.readouterr())
        used = [one for one in said.splitlines() if one.startswith("used ")]
        return Came(text, said.splitlines()[-1], "".join(used))

    return ask


@contextmanager
def server(answer: Callable[[Any, dict[str, Any]], None]) -> Iterator[Server]:
    made = Server(answer)
    serving = threading.Thread(target=made.serve_forever, args=(0.05,))
    serving.start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
        serving.join()


def says(text: object, end: str | None = None, **more: object) -> dict[str, Any]:
    """Return a piece of a streamed answer."""
    return {"choices": [{"delta": {"content": text, **more}, "finish_reason": end}]}


def asked(tmp_path, url: str, changes: dict[str, Any] | None = None, **settings: Any):
    """Return what came back when the model behind `url` was asked."""
    told = AgentSettings(driver="openai", base_url=url, **settings)
    wanted = turn(
        tmp_path, **{"model": "small", "log_file": str(tmp_path / "log"), **(changes or {})}
    )
    return run_driver("openai", wanted, told, {**BASE, "MY_KEY": KEY})


@pytest.mark.req("CL-004")
def test_an_answer_is_streamed_and_what_it_used_is_counted(tmp_path):
    chunks = (
        {"choices": [{"delta": {"role": "assistant", "reasoning_content": "Hm: a bot?"}}]},
        b": a comment keeps the connection",
        says("Yes: "),
        says("people\nask for it. é"),
        says(None, "stop"),
        {"choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 9, "cost": 0.25}},
        b"data: [DONE]",
    )
    with server(lambda one, _: one.streams(*chunks)) as there:
        answer = asked(tmp_path, there.url, api_key_env="MY_KEY")
        [(path, headers, body)] = there.asked

    assert (answer.ok, answer.text, reason_words(answer.reason)) == (
        True,
        "Yes: people\nask for it. é",
        "",
    )
    assert (answer.tokens, answer.usd) == (79, 0.25)
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "small",
        "messages": [{"role": "user", "content": "Should we build a weather bot?\n"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    log = (tmp_path / "log").read_text()
    assert "ask for it" in log
    assert KEY not in log


WHOLE = {
    "choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2},
}


def refuses_usage(one, body):
    if "stream_options" in body:
        one.says({"error": {"message": "Unknown parameter: stream_options"}}, 400)
    else:
        one.streams(says("Yes.", "stop"))


def refuses_streams(one, body):
    if body.get("stream"):
        one.says({"detail": "streaming is not supported"}, 422)
    else:
        one.says(WHOLE)


@pytest.mark.req("CL-004")
@pytest.mark.parametrize(
    ("answer", "used"),
    [
        (lambda one, _: one.says(WHOLE), "used input=7 output=2"),
        (lambda one, _: one.streams(says("Yes.", "stop")), ""),
        (refuses_usage, ""),
        (refuses_streams, "used input=7 output=2"),
        (lambda one, _: one.streams(says([{"type": "text", "text": "Yes."}], "stop")), ""),
    ],
    ids=["does not stream", "tells no usage", "refuses usage", "refuses streams", "says parts"],
)
def test_a_server_that_can_do_less_is_understood(ask_here, answer, used):
    with server(answer) as there:
        assert ask_here(there.url) == ("Yes.", "answered", used)


def test_what_is_not_as_it_should_be_says_nothing(ask_here):
    chunks = (
        b"data: [1, 2]",
        b"data: null",
        {"choices": None, "usage": {"prompt_tokens": "9", "completion_tokens": -4, "cost": 1e300}},
        {"choices": [None]},
        {"choices": [{"delta": "x", "finish_reason": ["stop"]}]},
        says(5),
        says("Yes.", "stop"),
    )
    with server(lambda one, _: one.streams(*chunks)) as there:
        assert ask_here(there.url) == ("Yes.", "answered", "")


@pytest.mark.req("CL-004")
def test_a_server_without_a_key_gets_none_not_even_that_of_another(tmp_path):
    told = AgentSettings(driver="openai")
    environ = {**BASE, "OPENAI_API_KEY": KEY, "OPENAI_ORG_ID": "org-of-mine"}
    with server(lambda one, _: one.says(WHOLE)) as there:
        for settings in (told.copy(base_url=there.url), told):
            wanted = turn(tmp_path, model="small")
            given = {**environ, "OPENAI_BASE_URL": there.url}
            assert run_driver("openai", wanted, settings, given).ok
        local, own = (headers for _, headers, _ in there.asked)

    assert "authorization" not in local
    assert "openai-organization" not in local
    assert own["authorization"] == f"Bearer {KEY}"
    assert own["openai-organization"] == "org-of-mine"


def breaks_off(one, _):
    one.streams(says("Yes, but"))


SLOW = {"error": {"message": "Slow down.", "code": "slow_down"}}


def leaves(one, _):
    one.close_connection = True


FAULTS = {
    "length": (lambda one, _: one.streams(says("Yes", "length")), "the answer was cut off where"),
    "filter": (lambda one, _: one.streams(says("", "content_filter")), "the server's content"),
    "empty": (lambda one, _: one.streams(says(" \n", "stop")), "the answer is empty"),
    "tools": (lambda one, _: one.streams(says(None, "tool_calls")), "the answer is empty"),
    "thought only": (
        lambda one, _: one.streams(says(None, "stop", reasoning_content="Yes.")),
        "the answer is empty (finish_reason stop)",
    ),
    "refusal": (
        lambda one, _: one.streams(says(None, "stop", refusal="I will not.")),
        "the model refused: I will not.",
    ),
    "broken off": (breaks_off, "the stream ended before the answer did"),
    "error in stream": (
        lambda one, _: one.streams(
            says("Yes"), {"error": {"message": "Provider error", "metadata": {"raw": "no memory"}}}
        ),
        " 0 -: Provider error: no memory",
    ),
    "limit in stream": (
        lambda one, _: one.streams({"error": {"message": "Slow down.", "code": 429}}),
        " 429 -: Slow down.",
    ),
    "own number": (
        lambda one, _: one.says({"error": {"message": "Oh.", "code": 40003}}),
        " 0 -: Oh.",
    ),
    "error as answer": (
        lambda one, _: one.says({"error": "the model fell over"}),
        " 0 -: the model fell over",
    ),
    "no JSON": (lambda one, _: one.streams(b"data: {no"), "the server sent what is no JSON: "),
    "JSON cut": (lambda one, _: one.says(b'{"choices": ['), "the server sent what is no JSON: "),
    "500": (
        lambda one, _: one.says(b"out\nof order", 500, "text/plain"),
        " 500 -: out of order (HTTP 500)",
    ),
    "429": (
        lambda one, _: one.says(
            {"error": {"message": "Slow down.", "code": "slow_down"}}, 429, retry_after_ms="5"
        ),
        " 429 slow_down: Slow down. (HTTP 429)",
    ),
    "gone": (leaves, "no connection to http://127.0.0.1:"),
}


@pytest.mark.req("CL-004")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_is_told_in_the_words_of_the_server_and_may_pass(ask_here, fault):
    answer, reason = FAULTS[fault]
    with server(answer) as there:
        came = ask_here(there.url)

    assert came.ended.startswith("failed" + (reason if reason[0] == " " else f": {reason}"))
    assert len(there.asked) == (3 if fault in ("500", "429", "gone") else 1)


REFUSED = {
    401: ("Incorrect key", "invalid_api_key", "key refused: Incorrect key (HTTP 401)", True),
    402: ("Pay first.", "", "quota spent: Pay first. (HTTP 402)", True),
    403: ("Not in your country.", "", "key refused: Not in your country. (HTTP 403)", True),
    404: (
        "model 'small' not found",
        "",
        "it says: model 'small' not found (HTTP 404 at http:",
        True,
    ),
    400: ("Too much.", "context_length_exceeded", "prompt too long: Too much. (HTTP 400)", True),
    422: ("No such field.", "", "it says: No such field. (HTTP 422)", True),
    429: ("Slow down.", "", "limit reached: Slow down. (HTTP 429)", False),
    503: ("Loading model", "", "provider failed: Loading model (HTTP 503)", False),
}


@pytest.mark.req("CL-004")
@pytest.mark.parametrize("status", REFUSED)
def test_what_the_server_will_not_do_is_told_in_its_words_and_not_asked_again(
    tmp_path, ask_here, status
):
    said, code, reason, hopeless = REFUSED[status]
    body = {"error": {"message": said, "code": code}}
    with server(lambda one, _: one.says(body, status, retry_after_ms="5")) as there:
        ended = ask_here(there.url, KEY).ended
    finished = Finished(exit_code=1, stdout=b"", stderr=ended.encode())
    came = openai.judged(turn(tmp_path), finished)

    assert reason_words(came.reason).startswith(reason)
    assert (came.ok, came.hopeless) == (False, hopeless)
    assert len(there.asked) == (1 if hopeless else 3)


@pytest.mark.req("CL-004")
def test_a_failure_is_an_attempt_with_its_reason_and_shows_no_key(tmp_path):
    said = {"error": {"message": f"Incorrect API key provided: {KEY}."}}
    with server(lambda one, _: one.says(said, 401)) as there:
        came = asked(tmp_path, there.url, api_key_env="MY_KEY")

    assert (came.ok, came.text, came.hopeless) == (False, "", True)
    assert reason_words(came.reason) == "key refused: Incorrect API key provided: ***. (HTTP 401)"
    assert KEY not in (tmp_path / "log").read_text()


def test_a_server_that_wants_a_key_says_where_it_is_named(ask_here):
    with server(lambda one, _: one.says({"error": "unauthorized"}, 401)) as there:
        came = ask_here(there.url)

    assert came.ended == ("failed 401 -: unauthorized (HTTP 401; no key was sent: see api_key_env)")


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        (b"", "the client broke (exit 1)"),
        (b"used input=3\nTraceback\nMemoryError", "the client broke (exit 1): MemoryError"),
    ],
)
def test_a_client_that_breaks_is_a_failed_attempt(tmp_path, stderr, reason):
    came = openai.judged(turn(tmp_path), Finished(exit_code=1, stdout=b"Yes", stderr=stderr))

    assert (came.ok, came.text, reason_words(came.reason)) == (False, "", reason)


def test_a_page_for_people_is_no_answer(ask_here):
    with server(lambda one, _: one.says(b"<html>Welcome</html>", 200, "text/html")) as there:
        came = ask_here(there.url)

    assert came.ended.startswith("failed: http://127.0.0.1:")
    assert came.ended.endswith("answers with a page for people: is base_url right?")


def test_a_redirect_is_followed(ask_here):
    def moved(one, _):
        if one.path == "/v1/chat/completions":
            one.says(b"", 307, Location="/v2/chat/completions")
        else:
            one.says(WHOLE)

    with server(moved) as there:
        assert ask_here(there.url).text == "Yes."


def test_a_proxy_of_the_environment_is_used(tmp_path):
    with server(lambda one, _: one.says(WHOLE)) as proxy:
        told = AgentSettings(driver="openai", base_url="http://models.invalid/v1")
        given = {**BASE, "http_proxy": proxy.url.removesuffix("/v1")}
        came = run_driver("openai", turn(tmp_path, model="small"), told, given)

    assert came.text == "Yes."
    assert proxy.asked[0][0] == "http://models.invalid/v1/chat/completions"


@pytest.mark.req("CL-004")
@pytest.mark.parametrize("mood", ["hangs", "stalls"])
def test_a_server_that_says_nothing_is_not_waited_for_to_the_end(tmp_path, mood):
    with model_server() as there:
        came = asked(tmp_path, there.base(mood, "/v1"), first_output=SHORT)
        calls = len(there.model_calls())

    assert reason_words(came.reason) == "no sign of its model for 1.5s"
    assert not came.text
    assert calls <= 1


@pytest.mark.req("CL-004")
def test_one_that_thinks_aloud_or_keeps_the_connection_is_not_silent(tmp_path):
    ready = threading.Event()

    def thinks(one, _):
        one.streams()
        for line in (b": wait\n\n", b'data: {"choices":[{"delta":{"reasoning":"Hm"}}]}\n\n') * 2:
            ready.wait(0.8)
            one.wfile.write(line)
            one.wfile.flush()
        one.wfile.write(b"data: " + json.dumps(says("Yes.", "stop")).encode() + b"\n\n")

    with server(thinks) as there:
        came = asked(tmp_path, there.url, first_output=SHORT)

    assert (came.ok, came.text) == (True, "Yes.")


@pytest.mark.req("CL-004")
def test_the_limit_of_time_ends_a_run_and_what_the_server_had_said_is_told(tmp_path):
    def later(one, _):
        one.says({"error": {"message": "Slow down."}}, 429, retry_after="60")

    with server(later) as there:
        for seconds in (2, 20):  # a busy machine may take the first for the start alone
            came = asked(tmp_path, there.url, {"timeout": timedelta(seconds=seconds)})
            if there.asked:
                break

    assert came.timed_out
    assert reason_words(came.reason).startswith("timed out after ")
    assert reason_words(came.reason).endswith("s; the server answered 429 Too Many Requests")


@pytest.mark.req("CL-004")
def test_one_that_babbles_is_ended_at_the_largest_answer(tmp_path):
    with model_server() as there:
        came = asked(tmp_path, there.base("babbles", "/v1"), {"max_text_bytes": 5000})
        there.wait_for(lambda one: one.left)

    assert reason_words(came.reason) == "answer longer than 5000 bytes"
    assert not came.text


@pytest.mark.long
def test_a_line_without_end_does_not_fill_the_memory(tmp_path):
    def floods(one, _):
        one.streams()
        while True:
            one.wfile.write(b"x" * 65536)

    with server(floods) as there:
        came = asked(tmp_path, there.url, {"timeout": timedelta(minutes=3)})

    assert reason_words(came.reason) == "the server sends a line without end"


@pytest.mark.req("CL-004")
def test_a_run_that_is_ended_leaves_the_server(tmp_path):
    with model_server() as there:
        child = os.fork()
        if not child:
            asked(tmp_path, there.base("hangs", "/v1"))
            os._exit(0)
        there.wait_for(lambda one: one.mood == "hangs")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert there.wait_for(lambda one: one.left)


def test_what_was_used_is_counted_of_a_real_stream(tmp_path):
    with model_server() as there:
        came = asked(tmp_path, there.base("answers", "/v1"))

    assert came.ok
    assert came.tokens == INPUT_TOKENS + OUTPUT_TOKENS


@pytest.mark.req("CL-004")
@pytest.mark.parametrize(
    ("settings", "environ", "code", "named"),
    [
        ({}, {}, "no-model", None),
        ({"model": "m"}, {}, "no-key", "OPENAI_API_KEY"),
        ({"model": "m"}, {"OPENAI_API_KEY": " \n"}, "no-key", "OPENAI_API_KEY"),
        ({"model": "m"}, {"OPENAI_API_KEY": "clé"}, "no-key", "OPENAI_API_KEY"),
        ({"model": "m", "api_key_env": "MY_KEY", "base_url": "http://x"}, {}, "no-key", "MY_KEY"),
        ({"model": "m", "base_url": "http://x"}, {}, "", None),
        ({"model": "m"}, {"OPENAI_API_KEY": KEY}, "", None),
    ],
)
def test_what_is_missing_is_known_before_a_run(tmp_path, settings, environ, code, named):
    told = AgentSettings(driver="openai", **settings)
    agent = Agent(id="a", name="A", emoji="", driver="openai", model=told.model, settings=told)
    found, values = look_up(agent, str(tmp_path), environ)

    assert (found, values.get("program")) == (code, named)
    if code:
        wanted = turn(tmp_path, model=told.model)
        came = run_driver("openai", wanted, told, {**BASE, **environ})
        assert came.hopeless
        assert reason_words(came.reason).startswith(code.replace("-", " "))


def test_without_the_library_its_name_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(openai, "PACKAGE", "a_package_that_is_not_there")
    told = AgentSettings(base_url="http://127.0.0.1:1", model="m")

    assert openai.look_up(told, str(tmp_path), {}) == (
        "no-library",
        {"program": "a_package_that_is_not_there"},
    )


@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_server_that_sends_us_elsewhere_gets_neither_key_nor_prompt_there(ask_here, status):
    def elsewhere(handler, _):
        handler.says({}, status, location=f"http://localhost:{handler.server.server_port}/other")

    with server(elsewhere) as there:
        came = ask_here(there.url, KEY)
        assert [path for path, *_ in there.asked] == ["/v1/chat/completions"]
    assert came.ended.startswith(f"failed {status} -: ")
    assert "/other: is base_url right?" in came.ended


@pytest.mark.parametrize("before", [255, 270, 285])
def test_a_key_that_is_cut_off_at_the_end_of_words_is_no_part_of_them(ask_here, before):
    said = {"error": {"message": "x" * before + f" {KEY} is wrong"}}
    with server(lambda handler, _: handler.says(said, 401)) as there:
        assert KEY[:8] not in ask_here(there.url, KEY).ended


def test_what_no_library_can_read_is_said_in_a_line(ask_here):
    deep = b"[" * 100_000
    ways = [
        lambda handler, _: handler.says(deep),
        lambda handler, _: handler.streams(b"data: " + deep),
        lambda handler, _: handler.says(b"no gzip", content_encoding="gzip"),
    ]
    for way in ways:
        with server(way) as there:
            assert ask_here(there.url).ended.startswith("failed: ")


def test_words_of_a_server_are_a_line_that_no_terminal_obeys(tmp_path):
    said = {"error": {"message": "no\x00\x1b[31m\u2028answered"}}
    with server(lambda handler, _: handler.says(said, 400)) as there:
        assert reason_words(asked(tmp_path, there.url).reason).isprintable()
