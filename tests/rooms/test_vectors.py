"""The published vectors of document 001."""

from contextlib import suppress
from typing import Any

import pytest

from council.kernel.errors import Refusal
from council.kernel.ids import shuffled
from council.rooms import decisions, hearing, rules
from council.rooms.model import Message, Room
from tests.rooms.play import START
from tests.vectors.rows import of

AREAS = ("tm-state", "mode-change", "empty-turn", "dormant", "tail-match", "rebuild")


def seen(area: str, given: Any) -> Any:
    if area == "tm-state":
        return rules.turn_state(given["mode"], given["agents"], given["concluded"])
    if area == "mode-change":
        with suppress(Refusal):
            decisions.mode(Room(mode=given["from"]), given["to"], START)
            return True
        return False
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
        here, last = given["members"], given["lastSpeaker"]
        orders = [shuffled(here, last, str(seed)) for seed in given["seeds"]]
        assert len(set(map(tuple, orders))) > 2
        assert all(sorted(order) == sorted(here) for order in orders)
        return {"never_first": last if last not in {order[0] for order in orders} else ""}
    return rules.rebuilt(given["previous"], given["members"])


@pytest.mark.parametrize("row", of("rules", *AREAS))
def test_a_vector(row: Any) -> None:
    assert seen(row["area"], row["input"]) == row["expect"]
