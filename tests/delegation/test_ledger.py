"""The guards of document 004: given these calls and messages, when this one, then that."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from council.agents.settings import Limits
from council.archive import artifacts
from council.delegation import ledger
from council.delegation.ledger import Call, Message, State
from council.kernel import times
from council.kernel.errors import Conflict, Invalid, Refusal
from council.kernel.record import camel
from council.runs import work
from tests.vectors.rows import of, tables_of

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
USUAL = {camel(name): value for name, value in Limits().__dict__.items() if name in Limits._kinds}
USUAL = {name: USUAL[name] for name in list(USUAL)[-6:]}
OPEN, ROWS = ledger.Policy(), tables_of("delegation")


@pytest.mark.parametrize("row", of("rules", "task-hash", "guard-default", "artifact-id"))
def test_a_vector(row, tmp_path):
    given = row["input"]
    if row["area"] == "task-hash":
        keys = ("toAgentId", "message", "artifactRefs", "sessionKey")
        found = ledger.task_hash(*(given[key] for key in keys))
    elif row["area"] == "guard-default":
        found = USUAL[given]
    else:
        data = bytes.fromhex(given["bytes_hex"])
        found = artifacts.publish(str(tmp_path), data, "text/plain", "a", "t", "").artifact_id
    assert found == row["expect"]


def a_call(sender="a", to="b", message="Do it.", at=NOW, trace="t1", **more):
    made = {"path": [sender], "limits": dict(USUAL), **more}
    session = f"agent:{to}:workflow:{trace}"
    return Call(
        number=0, trace_id=trace, from_agent_id=sender, to_agent_id=to, session_key=session,
        message=message, at=times.text(at), timeout_at=times.text(at + timedelta(minutes=2)),
        task_hash=ledger.task_hash(to, message, [], session), **made,
    )  # fmt: skip


def a_message(sender="a", to="b", text="Note.", at=NOW, key="", **more):
    return Message(
        id=f"m{times.text(at)}{text}", trace_id="t1", from_agent_id=sender, to_agent_id=to,
        session_key=f"agent:{to}:inbox", message=text, at=times.text(at), key=key, **more,
    )  # fmt: skip


def fold(state, events):
    for event in json.loads(json.dumps(events)):
        assert event["type"] in ledger.EVENTS
        assert event["type"].startswith("run.") or (event["traceId"] and event["at"])
        ledger.evolve(state, event)
    return state


def called(state, made, now=NOW):
    return fold(state, ledger.accept(state, made, OPEN, USUAL, now))


def end(state, number, status=ledger.OK, at=NOW):
    one = state.call(number)
    return fold(state, [ledger.ended(one, times.text(at), status, "Forty.")])


def refused(decide):
    with pytest.raises(Refusal) as caught:
        decide()
    return caught.value


def test_an_accepted_call_asks_for_one_run_and_ends_once():
    minutes = timedelta(minutes=2)
    ended, late, lost = (called(State(), a_call()) for _ in range(3))
    (one,) = ledger.work(ended, NOW)
    assert (one.agent, one.tour, ledger.wake(ended)) == ("b", 1, NOW + minutes)
    end(ended, 1)
    assert (ledger.work(ended, NOW), ledger.wake(ended)) == ([], None)
    assert ended.call(1).summary == "Forty."
    assert ledger.due(late, NOW + timedelta(seconds=119)) == []  # nobody could start it
    fold(late, ledger.due(late, NOW + minutes))
    assert (late.call(1).status, late.call(1).error["code"]) == ("timeout", "E20")
    fold(lost, [work.claimed(one, ledger.IDENT, NOW, minutes)])
    assert ledger.work(lost, NOW) == []
    fold(lost, [work.failed("calls.1.b.1", times.text(NOW), "lost", "it is gone")])
    fold(lost, ledger.due(lost, NOW))
    assert (lost.call(1).status, lost.call(1).error["message"]) == ("error", "it is gone")


@pytest.mark.parametrize(
    ("line", "guard"), [("abca", "cycle"), ("aba", "cycle"), ("abcde", ""), ("abcdef", "maxDepth")]
)
def test_depth_and_cycles(line, guard):
    *path, to = line
    made = a_call(path[-1], to, path=path)
    if not guard:
        assert called(State(), made).count == 1
        return
    found = refused(lambda: ledger.accept(State(), made, OPEN, USUAL, NOW))
    assert (found.code, found.more["guard"]) == ("E16", guard)
    assert " → ".join(line) in found.message


def test_a_trace_has_eight_calls_and_another_trace_its_own():
    state, later = State(), NOW
    for number in range(8):
        later += timedelta(minutes=1)
        called(state, a_call(to=f"x{number}", at=later), later)
        end(state, number + 1)
    found = refused(lambda: ledger.accept(state, a_call(at=later), OPEN, USUAL, later))
    assert (found.code, found.more["guard"]) == ("E17", "maxCallsPerTrace")
    assert called(state, a_call(trace="t2", at=later), later).count == 9


def test_the_seventh_of_a_pair_in_a_minute_is_told_how_long_to_wait():
    state = State()
    for second in range(6):
        at = NOW + timedelta(seconds=second)
        called(state, a_message(text=f"{second}", at=at), at)
    at = NOW + timedelta(seconds=10)
    found = refused(lambda: ledger.accept(state, a_message(at=at), OPEN, USUAL, at))
    assert (found.code, found.more["retryAfterMs"]) == ("E31", 50_000)
    assert refused(lambda: ledger.accept(state, a_call(at=at), OPEN, USUAL, at)).code == "E31"
    called(state, a_message("b", "a", at=at), at)  # the pair is ordered
    at = NOW + timedelta(seconds=60)
    called(state, a_message(at=at), at)


def test_the_same_again_gets_the_same_answer_unless_it_failed_or_is_old():
    state = called(State(), a_call())
    assert ledger.repeats(state, a_call(), NOW).number == 1  # it is at work
    end(state, 1, ledger.ERROR)
    assert ledger.repeats(state, a_call(), NOW) is None
    called(state, a_call())
    end(state, 2)
    assert ledger.repeats(state, a_call(), NOW).number == 2
    assert ledger.repeats(state, a_call(expected_schema={}), NOW) is None
    assert ledger.repeats(state, a_call("c"), NOW) is None
    for seconds in (61, -61):  # the clock was set back
        assert ledger.repeats(state, a_call(), NOW + timedelta(seconds=seconds)) is None


def test_a_key_stands_for_one_text():
    state = called(State(), a_call(key="k"))
    later = NOW + timedelta(hours=1)
    assert ledger.repeats(state, a_call(key="k"), later).number == 1
    for other in ({"message": "Other."}, {"expected_schema": {}}):
        with pytest.raises(Conflict):
            ledger.repeats(state, a_call(key="k", **other), later)
    failed = end(called(State(), a_call(key="k")), 1, ledger.ERROR)
    assert ledger.repeats(failed, a_call(key="k"), later) is None


@pytest.mark.parametrize(("wanted", "policy", "expected"), ROWS["limits"])
def test_limits_are_tightened_by_callers_and_loosened_by_policies(wanted, policy, expected):
    over, loosened = a_call(limits={**USUAL, "maxDepth": 2}), ledger.Policy(limits=policy)
    try:
        made = ledger.limits_of(USUAL, over, wanted, loosened)
        assert made[next(iter(wanted))] == expected
    except Refusal as refusal:
        assert (refusal.code, expected) == ("E17", "")


def test_a_caller_stands_below_the_call_that_it_is_at_work_on():
    state = called(State(), a_call("a", "b"))
    assert ledger.above(state, "calls.1.b.1", "b").number == 1
    assert ledger.above(state, "", "b").number == 1  # it hides its run in vain
    assert ledger.above(state, "", "c") is None


@pytest.mark.parametrize(("lists", "may"), ROWS["policies"])
def test_policies(lists, may):
    policy = ledger.Policy.from_json(lists)
    if may:
        assert ledger.accept(State(), a_call(), policy, USUAL, NOW)
        return
    found = refused(lambda: ledger.accept(State(), a_call(), policy, USUAL, NOW))
    assert (found.code, found.more["guard"]) == ("E08", "policy")


def test_messages_are_seen_once_the_most_urgent_first():
    state = called(called(State(), a_message(text="1")), a_message(text="0", priority="P0"))
    assert [one.message for one in ledger.waiting(state, "b")] == ["0", "1"]
    fold(state, ledger.seen(state, "b", NOW, times.text(NOW)))
    assert ledger.seen(state, "b", NOW, times.text(NOW)) == ledger.waiting(state, "b") == []


INBOX, WORK = "agent:b:inbox", "agent:b:workflow:t1"


@pytest.mark.parametrize("key", ["../x", "a/b", "", ".a", "x" * 181, INBOX, WORK])
def test_sessions_are_no_paths_and_delegated_work_stays_out_of_inboxes(key):
    for made in [a_call()] * (key != WORK) + [a_message()] * (key != INBOX):
        with pytest.raises(Invalid):
            ledger.accept(State(), made.copy(session_key=key), OPEN, USUAL, NOW)


def test_the_state_keeps_what_is_open_and_the_newest_of_the_rest():
    state, at = State(), NOW
    called(state, a_call("z", "y"))
    for number in range(130):
        at += timedelta(minutes=1)
        called(state, a_call(trace=f"n{number}", at=at), at)
        end(state, number + 2, at=at)
    assert len(state.calls) <= ledger.KEPT + 2
    assert state.call(1).status == ""
    assert state.count == 131
