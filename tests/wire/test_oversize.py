"""What DATA has no room for is referred to: values where there are pairs, else all of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.protocol.payload import flags_and_pairs
from council.wire.data import referred
from council.wire.forms import DATA_CHARS


def mark(text: str) -> str:
    return f"#REF:art_{len(text):064d}"


@pytest.mark.req("PR-536")
def test_long_text_becomes_one_reference_and_a_short_one_stays():
    assert referred("x" * 200, mark) == ("x" * 200, [])
    assert referred("x" * 201, mark) == (mark("x" * 201), ["x" * 201])
    assert referred("two\nlines " * 50, mark)[0].startswith("#REF:")


@pytest.mark.req("PR-536")
def test_longest_values_go_first_and_what_is_asked_stays():
    text, params = "t" * 500, "p" * 50
    data = f"urgent;call=summarize;params=max:100;text={text};note={params}"
    short, moved = referred(data, mark)
    assert moved == [text]
    assert flags_and_pairs(short) == (
        ["urgent"],
        {"call": "summarize", "params": "max:100", "text": mark(text), "note": params},
    )


def test_prose_with_signs_of_pairs_goes_as_a_whole():
    prose = "The result is x=5; " * 20
    assert referred(prose, mark) == (mark(prose), [prose])


def test_room_that_is_smaller_is_kept():
    data = "call=x;text=" + "t" * 180
    short, moved = referred(data, mark, 190)
    assert moved == ["t" * 180] and len(short) <= 190


@given(st.text(max_size=600))
def test_any_text_fits_afterwards_and_nothing_is_lost(data):
    short, moved = referred(data, mark)
    assert len(short) <= DATA_CHARS
    assert (short == data) is (not moved)
    assert all(mark(one) in short for one in moved)
