"""Liveness: load and queue, one message a cycle, and who falls silent."""

from __future__ import annotations

from datetime import timedelta

import pytest

from council.core.bounds import ProtocolRules
from council.core.protocol.liveness import expire, next_due, seen
from council.core.protocol.registry import EntryStatus
from tests.core.registries import NOW, RULES, lines_of, team, told

H = "M8|W1>O1|H|-|-|R|-|load=45%;queue=2"


@pytest.mark.req("PR-421")
def test_load_and_queue_are_taken_in():
    step = told(team("plan"), H)

    entry = step.registry.entries["W1"]
    assert (entry.load, entry.queue, entry.alive_at) == (45, 2, NOW)
    assert (step.replies, step.events) == ([], [])


@pytest.mark.req("PR-414")
def test_a_second_message_in_a_cycle_is_dropped_with_a_warning():
    first = told(team("plan"), H).registry

    soon = told(first, "M9|W1>O1|H|-|-|R|-|load=90%;queue=9", NOW + timedelta(seconds=59))
    later = told(first, "M9|W1>O1|H|-|-|R|-|load=90%;queue=9", NOW + RULES.liveness_cycle)

    assert soon.registry == first
    assert "one liveness message counts in a cycle" in soon.reason
    assert [one.type for one in soon.events] == ["liveness.dropped"]
    assert later.registry.entries["W1"].load == 90


@pytest.mark.parametrize(
    "data", ["load=101%;queue=1", "load=-1%;queue=1", "load=x;queue=1", "queue=1", "load=5;queue=x"]
)
def test_a_load_that_cannot_be_is_refused(data: str):
    step = told(team("plan"), f"M8|W1>O1|H|T0|-|R|-|0|S0|-|{data}")

    assert step.replies[0].message.code == "E10"
    assert step.registry.entries["W1"].alive_at is None


@pytest.mark.req("PR-422")
def test_who_falls_silent_is_unavailable_and_e22():
    registry = told(team("plan", "plan"), H).registry
    due = NOW + RULES.liveness_timeout

    before = expire(registry, due - timedelta(seconds=1), RULES)
    step = expire(registry, due, RULES)

    assert before.registry == registry
    assert step.registry.entries["W1"].status is EntryStatus.UNAVAILABLE
    assert step.registry.entries["W2"].status is EntryStatus.ACTIVE
    assert lines_of(step) == ["M1|O1>W1|E|T0|-|F|E22|0|S0|-|desc=no liveness;id=W1;last=900s"]
    assert [(one.type, one.data["code"]) for one in step.events] == [("agent.unavailable", "E22")]
    assert expire(step.registry, due + timedelta(days=1), RULES).registry == step.registry


def test_it_is_back_with_its_next_sign_of_life():
    silent = expire(told(team("plan"), H).registry, NOW + timedelta(hours=1), RULES).registry

    for step in (
        told(silent, H, NOW + timedelta(hours=2)),
        seen(silent, "W1", NOW + timedelta(hours=2)),
    ):
        assert step.registry.entries["W1"].status is EntryStatus.ACTIVE
        assert [one.type for one in step.events] == ["agent.available"]


def test_any_message_is_a_sign_of_life_and_only_who_began_has_to_go_on():
    registry = told(team("plan", "plan"), H).registry
    later = NOW + timedelta(minutes=10)
    active = seen(registry, "W1", later).registry

    assert next_due(registry, RULES) == NOW + RULES.liveness_timeout
    assert next_due(active, RULES) == later + RULES.liveness_timeout
    assert next_due(team("plan"), RULES) is None
    assert expire(team("plan"), NOW + timedelta(days=9), RULES).events == []


def test_cycle_and_time_limit_can_be_chosen():
    rules = ProtocolRules(
        liveness_cycle=timedelta(seconds=1), liveness_timeout=timedelta(seconds=5)
    )
    registry = told(team("plan"), H, rules=rules).registry
    again = told(registry, H, NOW + timedelta(seconds=2), rules=rules)

    assert not again.reason
    assert next_due(again.registry, rules) == NOW + timedelta(seconds=7)
