"""Version 3: what a line must be."""

from __future__ import annotations

import pytest

from council.wire.messages import parse
from tests.wire.readings import V2, V3, changed, faults

# The flows that document 002 shows, in its order.
FLOW = """\
MSG_01|O1>W1|R|TASK_01|P0|N|analyser logs critiques
MSG_02|W1>O1|S|TASK_01|P0|D|3 erreurs détectées
MSG_03|O1>W2|R|TASK_02|P1|N|backup config
MSG_04|W2>O1|E|TASK_02|P1|F|E04:disk full
MSG_05|W1>O1|E|TASK_03|P1|-|E06:BUSY;queue=3
MSG_06|W1>O1|C|TASK_01|P0|R|format sortie?
MSG_07|O1>W1|S|TASK_01|P0|R|json
MSG_08|O1>*|B|-|P1|-|maintenance 5min
MSG_09|O1>W2|U|TASK_02|P1|X|annulé
MSG_10|W2>O1|A|TASK_02|-|-|ok
MSG_11|W1>O1|U|TASK_01|P0|R|progress=75%
"""


@pytest.mark.req("PR-301", "PR-319")
def test_every_flow_of_the_document_reads_in_order():
    for number, line in enumerate(FLOW.splitlines(), start=1):
        found = parse(line)

        assert (found.version, found.valid, found.warnings) == ("V3", True, [])
        assert found.fields["msg"] == f"MSG_{number:02}"
        route = f"{found.fields['from']}>{found.fields['to']}"
        assert [route, found.fields["type"]] == line.split("|")[1:3]


@pytest.mark.req("PR-310")
def test_a_busy_worker_says_so_with_its_queue():
    fields = parse("MSG_05|W1>O1|E|TASK_03|P1|-|E06:BUSY;queue=3").fields

    assert (fields["err"], fields["desc"], fields["state"]) == ("E06", "BUSY;queue=3", None)


@pytest.mark.req("PR-311")
def test_a_worker_reports_a_conflict_of_priorities_as_a_clarification():
    assert parse("MSG_06|W1>O1|C|TASK_01|-|-|priority conflict").fields["type"] == "C"


@pytest.mark.req("PR-301", "PR-307", "PR-316", "PR-318")
@pytest.mark.parametrize("text", [V2, V3 + "|more", "MSG_01|O1>W1|R|TASK_01|P0|N", "", "hello"])
def test_another_number_of_segments_is_one_fault(text: str):
    assert faults(text, "V3") == [("E05", "V3-1", None)]


@pytest.mark.req("PR-302", "PR-306", "PR-308", "PR-312", "PR-316")
@pytest.mark.parametrize(
    ("segment", "value", "rule"),
    [
        (1, "MSG_X", "V3-2"),
        (1, "M1", "V3-2"),
        (1, "msg_01", "V3-2"),
        (1, "MSG_１", "V3-2"),
        (2, "O1-W1", "V3-3"),
        (2, "O>W1", "V3-3"),
        (2, "O1>X1", "V3-3"),
        (2, "*>O1", "V3-3"),
        (2, "O1>W*", "V3-3"),
        (2, "O1>W1>W2", "V3-3"),
        (2, "o1>w1", "V3-3"),
        (2, "O1>", "V3-3"),
        (3, "H", "V3-4"),
        (3, "r", "V3-4"),
        (3, "RS", "V3-4"),
        (4, "T1", "V3-5"),
        (4, "", "V3-5"),
        (5, "P3", "V3-6"),
        (5, "", "V3-6"),
        (6, "Z", "V3-7"),
        (6, "n", "V3-7"),
        (7, "", "V3-8"),
    ],
)
def test_a_wrong_segment_is_reported_by_its_rule(segment: int, value: str, rule: str):
    assert faults(changed("V3", segment, value)) == [("E05", rule, segment)]


@pytest.mark.req("PR-307")
def test_an_arrow_in_data_is_a_fault_of_format():
    assert faults(changed("V3", 7, "a>b")) == [("E02", "V3-9", 7)]


@pytest.mark.req("PR-308")
def test_an_error_starts_with_its_code():
    assert faults("MSG_04|W2>O1|E|TASK_02|P1|F|disk full") == [("E02", "V3-10", 7)]


@pytest.mark.req("PR-302")
def test_numbers_of_agents_have_no_upper_bound():
    assert parse("MSG_123|O2>W345|R|TASK_999|P2|X|stop").valid


@pytest.mark.req("PR-306", "PR-312")
@pytest.mark.parametrize("state", ["N", "R", "D", "F", "X"])
def test_every_state_is_read(state: str):
    assert parse(changed("V3", 6, state)).fields["state"] == state


@pytest.mark.req("PR-306")
def test_unused_segments_are_nothing_and_the_priority_is_p1():
    fields = parse("MSG_10|W2>O1|A|-|-|-|-").fields

    assert fields["task"] is fields["state"] is fields["pri"] is None
    assert fields["pri_effective"] == "P1"
    assert parse(changed("V3", 5, "P2")).fields["pri_effective"] == "P2"


@pytest.mark.req("PR-306", "PR-628")
@pytest.mark.parametrize(("kind", "warned"), [("R", True), ("U", True), ("A", False), ("B", False)])
def test_only_acknowledgements_and_broadcasts_belong_to_no_task(kind: str, warned: bool):
    found = parse(f"MSG_01|O1>W1|{kind}|-|-|-|x")

    assert found.warnings == (["W_TASK_MISSING"] if warned else [])


@pytest.mark.req("PR-316", "PR-003")
def test_all_faults_come_in_the_order_of_the_checklist():
    found = faults("X|bad|Z|T1|P9|Q|")

    assert found == [("E05", f"V3-{segment + 1}", segment) for segment in range(1, 8)]
