"""Answers to a fault."""

from __future__ import annotations

import pytest

from council.core.errors import UsageError
from council.wire.meaning import Known
from council.wire.messages import VERSIONS, parse, validate
from council.wire.replies import reply_to_fault, written_out
from tests.wire.readings import PLAIN, V1, V5D, changed


def reply(text: str, version: str | None = None, **options: object) -> str | None:
    return reply_to_fault(validate(text, version=version), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_message_without_fault_needs_no_reply(version: str):
    assert reply(PLAIN[version]) is None


@pytest.mark.req("PR-317", "PR-316")
@pytest.mark.parametrize(
    ("segment", "value"), [(1, "MSG_X"), (2, "bad"), (3, "H"), (5, "P9"), (6, "Z"), (7, "")]
)
def test_a_fault_of_v3_is_answered_with_its_segment(segment: int, value: str):
    text = reply(changed("V3", segment, value))

    assert text is not None
    assert parse(text).fields["data"] == f"E05:parsing;seg={segment}"
    assert parse(text).strict().valid


@pytest.mark.req("PR-317")
def test_a_v3_message_of_another_length_is_answered_without_a_segment():
    assert reply("MSG_04|O1>W2|R", "V3") == "MSG_05|W2>O1|E|-|-|-|E05:parsing"
    assert reply("MSG_01|O1>W1|R|TASK_01|P0|N|a>b") == (
        "MSG_02|W1>O1|E|TASK_01|P0|-|E02:bad format;seg=7"
    )


@pytest.mark.req("PR-418")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("M4|O1>W1|R|X9|P0|N|-|x", "M5|W1>O1|E|-|P0|-|E05|seg=4;got=X9"),
        ("M4|O1>W1|X|T2|P0|N|-|x", "M5|W1>O1|E|T2|P0|-|E14|seg=3;got=X"),
        ("M4|O1>W1|R|T2|P7|N|-|x", "M5|W1>O1|E|T2|-|-|E10|seg=5;got=P7"),
        ("M4|O1>W1|R|T2|P0|N|-", "M5|W1>O1|E|T2|P0|-|E03|segments=7"),
        ("M4|bad|R|T2|P0|N|-|x", "M5|W1>O1|E|T2|P0|-|E13|seg=2;got=bad"),
        ("M4|W2>O1|E|T2|P0|F|E01|a>b", "M5|O1>W2|E|T2|P0|-|E02|seg=8"),
        ("M9999|O1>W1|R|T2|P0|Q|-|x", "M1|W1>O1|E|T2|P0|-|E15|seg=6;got=Q"),
    ],
)
def test_a_fault_of_v4_is_answered_by_a_full_message(text: str, expected: str):
    assert reply(text, "V4") == expected
    assert parse(expected).strict().valid


@pytest.mark.req("PR-418")
@pytest.mark.parametrize(
    ("note", "message"),
    [
        ("E|E05:seg=n", "M<n>|W1>O1|E|-|-|-|E05|seg=n"),
        ("E|E08:id=Wn", "M<n>|W1>O1|E|-|-|-|E08|id=Wn"),
        ("E|E12:v=3", "M<n>|W1>O1|E|-|-|-|E12|v=3"),
        ("E|E15:N>D", "M<n>|W1>O1|E|T<n>|-|-|E15|from=N;to=D"),
    ],
)
def test_the_short_notes_of_the_document_are_written_out(note: str, message: str):
    assert written_out(note) == message
    numbered = message.replace("<n>", "7")
    assert parse(numbered, "V4").strict().valid


@pytest.mark.parametrize("note", ["", "E", "E|", "S|E05:x", "E|X05:x", "E|E5:x"])
def test_anything_else_is_no_short_note(note: str):
    with pytest.raises(UsageError):
        written_out(note)


@pytest.mark.req("PR-418", "PR-537")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MSG_01|O1>W7|R|TASK_01|P1|N|go", "MSG_02|W7>O1|E|TASK_01|P1|-|E08:unknown agent;id=W7"),
        ("M1|O1>W7|R|T1|P1|N|-|go", "M2|W7>O1|E|T1|P1|-|E08|id=W7"),
        ("M1|W1>O1|U|T9|P1|R|-|p", "M2|O1>W1|E|T9|P1|-|E09|id=T9"),
        (
            "M1|O1>W7|R|T1|P1|N|-|0|S1|B5|go",
            "M2|W7>O1|E|T1|P1|F|E41|0|S1|B5|desc=unknown agent;details=W7",
        ),
        (
            "M1|O1>W1|R|T1|P1|N|-|0|S1|B5|a=#REF:T9:S",
            "M2|W1>O1|E|T1|P1|F|E43|0|S1|B5|desc=invalid reference;details=REF:T9:S",
        ),
    ],
)
def test_the_reply_says_what_does_not_exist(text: str, expected: str):
    known = Known(agents=["W1"], tasks=["T1"], fields=[])

    assert reply_to_fault(validate(text, context=known)) == expected
    assert parse(expected).strict().valid


@pytest.mark.req("PR-007")
def test_a_long_name_of_nothing_leaves_the_reply_its_room():
    text = f"M1|O1>W1|R|T1|P1|N|-|0|S1|B5|#CTX:{'k' * 190}"

    told = reply_to_fault(validate(text, context=Known(keys=[])))

    assert told is not None
    assert parse(told).strict().valid


@pytest.mark.req("PR-537")
@pytest.mark.parametrize(
    ("segment", "value", "code"),
    [
        (1, "X", "E10"),
        (2, "bad", "E13"),
        (3, "Z", "E14"),
        (4, "X", "E10"),
        (5, "P9", "E11"),
        (6, "Q", "E15"),
        (8, "6", "E16"),
        (9, "SABC", "E10"),
        (11, "a>b", "E12"),
    ],
)
def test_a_fault_of_v5_is_answered_with_its_own_code(segment: int, value: str, code: str):
    text = reply(changed("V5", segment, value))

    assert text is not None
    found = parse(text).strict()
    assert found.valid
    assert (found.fields["type"], found.fields["state"], found.fields["err"]) == ("E", "F", code)
    assert (found.fields["from"], found.fields["to"]) == ("W1", "O1")
    assert list(found.fields["pairs"])[:2] == ["desc", "details"]
    assert str(segment) in found.fields["pairs"]["details"]


@pytest.mark.req("PR-546", "PR-537")
def test_the_reply_to_a_fault_keeps_what_could_be_read():
    assert reply("M8|O1>W4|Z|T7|P0|N|-|2|Sabc|B30|x", number=20) == (
        "M20|W4>O1|E|T7|P0|F|E14|2|Sabc|B30|desc=unknown message type;details=seg 3;got=Z"
    )
    assert reply("M8|O1>W4|Z|X|P9|N|-|9|bad|x|x") == (
        "M9|W4>O1|E|-|-|F|E14|0|-|-|desc=unknown message type;details=seg 3;got=Z"
    )


@pytest.mark.parametrize("target", ["*", "W*", "G1"])
def test_the_reply_to_a_broadcast_comes_from_one_agent(target: str):
    faulty = changed("V5", 2, f"O1>{target}").replace("|R|", "|Z|")

    assert str(reply(faulty, sender="W7")).split("|")[1] == "W7>O1"
    assert str(reply(faulty)).split("|")[1] == "W1>O1"


def test_a_strict_fault_is_answered_too():
    text = reply_to_fault(validate(changed("V5", 8, "-"), strict=True))

    assert text is not None
    assert parse(text).fields["err"] == "E16"


def test_faults_of_the_oldest_versions_are_answered_in_their_form():
    assert reply(V1.replace("REQ", "R")) == (
        "[MSG_02]\nFROM: WORKER\nTO: ORCHESTRATOR\nTYPE: ERR\nTASK: TASK_01\nDATA: E02:bad format"
    )
    assert str(reply(V1.replace("[MSG_01]", "MSG_09"), "V1")).startswith("[MSG_10]\n")
    assert reply("MSG_01|W|R|TASK_01|scan") == "MSG_02|O|E|TASK_01|E99:other error;seg=2"
    assert reply(V5D.replace("X1:-", "X0:-")) == (
        "M2|W1>O1|E|T1|P0|F|E10|0|-|-|desc=bad message format;details=seg 9;got=X0:-:14523"
    )
