"""Version 4: what a line must be."""

from __future__ import annotations

import pytest

from council.wire.messages import parse
from tests.wire.readings import V3, V4, V5, changed, faults

# The flows that document 002 shows, in its order.
FLOW = """\
M1|O1>W1|R|T1|P0|N|-|analyser logs critiques
M2|W1>O1|S|T1|P0|D|-|3 erreurs
M3|W1>O1|E|T2|-|-|E06|BUSY;queue=5
M4|W2>O1|C|T3|P0|R|-|suggest=P1;reason=load
M5|W1>O1|E|-|-|-|E05|seg=3;got=X
M6|R1>O1|E|T4|-|-|E08|id=W3;last=120s
M7|O1>*|B|-|P1|-|-|maintenance 5min
M8|W1>O1|H|-|-|R|-|load=45%;queue=2
M9|O1>W2|U|T5|-|X|-|annulé
M10|W2>O1|A|T5|-|-|-|ok
M11|W1>O1|S|T6|P1|D|-|files=3;errors=0;size=1.2MB
"""


@pytest.mark.req("PR-401", "PR-420")
def test_every_flow_of_the_document_reads_in_order():
    for number, line in enumerate(FLOW.splitlines(), start=1):
        found = parse(line)

        assert (found.version, found.valid, found.warnings) == ("V4", True, [])
        assert found.fields["msg"] == f"M{number}"
        assert found.segments == line.split("|")


@pytest.mark.req("PR-411")
def test_overload_and_a_wish_for_lower_priority_are_pairs():
    busy = parse("M3|W1>O1|E|T2|-|-|E06|BUSY;queue=5").fields
    wish = parse("M4|W2>O1|C|T3|P0|R|-|suggest=P1;reason=load").fields

    assert (busy["err"], busy["flags"], busy["pairs"]) == ("E06", ["BUSY"], {"queue": "5"})
    assert wish["pairs"] == {"suggest": "P1", "reason": "load"}


@pytest.mark.req("PR-401", "PR-408", "PR-416", "PR-423")
@pytest.mark.parametrize("text", [V3, V5, V4 + "|b", "", "M1"])
def test_another_number_of_segments_is_one_fault(text: str):
    assert faults(text, "V4") == [("E03", "V4-1", None)]


@pytest.mark.req("PR-402", "PR-403", "PR-406", "PR-407", "PR-408", "PR-409", "PR-416", "PR-417")
@pytest.mark.parametrize(
    ("segment", "value", "code", "rule"),
    [
        (1, "MSG_01", "E05", "V4-2"),
        (1, "M10000", "E05", "V4-2"),
        (1, "m1", "E05", "V4-2"),
        (1, "M", "E05", "V4-2"),
        (1, "M１", "E05", "V4-2"),
        (1, "M0", "E04", "V4-2r"),
        (1, "M000", "E04", "V4-2r"),
        (2, "O10>W1", "E13", "V4-3"),
        (2, "O0>W1", "E13", "V4-3"),
        (2, "O1>W100", "E13", "V4-3"),
        (2, "O1>X1", "E13", "V4-3"),
        (2, "*>O1", "E13", "V4-3"),
        (2, "W*>O1", "E13", "V4-3"),
        (2, "G1>O1", "E13", "V4-3"),
        (2, "O1>O*", "E13", "V4-3"),
        (2, "O1>User", "E13", "V4-3"),
        (2, "O1.W12>W34.W5", "E13", "V4-3"),
        (2, "O1.W1>O1.W2", "E13", "V4-3"),
        (2, "O1.>W1", "E13", "V4-3"),
        (2, "O1>W1.é", "E13", "V4-3"),
        (2, "@role>W1", "E13", "V4-3"),
        (2, "O1>W1>W2", "E13", "V4-3"),
        (3, "X", "E14", "V4-4"),
        (3, "h", "E14", "V4-4"),
        (3, "", "E14", "V4-4"),
        (4, "TASK_01", "E05", "V4-5"),
        (4, "T1000", "E05", "V4-5"),
        (4, "", "E05", "V4-5"),
        (4, "T0", "E04", "V4-5r"),
        (5, "P3", "E10", "V4-6"),
        (5, "", "E10", "V4-6"),
        (6, "Q", "E15", "V4-7"),
        (6, "n", "E15", "V4-7"),
        (7, "5", "E05", "V4-8"),
        (7, "E5", "E05", "V4-8"),
        (7, "E100", "E05", "V4-8"),
        (7, "E٠١", "E05", "V4-8"),
        (7, "E00", "E04", "V4-8r"),
        (8, "a>b", "E02", "V4-10"),
        (8, "", "E03", "V4-11"),
    ],
)
def test_a_wrong_segment_is_reported_by_its_rule(segment: int, value: str, code: str, rule: str):
    assert faults(changed("V4", segment, value)) == [(code, rule, segment)]


@pytest.mark.req("PR-402", "PR-403")
@pytest.mark.parametrize(
    "route",
    ["O1>W1", "O9>W99", "R9>O1", "O1>G9", "O1>*", "O1>W*", "W1>O1", "O1.W1>W2", "W1>O1.a"],
)
def test_every_kind_of_route_is_read(route: str):
    fields = parse(changed("V4", 2, route)).fields

    assert f"{fields['from']}>{fields['to']}" == route


@pytest.mark.req("PR-406", "PR-416", "PR-534")
@pytest.mark.parametrize(("chars", "warned"), [(200, False), (201, True), (5000, True)])
def test_data_is_cut_at_200_characters_with_a_warning(chars: int, warned: bool):
    found = parse(changed("V4", 8, "é" * chars))

    assert found.valid
    assert found.fields["data"] == "é" * 200
    assert found.warnings == (["W_DATA_TRUNCATED"] if warned else [])


@pytest.mark.req("PR-628", "PR-407")
@pytest.mark.parametrize(
    ("kind", "err", "warnings"),
    [
        ("E", "E50", ["W_UNKNOWN_ERR"]),
        ("E", "-", ["W_ERR_MISSING"]),
        ("E", "E22", []),
        ("R", "E99", ["W_ERR_ON_NON_ERROR"]),
        ("R", "E30", ["W_UNKNOWN_ERR", "W_ERR_ON_NON_ERROR"]),
    ],
)
def test_a_code_that_does_not_fit_is_a_warning(kind: str, err: str, warnings: list[str]):
    assert parse(f"M1|W1>O1|{kind}|T1|-|-|{err}|x").warnings == warnings


@pytest.mark.req("PR-416", "PR-003")
def test_all_faults_come_in_the_order_of_the_checklist():
    assert faults("X|bad|Z|TX|P9|Q|5|") == [
        ("E05", "V4-2", 1),
        ("E13", "V4-3", 2),
        ("E14", "V4-4", 3),
        ("E05", "V4-5", 4),
        ("E10", "V4-6", 5),
        ("E15", "V4-7", 6),
        ("E05", "V4-8", 7),
        ("E03", "V4-11", 8),
    ]
