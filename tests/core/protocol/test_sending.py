"""Lines that an orchestrator sends itself."""

from __future__ import annotations

import pytest

from council.core.protocol.exchange_runs import set_aside
from council.core.protocol.registry import Entry, EntryStatus
from tests.core.exchanges import Context, registered


@pytest.mark.req("PR-551")
def test_a_request_without_a_task_gets_the_next_one():
    context = Context(kept_open=True)

    context.order("M1|O1>W1|R|-|P1|N|-|0|S1|B100|call=web_search;query=x")
    context.order("M2|O1>W1|R|T0|P1|N|-|0|S1|B100|call=web_search;query=y")
    context.order("M3|O1>W1|R|T7|P1|N|-|0|S1|B100|call=web_search;query=z")
    context.order("M4|O1>User|D|-|P1|R|-|0|S1|-|question=q;opt1=a;opt2=b")

    assert list(context.exchange.tasks) == ["T1", "T2", "T7", "T8"]
    assert context.task(8).questions[0].options == ("a", "b")


@pytest.mark.req("PR-551", "PR-580")
def test_a_request_of_another_orchestrator_is_worked_on_and_tried_again_like_one_of_o1():
    context = Context(registered("O2", "W1", "W2"), kept_open=True)

    context.order("M1|O2>W1|R|T1|P1|N|-|0|S1|B100|query=x")
    context.work("W1", "E|F|E31|0|B90|desc=busy")
    assert context.task().state == "R"
    context.work("W2", "S|D|-|0|B80|result=5")

    assert (context.task().state, context.task().result) == ("D", "result=5")


@pytest.mark.req("PR-501", "PR-551", "PR-571")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("M1|O1>W9|R|T1|P1|N|-|0|S1|B1|x", "E41"),
        ("M1|O1>W1|R|T1|P1|N|-|0|S1|B1|call=translate", "E19"),
        ("M1|O1>W3|R|T1|P1|N|-|0|S1|B1|x", "E30"),
        ("M1|O1>W4|R|T1|P1|N|-|0|S1|B1|x", "E31"),
        ("M1|O1>User|R|T1|P1|N|-|0|S1|B1|x", "E13"),
        ("M1|O1>W1|R|T1|P1|N|-|0|S2|B1|x", "E42"),
        ("M1|O1>W1|C|T9|P1|R|-|0|S1|B1|answer=x", "E40"),
        ("M1|O1>W1|U|T9|P1|X|-|0|S1|B1|cancel", "E40"),
    ],
)
def test_a_line_that_cannot_be_followed_is_not_sent(line: str, code: str):
    context = Context()
    away = Entry(id="W3", status=EntryStatus.UNAVAILABLE)
    busy = Entry(id="W4", load=100)
    context.registry = context.registry.with_entry(away).with_entry(busy)
    before = context.exchange

    step = context.order(line)

    assert (step.outcome, step.code, step.messages) == ("refused", code, ())
    assert step.reason
    assert context.last("message.refused")["code"] == code
    assert (context.exchange.tasks, context.exchange.posted) == (before.tasks, before.posted)


@pytest.mark.req("PR-644")
def test_a_line_for_a_task_past_the_last_one_is_not_sent():
    context = Context()
    context.exchange.next_task = 1000

    assert context.order("M1|O1>W1|R|-|P1|N|-|0|S1|B1|x").code == "E99"


@pytest.mark.req("PR-555", "PR-580")
def test_an_error_sent_to_a_worker_ends_its_attempt_and_another_one_is_asked():
    context = Context()
    context.ask()
    context.start("W1")

    context.order("M2|O1>W1|E|T1|P1|F|E20|0|S1|B500|desc=timeout")

    first, second = context.task().hops[0].attempts
    assert (first.code, second.worker) == ("E20", "W2")


@pytest.mark.req("PR-551", "PR-579")
def test_a_fallback_sent_by_hand_takes_the_place_of_the_failed_attempt():
    context = Context(kept_open=True)
    context.order("M1|O1>W1|R|T1|P1|N|-|0|S1|B200|call=web_search")
    context.work("W1", "E|F|E33|0|B200|desc=no")
    assert context.task().state == "F"

    step = context.order("M9|O1>W2|R|T1|P1|N|-|0|S1|B200|call=web_search;fallback_from=W1")

    assert (step.outcome, step.code) == ("refused", "E15"), "the task is over"


@pytest.mark.req("PR-551", "PR-579")
def test_a_retry_sent_by_hand_takes_the_place_of_the_one_that_is_owed():
    context = Context(kept_open=True)
    context.order("M1|O1>W1|R|T1|P1|N|-|0|S1|B200|call=web_search")
    context.work("W1", "E|F|E21|0|B200|desc=slow")
    assert context.task().hops[0].again is not None

    context.order("M4|O1>W1|R|T1|P1|N|-|0|S1|B200|call=web_search;retry=1;max=2")

    [hop] = context.task().hops
    assert [one.retry for one in hop.attempts] == [0, 1]
    assert hop.again is None


@pytest.mark.req("PR-552")
def test_a_request_that_is_repeated_in_r_asks_its_worker_anew_and_changes_no_state():
    context = Context()
    context.order("M1|O1>W1|R|T1|P1|N|-|0|S1|B200|call=web_search")
    first = context.start("W1")

    context.order("M2|O1>W1|R|T1|P1|R|-|0|S1|B200|prev=#MSG:M1;continue=true")
    context.deliver()

    assert len(context.task().hops[0].attempts) == 1
    assert context.runs() == []  # no second run while the first one goes on
    context.do(set_aside, first.run, context="S9")
    assert [one.message for one in context.runs()] == [2]


@pytest.mark.req("PR-554")
def test_the_user_may_cancel_a_task():
    context = Context()
    context.ask()
    context.start("W1")

    context.hear("M2|User>O1|U|T1|P1|X|-|0|S1|-|cancel;reason=too late")

    assert (context.task().state, context.task().reason) == ("X", "too late")
    assert "|O1>W1|U|T1|P1|X|" in context.lines[-1]
