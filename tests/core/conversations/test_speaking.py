"""The four orders of speaking."""

from __future__ import annotations

from collections import Counter

import pytest

from council.core.conversations.procedures import ORDERS, order_of, rotated, shuffled
from council.core.errors import UsageError

THREE = ("claude", "gpt", "glm")


@pytest.mark.req("DL-021")
def test_every_agent_opens_once_before_anybody_opens_again():
    for count in range(1, 8):
        agents = [f"a{number}" for number in range(count)]
        openers = [rotated(agents, number)[0] for number in range(1, 2 * count + 1)]
        assert openers == agents * 2


@pytest.mark.req("DL-021")
def test_a_rotation_keeps_who_follows_whom():
    assert rotated(THREE, 2) == ("gpt", "glm", "claude")
    assert rotated(THREE, 3) == ("glm", "claude", "gpt")


@pytest.mark.req("XC-104")
def test_four_orders_are_offered_by_name():
    assert ORDERS == ("parallel", "fixed", "rotate", "shuffle")
    assert order_of("parallel", THREE, 2, seed="s") == THREE
    assert order_of("fixed", THREE, 2, seed="s") == THREE
    assert order_of("rotate", THREE, 2, seed="s") == ("gpt", "glm", "claude")
    assert sorted(order_of("shuffle", THREE, 2, seed="s")) == sorted(THREE)


@pytest.mark.req("XC-104")
def test_an_unknown_order_is_refused_with_the_known_ones():
    with pytest.raises(UsageError) as refusal:
        order_of("random", THREE, 1, seed="s")
    assert "parallel, fixed, rotate, shuffle" in refusal.value.hint


def test_nobody_and_one_alone_have_an_order_too():
    for kind in ORDERS:
        assert order_of(kind, (), 3, seed="s", last="ann") == ()
        assert order_of(kind, ("ann",), 3, seed="s", last="ann") == ("ann",)


@pytest.mark.req("XC-004")
def test_a_shuffle_follows_from_conversation_and_round_alone():
    agents = ("a", "b", "c", "d", "e")
    assert order_of("shuffle", agents, 2, seed="one") == order_of(
        "shuffle", agents[::-1], 2, seed="one"
    )
    orders = {order_of("shuffle", agents, number, seed="one") for number in range(1, 30)}
    assert len(orders) > 20
    seeds = {order_of("shuffle", agents, 2, seed=f"seed {number}") for number in range(30)}
    assert len(seeds) > 20


@pytest.mark.req("DG-064")
def test_in_1000_shuffles_nobody_speaks_twice_running():
    for agents in (("a", "b"), THREE, ("a", "b", "c", "d")):
        last = ""
        for number in range(1, 1001):
            order = order_of("shuffle", agents, number, seed="conversation", last=last)
            assert sorted(order) == sorted(agents)
            assert order[0] != last
            last = order[-1]


def test_the_allowed_shuffles_are_about_equally_likely():
    seen = Counter(shuffled(THREE, seed=f"seed {number}", last="gpt") for number in range(2000))
    assert len(seen) == 4
    assert all(400 < count < 600 for count in seen.values())
