"""More that stands still: inside runs, in calls, by settings and by what was refused.

As in `test_stalls`, only what `explain` and `events story` print is read.
"""

from __future__ import annotations

import os
import signal
import sys

import pytest

from council.store.lock import Lock
from tests.cli.commands import wait_until
from tests.scenarios.stalled import (
    NEVER,
    end_runs,
    explained,
    kinds,
    open_council,
    program,
    python,
    told,
    until_told,
)

CALLER = "cat >/dev/null; council agent call --to sage 'Is it so?'"


def calling(agent: str) -> str:
    """Return the table of an agent that asks sage and repeats what it says."""
    return f'[agents.{agent}]\nargv = ["/bin/sh", "-c", "{CALLER}"]\n'


@pytest.fixture
def held(council, tmp_path):
    """A workspace whose sage is held up by a call in another trace, until the test ends."""
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    sage = python("sage", "slow.py", "600", "--ready", ready)
    settings = sage + calling("owl") + python("gecko", "echo.py")
    (council.root / "council.toml").write_text(settings)
    asked = ("agent", "call", "--to", "sage", "--as", "alice", "--trace", "elsewhere", "Long?")
    running = council.start(*asked)
    with ready.open("rb") as started:
        assert started.read(1) == b"!"
        yield council, running
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
            running.wait()
        end_runs(council)
        started.read()  # no process is left that could write


@pytest.mark.req("P8-061", "P8-005")
def test_a_run_that_waits_for_somebody_it_has_called(held):
    council, _ = held
    assert council("convene", "A bot?", "--agents", "owl,gecko").code == 0
    wait_until(lambda: "busy" in kinds(council))

    why = explained(council)

    assert "the run of owl (attempt 1)" in why
    assert "a place for the run of sage, whom owl has called" in why
    assert "sage runs already elsewhere (sage in elsewhere" in why
    assert "the call of owl to sage is given up (E31), if no place is free before" in why
    assert "attempt 1 started" in told(council)
    whole = council("explain", "active", "--json").json()
    own = next(one["task"] for one in whole["tried"] if one["agentId"] == "owl")
    record = council("explain", own, "--json").json()
    assert [one["what"] for one in record["waitsFor"]] == ["run", "call-place"]
    assert [one["what"] for one in record["hindrances"]] == ["busy"]


@pytest.mark.req("P8-023", "P8-005")
def test_a_call_that_takes_its_time(held):
    council, _ = held

    why = explained(council, "elsewhere")

    assert "trace elsewhere: running (under way); calls: alice → sage running" in why
    assert "the run of sage, whom alice has called" in why
    assert "slow.py 600" in why
    assert "sage is out of time; alice is told so (E20)" in why
    assert "alice calls sage" in told(council, "elsewhere")


@pytest.mark.req("P8-028", "P8-061")
def test_a_call_whose_caller_was_killed(held):
    council, running = held
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    wait_until(lambda: "call-left" in kinds(council, "elsewhere"))

    why = explained(council, "elsewhere")

    assert "the process of alice that called sage is gone" in why
    assert "council heartbeat writes its end" in why
    assert council("heartbeat").code == 0
    assert kinds(council, "elsewhere") == ["call-lost"]
    assert "came to nothing: the caller ended first" in explained(council, "elsewhere")
    assert "the caller ended before the answer came" in told(council, "elsewhere")


@pytest.mark.req("P8-026", "P8-005")
def test_a_call_that_failed_says_what_its_program_said(council):
    (council.root / "council.toml").write_text(python("sage", "fails.py", "4"))
    done = council("agent", "call", "--to", "sage", "--as", "alice", "--trace", "t1", "Well?")
    assert done.code == 1
    assert "council explain t1" in done.err

    why = explained(council, "t1")

    assert "trace t1: error (failed)" in why
    assert "the program of sage failed: exit 4; it said: the model is not available" in why
    assert "fails.py 4" in why
    assert "sage: exit 4" in told(council, "t1")
    assert "alice → sage: E99 sage: exit 4" in why
    assert "by hand" not in why
    assert council("explain", "t2").code == 5
    (council.root / "memory/shared/.council/delegation/traces/t1.jsonl").write_text("garbage")
    broken = council("explain", "t1")
    assert (broken.code, "t1.jsonl ends with a line" in broken.err) == (3, True)


@pytest.mark.req("P8-027", "P8-052", "P8-055", "P8-005")
def test_calls_that_came_to_nothing_by_their_bounds(council):
    reports = "cat >/dev/null; echo t >>$COUNCIL_REPORT; echo t >>$COUNCIL_REPORT; sleep 600"
    settings = f'[agents.busy]\nargv = ["/bin/sh", "-c", "{reports}"]\n'
    settings += python("slow", "slow.py", "600") + python("poet", "slow.py", "0")
    (council.root / "council.toml").write_text(settings)
    (council.root / "form.json").write_text('{"type": "object"}')
    ask = ("agent", "call", "--as", "alice", "--trace", "t1", "Well?", "--to")
    assert council(*ask, "busy", "--limit", "maxToolCalls=1").code == 1
    assert council(*ask, "slow", "--limit", "timeoutMs=300").code == 7
    assert council(*ask, "poet", "--schema", "form.json").code == 3

    why = explained(council, "t1")

    assert kinds(council, "t1") == ["call-tools", "call-too-slow", "call-form"]
    assert "raise maxToolCalls under [limits]" in why
    assert "slow, whom alice had called, was ended: it timed out after 0.3s" in why
    assert "the shortest of these holds: --limit timeoutMs of the call" in why
    assert "poet answered alice in another form than was asked for: the result is not JSON" in why
    assert all(code in told(council, "t1") for code in ("E10", "E17", "E20"))


@pytest.mark.req("P8-071", "XC-008")
def test_a_call_for_whom_nobody_is_chosen(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    done = council("agent", "call", "--to", "cap:paint", "--as", "owl", "--trace", "t1", "Red?")

    assert done.code == 5
    assert "no agent for capability=paint: no rule holds" in done.err
    assert "nobody is chosen for capability paint: no rule holds" in told(council, "t1")


def test_a_heartbeat_that_hangs(council):
    assert council("halt").code == 0
    open_council(council, python("owl", "echo.py"), gecko_answers=False)
    (council.root / "memory/shared/.council/halted").unlink()

    with Lock(str(council.root / "memory/shared/.council/heartbeat.lock")):
        why = explained(council)

    assert f"a heartbeat is at work, and others wait for it: pid {os.getpid()}" in why
    assert "if that process hangs, end it" in why
    assert "waits for a place" in told(council)
    assert "beat-locked" not in kinds(council)


@pytest.mark.req("XC-014")
def test_an_answer_by_hand_where_none_is_taken(council):
    open_council(council, 'trust = "strict"\n')
    assert council("respond", "Yes.", "--as", "owl").code == 6

    why = explained(council)

    assert "what owl answered was refused: nothing shows that this is owl" in why
    assert 'trust = "strict" takes no answer by hand' in why
    assert 'name a program under [agents.owl] in council.toml, or set trust = "open" there' in why
    assert "council respond --as" not in why
    assert "answer refused: nothing shows that this is owl" in told(council)


def test_an_answer_that_was_refused_is_forgotten_once_another_is_taken(council):
    open_council(council, "", agents="owl,elk")
    assert council("respond", "I agree.", "--as", "owl", "--status", "agreed").code != 0
    assert "refused" in kinds(council)
    assert "what owl answered was refused" in explained(council)

    assert council("respond", "Yes.", "--as", "owl").code == 0

    assert kinds(council) == ["by-hand"]


def test_a_folder_that_is_gone(council, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    assert council("halt").code == 0
    open_council(council, NEVER + python("owl", "echo.py"), "--cwd", str(folder), agents="owl,elk")
    folder.rmdir()
    assert council("resume", "--all").code == 0
    story = until_told(council, "owl attempt 1 failed")

    why = explained(council)

    assert f"no such folder: {folder}" in story
    assert f"the folder in which owl is to run is not there: {folder}" in why
    assert f"mkdir -p {folder}" in why
    assert "see the log" not in why


def test_a_template_that_is_broken(council):
    template = council.root / "prompts" / "en" / "turn.md.j2"
    template.parent.mkdir(parents=True)
    template.write_text("{{ nope( }}")
    open_council(council, NEVER + python("owl", "echo.py"), agents="owl,elk")
    story = until_told(council, "owl attempt 1 failed")

    why = explained(council)

    assert "turn.md.j2, line 1 is broken" in story
    assert "no prompt can be made for owl: the prompt template" in why
    assert "correct that template, or remove it" in why


def test_an_answer_that_is_printed_where_a_call_was_wanted(council):
    open_council(
        council, NEVER + python("owl", "echo.py", more='answer = "tool"\n'), agents="owl,elk"
    )
    story = until_told(council, "owl attempt 1 failed")

    why = explained(council)

    assert "no answer" in story
    assert "the program of owl ended and had not handed in an answer" in why
    assert 'answer = "stdout" under [agents.owl]' in why


def test_an_answer_that_is_too_long(council):
    flood = program("owl", sys.executable, "-c", "print('a' * 200)")
    open_council(council, "max_text_bytes = 100\n" + NEVER + flood, agents="owl,elk")
    story = until_told(council, "owl attempt 2 failed")  # it is tried again at once

    why = explained(council)

    assert "answer longer than 100 bytes" in story
    assert "what owl answered is not taken: answer longer than 100 bytes" in why
    assert "raise max_text_bytes in council.toml" in why


def test_a_turn_of_a_hook_that_was_never_ended(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    words = ("channel", "create", "chat", "hall", "--participants", "owl,gecko,alice")
    assert council(*words, "--as", "owl").code == 0
    assert council("say", "Rain?", "--to", "hall").code == 0
    assert council("turn", "begin", "hall", "--as", "owl", "--run-id", "r7").code == 0

    why = explained(council, "hall")

    assert "owl began its turn by itself (run r7) and has not ended it" in why
    assert "council turn end hall --as owl --run-id r7" in why
    assert "the turn of owl passes on" in why
    assert "owl began its turn" in told(council, "hall")


def test_a_discussion_that_nobody_completes(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    guide = council.root / "guide.md"
    guide.write_text("## Topic\nRain\n## Goals\nA plan\n## Completion criteria\nA vote\n")
    words = ("discussion", "create", "rain", "--as", "owl", "--guide", "guide.md")
    assert council(*words, "--participants", "owl,gecko").code == 0
    for agent in ("owl", "gecko"):
        assert council("turn", "begin", "rain", "--as", agent, "--run-id", agent).code == 0
        words = ("turn", "end", "rain", "--as", agent, "--run-id", agent, "--text", "NO_REPLY")
        assert council(*words).code == 0

    why = explained(council, "rain")

    assert "owl to complete the discussion" in why
    assert "council discussion complete rain --as owl --summary" in why
    assert "was reminded to complete the discussion" in told(council, "rain")


def test_what_is_not_named_is_asked_for_in_words_that_work(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    nothing = council("explain")
    assert (nothing.code, "no conversation is open" in nothing.err) == (5, True)
    for name in ("first", "second"):
        assert council("convene", "Hm?", "--name", name).code == 0

    several = council("explain")

    assert several.code == 2
    assert several.err.endswith("(say which: council explain first)\n")
    assert council("explain", env={"COUNCIL_NAME": "second"}).out.startswith("conversation second")
    assert "council events story owl)" in council("explain", "owl").err
