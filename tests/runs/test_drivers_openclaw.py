"""The driver of OpenClaw, with a small program that says what the real one said."""

import json
import os
from pathlib import Path

import pytest

from council.kernel.ids import digest
from council.runs.drivers import Output
from tests.runs.processes import Bench

TRACE = "f2eaea8e-a38c-4f15-a006-ef9b00117f18"
USE = {"input": 800, "output": 100, "cacheRead": 200, "cacheWrite": 0, "total": 1100}


def report(*payloads, status="ok", **meta):
    agent = {"usage": {**USE, "cost": {"total": 0.001}}}
    whole = {"stopReason": "stop", "error": None, "aborted": False, "agentMeta": agent, **meta}
    return {"runId": "r", "status": status, "result": {"payloads": payloads, "meta": whole}}


def refused(words):
    return {"ok": False, "error": {"type": "cli_error", "message": words}}


class Claw(Bench):
    def __init__(self, root) -> None:
        super().__init__(root, "henry")
        self.place.environ |= {"OPENCLAW_GATEWAY_TOKEN": "a-secret-token", "OTHER": "no"}
        self.place.variables = {"COUNCIL_TRACE": TRACE, "TRACEPARENT": "00-1-2-01"}
        self.place.token, self.place.seconds = "of-the-run", 60.0

    def says(self, said: object, code: int = 0, **settings) -> Output:
        text = said if isinstance(said, str) else json.dumps(said, indent=2)
        (self.root / "said").write_text(text)
        notes, folder = 'printf "%s\\n" "$@" > args; env > env', "memory/shared/.council/openclaw"
        notes += f"; ls -l {folder} > modes; cat {folder}/* > note; cat said"
        self.program(f"{notes}; exit {code}", "openclaw")
        return self.run("/What now?", driver="openclaw", **settings)


@pytest.fixture
def claw(tmp_path):
    return Claw(tmp_path)


FAILED = {"text": "⚠️ Exec failed", "isError": True}
LATE = {"text": "Request timed out before a response was generated.", "isError": True}
ROWS = [
    # what it prints, its exit code; then text, code, a part of the words
    (report({"text": "Yes."}), 0, "Yes.", "", ""),
    (report({"text": "Yes."}), 1, "Yes.", "", ""),
    (report({"text": "Yes."}, {"text": "And no."}), 0, "Yes.\n\nAnd no.", "", ""),
    (report({"text": "Hm.", "isReasoning": True}, {"text": "Yes."}), 0, "Yes.", "", ""),
    (report({"text": "⚠️ Yes."}), 0, "⚠️ Yes.", "", ""),
    (report(FAILED, {"text": "Yes all the same."}), 0, "Yes all the same.", "", ""),
    (report(), 0, "", "no-answer", "without an answer"),
    (report({"text": " "}), 0, " ", "no-answer", "without an answer"),
    (report(FAILED), 0, "", "crashed", "Exec failed"),
    (report({"text": "Half"}, stopReason="toolUse"), 0, "Half", "crashed", "broken off (toolUse)"),
    (report({"text": "Half"}, aborted=True), 0, "Half", "crashed", "broken off"),
    (report({"text": "Half"}, stopReason="length"), 0, "Half", "cut-off", "length"),
    (report(LATE, status="timeout"), 0, "", "timed-out", "Request timed out"),
    (report(LATE, status="timeout"), 1, "", "timed-out", "Request timed out"),
    (refused("Authentication failed (provider returned HTTP 401)."), 1, "", "refused-key", "401"),
    (refused("⚠️ x returned a billing error — out of credits"), 1, "", "no-credit", "billing"),
    (refused('Unknown agent id "nosuch". Use "x"'), 1, "", "bad-settings", "Unknown agent id"),
    (refused("Unknown model: a/b. Run `x`"), 1, "", "bad-model", "Unknown model"),
    (refused("Gateway not reachable at ws (ECONNREFUSED)."), 1, "", "unreachable", "not reachable"),
    (refused("the token a-secret-token is wrong"), 1, "", "crashed", "the token *** is wrong"),
    ("would lose inter-session attribution", 1, "", "crashed", "exit 1"),
    ("Config warnings\n" + json.dumps(report({"text": "Yes."}), indent=2), 0, "Yes.", "", ""),
    ('{"result": [1], "status": "ok"}', 0, "", "crashed", "cannot be read"),
    ('{"status": ', 0, "", "crashed", "cannot be read"),
    ("", 0, "", "no-answer", "without an answer"),
]


@pytest.mark.parametrize(("said", "exit_code", "text", "code", "words"), ROWS)
def test_what_a_report_means(claw, said, exit_code, text, code, words):
    output = claw.says(said, exit_code)
    assert (output.text, output.code) == (text, code)
    assert words in output.words
    if not isinstance(said, str) and "result" in said:
        assert (output.use.tokens, output.use.input, output.use.usd) == (1100, 1000, 0.001)


def test_the_turn_has_its_session_and_its_shell_the_variables_of_the_run(claw):
    claw.says(report({"text": "Yes."}), model="openai/gpt-5", answer="tool")
    args, key = claw.read("args").splitlines(), f"agent:henry:council:{TRACE}"
    assert args[:5] == ["agent", "--agent", "henry", "--session-key", key]
    assert args[args.index("--timeout") + 1] == "45"
    assert args[args.index("--model") + 1] == "openai/gpt-5"
    assert Path(args[args.index("--message-file") + 1]).read_text() == "/What now?"
    assert "OPENCLAW_GATEWAY_TOKEN=a-secret-token" in claw.read("env")
    assert "OTHER=" not in claw.read("env")
    note = json.loads(claw.read("note"))
    assert (note["COUNCIL_TOKEN"], note["TRACEPARENT"]) == ("of-the-run", "00-1-2-01")
    assert not any(name.startswith("OPENCLAW") for name in note)
    assert claw.read("modes").splitlines()[1].startswith("-rw-------")
    assert digest(key) in claw.read("modes")
    assert os.listdir(f"{claw.root}/memory/shared/.council/openclaw") == []


def test_what_has_no_uuid_has_another_session_in_each_workspace(claw):
    claw.place.variables = {"COUNCIL_TRACE": "T1"}
    claw.says(report({"text": "Yes."}))
    own = f"agent:henry:council:t1-{digest(str(claw.root))[:8]}"
    assert claw.read("args").splitlines()[4] == own


def test_an_answer_by_command_needs_no_text(claw):
    output = claw.says(report({"text": "I have answered."}), answer="tool")
    assert (output.text, output.code) == ("", "")


def test_a_missing_program_is_named(claw):
    claw.place.environ["PATH"] = "/nonexistent"
    assert claw.says("").code == "missing-program"
