"""The driver `openai` against a small server on this machine."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Server(ThreadingHTTPServer):
    """Answers each request with a status, headers and a body; keeps what it was asked."""

    daemon_threads = True

    def __init__(self, status=200, kind="text/event-stream", body="", **headers) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.asked, self.sent = (status, kind, body, headers), [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        self.server.sent.append(self.headers.get("Authorization"))
        status, kind, data, headers = self.server.answer
        if isinstance(data, tuple):  # by whether a stream is asked for
            status, kind, data = data[0] if body.get("stream") else data[1]
        self.send_response(status)
        raw = data.encode()
        for name, value in {"Content-Type": kind, "Content-Length": len(raw), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(raw)


def piece(text=None, end=None, **more) -> dict[str, object]:
    delta = {} if text is None else {"content": text}
    return {"choices": [{"delta": delta, "finish_reason": end, **more}]}


def stream(*events: object, done: bool = True) -> str:
    shown = [one if isinstance(one, str) else json.dumps(one) for one in events]
    return "".join(f"data: {one}\n\n" for one in [*shown, *(["[DONE]"] if done else [])])


def ask(bench, server, environ=None, **fields):
    bench.place.environ, bench.place.seconds = {**os.environ, **(environ or {})}, 60.0
    return bench.run(driver="openai", model="m", base_url=server.url, **fields)


MARKS = "These \x85 are \u2028 no \u2029 line ends."
USE = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5}}
HALVES = [f'{{"choices":[{{"delta":{{"content":"{one}"}}}}]}}' for one in ("\\ud83d", "\\ude00")]
WHOLE = {"role": "assistant", "content": "Yes, one."}
JSON = "application/json"
ANSWERS = [  # what the server sends, then text and tokens
    (stream(piece("Yes, "), piece("one."), piece(None, "stop"), USE), "Yes, one.", 8),
    (stream(piece("Yes, "), piece("one."), piece(None, "stop", message=WHOLE)), "Yes, one.", None),
    (stream(piece("Yes, "), piece("one."), piece("Yes, one.", "stop")), "Yes, one.", None),
    (stream(piece("Yes, one."), piece(None, "STOP"), done=False), "Yes, one.", None),
    (stream(json.dumps(piece(MARKS), ensure_ascii=False)).replace("\n", "\r\n"), MARKS, None),
    (stream(*HALVES, piece([{"type": "text", "text": "!"}], "stop")), "\N{GRINNING FACE}!", None),
]


@pytest.mark.parametrize(("body", "text", "tokens"), ANSWERS)
def test_answers(bench, body, text, tokens):
    server = Server(body=body)
    output = ask(bench, server)
    assert (output.text, output.code + output.cut, output.use.tokens) == (text, "", tokens)
    assert server.asked[0]["messages"] == [{"role": "user", "content": "What now?"}]
    assert server.sent == [None]


FAILURES = [  # status, kind, body, then code and a part of the words
    (200, "", stream(piece("Half"), done=False), "unreachable", "ended before the answer did"),
    (200, "", stream(piece("Half"), piece(None, "MODEL_LENGTH")), "cut-off", "LENGTH"),
    (200, "", stream(piece(None, "stop")), "no-answer", "without an answer"),
    (200, "", stream({"error_message": "maximum context length"}), "context-full", "maximum"),
    (200, JSON, '{"code": 1113, "msg": "no balance left"}', "no-credit", "no balance left"),
    (200, JSON, '{"errors": [{"message": "GPU on fire"}]}', "crashed", "GPU on fire"),
    (200, JSON, '{"detail": [{"msg": "GPU on fire"}]}', "crashed", "GPU on fire"),
    (401, JSON, '{"error": {"message": "Bad key sk-1234567"}}', "refused-key", "Bad key ***"),
    (404, JSON, '{"error": {"message": "no model m"}}', "bad-model", "/v1/chat/completions"),
    (200, "text/html", "<html>Log in</html>", "bad-settings", "a page for people"),
    (200, "", stream({**piece("Half", "error"), "error": "GPU on fire"}), "crashed", "GPU on fire"),
    (302, "text/html", "", "bad-settings", "it sends us to https://elsewhere.example/"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("status", "kind", "body", "code", "words"), FAILURES)
def test_failures(bench, status, kind, body, code, words):
    headers = {"Location": "https://elsewhere.example/"} if status == 302 else {}
    server = Server(status, kind or "text/event-stream", body, **headers)
    output = ask(bench, server, {"MY_KEY": "sk-1234567"}, api_key_env="MY_KEY")
    assert output.code == code and words in output.words and "exit 0" not in output.words
    assert server.sent[0] == "Bearer sk-1234567"


def test_a_server_that_cannot_stream_is_asked_without(bench):
    refused = (400, JSON, '{"error": {"message": "stream is not supported"}}')
    whole = (200, JSON, json.dumps({"choices": [{"message": WHOLE, "finish_reason": "stop"}]}))
    server = Server(body=(refused, whole))
    assert ask(bench, server).text == "Yes, one."
    assert [one.get("stream", False) for one in server.asked] == [True, False]


REFUSALS = ["This response_format type is unavailable now", "json_schema is not supported"]


@pytest.mark.parametrize("words", [*REFUSALS, ""])
def test_a_schema_is_sent_and_left_out_where_it_is_refused(bench, words):
    class Choosy(Server):
        @property
        def answer(self):
            known = not (words and "response_format" in self.asked[-1])
            told = json.dumps({"error": {"message": words}})
            body = stream(piece("Yes, one.", "stop"))
            return (200, "text/event-stream", body, {}) if known else (400, JSON, told, {})

        @answer.setter
        def answer(self, value):
            pass

    server, schema = Choosy(), {"type": "object"}
    bench.place.schema = schema
    assert ask(bench, server).text == "Yes, one."
    sent = [one.get("response_format", {}).get("json_schema", {}) for one in server.asked]
    asked_for = {"name": "answer", "strict": True, "schema": schema}
    assert sent == ([asked_for, {}] if words else [asked_for])
    assert all(one["stream"] for one in server.asked)


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy"])
def test_this_machine_is_asked_without_a_proxy(bench, name):
    server = Server(body=stream(piece("Yes.", "stop")))
    assert ask(bench, server, {name: "socks5://127.0.0.1:9"}).text == "Yes."


def test_a_key_that_is_not_set_is_named(bench):
    output = ask(bench, Server(), api_key_env="NO_SUCH_KEY")
    assert output.code == "refused-key" and "NO_SUCH_KEY" in output.words
