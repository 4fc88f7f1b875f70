"""The commands on the registry: what programs get, what people read, which code says what."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from council.core.protocol.registering import Joining
from council.operations.agents import add
from council.operations.place import Place
from council.operations.protocol.registry import join, receive
from council.wire.carried import message_of
from tests.store.records import value_in


def registry(council) -> dict:
    return value_in(council.root / "memory/shared/protocol/registry.jsonl")


@pytest.fixture
def staffed(council, now):
    """The command in a workspace where owl (W1) plans and a worker from outside (W2) searches."""
    place = Place(str(council.root), {}, now)
    for agent in ("owl", "gecko"):
        add(place, agent, {})
    join(place, Joining(agent="owl", capabilities=("plan", "reason")))
    sent = "M1|W2>O1|J|T0|-|-|-|0|S0|-|caps=web_search;desc=Research agent;max_depth=2"
    receive(place, message_of(sent))
    return council


@pytest.mark.req("PR-512", "PR-507")
def test_joining_tells_the_id_and_the_answer(staffed, now):
    done = staffed("agent", "join", "--as", "gecko", "--json", now=now).json()

    assert (done["outcome"], done["id"], done["agentId"]) == ("registered", "W3", "gecko")
    assert done["answer"] == "M1|O1>W3|A|T0|-|-|-|0|S0|-|registered;id=W3;status=active"
    again = staffed("agent", "join", "--as", "gecko", now=now)
    assert again.code == 0
    assert "W3 (gecko): already registered" in again.out


@pytest.mark.req("PR-514", "PR-405")
def test_a_second_one_of_the_same_id_is_a_conflict(staffed):
    done = staffed("agent", "join", "W2", "--json")
    in_v4 = staffed("agent", "join", "W2", "--version", "V4", "--json")
    for_people = staffed("agent", "join", "W2")

    assert (done.code, in_v4.code, for_people.code) == (4, 4, 4)
    error = done.json()["error"]
    assert error["code"] == "ID_CONFLICT"
    assert error["answer"] == "M2|O1>W2|E|T0|-|F|E99|0|S0|-|desc=ID_CONFLICT;id=W2"
    assert in_v4.json()["error"]["answer"] == "M2|O1>W2|E|-|-|-|E11|ID_CONFLICT"
    assert for_people.err.count("\n") == 1
    assert "ID_CONFLICT" in for_people.err


@pytest.mark.req("PR-404", "PR-591")
def test_one_that_speaks_v4_alone_gets_the_line_of_v4(staffed):
    done = staffed("agent", "join", "--version", "V4", "--json").json()

    assert done["answer"] == "M1|O1>W3|A|-|-|-|-|ID=W3"
    assert done["agent"]["version"] == "V4"


@pytest.mark.req("PR-518", "PR-305", "PR-504")
def test_orchestrators_and_routers_join_by_their_role(staffed):
    assert staffed("agent", "join", "--role", "R", "--json").json()["id"] == "R1"
    assert staffed("agent", "join", "--role", "orchestrator", "--json").json()["id"] == "O2"

    found = staffed("agent", "query", "--json").json()
    assert found["agents"] == ["O1", "O2", "W1", "W2", "R1"]
    assert staffed("agent", "query", "O*", "--json").json()["agents"] == ["O1", "O2"]


@pytest.mark.req("PR-515")
def test_a_question_tells_who_is_there_in_the_words_of_the_document(staffed):
    found = staffed("agent", "query", "W*", "--status", "active", "--json").json()

    assert found["answer"] == "agents=W1,W2;count=2"
    assert found["count"] == 2
    assert found["entries"][1] == {
        **found["entries"][1],
        "id": "W2",
        "role": "worker",
        "agentId": None,
        "capabilities": ["web_search"],
        "description": "Research agent",
        "maxDepth": 2,
        "groups": [],
    }
    shown = staffed("agent", "query").out
    assert max(map(len, shown.splitlines())) <= 80
    assert "W1  owl" in shown


@pytest.mark.req("PR-421", "PR-414", "XC-108")
def test_liveness_is_taken_in_once_a_cycle(staffed, now):
    first = staffed("agent", "liveness", "W2", "--load", "45%", "--queue", "2", now=now)
    second = staffed(
        "agent", "liveness", "W2", "--load", "9", "--json", now=now + timedelta(seconds=30)
    )
    third = staffed("agent", "liveness", "W2", "--load", "9", now=now + timedelta(seconds=60))

    assert (first.code, second.code, third.code) == (0, 0, 0)
    assert (second.json()["outcome"], second.json()["agent"]["load"]) == ("dropped", 45)
    assert "one liveness message counts in a cycle" in second.json()["warning"]
    assert "warning" in second.err
    assert registry(staffed)["agents"]["W2"]["load"] == 9
    shown = staffed("agent", "liveness", now=now + timedelta(seconds=90)).out
    assert "30s ago" in shown
    help_text = staffed("agent", "liveness", "--help").out.lower()
    assert "alive" in help_text
    assert "heartbeat" not in help_text


@pytest.mark.req("PR-422")
def test_a_heartbeat_marks_who_fell_silent(staffed, now):
    staffed("agent", "liveness", "W2", "--load", "45", now=now)

    assert staffed("heartbeat", now=now + timedelta(hours=1)).code == 0

    found = staffed("agent", "query", "--status", "unavailable", "--json").json()
    assert found["agents"] == ["W2"]
    events = staffed("events", "tail", "--json").out.splitlines()
    assert [
        one["data"]["code"] for one in map(json.loads, events) if one["type"] == "agent.unavailable"
    ] == ["E22"]


@pytest.mark.req("PR-508", "PR-510")
def test_capabilities_are_listed_shown_and_declared(staffed):
    assert len(staffed("agent", "caps", "--json").json()["standard"]) == 12
    assert staffed("agent", "caps", "owl").out == "plan\nreason\n"

    assert staffed("agent", "caps", "W2", "web_search,analyze_code").code == 0
    assert staffed("agent", "caps", "W2", "--json").json()["capabilities"] == [
        "web_search",
        "analyze_code",
    ]
    assert staffed("agent", "caps", "--as", "owl", "translate").code == 0
    soul = (staffed.root / "memory/agents/owl/SOUL.md").read_text()
    assert "capabilities: [translate]" in soul
    refused = staffed("agent", "caps", "W2", "Web-Search")
    assert refused.code == 3
    assert "small letters" in refused.err


@pytest.mark.req("PR-561", "PR-509")
def test_the_choice_of_a_worker_explains_itself(staffed):
    assert staffed("agent", "select", "plan,web_search").out == "W1\n"
    assert staffed("agent", "select", "plan,web_search", "--count", "2").out == "W1\nW2\n"

    found = staffed("agent", "select", "plan,reason", "--explain", "--json").json()
    assert found["selected"] == ["W1"]
    assert [(one["id"], one["score"], one["code"]) for one in found["candidates"]] == [
        ("W1", 1.0, None),
        ("W2", 0.0, "E19"),
    ]
    shown = staffed("agent", "select", "plan,reason", "--explain").out
    assert "has none of them" in shown
    assert max(map(len, shown.splitlines())) <= 80
    deep = staffed("agent", "select", "web_search", "--depth", "2", "--json")
    assert deep.code == 5
    assert {one["id"]: one["code"] for one in deep.json()["candidates"]} == {
        "W1": "E19",
        "W2": "E16",
    }


@pytest.mark.req("PR-561")
def test_the_threshold_stands_in_the_settings(staffed):
    (staffed.root / "council.toml").write_text("[protocol]\nthreshold = 0.9\n")

    done = staffed("agent", "select", "plan,web_search", "--json")
    assert (done.code, done.json()["selected"], done.json()["threshold"]) == (5, [], 0.9)
    assert staffed("agent", "select", "plan,web_search", "--threshold", "0.5").out == "W1\n"


@pytest.mark.req("PR-517", "PR-454")
def test_groups_are_made_shown_and_undone(staffed):
    assert staffed("agent", "group", "add", "G1", "owl", "W2").out == "G1: W1 W2\n"
    assert staffed("agent", "group", "list", "--json").json() == {"groups": {"G1": ["W1", "W2"]}}
    assert staffed("agent", "group", "remove", "G1", "W1", "--json").json()["members"] == ["W2"]
    assert staffed("agent", "group", "remove", "G1").out == "G1: nobody\n"

    refused = staffed("agent", "group", "add", "G1", "W2", "W9")
    assert (refused.code, registry(staffed)["groups"]) == (5, {})
    assert "W9 is not registered" in refused.err
    assert staffed("agent", "group", "add", "G1", "O1").code == 3


@pytest.mark.req("PR-510")
def test_who_leaves_says_why_and_is_gone(staffed):
    assert staffed("agent", "leave", "--as", "owl", "--reason", "shutdown").code == 0

    assert staffed("agent", "query", "--json").json()["agents"] == ["O1", "W2"]
    assert registry(staffed)["agents"]["W1"]["reason"] == "shutdown"
    assert staffed("agent", "leave", "--as", "owl").code == 5
    assert staffed("agent", "leave", "W9").code == 5


@pytest.mark.req("XC-101")
def test_all_ids_of_an_agent_stand_in_one_table(staffed):
    staffed("agent", "register", "123", "--as", "owl")
    staffed("agent", "edit", "owl", "--role", "Skeptic")
    staffed("convene", "A bot?", "--agents", "owl,gecko", "--role", "owl=Chair")

    one = staffed("agent", "show", "owl", "--json").json()
    rows = staffed("agent", "list", "--json").json()

    assert next(row for row in rows if row["agentId"] == "owl") == one
    assert (one["agentId"], one["protocolId"], one["accounts"]) == ("owl", "W1", ["123"])
    assert one["conversations"] == [{"name": "active", "role": "Chair"}]
    shown = staffed("agent", "list").out
    assert next(line for line in shown.splitlines() if line.startswith("owl")).split()[2:5] == [
        "Owl",
        "W1",
        "123",
    ]
    assert "W1 (worker, active, V5)" in staffed("agent", "show", "owl").out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("join", "--role", "group"), 2),
        (("join", "--role", "boss"), 2),
        (("join", "W3", "--role", "router"), 2),
        (("join", "W3", "W4"), 2),
        (("join", "--version", "V3"), 2),
        (("join", "--max-depth", "9"), 2),
        (("join", "--desc", "a|b"), 2),
        (("join", "--caps", "Web Search"), 3),
        (("query", "X*"), 3),
        (("query", "--status", "asleep"), 3),
        (("liveness", "W2", "--load", "much"), 2),
        (("liveness", "W2", "--load", "101"), 3),
        (("liveness", "W9", "--load", "1"), 5),
        (("select", "Web Search"), 3),
        (("select", "plan", "--threshold", "2"), 2),
        (("caps", "W9"), 5),
    ],
)
def test_bad_input_is_one_line_with_its_code_and_loses_nothing(staffed, words, code: int):
    before = registry(staffed)

    done = staffed("agent", *words)

    assert done.code == code, done.err
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    assert registry(staffed) == before


def test_a_run_neither_joins_nor_looks(staffed):
    inside = {"COUNCIL_TASK_ID": "t", "COUNCIL_AGENT": "owl"}

    assert staffed("agent", "join", "--as", "owl", env=inside).code == 6
    assert staffed("agent", "leave", "W1", env=inside).code == 6
