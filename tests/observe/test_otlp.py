"""Conversations as OTLP: checked as the format says, since readers of protobuf pass over faults."""

import json

import pytest

from council.councils.model import State
from council.observe import otlp
from council.runs import work

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
USE = work.Use(tokens=7060, input=7010, usd=0.03, ms=512)


def spans(app, which=""):
    found = [json.loads(json.dumps(one)) for one in otlp.traces(app, which)]
    return [x for d in found for x in d["resourceSpans"][0]["scopeSpans"][0]["spans"]]


def attributes(span):
    return {one["key"]: one["value"] for one in span["attributes"]}


def claim(ws, agent, attempt=1):
    one = work.Work(agent=agent, task="contribution", tour=1, attempt=attempt)
    ws.add("k", work.claimed(one, "x", ws.app.now, work.timedelta(minutes=5)))
    return one.ident("x"), "2026-11-28T09:00:09Z"


@pytest.fixture
def runs(ws):
    ws.add("k", work.answered(*claim(ws, "ada"), USE))
    ws.add("k", work.failed(*claim(ws, "bob"), "quota", "429", work.Use(estimated=9)))
    claim(ws, "bob", 2)  # it is under way
    return ws


def test_spans_of_a_council_its_rounds_and_its_runs(runs):
    whole, first, ada, bob = spans(runs.app, "k")
    assert whole["name"] == "invoke_workflow council"
    assert (whole["parentSpanId"], first["parentSpanId"]) == ("", whole["spanId"])
    assert [one["parentSpanId"] for one in (ada, bob)] == [first["spanId"]] * 2
    assert [one["name"] for one in (first, ada)] == ["COLLECT 1", "invoke_agent ada"]
    assert int(ada["endTimeUnixNano"]) - int(ada["startTimeUnixNano"]) == 512_000_000
    assert int(bob["endTimeUnixNano"]) - int(bob["startTimeUnixNano"]) == 9_000_000_000
    assert bob["status"] == {"code": 2, "message": "429"}
    used = {key: one for key, one in attributes(ada).items() if "usage" in key}
    assert used == {
        "gen_ai.usage.input_tokens": {"intValue": "7010"},
        "gen_ai.usage.output_tokens": {"intValue": "50"},
        "council.usage.tokens": {"intValue": "7060"},
        "council.usage.usd": {"doubleValue": 0.03},
    }
    assert "gen_ai.usage.input_tokens" not in attributes(bob)
    assert attributes(bob)["council.usage.estimated_tokens"] == {"intValue": "9"}


def test_ids_are_hex_and_times_are_texts(runs):
    runs.open("other")
    found = spans(runs.app)
    assert len({one["traceId"] for one in found}) == 2
    assert len({one["spanId"] for one in found}) == len(found)
    for one in found:
        assert len(bytes.fromhex(one["traceId"])) == 16
        assert len(bytes.fromhex(one["spanId"])) == 8
        assert 0 < int(one["startTimeUnixNano"]) <= int(one["endTimeUnixNano"])
        assert isinstance(one["startTimeUnixNano"], str)


def test_a_council_in_a_trace_is_a_part_of_it():
    state = State(conversation_id="c", created_at="2026-11-28T09:00:00Z")
    state.updated_at = state.created_at
    state.carrier = {"TRACEPARENT": PARENT, "TRACESTATE": "a=1"}
    (whole,) = otlp.spans(state, iter([]))
    assert f"00-{whole['traceId']}-{whole['parentSpanId']}-01" == PARENT
    assert whole["traceState"] == "a=1"
