"""Finding the version, reading, strict mode, streams; any bytes."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.errors import ConversionRefusedError, UsageError
from council.wire.building import RENDER
from council.wire.conversion import convert
from council.wire.economy import lint
from council.wire.explanation import explain
from council.wire.messages import VERSIONS, detect, parse, validate
from council.wire.replies import reply_to_fault
from tests.examples import examples
from tests.timing import assert_cheap
from tests.wire.readings import PLAIN, V2, V3, V4, V5, block, changed, faults


@pytest.mark.req("PR-001")
@pytest.mark.parametrize(
    ("version", "standing"),
    [
        ("V1", "legacy"),
        ("V2", "legacy"),
        ("V3", "deprecated"),
        ("V4", "stable"),
        ("V5", "recommended"),
        ("V5D", "draft"),
    ],
)
def test_a_reading_tells_how_the_version_stands(version: str, standing: str):
    record = parse(PLAIN[version]).to_record()

    assert (record["version"], record["standing"], record["valid"]) == (version, standing, True)


@pytest.mark.req("PR-002")
@pytest.mark.parametrize(
    ("text", "version"),
    [
        *((text, version) for version, text in PLAIN.items()),
        (block(DATA="a|b|c|d|e"), "V1"),
        ("MSG_01|O|R|TASK_01", "V2"),
        ("MSG_01|O|R|TASK_01|a|b", "V2"),
        ("MSG_01|O1>W1|R|TASK_01|P0|N", "V3"),
        ("MSG_01|" * 9, "V5D"),
        ("MSG_01|O1>W1|R|TASK_01|P0|N|a|b|c", "V3"),
        ("MSG_01\nFROM: ORCHESTRATOR", "V1"),
        ("M1|O1>W1|R", "V4"),
        ("M1|O1>W1|R|T1|P0|N|-|a|b", "V4"),
        (V5 + "|more", "V5"),
        ("hello", "V5"),
        ("", "V5"),
    ],
)
def test_the_version_is_found_in_the_text(text: str, version: str):
    assert detect(text) == version
    assert parse(text).version == version


@pytest.mark.req("PR-002", "PR-423", "PR-318")
@pytest.mark.parametrize(
    ("text", "version", "fault"),
    [
        (V3, "V4", ("E03", "V4-1", None)),
        (V2, "V3", ("E05", "V3-1", None)),
        (V4, "V5", ("E10", "V5-1", None)),
        (V5, "V4", ("E03", "V4-1", None)),
        (V5, "V2", ("E02", "V2-1", None)),
        (V5, "V1", ("E02", "V1-1", 1)),
    ],
)
def test_a_version_can_be_forced(text: str, version: str, fault: tuple[str, str, int | None]):
    assert faults(text, version)[0] == fault


def test_there_is_no_sixth_version():
    with pytest.raises(UsageError):
        parse(V5, "V6")


@pytest.mark.req("PR-003")
def test_a_refused_message_gives_its_faults_and_neither_fields_nor_warnings():
    record = parse("M01|O1>W1|R|T1|P9|N|-|6|S1|B500|x").to_record()

    assert record == {
        "version": "V5",
        "standing": "recommended",
        "valid": False,
        "fields": {},
        "errors": [
            {"code": "E11", "rule": "V5-6", "segment": 5},
            {"code": "E16", "rule": "V5-9", "segment": 8},
        ],
        "warnings": [],
    }


@pytest.mark.req("PR-004")
@pytest.mark.parametrize(
    ("version", "segment", "value"),
    [
        ("V2", 2, "o"),
        ("V3", 3, "r"),
        ("V3", 6, "n"),
        ("V4", 1, "m1"),
        ("V4", 3, "r"),
        ("V5", 2, "o1>w1"),
        ("V5", 6, "n"),
    ],
)
def test_letters_keep_their_case(version: str, segment: int, value: str):
    assert [place for _, _, place in faults(changed(version, segment, value))] == [segment]


STRICT = [
    (block(TYPE="ACK", DATA=""), "W_ACK_EMPTY", "E02"),
    ("MSG_01|W|E|TASK_01|E42:x", "W_UNKNOWN_ERR", "E02"),
    ("MSG_01|O1>W1|R|-|-|-|x", "W_TASK_MISSING", "E05"),
    ("MSG_01|W1>O1|E|TASK_01|-|-|E42:x", "W_UNKNOWN_ERR", "E05"),
    ("M1|W1>O1|E|T1|-|-|E42|x", "W_UNKNOWN_ERR", "E05"),
    ("M1|W1>O1|E|T1|-|-|-|x", "W_ERR_MISSING", "E05"),
    ("M1|W1>O1|S|T1|-|-|E01|x", "W_ERR_ON_NON_ERROR", "E05"),
    ("M01|O1>W1|R|T1|-|-|-|x", "W_NONCANONICAL", "E05"),
    (changed("V4", 8, "x" * 201), "W_DATA_TRUNCATED", "E02"),
    (changed("V5", 11, "x" * 201), "W_DATA_TRUNCATED", "E10"),
    ("M1|W1>O1|E|T1|-|-|E05|0|S1|-|x", "W_UNKNOWN_ERR", "E10"),
    ("M1|W1>O1|E|T1|-|-|-|0|S1|-|x", "W_ERR_MISSING", "E10"),
    ("M1|W1>O1|S|T1|-|-|E31|0|S1|-|x", "W_ERR_ON_NON_ERROR", "E10"),
    (changed("V5", 4, "T01"), "W_NONCANONICAL", "E10"),
    (changed("V5", 10, "B007"), "W_NONCANONICAL", "E10"),
    (changed("V5", 8, "-"), "W_DEPTH_DASH", "E16"),
    (changed("V5", 8, "4"), "W_DEPTH_EXCEPTIONAL", "E16"),
    (changed("V5", 3, "Q"), "W_TYPE_Q", "E14"),
]


@pytest.mark.req("PR-006", "PR-628")
@pytest.mark.parametrize(("text", "warning", "code"), STRICT)
def test_strict_mode_turns_a_warning_into_the_fault_named_for_it(
    text: str, warning: str, code: str
):
    lenient, strict = validate(text), validate(text, strict=True)

    assert (lenient.valid, lenient.warnings) == (True, [warning])
    assert [one.code for one in strict.errors] == [code]
    assert (strict.valid, strict.fields, strict.warnings) == (False, {}, [])


@pytest.mark.req("PR-006")
def test_strict_mode_tells_faults_and_warnings_in_one_order():
    found = validate("M01|O1>W1|Q|T1|P9|N|-|-|S1|B500|x", strict=True)

    assert [(one.rule, one.segment) for one in found.errors] == [
        ("W_NONCANONICAL", 1),
        ("W_TYPE_Q", 3),
        ("V5-6", 5),
        ("W_DEPTH_DASH", 8),
    ]


@pytest.mark.req("PR-006")
@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (
            "M012345|O1>W1|R|T1|P1|N|E5|0|S1|B012345|x",
            ["V5-2", "V5-8", "W_ERR_ON_NON_ERROR", "V5-11"],
        ),
        ("M00|W1>O1|E|T0012|P1|F|E00|x", ["V4-2r", "V4-5", "V4-8r"]),
        (f"M1|O1>W1|R|T1|P1|N|-|0|S1|B5|{'x' * 200}>", ["V5-13", "W_DATA_TRUNCATED"]),
        ("MSG_01|W1>O1|E|-|P1|F|E42:a>b", ["W_TASK_MISSING", "V3-9", "W_UNKNOWN_ERR"]),
    ],
)
def test_strict_mode_tells_no_fault_of_a_value_twice(text: str, rules: list[str]):
    assert [one.rule for one in validate(text, strict=True).errors] == rules


@pytest.mark.req("PR-006")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_message_without_warning_passes_the_strict_check(version: str):
    assert validate(PLAIN[version], strict=True).valid


@pytest.mark.req("PR-641")
@pytest.mark.parametrize(
    ("version", "segment", "value"),
    [
        *[("V2", 1, "MSG_١"), ("V3", 1, "MSG_١"), ("V3", 2, "O１>W1"), ("V3", 4, "TASK_²")],
        *[("V4", 1, "M１"), ("V4", 2, "O1>W１"), ("V4", 4, "T²"), ("V4", 7, "E0１")],
        *[("V5", 1, "M１"), ("V5", 4, "T１"), ("V5", 7, "E1１"), ("V5", 10, "B５")],
    ],
)
def test_digits_are_ascii_digits(version: str, segment: int, value: str):
    assert [place for _, _, place in faults(changed(version, segment, value))] == [segment]


@pytest.mark.req("PR-642")
@pytest.mark.parametrize("version", ["V2", "V3", "V4", "V5", "V5D"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_line_break_at_the_end_is_not_part_of_the_message(version: str, end: str):
    assert parse(PLAIN[version] + end).fields == parse(PLAIN[version]).fields


@pytest.mark.req("PR-642")
@pytest.mark.parametrize("version", ["V2", "V3", "V4", "V5", "V5D"])
@pytest.mark.parametrize("odd", ["\n", "\r", "\t", "\0", "\x7f", "\x85", "\u2028", "\x1b"])
def test_another_line_break_or_control_character_is_the_only_fault(version: str, odd: str):
    code = parse(PLAIN[version] + odd + "x", version).errors[0].code
    rule = "V2-7" if version == "V2" else f"{version}-0"

    assert faults(PLAIN[version].replace("|", odd + "|", 1), version) == [(code, rule, None)]
    assert faults(PLAIN[version] + "\n\n", version) == [(code, rule, None)]


@pytest.mark.req("PR-642")
@pytest.mark.parametrize("version", ["V2", "V3", "V4", "V5"])
def test_segments_are_not_trimmed(version: str):
    for segment in range(1, 5):
        value = PLAIN[version].split("|")[segment - 1]
        for padded in (f" {value}", f"{value} "):
            assert [n for _, _, n in faults(changed(version, segment, padded))] == [segment]
    assert parse(PLAIN[version] + " ").fields["data"] == "scan logs "


@pytest.mark.req("PR-643")
@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (changed("V4", 1, "M0001"), "msg", "M0001"),
        (changed("V4", 4, "T01"), "task", "T01"),
        (changed("V5", 1, "M01"), "msg", "M01"),
        (changed("V5", 4, "T001"), "tid", "T001"),
        ("M01|O1>W1|R|T01|P1|N|-|0|S1|B01|x", "tid", "T01"),
    ],
)
def test_leading_zeros_are_read_with_a_warning(text: str, name: str, value: str):
    found = parse(text)

    assert (found.fields[name], found.warnings) == (value, ["W_NONCANONICAL"])


def test_bytes_that_are_no_text_are_a_fault_of_the_version_they_look_like():
    assert faults(V5.encode() + b"\xff") == [("E10", "V5-0", None)]
    assert faults(V4.encode() + b"\xc3") == [("E05", "V4-0", None)]
    assert parse(changed("V5", 11, "é").encode()).fields["data"] == "é"


@given(st.one_of(st.text(), st.binary(), st.text(alphabet='|>-M1OWT"=;#:[]\n')))
def test_any_text_or_bytes_are_read_or_reported(text: str | bytes):
    for version in (None, *VERSIONS, "V5D"):
        found = parse(text, version)

        assert found.valid == (not found.errors)
        json.dumps(found.to_record())
        json.dumps(found.strict().to_record())
        json.dumps(explain(found))
        reply = reply_to_fault(found)
        assert (reply is None) == found.valid
        if reply is not None:
            assert parse(reply).valid, reply
    if isinstance(text, str):
        lint([text])


@given(
    st.lists(st.text(alphabet='M1OW>-RT0PNES"=;# é*User', max_size=6), min_size=4, max_size=11),
)
@settings(max_examples=examples(200))
def test_what_was_read_is_written_as_it_was(segments: list[str]):
    text = "|".join(segments)
    found = parse(text)

    if found.valid:
        assert RENDER[found.version](found.segments) == text
        assert convert(found, found.version).text == text


LONG = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        "|" * LONG,
        "x" * LONG,
        "M" + "1" * LONG,
        "MSG_" + "1" * LONG + "|O1>W1|R|TASK_" + "1" * LONG + "|-|-|x",
        "[MSG_01]\n" * (LONG // 9),
        "[MSG_01]\n" + "\n" * LONG,
        "MSG_01|W|E|TASK_01|E01:" + '"' * LONG,
        changed("V5", 11, '"a;' * (LONG // 3)),
        changed("V5", 8, "4") + ";=" * (LONG // 2),
        changed("V5", 11, "#REF:" * (LONG // 5)),
        changed("V5", 2, "O1>" * (LONG // 3)),
        changed("V5", 10, "B" + "9" * LONG),
        changed("V3", 2, "W" + "9" * LONG + ">O1"),
        V5 + "\n" * LONG,
        V5 + "\u00a0" * LONG,
    ],
    ids=lambda text: text[:12].encode("unicode_escape").decode(),
)
def test_a_megabyte_is_read_in_linear_time(text: str):
    def read() -> None:
        found = parse(text)
        found.strict().to_record()
        reply_to_fault(found)
        explain(found)
        if found.valid:
            for version in VERSIONS:
                with contextlib.suppress(ConversionRefusedError):
                    convert(found, version, lossy=True)

    # A quadratic reading would take hours.
    assert_cheap(read, within_s=3)
