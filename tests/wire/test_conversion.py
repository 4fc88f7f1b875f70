"""Conversion: the rules of every step, losses, refusals, the side-car."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.errors import ConversionRefusedError, InvalidMessageError, UsageError
from council.wire.codes import CODES, MAPPING
from council.wire.conversion import convert
from council.wire.messages import VERSIONS, parse
from tests.wire.readings import FIELDS, PLAIN, V1, V5, block
from tests.wire.test_v1 import FLOW as V1_FLOW
from tests.wire.test_v3 import FLOW as V3_FLOW
from tests.wire.test_v4 import FLOW as V4_FLOW

V2_FLOW = """\
MSG_01|O|R|TASK_01|analyser config.json
MSG_02|W|S|TASK_01|3 clés:host,port,debug
MSG_03|W|C|TASK_01|format sortie?
MSG_04|O|S|TASK_01|liste
MSG_05|W|E|TASK_01|E01:config.json
MSG_06|O|A|TASK_01|ok
"""
V1_BLOCKS = [
    block(
        header=f"[MSG_{number:02}]",
        FROM=sender,
        TO="WORKER" if sender == "ORCHESTRATOR" else "ORCHESTRATOR",
        TYPE=kind,
        DATA=data,
    )
    for number, (sender, kind, data) in enumerate(V1_FLOW, start=1)
]
EXAMPLES = [*V1_BLOCKS, *V2_FLOW.splitlines(), *V3_FLOW.splitlines(), *V4_FLOW.splitlines()]


def refusal(text: str, to: str, **options: bool) -> str:
    with pytest.raises(ConversionRefusedError) as refused:
        convert(text, to, **options)
    return refused.value.reason


def result(text: str, to: str, **options: bool) -> tuple[str, list[str]]:
    found = convert(text, to, **options)
    return found.text, found.losses


@pytest.mark.req("PR-601", "PR-602", "PR-604", "PR-606", "PR-610", "PR-419")
@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.replace("\n", " ")[:40])
def test_up_then_down_is_the_identity_for_every_example(text: str):
    version = parse(text).version
    for higher in VERSIONS[VERSIONS.index(version) :]:
        up = convert(text, higher)

        assert parse(up.text).version == higher
        assert up.losses == []
        assert convert(up.text, version).to_record() == {"text": text, "losses": []}


@pytest.mark.req("PR-601", "PR-209")
def test_v1_and_v2_say_the_same():
    assert result(V1, "V2") == ("MSG_01|O|R|TASK_01|scan logs", [])
    assert result("MSG_02|W|C|TASK_01|format?", "V1")[0] == (
        "[MSG_02]\nFROM: WORKER\nTO: ORCHESTRATOR\nTYPE: CLR\nTASK: TASK_01\nDATA: format?"
    )


@pytest.mark.req("PR-209")
def test_v2_saves_at_least_two_fifths_of_the_characters_of_v1():
    before = sum(map(len, V1_BLOCKS))
    after = sum(len(convert(text, "V2").text) for text in V1_BLOCKS)

    assert after <= before * 0.6


@pytest.mark.req("PR-601")
def test_v2_has_no_place_for_a_bar_or_a_missing_task():
    assert refusal(block(DATA="a|b"), "V2") == "| in V1 data"
    assert refusal(block(TASK=None), "V2") == "no TASK"
    ack = block(TYPE="ACK", TASK=None, DATA=None)
    assert result(ack, "V2") == ("MSG_01|O|A|-|-", [])


@pytest.mark.req("PR-602")
def test_v2_becomes_v3_between_o1_and_w1():
    assert result("MSG_02|W|S|TASK_01|x", "V3") == ("MSG_02|W1>O1|S|TASK_01|-|-|x", [])
    assert result("MSG_02|O|A||x", "V3") == ("MSG_02|O1>W1|A|-|-|-|x", [])
    assert refusal("MSG_01|O|R|TASK_01|a>b", "V3") == "> in V2 data"


@pytest.mark.req("PR-603")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("MSG_08|O1>*|B|-|P1|-|x", "broadcast"),
        ("MSG_08|O1>*|R|TASK_01|P1|-|x", "broadcast"),
        ("MSG_08|O1>W1|B|-|P1|-|x", "broadcast"),
        ("MSG_03|O1>W2|R|TASK_02|P1|N|x", "third agent"),
        ("MSG_03|O2>W1|R|TASK_02|P1|N|x", "third agent"),
        ("MSG_03|W1>W1|S|TASK_02|P1|N|x", "third agent"),
        ("MSG_03|W1>O1|R|TASK_02|P1|N|x", "request of a worker"),
        ("MSG_03|W1>O1|U|-|P1|N|x", "no TASK"),
    ],
)
def test_v2_has_no_place_for_more_than_two_agents(text: str, reason: str):
    assert refusal(text, "V2") == refusal(text, "V2", lossy=True) == reason


@pytest.mark.req("PR-603", "PR-609")
@pytest.mark.parametrize(
    ("pri", "state", "losses"),
    [("P0", "N", ["PRI", "STATE"]), ("P1", "-", []), ("-", "D", ["STATE"]), ("P2", "-", ["PRI"])],
)
def test_priority_and_state_get_lost_on_the_way_to_v2(pri: str, state: str, losses: list[str]):
    text = f"MSG_01|O1>W1|R|TASK_01|{pri}|{state}|go"

    assert result(text, "V2") == ("MSG_01|O|R|TASK_01|go", losses)


@pytest.mark.req("PR-604")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("MSG_10000|O1>W1|R|TASK_01|P1|N|x", "MSG above 9999"),
        ("MSG_00|O1>W1|R|TASK_01|P1|N|x", "MSG 0"),
        (f"MSG_{'9' * 50}|O1>W1|R|TASK_01|P1|N|x", "MSG above 9999"),
        ("MSG_01|O1>W1|R|TASK_1000|P1|N|x", "TASK above 999"),
        ("MSG_01|O1>W1|R|TASK_00|P1|N|x", "TASK 0"),
        ("MSG_01|O1>W100|R|TASK_01|P1|N|x", "worker above 99"),
        ("MSG_01|O10>W1|R|TASK_01|P1|N|x", "orchestrator above 9"),
        (f"MSG_01|O1>W1|R|TASK_01|P1|N|{'x' * 201}", "DATA above 200"),
    ],
)
def test_v4_has_no_place_for_what_is_out_of_range(text: str, reason: str):
    assert refusal(text, "V4") == reason


@pytest.mark.req("PR-604", "PR-610")
@pytest.mark.parametrize(
    ("data", "err", "rest"),
    [
        ("E04:disk full", "E07", "disk full"),
        ("E06:BUSY;queue=3", "E06", "BUSY;queue=3"),
        ("E03", "E20", "-"),
        ("E01:a:b", "E01", "a:b"),
    ],
)
def test_an_inline_error_is_split_and_joined_again(data: str, err: str, rest: str):
    text = f"MSG_04|W2>O1|E|TASK_02|P1|F|{data}"

    up = convert(text, "V4")

    assert up.text == f"M4|W2>O1|E|T2|P1|F|{err}|{rest}"
    assert result(up.text, "V3") == (text, [])


@pytest.mark.req("PR-604")
def test_what_only_looks_like_a_code_stays_data():
    text = "MSG_04|W2>O1|S|TASK_02|P1|D|E04:fine"

    assert result(text, "V4") == ("M4|W2>O1|S|T2|P1|D|-|E04:fine", [])


@pytest.mark.req("PR-604", "PR-609")
def test_long_data_is_cut_only_where_loss_is_allowed():
    found = convert(f"MSG_01|O1>W1|R|TASK_01|P1|N|{'x' * 300}", "V5", lossy=True)

    assert parse(found.text).fields["data"] == "x" * 200
    assert found.losses == ["DATA"]


@pytest.mark.req("PR-605")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("M8|W1>O1|H|-|-|R|-|load=45%", "type H"),
        ("M6|R1>O1|E|T4|-|-|E08|id=W3", "role R"),
        ("M6|O1>R1|R|T4|-|-|-|x", "role R"),
        ("M2|O1>G1|B|-|P1|-|-|x", "role G"),
        ("M2|O1>O1.W1|R|T1|P1|-|-|x", "sub-agent"),
        ("M2|O1>W*|B|-|P1|-|-|x", "W*"),
    ],
)
def test_v3_has_no_place_for_what_v4_added(text: str, reason: str):
    assert refusal(text, "V3") == reason


@pytest.mark.req("PR-605", "PR-609")
@pytest.mark.parametrize(
    ("text", "converted", "losses"),
    [
        ("M8|W1>O1|H|-|-|R|-|load=45%", "MSG_08|W1>O1|U|-|-|R|heartbeat;load=45%", ["TYPE"]),
        ("M7|O1>W*|B|-|P1|-|-|restart", "MSG_07|O1>*|B|-|P1|-|restart", ["ROUTE"]),
    ],
)
def test_v3_stands_in_for_some_of_it_where_loss_is_allowed(
    text: str, converted: str, losses: list[str]
):
    assert result(text, "V3", lossy=True) == (converted, losses)


@pytest.mark.req("PR-605")
@pytest.mark.parametrize("text", ["M6|R1>O1|E|T4|-|-|E08|x", "M2|O1>G1|B|-|P1|-|-|x"])
def test_routers_and_groups_never_go_down_to_v3(text: str):
    assert refusal(text, "V3", lossy=True)


@pytest.mark.req("PR-605")
def test_ids_are_padded_to_two_digits_in_v3():
    assert result("M7|O1>W12|R|T3|-|-|-|x", "V3")[0] == "MSG_07|O1>W12|R|TASK_03|-|-|x"
    assert result("M700|O1>W1|R|T300|-|-|-|x", "V3")[0] == "MSG_700|O1>W1|R|TASK_300|-|-|x"


@pytest.mark.req("PR-609")
@pytest.mark.parametrize(
    ("text", "converted", "losses"),
    [
        ("M1|W1>O1|E|T1|-|F|-|no code", "MSG_01|W1>O1|E|TASK_01|-|F|E99:no code", ["ERR"]),
        ("M1|W1>O1|S|T1|-|D|E06|x", "MSG_01|W1>O1|S|TASK_01|-|D|x", ["ERR"]),
    ],
)
def test_a_code_that_v3_cannot_show_is_a_loss(text: str, converted: str, losses: list[str]):
    assert result(text, "V3") == (converted, losses)


@pytest.mark.req("PR-502", "PR-606", "PR-607")
def test_the_two_pairs_of_the_document_convert_into_each_other():
    assert result("M1|O1>W1|R|T1|P1|N|-|0|S1|B500|data", "V4") == (
        "M1|O1>W1|R|T1|P1|N|-|data",
        ["CTX", "BUDGET"],
    )
    assert result("M1|O1>W1|R|T1|P1|N|-|data", "V5") == (
        "M1|O1>W1|R|T1|P1|N|-|0|-|-|data",
        [],
    )
    assert result("M1|O1>*|B|-|P1|-|-|data", "V5")[0] == "M1|O1>*|B|-|P1|-|-|0|-|-|data"


@pytest.mark.req("PR-502")
@given(FIELDS["V4"])
def test_the_first_seven_segments_keep_their_places(fields: dict[str, object]):
    from council.wire.building import build

    text = build({**fields, "type": "U", "err": None}, "V4")

    up = convert(text, "V5").text.split("|")

    assert up[:7] + up[10:] == text.split("|")


@pytest.mark.req("PR-607")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("M1|O1>User|D|T1|P1|R|-|0|S1|-|question=q?;opt1=a;opt2=b", "User endpoint"),
        ("M1|User>O1|C|T1|P1|R|-|0|S1|-|choice=opt2", "User endpoint"),
        ("M1|O1>W1|D|T1|P1|R|-|0|S1|-|x", "type D"),
        ("M0|O1>W1|R|T1|P1|N|-|0|S1|-|x", "M0"),
        ("M1|O1.ab>O2.abc|R|T1|P1|N|-|0|S1|-|x", "route above 10"),
    ],
)
def test_v4_has_no_place_for_the_user_and_choices(text: str, reason: str):
    assert refusal(text, "V4") == refusal(text, "V4", lossy=True) == reason


@pytest.mark.req("PR-607")
@pytest.mark.parametrize(
    ("kind", "stand_in", "data"),
    [
        ("J", "U", "JOIN;x=1"),
        ("L", "U", "LEAVE;x=1"),
        ("K", "U", "CAPS;x=1"),
        ("Q", "C", "x=1"),
        ("X", "R", "x=1"),
    ],
)
def test_types_that_v4_lacks_are_refused_or_stood_in_for(kind: str, stand_in: str, data: str):
    text = f"M1|W1>O1|{kind}|T0|-|-|-|0|-|-|x=1"

    assert refusal(text, "V4") == f"type {kind}"
    assert result(text, "V4", lossy=True) == (
        f"M1|W1>O1|{stand_in}|-|-|-|-|{data}",
        ["TYPE", "TID"],
    )


@pytest.mark.req("PR-607")
def test_a_stand_in_that_gets_too_long_is_a_loss_of_data():
    text = f"M1|W1>O1|J|T1|-|-|-|0|-|-|{'x' * 198}"

    found = convert(text, "V4", lossy=True)

    assert (len(parse(found.text).fields["data"]), found.losses) == (200, ["TYPE", "DATA"])


@pytest.mark.req("PR-608")
@pytest.mark.parametrize(
    ("text", "to", "converted"),
    [
        ("M4|W2>O1|E|T2|P1|F|E10|x", "V5", "M4|W2>O1|E|T2|P1|F|E10|0|-|-|x"),
        ("M4|W2>O1|E|T2|P1|F|E33|0|-|-|x", "V4", "M4|W2>O1|E|T2|P1|F|E33|x"),
        ("M4|W2>O1|E|T2|P1|F|E03|x", "V3", "MSG_04|W2>O1|E|TASK_02|P1|F|E03:x"),
        ("MSG_04|W2>O1|E|TASK_02|P1|F|E07:x", "V4", "M4|W2>O1|E|T2|P1|F|E07|x"),
        ("M4|W2>O1|S|T2|P1|D|E00|0|-|-|x", "V4", "M4|W2>O1|S|T2|P1|D|-|x"),
    ],
)
def test_structural_conversion_keeps_the_digits(text: str, to: str, converted: str):
    assert result(text, to, structural=True) == (converted, [])
    if "E00" not in text:
        assert result(text, to)[0] != converted


@pytest.mark.req("PR-626")
@pytest.mark.parametrize(
    ("text", "to", "converted"),
    [
        ("MSG_04|W|E|TASK_02|E77:x", "V3", "MSG_04|W1>O1|E|TASK_02|-|-|E99:x"),
        ("MSG_04|W1>O1|E|TASK_02|-|-|E77:x", "V2", "MSG_04|W|E|TASK_02|E99:x"),
        ("MSG_04|W1>O1|E|TASK_02|-|-|E77:x", "V4", "M4|W1>O1|E|T2|-|-|E99|x"),
        ("M4|W1>O1|E|T2|-|-|E77|x", "V3", "MSG_04|W1>O1|E|TASK_02|-|-|E99:x"),
        ("M4|W1>O1|E|T2|-|-|E77|x", "V5", "M4|W1>O1|E|T2|-|-|E99|0|-|-|x"),
        ("M4|W1>O1|E|T2|-|-|E77|0|-|-|x", "V4", "M4|W1>O1|E|T2|-|-|E99|x"),
    ],
)
def test_an_unknown_code_becomes_e99_and_is_reported(text: str, to: str, converted: str):
    assert result(text, to) == (converted, ["ERR"])


def error_in(version: str, code: str) -> str:
    if version in ("V2", "V3"):
        route, rest = ("W", "TASK_01") if version == "V2" else ("W1>O1", "TASK_01|-|-")
        return f"MSG_01|{route}|E|{rest}|{code}:x"
    return f"M1|W1>O1|E|T1|-|-|{code}|{'0|-|-|' if version == 'V5' else ''}x"


@pytest.mark.req("PR-621", "PR-622", "PR-623", "PR-624", "PR-625", "PR-608", "PR-609")
@pytest.mark.parametrize(
    ("source", "target", "code"),
    [(*step, code) for step in MAPPING for code in MAPPING[step]],
)
def test_each_code_goes_where_its_table_says_and_a_loss_is_told(
    source: str, target: str, code: str
):
    found = convert(error_in(source, code), target)
    expected = MAPPING[source, target][code]

    if expected == "-":
        assert found.text == "M1|W1>O1|E|T1|-|-|-|x"
        assert found.losses == []
        return
    assert found.text == error_in(target, expected)
    comes_back = MAPPING[target, source].get(expected) == code
    assert found.losses == ([] if comes_back else ["ERR"])


@pytest.mark.req("PR-621", "PR-622", "PR-623", "PR-624", "PR-625")
def test_every_code_of_every_version_has_its_place_in_the_tables():
    for source, target in MAPPING:
        assert sorted(MAPPING[source, target]) == sorted(CODES[source])
        assert set(MAPPING[source, target].values()) <= {*CODES[target], "-"}


@pytest.mark.req("PR-608")
def test_v3_codes_survive_the_way_up_and_down_and_the_others_are_counted():
    def lost(first: str, then: str) -> int:
        there, back = MAPPING[first, then], MAPPING[then, first]
        return sum(back.get(there[code]) != code for code in there if there[code] != "-")

    assert lost("V3", "V4") == 0
    assert (lost("V4", "V5"), lost("V5", "V4")) == (3, 8)


@pytest.mark.req("PR-609")
@pytest.mark.parametrize(
    ("text", "to"),
    [
        ("M2|W1>W2|X|T1|P1|R|-|1|S1|B500|call=x", "V4"),
        ("M1|W3>O1|J|T0|-|-|-|0|S0|-|caps=web_search", "V4"),
        ("M1|W1>O1|E|T0|P2|F|E18|3|Sabc|B0|desc=x", "V3"),
        ("M1|O1>W1|R|T1|P0|N|-|2|S1|B500|go", "V1"),
        ("M1|O1>W1|A|T0|-|-|-|-|-|-|version=V4;mode=compat", "V4"),
        ("M01|O1>W1|R|T001|P1|N|-|0|S1|B0500|x", "V4"),
        ("MSG_1|O1>W1|R|TASK_1|P1|N|go", "V2"),
        (f"MSG_1|O1>W1|R|TASK_1|P1|N|{'x' * 300}", "V4"),
    ],
)
def test_with_a_side_car_the_way_back_restores_the_message(text: str, to: str):
    away = convert(text, to, lossy=True)

    back = convert(away.text, parse(text).version, lossy=True, sidecar=away.sidecar)

    assert back.text == text
    assert back.losses == []


@pytest.mark.req("PR-609")
def test_a_side_car_gives_its_values_to_an_answer_that_changed_the_rest():
    away = convert("M1|O1>W1|R|T1|P1|N|-|2|S1|B500|go", "V4")
    answered = away.text.replace("M1|O1>W1|R", "M2|W1>O1|S").replace("|N|", "|D|") + "ne"

    back = convert(answered, "V5", sidecar=away.sidecar)

    assert back.text == "M2|W1>O1|S|T1|P1|D|-|2|S1|B500|gone"


@pytest.mark.req("PR-609")
@pytest.mark.parametrize(
    ("original", "answer", "back"),
    [
        (  # the state of the request is not that of its answer
            "M1|O1>W1|R|T1|P0|N|-|2|S1|B500|go",
            "MSG_02|W|S|TASK_01|done",
            "M2|W1>O1|S|T1|P0|-|-|2|S1|B500|done",
        ),
        (  # nor is another request a hand-off because one was
            "M2|W1>W2|X|T1|P1|R|-|1|S1|B250|call=x",
            "M5|O1>W2|R|T1|P1|R|-|call=y",
            "M5|O1>W2|R|T1|P1|R|-|1|S1|B250|call=y",
        ),
        (  # nor another error the same one
            "M3|W1>O1|E|T1|P1|F|E16|0|S1|B5|desc=x",
            "M4|W1>O1|E|T1|P1|F|E99|desc=y",
            "M4|W1>O1|E|T1|P1|F|E99|0|S1|B5|desc=y",
        ),
        (  # but an edited message stays what it was
            "M4|W3>O1|J|T0|-|-|-|0|S0|-|caps=web_search",
            "M4|W3>O1|U|-|-|-|-|JOIN;caps=plan",
            "M4|W3>O1|J|T0|-|-|-|0|S0|-|JOIN;caps=plan",
        ),
    ],
)
def test_an_answer_gets_of_a_side_car_what_a_conversation_has_in_common(
    original: str, answer: str, back: str
):
    away = convert(original, parse(answer).version, lossy=True)

    assert convert(answer, "V5", sidecar=away.sidecar).text == back


@pytest.mark.req("PR-609")
def test_what_an_answer_loses_is_told_beside_a_side_car():
    up = convert("M1|O1>W1|R|T1|P1|N|-|go", "V5")
    down = convert("M1|O1>W1|R|T1|P1|N|-|0|S1|B500|go", "V4")

    left = convert("M2|W1>O1|S|T1|P1|D|-|0|S7|B9|done", "V4", sidecar=up.sidecar)
    back = convert("M2|W1>O1|E|T1|P1|F|E03|x", "V5", sidecar=down.sidecar)

    assert left.to_record() == {"text": "M2|W1>O1|S|T1|P1|D|-|done", "losses": ["CTX", "BUDGET"]}
    assert back.to_record() == {
        "text": "M2|W1>O1|E|T1|P1|F|E10|0|S1|B500|x",
        "losses": ["ERR"],
    }


@pytest.mark.req("PR-605", "PR-607")
@pytest.mark.parametrize(
    ("text", "to", "hint"),
    [
        ("M1|W3>O1|J|T0|-|-|-|0|S0|-|caps=a", "V4", "--lossy"),
        ("M8|W1>O1|H|-|-|R|-|load=45%", "V3", "--lossy"),
        ("M1|O1>User|D|T1|P1|R|-|0|S1|-|question=q?;opt1=a", "V4", "nothing"),
        ("M6|R1>O1|E|T4|-|-|E08|id=W3", "V3", "nothing"),
    ],
)
def test_a_refusal_points_to_lossy_only_where_that_helps(text: str, to: str, hint: str):
    with pytest.raises(ConversionRefusedError) as refused:
        convert(text, to)

    assert hint in refused.value.hint
    with contextlib.suppress(ConversionRefusedError):
        convert(text, to, lossy=True)
        assert hint == "--lossy"


@pytest.mark.req("PR-609")
def test_without_the_side_car_the_lost_values_stay_lost():
    away = convert("M1|O1>W1|R|T1|P1|N|-|2|S1|B500|go", "V4")

    assert away.losses == ["DEPTH", "CTX", "BUDGET"]
    assert convert(away.text, "V5").text == "M1|O1>W1|R|T1|P1|N|-|0|-|-|go"


@pytest.mark.parametrize("sidecar", [{}, {"version": "V5"}, {"version": "V5", "text": 7}])
def test_a_side_car_of_something_else_is_no_help(sidecar: dict[str, object]):
    assert convert("M1|O1>W1|R|T1|P1|N|-|go", "V5", sidecar=sidecar).text.endswith("|0|-|-|go")


def test_a_message_with_faults_is_not_converted():
    with pytest.raises(InvalidMessageError):
        convert("M1|bad", "V4")
    with pytest.raises(UsageError):
        convert(V5, "V9")


def test_data_that_was_cut_at_reading_is_a_loss():
    assert convert(f"M1|O1>W1|R|T1|P1|N|-|{'x' * 201}", "V5").losses == ["DATA"]


@given(
    st.sampled_from(VERSIONS).flatmap(
        lambda version: FIELDS[version].map(lambda fields: (version, fields))
    ),
    st.sampled_from(VERSIONS),
    st.booleans(),
    st.booleans(),
)
def test_a_conversion_is_valid_or_refused(
    given_fields: tuple[str, dict[str, object]], to: str, lossy: bool, structural: bool
):
    from council.wire.building import build

    version, fields = given_fields
    if version in ("V4", "V5"):
        fields = {**fields, "data": str(fields["data"])[:200]}
    text = build(fields, version)
    try:
        found = convert(text, to, lossy=lossy, structural=structural)
    except ConversionRefusedError:
        return

    assert parse(found.text, to).valid
    back_to = version
    try:
        back = convert(
            found.text, back_to, lossy=True, structural=structural, sidecar=found.sidecar
        )
    except ConversionRefusedError:
        return
    assert back.text == text


def test_every_plain_message_goes_to_every_version():
    for version in VERSIONS:
        for to in VERSIONS:
            assert parse(convert(PLAIN[version], to).text).version == to
