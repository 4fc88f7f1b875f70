"""Answers from a file."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.agents import AgentSettings
from council.drivers.scripted import parse_script
from council.drivers.scripted import wake as read_answer
from council.store.reason_words import reason_words
from tests.drivers.programs import turn

SCRIPT = """Canned answers.

## henry COLLECT

Build it.

### A heading of mine
## and one of the same level

Done.

## henry 2 agreed
Sage is right.
## sage CHALLENGE done after 1s
Nothing to add.
## * RESOLVE
All said.
## nova COLLECT
"""


def settings(tmp_path, script=SCRIPT):
    (tmp_path / "answers.md").write_bytes(script.encode())
    return AgentSettings(answers="answers.md")


@pytest.mark.req("XC-011")
def test_the_answer_of_a_turn_is_the_text_under_its_heading(tmp_path):
    answer = read_answer(turn(tmp_path), settings(tmp_path), {})
    assert answer.ok
    assert answer.text == (
        "Build it.\n\n### A heading of mine\n## and one of the same level\n\nDone."
    )
    assert answer.status == ""


@pytest.mark.parametrize(
    ("due", "text", "status"),
    [
        (("henry", "CHALLENGE", 2), "Sage is right.", "agreed"),
        (("henry", "COLLECT", 2), "Sage is right.", "agreed"),
        (("sage", "RESOLVE", 3), "All said.", ""),
    ],
)
def test_a_round_counts_before_a_phase_and_an_agent_before_everybody(tmp_path, due, text, status):
    agent, phase, tour = due
    run = turn(tmp_path, agent=agent, phase=phase, tour=tour)
    answer = read_answer(run, settings(tmp_path), {})
    assert (answer.text, answer.status) == (text, status)


@pytest.mark.parametrize(
    ("agent", "phase"), [("sage", "COLLECT"), ("nova", "COLLECT"), ("zoe", "SYNTHESIZE")]
)
def test_a_missing_or_empty_answer_is_a_failed_attempt(tmp_path, agent, phase):
    answer = read_answer(turn(tmp_path, agent=agent, phase=phase), settings(tmp_path), {})
    assert not answer.ok
    assert reason_words(answer.reason) == "no scripted answer"


def test_a_delay_is_kept_and_bounded_by_the_time_limit(tmp_path):
    run = turn(tmp_path, agent="sage", phase="CHALLENGE", timeout=timedelta(seconds=0.2))
    told = settings(tmp_path, "## sage CHALLENGE after 60s\nNothing to add.\n")
    began = time.monotonic()
    answer = read_answer(run, told, {})
    assert 0.2 <= time.monotonic() - began < 30
    assert answer.timed_out
    assert reason_words(answer.reason) == "timed out after 0.2s"


def test_without_a_file_in_the_settings_it_lies_in_the_folder_of_the_agent(tmp_path):
    folder = tmp_path / "memory/agents/henry"
    folder.mkdir(parents=True)
    (folder / "answers.md").write_text("## henry COLLECT\nFrom my folder.\n")
    assert read_answer(turn(tmp_path), AgentSettings(), {}).text == "From my folder."


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "not found: a.md"), (b"## henry COLLECT\n\xff", "not UTF-8: a.md")],
)
def test_a_file_that_cannot_be_read_is_a_failed_attempt(tmp_path, content, reason):
    if content is not None:
        (tmp_path / "a.md").write_bytes(content)
    assert (
        reason_words(read_answer(turn(tmp_path), AgentSettings(answers="a.md"), {}).reason)
        == reason
    )


def test_an_answer_over_the_upper_size_is_a_failed_attempt(tmp_path):
    told = settings(tmp_path, "## henry COLLECT\n" + "é" * 60)
    answer = read_answer(turn(tmp_path, max_text_bytes=119), told, {})
    assert reason_words(answer.reason) == "answer longer than 119 bytes"


@given(st.text(alphabet="## henry*COLECT12agrdonft\n ", max_size=200))
def test_any_file_is_read(text):
    for one in parse_script(text):
        assert one.text == one.text.strip("\n")
