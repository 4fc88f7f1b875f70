"""Whether what a message names is known."""

from __future__ import annotations

import pytest

from council.wire.meaning import Known
from council.wire.messages import parse, validate

KNOWN = Known(
    agents={"W1", "W2"},
    tasks={"T1"},
    contexts={"S1"},
    messages={"M1"},
    fields={"T1:S"},
    keys={"style"},
    payloads={"a1b2"},
)


def codes(text: str, known: Known = KNOWN) -> list[str]:
    return [fault.code for fault in validate(text, context=known).errors]


@pytest.mark.req("PR-545")
@pytest.mark.parametrize(
    ("reference", "known"),
    [
        ("#REF:T1:S", True),
        ("#REF:T9:S", False),
        ("#REF:T1:code", False),
        ("#REF:a1b2", True),
        ("#REF:ffff", False),
        ("#CTX:style", True),
        ("#CTX:tone", False),
        ("#MSG:M1", True),
        ("#MSG:M77", False),
        ("#REF:", False),
    ],
)
def test_a_reference_to_nothing_is_e43(reference: str, known: bool):
    text = f"M2|O1>W1|R|T1|P1|N|-|0|S1|B500|src={reference};action=summarize"

    assert codes(text) == ([] if known else ["E43"])
    assert parse(text).valid


def test_each_unknown_reference_is_told():
    assert codes("M2|O1>W1|R|T1|-|N|-|0|S1|-|a=#CTX:x;b=#MSG:M9;c=#CTX:style") == ["E43", "E43"]


@pytest.mark.req("PR-313")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("MSG_01|O1>W7|R|TASK_01|P1|N|go", "E08"),
        ("M1|O1>W7|R|T1|P1|N|-|go", "E08"),
        ("M1|O1>W9|R|T1|P1|N|-|0|S1|B500|go", "E41"),
        ("M1|W9>O1|S|T1|P1|D|-|0|S1|B500|go", "E41"),
        ("MSG_01|W1>O1|U|TASK_09|P1|R|p", "E09"),
        ("M1|W1>O1|U|T9|P1|R|-|p", "E09"),
        ("M1|W1>O1|U|T9|P1|R|-|0|S1|B1|p", "E40"),
        ("M1|W1>O1|U|T1|P1|R|-|0|S9|B1|p", "E42"),
    ],
)
def test_what_nobody_knows_has_the_code_of_the_version(text: str, code: str):
    assert codes(text) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "M1|O1>W1|R|T9|P1|N|-|0|S1|B500|a new task",
        "M1|W9>O1|J|T0|P1|N|-|0|S0|-|caps=a",
        "M1|O1>W9|A|T0|P1|N|-|0|S0|-|registered",
        "M1|O1>*|B|-|P1|-|-|0|-|-|x",
        "M1|O1>W*|B|-|P1|-|-|0|-|-|x",
        "M1|O1>User|D|T9|P1|R|-|0|S1|-|question=q",
        "MSG_01|O|U|TASK_09|x",
        "[MSG_01]\nFROM: WORKER\nTO: ORCHESTRATOR\nTYPE: UPD\nTASK: TASK_09\nDATA: x",
    ],
)
def test_what_comes_into_being_or_names_nobody_is_no_fault(text: str):
    assert codes(text) == []


@pytest.mark.req("PR-643")
@pytest.mark.parametrize(
    "text",
    [
        "M1|W1>O1|U|T001|-|R|-|0|S1|-|prev=#MSG:M01;src=#REF:T01:S",
        "MSG_1|W01>O1|U|TASK_1|-|R|x",
    ],
)
def test_ids_compare_by_number(text: str):
    assert codes(text) == []


def test_nobody_looks_where_nothing_is_given():
    assert codes("M1|O1>W9|U|T9|P1|N|-|0|S9|B5|a=#REF:T9:x", Known()) == []


def test_a_reference_that_names_nothing_is_a_fault_whatever_is_known():
    assert codes("M1|O1>W9|U|T9|P1|N|-|0|S9|B5|a=#REF:", Known()) == ["E43"]


def test_the_form_comes_before_the_meaning():
    assert codes("M1|O1>W9|Z|T9|P1|N|-|0|S9|B5|x") == ["E14"]
