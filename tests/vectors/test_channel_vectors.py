"""The rule vectors of channels: turns, deliveries, states, modes, sleep, lists."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from council.core.conversations.procedures import shuffled
from council.core.reading_answers.cleaning import is_pass
from council.core.rooms.channels import Message, Mode, Result, TurnState
from council.core.rooms.cycles import is_dormant, rebuilt, turn_state
from council.core.rooms.floor import has_arrived, may_change_mode, tail_of

RULES = Path(__file__).with_name("rules.jsonl")

# The vectors are those of document 001, where one agent alone takes no turns. OP-014, which
# came later, has a room of one answer, so these two are amended: it takes turns as two do.
AMENDED = {"tm-state-05": "normal", "tm-state-11": "normal"}


def cases(area: str) -> list[Any]:
    found = map(json.loads, RULES.read_text(encoding="utf-8").splitlines())
    return [pytest.param(case, id=case["id"]) for case in found if case["area"] == area]


def test_no_area_of_channels_is_empty():
    for area in ("empty-turn", "tail-match", "tm-state", "mode-change", "dormant", "rebuild"):
        assert cases(area)


@pytest.mark.req("DG-077", "DG-141")
@pytest.mark.parametrize("case", cases("empty-turn"))
def test_turn_of_the_file_is_classified_as_it_says(case: dict[str, Any]):
    assert is_pass(case["input"]) is case["expect"]


@pytest.mark.req("DG-081", "DG-082", "DG-083", "DG-084")
@pytest.mark.parametrize("case", cases("tail-match"))
def test_delivery_of_the_file_is_matched_as_it_says(case: dict[str, Any]):
    given = case["input"]
    messages = [
        Message(at=datetime(2026, 2, 8, tzinfo=UTC), **message) for message in given["messages"]
    ]
    tail = tail_of(given["reply"], given["length"])
    arrived = has_arrived(tail, messages, anchor=given["anchor"], author=given["author"])
    assert arrived is case["expect"]


@pytest.mark.req("DG-039", "OP-014")
@pytest.mark.parametrize("case", cases("tm-state"))
def test_mode_and_head_count_of_the_file_give_its_state(case: dict[str, Any]):
    given, expect = case["input"], AMENDED.get(case["id"], case["expect"])
    assert turn_state(given["mode"], given["agents"], given["concluded"]) == expect
    assert turn_state(Mode(given["mode"]), given["agents"], given["concluded"]) == expect


@pytest.mark.req("DG-039")
def test_every_mode_and_head_count_has_the_state_of_the_table():
    off, dead, normal, shuffle = (
        TurnState.DISABLED,
        TurnState.DEAD,
        TurnState.NORMAL,
        TurnState.SHUFFLE,
    )
    by_count = [off, normal, normal, shuffle, shuffle]
    table = {
        Mode.NONE: [off] * 5,
        Mode.WORK: [off] * 5,
        Mode.REPORT: [dead] * 5,
        Mode.DISCUSSION: by_count,
        Mode.CHAT: by_count,
    }
    for mode in Mode:
        assert [turn_state(mode, count) for count in range(5)] == table[mode]
    assert {turn_state(Mode.DISCUSSION, n, True) for n in range(5)} == {TurnState.ARCHIVED}


@pytest.mark.req("DG-037", "DG-038")
@pytest.mark.parametrize("case", cases("mode-change"))
def test_change_of_mode_of_the_file_is_allowed_as_it_says(case: dict[str, Any]):
    old, new = Mode(case["input"]["from"]), Mode(case["input"]["to"])
    assert may_change_mode(old, new) is case["expect"]


@pytest.mark.req("DG-037", "DG-038")
def test_a_mode_changes_only_among_the_free_ones():
    free = {Mode.NONE, Mode.CHAT, Mode.REPORT}
    for old in Mode:
        for new in Mode:
            assert may_change_mode(old, new) is ({old, new} <= free)


@pytest.mark.req("DG-092", "DG-094", "DG-097")
@pytest.mark.parametrize("case", cases("dormant"))
def test_cycle_of_the_file_puts_to_sleep_as_it_says(case: dict[str, Any]):
    turns = [
        None if turn is None else Result(agent=f"a{place}", empty=turn == "E")
        for place, turn in enumerate(case["input"]["turns"])
    ]
    assert is_dormant(turns, case["input"]["newAgents"]) is case["expect"]


@pytest.mark.req("DG-103")
def test_a_cycle_in_which_nobody_completed_a_turn_puts_to_sleep():
    assert is_dormant([None, None], 0)
    assert is_dormant([], 0)


@pytest.mark.req("DG-068", "DG-069")
@pytest.mark.parametrize("case", cases("rebuild"))
def test_list_of_the_file_is_rebuilt_as_it_says(case: dict[str, Any]):
    given, expect = case["input"], case["expect"]
    made = rebuilt(given["previous"], given["members"])
    if isinstance(expect, list):
        assert made == tuple(expect)
        return
    for seed in given["seeds"]:
        order = shuffled(made, seed=str(seed), last=given["lastSpeaker"])
        assert sorted(order) == sorted(given["members"])
        assert order[0] != expect["never_first"]


@pytest.mark.req("DG-068")
def test_who_left_is_taken_out_of_the_list():
    assert rebuilt(["a", "b", "c"], ["c", "a"]) == ("a", "c")
    assert rebuilt([], []) == ()
