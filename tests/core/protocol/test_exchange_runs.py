"""Runs of an exchange: claimed, queued, refused, failed, lost, set aside."""

from __future__ import annotations

import pytest

from council.core.protocol.answering import composed as answer_composed
from council.core.protocol.exchange_due import Compose, Split
from council.core.protocol.exchange_runs import (
    in_the_way,
    run_ended,
    run_failed,
    run_queued,
    run_refused,
    run_started,
    set_aside,
)
from council.core.protocol.orchestrator import cancel
from council.core.protocol.registry import EntryStatus
from council.core.reasons import said
from tests.core.exchanges import LEASE, MINUTE, Context, registered


def asked(**options: object) -> Context:
    context = Context(**options)
    context.ask()
    context.deliver()
    return context


@pytest.mark.req("XC-016")
def test_a_run_is_claimed_once():
    context = asked()
    [due] = context.runs()
    context.start()

    again = context.do(run_started, due, driver="command", ends_at=None)

    assert (again.outcome, again.events) == ("", [])
    assert context.runs() == []


@pytest.mark.req("XC-016")
def test_a_run_that_waits_for_a_place_is_owed_and_no_time_runs_for_it():
    context = asked()
    [due] = context.runs()
    context.do(run_queued, due, driver="command")

    context.beat(60 * 24 * MINUTE)

    assert [one.run for one in context.runs()] == [due.run]
    assert len(context.task().hops[0].attempts) == 1
    assert context.do(run_queued, due, driver="command").events == []


@pytest.mark.req("PR-580", "XC-008")
def test_a_run_that_fails_makes_its_worker_unavailable_for_the_task():
    context = asked()
    due = context.start()

    context.do(run_failed, due.run, said("exit 1"), words="exit 1")
    context.beat()

    first, second = context.task().hops[0].attempts
    assert (first.code, first.reason, second.worker) == ("E30", "exit 1", "W2")
    assert context.last("task.failed")["reason"] == said("exit 1").to_record()


@pytest.mark.req("PR-580", "XC-105")
def test_a_run_out_of_time_is_a_time_out_of_its_worker():
    context = asked()
    due = context.start()

    context.do(run_failed, due.run, said("120 s over"), words="120 s over", timed_out=True)
    context.beat(MINUTE)

    first, second = context.task().hops[0].attempts
    assert (first.code, second.worker, second.retry) == ("E21", "W1", 1)


@pytest.mark.req("PR-580", "XC-008")
def test_a_run_that_died_without_a_word_is_given_up_with_its_lease():
    context = asked()
    context.start()

    context.beat(LEASE)

    assert context.last("task.lost")["task"] == "S1.1.W1.1"
    assert context.task().hops[0].attempts[0].code == "E21"


@pytest.mark.req("XC-008")
def test_a_refusal_is_noted_once_and_the_run_stays_owed():
    context = asked()
    [due] = context.runs()

    for _ in range(2):
        context.do(run_refused, due, said("cap reached"), words="cap reached", driver="command")

    assert context.told().count("task.refused") == 1
    assert [one.run for one in context.runs()] == [due.run]


@pytest.mark.req("PR-580")
def test_a_worker_that_rests_is_replaced():
    context = asked()
    [due] = context.runs()

    context.do(run_refused, due, said("rests"), words="rests", driver="command", elsewhere=True)
    context.beat()

    assert [one.worker for one in context.task().hops[0].attempts] == ["W1", "W2"]


@pytest.mark.req("PR-554", "PR-580")
@pytest.mark.parametrize(
    "line",
    [
        "",
        "M2|W1>O1|A|T1|P1|-|-|0|S1|B450|ready",
        "M2|W1>O1|U|T1|P1|R|-|0|S1|B450|progress=50%",
        "M2|W1>O1|S|T9|P1|D|-|0|S1|B450|result=x",
        "M2|W1>O1|S|T1|P1|D|-|0|S77|B450|result=x",
        "M2|W1>O1|S|T1|P1|D|-|0|S1|B450|part=1/2;result=x",
    ],
)
def test_a_run_that_ended_without_an_answer_is_a_failed_attempt(line: str):
    context = asked()
    due = context.start()
    if line:
        context.hear(line, due.run)

    ended = context.do(run_ended, due.run, why="it was garbled")
    context.beat()

    assert ended.outcome == "failed"
    first, second = context.task().hops[0].attempts
    assert (first.worker, first.state, first.code, first.parts) == ("W1", "F", "E30", {})
    assert first.reason == "no answer that can be taken: it was garbled"
    assert second.worker == "W2"


@pytest.mark.req("PR-580")
@pytest.mark.parametrize("data", ["progress=50%", "part=1/2;result=x"])
@pytest.mark.parametrize("lease", [None, 60 * MINUTE])
def test_word_of_progress_begins_the_time_anew_and_makes_no_lease_shorter(data: str, lease):
    context = asked()
    context.start(lease=lease)
    context.beat(MINUTE)

    kind = "U" if "progress" in data else "S"
    context.hear(f"M2|W1>O1|{kind}|T1|P1|{'R' if kind == 'U' else 'D'}|-|0|S1|B450|{data}")

    ends_at = context.task().hops[0].attempts[0].ends_at
    assert ends_at == (None if lease else context.now + context.rules.worker_timeout)


@pytest.mark.req("PR-309", "PR-410")
def test_a_run_can_be_set_aside_for_one_of_p0_and_is_owed_again():
    context = asked()
    due = context.start()
    assert [one.id for one in in_the_way(context.exchange, "W1")] == [due.run]

    step = context.do(set_aside, due.run, context="S9")

    assert step.outcome == "set-aside"
    assert context.last("task.set-aside")["task"] == due.run
    [again] = context.runs()
    assert (again.message, again.number, again.attempt) == (due.message, 2, due.attempt)
    assert len(context.task().hops[0].attempts) == 1
    assert context.task().hops[0].attempts[0].state == "R"


@pytest.mark.req("PR-309", "PR-410")
def test_the_answer_of_a_run_that_was_set_aside_too_late_counts():
    context = asked()
    due = context.start()
    context.do(set_aside, due.run, context="S9")

    context.hear("M2|W1>O1|S|T1|P1|D|-|0|S1|B450|results=5", due.run)

    assert context.task().state == "D"
    assert context.runs() == []


@pytest.mark.req("PR-410")
@pytest.mark.parametrize("options", [{"atomic": True}, {"priority": "P0"}])
def test_what_is_atomic_or_urgent_itself_is_not_interrupted(options: dict[str, object]):
    context = Context()
    context.ask(**options)
    due = context.start()

    assert in_the_way(context.exchange, "W1") == ()
    assert context.do(set_aside, due.run, context="S9").outcome == ""
    assert context.runs() == []


@pytest.mark.req("PR-553")
def test_the_orchestrators_agent_is_asked_how_to_split_and_its_failure_gives_the_request_whole():
    context = Context()
    context.ask(orchestrator="comet")
    [due] = context.runs()
    assert (type(due), due.worker, due.task) == (Split, "comet", "T1")
    assert context.lines == []
    context.start("comet")

    context.do(run_failed, due.run, said("exit 1"), words="exit 1")
    context.beat()

    assert [line.split("|")[1] for line in context.lines] == ["O1>W1"]


@pytest.mark.req("PR-553")
def test_a_run_of_the_orchestrators_agent_that_is_lost_gives_the_request_whole():
    context = Context()
    context.ask(orchestrator="comet")
    context.start("comet")

    context.beat(LEASE)

    assert [line.split("|")[1] for line in context.lines] == ["O1>W1"]


@pytest.mark.req("PR-556")
def test_an_answer_that_could_not_be_composed_is_made_of_the_results():
    context = Context()
    context.ask(orchestrator="comet")
    context.start("comet")
    context.beat(LEASE)
    context.work("W1", "S|D|-|0|B1|results=5")
    [due] = context.runs()
    assert (type(due), due.worker) == (Compose, "comet")
    context.start("comet")

    context.do(run_failed, due.run, said("exit 1"), words="exit 1")

    assert [type(one).__name__ for one in context.due()] == ["Answer"]


def test_a_run_that_nobody_knows_changes_nothing():
    context = asked()

    for rule in (run_failed, run_ended, set_aside):
        options = {
            run_failed: {"reason": said("x"), "words": "x"},
            set_aside: {"context": "S9"},
        }.get(rule, {})
        assert context.do(rule, "S1.9.W1.1", **options).events == []


@pytest.mark.req("XC-016")
def test_a_worker_with_a_name_of_its_own_gets_a_run_that_can_be_a_file():
    registry = registered(**{"W1.a": "plan"})
    context = Context(registry)
    context.ask(caps=("plan",))
    context.deliver()

    assert [one.run for one in context.runs()] == ["S1.1.W1-a.1"]


@pytest.mark.req("PR-580")
def test_a_run_under_way_counts_as_a_sign_of_life():
    context = asked()
    context.start("W1")
    gone = context.registry.entries["W1"].copy(status=EntryStatus.UNAVAILABLE)
    context.registry = context.registry.with_entry(gone)

    context.beat()

    assert [one.worker for one in context.task().hops[0].attempts] == ["W1"]


@pytest.mark.req("PR-571")
def test_the_run_of_a_task_that_is_cancelled_is_given_up():
    context = asked()
    due = context.start("W1")

    context.do(cancel, "T1")

    assert context.exchange.runs[due.run].state == "X"
    assert context.do(run_failed, due.run, said("killed"), words="killed").events == []


@pytest.mark.req("PR-556")
def test_the_answer_waits_until_it_was_composed():
    context = Context()
    context.ask(orchestrator="comet")
    context.start("comet")
    context.beat(LEASE)
    context.work("W1", "S|D|-|0|B1|results=5")
    due = context.start("comet")

    assert context.due() == ()
    context.do(run_failed, due.run, said("exit 1"), words="exit 1")
    assert [type(one).__name__ for one in context.due()] == ["Answer"]


@pytest.mark.req("PR-556")
@pytest.mark.parametrize("composed", [True, False])
def test_a_request_that_joins_one_whose_answer_waits_is_answered_with_it(composed: bool):
    context = Context()
    context.ask(orchestrator="comet")
    context.start("comet")
    context.beat(LEASE)
    context.work("W1", "S|D|-|0|B1|results=5")
    due = context.start("comet")
    if composed:
        context.do(run_ended, due.run)
        context.do(answer_composed, "Five.")
    else:
        context.do(run_failed, due.run, said("exit 1"), words="exit 1")

    context.ask(orchestrator="comet")
    context.do(cancel, "T2")

    [again] = context.runs()
    assert isinstance(again, Compose)
    context.start("comet")
    context.do(run_failed, again.run, said("exit 1"), words="exit 1")
    assert [type(one).__name__ for one in context.due()] == ["Answer"]
