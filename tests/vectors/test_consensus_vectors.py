"""The consensus and rotation cases of the rule vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from council.core.conversations.procedures import order_of, rotated
from council.core.deliberation.consensus import default_threshold, verdict, verdict_of_counts

RULES = Path(__file__).with_name("rules.jsonl")


def cases(area: str) -> dict[str, dict[str, Any]]:
    found = map(json.loads, RULES.read_text(encoding="utf-8").splitlines())
    return {case["id"]: case for case in found if case["area"] == area}


COUNTS, MATRICES, ROTATIONS = cases("consensus"), cases("consensus-matrix"), cases("rotation")

# The reference itself counts as agreeing: no stances come to a count without any agreement.
POSSIBLE = {number: case for number, case in COUNTS.items() if case["input"]["agree"]}


@pytest.mark.req("DL-041", "DL-045", "DL-046")
@pytest.mark.parametrize("case", COUNTS.values(), ids=COUNTS)
def test_the_counts_of_the_file_give_its_verdict(case: dict[str, Any]):
    given, expect = case["input"], case["expect"]
    kind = verdict_of_counts(
        given["n"],
        given["threshold"],
        given["agree"],
        given["partial"],
        given["disagree"],
        given["absent"],
    )
    assert {"type": kind, "reached": kind != "none"} == expect


@pytest.mark.req("DL-042")
@pytest.mark.parametrize("case", COUNTS.values(), ids=COUNTS)
def test_the_thresholds_of_the_file_are_the_default_ones(case: dict[str, Any]):
    assert default_threshold(case["input"]["n"]) == case["input"]["threshold"]


@pytest.mark.req("DL-041", "DL-045", "DL-046")
@pytest.mark.parametrize("case", POSSIBLE.values(), ids=POSSIBLE)
def test_stances_that_come_to_the_counts_of_the_file_give_its_verdict(case: dict[str, Any]):
    given, expect = case["input"], case["expect"]
    agents = [f"a{number}" for number in range(given["n"])]
    towards = [
        word
        for word in ("agree", "partial", "disagree", "")
        for _ in range(given[word or "absent"])
    ]
    stances = {agent: {"a0": word} for agent, word in zip(agents, towards, strict=True)}
    # All others are refused, unless that alone would spoil a strong one; by the
    # reference only where no one agrees with it: such agreement would be contested.
    if expect["type"] != "strong":
        for agent in agents[given["agree"] > 1 :]:
            stances.setdefault(agent, {}).update(
                {other: "disagree" for other in agents[1:] if other != agent}
            )
    found = verdict(agents, stances, {}, given["threshold"])
    assert found.reference == "a0"
    assert {"type": found.type, "reached": found.reached} == expect


@pytest.mark.req("DL-041", "DL-043", "DL-044", "DL-045", "HR-018")
@pytest.mark.parametrize("case", MATRICES.values(), ids=MATRICES)
def test_the_stances_of_the_file_give_its_verdict(case: dict[str, Any]):
    given = case["input"]
    asked: dict[str, list[str]] = {}
    for one, other in given.get("asked", ()):
        asked.setdefault(one, []).append(other)
    found = verdict(
        given["agents"], given["stances"], given["confidence"], given["threshold"], asked=asked
    )
    record = found.to_record()
    assert {name: record[name] for name in case["expect"]} == case["expect"]


@pytest.mark.req("DL-021")
@pytest.mark.parametrize("case", ROTATIONS.values(), ids=ROTATIONS)
def test_the_rotation_of_the_file_holds(case: dict[str, Any]):
    given = case["input"]
    assert list(rotated(given["agents"], given["round"])) == case["expect"]
    assert list(order_of("rotate", given["agents"], given["round"], seed="")) == case["expect"]


def test_the_file_has_cases_of_every_area():
    assert (len(COUNTS), len(MATRICES), len(ROTATIONS)) == (46, 15, 8)
