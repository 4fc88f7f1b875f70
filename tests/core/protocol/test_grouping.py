"""Groups, broadcasts and routers: whom a message reaches."""

from __future__ import annotations

from datetime import timedelta

import pytest

from council.core.protocol.grouping import (
    add_members,
    groups_of,
    relay_target,
    remove_members,
    targets,
)
from council.core.protocol.liveness import expire
from council.wire.carried import line_of, message_of
from tests.core.registries import NOW, RULES, joined, lines_of, team, told

REGISTRY = joined(
    "M1|O2>O1|J|T0|-|-|-|0|S0|-|desc=another",
    "M1|R1>O1|J|T0|-|-|-|0|S0|-|desc=a relay",
    registry=team("a", "b", "c"),
)


@pytest.mark.req("PR-304", "PR-504")
@pytest.mark.parametrize(
    ("sender", "receiver", "reached"),
    [
        ("O1", "*", ("O2", "W1", "W2", "W3", "R1")),
        ("W2", "*", ("O1", "O2", "W1", "W3", "R1")),
        ("O1", "W*", ("W1", "W2", "W3")),
        ("W1", "W*", ("W2", "W3")),
        ("O1", "W2", ("W2",)),
        ("O1", "W9", ()),
        ("O1", "G1", ()),
        ("O1", "User", ("User",)),
    ],
)
def test_a_message_reaches_everybody_it_names_and_never_its_sender(sender, receiver, reached):
    assert targets(REGISTRY, sender, receiver) == reached


def test_who_left_is_not_reached_and_who_is_silent_is():
    registry = told(REGISTRY, "M1|W1>O1|L|T0|-|-|-|0|S0|-|reason=x").registry
    registry = told(registry, "M1|W2>O1|H|-|-|R|-|load=1%;queue=0").registry
    registry = expire(registry, NOW + timedelta(hours=1), RULES).registry

    assert targets(registry, "O1", "W*") == ("W2", "W3")


@pytest.mark.req("PR-517", "PR-454")
def test_a_message_to_a_group_reaches_each_member_once():
    step = add_members(REGISTRY, "G1", ["W3", "W1", "W3"])
    step = add_members(step.registry, "G1", ["W1", "W2"])

    assert targets(step.registry, "O1", "G1") == ("W1", "W2", "W3")
    assert targets(step.registry, "W2", "G1") == ("W1", "W3")
    assert groups_of(step.registry, "W2") == ["G1"]
    assert lines_of(step) == ["M3|O1>W2|B|T0|-|-|-|0|S0|-|JOIN;group=G1;members=W2"]
    assert step.events[0].data["members"] == ["W3", "W1", "W2"]


@pytest.mark.req("PR-517", "PR-454")
def test_members_are_taken_out_one_by_one_or_all_at_once():
    full = add_members(REGISTRY, "G1", ["W1", "W2"]).registry

    one = remove_members(full, "G1", ["W1"])
    everybody = remove_members(full, "G1")

    assert one.registry.groups == {"G1": ["W2"]}
    assert lines_of(one)[0].endswith("LEAVE;group=G1;members=W1")
    assert everybody.registry.groups == {}


@pytest.mark.parametrize(
    ("group", "members", "reason"),
    [
        ("W1", ["W2"], "W1 is no group"),
        ("G0", ["W2"], "G0 is no group"),
        ("G1", ["O2"], "O2 is no worker"),
        ("G1", ["W9"], "W9 is not registered"),
        ("G1", ["W1", "W9"], "W9 is not registered"),
        ("G1", [], "no members"),
    ],
)
def test_a_group_is_made_of_registered_workers(group, members, reason):
    step = add_members(REGISTRY, group, members)

    assert reason in step.reason
    assert step.registry == REGISTRY
    assert [one.type for one in step.events] == ["group.refused"]


def test_who_is_not_in_a_group_cannot_be_taken_out():
    full = add_members(REGISTRY, "G1", ["W1"]).registry

    assert remove_members(full, "G1", ["W2"]).reason == "W2 is not in G1"
    assert remove_members(full, "G2").reason == "there is no group G2"


@pytest.mark.req("PR-454")
def test_o1_changes_a_group_by_b_and_a_worker_leaves_it_by_itself():
    made = told(REGISTRY, "M1|O1>G2|B|-|-|-|-|JOIN;members=W1,W2")
    left = told(made.registry, "M1|W1>O1|U|T0|-|-|-|0|S0|-|LEAVE;group=G2")
    wrong = told(REGISTRY, "M1|O1>G2|B|T0|-|-|-|0|S0|-|JOIN;members=W8")

    assert made.registry.groups == {"G2": ["W1", "W2"]}
    assert left.registry.groups == {"G2": ["W2"]}
    assert wrong.replies[0].message.code == "E10"
    assert wrong.registry == REGISTRY


@pytest.mark.req("PR-516", "PR-518")
def test_a_router_passes_a_message_on_to_the_target_that_it_names():
    relay = relay_target(REGISTRY, message_of("M5|O1>R1|R|T4|P1|N|-|0|S1|B5|call=plan;to=W3"), NOW)

    assert (relay.target, relay.fault) == ("W3", None)


@pytest.mark.req("PR-516")
@pytest.mark.parametrize(
    ("data", "answer"),
    [
        ("call=plan;to=W9", "M6|R1>O1|E|T4|P1|F|E41|0|S1|-|id=W9"),
        ("call=plan;to=R1", "M6|R1>O1|E|T4|P1|F|E13|0|S1|-|id=R1"),
        ("call=plan", "M6|R1>O1|E|T4|P1|F|E13|0|S1|-|desc=to= names no target"),
        ("call=plan;to=nobody", "M6|R1>O1|E|T4|P1|F|E13|0|S1|-|id=nobody"),
    ],
)
def test_a_target_that_cannot_be_reached_is_reported_to_the_sender(data: str, answer: str):
    relay = relay_target(REGISTRY, message_of(f"M5|O1>R1|R|T4|P1|N|-|0|S1|B5|{data}"), NOW)

    assert relay.target == ""
    assert line_of(relay.fault) == answer


@pytest.mark.req("PR-516")
def test_a_silent_target_is_e30_with_the_time_since_its_last_sign():
    registry = told(REGISTRY, "M1|W3>O1|H|-|-|R|-|load=1%;queue=0").registry
    now = NOW + timedelta(seconds=1200)
    registry = expire(registry, now, RULES).registry

    relay = relay_target(registry, message_of("M5|O1>R1|R|T4|-|-|-|0|S1|-|a=b;to=W3"), now)

    assert line_of(relay.fault) == "M6|R1>O1|E|T4|-|F|E30|0|S1|-|id=W3;last=1200s"
    assert line_of(relay.fault, "V4") == "M6|R1>O1|E|T4|-|F|E07|id=W3;last=1200s"


def test_a_router_that_nobody_knows_is_unknown():
    relay = relay_target(REGISTRY, message_of("M5|O1>R7|R|T4|-|-|-|0|S1|-|a=b;to=W3"), NOW)

    assert line_of(relay.fault) == "M6|O1>O1|E|T4|-|F|E41|0|S1|-|id=R7"
