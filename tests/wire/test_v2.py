"""Version 2: what a line must be."""

from __future__ import annotations

import pytest

from council.wire.messages import parse
from tests.wire.readings import V2, changed, faults


@pytest.mark.req("PR-201", "PR-202")
def test_a_line_has_five_segments_and_names_its_sender():
    assert parse(V2).fields == {
        "msg": "MSG_01",
        "role": "O",
        "type": "R",
        "task": "TASK_01",
        "data": "scan logs",
    }


@pytest.mark.req("PR-201", "PR-205")
@pytest.mark.parametrize("text", ["MSG_01|O|R|TASK_01", "MSG_01|O|R|TASK_01|a|b", "MSG_01"])
def test_another_number_of_segments_is_one_fault(text: str):
    assert faults(text, "V2") == [("E02", "V2-1", None)]


@pytest.mark.req("PR-201", "PR-202", "PR-204", "PR-206")
@pytest.mark.parametrize(
    ("segment", "value", "rule"),
    [
        (1, "M1", "V2-2"),
        (1, "MSG_", "V2-2"),
        (2, "O1", "V2-3"),
        (2, "o", "V2-3"),
        (3, "B", "V2-4"),
        (3, "", "V2-4"),
        (4, "T1", "V2-5"),
        (4, "-", "V2-5"),
        (4, "", "V2-5"),
        (5, "", "V2-9"),
    ],
)
def test_a_wrong_segment_is_reported_by_its_rule(segment: int, value: str, rule: str):
    assert faults(changed("V2", segment, value), "V2") == [("E02", rule, segment)]


@pytest.mark.req("PR-204")
@pytest.mark.parametrize("task", ["-", ""])
def test_an_acknowledgement_needs_no_task(task: str):
    found = parse(f"MSG_06|O|A|{task}|ok")

    assert (found.valid, found.fields["task"], found.warnings) == (True, None, [])


@pytest.mark.req("PR-206")
@pytest.mark.parametrize("data", ["missing", "E1", "e01:x", "E011"])
def test_an_error_starts_with_its_code(data: str):
    assert faults(f"MSG_05|W|E|TASK_01|{data}") == [("E02", "V2-6", 5)]


@pytest.mark.req("PR-206", "PR-207")
@pytest.mark.parametrize(
    ("data", "code", "told"), [("E03", "E03", ""), ("E01:a:b", "E01", "a:b"), ("E99:", "E99", "")]
)
def test_an_error_gives_its_code_with_or_without_words(data: str, code: str, told: str):
    found = parse(f"MSG_05|W|E|TASK_01|{data}")

    assert (found.fields["err"], found.fields["desc"], found.warnings) == (code, told, [])


@pytest.mark.req("PR-207")
@pytest.mark.parametrize("code", ["E00", "E05", "E42"])
def test_a_code_outside_the_table_is_a_warning(code: str):
    assert parse(f"MSG_05|W|E|TASK_01|{code}:odd").warnings == ["W_UNKNOWN_ERR"]


@pytest.mark.req("PR-203")
def test_a_worker_that_requests_breaks_the_initiative():
    assert faults("MSG_01|W|R|TASK_01|scan") == [("E99", "V2-8", 2)]


@pytest.mark.req("PR-205")
def test_data_is_plain_text_or_pairs_and_may_hold_an_arrow():
    assert parse("MSG_01|O|R|TASK_01|a>b;k=v").fields["data"] == "a>b;k=v"


@pytest.mark.req("PR-201", "PR-642")
@pytest.mark.parametrize("text", ["MSG_01|O|R|TASK_01|a\nb", "MSG_01\n|O|R|TASK_01|a", V2 + "\n\n"])
def test_a_message_is_one_line(text: str):
    assert faults(text, "V2") == [("E02", "V2-7", None)]
