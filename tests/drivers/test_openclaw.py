"""The driver of OpenClaw: what the real one said, recorded, and a program that says it again."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.agents import AgentSettings
from council.drivers.openclaw import (
    _object,
    _of_completion,
    answer_in,
    look_up,
    session_key,
    state_folder,
)
from council.drivers.openclaw import wake as run_openclaw
from council.store.reason_words import reason_words
from tests.drivers.programs import BASE, turn, with_openclaw

RECORDED = Path(__file__).parent / "recorded" / "openclaw"
TOKEN = "gateway-token-0123456789"
# What came back, and what is said of it.
FAILURES = {
    "bad-key": "key refused: Authentication failed (provider returned HTTP 401)",
    "hang": "timed out after ",
    "error-text": "⚠️ Exec failed",
    "tool-failed": "⚠️ Exec failed",
    "limit": "quota spent: ⚠️ limits (scripted) returned a billing error",
    "unknown-agent": "Unknown agent id",
    "unknown-model": "Unknown model",
    "gateway-down": "Gateway not reachable",
}


@pytest.fixture
def base(tmp_path: Path) -> dict[str, str]:
    """Variables with which `openclaw` is the program that says what was recorded."""
    return {**BASE, **with_openclaw(tmp_path), "OPENCLAW_GATEWAY_TOKEN": TOKEN}


def calls(base: dict[str, str]) -> list[dict]:
    lines = Path(base["HOME"], "calls").read_text().splitlines()
    return [json.loads(one) for one in lines]


@pytest.mark.req("CL-003")
def test_the_answer_is_the_text_of_the_turn_with_what_it_used(tmp_path, base):
    answer = run_openclaw(turn(tmp_path, agent="answers"), AgentSettings(), base)
    assert answer.ok
    assert answer.text.startswith("I have read")
    assert answer.tokens > 0
    assert answer.usd > 0


@pytest.mark.req("CL-003")
@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_turn_is_a_failed_attempt_in_the_words_of_openclaw(tmp_path, base, name):
    answer = run_openclaw(turn(tmp_path, agent=name), AgentSettings(), base)
    assert not answer.ok
    assert answer.text == ""
    assert FAILURES[name] in reason_words(answer.reason)
    assert answer.timed_out == (name == "hang")
    assert answer.hopeless == (name in ("bad-key", "limit"))


def test_exit_0_is_no_answer_where_the_structure_says_that_a_tool_failed():
    told = json.loads((RECORDED / "tool-failed.json").read_text())
    assert told["exit"] == 0
    assert json.loads(told["stdout"])["status"] == "ok"


@pytest.mark.req("CL-003")
def test_a_turn_is_asked_for_in_the_session_of_its_conversation(tmp_path, base):
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Well?")
    run = turn(tmp_path, agent="answers", prompt_file=str(prompt), model="m/x")
    more = {"OPENCLAW_STATE_DIR": f"{base['HOME']}/.openclaw", "OPENCLAW_X": "1", "OTHER": "no"}
    run_openclaw(run, AgentSettings(), {**base, **more, "HTTPS_PROXY": "http://127.0.0.1:9"})
    (call,) = calls(base)
    words = dict(zip(call["argv"], call["argv"][1:], strict=False))
    assert words["--session-key"] == f"agent:answers:council:{run.conversation}"
    assert words["--message-file"] == str(prompt)
    assert words["--model"] == "m/x"
    assert int(words["--timeout"]) < run.timeout.total_seconds()
    assert call["env"]["OPENCLAW_X"] == "1"
    assert call["env"]["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert "OTHER" not in call["env"]


@pytest.mark.req("CL-003")
@pytest.mark.parametrize("agent", ["answers", "bad-key"])
def test_the_plugin_is_told_for_the_turn_alone_and_only_the_owner_reads_it(tmp_path, base, agent):
    run = turn(tmp_path, agent=agent, token="t0ken", task="t.1.x.1")
    run_openclaw(run, AgentSettings(), base)
    (call,) = calls(base)
    (left,) = call["left"]
    told = json.loads(left)["env"]
    assert told["COUNCIL_TOKEN"] == "t0ken"
    assert told["COUNCIL_ROOT"] == str(tmp_path)
    assert told["COUNCIL_AGENT"] == agent
    assert told["COUNCIL_TASK_ID"] == "t.1.x.1"
    assert all(name.startswith("COUNCIL_") or name == "traceparent" for name in told)
    assert call["modes"] == ["0o600"]
    folder = Path(base["HOME"], ".openclaw", "council")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == []


def test_what_the_plugin_has_seen_of_a_failure_is_named(tmp_path, base):
    run = turn(tmp_path, agent="hang")
    program = Path(base["PATH"].split(":", 1)[0], "openclaw")
    says = program.read_text().replace("exec", 'echo "429 slow down" > {}\nexec', 1)
    from council.core.ids import sha256_hex

    seen = f"{base['HOME']}/.openclaw/council/{sha256_hex(session_key(run).encode())}.seen"
    program.write_text(says.format(seen))
    assert "its last attempt: 429 slow down" in reason_words(
        run_openclaw(run, AgentSettings(), base).reason
    )
    assert not os.path.exists(seen)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("⚠️ API rate limit reached. Please try again later.", "limit reached: "),
        ("The AI service is temporarily overloaded.", "provider failed: "),
        ('⚠️ Missing API key for provider "openai".', "key refused: "),
    ],
)
def test_what_its_provider_did_is_told_by_the_cause_that_it_has_for_each_program(words, cause):
    told = {"status": "error", "error": {"message": words}}
    assert reason_words(answer_in(told, turn(Path("/")), 10).reason) == f"{cause}{words}"


def test_a_tool_answer_is_left_to_the_state(tmp_path, base):
    settings = AgentSettings(answer="tool")
    answer = run_openclaw(turn(tmp_path, agent="answers"), settings, base)
    assert (answer.ok, answer.by_tool, answer.text) == (True, True, "")


def test_no_token_of_the_gateway_reaches_a_log(tmp_path, base):
    log = tmp_path / "run.log"
    program = Path(base["PATH"].split(":", 1)[0], "openclaw")
    program.write_text('#!/bin/sh\necho "$OPENCLAW_GATEWAY_TOKEN" >&2\n')
    answer = run_openclaw(turn(tmp_path, log_file=str(log)), AgentSettings(), base)
    assert "gave no report" in reason_words(answer.reason)
    assert TOKEN not in log.read_text()
    assert TOKEN not in reason_words(answer.reason)


def test_where_a_reason_is_cut_no_part_of_a_token_is_left(tmp_path, base):
    program = Path(base["PATH"].split(":", 1)[0], "openclaw")
    for before in range(240, 300, 10):
        program.write_text(f'#!/bin/sh\necho "{"x" * before}$OPENCLAW_GATEWAY_TOKEN" >&2\n')
        answer = run_openclaw(turn(tmp_path), AgentSettings(), base)
        assert "xxx" in reason_words(answer.reason)
        assert TOKEN[:5] not in reason_words(answer.reason)


def test_what_is_missing_is_a_cause(tmp_path, base):
    assert look_up(AgentSettings(), "", {"PATH": str(tmp_path)})[0] == "no-program"
    assert look_up(AgentSettings(), "", base)[0] == ""
    assert look_up(AgentSettings(answer="tool"), "", base)[0] == "no-plugin"
    answer = run_openclaw(turn(tmp_path), AgentSettings(), {**base, "PATH": str(tmp_path)})
    assert answer.hopeless


def _changed(where: str, value: object) -> dict:
    """Return the report of the turn that went well, with one thing in it changed."""
    told = json.loads((RECORDED / "answers.json").read_text())
    report = inner = json.loads(told["stdout"])
    *parents, last = where.split(".")
    for one in parents:
        inner = inner[one]
    inner[last] = value
    return report


@pytest.mark.req("CL-003")
@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("status", "error"),
        ("status", "in_flight"),
        ("status", ""),
        ("result.meta.aborted", True),
        ("result.meta.error", {"kind": "incomplete_turn", "message": "it broke"}),
        *(("result.meta.stopReason", one) for one in ("toolUse", "error", "length", "restart")),
        ("result.payloads", [{"text": "it broke", "isError": True}]),
        ("result.payloads", [{"text": "I think …", "isReasoning": True}]),
        ("result.payloads", [{"text": "⚠️ Agent run failed."}]),
        ("result.payloads", []),
        ("result.payloads", "no list"),
    ],
)
def test_each_sign_of_a_failure_alone_makes_the_turn_a_failed_attempt(where, value):
    answer = answer_in(_changed(where, value), turn(Path("/")), 10)
    assert not answer.ok
    assert answer.text == ""
    assert answer.tokens > 0 or where.startswith("result.meta")


def test_a_warning_beside_an_answer_or_a_mark_within_one_spoils_it_not():
    warned = [{"text": "Yes."}, {"text": "⚠️ Exec failed", "isError": True}]
    assert answer_in(_changed("result.payloads", warned), turn(Path("/")), 10).text == "Yes."
    marked = [{"text": "⚠️ I object:\nit is late."}, {"text": "And cold."}]
    answer = answer_in(_changed("result.payloads", marked), turn(Path("/")), 10)
    assert answer.text == "⚠️ I object:\nit is late.\n\nAnd cold."


_WORDS = (
    *("status", "result", "payloads", "text", "isError", "meta", "error", "message", "agentMeta"),
    *("usage", "total", "input", "stopReason", "costUsd", "cost", "aborted"),
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_WORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(report=st.dictionaries(st.sampled_from(["status", "result", "error", "ok"]), _VALUES))
def test_any_report_is_an_answer_or_a_failure(report):
    answer = answer_in(report, turn(Path("/")), 10)
    assert answer.ok or reason_words(answer.reason)
    assert answer.tokens >= 0


@given(content=st.binary(max_size=200))
def test_any_bytes_are_a_report_or_none(content):
    assert _object(content) is None or isinstance(_object(content), dict)


# --- By the gateway


@pytest.fixture
def gateway() -> Iterator[ThreadingHTTPServer]:
    class Gateway(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            asked = json.loads(self.rfile.read(length))
            self.server.asked = (self.path, dict(self.headers), asked)
            if asked["model"] == "openclaw/hangs":
                self.server.ended.wait(20)
                return
            if asked["model"] == "openclaw/drips":
                self.send_response(200)
                self.end_headers()
                with suppress(OSError):
                    while not self.server.ended.wait(0.1):
                        self.wfile.write(b" ")
                return
            if asked["model"] == "openclaw/redirects":
                self.send_response(302)
                self.send_header("location", f"http://localhost:{self.server.server_port}/other")
                self.end_headers()
                return
            if asked["model"] == "openclaw/echoes":
                self.send_response(401)
                self.end_headers()
                words = "x" * 250 + f" wrong: {self.headers['authorization']}"
                self.wfile.write(json.dumps({"error": {"message": words}}).encode())
                return
            told = json.loads((RECORDED / f"{asked['model'].split('/')[1]}.json").read_text())
            text, _, status = told["stdout"].rpartition("\n")
            self.send_response(int(status))
            self.end_headers()
            self.wfile.write(text.encode())

        def do_GET(self) -> None:
            self.server.asked = (self.path, dict(self.headers), None)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"choices": [{"message": {"content": "Forged."}}]}')

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    server.ended = threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.req("CL-003")
def test_the_gateway_is_asked_with_its_token_for_the_same_session(tmp_path, base, gateway):
    url = f"http://127.0.0.1:{gateway.server_port}"
    run = turn(tmp_path, agent="http-answers")
    answer = run_openclaw(run, AgentSettings(gateway=url), base)
    assert answer.text.startswith("I have read")
    assert answer.tokens > 0
    path, headers, asked = gateway.asked
    assert path == "/v1/chat/completions"
    headers = {name.lower(): value for name, value in headers.items()}
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["x-openclaw-session-key"] == session_key(run)
    assert asked["messages"][0]["content"] == run.prompt


@pytest.mark.req("CL-003")
def test_what_the_gateway_refuses_is_named_and_not_tried_again(tmp_path, base, gateway):
    url = f"http://127.0.0.1:{gateway.server_port}/"
    answer = run_openclaw(turn(tmp_path, agent="http-bad-key"), AgentSettings(gateway=url), base)
    assert reason_words(answer.reason).startswith("key refused: 401 Incorrect API key")
    assert reason_words(answer.reason).endswith("(HTTP 401)")
    assert answer.hopeless


def test_a_gateway_that_says_nothing_or_is_not_there_fails_in_time(tmp_path, base, gateway):
    url = f"http://127.0.0.1:{gateway.server_port}"
    run = turn(tmp_path, agent="hangs", timeout=timedelta(seconds=1))
    answer = run_openclaw(run, AgentSettings(gateway=url), base)
    assert answer.timed_out
    assert reason_words(answer.reason) == "timed out after 1s"
    answer = run_openclaw(run, AgentSettings(gateway="http://127.0.0.1:9"), base)
    assert reason_words(answer.reason).startswith("OpenClaw's gateway: ")
    assert not answer.timed_out


def test_a_gateway_that_sends_us_elsewhere_is_not_followed_with_its_token(tmp_path, base, gateway):
    url = f"http://127.0.0.1:{gateway.server_port}"
    answer = run_openclaw(turn(tmp_path, agent="redirects"), AgentSettings(gateway=url), base)
    assert not answer.ok
    assert "HTTP 302" in reason_words(answer.reason)
    assert gateway.asked[0] == "/v1/chat/completions"


def test_a_gateway_that_drips_fails_in_time(tmp_path, base, gateway):
    url = f"http://127.0.0.1:{gateway.server_port}"
    run = turn(tmp_path, agent="drips", timeout=timedelta(seconds=1))
    began = time.monotonic()
    answer = run_openclaw(run, AgentSettings(gateway=url), base)
    assert time.monotonic() - began < 10
    assert (answer.timed_out, reason_words(answer.reason)) == (True, "timed out after 1s")


def test_no_reason_shows_a_token_or_a_part_of_it(tmp_path, base, gateway):
    url = f"http://127.0.0.1:{gateway.server_port}"
    answer = run_openclaw(turn(tmp_path, agent="echoes"), AgentSettings(gateway=url), base)
    assert "wrong: " in reason_words(answer.reason)
    assert "gateway-t" not in reason_words(answer.reason)

    program = Path(base["PATH"].split(":", 1)[0], "openclaw")
    program.write_text('#!/bin/sh\necho "refused: $OPENCLAW_GATEWAY_TOKEN" >&2\n')
    answer = run_openclaw(turn(tmp_path), AgentSettings(), base)
    assert reason_words(answer.reason).endswith("refused: ***")


def test_a_completion_in_parts_is_its_text():
    parts = [{"type": "text", "text": "Yes."}, {"type": "image"}, {"text": 7}, "no part"]
    told = {"choices": [{"message": {"content": parts}}]}
    assert _of_completion(told, turn(Path("/"))).text == "Yes."


@pytest.mark.parametrize("home", [{}, {"HOME": ""}])
def test_without_a_home_no_token_is_left_in_the_workspace(tmp_path, monkeypatch, home):
    monkeypatch.chdir(tmp_path)
    folder = state_folder({"PATH": os.environ["PATH"], **home})
    assert not folder.startswith(str(tmp_path))
