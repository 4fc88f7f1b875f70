"""Lines of any version as the message of the rules, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.errors import ConversionRefusedError, InvalidMessageError
from council.core.protocol.messages import Message, compose, inline, is_inline
from council.wire.carried import line_of, message_of
from council.wire.messages import parse, validate
from tests.core.exchanges import Context
from tests.wire.known import known_in

LINE = "M7|O1>W1|R|T1|P0|N|-|1|S1|B500|call=web_search;query=AI;urgent"


@pytest.mark.req("PR-501")
def test_a_line_says_all_its_fields_and_comes_back():
    message = message_of(LINE)

    assert message == Message(
        number=7,
        sender="O1",
        receiver="W1",
        kind="R",
        task="T1",
        priority="P0",
        state="N",
        depth=1,
        context="S1",
        budget=500,
        data="call=web_search;query=AI;urgent",
        pairs=(("call", "web_search"), ("query", "AI")),
        flags=("urgent",),
    )
    assert line_of(message) == LINE


@pytest.mark.req("PR-503", "PR-598")
def test_a_line_of_version_four_is_read_in_the_words_of_five_and_written_back():
    message = message_of("M3|W1>O1|E|T1|P1|F|E06|BUSY;queue=5")

    assert (message.code, message.depth, message.budget) == ("E31", 0, None)
    assert message.says("BUSY")
    assert message.pair("queue") == "5"
    assert line_of(message) == "M3|W1>O1|E|T1|P1|F|E31|0|S0|-|BUSY;queue=5"
    assert line_of(message, "V4") == "M3|W1>O1|E|T1|P1|F|E06|BUSY;queue=5"


@pytest.mark.req("PR-573")
def test_a_context_is_always_written():
    line = line_of(message_of("M1|O1>W1|R|T1|P1|N|-|0|-|-|x"))

    assert line.split("|")[8] == "S0"


def test_padded_ids_are_brought_into_their_form():
    message = message_of("M007|O1>W1|R|T01|P1|N|-|0|S1|B0100|x")

    assert (message.id, message.task, message.budget) == ("M7", "T1", 100)


def test_a_line_with_faults_is_no_message():
    with pytest.raises(InvalidMessageError):
        message_of("M1|O1>W1|R|T1|P9|N|-|0|S1|B500|x")


@pytest.mark.parametrize(
    "values",
    [
        {"number": 10_000},
        {"data": "a|b"},
        {"data": "a" * 201},
        {"depth": 6},
        {"depth": 4},
        {"kind": "E"},
        {"data": ""},
    ],
)
def test_what_does_not_pass_the_strict_check_is_not_written(values: dict[str, object]):
    message = message_of(LINE).copy(**values)

    with pytest.raises(InvalidMessageError):
        line_of(message)


@pytest.mark.req("PR-511")
def test_a_query_can_be_written_although_the_table_leaves_its_type_out():
    line = "M3|O1>O1|Q|T0|P1|-|-|0|S0|-|filter=W*;status=active"

    assert line_of(message_of(line)) == line
    with pytest.raises(InvalidMessageError):
        line_of(message_of(line).copy(priority="P7"))


@pytest.mark.req("PR-546", "PR-564")
def test_an_answer_may_repeat_a_depth_that_its_request_gave_the_reason_for():
    answer = "M5|W2>W1|S|T1|P1|D|-|4|S1|B5|done=1"

    assert line_of(message_of(answer)) == answer
    with pytest.raises(InvalidMessageError):
        line_of(message_of(answer).copy(kind="X", state="R"))


def test_a_choice_for_the_user_has_no_place_in_version_four():
    choice = "M1|O1>User|D|T1|P1|R|-|0|S1|-|question=q;opt1=a;opt2=b"

    assert line_of(message_of(choice)) == choice
    with pytest.raises(ConversionRefusedError):
        line_of(message_of(choice), "V4")
    with pytest.raises(InvalidMessageError):
        line_of(message_of(choice).copy(data="question=q;opt1=a"))


@given(st.text(max_size=300), st.integers(1, 200))
def test_any_text_can_be_made_a_value_of_one_line(text: str, room: int):
    value = inline(text, room)

    assert is_inline(value, room)
    message = compose("O1", "W1", "R", pairs={"query": value}, number=1, context="S1")
    if len(message.data) <= 200:
        assert message_of(line_of(message)).pair("query") == value


@pytest.mark.req("PR-545")
@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("src=#CTX:style", ""),
        ("src=#CTX:other", "E43"),
        ("src=#REF:T1:results", ""),
        ("src=#REF:T1:S", ""),
        ("src=#REF:T1:other", "E43"),
        ("src=#REF:T2:S", "E43"),
        ("prev=#MSG:M2", ""),
        ("prev=#MSG:M0", "E43"),
        ("prev=#MSG:M3", "E43"),
        ("src=#REF:art_1", ""),
        ("src=#REF:art_2", "E43"),
    ],
)
def test_a_reference_must_name_what_exists_in_the_context(data: str, code: str):
    context = Context(kept_open=True)
    context.exchange.values["style"] = "short"
    context.ask()
    context.work("W1", "S|D|-|0|B1|results=5")

    known = known_in(context.exchange, context.registry, payloads={"art_1"})
    found = validate(parse(f"M9|O1>W1|R|T2|P1|N|-|0|S1|B5|{data}"), context=known)

    assert [fault.code for fault in found.errors] == ([code] if code else [])


@pytest.mark.req("PR-571")
def test_a_context_that_is_not_this_one_is_unknown():
    context = Context()
    known = known_in(context.exchange, context.registry)

    found = validate(parse("M9|O1>W1|R|T2|P1|N|-|0|S2|B5|x"), context=known)

    assert [fault.code for fault in found.errors] == ["E42"]
