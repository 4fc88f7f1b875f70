"""Events for other tools, held against the official libraries."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv.attributes import error_attributes, service_attributes

from council.core.events import Event, parse_traceparent, traceparent
from council.core.reporting import spans
from council.core.reporting.spans import trace_export
from council.operations.reporting.story import cloud_event
from tests.cli.commands import at_rest

CONVERSATION = "0f8fad5b-d9cb-469f-a165-70867728950e"
TRACE = "0f8fad5bd9cb469fa16570867728950e"
ARTIFACT = "art_" + "0" * 64
AT = "2026-02-08T20:00:00Z"
YEAR = timedelta(days=365)


def line(kind: str, number: int = 0, owner: str = CONVERSATION, at: str = AT, **fields) -> dict:
    event = Event(type=kind, **fields)
    return event.to_line(f"{owner}:1:{number}", TRACE, owner, at)


def strict(record: dict) -> CloudEvent:
    """Read a CloudEvent with the official library, which raises on the least fault."""
    return JSONFormat().read(CloudEvent, json.dumps(record))


@pytest.fixture
def failed(council):
    """A workspace in which one agent has answered and one has failed."""
    (council.root / "council.toml").write_text(
        'retry_backoff = ["1h", "1h"]\n[agents.owl]\nargv = ["/bin/false"]\n'
        '[agents.gecko]\nargv = ["echo", "Yes."]\n'
    )
    assert council("convene", "A weather bot?", "--agents", "owl,gecko").code == 0

    at_rest(council.root)
    log = council("events", "tail", "--lines", "50").out
    assert "task.failed" in log
    assert "contribution.recorded" in log
    return council


@pytest.mark.req("IO-001", "P8-005")
def test_each_line_is_a_cloud_event_to_the_official_library(failed):
    told = failed("events", "tail", "--json", "--lines", "100").out.splitlines()
    done = failed("events", "export", "--format", "cloudevents")

    assert done.code == 0
    made = [strict(json.loads(one)) for one in done.out.splitlines()]
    assert len(made) == len(told)
    for one, source in zip(made, map(json.loads, told), strict=True):
        assert one.get_id() == source["eventId"]
        assert one.get_source() == "/council/workspace"
        assert one.get_type() == f"dev.council.{source['type']}"
        assert one.get_time() == datetime.fromisoformat(source["at"])
        assert one.get_subject() == source["data"].get("task", source["conversationId"])
        assert one.get_extension("traceid") == source["traceId"]
        assert one.get_data() == source["data"]


@pytest.mark.req("IO-001", "IO-002")
def test_what_passes_between_agents_is_told_in_extension_attributes():
    source = line(
        "agent.call.start",
        from_agent="a",
        to_agent="b",
        limits={"maxDepth": 3},
        task_hash="ab12",
        artifacts=[ARTIFACT],
        agent="a",
        data={"task": "call-1"},
    )

    record = cloud_event(source, "my team/ä")
    made = strict(record)

    assert made.get_source() == "/council/my%20team%2F%C3%A4"
    assert made.get_extension("fromagent") == "a"
    assert made.get_extension("toagent") == "b"
    assert made.get_extension("agentid") == "a"
    assert made.get_extension("taskhash") == "ab12"
    assert made.get_extension("traceparent") == traceparent(TRACE, "call-1")
    assert parse_traceparent(record["traceparent"]).trace == TRACE
    assert made.get_data() == {
        "task": "call-1",
        "limits": {"maxDepth": 3},
        "artifactIds": [ARTIFACT],
    }


@pytest.mark.req("IO-001")
def test_an_event_of_the_workspace_has_no_subject_and_none_is_made_up():
    record = cloud_event(line("council.halted", owner="", data={"reason": ""}), "w")

    assert "subject" not in record
    assert strict(record).get_subject() is None


@pytest.mark.req("IO-003")
def test_names_are_those_of_the_semantic_conventions():
    operations = gen_ai.GenAiOperationNameValues
    ours = {
        spans.OPERATION: gen_ai.GEN_AI_OPERATION_NAME,
        spans.AGENT_ID: gen_ai.GEN_AI_AGENT_ID,
        spans.AGENT_NAME: gen_ai.GEN_AI_AGENT_NAME,
        spans.CONVERSATION: gen_ai.GEN_AI_CONVERSATION_ID,
        spans.WORKFLOW: gen_ai.GEN_AI_WORKFLOW_NAME,
        spans.TOOL: gen_ai.GEN_AI_TOOL_NAME,
        spans.INPUT_TOKENS: gen_ai.GEN_AI_USAGE_INPUT_TOKENS,
        spans.OUTPUT_TOKENS: gen_ai.GEN_AI_USAGE_OUTPUT_TOKENS,
        spans.ERROR: error_attributes.ERROR_TYPE,
        spans.SERVICE: service_attributes.SERVICE_NAME,
        spans.INVOKE_WORKFLOW: operations.INVOKE_WORKFLOW.value,
        spans.INVOKE_AGENT: operations.INVOKE_AGENT.value,
        spans.EXECUTE_TOOL: operations.EXECUTE_TOOL.value,
    }

    assert all(name == official for name, official in ours.items()), ours


def spans_in(export: dict) -> list[dict]:
    (resource,) = export["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    return scope["spans"]


def attributes(span: dict) -> dict:
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


@pytest.mark.req("IO-002", "IO-003", "P8-005")
def test_a_conversation_is_a_workflow_and_a_run_the_invocation_of_an_agent_in_it(failed):
    done = failed("events", "export", "--format", "otlp-json")

    made = spans_in(done.json())
    (whole,) = [one for one in made if one["name"] == "invoke_workflow active"]
    told = attributes(whole)
    assert told["gen_ai.operation.name"] == "invoke_workflow"
    assert told["gen_ai.workflow.name"] == "active"
    assert whole["traceId"] == told["gen_ai.conversation.id"].replace("-", "")
    assert "parentSpanId" not in whole
    by_agent = {attributes(one)["gen_ai.agent.id"]: one for one in made if one is not whole}
    owl, gecko = by_agent["owl"], by_agent["gecko"]
    for run in (owl, gecko):
        assert attributes(run)["gen_ai.operation.name"] == "invoke_agent"
        assert (run["traceId"], run["parentSpanId"]) == (whole["traceId"], whole["spanId"])
        assert int(run["endTimeUnixNano"]) >= int(run["startTimeUnixNano"])
        given = traceparent(whole["traceId"], attributes(run)["council.task"])
        assert given.split("-")[1:3] == [run["traceId"], run["spanId"]]
    assert attributes(gecko)["gen_ai.agent.name"] == "Gecko"
    assert (attributes(owl)["error.type"], owl["status"]["code"]) == ("exit", 2)
    assert "error.type" not in attributes(gecko)
    assert gecko["status"] == {"code": 1}
    ids = [one["spanId"] for one in made]
    assert len(set(ids)) == len(ids)
    assert all(set(one) <= set("0123456789abcdef") and len(one) == 16 for one in ids)


@pytest.mark.req("IO-003")
def test_calls_lie_in_the_run_that_made_them_and_what_is_done_by_itself_is_a_tool():
    call = {"from_agent": "a", "to_agent": "b", "task_hash": "ab", "limits": {"maxDepth": 3}}
    inner = {**call, "from_agent": "b", "to_agent": "c"}
    run = f"{CONVERSATION}.1.a.1"
    told = [
        line("conversation.opened", 1, data={"name": "active"}),
        line("task.started", 2, agent="a", data={"task": run, "driver": "command"}),
        line("agent.call.start", 3, owner="", data={"task": "c1"}, **call),
        line("agent.call.start", 4, owner="", data={"task": "c2"}, **inner),
        line("artifact.publish", 5, owner="", agent="c", artifacts=[ARTIFACT], data={"size": 3}),
        line(
            "agent.call.error",
            6,
            owner="",
            at="2026-02-08T20:00:05Z",
            data={"task": "c2", "code": "E20", "status": "timeout", "message": "late"},
            **inner,
        ),
        line(
            "agent.call.end",
            7,
            owner="",
            at="2026-02-08T20:00:09Z",
            data={"task": "c1", "status": "ok", "toolCalls": 2},
            **call,
        ),
    ]

    made = spans_in(trace_export(told, names={"b": "Bea"}, root_name="w", version="1"))

    by_name = {one["name"]: one for one in made}
    first, second = by_name["invoke_agent b"], by_name["invoke_agent c"]
    assert first["parentSpanId"] == by_name["invoke_agent a"]["spanId"]
    assert second["parentSpanId"] == first["spanId"]
    assert attributes(first)["gen_ai.agent.name"] == "Bea"
    assert attributes(first)["council.tool_calls"] == "2"
    assert int(first["endTimeUnixNano"]) - int(first["startTimeUnixNano"]) == 9 * 10**9
    assert attributes(second)["error.type"] == "E20"
    tool = by_name["execute_tool artifact.publish"]
    assert attributes(tool)["gen_ai.operation.name"] == "execute_tool"
    assert attributes(tool)["gen_ai.tool.name"] == "artifact.publish"
    assert attributes(by_name["invoke_workflow active"])["council.under_way"] is True
    assert all(one["traceId"] == TRACE for one in made)


def test_an_export_may_be_of_one_story_and_of_newer_days_only(failed, now):
    owl = failed("events", "export", "--format", "cloudevents", "--about", "owl").out
    assert {json.loads(one)["agentid"] for one in owl.splitlines()} == {"owl"}
    later = (datetime.now(UTC) + YEAR).isoformat()
    none = failed("events", "export", "--format", "cloudevents", "--since", later)
    assert (none.code, none.out) == (0, "")


@pytest.mark.parametrize("form", ["cloudevents", "otlp-json"])
def test_an_export_about_what_nobody_knows_exits_5_as_its_story_does(failed, form):
    nothing = failed("events", "export", "--format", form, "--about", "nosuch", "--json")
    assert (nothing.code, nothing.json()["error"]["code"]) == (5, "not-found")
    later = (datetime.now(UTC) + YEAR).isoformat()
    trace = failed("events", "story", "active", "--json").json()["traceId"]
    known = failed("events", "export", "--format", form, "--since", later, "--about", trace)
    assert (known.code, known.err) == (0, "")


def test_a_format_that_we_do_not_speak_exits_2(council):
    done = council("events", "export", "--format", "xml", "--json")

    assert done.code == 2
    assert "cloudevents, otlp-json" in done.json()["error"]["hint"]
    assert council("events", "export").code == 2
