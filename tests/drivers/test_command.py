"""The command driver with real little programs."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from datetime import timedelta

import pytest

from council.core.agents import AgentSettings
from council.drivers import keeper
from council.drivers.command import filled
from council.drivers.command import wake as run_command
from council.store.reason_words import reason_words
from tests.drivers.programs import AGENTS, BASE, Fifo, program, turn

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def fifo(tmp_path):
    one = Fifo(tmp_path)
    yield one
    one.close()


@pytest.mark.req("C0-046")
def test_one_run_is_one_answer_and_then_the_program_is_gone(tmp_path, fifo):
    settings = program("slow", 0, "--ready", fifo.path)
    answer = run_command(turn(tmp_path), settings, BASE)
    assert answer.ok
    assert answer.text == "I have thought about it for a long time."
    assert answer.exit_code == 0
    assert fifo.next() == b"!"
    assert fifo.next() == b""


def test_the_answer_is_what_was_printed_without_the_line_ends_after_it(tmp_path):
    prompt = "\n  Réponse 🦉\r\n\r\n## heading -->\n\n \n\n"
    answer = run_command(turn(tmp_path, prompt=prompt), program("echo"), BASE)
    assert answer.text == "\n  Réponse 🦉\r\n\r\n## heading -->\n\n "


@pytest.mark.req("OP-012")
def test_bytes_that_are_no_text_cost_those_bytes_and_not_the_answer(tmp_path):
    answer = run_command(turn(tmp_path), program("garbage"), BASE)
    assert answer.ok
    assert answer.text == (
        "[3 bytes were no UTF-8; \ufffd stands for each]\n\n"
        "good so far \ufffd\ufffd\ufffd and no further"
    )


@pytest.mark.req("OP-012")
def test_marks_for_bytes_that_are_no_text_make_no_answer_longer_than_it_may_be(tmp_path):
    run = turn(tmp_path, max_text_bytes=40)
    answer = run_command(run, program("garbage"), BASE)
    assert reason_words(answer.reason) == "answer longer than 40 bytes"


def test_a_large_prompt_and_a_large_answer_do_not_block_each_other(tmp_path):
    prompt = "a line of the prompt\n" * 45_000
    answer = run_command(turn(tmp_path, prompt=prompt), program("echo"), BASE)
    assert answer.text == prompt.rstrip("\n")


def test_a_program_that_never_reads_its_prompt_can_still_answer(tmp_path):
    run = turn(tmp_path, prompt="x" * 2_000_000)
    answer = run_command(run, program("slow", 0), BASE)
    assert answer.ok


@pytest.mark.parametrize(
    ("settings", "reason", "exit_code"),
    [
        (program("silent"), "no answer", 0),
        (program("fails"), "exit 3", 3),
        (program("fails", 1), "exit 1", 1),
        (AgentSettings(argv=["printf", r"\377\n\376"]), "output is not UTF-8", 0),
        (AgentSettings(argv=["no-such-program-here"]), "not found: no-such-program-here", None),
        (AgentSettings(argv=["/etc/passwd"]), "not executable: /etc/passwd", None),
        (AgentSettings(argv=["sh", "-c", "kill -9 $$"]), "ended by SIGKILL", None),
        (AgentSettings(argv=["printf", r"a\0b"]), "output holds a NUL character", 0),
        (AgentSettings(argv=["a\0b"]), "cannot start a b: embedded null byte", None),
        (AgentSettings(), "no command: set argv or preset in council.toml", None),
        (AgentSettings(preset="ollama"), "preset 'ollama' needs a model", None),
    ],
)
def test_what_a_program_does_wrong_is_a_failed_attempt_with_its_reason(
    tmp_path, settings, reason, exit_code
):
    answer = run_command(turn(tmp_path), settings, BASE)
    assert not answer.ok
    assert reason_words(answer.reason) == reason
    assert answer.exit_code == exit_code
    assert answer.text == ""
    assert not answer.timed_out


def test_an_unknown_preset_is_a_failed_attempt_that_names_the_known_ones(tmp_path):
    answer = run_command(turn(tmp_path), AgentSettings(preset="clod"), BASE)
    assert reason_words(answer.reason).startswith("no preset 'clod', only claude, ")


def test_a_run_may_have_more_time_than_the_kernel_waits_for_at_once(tmp_path):
    run = turn(tmp_path, timeout=timedelta(days=3650))
    answer = run_command(run, program("echo"), BASE)
    assert answer.ok, reason_words(answer.reason)


def test_a_folder_that_is_missing_is_a_failed_attempt(tmp_path):
    run = turn(tmp_path, cwd=str(tmp_path / "gone"))
    assert (
        reason_words(run_command(run, program("echo"), BASE).reason)
        == f"no such folder: {tmp_path}/gone"
    )


@pytest.mark.req("C0-076")
def test_a_program_that_hangs_is_ended_at_its_time_limit(tmp_path, fifo, monkeypatch):
    monkeypatch.setattr(keeper, "_GRACE_S", 60)  # it listens, and needs none of it
    run = turn(tmp_path, timeout=timedelta(seconds=0.5))
    began = time.monotonic()
    answer = run_command(run, program("slow", "--ready", fifo.path), BASE)
    assert not answer.ok
    assert answer.timed_out
    assert reason_words(answer.reason) == "timed out after 0.5s"
    assert time.monotonic() - began < 30
    fifo.wait_for_the_end()


@pytest.mark.req("C0-076")
def test_a_program_that_does_not_listen_is_ended_all_the_same(tmp_path, fifo):
    run = turn(tmp_path, timeout=timedelta(seconds=0.5))
    began = time.monotonic()
    answer = run_command(run, program("slow", "--deaf", "--ready", fifo.path), BASE)
    assert answer.timed_out
    assert time.monotonic() - began < 30
    fifo.wait_for_the_end()


@pytest.mark.parametrize("extra", [[], ["--deaf"]])
def test_what_a_program_leaves_behind_ends_with_it_and_delays_nobody(tmp_path, fifo, extra):
    began = time.monotonic()
    answer = run_command(turn(tmp_path), program("leaves_child", fifo.path, *extra), BASE)
    assert answer.text == "I am done."
    assert time.monotonic() - began < 30
    assert fifo.next() == b"!"
    assert fifo.next() == b""


def test_a_child_that_left_the_group_does_not_hold_us_up(tmp_path):
    left = tmp_path / "left"
    script = f"setsid sh -c 'echo $$ > {left}; exec sleep 60' & "
    script += f"until [ -s {left} ]; do sleep 0.02; done; echo done"
    began = time.monotonic()
    answer = run_command(turn(tmp_path), AgentSettings(argv=["sh", "-c", script]), BASE)
    took_s = time.monotonic() - began
    os.kill(int(left.read_text()), signal.SIGKILL)
    assert answer.text == "done"
    assert took_s < 30


def test_a_program_that_rambles_is_stopped_before_it_fills_the_memory(tmp_path):
    run = turn(tmp_path, max_text_bytes=100_000)
    answer = run_command(run, program("rambles"), BASE)
    assert not answer.ok
    assert reason_words(answer.reason) == "answer longer than 100000 bytes"


@pytest.mark.parametrize(("size", "ok"), [(1000, True), (1001, False)])
def test_the_upper_size_is_exact(tmp_path, size, ok):
    run = turn(tmp_path, max_text_bytes=1000, prompt="x" * size + "\n")
    answer = run_command(run, program("echo"), BASE)
    assert answer.ok is ok


def test_an_answer_by_tool_is_not_read_from_standard_output(tmp_path):
    run = turn(tmp_path, max_text_bytes=1000)
    answer = run_command(run, program("rambles", 500_000, answer="tool"), BASE)
    assert answer.ok
    assert answer.by_tool
    assert answer.text == ""


@pytest.mark.req("XC-017")
def test_a_foreign_key_is_absent_in_the_child_and_an_added_one_present(tmp_path):
    base = {**BASE, "FOREIGN_API_KEY": "x", "OWN_API_KEY": SECRET}
    settings = program("shows_environment", env=["OWN_API_KEY"])
    answer = run_command(turn(tmp_path, token="t0ken"), settings, base)
    seen = json.loads(answer.text)["environment"]
    assert seen["OWN_API_KEY"] == SECRET
    assert seen["COUNCIL_TOKEN"] == "t0ken"
    assert "FOREIGN_API_KEY" not in seen
    own = {"OWN_API_KEY", "LC_CTYPE", *BASE}
    assert {name for name in seen if not name.startswith("COUNCIL_")} - own == {"traceparent"}


def test_a_run_leads_a_session_of_its_own_and_inherits_no_open_file(tmp_path):
    descriptor = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    try:
        shown = json.loads(run_command(turn(tmp_path), program("shows_environment"), BASE).text)
    finally:
        os.close(descriptor)
    assert shown["files"] == [0, 1, 2]
    assert shown["leads_session"]


def test_a_run_works_in_the_folder_it_is_given_else_in_the_workspace(tmp_path):
    (tmp_path / "project").mkdir()
    for cwd, folder in (("", tmp_path), (str(tmp_path / "project"), tmp_path / "project")):
        answer = run_command(turn(tmp_path, cwd=cwd), program("shows_environment"), BASE)
        assert json.loads(answer.text)["folder"] == str(folder.resolve())


def test_a_relative_program_lies_in_the_workspace_wherever_the_agent_works(tmp_path):
    (tmp_path / "project").mkdir()
    script = tmp_path / "answer.sh"
    script.write_text("#!/bin/sh\necho from the workspace\n")
    script.chmod(0o755)
    run = turn(tmp_path, cwd=str(tmp_path / "project"))
    answer = run_command(run, AgentSettings(argv=["./answer.sh"]), BASE)
    assert answer.text == "from the workspace"


def test_placeholders_are_filled_and_no_shell_reads_them(tmp_path):
    argv = [
        "echo",
        "{agent}",
        "{conversation}",
        "{task}",
        "{prompt_file}",
        "{workspace}",
        "{x} $HOME;",
    ]
    run = turn(tmp_path, prompt_file="/p {agent}.md", workspace="/w", task="T", conversation="C")
    answer = run_command(run, AgentSettings(argv=argv), BASE)
    assert answer.text == "henry C T /p {agent}.md /w {x} $HOME;"


@pytest.mark.parametrize(
    ("argument", "result"),
    [
        ("{a}", "1"),
        ("{a}{b}", "1{a}"),
        ("{{a}}", "{1}"),
        ('{"json": "{a}"}', '{"json": "1"}'),
        ("{a", "{a"),
        ("}{", "}{"),
        ("", ""),
    ],
)
def test_only_placeholders_are_replaced(argument, result):
    assert filled(argument, {"a": "1", "b": "{a}"}) == result


@pytest.mark.req("XC-017")
def test_the_log_of_a_run_tells_how_it_went_and_no_secret(tmp_path):
    log = tmp_path / "run.log"
    run = turn(tmp_path, log_file=str(log))
    settings = program("tells_secrets", "OWN_API_KEY", SECRET, env=["OWN_API_KEY"])
    answer = run_command(run, settings, {**BASE, "OWN_API_KEY": SECRET})
    assert answer.ok
    told = log.read_text()
    squeezed = "".join(told.split())
    assert SECRET not in squeezed
    assert SECRET[:12] not in squeezed
    assert squeezed.count("key:***") == 2
    assert "exit: 0\n" in told
    assert "duration: " in told
    assert run.task in told
    assert "tells_secrets.py" in told
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_the_log_keeps_the_end_of_what_a_program_said(tmp_path):
    log = tmp_path / "run.log"
    run = turn(tmp_path, log_file=str(log), max_text_bytes=300_000)
    script = "import sys; sys.stderr.write('e' * 500000 + 'the cause'); print('o' * 200000 + 'end')"
    run_command(run, AgentSettings(argv=[sys.executable, "-c", script]), BASE)
    told = log.read_text()
    assert told.endswith("end\n\n")
    assert "the cause\n" in told
    assert log.stat().st_size < 150_000


def test_a_failed_start_is_in_the_log(tmp_path):
    log = tmp_path / "run.log"
    run_command(turn(tmp_path, log_file=str(log)), AgentSettings(argv=["no-such-thing"]), BASE)
    assert 'outcome: {"code": "no-program", "program": "no-such-thing"}\n' in log.read_text()


def test_a_log_that_cannot_be_written_costs_no_answer(tmp_path):
    run = turn(tmp_path, log_file=str(tmp_path / "gone" / "run.log"))
    answer = run_command(run, program("echo"), BASE)
    assert answer.ok
    assert answer.log_error == "run.log: No such file or directory"


SUPERVISOR = """
import sys
from pathlib import Path
from tests.drivers.programs import BASE, program, turn
from council.drivers.command import wake as run_command
from council.store.reason_words import reason_words
run_command(turn(Path(sys.argv[1])), program("slow", "--ready", sys.argv[2]), BASE)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel of Linux does this")
def test_an_agent_does_not_outlive_its_supervisor(tmp_path, fifo):
    supervisor = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(tmp_path), str(fifo.path)],
        cwd=AGENTS.parent.parent,
    )
    assert fifo.next() == b"!"
    supervisor.send_signal(signal.SIGKILL)
    supervisor.wait()
    assert fifo.next() == b""
