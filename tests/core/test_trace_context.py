"""Traces, and the trace context of the W3C."""

from __future__ import annotations

import pytest

from council.core.events import (
    is_w3c,
    parse_traceparent,
    trace_around,
    trace_of,
    traceparent,
    w3c_trace,
)

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"


@pytest.mark.req("XC-102")
def test_a_conversation_s_trace_is_its_id_without_hyphens():
    assert trace_of("0f8fad5b-d9cb-469f-a165-70867728950e") == "0f8fad5bd9cb469fa16570867728950e"


def test_channels_that_differ_in_a_hyphen_have_traces_that_differ():
    assert trace_of("design-room") != trace_of("designroom")


@pytest.mark.req("IO-002")
@pytest.mark.parametrize("trace", ["design-room", "S7", "0" * 32, TRACE.upper(), TRACE[:-1]])
def test_an_id_that_is_no_trace_id_is_hashed_to_one_always_the_same(trace):
    assert not is_w3c(trace)
    assert is_w3c(w3c_trace(trace))
    assert w3c_trace(trace) == w3c_trace(trace)
    assert w3c_trace(trace) != w3c_trace(trace + "x")


@pytest.mark.req("IO-002")
def test_32_hex_digits_are_the_trace_id():
    assert is_w3c(TRACE)
    assert w3c_trace(TRACE) == TRACE
    assert traceparent(TRACE, "task").startswith(f"00-{TRACE}-")


@pytest.mark.req("IO-002")
def test_what_is_given_on_can_be_read_again():
    found = parse_traceparent(traceparent(TRACE, "one"))

    assert found is not None
    assert (found.trace, found.flags) == (TRACE, "01")
    assert found.span != parse_traceparent(traceparent(TRACE, "two")).span


@pytest.mark.req("IO-002")
def test_a_traceparent_is_read_as_the_recommendation_says():
    assert trace_around({"traceparent": f"00-{TRACE}-{SPAN}-01"}) == TRACE
    assert trace_around({"traceparent": f" 00-{TRACE}-{SPAN}-00\n"}) == TRACE
    assert trace_around({"traceparent": f"cc-{TRACE}-{SPAN}-01-what-comes-later"}) == TRACE
    assert trace_around({}) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"0g-{TRACE}-{SPAN}-01",
    ],
)
@pytest.mark.req("IO-002")
def test_a_traceparent_that_is_not_valid_counts_as_none(text):
    assert parse_traceparent(text) is None
