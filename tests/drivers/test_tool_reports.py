"""Tool calls that runs report: counted as they come, and the end of one that reports too many."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from council.core.agents import AgentSettings
from council.core.reasons import read_reason
from council.drivers.command import wake as run_command
from council.drivers.runs import Answer, ToolReports, with_tool_calls
from council.drivers.scripted import parse_script
from council.drivers.scripted import wake as read_answer
from council.store.reason_words import reason_words
from tests.drivers.programs import BASE, turn

REPORTS = 'cat >/dev/null; for one in $(seq {}); do echo "$one" >> "$COUNCIL_REPORT"; done; {}'


def shell(text: str) -> AgentSettings:
    return AgentSettings(argv=["/bin/sh", "-c", text])


def bounded(tmp_path: Path, most: int | None):
    return turn(tmp_path, report_file=str(tmp_path / "report"), max_tool_calls=most)


@pytest.mark.req("P8-055")
def test_a_run_is_ended_at_the_call_that_is_one_too_many(tmp_path: Path):
    answer = run_command(bounded(tmp_path, 3), shell(REPORTS.format(4, "sleep 60")), BASE)

    assert (answer.ok, answer.too_many_tool_calls, answer.tool_calls) == (False, True, 4)
    assert reason_words(answer.reason) == "ended at tool call 4 of at most 3"


@pytest.mark.req("P8-055")
def test_a_run_that_ends_before_anybody_looked_has_still_reported_too_many(tmp_path: Path):
    answer = run_command(bounded(tmp_path, 3), shell(REPORTS.format(4, "echo Yes.")), BASE)

    assert (answer.ok, answer.too_many_tool_calls, answer.text) == (False, True, "")


def test_as_many_as_are_allowed_are_counted(tmp_path: Path):
    answer = run_command(bounded(tmp_path, 3), shell(REPORTS.format(3, "echo Yes.")), BASE)

    assert (answer.ok, answer.tool_calls, answer.text) == (True, 3, "Yes.")


def test_without_a_bound_no_report_is_asked_for(tmp_path: Path):
    answer = run_command(turn(tmp_path), shell('cat >/dev/null; echo "=$COUNCIL_REPORT="'), BASE)

    assert (answer.text, answer.tool_calls) == ("==", 0)


def test_a_report_is_read_on_from_where_it_was_read_to(tmp_path: Path):
    reports = ToolReports(bounded(tmp_path, 3))
    assert reports.count() == 0
    with (tmp_path / "report").open("a") as file:
        file.write("one\ntwo")
        file.flush()
        assert reports.count() == 1
        file.write(" and more\n\n")
    assert reports.count() == 3
    assert not reports.are_too_many()


@pytest.mark.parametrize("kind", ["folder", "link", "fifo"])
def test_what_is_no_file_reports_nothing(tmp_path: Path, kind: str):
    path = tmp_path / "report"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path / "other").write_text("one\n" * 9)
        path.symlink_to(tmp_path / "other")
    else:
        os.mkfifo(path)

    assert ToolReports(bounded(tmp_path, 3)).count() == 0


def test_a_run_that_timed_out_says_so_whatever_it_reported(tmp_path: Path):
    late = Answer(ok=False, reason=read_reason("timed out after 1s"), timed_out=True)

    judged = with_tool_calls(late, bounded(tmp_path, 3), 9)

    assert (judged.timed_out, judged.too_many_tool_calls, judged.tool_calls) == (True, False, 9)


@pytest.mark.req("P8-055")
def test_a_scripted_agent_reports_what_its_heading_says(tmp_path: Path):
    (tmp_path / "answers.md").write_text("## henry COLLECT done using 25 tools\nYes.\n")
    settings = AgentSettings(answers="answers.md")

    refused = read_answer(bounded(tmp_path, 24), settings, BASE)
    passed = read_answer(bounded(tmp_path, 25), settings, BASE)

    assert (refused.ok, refused.too_many_tool_calls, refused.tool_calls) == (False, True, 25)
    assert (passed.ok, passed.status, passed.tool_calls) == (True, "done", 25)


def test_a_heading_may_say_both_how_late_and_how_busy():
    (one,) = parse_script("## henry 1 done after 2s using 3 tools\nYes.")

    assert (one.status, one.after.total_seconds(), one.tools) == ("done", 2, 3)


@pytest.mark.parametrize(
    "heading",
    ["## henry 1 using tools", "## henry 1 using x tools", "## henry 1 using 3 spoons"],
)
def test_a_heading_that_says_something_else_belongs_to_the_text(heading: str):
    assert parse_script(f"## sage 1\nText\n{heading}\nmore")[0].text.endswith("more")
