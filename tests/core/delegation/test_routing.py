"""Which agent an inbound goes to, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.delegation.routing import (
    MATCHERS,
    TIERS,
    Binding,
    Facts,
    bindings_of,
    check,
    route,
    session_of,
)

AGENTS = ("ada", "bob", "cyd", "dan", "eve")
EVERYTHING = Facts(
    session="agent:x:inbox",
    peer="zoe",
    channel="support",
    account="acme",
    mode="prd",
    capabilities=("summarize",),
)
RULES = """
default ada
mode bob mode=prd
account cyd account=acme
channel dan channel=support
peer eve peer=zoe
"""


def rules(text: str) -> list[Binding]:
    """Return the rules that are written as `id agent matcher=value …`."""
    tables = []
    for line in text.strip().splitlines():
        name, agent, *wanted = line.split()
        table: dict[str, object] = {"id": name, "agent": agent}
        table |= dict(one.split("=", 1) for one in wanted) or {"default": True}
        tables.append(table)
    found, faults = bindings_of(tables)
    assert not faults
    return found


def going(text: str, agents=AGENTS, **facts) -> str:
    return route(rules(text), Facts(**facts), agents).agent


@pytest.mark.req("P8-072")
def test_the_most_specific_tier_decides_wherever_its_rule_stands():
    assert going(RULES, peer="zoe", channel="support", account="acme", mode="prd") == "eve"
    assert going(RULES, peer="yan", channel="support", account="acme", mode="prd") == "dan"
    assert going(RULES, channel="other", account="acme", mode="prd") == "cyd"
    assert going(RULES, account="other", mode="prd") == "bob"
    assert going(RULES, mode="debate") == "ada"
    assert going(RULES) == "ada"


@pytest.mark.req("P8-072")
@pytest.mark.parametrize(
    ("matcher", "tier"),
    [
        ("session=agent:x:inbox", "session"),
        ("peer=zoe", "session"),
        ("channel=support", "channel"),
        ("account=acme", "account"),
        ("mode=prd", "mode"),
        ("capability=summarize", "mode"),
        ("", "default"),
    ],
)
def test_each_matcher_has_its_tier(matcher, tier):
    found = route(rules(f"one bob {matcher}"), EVERYTHING, AGENTS)

    assert (found.agent, found.rule, found.tier) == ("bob", "one", tier)


def test_all_that_a_rule_names_must_hold():
    text = "both bob channel=support account=acme\nrest ada"

    assert going(text, channel="support", account="acme") == "bob"
    assert going(text, channel="support") == "ada"
    assert going(text, account="acme") == "ada"


def test_a_rule_that_names_more_is_more_specific():
    text = "channel bob channel=support\nboth cyd channel=support account=acme"

    assert going(text, channel="support", account="acme") == "cyd"
    assert going(text, channel="support", account="other") == "bob"


def test_a_rule_may_name_several_values_of_which_one_must_hold():
    found, _ = bindings_of([{"id": "one", "agent": "bob", "channel": ["a", "b"]}])

    assert route(found, Facts(channel="b"), AGENTS).agent == "bob"
    assert route(found, Facts(channel="c"), AGENTS).agent == ""


@pytest.mark.req("P8-073")
def test_of_two_equal_rules_the_first_in_the_file_holds_and_a_warning_says_so():
    text = "first bob channel=support\nsecond cyd channel=support\nthird bob channel=support"

    found = route(rules(text), Facts(channel="support"), AGENTS)

    assert (found.agent, found.rule) == ("bob", "first")
    assert [(one.kind, one.rules) for one in found.warnings] == [("ambiguous", ("first", "second"))]
    turned = route(list(reversed(rules(text)))[1:], Facts(channel="support"), AGENTS)
    assert (turned.agent, turned.rule) == ("cyd", "second")


@pytest.mark.req("P8-071")
def test_an_explanation_has_agent_rule_tier_and_the_way_down_to_it():
    text = "gone zed channel=support\nmine bob account=acme\nrest ada"

    record = route(rules(text), Facts(channel="support", account="acme"), AGENTS).to_record()

    assert (record["agentId"], record["ruleId"], record["tier"]) == ("bob", "mine", "account")
    assert [(one["tier"], one["ruleId"], one["outcome"]) for one in record["fallbackPath"]] == [
        ("session", None, "no-match"),
        ("channel", "gone", "no-such-agent"),
        ("account", "mine", "chosen"),
    ]
    assert record["others"] == [{"ruleId": "rest", "agentId": "ada", "tier": "default"}]


@pytest.mark.req("P8-071")
def test_without_a_rule_that_holds_there_is_no_agent_and_the_path_says_why():
    record = route(rules("one bob channel=support"), Facts(channel="x"), AGENTS).to_record()

    assert (record["agentId"], record["ruleId"], record["tier"]) == (None, None, None)
    assert [one["tier"] for one in record["fallbackPath"]] == list(TIERS)
    assert {one["outcome"] for one in record["fallbackPath"]} == {"no-match"}


def test_where_no_rule_holds_the_first_agent_that_can_do_all_of_it_is_asked():
    able = {"ada": ["plan"], "bob": ["plan", "summarize"], "cyd": ["plan", "summarize"]}
    facts = Facts(capabilities=("summarize", "plan"))

    found = route(rules("rest eve"), facts, AGENTS, able=able)

    assert (found.agent, found.rule, found.tier) == ("bob", "able:plan+summarize", "mode")
    by_rule = route(rules("one cyd capability=plan"), facts, AGENTS, able=able)
    assert (by_rule.agent, by_rule.rule) == ("cyd", "one")
    nobody = route(rules("rest eve"), Facts(capabilities=("paint",)), AGENTS, able=able)
    assert (nobody.agent, nobody.tier) == ("eve", "default")


def test_last_of_all_comes_who_coordinates():
    found = route([], Facts(), AGENTS, otherwise=[("coordinator", "zed"), ("only-agent", "ada")])

    assert (found.agent, found.rule, found.tier) == ("ada", "only-agent", "default")


_VALUES = st.sampled_from(["", "a", "b"])
_FACTS = st.builds(
    Facts,
    session=_VALUES,
    peer=_VALUES,
    channel=_VALUES,
    account=_VALUES,
    mode=_VALUES,
    capabilities=st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True).map(tuple),
)
_RULES = st.lists(
    st.dictionaries(
        st.sampled_from(MATCHERS), st.sampled_from([("a",), ("b",), ("a", "b")]), max_size=3
    ),
    max_size=6,
).map(
    lambda many: [
        Binding(id=f"r{number}", agent=AGENTS[number % 4], wants=wants)
        for number, wants in enumerate(many)
    ]
)


@pytest.mark.req("P8-072", "P8-074")
@given(_RULES, _FACTS)
def test_the_same_inbound_has_the_same_route_and_no_rule_that_holds_is_more_specific(many, facts):
    found = route(many, facts, AGENTS)

    assert all(route(many, facts, AGENTS) == found for _ in range(3))
    held = [one for one in many if one.matches(facts)]
    assert bool(found.agent) == bool(held)
    if held:
        (rule,) = [one for one in many if one.id == found.rule]
        best = max(one.specificity for one in held)
        assert rule is next(one for one in held if one.specificity == best)
        assert list(TIERS).index(found.tier) == min(list(TIERS).index(one.tier) for one in held)


@pytest.mark.req("P8-074")
def test_a_hundred_times_the_same_question_has_a_hundred_times_the_same_answer():
    routes = [route(rules(RULES), EVERYTHING, AGENTS).to_record() for _ in range(100)]

    assert all(one == routes[0] for one in routes)


@pytest.mark.req("P8-075")
def test_rules_that_may_both_hold_and_choose_differently_are_ambiguous():
    def kinds(text: str) -> list[tuple[str, ...]]:
        return [one.rules for one in check(rules(text), AGENTS) if one.kind == "ambiguous"]

    assert kinds("a ada channel=x\nb bob channel=x") == [("a", "b")]
    assert kinds("a ada mode=prd\nb bob capability=plan") == [("a", "b")]
    assert kinds("a ada\nb bob") == [("a", "b")]
    assert kinds("a ada channel=x\nb bob channel=y") == []
    assert kinds("a ada channel=x\nb ada channel=x") == []
    assert kinds("a ada channel=x\nb bob channel=x account=y\nc cyd") == []


@pytest.mark.req("P8-075")
def test_a_rule_that_names_nobody_who_is_there_is_told():
    (warned,) = check(rules("a zed channel=x"), AGENTS)

    assert (warned.kind, warned.rules) == ("missing-agent", ("a",))
    assert "zed" in warned.said


@pytest.mark.req("P8-075")
def test_direct_messages_that_may_meet_are_told_where_there_are_several_ways():
    def risks(text: str, **about) -> list[tuple[str, ...]]:
        found = check(rules(text), AGENTS, **about)
        return [one.rules for one in found if one.kind == "dm-scope"]

    two_accounts = "a ada account=x\nb bob account=y"
    assert risks(two_accounts) == [()]
    assert risks(two_accounts, dm_scope="account-channel-peer") == []
    assert risks("a ada account=x") == []
    assert risks("a ada", channels=["one", "two"]) == [()]
    peer = "a ada peer=zoe"
    assert risks(peer, accounts=["x", "y"], dm_scope="peer") == [("a",)]
    assert risks(f"{peer} account=x", accounts=["x", "y"], dm_scope="peer") == []
    assert risks(peer) == []
    assert risks("", accounts=["x", "y"]) == []


def test_the_session_of_a_direct_message_follows_from_the_scope():
    facts = Facts(peer="zoe", channel="support", account="acme")

    assert session_of("ada", facts, "main") == "agent:ada:inbox"
    assert session_of("ada", facts, "peer") == "agent:ada:peer:zoe"
    assert session_of("ada", facts, "channel-peer") == "agent:ada:peer:support:zoe"
    assert session_of("ada", facts, "account-channel-peer") == "agent:ada:peer:acme:support:zoe"
    assert session_of("ada", Facts(channel="support"), "peer") == "agent:ada:inbox"
    assert session_of("ada", Facts(session="mine"), "peer") == "mine"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"agent": "ada"}, "names none of"),
        ({"agent": "Ada!", "channel": "x"}, "agent is not the id"),
        ({"channel": "x"}, "agent is not the id"),
        ({"agent": "ada", "chanel": "x"}, "no rule may name 'chanel'"),
        ({"agent": "ada", "channel": 3}, "channel is not a text"),
        ({"agent": "ada", "channel": []}, "channel is not a text"),
        ({"agent": "ada", "channel": "x", "default": True}, "names nothing else"),
        ({"agent": "ada", "default": "yes"}, "default is not true or false"),
        ({"agent": "ada", "channel": "x", "id": ""}, "its id is not"),
    ],
)
def test_a_rule_that_cannot_be_read_is_named_with_its_number(table, said):
    found, faults = bindings_of([{"agent": "ada", "channel": "y"}, table])

    assert [one.id for one in found] == ["binding-1"]
    assert faults[0].startswith("bindings[2]: ")
    assert said in faults[0]


def test_two_rules_of_one_id_are_a_fault():
    _, faults = bindings_of([{"id": "a", "agent": "ada", "channel": "y"}] * 2)

    assert faults == ["bindings[2]: another rule has the id 'a'"]
