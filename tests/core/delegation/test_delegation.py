"""The rules of delegation: hashes, sessions, limits, and each guard on both of its sides."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.delegation import delegation as rules
from council.core.delegation.delegation import (
    CALL,
    DEFAULTS,
    MESSAGE,
    Call,
    Chain,
    Refusal,
    Sent,
    Trace,
    checked_session,
    inbox_session,
    named_trace,
    sent_from_record,
    sent_to_record,
    task_hash,
    trace_from_record,
    trace_to_record,
    workflow_session,
)
from council.core.delegation.policies import new_policy, policy_of
from council.core.errors import InvalidInputError, InvalidStateError, RefusedError, UsageError
from tests.conftest import NOW

VECTORS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent.parent / "vectors" / "rules.jsonl")
    .read_text()
    .splitlines()
]


def vectors(area: str) -> list[object]:
    found = [one for one in VECTORS if one["area"] == area]
    assert found
    return [pytest.param(one["input"], one["expect"], id=one["id"]) for one in found]


def call(number: int = 1, **fields: object) -> Call:
    usual = {
        "caller": "a",
        "target": "b",
        "depth": 0,
        "path": ["a"],
        "owner": "",
        "session": "agent:b:workflow:t1",
        "task_hash": "h",
        "message": "do it",
        "at": NOW,
    }
    return Call(number=number, **{**usual, **fields})


def sent(after_s: float, **fields: object) -> Sent:
    return Sent(
        **{"at": NOW + timedelta(seconds=after_s), "sender": "a", "receiver": "b", **fields}
    )


@pytest.mark.req("P8-058")
@pytest.mark.parametrize(("given_fields", "expected"), vectors("task-hash"))
def test_task_hash_of_the_vectors(given_fields: dict[str, object], expected: str):
    assert (
        task_hash(
            given_fields["toAgentId"],
            given_fields["message"],
            given_fields["artifactRefs"],
            given_fields["sessionKey"],
        )
        == expected
    )


@pytest.mark.req("P8-058")
def test_task_hash_knows_the_same_words_and_references_in_any_order_and_form():
    composed = task_hash("w1", "caf\u00e9 now", ["art_b", "art_a"], "s")

    assert task_hash("w1", "  cafe\u0301\n\tnow ", ["art_a", "art_b"], "s") == composed
    assert task_hash("w1", "caf\u00e9 now", ["art_a"], "s") != composed


@pytest.mark.req("P8-058")
@given(st.lists(st.text("ab \n", max_size=6), min_size=4, max_size=4))
def test_no_field_of_a_task_hash_runs_into_the_next(parts: list[str]):
    one, two, three, four = ("".join(part.split()) for part in parts)

    same = task_hash(one, two, [three], four) == task_hash(one + two, three, [four], "")

    assert not same or (one, two, three, four) == (one + two, three, four, "")


@pytest.mark.req("P8-051")
@pytest.mark.parametrize(("name", "expected"), vectors("guard-default"))
def test_default_limits_of_the_vectors(name: str, expected: int):
    assert DEFAULTS[name] == expected
    assert rules.base_limits({}, Chain(trace="t", path=["a"]))[name] == expected


@pytest.mark.req("P8-051")
def test_the_settings_say_other_limits_and_unknown_ones_are_left_out():
    limits = rules.base_limits({"maxDepth": 1, "max_runs_per_day": 9}, Chain(trace="t", path=["a"]))

    assert limits == {**DEFAULTS, "maxDepth": 1}


@pytest.mark.req("P8-012", "P8-022")
@pytest.mark.parametrize(("given_fields", "expected"), vectors("session-key"))
def test_default_sessions_of_the_vectors(given_fields: dict[str, str], expected: str):
    if "traceId" in given_fields:
        assert workflow_session(given_fields["toAgentId"], given_fields["traceId"]) == expected
    else:
        assert inbox_session(given_fields["toAgentId"]) == expected


@pytest.mark.req("P8-022")
def test_inbox_and_workflow_never_mix():
    with pytest.raises(InvalidInputError, match="inbox"):
        checked_session("agent:w1:inbox", for_call=True)
    with pytest.raises(InvalidInputError, match="delegated work"):
        checked_session("agent:w1:workflow:t9", for_call=False)
    assert checked_session("agent:w1:inbox", for_call=False) == "agent:w1:inbox"
    assert checked_session("agent:w1:workflow:t9", for_call=True) == "agent:w1:workflow:t9"


@pytest.mark.req("XC-009")
@pytest.mark.parametrize("key", ["../x", "a/b", ".hidden", "a\\b"])
def test_a_session_key_that_is_a_path_is_refused(key: str):
    with pytest.raises(RefusedError):
        checked_session(key, for_call=True)


@pytest.mark.parametrize("key", ["", "a b", "x" * 181, "caf\u00e9", "a\0b"])
def test_a_session_key_that_can_name_no_file_is_refused(key: str):
    with pytest.raises(InvalidInputError):
        checked_session(key, for_call=True)


def test_a_trace_must_be_named_and_be_no_path():
    with pytest.raises(UsageError):
        named_trace("")
    with pytest.raises(RefusedError):
        named_trace("../t")
    assert named_trace("t9") == "t9"
    whole = "0f8fad5b-d9cb-469f-a165-70867728950e"
    assert named_trace(whole) == whole.replace("-", ""), "the id of a conversation, as status shows"
    assert named_trace("a-b") == "a-b"


@pytest.mark.req("P8-059")
def test_a_caller_may_tighten_and_not_loosen():
    base = dict(DEFAULTS)

    tightened = rules.agreed_limits(base, {"timeoutMs": 5, "dedupeWindowMs": 90_000}, {})
    assert tightened == {**base, "timeoutMs": 5, "dedupeWindowMs": 90_000}
    for name in DEFAULTS:
        by = -1 if name == "dedupeWindowMs" else 1
        refused = rules.agreed_limits(base, {name: base[name] + by}, {})
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.guard) == ("E17", "limits")
        assert name in refused.message


@pytest.mark.req("P8-059")
def test_the_target_may_allow_a_limit_to_be_loosened_up_to_a_value():
    allowed = {"timeoutMs": 600_000, "dedupeWindowMs": 1_000}

    loosened = rules.agreed_limits(
        DEFAULTS, {"timeoutMs": 600_000, "dedupeWindowMs": 1_000}, allowed
    )

    assert isinstance(loosened, dict)
    assert loosened["timeoutMs"] == 600_000
    assert isinstance(rules.agreed_limits(DEFAULTS, {"timeoutMs": 600_001}, allowed), Refusal)
    assert isinstance(rules.agreed_limits(DEFAULTS, {"dedupeWindowMs": 999}, allowed), Refusal)


def test_a_policy_that_allows_less_than_holds_takes_nothing_away():
    kept = rules.agreed_limits(DEFAULTS, {"timeoutMs": 120_000}, {"timeoutMs": 10})

    assert isinstance(kept, dict)


@pytest.mark.req("P8-059")
def test_what_spans_a_trace_is_handed_on_to_the_calls_inside():
    chain = Chain(trace="t", path=["a"], limits={**DEFAULTS, "maxDepth": 1, "timeoutMs": 5})

    limits = rules.base_limits({}, chain)

    assert (limits["maxDepth"], limits["timeoutMs"]) == (1, 120_000)


@pytest.mark.req("P8-053")
@pytest.mark.parametrize(("depth", "refused"), [(0, False), (3, False), (4, True), (9, True)])
def test_depth_is_allowed_up_to_three(depth: int, refused: bool):
    found = rules.refuse_depth(Chain(trace="t", depth=depth, path=["a"]), "b", DEFAULTS)

    assert (found is not None) == refused
    assert found is None or (found.code, found.guard) == ("E16", "maxDepth")


@pytest.mark.req("P8-054")
def test_the_ninth_call_of_a_trace_is_refused():
    trace = Trace(trace_id="t", calls=[call(number) for number in range(1, 8)])
    assert rules.refuse_calls(trace, DEFAULTS, ["a", "b"]) is None

    trace.calls.append(call(8))
    refused = rules.refuse_calls(trace, DEFAULTS, ["a", "b"])

    assert refused is not None
    assert (refused.code, refused.guard, refused.path) == ("E17", "maxCallsPerTrace", ["a", "b"])


@pytest.mark.req("P8-056")
def test_the_seventh_of_a_pair_in_a_sliding_minute_waits_until_the_first_is_a_minute_old():
    before = [sent(second) for second in (0, 10, 20, 30, 40, 50)]

    refused = rules.refuse_rate(before, "a", "b", DEFAULTS, NOW + timedelta(seconds=59))

    assert refused is not None
    assert (refused.code, refused.guard) == ("E31", "pairRateLimitPerMinute")
    assert refused.wait_ms == 1000
    assert "wait 1 s" in refused.message
    assert rules.refuse_rate(before, "a", "b", DEFAULTS, NOW + timedelta(seconds=60)) is None


@pytest.mark.req("P8-056")
def test_a_pair_is_ordered():
    before = [sent(0) for _ in range(6)]

    assert rules.refuse_rate(before, "a", "b", DEFAULTS, NOW) is not None
    assert rules.refuse_rate(before, "b", "a", DEFAULTS, NOW) is None
    assert rules.refuse_rate(before, "a", "c", DEFAULTS, NOW) is None


@pytest.mark.req("P8-056")
def test_a_refusal_says_after_how_long_the_same_request_passes():
    before = [sent(second) for second in range(0, 18, 2)]
    now = NOW + timedelta(seconds=20)

    refused = rules.refuse_rate(before, "a", "b", DEFAULTS, now)

    assert refused is not None
    passes_at = now + timedelta(milliseconds=refused.wait_ms)
    assert rules.refuse_rate(before, "a", "b", DEFAULTS, passes_at) is None
    a_second_less = passes_at - timedelta(seconds=1)
    assert rules.refuse_rate(before, "a", "b", DEFAULTS, a_second_less) is not None


def test_a_limit_of_none_refuses_all():
    refused = rules.refuse_rate([], "a", "b", {**DEFAULTS, "pairRateLimitPerMinute": 0}, NOW)

    assert refused is not None
    assert refused.wait_ms > 0


@pytest.mark.req("P8-057")
def test_the_same_task_is_known_for_a_minute():
    before = [sent(0, task_hash="h", number=1), sent(5, task_hash="other", number=2)]

    found = rules.asked_before(before, "h", DEFAULTS, NOW + timedelta(seconds=59))

    assert found is not None
    assert found.number == 1
    assert rules.asked_before(before, "h", DEFAULTS, NOW + timedelta(seconds=60)) is None
    assert rules.asked_before(before, "x", DEFAULTS, NOW) is None


def test_a_message_is_never_a_task_that_was_asked_before():
    assert rules.asked_before([sent(0, task_hash="h", number=0)], "h", DEFAULTS, NOW) is None


@pytest.mark.req("P8-057")
def test_what_is_being_worked_on_is_refused_with_the_time_until_it_passes():
    refused = rules.refuse_repeat(call(), DEFAULTS, NOW + timedelta(seconds=20))

    assert (refused.code, refused.guard, refused.wait_ms) == ("E31", "dedupeWindowMs", 40_000)


@pytest.mark.req("P8-060")
def test_a_cycle_is_told_with_its_path():
    assert rules.refuse_cycle(["a", "b", "c"]) is None

    refused = rules.refuse_cycle(["a", "b", "c", "a"])

    assert refused is not None
    assert (refused.code, refused.guard) == ("E16", "cycle")
    assert refused.path == ["a", "b", "c", "a"]
    assert "a → b → c → a" in refused.message


def test_an_agent_cannot_call_itself():
    assert rules.refuse_cycle(["a", "a"]) is not None


def test_only_what_is_still_judged_by_is_kept():
    old, young = sent(0), sent(30)

    assert rules.still_matters([old, young], 60_000, NOW + timedelta(seconds=60)) == [young]
    assert rules.still_matters([old, young], 90_000, NOW + timedelta(seconds=60)) == [old, young]


def test_ledgers_round_trip_and_keep_what_they_do_not_know():
    trace = Trace(
        trace_id="t", next_number=3, calls=[call(2, result={"status": "ok"}, brief="t-x")]
    )
    record = trace_to_record(trace)
    record["future"] = [1]
    record["calls"][0]["later"] = {"a": 1}

    again = trace_to_record(trace_from_record(record, "here"))

    assert again == record
    assert trace_from_record(trace_to_record(trace), "here") == trace
    passed = [sent(0, task_hash="h", trace="t", number=3)]
    assert sent_from_record(sent_to_record(passed), "here") == passed


@pytest.mark.parametrize(
    "change",
    [{"depth": -1}, {"at": "soon"}, {"limits": {"maxDepth": "3"}}, {"path": [1]}, {"number": 0}],
)
def test_a_ledger_that_is_wrong_says_where(change: dict[str, object]):
    record = trace_to_record(Trace(trace_id="t", calls=[call()]))
    record["calls"][0].update(change)

    with pytest.raises(InvalidStateError, match=f"here, call 1.*{next(iter(change))}"):
        trace_from_record(record, "here")


@pytest.mark.req("P8-059")
def test_without_a_word_everybody_may_and_nothing_is_loosened():
    for record in ({}, new_policy()):
        policy = policy_of("b", record, "policy.json")
        assert policy.refuses(CALL, "a") is None
        assert policy.refuses(MESSAGE, "a") is None
        assert policy.limits == {}


def test_who_is_denied_or_not_allowed_is_refused_with_a_code():
    policy = policy_of(
        "b", {"call": {"allow": ["a", "c"], "deny": ["c"]}, "message": {"deny": ["*"]}}, "p"
    )

    assert policy.refuses(CALL, "a") is None
    for what, who in ((CALL, "c"), (CALL, "d"), (MESSAGE, "a")):
        refused = policy.refuses(what, who)
        assert refused is not None
        assert (refused.code, refused.guard) == ("E13", "policy")
        assert who in refused.message


@pytest.mark.parametrize(
    "record",
    [
        [],
        {"call": []},
        {"call": {"allow": "a"}},
        {"call": {"allow": [1]}},
        {"call": {"permit": []}},
        {"limits": {"maxdepth": 3}},
        {"limits": {"maxDepth": True}},
        {"limits": {"maxDepth": -1}},
        {"limits": 3},
        {"schemaVersion": 2},
        {"schemaVersion": "1"},
    ],
)
def test_a_policy_that_is_none_refuses_all_until_it_is_mended(record: object):
    with pytest.raises(InvalidStateError, match=r"policy\.json"):
        policy_of("b", record, "policy.json")


def test_a_policy_keeps_quiet_about_nothing():
    policy = policy_of("b", {"tools": []}, "policy.json")

    assert policy.odd == ["policy.json: nothing is called tools"]
