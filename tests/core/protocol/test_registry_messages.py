"""Messages to the registry: leaving, capabilities, questions, and what V4 says in words."""

from __future__ import annotations

import pytest

from council.core.protocol.registry import CAPABILITIES, Registry
from council.core.protocol.registry_messages import concerns_registry
from council.wire.carried import message_of
from tests.core.registries import joined, lines_of, team, told


@pytest.mark.req("PR-510")
def test_who_leaves_is_out_of_the_registry_and_of_all_groups():
    registry = joined(
        "M1|O1>G1|B|T0|-|-|-|0|S0|-|JOIN;members=W1,W2", registry=team("plan", "reason")
    )

    step = told(registry, "M1|W1>O1|L|T0|-|-|-|0|S0|-|reason=shutdown")

    assert lines_of(step) == ["M2|O1>W1|A|T0|-|-|-|0|S0|-|left;id=W1"]
    assert step.registry.get("W1") is None
    assert step.registry.groups == {"G1": ["W2"]}
    assert step.events[0].data == {"id": "W1", "reason": "shutdown"}
    assert told(step.registry, "M2|W1>O1|L|T0|-|-|-|0|S0|-|reason=again").events == []


@pytest.mark.req("PR-510", "PR-508")
def test_capabilities_are_declared_anew_as_a_whole():
    step = told(team("plan"), "M1|W1>O1|K|T0|-|-|-|0|S0|-|caps=web_search,analyze_code")

    assert step.registry.entries["W1"].capabilities == ("web_search", "analyze_code")
    assert lines_of(step) == ["M2|O1>W1|A|T0|-|-|-|0|S0|-|updated;id=W1;count=2"]
    assert [one.type for one in step.events] == ["agent.capabilities-changed"]


@pytest.mark.parametrize("data", ["caps=Plan", "desc=nothing said of them"])
def test_capabilities_that_cannot_be_are_refused(data: str):
    step = told(team("plan"), f"M1|W1>O1|K|T0|-|-|-|0|S0|-|{data}")

    assert step.registry.entries["W1"].capabilities == ("plan",)
    assert step.replies[0].message.code == "E10"


@pytest.mark.parametrize("kind", ["L", "K", "H"])
def test_who_has_not_joined_is_answered_that_nobody_knows_it(kind: str):
    step = told(Registry(), f"M1|W9>O1|{kind}|T0|-|-|-|0|S0|-|caps=plan;load=1%")

    assert lines_of(step)[0].startswith("M2|O1>W9|E|T0|-|F|E41|0|S0|-|")
    assert step.registry == Registry()


def test_an_orchestrator_may_act_for_an_agent_and_a_worker_for_itself_alone():
    registry = team("plan", "plan")

    by_worker = told(registry, "M1|W1>O1|L|T0|-|-|-|0|S0|-|reason=x;id=W2")
    by_o1 = told(registry, "M1|O1>O1|L|T0|-|-|-|0|S0|-|reason=x;id=W2")

    assert (by_worker.id, by_o1.id) == ("W1", "W2")


@pytest.mark.req("PR-515")
def test_a_question_is_answered_in_the_shape_of_the_document():
    registry = team("a", "b", "c")

    step = told(registry, "M3|O1>O1|Q|T0|P1|-|-|0|S0|-|filter=W*;status=active")

    assert lines_of(step) == ["M4|O1>O1|S|T0|P1|D|-|0|S0|-|agents=W1,W2,W3;count=3"]
    assert step.registry == registry


@pytest.mark.req("PR-515", "PR-305", "PR-504")
@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("filter=*", "agents=O1,O2,W1,W2;count=4"),
        ("filter=O*", "agents=O1,O2;count=2"),
        ("filter=W2", "agents=W2;count=1"),
        ("filter=R*", "agents=-;count=0"),
        ("filter=W*;status=unavailable", "agents=-;count=0"),
        ("filter=W*;status=left", "agents=W3;count=1"),
    ],
)
def test_filters_choose_by_role_id_and_status(asked: str, answered: str):
    registry = joined(
        "M1|O2>O1|J|T0|-|-|-|0|S0|-|desc=another",
        "M1|W3>O1|L|T0|-|-|-|0|S0|-|reason=x",
        registry=team("a", "b", "c"),
    )

    step = told(registry, f"M3|O1>O1|Q|T0|P1|-|-|0|S0|-|{asked}")

    assert lines_of(step)[0].split("|")[-1] == answered


@pytest.mark.parametrize("asked", ["filter=X*", "filter=everybody", "status=asleep"])
def test_a_filter_that_is_none_is_refused(asked: str):
    step = told(Registry(), f"M3|O1>O1|Q|T0|P1|-|-|0|S0|-|{asked};x=1")

    assert step.replies[0].message.code == "E10"


@pytest.mark.req("PR-515")
def test_a_long_answer_comes_in_numbered_parts_that_hold_everybody():
    registry = team(*["plan"] * 99)

    step = told(registry, "M9998|O1>O1|Q|T0|P1|-|-|0|S0|-|filter=W*")

    datas = [line.split("|")[-1] for line in lines_of(step)]
    numbers = [line.split("|")[0] for line in lines_of(step)]
    listed = [one for data in datas for one in data.split(";")[0][len("agents=") :].split(",")]
    assert listed == [f"W{number}" for number in range(1, 100)]
    assert all(";count=99;part=" in data and len(data) <= 200 for data in datas)
    assert numbers == ["M9999", "M1", "M2"]


@pytest.mark.req("PR-454")
def test_v4_says_join_leave_and_caps_by_words_in_its_data():
    registry = joined("M1|W1>O1|U|-|-|-|-|JOIN;caps=plan")
    changed = told(registry, "M2|W1>O1|U|-|-|-|-|CAPS;caps=reason")
    gone = told(changed.registry, "M3|W1>O1|U|-|-|-|-|LEAVE;reason=x")

    assert changed.registry.entries["W1"].capabilities == ("reason",)
    assert lines_of(changed) == ["M3|O1>W1|A|-|-|-|-|updated;id=W1;count=1"]
    assert gone.registry.get("W1") is None


@pytest.mark.parametrize(
    ("line", "concerns"),
    [
        ("M1|W1>O1|H|-|-|R|-|load=45%;queue=2", True),
        ("M1|W1>O1|U|-|-|-|-|JOIN;caps=plan", True),
        ("M1|W1>O1|U|T1|P1|R|-|0|S1|B5|progress=50%", False),
        ("M1|W1>O1|S|T1|P1|D|-|0|S1|B5|JOIN", False),
        ("M1|O1>*|B|-|P1|-|-|maintenance 5min", False),
    ],
)
def test_what_is_for_the_registry_is_told_from_the_rest(line: str, concerns: bool):
    assert concerns_registry(message_of(line)) is concerns


@pytest.mark.req("PR-508")
def test_there_are_twelve_standard_capabilities():
    assert (
        *("web_search", "web_fetch", "code_read", "code_write", "code_exec", "file_ops"),
        *("data_analysis", "text_gen", "summarize", "translate", "reason", "plan"),
    ) == CAPABILITIES
