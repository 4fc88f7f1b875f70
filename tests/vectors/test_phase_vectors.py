"""The phase cases of the rule vectors, and the rest of their table, played through the machine.

The cases in the file are a part of a table: all answered, waiting in time,
waiting too long for each phase; all agreed for each mode. The whole table is
derived here from the rows.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from council.core.conversations.conversation import Conversation
from council.core.conversations.machine import advance
from council.core.conversations.records import from_record

RULES = Path(__file__).with_name("rules.jsonl")
PHASES = ("COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE")
AGENTS = ("henry", "sage", "nova")


def in_file() -> dict[str, dict[str, Any]]:
    cases = map(json.loads, RULES.read_text(encoding="utf-8").splitlines())
    return {case["id"]: case for case in cases if case["area"] == "phase"}


def table() -> dict[str, dict[str, Any]]:
    """Return every case of the table by its number, in the order of the file."""
    made: list[dict[str, Any]] = []
    for tour, (phase, following) in enumerate(pairwise(PHASES), start=1):
        base = {"phase": phase, "tour": tour}
        waiting = ["RESPONDED", "WAITING", "RESPONDED"]
        after = {"phase": following, "tour": tour + 1}
        made += [
            {
                "name": "all answered",
                "input": {
                    **base,
                    "statuses": ["RESPONDED", "DONE", "RESPONDED"],
                    "timedOut": False,
                },
                "expect": {**after, "reset": ["WAITING", "DONE", "WAITING"]},
            },
            {
                "name": "waiting, no timeout",
                "input": {**base, "statuses": waiting, "timedOut": False},
                "expect": {**base, "reset": None},
            },
            {
                "name": "waiting, timeout",
                "input": {**base, "statuses": waiting, "timedOut": True},
                "expect": {**after, "noResponse": [1]},
            },
        ]
    for mode in ("debate", "analysis", "prd", "review", "synthesis"):
        early = mode in ("debate", "analysis")
        made.append(
            {
                "name": "all AGREED early",
                "input": {"mode": mode, "phase": "CHALLENGE", "statuses": ["AGREED"] * 3},
                "expect": {"phase": "SYNTHESIZE", "status": "CONVERGED"}
                if early
                else {"phase": "RESOLVE", "status": "ACTIVE"},
            }
        )
    return {f"phase-{number:02}": case for number, case in enumerate(made, start=1)}


def conversation(given: dict[str, Any]) -> Conversation:
    """Return the state block of a case, in the form of the document."""
    return from_record(
        {
            "conversationId": "0f8fad5b-d9cb-469f-a165-70867728950e",
            "mode": given.get("mode", "debate"),
            "currentPhase": given["phase"],
            "tour": given.get("tour", PHASES.index(given["phase"]) + 1),
            "createdAt": "2026-02-08T20:00:00Z",
            "updatedAt": "2026-02-08T20:15:00Z",
            "timeoutAt": "2026-02-08T21:00:00Z",
            "status": "ACTIVE",
            "participants": {
                agent: {"status": status, "lastAction": None}
                for agent, status in zip(AGENTS, given["statuses"], strict=False)
            },
            "convergence": {"responseRate": 0, "hasConsensus": False, "blockingIssues": []},
        }
    )


def play(case: dict[str, Any]) -> None:
    state = conversation(case["input"])
    minutes = 61 if case["input"].get("timedOut") else 30
    now = state.created_at + minutes * (state.timeout_at - state.created_at) / 60
    step = advance(state, now)
    expect = case["expect"]
    assert step.state.phase == expect["phase"]
    if "tour" in expect:
        assert step.state.tour == expect["tour"]
    if "status" in expect:
        assert step.state.status == expect["status"]
    if "reset" in expect:
        kept = expect["reset"] or case["input"]["statuses"]
        assert [one.status for one in step.state.participants.values()] == kept
    missed = [event.agent for event in step.events if event.type == "turn.missed"]
    assert missed == [AGENTS[number] for number in expect.get("noResponse", [])]
    if missed:
        assert list(step.state.rounds[0].absent) == missed


@pytest.mark.req("C0-027", "C0-028", "C0-029", "C0-061", "C0-062", "C0-072", "C0-074", "C0-075")
@pytest.mark.parametrize("case", in_file().values(), ids=in_file())
def test_the_case_of_the_file_holds(case: dict[str, Any]):
    play(case)


@pytest.mark.req("C0-027", "C0-028", "C0-029", "C0-061", "C0-062", "C0-072", "C0-074", "C0-075")
@pytest.mark.parametrize("case", table().values(), ids=table())
def test_the_case_of_the_whole_table_holds(case: dict[str, Any]):
    play(case)


def test_the_derived_table_says_what_the_file_says():
    derived = table()
    for number, case in in_file().items():
        for part in ("name", "input", "expect"):
            assert derived[number][part] == case[part], number
