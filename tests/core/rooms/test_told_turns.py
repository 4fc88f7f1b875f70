"""Turns whose text lies elsewhere: what is told of them, and how they are over."""

from __future__ import annotations

import pytest

from council.core.rooms.floor import Report
from tests.core.rooms.samples import SECOND, Room

LONG = "On the whole I would take the quiet one, for all of us and for the cat. "
TAIL = LONG.rstrip()[-40:]


@pytest.mark.req("DG-157", "DG-145")
def test_a_pass_that_is_told_advances_at_once_whatever_its_fingerprint_says():
    room = Room("ann", "bob")
    assert room.end("ann", Report(empty=True, tail="not empty")).outcome == "advanced"
    assert room.channel.speaker == "bob"


@pytest.mark.req("DG-157", "DG-160")
def test_a_real_turn_that_is_told_is_over_when_its_fingerprint_is_seen():
    room = Room("ann", "bob")
    assert room.end("ann", Report(empty=False, tail=f"{TAIL}\n")).outcome == "awaiting-delivery"
    room.post("ann", "Something else.")
    assert room.channel.speaker == "ann"
    room.post("ann", LONG)
    assert room.channel.speaker == "bob"
    assert room.kinds("delivery.confirmed") == ["delivery.confirmed"]


@pytest.mark.req("DG-160", "DG-087")
def test_without_a_fingerprint_nothing_confirms_and_the_room_goes_on_with_a_warning():
    room = Room("ann", "bob")
    assert room.end("ann", Report(empty=False)).outcome == "awaiting-delivery"
    room.post("ann", LONG)
    assert room.channel.speaker == "ann"
    room.later(15 * SECOND)
    assert room.channel.speaker == "bob"
    assert room.kinds("delivery.confirmed", "delivery.timed_out") == ["delivery.timed_out"]


@pytest.mark.req("DG-160")
@pytest.mark.parametrize(("anchor", "confirmed"), [(0, True), (1, True), (2, False), (99, True)])
def test_only_what_comes_after_the_anchor_that_is_told_confirms(anchor: int, confirmed: bool):
    room = Room("ann", "bob")
    room.post("zoe", "Which kettle?")
    room.post("ann", LONG)
    room.end("ann", Report(empty=False, tail=TAIL, anchor=anchor))
    assert room.channel.speaker == ("bob" if confirmed else "ann")


def test_texts_that_are_not_known_are_no_repetitions():
    room = Room("ann", "bob")
    for number in range(5):
        for agent in ("ann", "bob"):
            room.end(agent, Report(empty=False, tail="Yours, as always."))
            room.post(agent, f"{number} {number * 7919}. Yours, as always.")
    assert (room.channel.cycle, room.channel.calmed) == (6, "")
