"""Routes: the most specific rule that holds wins, and every step of the way is told."""

import pytest

from council.delegation import routing
from council.kernel.errors import Invalid
from tests.vectors.rows import tables_of

ROWS = tables_of("delegation")
RULES, FAULTS = routing.bindings(ROWS["rules"])
AGENTS = {"owl", "jay"}


@pytest.mark.parametrize(("facts", "agent", "rule", "way"), ROWS["routes"])
def test_the_most_specific_rule_wins(facts, agent, rule, way):
    made = routing.route(RULES, routing.facts_of(facts.split()), AGENTS)
    assert (made["agentId"], made["ruleId"]) == (agent, rule)
    assert [one["outcome"] for one in made["fallbackPath"]] == way.split()
    assert [one["tier"] for one in made["fallbackPath"]] == [*routing.TIERS][: len(way.split())]
    assert made["tier"] == made["fallbackPath"][-1]["tier"]


@pytest.mark.parametrize(("table", "words"), ROWS["wrong-rules"])
def test_what_is_wrong_with_a_rule_is_told(table, words):
    made, faults = routing.bindings([table])
    assert not made
    assert any(words in fault for fault in faults)


def test_of_equal_rules_the_first_wins_and_what_is_odd_is_told():
    rules, _ = routing.bindings([
        {"peer": "anna", "agent": "owl"}, {"channel": "den", "agent": "jay"},
        {"channel": ["den", "attic"], "agent": "bat"},
    ])  # fmt: skip
    made = routing.route(rules, {"channel": ["den"]}, {*AGENTS, "bat"})
    assert (made["agentId"], made["warnings"][0]["kind"]) == ("jay", "ambiguous")
    found = routing.check(rules, AGENTS, "main")
    assert [one["kind"] for one in found] == ["ambiguous", "dm-scope", "missing-agent"]


def test_sessions_of_routes():
    facts = routing.facts_of(["peer=anna", "channel=den"])
    scopes = {"main": "inbox", "account-channel-peer": "peer:-:den:anna"}
    for scope, session in scopes.items():
        made = routing.route(RULES, facts, AGENTS, scope=scope)
        assert made["sessionKey"] == f"agent:owl:{session}"


def test_facts_are_checked():
    assert not FAULTS
    with pytest.raises(Invalid):
        routing.facts_of(["colour=red"])
