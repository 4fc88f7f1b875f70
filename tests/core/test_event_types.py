"""The published schema of events, held to the code that writes them."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import council
from council.core.event_types import EVENTS, event_schema, schema_text
from council.core.events import Event

PACKAGE = Path(council.__file__).parent
PUBLISHED = PACKAGE / "schemas" / "event.json"
ARTIFACT = "art_" + "0" * 64


def _line(**fields: object) -> dict[str, object]:
    event = Event(**{"type": "conversation.paused", **fields})
    return event.to_line("c:1:0", "c", "c", "2026-02-08T20:00:00Z")


def _faults(line: dict[str, object]) -> list[str]:
    return [one.message for one in Draft202012Validator(event_schema()).iter_errors(line)]


# Modules that only read events, or report them.
READERS = ("event_types", "event_words", "spans", "hindrances", "story", "report")
# Calls that hand the type of an event on to where the word Event stands.
HANDED_ON = ("tell", "_tell_of", "event_of", "_event", "_say", "say_of")


@cache
def _writers() -> list[ast.Module]:
    """Return all modules that may write something."""
    paths = (path for path in PACKAGE.rglob("*.py") if path.stem not in READERS)
    return [ast.parse(path.read_text(encoding="utf-8")) for path in paths]


def _calls():
    for module in _writers():
        for node in ast.walk(module):
            if isinstance(node, ast.Call):
                yield node


def _texts(node: ast.AST) -> set[str]:
    return {
        one.value
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and "." in one.value
    }


def _literals() -> set[str]:
    """Return the texts in all modules that write something."""
    found: set[str] = set()
    for module in _writers():
        found |= _texts(module)
    return found


def _written() -> set[str]:
    """Return every type that stands beside the word Event, or is handed on to where it does."""
    types: set[str] = set()
    for call in _calls():
        name = getattr(call.func, "id", "") or getattr(call.func, "attr", "")
        if name == "Event":
            for one in call.keywords:
                types |= _texts(one.value) if one.arg == "type" else set()
        elif name in HANDED_ON:
            for value in call.args[:2]:
                types |= _texts(value) if isinstance(value, ast.Constant | ast.IfExp) else set()
    return {one for one in types if " " not in one}


@pytest.mark.req("P8-081", "P8-086")
def test_every_event_that_the_code_writes_is_in_the_schema():
    written = _written()

    assert len(written) > 100
    assert sorted(written - set(EVENTS)) == []


@pytest.mark.req("P8-081", "P8-086")
def test_every_event_of_the_schema_is_written_somewhere():
    assert sorted(set(EVENTS) - _literals()) == []


def test_the_published_schema_is_the_one_that_holds():
    told = "make it with: council events schema > council/schemas/event.json"

    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), told
    assert json.loads(schema_text()) == event_schema()


def test_the_schema_is_itself_valid():
    Draft202012Validator.check_schema(event_schema())


@pytest.mark.req("P8-082")
def test_a_line_without_trace_agent_or_id_is_no_event():
    assert _faults(_line()) == []
    for name in ("traceId", "agentId", "eventId"):
        line = _line()
        del line[name]
        assert _faults(line) == [f"'{name}' is a required property"]


@pytest.mark.req("P8-083")
def test_what_passes_between_two_agents_names_both_and_the_limits_and_the_task():
    data = {"sessionKey": "agent:b:workflow:t", "task": "t", "depth": 1, "path": ["a", "b"]}
    fields = {"from_agent": "a", "to_agent": "b", "limits": {"maxDepth": 3}, "task_hash": "ab"}

    line = _line(type="agent.call.start", data=data, **fields)

    assert _faults(line) == []
    assert (line["fromAgentId"], line["toAgentId"]) == ("a", "b")
    assert (line["limits"], line["taskHash"]) == ({"maxDepth": 3}, "ab")
    for name in ("fromAgentId", "toAgentId", "limits", "taskHash"):
        assert _faults({key: value for key, value in line.items() if key != name})


@pytest.mark.req("P8-084")
def test_an_event_about_an_artifact_bears_its_id():
    data = {"size": 6, "contentType": "text/plain"}
    assert _faults(_line(type="artifact.fetch", artifacts=[ARTIFACT], data=data)) == []
    bare = _line(type="artifact.fetch", data=data)
    assert _faults(bare) == ["'artifactIds' is a required property"]
    assert _faults(_line(type="artifact.fetch", artifacts=["../x"], data=data))


def test_an_event_of_its_own_trace_names_it():
    assert _line()["traceId"] == "c"
    assert _line(trace="another")["traceId"] == "another"


def test_data_of_another_form_are_found():
    assert _faults(_line(type="deadline.extended", data={"seconds": 60})) == []
    assert _faults(_line(type="deadline.extended", data={"seconds": "60"}))
    assert _faults(_line(type="deadline.extended", data={}))
    assert _faults(_line(type="no.such"))


def test_fields_of_a_later_version_are_let_be():
    assert _faults({**_line(), "weight": 3}) == []
    assert _faults(_line(data={"why": "tired"})) == []
