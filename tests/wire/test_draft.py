"""The draft of version 5: read, named, never written."""

from __future__ import annotations

import pytest

from council.core.errors import UsageError
from council.wire.building import build
from council.wire.conversion import convert
from council.wire.messages import parse
from tests.wire.readings import V5D, changed, faults


@pytest.mark.req("PR-451", "PR-452", "PR-453")
def test_the_draft_is_read_as_a_dialect_of_its_own():
    found = parse(V5D)

    assert (found.version, found.standing, found.valid) == ("V5D", "draft", True)
    assert found.fields["auth"] == {"sid": "S1", "nonce": "A3F2", "sig": "8B4C1D2E"}
    assert found.fields["trace"] == {"trace": "X1", "parent": None, "ts": "14523"}


@pytest.mark.req("PR-451")
def test_the_draft_is_refused_as_v5_and_never_written():
    assert faults(V5D, "V5") == [("E10", "V5-1", None)]
    with pytest.raises(UsageError):
        build({"msg": "M1"}, "V5D")
    with pytest.raises(UsageError):
        convert(V5D, "V5D")


@pytest.mark.req("PR-452")
@pytest.mark.parametrize(
    "auth",
    [
        "S0:A3F2:8B4C1D2E",
        "S1000:A3F2:8B4C1D2E",
        "X1:A3F2:8B4C1D2E",
        "S1:A3F:8B4C1D2E",
        "S1:A3F2",
        "S1:A3F2:8B4C1D2",
        "S1:A3F2:8B4C1D2G",
        "S1:A3F2:8B4C1D2E:1",
        "",
    ],
)
def test_a_signature_of_another_form_is_a_fault(auth: str):
    assert faults(changed("V5D", 8, auth)) == [("E05", "V5D-9", 8)]


@pytest.mark.req("PR-452")
@pytest.mark.parametrize(("flag", "valid"), [("0", True), ("1", True), ("2", False)])
def test_the_system_flag_is_0_or_1(flag: str, valid: bool):
    assert parse(changed("V5D", 10, f"SYS={flag};x")).valid is valid


@pytest.mark.req("PR-453")
@pytest.mark.parametrize(
    "trace",
    [
        "X0:-:14523",
        "X10000:-:14523",
        "T1:-:14523",
        "X1:W1:14523",
        "X1:-:1452",
        "X1:-:86400",
        "X1:-",
        "X1:-:14523:1",
        "X1:-:1452３",
    ],
)
def test_a_trace_of_another_form_is_a_fault(trace: str):
    assert faults(changed("V5D", 9, trace)) == [("E05", "V5D-10", 9)]


@pytest.mark.req("PR-453")
def test_a_trace_may_name_a_parent():
    trace = parse(changed("V5D", 9, "X9999:M1:00000")).fields["trace"]

    assert trace == {"trace": "X9999", "parent": "M1", "ts": "00000"}


@pytest.mark.req("PR-455")
@pytest.mark.parametrize(
    ("data", "mode"),
    [("$1 logs", "dict"), ("#CTX42", "ref"), ("~eJxz", "zip"), ("x $1", "text"), ("$x", "text")],
)
def test_the_reader_names_how_data_is_meant(data: str, mode: str):
    assert parse(changed("V5D", 10, data)).fields["data_mode"] == mode


@pytest.mark.req("PR-451")
def test_all_faults_of_a_draft_come_in_order():
    assert [rule for _, rule, _ in faults("X|@role>W1|Z|TX|P9|Q|5|a|b|")] == [
        *(f"V5D-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 9, 10, 13)),
    ]


def test_a_draft_becomes_v4_and_v5_with_its_losses():
    text = "M3|W1>O1|S|T1|P0|D|-|S1:A3F2:8B4C1D2E|X1:M1:14545|#CTX42"

    assert convert(text, "V5").to_record() == {
        "text": "M3|W1>O1|S|T1|P0|D|-|0|-|-|#CTX42",
        "losses": ["AUTH", "TRACE"],
    }
