"""DATA: flags, pairs, calls, references, numbered parts."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.conversations.conversation import TaskState
from council.core.errors import InvalidInputError
from council.core.protocol.exchange import Attempt
from council.core.protocol.payload import flags_and_pairs
from council.core.protocol.receiving import MOST_PARTS, hold, number_of_part
from council.wire.data import (
    call_of,
    cut_in_parts,
    params_of,
    references_in,
    render_data,
    split_outside_quotes,
)

NOW = datetime(2026, 2, 8, 20, tzinfo=UTC)


@pytest.mark.req("PR-542", "PR-544")
@pytest.mark.parametrize(
    ("data", "flags", "pairs"),
    [
        ("analyse the logs", [], {}),
        ("ok", [], {}),
        ("one;two", [], {}),
        ("k=v", [], {"k": "v"}),
        ("k=v;", [], {"k": "v"}),
        ("BUSY;queue=5", ["BUSY"], {"queue": "5"}),
        ("a=1;done;b=2", ["done"], {"a": "1", "b": "2"}),
        ("url=http://x/?a=b;n=1", [], {"url": "http://x/?a=b", "n": "1"}),
        ('q="a;b";n=1', [], {"q": '"a;b"', "n": "1"}),
        ('q=a"b;n=1', [], {"q": 'a"b', "n": "1"}),
        ('q="a";r="b;c"', [], {"q": '"a"', "r": '"b;c"'}),
        ("k=;n=1", [], {"k": "", "n": "1"}),
        (";;k=v;;", [], {"k": "v"}),
        ("k=1;k=2", [], {"k": "2"}),
        ("=x;k=v", ["=x"], {"k": "v"}),
        ("question=a, b?;options=json,txt", [], {"question": "a, b?", "options": "json,txt"}),
    ],
)
def test_data_splits_into_flags_and_pairs(data: str, flags: list[str], pairs: dict[str, str]):
    assert flags_and_pairs(data) == (flags, pairs)


@pytest.mark.req("PR-542")
@pytest.mark.parametrize(
    ("value", "params"),
    [
        ("file:main.py,action:edit", {"file": "main.py", "action": "edit"}),
        ("target:function:init", {"target": "function:init"}),
        ('query:"a;b,c",n:1', {"query": '"a;b,c"', "n": "1"}),
        ("src:#REF:T41:S,maxlen:100", {"src": "#REF:T41:S", "maxlen": "100"}),
    ],
)
def test_params_split_at_their_first_colon(value: str, params: dict[str, str]):
    assert params_of(value) == params
    assert params_of(flags_and_pairs(f"call=c;params={value};")[1]["params"]) == params


@pytest.mark.req("PR-543")
def test_both_forms_of_a_call_mean_the_same():
    long = call_of("call=code_write;params=file:main.py,action:edit;")
    short = call_of("call=code_write;file=main.py;action=edit")

    assert long == short == ("code_write", {"file": "main.py", "action": "edit"})
    assert call_of("results=5") is call_of("call=") is None


@pytest.mark.req("PR-545")
@pytest.mark.parametrize(
    ("data", "found"),
    [
        ("src=#REF:T1:S;action=summarize", [("FIELD", "T1", "S")]),
        ("prev=#MSG:M3;continue=true", [("MSG", "", "M3")]),
        ("src=#CTX:style;old=#REF:a1b2c3", [("CTX", "", "style"), ("REF", "", "a1b2c3")]),
        ("call=s;params=src:#REF:T41:S,maxlen:100", [("FIELD", "T41", "S")]),
        ("#REF:T1", [("REF", "", "T1")]),
        ("see #CTX:key now", [("CTX", "", "key")]),
        ("src=#REF:;x=1", [("REF", "", "")]),
        ("#REF:T1:", [("FIELD", "T1", "")]),
        ("a # b #REF #OTHER:x ##MSG:M1", [("MSG", "", "M1")]),
    ],
)
def test_references_are_found_wherever_they_stand(data: str, found: list[tuple[str, str, str]]):
    assert [(one.kind, one.task, one.name) for one in references_in(data)] == found


@given(st.text(alphabet='ab";,'))
def test_splitting_loses_no_character(text: str):
    assert ";".join(split_outside_quotes(text, ";")) == text


@given(
    st.lists(st.text(alphabet="ab ", min_size=1)),
    st.dictionaries(st.text(alphabet="kn_", min_size=1), st.text(alphabet="v=;, "), min_size=1),
)
def test_written_data_reads_back_but_for_quotes(flags: list[str], pairs: dict[str, str]):
    found, values = flags_and_pairs(render_data(flags, pairs))

    assert found == flags
    assert {name: value.strip('"') for name, value in values.items()} == pairs


@pytest.mark.parametrize("pairs", [{"a;b": "1"}, {"a=b": "1"}, {"a": 'x"; y'}])
def test_values_that_no_data_can_hold_are_refused(pairs: dict[str, str]):
    with pytest.raises(InvalidInputError):
        render_data([], pairs)


def joined(parts: list[str]) -> str:
    """Return what who reads an answer makes of its parts, in the order they come in."""
    attempt = Attempt(number=1, worker="W1", state=TaskState.R, at=NOW)
    whole = [hold(attempt, part, number_of_part(part) or (0, 0)) for part in parts]
    assert not any(whole[:-1])
    return whole[-1]


@pytest.mark.req("PR-548")
def test_a_large_result_is_cut_into_numbered_parts_and_joined_again():
    text = "a=1;" * 140

    parts = cut_in_parts(text)

    assert [part.partition(";")[0] for part in parts] == ["part=1/3", "part=2/3", "part=3/3"]
    assert all(len(part) <= 200 for part in parts)
    assert joined(parts[::-1]) == text


@pytest.mark.req("PR-548")
@pytest.mark.parametrize("chars", [1, 191, 192, 1_900, 18_000])
def test_parts_of_any_length_join_again(chars: int):
    text = "".join(random.Random(chars).choices("ab;=,é ", k=chars))

    parts = cut_in_parts(text)

    assert all(len(part) <= 200 for part in parts)
    assert len({part.partition("/")[2].partition(";")[0] for part in parts}) == 1
    assert joined(parts) == text


@pytest.mark.req("PR-548")
def test_no_more_parts_are_written_than_a_reader_joins():
    most = max(chars for chars in range(18_000, 19_000) if fits(chars))

    assert len(cut_in_parts("x" * most)) == MOST_PARTS
    assert joined(cut_in_parts("x" * most)) == "x" * most
    with pytest.raises(InvalidInputError, match="99 parts"):
        cut_in_parts("x" * 10_000_000)


def fits(chars: int) -> bool:
    try:
        return bool(cut_in_parts("x" * chars))
    except InvalidInputError:
        return False


@pytest.mark.parametrize("text", ["", "a|b", "a>b", "a\nb"])
def test_a_text_that_data_cannot_hold_is_not_cut(text: str):
    with pytest.raises(InvalidInputError):
        cut_in_parts(text)
