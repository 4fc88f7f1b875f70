"""The JSON form of an exchange, both ways."""

from __future__ import annotations

import json
from typing import Any

import pytest

from council.core.errors import InvalidStateError, NewerVersionError
from council.core.protocol.exchange_records import (
    exchange_from_record,
)
from tests.core.exchanges import NOW, Context


def busy() -> Context:
    """Return a context in which a bit of everything has happened."""
    context = Context()
    context.ask(orchestrator="comet")
    context.start("comet")
    context.beat(context.now - NOW)
    context.order("M1|O1>W1|R|T2|P1|N|-|0|S1|B100|call=web_search")
    due = context.start("W1")
    context.hear("M2|W1>W2|X|T2|P1|R|-|1|S1|B10|call=web_search", due.run)
    context.work("W2", "C|R|-|1|B5|question=q?;options=a,b")
    return context


def record() -> dict[str, Any]:
    return json.loads(json.dumps(busy().exchange.to_record()))


@pytest.mark.req("XC-013")
def test_an_exchange_comes_back_as_it_was():
    exchange = busy().exchange

    assert exchange_from_record(exchange.to_record()) == exchange


@pytest.mark.req("XC-013")
def test_fields_of_the_future_survive_wherever_they_stand():
    told = record()
    for place in (
        told,
        told["tasks"]["T2"],
        told["tasks"]["T2"]["hops"][0],
        told["tasks"]["T2"]["hops"][0]["attempts"][0],
        told["tasks"]["T2"]["questions"][0],
        told["posted"][0],
        next(iter(told["runs"].values())),
    ):
        place["future"] = {"a": [1]}

    assert exchange_from_record(told).to_record() == told


@pytest.mark.req("XC-013")
def test_an_exchange_of_a_newer_version_is_not_read():
    with pytest.raises(NewerVersionError):
        exchange_from_record({**record(), "schemaVersion": 2})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"ctx": None}, "ctx"),
        ({"openedAt": "yesterday"}, "openedAt"),
        ({"openedAt": None}, "openedAt"),
        ({"status": "half"}, "status"),
        ({"tasks": []}, "tasks"),
        ({"tasks": {"T1": {}}}, "tasks"),
        ({"tasks": {"T1": 3}}, "tasks"),
        ({"posted": [{}]}, "posted"),
        ({"posted": [{"message": {"pairs": [["a"]]}, "at": "2026-01-01T00:00:00Z"}]}, "posted"),
        ({"nextMessage": -1}, "nextMessage"),
        ({"nextMessage": True}, "nextMessage"),
        ({"values": {"a": 1}}, "values"),
        ({"keptOpen": "yes"}, "keptOpen"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], named: str):
    with pytest.raises(InvalidStateError, match=named):
        exchange_from_record({**record(), **change})


@pytest.mark.parametrize("value", [None, 3, "x", []])
def test_what_is_no_object_is_no_exchange(value: object):
    with pytest.raises(InvalidStateError):
        exchange_from_record(value)


def test_only_the_id_and_the_time_of_opening_are_needed():
    found = exchange_from_record(
        {"ctx": "S1", "openedAt": "2026-02-08T20:00:00Z", "updatedAt": "2026-02-08T20:00:00Z"}
    )

    assert (found.context, found.opened_at, found.tasks) == ("S1", NOW, {})


@pytest.mark.req("PR-585")
def test_the_record_of_a_task_names_its_hops_attempts_and_times():
    task = busy().exchange.tasks["T2"]

    told = task.to_record()

    assert (told["id"], told["state"], told["createdAt"]) == ("T2", "R", "2026-02-08T20:00:00Z")
    assert [one["depth"] for one in told["hops"]] == [0, 1]
    assert told["hops"][0]["attempts"][0]["worker"] == "W1"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tasks", "T2", "id"), "T9"),
        (("tasks", "T2", "hops", 1, "parent"), 2),
        (("tasks", "T2", "hops", 1, "parent"), 7),
        (("tasks", "T2", "hops", 1, "parentAttempt"), 4),
        (("tasks", "T2", "hops", 1, "number"), 3),
        (("tasks", "T2", "hops", 1, "attempts", 0, "number"), 0),
        (("tasks", "T2", "questions", 0, "hop"), 9),
        (("tasks", "T2", "questions", 0, "attempt"), 9),
        (("runs", "S1.1.W1.1", "hop"), 9),
        (("runs", "S1.1.W1.1", "attempt"), 9),
        (("runs", "S1.1.W1.1", "id"), "x"),
    ],
)
def test_what_names_a_part_that_is_not_there_is_no_exchange(path: tuple[Any, ...], value: Any):
    told = record()
    place = told
    for step in path[:-1]:
        place = place[step]
    assert place[path[-1]] != value
    place[path[-1]] = value

    with pytest.raises(InvalidStateError, match="not there"):
        exchange_from_record(told)
