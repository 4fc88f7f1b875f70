"""Version 1: what a block must be."""

from __future__ import annotations

import pytest

from council.wire.messages import parse
from tests.wire.readings import V1, block, faults

# The flows that document 002 shows: request and result, clarification, error, acknowledgement.
FLOW = [
    ("ORCHESTRATOR", "REQ", "analyser fichier config.json"),
    ("WORKER", "RES", "3 clés trouvées: host, port, debug"),
    ("WORKER", "CLR", "format sortie attendu?"),
    ("ORCHESTRATOR", "RES", "liste simple"),
    ("WORKER", "ERR", "E01:fichier introuvable"),
    ("ORCHESTRATOR", "ACK", "recu"),
]


@pytest.mark.req("PR-103", "PR-106", "PR-110")
def test_every_flow_of_the_document_reads_in_order():
    for number, (sender, kind, data) in enumerate(FLOW, start=1):
        target = "WORKER" if sender == "ORCHESTRATOR" else "ORCHESTRATOR"
        text = block(header=f"[MSG_{number:02}]", FROM=sender, TO=target, TYPE=kind, DATA=data)

        found = parse(text)

        assert (found.version, found.valid, found.warnings) == ("V1", True, [])
        assert found.fields["msg"] == f"MSG_{number:02}"
        assert (found.fields["from"], found.fields["to"]) == (sender, target)
        assert (found.fields["type"], found.fields["data"]) == (kind, data)


@pytest.mark.req("PR-107")
def test_an_error_gives_its_code_and_its_description():
    fields = parse(block(TYPE="ERR", DATA="E01:config.json")).fields

    assert (fields["err"], fields["desc"]) == ("E01", "config.json")


@pytest.mark.req("PR-103", "PR-111")
@pytest.mark.parametrize("header", ["MSG_01", "[MSG_]", "[MSG_X]", "[M1]", "[MSG_01", "[MSG_01] "])
def test_a_header_of_another_form_is_a_fault_of_segment_1(header: str):
    assert faults(block(header=header), "V1") == [("E02", "V1-1", 1)]
    assert parse(block(header=header), "V1").segments[0] == (
        header[1:-1] if header.endswith("]") and header.startswith("[") else header
    )


@pytest.mark.req("PR-104")
@pytest.mark.parametrize(
    "text",
    [
        "[MSG_01]\nTO: WORKER\nFROM: ORCHESTRATOR\nTYPE: REQ\nDATA: x",
        "[MSG_01]\nFROM: ORCHESTRATOR\nTO: WORKER\nTASK: TASK_01\nTYPE: REQ\nDATA: x",
        block(DATA=None),
        block(FROM=None),
        block(PRI="P0"),
        V1 + "\nDATA: again",
        V1 + "\nand more",
    ],
    ids=["swapped", "task first", "no data", "no sender", "unknown", "twice", "no name"],
)
def test_fields_out_of_order_are_one_fault(text: str):
    assert faults(text) == [("E02", "V1-2", None)]


@pytest.mark.req("PR-105")
@pytest.mark.parametrize("name", ["FROM", "TO", "TYPE", "TASK", "DATA"])
def test_no_field_may_be_empty(name: str):
    assert faults(block(**{name: ""})) == [("E02", "V1-3", None)]


@pytest.mark.req("PR-105")
@pytest.mark.parametrize("data", [None, ""])
def test_an_acknowledgement_may_say_nothing_with_a_warning(data: str | None):
    found = parse(block(TYPE="ACK", DATA=data))

    assert (found.valid, found.fields["data"], found.warnings) == (True, "", ["W_ACK_EMPTY"])


@pytest.mark.req("PR-102")
@pytest.mark.parametrize(
    ("sender", "target"),
    [("ROUTER", "WORKER"), ("ORCHESTRATOR", "O"), ("WORKER", "WORKER"), ("orchestrator", "WORKER")],
)
def test_the_two_ends_are_the_orchestrator_and_the_worker(sender: str, target: str):
    assert faults(block(FROM=sender, TO=target, TYPE="RES")) == [("E02", "V1-4", None)]


@pytest.mark.req("PR-107")
@pytest.mark.parametrize("kind", ["R", "req", "BRD", "REQUEST"])
def test_a_type_is_one_of_six_words(kind: str):
    assert faults(block(TYPE=kind)) == [("E02", "V1-5", None)]


@pytest.mark.req("PR-108")
@pytest.mark.parametrize("task", ["T1", "TASK_", "TASK_x", "task_01", "TASK_٣", "-"])
def test_a_task_is_its_word_and_digits(task: str):
    assert faults(block(TASK=task)) == [("E02", "V1-6", None)]


@pytest.mark.req("PR-108")
def test_a_task_may_be_left_out():
    assert parse(block(TASK=None)).fields["task"] is None


@pytest.mark.req("PR-107")
@pytest.mark.parametrize("data", ["fichier introuvable", "E1:x", "E01x", "E٠١:x"])
def test_an_error_without_a_code_is_a_fault(data: str):
    assert faults(block(TYPE="ERR", DATA=data)) == [("E02", "V1-7", None)]


@pytest.mark.req("PR-102", "PR-111")
def test_a_worker_that_requests_breaks_the_initiative():
    assert faults(block(FROM="WORKER", TO="ORCHESTRATOR")) == [("E99", "V1-8", None)]


@pytest.mark.req("PR-003", "PR-111")
def test_all_faults_of_a_block_come_in_the_order_of_the_checklist():
    text = "[X]\nTO: WORKER\nFROM: WORKER\nTYPE: Z\nTASK: T1\nDATA: "

    assert [rule for _, rule, _ in faults(text)] == [f"V1-{n}" for n in range(1, 7)]


@pytest.mark.req("PR-642")
@pytest.mark.parametrize("text", [block(DATA="a\tb"), block(DATA="a\u2028b"), block(DATA="a\rb")])
def test_a_block_holds_no_control_characters(text: str):
    assert faults(text) == [("E02", "V1-0", None)]


def test_lines_may_end_as_windows_ends_them():
    assert parse(V1.replace("\n", "\r\n") + "\r\n").fields == parse(V1).fields
