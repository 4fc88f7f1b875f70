"""What the real programs print, as it was recorded, and what is made of it."""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.agents import AgentSettings
from council.drivers import listening
from council.drivers.command import wake
from council.drivers.outputs import Output, Said
from council.drivers.programs import PRESETS
from council.drivers.runs import fault
from council.store.reason_words import reason_words
from tests.drivers.programs import BASE, printed, turn

RECORDED = Path(__file__).parent / "recorded"
MIB = 1024 * 1024
# Tokens and dollars that each tells of one answer; two that it also asked a smaller model for.
USED = {
    "claude": (1100, 0.00524),
    "codex": (1100, None),
    "gemini": (2200, None),
    "opencode": (1100, 0.001),
    "llm": (1100, None),
}
BEGINNINGS = {
    "refuses": dict.fromkeys(USED, "key refused: "),
    "limits": {**dict.fromkeys(USED, "limit reached: "), "codex": "quota spent: "},
    "fails": dict.fromkeys(USED, "provider failed: "),
}


def recorded(name: str, mood: str) -> tuple[bytes, bytes, int | None]:
    """Return what a real program printed, and its exit code, None where it was ended."""
    kept = json.loads((RECORDED / f"{name}-{mood}.json").read_text(encoding="utf-8"))
    assert kept["version"] == PRESETS[name].version
    return "".join(kept["stdout"]).encode(), "".join(kept["stderr"]).encode(), kept["exitCode"]


def heard(name: str, out: bytes, err: bytes = b"", size: int = MIB) -> Said:
    """Return what an output says, taken in pieces of some size."""
    output = Output(name, MIB)
    for content, complaint in ((out, False), (err, True)):
        for start in range(0, len(content), size):
            output.hear(content[start : start + size], complaint=complaint)
    return output.close()


def plays(tmp_path: Path, out: bytes, err: bytes = b"", code: int = 0, then: str = "") -> list[str]:
    """Return the argv of a program that prints this, and then does as it is told."""
    (tmp_path / "out").write_bytes(out)
    (tmp_path / "err").write_bytes(err)
    script = (
        "import sys, shutil, time; sys.stdin.read()\n"
        f"shutil.copyfileobj(open({str(tmp_path / 'out')!r}, 'rb'), sys.stdout.buffer)\n"
        f"shutil.copyfileobj(open({str(tmp_path / 'err')!r}, 'rb'), sys.stderr.buffer)\n"
        f"sys.stdout.flush(); sys.stderr.flush()\n{then}\nsys.exit({code})"
    )
    return [sys.executable, "-c", script]


@pytest.mark.req("CL-002")
@pytest.mark.parametrize("name", USED)
def test_answer_tokens_and_cost_are_read_from_what_the_real_program_printed(tmp_path, name):
    out, err, code = recorded(name, "answers")
    settings = AgentSettings(argv=plays(tmp_path, out, err, code or 0), output=name)

    answer = wake(turn(tmp_path), settings, BASE)

    assert (answer.ok, answer.text) == (True, "ready"), reason_words(answer.reason)
    tokens, usd = USED[name]
    assert answer.tokens == tokens
    assert answer.usd == (None if usd is None else pytest.approx(usd))
    assert heard(name, out, err, 7) == heard(name, out, err)


@pytest.mark.req("CL-002")
@pytest.mark.parametrize("mood", BEGINNINGS)
@pytest.mark.parametrize("name", USED)
def test_no_error_of_a_real_program_is_an_answer_and_its_words_are_the_reason(
    tmp_path, name, mood, monkeypatch
):
    monkeypatch.setattr(listening, "_RETRIES_S", 0.3)
    out, err, code = recorded(name, mood)
    then = "time.sleep(60)" if code is None else ""
    settings = AgentSettings(argv=plays(tmp_path, out, err, code or 0, then), output=name)

    answer = wake(turn(tmp_path), settings, BASE)

    assert not answer.ok
    assert answer.text == ""
    assert reason_words(answer.reason).startswith(BEGINNINGS[mood][name])
    assert reason_words(answer.reason).isprintable()
    assert "Reconnecting" not in reason_words(answer.reason)  # how often it tried is no cause
    assert answer.hopeless == (
        mood == "refuses" or reason_words(answer.reason).startswith("quota spent: ")
    )
    assert not answer.timed_out


@pytest.mark.req("CL-002")
def test_why_a_program_tried_again_is_named_where_its_time_ran_out_meanwhile(tmp_path):
    out, _, _ = recorded("codex", "fails")
    begun = b"".join(one for one in out.splitlines(True) if b"turn.failed" not in one)
    argv = plays(tmp_path, begun, then="time.sleep(60)")

    answer = wake(
        turn(tmp_path, timeout=timedelta(seconds=1)), AgentSettings(argv=argv, output="codex"), BASE
    )

    assert answer.timed_out
    assert reason_words(answer.reason).startswith(
        "provider failed: We’re currently experiencing high demand"
    )


@pytest.mark.req("CL-002")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("claude", "key refused: Not logged in · Please run /login"),
        ("codex", "it says: Missing environment variable: `OPENAI_API_KEY`."),
        ("gemini", "key refused: When using Gemini API, you must specify the GEMINI_API_KEY env"),
    ],
)
def test_a_program_without_any_key_says_so(tmp_path, name, reason):
    out, err, code = recorded(name, "keyless")
    settings = AgentSettings(argv=plays(tmp_path, out, err, code or 0), output=name)
    assert reason_words(wake(turn(tmp_path), settings, BASE).reason).startswith(reason)


@pytest.mark.req("CL-002")
def test_a_refused_key_ends_claude_long_before_it_gives_up_by_itself(tmp_path):
    out, err, _ = recorded("claude", "refuses")
    settings = AgentSettings(argv=plays(tmp_path, out, err, 0, "time.sleep(60)"), output="claude")
    began = time.monotonic()

    answer = wake(turn(tmp_path), settings, BASE)

    assert reason_words(answer.reason) == "key refused: authentication_failed (401)"
    assert time.monotonic() - began < 20


@pytest.mark.req("CL-002")
def test_one_refusal_that_the_program_gets_over_is_no_failure():
    out, _, _ = recorded("claude", "refuses")
    lines = out.splitlines(keepends=True)
    answered, _, _ = recorded("claude", "answers")
    said = heard("claude", b"".join(lines[:3]) + answered)
    assert (said.text, said.fault, said.retry) == ("ready", None, None)


@pytest.mark.req("CL-002")
def test_an_answer_that_looks_like_an_error_is_an_answer_and_an_error_never_is(tmp_path):
    text = "API Error: 401 unauthorized\nError: exit 1"
    settings = AgentSettings(
        argv=plays(tmp_path, printed("claude", text).encode()), output="claude"
    )
    assert wake(turn(tmp_path), settings, BASE).text == text

    wrong = json.loads(printed("claude", "Yes, I agree.")) | {"is_error": True}
    settings = AgentSettings(argv=plays(tmp_path, json.dumps(wrong).encode()), output="claude")
    answer = wake(turn(tmp_path), settings, BASE)
    assert (answer.ok, reason_words(answer.reason)) == (False, "it says: Yes, I agree.")


@pytest.mark.req("CL-002")
def test_another_output_than_the_row_expects_is_said_and_not_taken_for_an_answer(tmp_path):
    settings = AgentSettings(argv=plays(tmp_path, b"Yes, I agree.\n"), output="codex")
    answer = wake(turn(tmp_path), settings, BASE)
    assert reason_words(answer.reason) == "its output is not that of codex 0.169.0: Yes, I agree."
    assert answer.hopeless

    out, _, _ = recorded("codex", "answers")
    cut = b"".join(out.splitlines(keepends=True)[:-1])
    answer = wake(turn(tmp_path), AgentSettings(argv=plays(tmp_path, cut), output="codex"), BASE)
    assert reason_words(answer.reason) == "its output ends before its last message is whole"
    assert not answer.is_final


@pytest.mark.parametrize(
    "line",
    [
        b"null",
        b"[" * 100_000,
        b'{"type": {"a": 1}}',
        b'{"type": "result", "is_error": false, "modelUsage": 3, "total_cost_usd": "much"}',
        b'{"type": "item.completed", "item": {"type": "agent_message", "text": 7}}',
        b'{"type": "turn.completed", "usage": {"input_tokens": -3, "output_tokens": 1e400}}',
        b'{"type": "step_finish", "part": {"tokens": [], "cost": true}}',
        b'{"type": "error", "error": "broken"}',
        b'{"type": "turn.failed"}',
        b"\xff\xfe\x00{",
    ],
)
@pytest.mark.parametrize("name", USED)
def test_no_output_whatever_it_is_breaks_a_reader(name, line):
    said = heard(name, line + b"\n" + line, line)
    assert said.tokens is None or said.tokens >= 0


@pytest.mark.req("CL-002")
@pytest.mark.parametrize("name", ["claude", "gemini"])
def test_no_name_in_a_prompt_is_a_file_to_be_read_in(tmp_path, name):
    answered, _, _ = recorded(name, "answers")
    kept = tmp_path / "prompt"
    words = "tell @owl of @/etc/passwd and owl@home"
    out = answered.replace(b'"ready"', json.dumps(words.replace("@", "\\@")).encode())
    argv = plays(tmp_path, out)
    argv[2] = argv[2].replace(
        "sys.stdin.read()", f"open({str(kept)!r}, 'w').write(sys.stdin.read())"
    )

    answer = wake(turn(tmp_path, prompt=words), AgentSettings(argv=argv, output=name), BASE)

    assert kept.read_text() == r"tell \@owl of \@/etc/passwd and owl\@home"
    assert answer.text == words


@pytest.mark.req("CL-002")
def test_of_several_messages_the_last_one_is_the_answer():
    lines = recorded("opencode", "answers")[0].splitlines(keepends=True)
    first = [one.replace(b"msg_", b"msg_0").replace(b'"ready"', b'"I look"') for one in lines]
    first[-1] = first[-1].replace(b'"reason":"stop"', b'"reason":"tool-calls"')
    said = heard("opencode", b"".join(first + lines))
    assert (said.text, said.is_ended, said.tokens) == ("ready", True, 2200)
    assert said.usd == pytest.approx(0.002)
    assert not heard("opencode", b"".join(lines + first)).is_ended

    lines = recorded("gemini", "answers")[0].splitlines(keepends=True)
    looks = lines[2].replace(b'"ready"', b'"I look"'), b'{"type":"tool_use"}\n'
    assert heard("gemini", b"".join([*lines[:2], *looks, *lines[2:]])).text == "ready"
    assert heard("gemini", b"".join([*lines[:3], *lines[2:]])).text == "readyready"

    lines = recorded("codex", "answers")[0].splitlines(keepends=True)
    looks = lines[3].replace(b'"ready"', b'"I look"')
    assert heard("codex", b"".join([*lines[:3], looks, *lines[3:]])).text == "ready"


def test_a_program_that_writes_without_end_is_ended(tmp_path):
    event = {"type": "stream_event", "event": {"delta": {"text": "bla " * 500}}}
    then = f"while True: print({json.dumps(event)!r}, flush=True)"
    run = turn(tmp_path, max_text_bytes=100_000)
    answer = wake(run, AgentSettings(argv=plays(tmp_path, b"", then=then), output="claude"), BASE)
    assert reason_words(answer.reason) == "answer longer than 100000 bytes"


@pytest.mark.req("CL-002")
def test_a_program_that_shows_no_sign_of_its_model_is_ended_after_a_limit_of_its_own(tmp_path):
    out, _, _ = recorded("claude", "answers")
    begins = b"".join(out.splitlines(keepends=True)[:2])
    silent = plays(tmp_path, begins, then="time.sleep(60)")
    settings = AgentSettings(argv=silent, output="claude", first_output=timedelta(seconds=1))
    answer = wake(turn(tmp_path), settings, BASE)
    assert reason_words(answer.reason) == "no sign of its model for 1s"
    assert answer.is_final

    slow = plays(tmp_path, begins + out.splitlines(keepends=True)[2], then="time.sleep(2)")
    late = AgentSettings(argv=slow, output="claude", first_output=timedelta(seconds=1))
    assert "ends before" in reason_words(wake(turn(tmp_path), late, BASE).reason)


def test_any_program_is_held_to_a_limit_for_its_first_output_that_was_set(tmp_path):
    limit = timedelta(seconds=1)
    silent = AgentSettings(argv=["/bin/sleep", "60"], first_output=limit)
    assert reason_words(wake(turn(tmp_path), silent, BASE).reason) == "no sign of its model for 1s"

    slow = AgentSettings(
        argv=["/bin/sh", "-c", "echo Yes,; sleep 2; echo sir."], first_output=limit
    )
    assert wake(turn(tmp_path), slow, BASE).text == "Yes,\nsir."
    wrong = AgentSettings(argv=["/bin/sh", "-c", "echo Error: x >&2; exit 3"], first_output=limit)
    assert reason_words(wake(turn(tmp_path), wrong, BASE).reason) == "exit 3"


@pytest.mark.req("CL-005")
def test_a_failure_names_a_variable_that_is_set_and_kept_from_a_program_known_to_need_it(tmp_path):
    tool = tmp_path / "claude"
    tool.write_text("#!/bin/sh\ncat >/dev/null; echo no key >&2; exit 1\n")
    tool.chmod(0o755)
    base = {**BASE, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "OPENAI_API_KEY": "sk-other"}

    answer = wake(turn(tmp_path), AgentSettings(argv=[str(tool)]), base)
    assert reason_words(answer.reason) == (
        'exit 1 (set here and kept from it; to pass on: env = ["ANTHROPIC_BASE_URL"])'
    )
    let_in = AgentSettings(argv=[str(tool)], env=["ANTHROPIC_BASE_URL"])
    assert reason_words(wake(turn(tmp_path), let_in, base).reason) == "exit 1"


@pytest.mark.req("CL-002")
def test_words_of_a_program_become_one_line_without_keys_and_control_characters(tmp_path):
    said = {"type": "turn.failed", "error": {"message": "\x1b[31mkey sk-very-secret\nis wrong\x07"}}
    settings = AgentSettings(
        argv=plays(tmp_path, json.dumps(said).encode(), code=1), output="codex", env=["KEY"]
    )
    answer = wake(turn(tmp_path), settings, {**BASE, "KEY": "sk-very-secret"})
    assert reason_words(answer.reason) == "it says: [31mkey *** is wrong"

    said["error"]["message"] = "word " * 500
    settings.argv = plays(tmp_path, json.dumps(said).encode(), code=1)
    assert len(wake(turn(tmp_path), settings, BASE).reason.value("text")) == 300


@pytest.mark.parametrize(
    ("status", "code", "beginning"),
    [
        (403, "", "key refused: "),
        (429, "insufficient_quota", "quota spent: "),
        (400, "context_length_exceeded", "prompt too long: "),
        (529, "overloaded_error", "provider failed: "),
        (400, "invalid_request_error", "it says: "),
    ],
)
def test_a_code_says_more_than_a_status(status, code, beginning):
    assert reason_words(fault("words", status, code).reason) == f"{beginning}words"


@pytest.mark.req("CL-002")
@pytest.mark.parametrize("numbers", ["9" * 5000, ",", "-3", "1e400", "NaN"])
def test_a_number_of_standard_error_that_is_none_stays_unknown_and_ends_no_run(tmp_path, numbers):
    said = f"Token usage: {numbers} input\n".encode()
    settings = AgentSettings(argv=plays(tmp_path, b"ready", said), output="llm")
    answer = wake(turn(tmp_path), settings, BASE)
    assert (answer.ok, answer.text, answer.tokens) == (True, "ready", None), reason_words(
        answer.reason
    )

    said = f"Attempt 1 failed with status {numbers}. Retrying with backoff\n".encode()
    settings = AgentSettings(argv=plays(tmp_path, b"", said, 1), output="gemini")
    assert reason_words(wake(turn(tmp_path), settings, BASE).reason) == "exit 1"


def test_a_line_without_end_takes_no_memory_and_no_time(tmp_path):
    then = "for _ in range(64): sys.stdout.write('x' * 2**20)"
    for answer in ("stdout", "tool"):
        settings = AgentSettings(argv=plays(tmp_path, b"", then=then), output="claude")
        settings.answer = answer
        began = time.monotonic()
        came = wake(turn(tmp_path, max_text_bytes=100_000), settings, BASE)
        assert time.monotonic() - began < 5
        assert came.ok == (answer == "tool"), reason_words(came.reason)

    output = Output("claude", 1000)
    for _ in range(1000):
        output.hear(b"{" * 1000)
    output.hear(b'"type": "result", "is_error": false, "result": "forged"}\n')
    said = output.close()
    assert (len(said.strange) < 10_000, said.is_ended) == (True, False)
    assert output.is_too_long


@pytest.mark.req("CL-002")
@pytest.mark.parametrize("before", range(265, 300, 7))
def test_a_key_that_is_cut_off_at_the_end_of_a_reason_is_no_part_of_it(tmp_path, before):
    said = {"type": "turn.failed", "error": {"message": "x" * before + " sk-very-secret is wrong"}}
    settings = AgentSettings(
        argv=plays(tmp_path, json.dumps(said).encode(), code=1), output="codex", env=["KEY"]
    )
    answer = wake(turn(tmp_path), settings, {**BASE, "KEY": "sk-very-secret"})
    assert "sk-" not in reason_words(answer.reason)
    assert len(answer.reason.value("text")) <= 300
