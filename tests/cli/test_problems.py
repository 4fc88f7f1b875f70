"""What is wrong, at a glance: each kind of problem is named with what to do about it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from datetime import datetime, timedelta

import pytest

from council.commands.glance import problems_text
from council.operations.examining.causes import cause
from council.operations.reporting.explaining import Problems
from council.store.texts import texts
from tests.cli.commands import tree, wait_until

BROKEN = '[agents.bad]\nargv = ["/bin/sh", "-c", "exit 3"]\n'


def problems(council, now: datetime, **given) -> dict[str, list[dict]]:
    """Return the problems by kind, as `status --problems --json` answers them."""
    done = council("status", "--problems", "--json", now=now, **given)
    assert done.code == 0, done.err
    found = done.json()
    assert found["ok"] is not bool(found["problems"])
    by_kind: dict[str, list[dict]] = {}
    for one in found["problems"]:
        assert one["said"]
        assert one["fix"]
        by_kind.setdefault(one["what"], []).append(one)
    return by_kind


def at_width(council, width: int, *words: str) -> list[str]:
    """Return the lines that a command shows on a terminal of that width."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        env = {**council.env(env={"NO_COLOR": "1"}), "TERM": "xterm"}
        os.execvpe("council", [*council.argv(*words)], env)
    said = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:
            break
        if not more:
            break
        said += more
    os.waitpid(pid, 0)
    os.close(terminal)
    return re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).splitlines()


def test_where_nothing_is_wrong_it_says_so(opened, now):
    assert problems(opened, now) == {}
    assert opened("status", "--problems", now=now).out.startswith("nothing is wrong · 1 open")


def test_an_empty_workspace_needs_no_clock(council, now):
    assert council("init", "--agents", "owl,gecko").code == 0
    assert problems(council, now) == {}


def test_a_phase_over_its_time_and_a_clock_that_stands_still_are_problems(opened, now):
    found = problems(opened, now + timedelta(hours=2))

    assert set(found) == {"overdue", "old-heartbeat"}
    assert "over for 1h, waits for gecko, owl" in found["overdue"][0]["said"]
    assert found["overdue"][0]["where"] == "active"
    assert "council schedule --install" in found["old-heartbeat"][0]["fix"]


def test_halted_paused_and_broken_are_problems(opened, now):
    assert opened("convene", "Second?", "--name", "second", now=now).code == 0
    assert opened("pause", "--name", "second", now=now).code == 0
    assert opened("halt", "--reason", "the bill", now=now).code == 0
    file = opened.root / "memory/shared/council-active-conversation.md"
    file.write_text(file.read_text().replace("<!--council-state", "<!--council-stat"))

    found = problems(opened, now + timedelta(minutes=10))

    assert found["is-paused"][0]["where"] == "second"
    assert "the bill" in found["halted"][0]["said"]
    assert found["broken-file"][0]["where"] == "active"

    assert opened("resume", "--all", now=now).code == 0
    assert "halted" not in problems(opened, now)


def test_a_failed_run_a_rest_and_their_logs_are_named(council, now):
    limits = "retry_backoff = []\n[limits]\nfailures_before_rest = 1\n"
    (council.root / "council.toml").write_text(limits + BROKEN + "[agents.owl]\n")
    council("convene", "Tea?", "--agents", "owl,bad", now=now)

    def rested() -> bool:
        council("heartbeat", now=now)
        return "rests" in problems(council, now)

    wait_until(rested)
    found = problems(council, now)
    (failed,) = found["exit"]
    assert "exit 3" in failed["said"]
    assert "exit: 3" in (council.root / failed["log"]).read_text()
    assert found["rests"][0]["agentId"] == "bad"
    status = council("status", now=now).out
    assert "bad rests until 2026-02-08T20:15:00Z" in status
    assert failed["log"] in status
    assert problems(council, now + timedelta(minutes=20)).get("rests") is None


@pytest.mark.req("OP-011")
def test_every_cause_can_be_shown_with_its_way_out_in_both_languages():
    for code in texts("causes"):
        given = {"message": "something", "hint": "a way", "fix": "a way", "empty": "hall"}
        one = cause(code, "somewhere", "owl", **given)
        found = Problems(now=datetime(2026, 2, 8), open=0, last_beat=None, found=[one])

        for lang in ("en", "fr"):
            assert one.said(lang) and one.fix(lang)
            assert "somewhere: " in problems_text(found, lang)


def test_looking_changes_nothing(opened, now):
    late = now + timedelta(hours=2)
    before = tree(opened.root)
    for words in (["status"], ["status", "--problems"], ["status", "--problems", "--json"]):
        assert opened(*words, now=late).code == 0
    assert tree(opened.root) == before


def test_many_councils_take_a_line_each_and_alike_problems_are_told_once(council, now):
    assert council("init", "--agents", "owl,gecko").code == 0
    for number in range(7):
        council("convene", f"Question {number}?", "--name", f"question-{number}", now=now)

    late = (now + timedelta(hours=2)).isoformat()
    lines = at_width(council, 80, "status", "--root", str(council.root), "--now", late)
    wrong = at_width(
        council, 80, "status", "--problems", "--root", str(council.root), "--now", late
    )

    table = lines[lines.index("7 open · 7 overdue !") :]
    assert sum("question-" in line for line in table) == 7
    assert max(map(len, lines + wrong)) <= 80
    assert sum("over for 1h" in line for line in wrong) == 1
    assert not {"overdue", "old-heartbeat"}.intersection(wrong), "problems have words, no ids"
    assert len(wrong) < 24


def test_status_is_shown_live_until_it_is_stopped(opened):
    watcher = opened.start("status", "--watch")
    try:
        first = ""
        while "Shall we build a weather bot?" not in first:
            first = watcher.stdout.readline().decode()
            assert first
        assert opened("pause").code == 0
        seen = b""
        while b"paused" not in seen:
            line = watcher.stdout.readline()
            assert line
            seen += line
    finally:
        watcher.terminate()
        watcher.communicate()


@pytest.mark.parametrize("width", [60, 80])
def test_the_screens_of_running_fit(opened, now, width: int):
    shown = [["status"], ["status", "--problems"], ["doctor"], ["halt", "--help"]]
    for words in shown:
        for line in at_width(opened, width, *words):
            assert len(line) <= max(width, 80) or "/" in line, (words, line)


def test_schedule_prints_what_it_would_install_and_installs_nothing(opened):
    before = sorted(opened.home.rglob("*"))
    for kind in ("--cron", "--systemd", "--openclaw"):
        done = opened("schedule", kind, "--every", "10m", "--json")
        assert done.code == 0, done.err
        plan = done.json()
        assert plan["done"] == "shown"
        assert plan["everyS"] == 600
        assert str(opened.root) in opened("schedule", kind).out
    assert sorted(opened.home.rglob("*")) == before


def test_schedule_refuses_what_contradicts_itself(opened):
    assert opened("schedule", "--cron", "--systemd").code == 2
    assert opened("schedule", "--install", "--remove").code == 2
    assert opened("schedule", "--cron", "--every", "7m").code == 2
    assert opened("schedule", "--every", "10s").code == 2
    assert opened("schedule", "--cron", "--install", env={"PATH": "/nowhere"}).code == 5


def test_inside_a_run_nobody_may_halt_resume_or_schedule(opened):
    for words in (["halt"], ["resume", "--all"], ["schedule"]):
        assert opened(*words, env={"COUNCIL_TASK_ID": "x"}).code == 6
