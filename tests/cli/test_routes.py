"""`route explain` and `route check`, and the decision that is written down."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from council.core.delegation.routing import Facts
from council.core.errors import InvalidInputError, NotFoundError, UsageError
from council.operations.delegation.routing import choose, meant_by
from council.operations.place import Place
from council.store.events import tail

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
SETTINGS = """
[agents.ada]
argv = ["cat"]
[agents.bob]
argv = ["cat"]
capabilities = ["summarize", "translate"]

[[bindings]]
id = "support"
agent = "ada"
channel = "support"

[[bindings]]
id = "rest"
agent = "ada"
default = true
"""


@pytest.fixture
def routed(council):
    (council.root / "council.toml").write_text(SETTINGS)
    return council


def place_of(council) -> Place:
    return Place(str(council.root), {}, NOW)


@pytest.mark.req("P8-071", "P8-005")
def test_an_explanation_has_its_four_fields_in_json_and_as_text(routed):
    record = routed("route", "explain", "--channel", "support", "--json").json()

    assert (record["agentId"], record["ruleId"], record["tier"]) == ("ada", "support", "channel")
    assert [one["tier"] for one in record["fallbackPath"]] == ["session", "channel"]
    assert record["sessionKey"] == "agent:ada:inbox"
    text = routed("route", "explain", "--channel", "support").out
    assert text.startswith("ada  by support (tier: channel)\n")
    assert all(len(line) <= 80 for line in text.splitlines())
    assert list(tail(place_of(routed).paths)) == []


def test_who_can_do_what_is_asked_is_found_by_what_agents_say_of_themselves(routed):
    record = routed("route", "explain", "--capability", "summarize", "--json").json()

    assert (record["agentId"], record["ruleId"]) == ("bob", "able:summarize")


def test_where_nobody_is_found_it_is_said_and_how_to_mend_it(council):
    done = council("route", "explain", "--channel", "x")

    assert done.code == 0
    assert done.out.startswith("nobody: no rule holds")
    assert "[[bindings]]" in done.out
    assert council("route", "explain", "--json").json()["agentId"] is None


@pytest.mark.req("P8-075")
@pytest.mark.parametrize(
    ("rules", "kind"),
    [
        ('[[bindings]]\nagent = "bob"\nchannel = "support"\n', "ambiguous"),
        ('[[bindings]]\nagent = "zed"\npeer = "zoe"\n', "missing-agent"),
        (
            '[[bindings]]\nagent = "ada"\naccount = "x"\n'
            '[[bindings]]\nagent = "ada"\naccount = "y"\n',
            "dm-scope",
        ),
    ],
)
def test_rules_that_may_not_be_meant_are_told_and_strict_refuses_them(routed, rules, kind):
    file = routed.root / "council.toml"
    file.write_text(file.read_text() + rules)

    done = routed("route", "check", "--json")

    assert done.code == 0
    assert [one["kind"] for one in done.json()["warnings"]] == [kind]
    assert routed("route", "check", "--strict").code == 3
    assert f"warning ({kind})" in routed("route", "check").out


@pytest.mark.req("P8-075")
def test_rules_that_are_in_order_pass_the_strict_check(routed):
    done = routed("route", "check", "--strict")

    assert (done.code, done.out) == (0, "2 rules; nothing to warn of\n")


def test_a_rule_that_cannot_be_read_is_refused_in_one_line(routed):
    file = routed.root / "council.toml"
    file.write_text(file.read_text() + '[[bindings]]\nchanel = "x"\n')

    done = routed("route", "check", "--json")

    assert done.code == 3
    assert "bindings[3]: no rule may name 'chanel'" in done.json()["error"]["message"]
    assert len(done.err.splitlines()) == 1
    file.write_text(SETTINGS + '[routing]\ndm_scope = "all"\n')
    assert "dm_scope is not one of" in routed("route", "explain", "--json").err


@pytest.mark.req("P8-081", "P8-074")
def test_a_choice_is_written_down_with_its_reason(routed):
    place = place_of(routed)

    found = choose(place, Facts(channel="support"), owner="support", trace="f" * 32)

    assert found.agent == "ada"
    (event,) = tail(place.paths)
    assert (event["type"], event["agentId"]) == ("routing.decision", "ada")
    assert (event["conversationId"], event["traceId"]) == ("support", "f" * 32)
    assert event["data"]["facts"] == {"channel": "support"}
    assert (event["data"]["rule"], event["data"]["tier"]) == ("support", "channel")
    assert event["data"]["fallback"][-1]["outcome"] == "chosen"


@pytest.mark.req("P8-081", "XC-008")
def test_that_nobody_was_found_is_written_down_too(council):
    place = place_of(council)

    with pytest.raises(NotFoundError, match="no agent for channel=x"):
        choose(place, Facts(channel="x"))

    (event,) = tail(place.paths)
    assert (event["agentId"], event["data"]["rule"]) == (None, None)


def test_a_target_names_an_agent_or_what_it_can_do(routed):
    place = place_of(routed)

    assert meant_by(place, "zoe") == "zoe"
    assert meant_by(place, "cap:summarize,translate") == "bob"
    with pytest.raises(UsageError):
        meant_by(place, "cap:")
    with pytest.raises(InvalidInputError):
        meant_by(place, "Zoe!")
    assert json.loads(json.dumps([one["type"] for one in tail(place.paths)])) == [
        "routing.decision"
    ]


def decisions(council) -> list[dict]:
    events = tail(place_of(council).paths)
    return [one for one in events if one["type"] == "routing.decision"]


@pytest.mark.req("P8-081")
def test_a_rule_for_its_mode_names_who_sums_up_a_council(routed):
    file = routed.root / "council.toml"
    file.write_text(SETTINGS + '[[bindings]]\nid = "prds"\nagent = "bob"\nmode = "prd"\n')
    words = ("convene", "A bot?", "--agents", "elk,owl", "--mode")

    assert routed(*words, "prd", "--name", "first", "--dry-run").code == 0
    assert decisions(routed) == []
    assert routed(*words, "prd", "--name", "first").code == 0
    assert routed(*words, "debate", "--name", "second").code == 0
    assert routed(*words, "prd", "--name", "third", "--synthesizer", "owl").code == 0

    shown = {one: routed("show", "--name", one, "--json").json() for one in ("first", "second")}
    assert shown["first"]["synthesizer"] == "bob"
    assert shown["second"]["synthesizer"] == ""
    (event,) = decisions(routed)
    assert event["conversationId"] == shown["first"]["conversationId"]
    assert (event["agentId"], event["data"]["rule"]) == ("bob", "prds")


@pytest.mark.req("P8-081")
def test_a_rule_for_requests_of_the_user_names_who_orchestrates(routed):
    file = routed.root / "council.toml"
    file.write_text(SETTINGS + '[[bindings]]\nid = "boss"\nagent = "bob"\nchannel = "user"\n')

    sent = routed("msg", "send", "--user", "What is new?", "--json").json()

    shown = routed("ctx", "show", sent["context"], "--json").json()
    assert shown["orchestrator"] == "bob"
    (event,) = decisions(routed)
    assert (event["conversationId"], event["data"]["rule"]) == (sent["context"], "boss")
    assert event["traceId"] == shown["traceId"]


def test_a_default_alone_changes_nothing_where_there_is_another_way_to_choose(routed):
    sent = routed("msg", "send", "--user", "What is new?", "--json").json()

    assert routed("ctx", "show", sent["context"], "--json").json()["orchestrator"] == ""
    assert decisions(routed) == []


@pytest.mark.req("P8-081", "P8-005")
def test_a_call_may_name_what_is_to_be_mastered_in_the_place_of_an_agent(routed):
    words = ("agent", "call", "--as", "ada", "--trace", "t1", "Shorten this.", "--json")

    done = routed(*words, "--to", "cap:summarize")

    assert done.code == 0, done.err
    assert decisions(routed)[0]["agentId"] == "bob"
    assert decisions(routed)[0]["data"]["facts"] == {"capability": ["summarize"]}


@pytest.mark.req("P8-075")
def test_doctor_finds_rules_that_name_nobody_and_rules_that_cannot_be_read(routed):
    file = routed.root / "council.toml"

    def found() -> list[tuple[bool, str]]:
        findings = routed("doctor", "--json").json()["findings"]
        return [(one["ok"], one["found"]) for one in findings if one["what"] == "routing"]

    assert found() == [(True, "2 rules")]
    file.write_text(SETTINGS + '[[bindings]]\nagent = "zed"\npeer = "zoe"\n')
    ((ok, said),) = found()
    assert not ok
    assert "names zed, and there is no such agent" in said
    file.write_text(SETTINGS + '[[bindings]]\nchanel = "x"\n')
    ((ok, said),) = found()
    assert not ok
    assert "no rule may name 'chanel'" in said
