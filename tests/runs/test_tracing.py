"""Traces that the environment carries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.runs import tracing

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01"
UUID = "f2eaea8e-a38c-4f15-a006-ef9b00117f18"


@pytest.mark.parametrize(
    ("environ", "carrier"),
    [({}, {}), ({"TRACEPARENT": GOOD}, {"TRACEPARENT": GOOD}),
     ({"traceparent": GOOD}, {"TRACEPARENT": GOOD}),
     ({"TRACEPARENT": "nonsense", "traceparent": GOOD}, {"TRACEPARENT": GOOD}),
     ({"TRACEPARENT": f"{GOOD}-more"}, {}),
     ({"TRACEPARENT": f"01-{TRACE}-{SPAN}-00-more"}, {"TRACEPARENT": f"00-{TRACE}-{SPAN}-00"}),
     ({"TRACEPARENT": f"ff-{TRACE}-{SPAN}-01"}, {}),
     ({"TRACEPARENT": f"00-{'0' * 32}-{SPAN}-01"}, {}),
     ({"TRACEPARENT": f"00-{TRACE}-{'0' * 16}-01"}, {}), ({"TRACEPARENT": GOOD.upper()}, {}),
     ({"TRACESTATE": "a=1"}, {}),
     ({"TRACEPARENT": GOOD, "TRACESTATE": "a=1"}, {"TRACEPARENT": GOOD, "TRACESTATE": "a=1"}),
     ({"TRACEPARENT": GOOD, "TRACESTATE": "a=\n1"}, {"TRACEPARENT": GOOD}),
     ({"TRACEPARENT": GOOD, "TRACESTATE": "a" * 513}, {"TRACEPARENT": GOOD})],
)  # fmt: skip
def test_what_is_carried(environ, carrier):
    assert tracing.carried(environ) == carrier


@given(st.text(), st.text(), st.sampled_from([{}, {"TRACEPARENT": GOOD, "TRACESTATE": "a=1"}]))
def test_what_a_run_is_given_is_a_valid_child_of_its_document(ident, run, carrier):
    made = tracing.variables(ident, run, carrier)
    assert tracing.carried(made) == made
    assert tracing.parent(made) == (tracing.trace_id(ident, carrier), tracing.span_id(run))
    assert (tracing.parent(made)[0] == TRACE) == bool(carrier)
    assert made.get("TRACESTATE") == carrier.get("TRACESTATE")


def test_a_uuid_is_the_trace_of_its_conversation():
    assert tracing.trace_id(UUID, {}) == UUID.replace("-", "")
