"""Version 5: what a line must be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.wire import v5
from council.wire.messages import parse
from tests.wire.readings import V4, V5, V5D, changed, faults


@pytest.mark.req("PR-521")
def test_a_line_has_eleven_segments():
    assert parse(V5).fields == {
        "msg": "M1",
        "from": "O1",
        "to": "W1",
        "type": "R",
        "tid": "T1",
        "pri": "P1",
        "pri_effective": "P1",
        "state": "N",
        "err": None,
        "depth": 0,
        "ctx": "S1",
        "budget": 500,
        "data": "scan logs",
        "flags": [],
        "pairs": {},
    }


@pytest.mark.req("PR-521")
@pytest.mark.parametrize("text", [V4, V5D, V5 + "|b", "", "M1", "|" * 11])
def test_another_number_of_segments_is_one_fault(text: str):
    assert faults(text, "V5") == [("E10", "V5-1", None)]


@pytest.mark.req("PR-522", "PR-523", "PR-524", "PR-525", "PR-526", "PR-527", "PR-528", "PR-529")
@pytest.mark.req("PR-530", "PR-531", "PR-532", "PR-004", "PR-505", "PR-506", "PR-572")
@pytest.mark.parametrize(
    ("segment", "value", "code", "rule"),
    [
        (segment, value, code, rule)
        for segment, code, rule, values in [
            (
                *(1, "E10", "V5-2"),
                ["MSG_01", "M12345", "M", "m1", " M1", "M1 ", "M１", "M-1", ""],
            ),
            (
                *(2, "E13", "V5-3"),
                [
                    *("O1>>W1", "O1>W100", "O12>W1", "W*>O1", "*>O1", "G1>O1", "W1>G10", "O0>W1"),
                    *("O1.W12>W34.W56", "O1.abcdefgh>*", "O1.a.b>W1", "O1.a-b>W1", "O01>W1"),
                    *("R10>O1", "", ">", "O1", "O1>W1>W2", "o1>W1", "O1>W１", "O1>G*", "User>*"),
                    *("User>W1", "W1>User", "User>User", "R1>User", "user>O1", "O1.W1>User"),
                ],
            ),
            (3, "E14", "V5-4", ["Z", "r", "", "RS", "REQ", "-"]),
            (4, "E10", "V5-5", ["TASK_01", "T1000", "t1", "", "T", "T１"]),
            (5, "E11", "V5-6", ["P3", "", "p1", "1"]),
            (6, "E15", "V5-7", ["Q", "", "n", "NR"]),
            (7, "E10", "V5-8", ["5", "E5", "E100", "", "e10", "E1１"]),
            (8, "E16", "V5-9", ["6", "x", "", "00", "-1", "１"]),
            (
                *(9, "E10", "V5-10"),
                ["SABC", "S", "42", "Sabcdefgh", "S1:A3F2:8B4C1D2E", "Séa", "s1", "", "S_1"],
            ),
            (10, "E10", "V5-11", ["500", "B-5", "B10000", "B", "", "b5"]),
            (11, "E12", "V5-13", ["a>b", ">"]),
            (11, "E10", "V5-14", [""]),
        ]
        for value in values
    ],
)
def test_a_wrong_segment_is_reported_by_its_rule(segment: int, value: str, code: str, rule: str):
    assert faults(changed("V5", segment, value), "V5") == [(code, rule, segment)]


@pytest.mark.req("PR-522", "PR-523", "PR-525", "PR-526", "PR-527", "PR-529", "PR-530", "PR-531")
@pytest.mark.req("PR-505", "PR-506", "PR-513", "PR-572")
@pytest.mark.parametrize(
    ("segment", "value", "field", "meant"),
    [
        (segment, value, field, meant)
        for segment, field, values in [
            (1, "msg", {"M0": "M0", "M9999": "M9999"}),
            (2, "from", {"O9>W99": "O9", "R9>G9": "R9", "O1.abcdefg>*": "O1.abcdefg"}),
            (2, "to", {"O9>User": "User", "User>O1": "O1", "W1.x>W*": "W*"}),
            (4, "tid", {"T0": "T0", "T999": "T999", "-": None}),
            (5, "pri_effective", {"P0": "P0", "P2": "P2", "-": "P1"}),
            (6, "state", {"N": "N", "R": "R", "D": "D", "F": "F", "X": "X", "-": None}),
            (8, "depth", {str(depth): depth for depth in range(6)}),
            (9, "ctx", {"S0": "S0", "S42": "S42", "Sabc12": "Sabc12", "Sabcdef1": "Sabcdef1"}),
            (10, "budget", {"B0": 0, "B9999": 9999, "-": None}),
        ]
        for value, meant in values.items()
    ],
)
def test_a_right_segment_is_read(segment: int, value: str, field: str, meant: object):
    found = parse(changed("V5", segment, value), "V5")

    assert found.valid
    assert found.fields[field] == meant


@pytest.mark.req("PR-524", "PR-541")
@pytest.mark.parametrize(
    ("kind", "route"),
    [
        *zip(
            "RSECUABHDJLKX",
            (
                "O1>W1",
                "W1>O1",
                "W1>O1",
                "O1>W1",
                "W1>O1",
                "W1>O1",
                "O1>*",
                "W1>O1",
                "O1>User",
                "W1>O1",
                "W1>O1",
                "W1>O1",
                "W1>W2",
            ),
            strict=True,
        ),
        ("E", "O1>W1"),
        ("C", "User>O1"),
        ("A", "O1>W1"),
        ("S", "O1>O1"),
        ("R", "R1>W1"),
    ],
)
def test_each_type_is_read_from_its_typical_sender_without_a_warning(kind: str, route: str):
    err = "E33" if kind == "E" else "-"

    assert parse(f"M1|{route}|{kind}|T1|-|-|{err}|0|S1|-|x").warnings == []


@pytest.mark.req("PR-006", "PR-541")
@pytest.mark.parametrize(
    ("kind", "route"),
    [("R", "W1>W2"), ("B", "W1>*"), ("H", "O1>W1"), ("X", "O1>W1"), ("J", "O1>O1"), ("U", "O1>W1")],
)
def test_another_sender_is_a_warning_and_no_fault_even_in_strict_mode(kind: str, route: str):
    found = parse(f"M1|{route}|{kind}|T1|-|-|-|0|S1|-|x").strict()

    assert (found.valid, found.warnings) == (True, ["W_SENDER"])


@pytest.mark.req("PR-541", "PR-506")
def test_the_user_asks_an_orchestrator():
    assert parse("M1|User>O1|R|-|-|-|-|0|S1|-|What is new?").warnings == []
    assert parse("M1|User>O1|S|-|-|-|-|0|S1|-|x").warnings == ["W_SENDER"]


@pytest.mark.req("PR-541")
def test_an_orchestrator_cancels_by_an_update():
    assert parse("M9|O1>W2|U|T2|P1|X|-|0|S1|-|cancelled").warnings == []


@pytest.mark.req("PR-511", "PR-524")
def test_a_query_is_read_with_a_warning_and_refused_in_strict_mode():
    found = parse("M3|O1>O1|Q|T0|P1|-|-|0|S0|-|filter=W*;status=active")

    assert (found.valid, found.warnings) == (True, ["W_TYPE_Q"])
    assert [(one.code, one.segment) for one in found.strict().errors] == [("E14", 3)]


@pytest.mark.req("PR-529")
def test_an_unused_depth_is_0_with_a_warning():
    found = parse(changed("V5", 8, "-"))

    assert (found.fields["depth"], found.warnings) == (0, ["W_DEPTH_DASH"])


@pytest.mark.req("PR-628")
@pytest.mark.parametrize(
    ("depth", "data", "warnings", "strict"),
    [
        ("3", "x", [], []),
        ("4", "x", ["W_DEPTH_EXCEPTIONAL"], ["E16"]),
        ("5", "call=a;reason=specialized", ["W_DEPTH_EXCEPTIONAL"], []),
        ("5", "call=a;reason=", ["W_DEPTH_EXCEPTIONAL"], ["E16"]),
    ],
)
def test_a_depth_above_3_needs_a_reason(
    depth: str, data: str, warnings: list[str], strict: list[str]
):
    found = parse(f"M1|W1>W2|X|T1|-|-|-|{depth}|S1|-|{data}")

    assert found.warnings == warnings
    assert [one.code for one in found.strict().errors] == strict


@pytest.mark.req("PR-528", "PR-628")
@pytest.mark.parametrize(
    ("kind", "err", "warnings"),
    [
        ("E", "E33", []),
        ("E", "E01", ["W_UNKNOWN_ERR"]),
        ("E", "-", ["W_ERR_MISSING"]),
        ("S", "E00", []),
        ("S", "E31", ["W_ERR_ON_NON_ERROR"]),
    ],
)
def test_a_code_that_does_not_fit_is_a_warning(kind: str, err: str, warnings: list[str]):
    assert parse(f"M1|W1>O1|{kind}|T1|-|-|{err}|0|S1|-|x").warnings == warnings


@pytest.mark.req("PR-532", "PR-534")
@pytest.mark.parametrize(("chars", "warned"), [(200, False), (201, True)])
def test_data_is_cut_at_200_characters_not_bytes(chars: int, warned: bool):
    found = parse(changed("V5", 11, "é" * chars))

    assert found.fields["data"] == "é" * 200
    assert found.warnings == (["W_DATA_TRUNCATED"] if warned else [])


@pytest.mark.req("PR-535")
def test_forbidden_characters_are_searched_before_data_is_cut():
    found = parse(changed("V5", 11, "x" * 300 + ">"))

    assert [one.code for one in found.errors] == ["E12"]
    assert found.warnings == []


@pytest.mark.req("PR-533", "PR-003")
def test_all_faults_come_in_the_order_of_the_checklist():
    assert faults("X|bad|Z|TX|P9|Q|5|9|s1|5|") == [
        ("E10", "V5-2", 1),
        ("E13", "V5-3", 2),
        ("E14", "V5-4", 3),
        ("E10", "V5-5", 4),
        ("E11", "V5-6", 5),
        ("E15", "V5-7", 6),
        ("E10", "V5-8", 7),
        ("E16", "V5-9", 8),
        ("E10", "V5-10", 9),
        ("E10", "V5-11", 10),
        ("E10", "V5-14", 11),
    ]


@pytest.mark.req("PR-573")
def test_a_context_is_optional_for_a_reader():
    assert parse(changed("V5", 9, "-")).warnings == []


@pytest.mark.req("PR-544")
def test_bare_words_are_flags():
    fields = parse("M2|O1>W3|A|T0|-|-|-|0|S0|-|registered;id=W3").fields

    assert (fields["flags"], fields["pairs"]) == (["registered"], {"id": "W3"})


ODD = [
    *("M1", "M0", "M01", "M12345", "m1", "O1>W1", "W1>O1", "O1>*", "O1>User", "W*>O1", "G1>O1"),
    *("R", "U", "E", "Q", "Z", "T1", "T0", "T01", "TASK_1", "-", "", "P0", "P3", "N", "X", "E00"),
    *("E10", "E01", "E5", "0", "3", "4", "6", "S1", "S0", "S", "Sabcdefg1", "B5", "B05", "B"),
    *("x", "a>b", "k=v", "reason=y", "é" * 201, " M1", "M１"),
]


@given(st.lists(st.sampled_from(ODD), min_size=11, max_size=11))
def test_the_quick_way_says_what_the_checklist_says(segments: list[str]):
    text = "|".join(segments)

    assert v5.parse(text).to_record() == v5.inspect(text, segments).to_record()


@given(st.integers(0, 10), st.sampled_from(ODD))
def test_the_quick_way_and_the_checklist_agree_on_one_odd_segment(place: int, value: str):
    text = changed("V5", place + 1, value)

    assert v5.parse(text).to_record() == v5.inspect(text, text.split("|")).to_record()
