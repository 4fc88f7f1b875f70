"""Which variables a run sees, and what its log hides."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.drivers.environment import MASK, masked, run_environment, secrets_of, traceparent
from tests.drivers.programs import CONVERSATION, turn

SECRET = "sk-very-secret-0123456789"


@pytest.mark.req("XC-017")
def test_a_run_sees_only_the_variables_that_are_allowed(tmp_path):
    base = {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_TIME": "fr_FR",
        "COUNCIL_NOW": "2026-02-08T20:00:00Z",
        "AWS_SECRET_ACCESS_KEY": "foreign",
        "OPENAI_API_KEY": SECRET,
        "COUNCIL_TOKEN": "of another run",
        "COUNCIL_SOMETHING": "else",
        "LD_PRELOAD": "x",
    }
    seen = run_environment(base, turn(tmp_path), ["OPENAI_API_KEY", "NOT_SET"])
    assert seen == {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_TIME": "fr_FR",
        "COUNCIL_NOW": "2026-02-08T20:00:00Z",
        "OPENAI_API_KEY": SECRET,
        "COUNCIL_ROOT": str(tmp_path),
        "COUNCIL_NAME": "active",
        "COUNCIL_AGENT": "henry",
        "COUNCIL_TASK_ID": f"{CONVERSATION}.1.henry.1",
        "COUNCIL_PHASE": "COLLECT",
        "COUNCIL_TOUR": "1",
        "COUNCIL_CWD": str(tmp_path),
        "traceparent": traceparent(CONVERSATION, f"{CONVERSATION}.1.henry.1"),
    }


def test_the_caller_cannot_speak_in_the_name_of_the_run(tmp_path):
    base = {"COUNCIL_AGENT": "sage", "COUNCIL_TOKEN": "stolen"}
    seen = run_environment(base, turn(tmp_path, token="own"), ["COUNCIL_AGENT", "COUNCIL_TOKEN"])
    assert seen["COUNCIL_AGENT"] == "henry"
    assert seen["COUNCIL_TOKEN"] == "own"
    assert "COUNCIL_TOKEN" not in run_environment(base, turn(tmp_path), ["COUNCIL_TOKEN"])


@pytest.mark.parametrize("conversation", [CONVERSATION, "by-hand", "0" * 32])
def test_the_trace_context_is_valid(conversation):
    version, trace, span, flags = traceparent(conversation, "task").split("-")
    assert (version, flags) == ("00", "01")
    assert len(trace) == 32 and len(span) == 16
    assert int(trace, 16) and int(span, 16)


def test_the_trace_of_a_run_is_its_conversation():
    assert traceparent(CONVERSATION, "task").split("-")[1] == CONVERSATION.replace("-", "")


def test_tasks_of_one_conversation_are_spans_of_their_own():
    assert traceparent(CONVERSATION, "one") != traceparent(CONVERSATION, "two")


@pytest.mark.req("XC-017")
@pytest.mark.parametrize(
    "text",
    [
        f"the key is {SECRET}.",
        f"{SECRET}{SECRET}",
        "wrapped sk-very-secr\n    et-0123456789 here",
        "\r\n".join(SECRET),
        f"cut at the start: {SECRET}"[-len(SECRET) + 3 :],
        f"cut at the end {SECRET}"[:-4],
    ],
)
def test_a_secret_is_masked_however_it_is_printed(text):
    shown = masked(text, [SECRET])
    assert MASK in shown
    squeezed = "".join(shown.split())
    assert all(part not in squeezed for part in (SECRET[:10], SECRET[-10:], "very-secret"))


def test_text_around_a_secret_stays():
    assert masked(f"a {SECRET} b {SECRET}\nc", [SECRET]) == "a *** b ***\nc"


def test_each_line_of_a_key_of_many_lines_is_masked():
    key = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\nabcdefghijklmnop\n-----END KEY-----"
    secrets = secrets_of({"KEY": key}, ["KEY"])
    indented = "\n".join(f"  | {line}" for line in key.splitlines())
    shown = masked(indented, secrets)
    assert "MIIEowIBAAKCAQEA" not in shown
    assert "abcdefghijklmnop" not in shown


def test_the_longest_secret_is_hidden_first():
    secrets = secrets_of({"A": "secret", "B": "secret-and-more"}, ["A", "B"])
    assert masked("secret-and-more, secret", secrets) == "***, ***"


def test_what_everybody_may_know_is_no_secret():
    assert secrets_of({"PATH": "/usr/bin", "DEBUG": "1"}, ["PATH", "DEBUG"]) == ()


@given(
    st.text(max_size=60),
    st.text(alphabet="abc{}-", min_size=4, max_size=12),
    st.text(max_size=60),
)
def test_no_text_lets_a_secret_through(before, secret, after):
    shown = masked(before + secret + after, [secret])
    assert secret not in shown.replace(MASK, os.linesep * 2)
