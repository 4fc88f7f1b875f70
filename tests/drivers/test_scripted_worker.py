"""A scripted worker of document 002: the checks that it has to give, then what its script says."""

from __future__ import annotations

import pytest

from council.core.agents import AgentSettings
from council.drivers.scripted import parse_script
from council.drivers.scripted import wake as read_answer
from council.store.reason_words import reason_words
from tests.drivers.programs import turn

LINE = "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan;query=x"


def answer(tmp_path, script: str, line: str = LINE, phase: str = "TASK", **variables: str):
    (tmp_path / "answers.md").write_text(script)
    run = turn(tmp_path).copy(
        agent="sage",
        phase=phase,
        tour=1,
        prompt=line + "\n",
        variables={"COUNCIL_PROTOCOL_ID": "W1", **variables},
    )
    return read_answer(run, AgentSettings(answers="answers.md"), {})


@pytest.mark.req("PR-558")
def test_a_success_keeps_task_context_and_depth_of_the_request(tmp_path):
    line = LINE.replace("|0|S1", "|2|S1")
    found = answer(tmp_path, "## sage TASK\nS results=5", line)
    assert found.text == "M2|W1>O1|S|T1|P1|D|-|2|S1|B500|results=5"


@pytest.mark.req("PR-558")
def test_an_invalid_message_is_answered_by_the_code_of_its_first_fault(tmp_path):
    found = answer(tmp_path, "## sage TASK\nS ok=1", LINE.replace("|P1|", "|P9|"))
    segments = found.text.split("|")
    assert (segments[1], segments[2], segments[6]) == ("W1>O1", "E", "E11")


@pytest.mark.req("PR-558")
@pytest.mark.parametrize(("depth", "code"), [(1, "-"), (2, "E16"), (3, "E16")])
def test_a_message_as_deep_as_it_may_be_called_is_refused(tmp_path, depth, code):
    line = LINE.replace("|0|S1", f"|{depth}|S1")
    found = answer(tmp_path, "## sage TASK\nS ok=1", line, COUNCIL_MAX_DEPTH="2")
    assert found.text.split("|")[6] == code


@pytest.mark.req("PR-558", "PR-583")
def test_a_budget_below_the_estimate_is_refused_and_says_what_is_needed(tmp_path):
    script = "## sage TASK needs 501\nS ok=1"
    found = answer(tmp_path, script)
    assert found.text.endswith("|E17|0|S1|B500|desc=budget insufficient;needed=501;have=500")
    assert answer(tmp_path, script, LINE.replace("B500", "B501")).text.split("|")[2] == "S"
    assert answer(tmp_path, script, LINE.replace("B500", "-")).text.split("|")[2] == "S"


@pytest.mark.req("PR-558")
def test_a_capability_that_it_does_not_have_is_refused(tmp_path):
    script = "## sage TASK\nS ok=1"
    assert answer(tmp_path, script, COUNCIL_CAPABILITIES="reason").text.split("|")[6] == "E19"
    assert answer(tmp_path, script, COUNCIL_CAPABILITIES="plan").text.split("|")[6] == "-"


@pytest.mark.req("PR-558")
def test_it_asks_tells_its_progress_and_hands_on_as_its_script_says(tmp_path):
    script = (
        "## sage TASK\nC question=which?;options=a,b\n\n"
        "## sage ANSWER\nU progress=50%\nS result=a\n\n"
        "## sage REFUSED\nX W2 call=reason;reason=better"
    )
    asked = answer(tmp_path, script).text
    assert asked == "M2|W1>O1|C|T1|P1|R|-|0|S1|B500|question=which?;options=a,b"
    line = "M3|O1>W1|C|T1|P1|R|-|0|S1|B500|answer=a"
    kinds = [one.split("|")[2] for one in answer(tmp_path, script, line, "ANSWER").text.split("\n")]
    assert kinds == ["U", "S"]
    line = "M3|O1>W1|E|T1|P1|-|E10|0|S1|B500|desc=x"
    refused = answer(tmp_path, script, line.replace("|E|", "|R|").replace("E10", "-"), "REFUSED")
    handed, notice = refused.text.split("\n")
    assert handed == "M4|W1>W2|X|T1|P1|R|-|1|S1|B250|call=reason;reason=better"
    assert notice == "M5|W1>O1|U|T1|P1|R|-|0|S1|B500|handoff=W2;reason=better"


@pytest.mark.req("PR-558")
def test_an_error_of_the_script_has_its_code_and_state(tmp_path):
    found = answer(tmp_path, "## sage TASK\nE33 desc=file not found")
    assert found.text == "M2|W1>O1|E|T1|P1|F|E33|0|S1|B500|desc=file not found"


def test_words_stay_words_and_a_whole_line_stays_as_it_is(tmp_path):
    line = "M9|W1>O1|S|T1|P1|D|-|0|S1|B10|x=1"
    assert answer(tmp_path, f"## sage TASK\nSome words.\n{line}").text == f"Some words.\n{line}"


def test_a_v4_message_is_answered_in_v4(tmp_path):
    found = answer(tmp_path, "## sage TASK\nS results=5", "M1|O1>W1|R|T1|P1|N|-|plan it")
    assert found.text == "M2|W1>O1|S|T1|P1|D|-|results=5"


@pytest.mark.req("PR-559")
@pytest.mark.parametrize(
    "line",
    [
        LINE.replace("O1>W1", "W2>W1"),
        LINE.replace("O1>W1", "O1>W3"),
        LINE.replace("O1>W1|R", "W2>W1|X"),
    ],
)
def test_only_an_orchestrator_or_a_valid_hand_off_is_answered(tmp_path, line):
    found = answer(tmp_path, "## sage TASK\nS ok=1", line)
    assert not found.ok
    assert "may not ask W1" in reason_words(found.reason)


def test_a_hand_off_to_it_is_answered_to_its_source(tmp_path):
    line = LINE.replace("O1>W1|R", "W2>W1|X").replace("|0|S1", "|1|S1")
    assert answer(tmp_path, "## sage TASK\nS ok=1", line).text.split("|")[1] == "W1>W2"


def test_a_script_that_no_message_can_say_is_a_failed_attempt(tmp_path):
    found = answer(tmp_path, "## sage TASK\nS a > b")
    assert not found.ok
    assert "no message can say" in reason_words(found.reason)


def test_what_the_work_needs_stands_in_the_heading():
    (one,) = parse_script("## sage TASK needs 40 after 2s\nS ok=1")
    assert (one.needs, one.after.total_seconds()) == (40, 2)
    assert parse_script("## sage TASK needs many\nx") == []
