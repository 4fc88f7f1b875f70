"""Choosing a worker: who is left out and why, and how many are taken."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from council.core.protocol.liveness import expire, used
from council.core.protocol.registry import Entry, registry_from_record
from council.core.protocol.selection import candidates_of, select
from tests.core.registries import NOW, RULES, joined, team, told


def worker(number: int, *capabilities: str, **values: object) -> Entry:
    return Entry(id=f"W{number}", capabilities=capabilities, **values)


@pytest.mark.req("PR-561")
def test_each_candidate_says_what_speaks_for_it_and_why_it_was_left_out():
    found = select(
        ["plan", "reason"],
        [
            worker(1, "plan"),
            worker(2, "code_exec"),
            worker(3, "plan", "reason", status="unavailable"),
            worker(4, "plan", "reason", max_depth=2),
            worker(5, "plan", "reason", load=80),
            worker(6, "plan", "reason"),
        ],
        depth=2,
        without=["W6"],
    )

    told = {one.candidate.id: (one.matched, one.missing, one.score) for one in found.candidates}
    why = {one.candidate.id: (one.why_not, one.code) for one in found.candidates}
    assert found.order == ("W5", "W1")
    assert told["W1"] == (("plan",), ("reason",), 0.5)
    assert why == {
        "W5": ("", ""),
        "W1": ("", ""),
        "W2": ("has none of them", "E19"),
        "W3": ("is unavailable", "E30"),
        "W4": ("serves depths below 2, not 2", "E16"),
        "W6": ("is left out", ""),
    }


@pytest.mark.req("PR-561")
def test_the_threshold_can_be_chosen_and_the_first_few_be_taken():
    workers = [worker(1, "plan"), worker(2, "plan", "reason"), worker(3, "plan", "reason")]

    assert select(["plan", "reason"], workers, threshold=0.6).order == ("W2", "W3")
    assert select(["plan", "reason"], workers, threshold=0.5).first(2) == ("W2", "W3")
    assert select(["plan", "reason"], workers).first() == ("W2",)
    assert select(["nothing"], workers, threshold=0).order == ()
    assert select([], workers).order == ("W1", "W2", "W3")


@pytest.mark.req("PR-561")
def test_equals_come_in_the_order_of_their_numbers():
    workers = [worker(number, "plan") for number in (10, 9, 2)]

    assert select(["plan"], workers).order == ("W2", "W9", "W10")


@pytest.mark.req("PR-561")
def test_of_those_that_were_used_the_one_longest_ago_comes_first():
    workers = [
        worker(1, "plan", used_at=NOW),
        worker(2, "plan", used_at=NOW - timedelta(hours=1)),
        worker(3, "plan"),
    ]

    assert select(["plan"], workers).order == ("W3", "W2", "W1")


@pytest.mark.req("PR-561")
def test_workers_that_were_given_work_in_the_same_second_take_turns():
    registry, chosen = team("plan", "plan", "plan"), []
    for _ in range(7):
        chosen += select(["plan"], candidates_of(registry)).first()
        written = used(registry, NOW, chosen[-1]).to_record()
        registry = registry_from_record(json.loads(json.dumps(written)))

    assert chosen == ["W1", "W2", "W3", "W1", "W2", "W3", "W1"]
    assert {one.used_at for one in registry.entries.values()} == {NOW}, "no time is made up"


@pytest.mark.req("PR-509")
def test_the_registry_gives_its_workers_with_load_use_and_status():
    registry = joined(
        "M1|R1>O1|J|T0|-|-|-|0|S0|-|caps=plan", registry=team("plan", "plan", "plan", "plan")
    )
    registry = told(registry, "M1|W1>O1|H|-|-|R|-|load=60%;queue=0").registry
    registry = told(registry, "M1|W4>O1|H|-|-|R|-|load=0%;queue=0").registry
    registry = used(registry, NOW, "W2")
    registry = told(
        registry, "M2|W1>O1|H|-|-|R|-|load=60%;queue=0", NOW + timedelta(hours=1)
    ).registry
    registry = expire(registry, NOW + timedelta(hours=1), RULES).registry

    found = select(["plan"], candidates_of(registry))

    assert found.order == ("W3", "W2", "W1")
    assert [one.candidate.id for one in found.candidates if one.why_not] == ["W4"]
