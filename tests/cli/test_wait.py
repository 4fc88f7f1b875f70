"""`council wait`: until it is an agent's turn, or the conversation is over."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import wait_until


@pytest.fixture
def challenged(council):
    """A workspace in which owl has answered the round under way and gecko has not."""
    assert council("init", "--agents", "owl,gecko").code == 0
    assert council("convene", "Shall we build it?", "--agents", "owl,gecko").code == 0
    assert council("respond", "--as", "owl", "Yes.").code == 0
    return council


def listens(process: subprocess.Popen[bytes]) -> bool:
    """Return true if a process has asked the system for file events."""
    folder = Path(f"/proc/{process.pid}/fd")
    try:
        return any("inotify" in os.readlink(one) for one in folder.iterdir())
    except FileNotFoundError:
        return False


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    out, _ = process.communicate(timeout=120)
    return process.returncode, out.decode()


@pytest.mark.req("HR-029")
def test_it_is_over_at_once_where_it_is_the_agent_s_turn(challenged):
    done = challenged("wait", "--as", "gecko")
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) == 1
    assert "gecko: your turn in COLLECT (round 1)" in done.out
    assert done.out.strip().endswith("next: council context --as gecko --name active")
    found = challenged("wait", "active", "--as", "gecko", "--json").json()
    assert (found["outcome"], found["phase"], found["tour"]) == ("turn", "COLLECT", 1)
    assert found["task"] and found["minutes"] is None


@pytest.mark.req("HR-029")
def test_it_blocks_until_others_have_made_it_the_agent_s_turn(challenged):
    waiting = challenged.start("wait", "--as", "owl")
    wait_until(lambda: listens(waiting) or waiting.poll() is not None)
    assert waiting.poll() is None
    assert challenged("respond", "--as", "gecko", "No.").code == 0
    code, out = ended(waiting)
    assert code == 0 and "owl: your turn in CHALLENGE (round 2)" in out


@pytest.mark.req("HR-029")
def test_it_ends_with_8_and_the_minutes_when_the_conversation_is_over(challenged):
    waiting = challenged.start("wait", "--as", "owl", "--json")
    wait_until(lambda: listens(waiting) or waiting.poll() is not None)
    assert challenged("cancel", "--name", "active").code == 0
    code, out = ended(waiting)
    assert code == 8
    (minutes,) = challenged.root.glob("conseils/*.md")
    assert json.loads(out)["minutes"] == str(minutes)
    for words in (["--as", "owl"], ["active", "--as", "owl"], ["--name", "active", "--as", "owl"]):
        later = challenged("wait", *words)
        assert later.code == 8 and later.out == f"active is over; the minutes: {minutes}\n"


@pytest.mark.req("HR-029")
def test_it_ends_with_7_when_the_time_has_passed_and_says_how_to_go_on(challenged):
    done = challenged("wait", "--as", "owl", "--timeout", "1s")
    assert done.code == 7, done.err
    assert "not your turn in COLLECT (round 1)" in done.out
    assert done.out.strip().endswith("council wait --name active --as owl --timeout 1s")


@pytest.mark.req("HR-029")
def test_of_several_who_may_write_the_synthesis_one_is_asked(council):
    assert (
        council("convene", "A boat?", "--agents", "owl,cat", "--phases", "collect,synthesize").code
        == 0
    )
    assert [council("respond", "--as", agent, "Yes.").code for agent in ("owl", "cat")] == [0, 0]
    turns = [council("wait", "--as", agent, "--timeout", "1s").code for agent in ("owl", "cat")]
    assert sorted(turns) == [0, 7]


@pytest.mark.req("HR-010", "HR-029")
def test_an_answer_after_the_end_is_told_that_it_is_over_and_where_the_minutes_are(challenged):
    assert challenged("cancel").code == 0
    (minutes,) = challenged.root.glob("conseils/*.md")
    late = challenged("respond", "--as", "owl", "--name", "active", "Too late.")
    assert late.code == 5
    assert "is over" in late.err and str(minutes) in late.err and "kept in" in late.err


@pytest.mark.req("HR-029")
def test_a_name_that_is_not_there_and_never_was_ends_with_5(challenged):
    done = challenged("wait", "elsewhere", "--as", "owl")
    assert done.code == 5 and "elsewhere" in done.err and len(done.err.splitlines()) == 1


@pytest.mark.req("HR-029")
@pytest.mark.parametrize(
    "words, code, said",
    [
        (["--as", "nova"], 6, "nova does not take part"),
        (["--as", "owl", "--timeout", "soon"], 2, "soon"),
        (["elsewhere", "--name", "active", "--as", "owl"], 2, "two conversations are named"),
        ([], 2, "who is speaking?"),
    ],
)
def test_what_can_never_come_true_is_refused_in_one_line(challenged, words, code, said):
    done = challenged("wait", *words)
    assert done.code == code and said in done.err and len(done.err.splitlines()) == 1


@pytest.mark.req("HR-029")
def test_from_another_folder_the_next_command_names_the_workspace(challenged, tmp_path: Path):
    done = challenged("wait", "--as", "gecko", "--root", challenged.root, cwd=tmp_path)
    command = done.out.strip().rpartition("next: ")[2]
    assert command.endswith(f"--root {challenged.root}")
    assert "COLLECT" in challenged(*command.split()[1:], cwd=tmp_path).out


@pytest.mark.req("HR-029")
def test_after_the_end_context_names_the_minutes(challenged):
    assert challenged("cancel", "--name", "active").code == 0
    (minutes,) = challenged.root.glob("conseils/*.md")
    for words in ([], ["--json"], ["--name", "active"]):
        done = challenged("context", "--as", "owl", *words)
        assert done.code == 5
        assert f"the conversation 'active' is over; its minutes: {minutes}" in done.err
    never = challenged("context", "--as", "owl", "--name", "elsewhere")
    assert never.code == 5 and "no open conversation is named 'elsewhere'" in never.err


@pytest.mark.req("HR-010")
@pytest.mark.parametrize("dash", [" — ", " – ", " - ", ": ", " -- ", "—", " ― "])
def test_a_stance_takes_every_dash_that_the_form_takes(council, dash: str):
    assert council("init", "--agents", "owl,gecko").code == 0
    words = ("--procedure", "deliberation", "--agents", "owl,gecko")
    assert council("convene", "Shall we?", *words).code == 0
    stated = ("--position", "Build it.", "--confidence", "4")
    assert council("respond", "--as", "owl", *stated, "Because.").code == 0
    stance = f"owl=partial{dash}same list"
    done = council("respond", "--as", "gecko", *stated, "--stance", stance, "-", stdin="So be it.")
    assert done.code == 0, done.err
    assert (
        "- @owl: partial — same list"
        in next(council.root.glob("memory/shared/council-*.md")).read_text()
    )


@pytest.mark.req("HR-010")
@pytest.mark.parametrize(
    "words",
    [["--stance", "owl=perhaps"], ["--name", "elsewhere"], ["--position", "Build it."], []],
)
def test_a_refused_text_is_kept_and_the_refusal_says_where(challenged, words: list[str]):
    long = "A long text.\n" * 500
    agent = "owl" if not words else "gecko"  # owl has answered already
    for _ in range(2):
        done = challenged("respond", "--as", agent, *words, "-", stdin=long)
        assert done.code in (2, 4, 5, 6)
        path = Path(done.err.strip().rpartition("your text is kept in ")[2].rstrip(")"))
        assert path.read_text() == long
        assert path.parent == challenged.root / "memory" / "agents" / agent / "tasks"
    assert len(list(path.parent.glob("refused-*"))) == 1


@pytest.mark.req("HR-010")
def test_a_refused_text_makes_no_agent_of_a_mistyped_name(challenged):
    done = challenged("respond", "--as", "gecco", "-", stdin="A text.")
    assert done.code == 6 and "kept" not in done.err
    assert not (challenged.root / "memory" / "agents" / "gecco").exists()
