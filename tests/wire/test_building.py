"""Writing messages: they pass the strict check, and read back as they were meant."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.core.errors import InvalidInputError, InvalidMessageError, UsageError
from council.wire.building import build, build_parts
from council.wire.messages import VERSIONS, parse, validate
from tests.examples import examples
from tests.wire.readings import DATA, FIELDS, PLAIN


@pytest.mark.req("PR-007")
@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
@settings(max_examples=examples(150))
def test_what_is_built_is_strict_and_builds_itself_again(version: str, data: st.DataObject):
    fields = data.draw(FIELDS[version])
    if len(str(fields["data"])) > 200 and version in ("V4", "V5"):
        fields["data"] = str(fields["data"])[:200]

    text = build(fields, version)
    found = validate(text, strict=True)

    assert found.version == version
    assert found.valid
    assert {name: found.fields[name] for name in fields} == fields
    assert build(found.fields, version) == text
    assert "" not in text.split("|")
    if version in ("V4", "V5"):
        assert len(found.fields["data"]) <= 200


@pytest.mark.req("PR-007")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_reading_is_built_into_the_same_text(version: str):
    assert build(parse(PLAIN[version]).fields, version) == PLAIN[version]


@pytest.mark.req("PR-007")
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"data": "x" * 201}, "W_DATA_TRUNCATED"),
        ({"data": ""}, "V5-14"),
        ({"data": "a|b"}, "V5-13"),
        ({"data": "a>b"}, "V5-13"),
        ({"data": "a\nb"}, "V5-0"),
        ({"data": "a\n"}, "V5-0"),
        ({"type": "Q"}, "W_TYPE_Q"),
        ({"type": "E"}, "W_ERR_MISSING"),
        ({"err": "E33"}, "W_ERR_ON_NON_ERROR"),
        ({"depth": 4}, "W_DEPTH_EXCEPTIONAL"),
        ({"msg": "M01"}, "W_NONCANONICAL"),
        ({"msg": "M1|x"}, "V5-1"),
        ({"to": ""}, "V5-3"),
        ({"ctx": "SABC"}, "V5-10"),
    ],
)
def test_nothing_is_written_that_the_strict_check_refuses(change: dict[str, object], rule: str):
    with pytest.raises(InvalidMessageError) as refused:
        build({**parse(PLAIN["V5"]).fields, **change}, "V5")

    assert [fault["rule"] for fault in refused.value.faults] == [rule]
    assert refused.value.exit_code == 3


@pytest.mark.req("PR-303")
@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("V1", "[MSG_07]\nFROM: ORCHESTRATOR\nTO: WORKER\nTYPE: RES\nTASK: TASK_03\nDATA: go"),
        ("V2", "MSG_07|O|S|TASK_03|go"),
        ("V3", "MSG_07|O1>W1|S|TASK_03|P1|-|go"),
        ("V4", "M7|O1>W1|S|T3|-|-|-|go"),
        ("V5", "M7|O1>W1|S|T3|P1|-|-|0|S0|-|go"),
    ],
)
def test_the_sender_left_out_is_the_main_orchestrator(version: str, text: str):
    kind = "RES" if version == "V1" else "S"

    fields = {"msg": 7, "to": "W1", "type": kind, "task": 3, "data": "go"}

    assert build(fields, version) == text


@pytest.mark.req("PR-315")
def test_the_minimal_form_of_v3_leaves_priority_and_state_unused():
    fields = {"msg": 1, "to": "W1", "type": "R", "task": 1, "pri": "P0", "state": "N", "data": "x"}

    assert build(fields, "V3", minimal=True) == "MSG_01|O1>W1|R|TASK_01|-|-|x"


@pytest.mark.req("PR-415")
def test_the_minimal_form_of_v4_is_the_ultra_compact_one():
    text = build(
        {"msg": 1, "to": "W1", "type": "R", "task": 1, "data": "action"}, "V4", minimal=True
    )

    assert text == "M1|O1>W1|R|T1|-|-|-|action"
    assert len(text) == 26


@pytest.mark.req("PR-547")
def test_a_parent_is_a_pair_at_the_start_of_data():
    fields = {**parse("M12|W1>O1|S|T1|P1|D|-|1|S1|B100|result=...").fields, "pairs": {}}

    assert build(fields, "V5", pid="M5") == "M12|W1>O1|S|T1|P1|D|-|1|S1|B100|pid=M5;result=..."
    with pytest.raises(UsageError):
        build({"msg": 1, "type": "S", "task": 1, "data": "x"}, "V2", pid="M5")


@pytest.mark.req("PR-547")
@pytest.mark.parametrize(
    ("pid", "data", "written"),
    [
        ("5", "result=1", "pid=M5;result=1"),
        ("M05", "result=1", "pid=M5;result=1"),
        ("M0", "go", "pid=M0;go"),
        ("M5", "pid=M3;result=1", "pid=M5;result=1"),
    ],
)
def test_a_parent_is_one_id_as_a_writer_writes_it(pid: str, data: str, written: str):
    fields = {"msg": 9, "to": "W1", "type": "R", "tid": 1, "data": data}

    assert parse(build(fields, "V5", pid=pid)).fields["data"] == written


@pytest.mark.parametrize("pid", ["M", "MSG_05", "x", "M12345", "M5;a=b", "-"])
def test_what_is_no_id_of_a_message_is_no_parent(pid: str):
    with pytest.raises(UsageError, match="no id of a message"):
        build({"msg": 9, "to": "W1", "type": "R", "tid": 1, "data": "x"}, "V5", pid=pid)


@pytest.mark.req("PR-548")
@pytest.mark.parametrize("version", ["V4", "V5"])
def test_what_data_has_no_room_for_is_built_in_parts_with_following_numbers(version: str):
    fields = {"msg": 7, "from": "W1", "to": "O1", "type": "S", "task": 3, "state": "D"}
    text = "a=1;" * 140

    lines = build_parts({**fields, "data": text}, version)

    told = [parse(line).strict() for line in lines]
    assert [one.fields["msg"] for one in told] == ["M7", "M8", "M9"]
    assert [one.fields["pairs"]["part"] for one in told] == ["1/3", "2/3", "3/3"]
    assert "".join(one.fields["data"].partition(";")[2] for one in told) == text
    assert {(one.fields["state"], one.fields["to"]) for one in told} == {("D", "O1")}
    assert build_parts({**fields, "pairs": {"result": "x" * 300}}, version)[1].endswith("x" * 100)


@pytest.mark.req("PR-548")
def test_what_fits_is_built_whole_and_what_cannot_be_cut_is_refused():
    fields = {"msg": 9_998, "to": "W1", "type": "R", "tid": 1}

    assert build_parts({**fields, "data": "go"}) == [build({**fields, "data": "go"})]
    with pytest.raises(InvalidInputError, match="cannot be cut"):
        build_parts({**fields, "data": "a>b" * 100})
    with pytest.raises(InvalidMessageError):
        build_parts({**fields, "data": "x" * 500})  # there is no M10000
    for number in ({}, {"msg": "X7"}):
        with pytest.raises(InvalidMessageError):
            build_parts({"to": "W1", "type": "R", "tid": 1, "data": "x" * 500, **number})
    with pytest.raises(UsageError, match="colour"):
        build_parts({**fields, "colour": "red", "data": "a|b" * 500})
    with pytest.raises(UsageError, match="V3 has no parts"):
        build_parts({**fields, "data": "x" * 500}, "V3")


@pytest.mark.req("PR-206", "PR-308")
@pytest.mark.parametrize(
    ("version", "given", "data"),
    [
        ("V3", {"err": "E06", "data": "BUSY;queue=3"}, "E06:BUSY;queue=3"),
        ("V3", {"err": "E06", "data": "E06:BUSY"}, "E06:BUSY"),
        ("V2", {"err": "E01", "data": "E01"}, "E01"),
        ("V2", {"err": "E01", "data": "E012"}, "E01:E012"),
        ("V1", {"err": "E01", "desc": "config.json"}, "E01:config.json"),
        ("V2", {"err": "E03"}, "E03"),
    ],
)
def test_where_data_carries_the_code_it_is_put_there(
    version: str, given: dict[str, object], data: str
):
    kind = "ERR" if version == "V1" else "E"
    fields = {"msg": 5, "from": "W1", "to": "O1", "type": kind, "task": 1, **given}

    assert parse(build(fields, version)).fields["data"] == data


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("V1", "msg, from, to, type, task, err, data"),
        ("V2", "msg, role, type, task, err, data"),
        ("V3", "msg, from, to, type, task, pri, state, err, data"),
        ("V5", "msg, from, to, type, tid, pri, state, err, depth, ctx, budget, data"),
    ],
)
def test_a_field_that_a_version_lacks_is_answered_with_those_it_has(version: str, names: str):
    with pytest.raises(UsageError) as refused:
        build({"msg": 1, "colour": "red"}, version)

    assert refused.value.hint == f"its fields are: {names}"


def test_a_role_is_not_taken_for_a_sender():
    with pytest.raises(UsageError, match="V5 has no field role"):
        build({"msg": 1, "role": "W", "to": "O1", "type": "S", "tid": 1, "data": "x"})


@pytest.mark.req("PR-573")
@pytest.mark.parametrize("ctx", [{}, {"ctx": None}, {"ctx": "-"}, {"ctx": "S7"}])
def test_no_line_of_v5_is_built_without_a_context(ctx: dict[str, object]):
    text = build({"msg": 1, "to": "W1", "type": "R", "tid": 1, "data": "x", **ctx}, "V5")

    assert parse(text).fields["ctx"] == (ctx.get("ctx") if ctx.get("ctx") == "S7" else "S0")


@pytest.mark.parametrize(
    ("options", "written"),
    [
        (["yes", "no"], True),
        (["a", "b", "c", "three short words"], True),
        (["a", "b", "c", "d", "e"], False),
        (["only"], False),
        (["a", "four words are many"], False),
        (["a", ""], False),
    ],
)
def test_a_choice_has_two_to_four_short_options(options: list[str], written: bool):
    pairs = {"question": "Which?"}
    pairs.update({f"opt{number}": option for number, option in enumerate(options, start=1)})
    fields = {"msg": 1, "to": "User", "type": "D", "tid": 1, "state": "R", "pairs": pairs}

    if written:
        assert parse(build(fields, "V5")).fields["pairs"] == pairs
    else:
        with pytest.raises(InvalidMessageError):
            build(fields, "V5")


@pytest.mark.req("PR-578")
def test_an_error_carries_its_code_beside_its_description():
    fields = {
        **{"msg": 10, "from": "W1", "to": "O1", "type": "E", "tid": "T1", "pri": "P1"},
        **{"state": "F", "err": "E33", "depth": 1, "ctx": "S1", "budget": 50},
        "pairs": {"desc": "file not found", "details": "/data/input.json"},
    }

    assert build(fields, "V5") == (
        "M10|W1>O1|E|T1|P1|F|E33|1|S1|B50|desc=file not found;details=/data/input.json"
    )
    busy = {**fields, "state": None, "err": "E31", "flags": ["BUSY"], "pairs": {"queue": "5"}}
    assert build(busy, "V5") == "M10|W1>O1|E|T1|P1|-|E31|1|S1|B50|BUSY;queue=5"


@pytest.mark.req("PR-308", "PR-206")
@pytest.mark.parametrize(("version", "kind"), [("V1", "ERR"), ("V2", "E"), ("V3", "E")])
@pytest.mark.parametrize(("desc", "data"), [("disk full", "E04:disk full"), ("", "E04")])
def test_older_versions_carry_the_code_inside_data(version: str, kind: str, desc: str, data: str):
    fields = {"msg": 1, "from": "O", "type": kind, "task": 1, "err": "E04", "desc": desc}
    if version == "V3":
        fields.update({"from": "O1", "to": "W1"})

    assert parse(build(fields, version)).fields["data"] == data


def test_an_acknowledgement_says_ok_unless_told_otherwise():
    assert build({"msg": 1, "to": "W1", "type": "A", "tid": 1}).endswith("|ok")
    assert build({"msg": 1, "to": "W1", "type": "A", "tid": 1, "data": "-"}).endswith("|-")


def test_unknown_fields_and_versions_are_wrong_usage():
    with pytest.raises(UsageError, match="no field colour"):
        build({"colour": "red"}, "V5")
    with pytest.raises(UsageError, match="no field depth"):
        build({"depth": 1}, "V4")
    with pytest.raises(UsageError):
        build({}, "V6")


@given(DATA)
def test_any_data_of_200_characters_survives(data: str):
    text = build({"msg": 1, "to": "W1", "type": "R", "tid": 1, "data": data})

    assert parse(text).fields["data"] == data
