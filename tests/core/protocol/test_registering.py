"""Joining: who gets which id, in which words, and which version is spoken with it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from council.core.bounds import ProtocolRules
from council.core.protocol.liveness import expire
from council.core.protocol.registering import CONFLICT, REGISTERED, STANDS, Joining, join
from council.core.protocol.registry import Registry
from tests.core.registries import NOW, RULES, joined, lines_of, team, told

JOIN = "M1|W3>O1|J|T0|P1|N|-|0|S0|-|caps=web_search,web_fetch,summarize;desc=Web research agent"


@pytest.mark.req("PR-512", "PR-510", "PR-507")
def test_who_joins_is_confirmed_in_the_words_of_the_document():
    step = told(Registry(), f"{JOIN};max_depth=2;version=V5")

    assert lines_of(step) == ["M2|O1>W3|A|T0|P1|D|-|0|S0|-|registered;id=W3;status=active"]
    entry = step.registry.entries["W3"]
    assert entry.capabilities == ("web_search", "web_fetch", "summarize")
    assert (entry.description, entry.max_depth) == ("Web research agent", 2)
    assert [one.type for one in step.events] == ["agent.joined"]


@pytest.mark.req("PR-514", "PR-405")
def test_a_taken_id_is_answered_with_a_conflict_in_the_code_of_each_version():
    registry = joined(JOIN)

    in_v5 = told(registry, "M7|W3>O1|J|T0|-|-|-|0|S0|-|caps=plan")
    in_v4 = told(registry, "M7|W3>O1|U|-|-|-|-|JOIN;caps=plan")

    assert lines_of(in_v5) == ["M8|O1>W3|E|T0|-|F|E99|0|S0|-|desc=ID_CONFLICT;id=W3"]
    assert lines_of(in_v4) == ["M8|O1>W3|E|-|-|-|E11|ID_CONFLICT"]
    for step in (in_v5, in_v4):
        assert step.outcome == CONFLICT
        assert step.registry == registry
        assert [one.type for one in step.events] == ["agent.refused"]
        # W3 itself did not ask: the answer is for the one who brought the message.
        assert all(one.to_caller for one in step.replies)


@pytest.mark.req("PR-404")
def test_a_worker_of_v4_is_assigned_its_id_by_the_line_of_v4():
    step = told(Registry(), "M1|W1>O1|U|-|-|-|-|JOIN;caps=plan")

    assert lines_of(step) == ["M2|O1>W1|A|-|-|-|-|ID=W1"]
    assert step.registry.version_of("W1") == "V4"


@pytest.mark.req("PR-404", "PR-504")
def test_without_a_proposal_ids_are_given_in_order_and_none_twice():
    registry = joined("M1|W2>O1|J|T0|-|-|-|0|S0|-|caps=plan")
    given = []
    for _ in range(3):
        step = join(registry, Joining(), NOW, RULES)
        given.append(step.id)
        registry = step.registry

    assert given == ["W1", "W3", "W4"]


@pytest.mark.req("PR-514")
def test_who_insists_on_no_number_is_assigned_another_one():
    step = told(team("plan", "plan"), "M1|W1>O1|J|T0|-|-|-|0|S0|-|caps=plan;id=any")

    assert lines_of(step) == ["M2|O1>W1|A|T0|-|-|-|0|S0|-|registered;id=W3;status=active"]
    assert step.replies[0].to_caller


def test_a_number_is_given_again_only_when_no_fresh_one_is_left():
    registry = Registry()
    for _ in range(9):
        registry = join(registry, Joining(role="R"), NOW, RULES).registry
    full = join(registry, Joining(role="R"), NOW, RULES)
    for hour, gone in enumerate(("R4", "R2")):
        line = f"M1|{gone}>O1|L|T0|-|-|-|0|S0|-|reason=x"
        registry = told(registry, line, NOW + timedelta(hours=hour)).registry
    after = join(registry, Joining(role="R"), NOW, RULES)

    assert (full.outcome, full.reason) == (CONFLICT, "all 9 numbers of R are taken")
    assert after.id == "R4"


@pytest.mark.req("PR-305")
def test_there_are_several_orchestrators_and_o1_is_there_before_all():
    registry = Registry()
    for _ in range(2):
        registry = join(registry, Joining(role="O"), NOW, RULES).registry

    assert [one.id for one in registry.here()] == ["O1", "O2", "O3"]


def test_only_an_agent_of_the_workspace_can_be_o1():
    outside = join(Registry(), Joining(proposed="O1", agent="comet"), NOW, RULES)
    own = join(Registry(), Joining(proposed="O1", agent="comet", is_own=True), NOW, RULES)

    assert outside.outcome == CONFLICT
    assert (own.outcome, own.id) == (REGISTERED, "O1")


def test_an_agent_that_says_who_it_is_gets_its_own_id_back():
    registry = join(Registry(), Joining(proposed="W5", agent="owl"), NOW, RULES).registry
    again = join(registry, Joining(proposed="W5", agent="owl"), NOW, RULES)
    other_number = join(registry, Joining(proposed="W9", agent="owl"), NOW, RULES)
    gone = told(registry, "M1|W5>O1|L|T0|-|-|-|0|S0|-|reason=x").registry
    back = join(gone, Joining(agent="owl"), NOW, RULES)
    somebody = join(registry, Joining(proposed="W5", agent="fox"), NOW, RULES)

    assert (again.outcome, again.id, again.events) == (STANDS, "W5", [])
    assert other_number.id == "W5"
    assert (back.outcome, back.id) == (REGISTERED, "W5")
    assert (somebody.outcome, somebody.reason) == (CONFLICT, "W5 is taken by owl")


def test_who_fell_silent_without_a_name_may_come_back_and_nobody_else_in_its_place():
    registry = joined(
        "M1|W1>O1|J|T0|-|-|-|0|S0|-|caps=plan",
        "M1|W2>O1|J|T0|-|-|-|0|S0|-|caps=plan;agent=crawler",
        "M2|W1>O1|H|T0|-|R|-|0|S0|-|load=1%;queue=0",
        "M2|W2>O1|H|T0|-|R|-|0|S0|-|load=1%;queue=0",
    )
    registry = expire(registry, NOW + timedelta(hours=1), RULES).registry

    assert join(registry, Joining(proposed="W1"), NOW, RULES).outcome == REGISTERED
    assert join(registry, Joining(proposed="W1", agent="fox"), NOW, RULES).outcome == CONFLICT
    assert join(registry, Joining(proposed="W2"), NOW, RULES).outcome == CONFLICT


def test_who_joins_asks_an_orchestrator():
    step = told(team("plan"), "M1|W5>W1|J|T0|-|-|-|0|S0|-|caps=plan")

    assert step.replies[0].message.code == "E13"


def test_an_agent_has_one_id_and_not_two_of_two_roles():
    registry = join(Registry(), Joining(agent="owl"), NOW, RULES).registry

    step = join(registry, Joining(agent="owl", role="R"), NOW, RULES)

    assert (step.outcome, step.reason) == (CONFLICT, "owl is W1")


def test_who_takes_over_the_number_of_another_one_inherits_nothing():
    registry = joined("M1|W1>O1|J|T0|-|-|-|0|S0|-|caps=plan;max_depth=2")
    registry = told(registry, "M1|W1>O1|L|T0|-|-|-|0|S0|-|reason=x").registry

    step = told(registry, "M1|W1>O1|J|T0|-|-|-|0|S0|-|desc=somebody else")

    assert step.registry.entries["W1"].capabilities == ()
    assert step.registry.entries["W1"].max_depth is None


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("caps=Web Search", "E10"),
        ("caps=plan;max_depth=0", "E10"),
        ("caps=plan;max_depth=x", "E10"),
        ("caps=plan;agent=Not A Name", "E10"),
        ("caps=plan;version=V3", "E90"),
    ],
)
def test_what_cannot_be_is_answered_and_changes_nothing(data: str, code: str):
    step = told(Registry(), f"M1|W1>O1|J|T0|-|-|-|0|S0|-|{data}")

    assert step.registry == Registry()
    assert lines_of(step)[0].split("|")[6] == code
    assert [one.type for one in step.events] == ["agent.refused"]


def test_a_group_does_not_join():
    step = join(Registry(), Joining(proposed="G1"), NOW, RULES)

    assert step.replies[0].message.code == "E13"
    assert step.registry == Registry()


@pytest.mark.req("PR-508")
def test_capabilities_beside_the_standard_ones_are_known_by_the_form_of_their_names():
    step = told(Registry(), "M1|W1>O1|J|T0|-|-|-|0|S0|-|caps=analyze_code,web_search,web_search")

    assert step.registry.entries["W1"].capabilities == ("analyze_code", "web_search")


# The handshake.

ONLY_V4 = ProtocolRules(versions=("V4",))


@pytest.mark.req("PR-591")
@pytest.mark.parametrize(
    ("rules", "data", "answer"),
    [
        (RULES, "version=V5;fallback=V4", "A|T0|-|-|-|0|S0|-|version=V5"),
        (ONLY_V4, "version=V5;fallback=V4", "A|T0|-|-|-|0|S0|-|version=V4;mode=compat"),
        (RULES, "version=V4", "A|T0|-|-|-|0|S0|-|version=V4;mode=compat"),
    ],
)
def test_a_handshake_agrees_on_a_version_in_the_shape_of_v5(rules, data: str, answer: str):
    step = told(Registry(), f"M0|W1>O1|J|T0|-|-|-|0|-|-|{data}", rules=rules)

    assert lines_of(step) == [f"M1|O1>W1|{answer}"]
    assert [one.version for one in step.replies] == ["V5"]


@pytest.mark.req("PR-591")
@pytest.mark.parametrize(
    ("rules", "data"), [(RULES, "version=V3;fallback=V2"), (ONLY_V4, "version=V5")]
)
def test_with_nothing_in_common_the_answer_is_e90(rules, data: str):
    for line in (f"M0|W1>O1|J|T0|-|-|-|0|-|-|{data}", f"M1|W1>O1|J|T0|-|-|-|0|S0|-|caps=a;{data}"):
        step = told(Registry(), line, rules=rules)

        assert step.registry == Registry()
        assert step.replies[0].message.code == "E90"
        assert len(lines_of(step)[0].split("|")) == 11


@pytest.mark.req("PR-591", "PR-598")
def test_what_a_handshake_agreed_holds_for_who_joins_then():
    registry = told(Registry(), "M0|W1>O1|J|T0|-|-|-|0|-|-|version=V4").registry
    assert registry.version_of("W1") == "V4"

    step = told(registry, "M1|W1>O1|J|T0|-|-|-|0|S0|-|caps=plan")

    assert step.registry.entries["W1"].version == "V4"
    assert step.registry.handshakes == {}


@pytest.mark.req("PR-598")
def test_a_version_is_told_only_where_the_two_sides_differ():
    same = told(Registry(), "M1|W1>O1|J|T0|-|-|-|0|S0|-|caps=a;version=V5")
    other = told(Registry(), "M1|W1>O1|J|T0|-|-|-|0|S0|-|caps=a;version=V4")

    assert "version" not in lines_of(same)[0]
    assert lines_of(other)[0].endswith("registered;id=W1;status=active;version=V4;mode=compat")
