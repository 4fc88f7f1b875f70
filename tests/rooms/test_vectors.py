"""The published vectors of document 001."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from council.kernel.ids import shuffled
from council.rooms import hearing, rules
from council.rooms.model import Message

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "vectors" / "rooms.jsonl").open(encoding="utf-8")
]


def seen(area: str, given: Any) -> Any:
    if area == "tm-state":
        return rules.turn_state(given["mode"], given["agents"], given["concluded"])
    if area == "mode-change":
        return rules.may_change(given["from"], given["to"])
    if area == "empty-turn":
        return hearing.is_pass(given)
    if area == "dormant":
        empty = [one if one is None else one == "E" for one in given["turns"]]
        return rules.is_dormant(empty, given["newAgents"])
    if area == "tail-match":
        said = [Message(**one, at="", agent_id=one["author"]) for one in given["messages"]]
        tail = hearing.tail_of(given["reply"], given["length"])
        return hearing.has_arrived(tail, said, given["anchor"], given["author"])
    if "seeds" in given:
        orders = [
            shuffled(given["members"], given["lastSpeaker"], str(seed)) for seed in given["seeds"]
        ]
        assert len(set(map(tuple, orders))) > 2
        return (
            {"never_first": given["lastSpeaker"]}
            if all(
                order[0] != given["lastSpeaker"] and sorted(order) == sorted(given["members"])
                for order in orders
            )
            else orders
        )
    return rules.rebuilt(given["previous"], given["members"])


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_vector(row: Any) -> None:
    assert seen(row["area"], row["input"]) == row["expect"]
