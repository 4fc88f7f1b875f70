"""The orchestrator: requests, what follows from each kind of answer, time, cancellation."""

from __future__ import annotations

from datetime import timedelta

import pytest

from council.core.conversations.conversation import TaskState
from council.core.errors import ConflictError, InvalidInputError
from council.core.protocol.answering import answered
from council.core.protocol.exchange import BUDGETS, ContextStatus, TaskRules
from council.core.protocol.exchange_due import Answer, AskUser, Deliver, Work
from council.core.protocol.orchestrator import cancel, close, receive_fault, request
from council.core.protocol.registry import Entry, EntryStatus, Registry
from council.wire.carried import message_of
from tests.core.exchanges import HOUR, MINUTE, NOW, SECOND, Context, registered


def lines_to(context: Context, receiver: str) -> list[str]:
    return [line for line in context.lines if f">{receiver}|" in line]


@pytest.mark.req("PR-553", "PR-581", "PR-585")
def test_a_request_makes_a_task_with_its_budget_and_asks_the_best_worker():
    context = Context()

    context.ask("latest AI news")
    context.deliver()

    assert context.told() == [
        "context.opened",
        "task.created",
        "budget.set",
        "capabilities.matched",
        "worker.chosen",
        "message.sent",
        "message.delivered",
        "attempt.changed",
    ]
    assert context.lines == ["M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=web_search;query=latest AI news"]
    assert context.last("attempt.changed")["to"] == "R"
    assert (context.task().state, context.task().hops[0].attempts[0].worker) == ("R", "W1")


@pytest.mark.req("PR-553")
def test_a_request_becomes_running_when_it_is_delivered_and_not_before():
    context = Context()

    context.ask()
    assert context.task().state is TaskState.N
    assert context.runs() == []

    context.deliver()
    assert context.task().state is TaskState.R
    assert [one.worker for one in context.runs()] == ["W1"]


@pytest.mark.req("PR-581")
@pytest.mark.parametrize("complexity", BUDGETS)
def test_the_budget_follows_from_the_complexity(complexity: str):
    context = Context()

    context.ask(complexity=complexity)

    expected = {"simple": "B100", "medium": "B500", "complex": "B2000", "unlimited": "-"}
    assert context.lines[0].split("|")[9] == expected[complexity]


@pytest.mark.req("PR-553", "PR-536")
def test_a_text_that_fits_no_line_lies_in_the_context_and_is_referred_to():
    context = Context()
    text = "first line\nsecond | line with > and ;" + " more" * 60

    context.ask(text)

    assert context.lines[0].endswith("|call=web_search;query=#CTX:request")
    assert context.exchange.values["request"] == text


@pytest.mark.req("PR-501", "PR-554", "PR-556")
def test_the_success_of_a_worker_ends_its_task_and_the_answer_is_due():
    context = Context()
    context.ask()

    context.work("W1", "S|D|-|0|B200|results=5;top1=OpenAI")

    task = context.task()
    assert (task.state, task.result) == ("D", "results=5;top1=OpenAI")
    assert task.fields == {"results": "5", "top1": "OpenAI", "S": "results=5;top1=OpenAI"}
    assert [type(one) for one in context.due()] == [Answer]


@pytest.mark.req("PR-554")
def test_an_update_is_noted_and_changes_nothing_else():
    context = Context()
    context.ask()
    due = context.start()

    context.hear("M2|W1>O1|U|T1|P1|R|-|0|S1|B450|progress=50%;found=12 articles", due.run)

    attempt = context.task().hops[0].attempts[0]
    assert (attempt.state, attempt.progress) == ("R", "progress=50%;found=12 articles")
    assert context.task().hops[0].left == 450
    assert context.step.outcome == "taken"


@pytest.mark.req("PR-554", "PR-580")
def test_an_error_of_a_worker_that_is_busy_gives_the_task_to_another_one():
    context = Context()
    context.ask()

    context.work("W1", "E|F|E31|0|B500|BUSY;queue=5")

    assert context.lines[-1] == (
        "M3|O1>W2|R|T1|P1|N|-|0|S1|B500"
        "|call=web_search;query=latest AI news;fallback_from=W1;reason=E31"
    )
    first, second = context.task().hops[0].attempts
    assert (first.state, first.code, second.worker) == ("F", "E31", "W2")
    assert second.fallback_from == "W1"


@pytest.mark.req("PR-579", "PR-580", "XC-105")
def test_a_task_that_times_out_is_retried_twice_then_given_to_another_worker():
    context = Context()
    context.ask()

    asked = []
    for wait in (0, 10, 60, 0):
        context.beat(timedelta(seconds=wait))
        asked.append(context.lines[-1].split("|", 1)[1])
        context.start()
        context.beat(2 * MINUTE)

    begin = "R|T1|P1|N|-|0|S1|B500|call=web_search;query=latest AI news"
    assert asked[:3] == [
        f"O1>W1|{begin}",
        f"O1>W1|{begin};retry=1;max=2;fallback=W2",
        f"O1>W1|{begin};retry=2;max=2;fallback=W2",
    ]
    assert asked[3] == f"O1>W2|{begin};fallback_from=W1;reason=E21"
    assert [one.code for one in context.task().hops[0].attempts][:3] == ["E21"] * 3


@pytest.mark.req("PR-580")
def test_a_retry_waits_for_its_pause():
    context = Context()
    context.ask()
    context.start()

    context.beat(2 * MINUTE)
    assert context.runs() == []
    context.beat(9 * SECOND)
    assert context.runs() == []
    context.beat(SECOND)
    assert [one.worker for one in context.runs()] == ["W1"]


@pytest.mark.req("PR-580")
@pytest.mark.parametrize("code", ["E10", "E16", "E19", "E33", "E40", "E43", "E90", "E99"])
def test_an_error_that_nobody_can_mend_goes_to_the_user(code: str):
    context = Context()
    context.ask()

    context.work("W1", f"E|F|{code}|0|B500|desc=no")

    assert (context.task().state, context.task().code) == ("F", code)
    assert [type(one) for one in context.due()] == [Answer]
    assert len(context.task().hops[0].attempts) == 1


@pytest.mark.req("PR-580")
def test_an_external_resource_that_is_missing_is_tried_by_another_worker():
    context = Context()
    context.ask()

    context.work("W1", "E|F|E32|0|B500|desc=no network")

    assert context.task().hops[0].attempts[-1].worker == "W2"


@pytest.mark.req("PR-580")
def test_the_only_worker_that_is_busy_is_asked_again_after_a_pause_and_not_for_ever():
    context = Context(registered(W1="web_search"))
    context.ask()

    for pause in (10, 60):
        context.work("W1", "E|-|E31|0|B500|BUSY;queue=5")
        assert context.runs() == []
        context.beat(timedelta(seconds=pause))
    context.work("W1", "E|-|E31|0|B500|BUSY;queue=5")

    assert (context.task().state, context.task().code) == ("F", "E31")
    assert len(context.task().hops[0].attempts) == 3


@pytest.mark.req("PR-555")
def test_the_end_of_the_time_of_a_task_is_told_and_the_next_worker_is_asked():
    context = Context()
    context.ask()
    context.start(lease=None)
    context.hear("M2|W1>O1|U|T1|P1|R|-|0|S1|B450|progress=1%")

    context.beat(HOUR)

    assert context.lines[-2:] == [
        "M3|O1>W1|E|T1|P1|F|E20|0|S1|B450|desc=timeout",
        "M4|O1>W2|R|T1|P1|N|-|0|S1|B450"
        "|call=web_search;query=latest AI news;fallback_from=W1;reason=E20",
    ]
    assert context.task().hops[0].attempts[0].code == "E20"
    assert context.task().ends_at is None


@pytest.mark.req("PR-555", "PR-580")
def test_a_task_whose_time_is_over_at_every_worker_fails():
    context = Context()
    context.ask()

    for _ in ("W1", "W2"):
        context.start(lease=2 * HOUR)
        context.beat(HOUR)

    assert (context.task().state, context.task().code) == ("F", "E20")
    assert [type(one) for one in context.due()] == [Answer]


@pytest.mark.req("PR-422", "PR-580")
@pytest.mark.parametrize("has_begun", [False, True])
def test_a_worker_that_gives_no_sign_of_life_is_replaced(has_begun: bool):
    context = Context()
    context.ask()
    context.deliver()
    if has_begun:
        context.start(lease=None)
    gone = context.registry.entries["W1"].copy(status=EntryStatus.UNAVAILABLE)
    context.registry = context.registry.with_entry(gone)

    context.beat()

    first, second = context.task().hops[0].attempts
    assert (first.state, first.code, second.worker) == ("F", "E22", "W2")


@pytest.mark.req("PR-553", "PR-580")
def test_a_request_for_what_nobody_can_do_fails_at_once():
    context = Context()

    context.ask("translate this", caps=("translate",))

    assert (context.task().state, context.task().code) == ("F", "E19")
    assert "translate" in context.task().reason


@pytest.mark.req("PR-553")
def test_a_request_without_any_worker_fails_and_says_so():
    context = Context(registered())

    context.ask(caps=())

    assert (context.task().state, context.task().code) == ("F", "E30")


@pytest.mark.req("PR-553", "PR-580")
def test_a_request_waits_for_a_worker_that_is_only_away():
    away = Entry(id="W1", capabilities=("web_search",), status=EntryStatus.UNAVAILABLE)
    context = Context(Registry(entries={"W1": away}))
    context.ask()
    assert context.task().state is TaskState.N
    assert context.last("worker.missing")["code"] == "E30"

    context.beat(MINUTE)
    assert context.told().count("worker.missing") == 1, "it is told once"
    context.registry = context.registry.with_entry(away.copy(status=EntryStatus.ACTIVE))
    context.beat(MINUTE)

    assert context.task().hops[0].attempts[0].worker == "W1"


@pytest.mark.req("PR-580")
def test_a_worker_that_is_away_is_not_waited_for_longer_than_a_task_may_take():
    away = Entry(id="W1", capabilities=("web_search",), status=EntryStatus.UNAVAILABLE)
    context = Context(Registry(entries={"W1": away}))
    context.ask()

    context.beat(HOUR)

    assert (context.task().state, context.task().code) == ("F", "E30")


@pytest.mark.req("PR-559")
@pytest.mark.parametrize("kind", ["R", "B", "D"])
def test_what_only_an_orchestrator_sends_is_ignored_from_a_worker_with_an_event(kind: str):
    context = Context()
    context.ask()
    context.deliver()
    before = context.exchange

    step = context.hear(f"M2|W1>W2|{kind}|T1|P1|N|-|0|S1|B500|question=q;opt1=a;opt2=b")

    assert step.outcome == "ignored"
    assert context.last("message.ignored")["kind"] == kind
    assert context.exchange.tasks == before.tasks


@pytest.mark.req("PR-552")
def test_an_end_that_is_told_twice_is_ignored_with_a_warning():
    context = Context(kept_open=True)
    context.ask()
    context.work("W1", "S|D|-|0|B200|results=5")
    before = context.exchange

    step = context.hear("M2|W1>O1|S|T1|P1|D|-|0|S1|B200|results=6")

    assert (step.outcome, context.told()[-1]) == ("duplicate", "message.repeated")
    assert context.exchange.tasks == before.tasks


@pytest.mark.req("PR-551", "PR-552")
def test_a_message_that_fits_no_transition_is_answered_with_its_code():
    context = Context(kept_open=True)
    context.ask()
    context.work("W1", "S|D|-|0|B200|results=5")

    step = context.hear("M7|W1>O1|E|T1|P1|F|E33|0|S1|B200|desc=no")

    assert (step.outcome, step.code) == ("refused", "E15")
    assert context.lines[-1] == ("M3|O1>W1|E|T1|P1|-|E15|0|S1|B200|desc=invalid state;from=D;to=F")
    assert context.task().state is TaskState.D


@pytest.mark.req("PR-551")
@pytest.mark.parametrize("line", ["S|R", "E|D", "U|D", "C|F", "X|D", "U|N"])
def test_a_type_that_does_not_go_with_its_state_is_refused(line: str):
    kind, state = line.split("|")
    context = Context()
    context.ask()
    context.deliver()

    code = "E31" if kind == "E" else "-"
    step = context.hear(f"M2|W1>O1|{kind}|T1|P1|{state}|{code}|0|S1|B200|question=x")

    assert (step.outcome, step.code) == ("refused", "E15")
    assert context.task().hops[0].attempts[0].state is TaskState.R


@pytest.mark.req("PR-537", "PR-558")
def test_a_worker_whose_message_is_refused_is_asked_once_more_and_not_for_ever():
    context = Context()
    context.ask()

    for number in range(3):
        due = context.start("W1")
        about = message_of("M2|W1>O1|S|T1|P1|D|-|0|S1|-|x")
        step = context.do(
            receive_fault, about, "E10",
            details="segment 4", run=due.run,
        )  # fmt: skip
        assert (step.outcome, step.code) == ("refused", "E10")
        assert lines_to(context, "W1")[number + 1].endswith("E10|0|S1|B500|desc=segment 4")

    assert (context.task().state, context.task().code) == ("F", "E10")


@pytest.mark.req("PR-571")
def test_a_context_that_a_worker_invents_is_refused():
    context = Context()
    context.ask()
    context.deliver()

    step = context.hear("M2|W1>O1|S|T1|P1|D|-|0|S9|B200|results=5")

    assert (step.outcome, step.code) == ("refused", "E42")
    assert context.task().state is TaskState.R


@pytest.mark.req("PR-551", "PR-571")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("M2|W1>O1|U|T9|P1|R|-|0|S1|B200|p=1", "E40"),
        ("M2|W2>O1|U|T1|P1|R|-|0|S1|B200|p=1", "E40"),
        ("M2|W7>O1|U|T1|P1|R|-|0|S1|B200|p=1", "E41"),
    ],
)
def test_a_worker_that_has_no_part_in_a_task_is_refused(line: str, code: str):
    context = Context()
    context.ask()
    context.deliver()

    assert context.hear(line).code == code


@pytest.mark.req("PR-582")
def test_a_budget_that_grows_in_an_answer_gives_a_warning_and_does_not_grow():
    context = Context()
    context.ask()
    due = context.start()

    context.hear("M2|W1>O1|U|T1|P1|R|-|0|S1|B900|progress=1%", due.run)

    assert context.last("message.warned")["warning"] == "W_BUDGET_GREW"
    assert context.task().hops[0].left == 500


@pytest.mark.req("PR-584")
def test_a_budget_that_is_too_small_is_raised_once_and_then_given_up():
    context = Context()
    context.ask(complexity="simple")

    context.work("W1", "E|F|E17|0|B20|desc=budget insufficient;needed=150;have=20")
    assert context.lines[-1] == (
        "M3|O1>W1|R|T1|P1|N|-|0|S1|B200|call=web_search;query=latest AI news;raised=200"
    )
    assert context.last("budget.raised") == {
        "ctx": "S1", "tid": "T1", "hop": 1, "budget": 200, "was": 20,
    }  # fmt: skip
    context.work("W1", "E|F|E17|0|B200|desc=budget insufficient;needed=500;have=200")

    assert (context.task().state, context.task().code) == ("F", "E17")


@pytest.mark.req("PR-584")
def test_a_simpler_version_can_be_asked_for_instead_once():
    context = Context(rules=TaskRules(budget_policy="simpler"))
    context.ask(complexity="simple")

    context.work("W1", "E|F|E17|0|B20|desc=budget insufficient;needed=150;have=20")
    assert context.lines[-1].endswith("|B20|call=web_search;query=latest AI news;simpler=true")
    context.work("W1", "E|F|E17|0|B20|desc=budget insufficient;needed=150;have=20")

    assert context.task().code == "E17"


@pytest.mark.req("PR-584")
def test_a_budget_that_is_too_small_can_end_the_task_at_once():
    context = Context(rules=TaskRules(budget_policy="give-up"))
    context.ask(complexity="simple")

    context.work("W1", "E|F|E17|0|B20|desc=budget insufficient;needed=150;have=20")

    assert (context.task().state, context.task().code) == ("F", "E17")


@pytest.mark.req("PR-501", "PR-551")
def test_a_late_answer_of_a_run_whose_attempt_is_over_changes_nothing():
    context = Context()
    context.ask()
    due = context.start("W1")
    context.beat(2 * MINUTE)
    context.beat(10 * SECOND)
    assert context.task().hops[0].attempts[-1].retry == 1

    step = context.hear("M2|W1>O1|S|T1|P1|D|-|0|S1|B200|results=5", due.run)

    assert (step.outcome, step.code) == ("refused", "E15")
    assert context.task().hops[0].attempts[-1].state is TaskState.R


@pytest.mark.req("PR-554")
def test_a_task_that_is_cancelled_is_told_to_its_worker_and_its_late_success_is_refused():
    context = Context()
    context.ask()
    context.start("W1")

    step = context.do(cancel, "T1", reason="not needed")
    assert step.outcome == "cancelled"
    assert context.lines[-1] == "M2|O1>W1|U|T1|P1|X|-|0|S1|B500|cancel;reason=not needed"
    context.deliver()
    context.hear("M3|W1>O1|A|T1|P1|X|-|0|S1|B500|ok")
    late = context.hear("M4|W1>O1|S|T1|P1|D|-|0|S1|B500|late=1")

    assert (late.outcome, late.code) == ("refused", "E15")
    assert context.task().state is TaskState.X
    assert context.runs() == []
    assert context.do(cancel, "T1").outcome == ""


@pytest.mark.req("PR-304", "PR-517")
def test_a_broadcast_is_owed_to_each_of_its_receivers():
    context = Context(kept_open=True)

    context.order("M1|O1>W*|B|-|P2|-|-|0|S1|-|maintenance=5min", "W1", "W2")

    assert [(one.number, one.to, one.priority) for one in context.due()] == [
        (1, ("W1", "W2"), "P2")
    ]


@pytest.mark.req("PR-517")
def test_a_request_to_a_group_is_a_part_for_each_member_and_one_success_is_enough():
    context = Context(registered(W1="web_search", W2="web_search"))

    context.order("M1|O1>G1|R|T1|P1|N|-|0|S1|B100|call=web_search;query=x", "W1", "W2")
    context.deliver()

    assert sorted(one.worker for one in context.runs()) == ["W1", "W2"]
    context.work("W1", "E|F|E33|0|B90|desc=no")
    assert context.task().state is TaskState.R
    context.work("W2", "S|D|-|0|B90|found=1")
    assert (context.task().state, context.task().result) == ("D", "found=1")


@pytest.mark.req("PR-517", "PR-561")
@pytest.mark.parametrize("is_done", [True, False])
def test_who_did_the_same_part_is_not_asked_in_the_place_of_another_member(is_done: bool):
    context = Context(registered(W1="web_search", W2="web_search"))
    context.order("M1|O1>G1|R|T1|P1|N|-|0|S1|B100|call=web_search;query=x", "W1", "W2")
    context.deliver()

    if is_done:
        context.work("W1", "S|D|-|0|B90|found=1")
    context.work("W2", "E|F|E32|0|B90|desc=no net")
    context.beat(MINUTE)

    assert [one.worker for one in context.task().hops[1].attempts] == ["W2", "W2"]


@pytest.mark.req("PR-561")
def test_another_part_of_the_same_task_may_go_to_who_did_one():
    context = Context(registered(W1="web_search", W2="web_search"))
    context.order("M1|O1>W1|R|T1|P1|N|-|0|S1|B100|call=web_search;query=x")
    context.order("M2|O1>W2|R|T1|P1|N|-|0|S1|B100|call=web_search;query=y")
    context.deliver()

    context.work("W1", "S|D|-|0|B90|found=1")
    context.work("W2", "E|F|E32|0|B90|desc=no net")
    context.beat()

    assert [one.worker for one in context.task().hops[1].attempts] == ["W2", "W1"]


@pytest.mark.req("PR-561")
def test_several_workers_can_be_asked_at_once_and_share_the_budget():
    context = Context(rules=TaskRules(parallel=2))

    context.ask()

    assert [line.split("|")[1:] for line in context.lines] == [
        ["O1>W1", "R", "T1", "P1", "N", "-", "0", "S1", "B250",
         "call=web_search;query=latest AI news"],
        ["O1>W2", "R", "T1", "P1", "N", "-", "0", "S1", "B250",
         "call=web_search;query=latest AI news"],
    ]  # fmt: skip


@pytest.mark.req("PR-571")
def test_a_context_that_is_closed_cancels_what_is_open_in_it_and_takes_nothing_more():
    context = Context()
    context.ask()
    context.start("W1")

    context.do(close, reason="not needed")

    assert (context.exchange.status, context.exchange.closed_reason) == ("closed", "not needed")
    assert context.task().state is TaskState.X
    assert [type(one) for one in context.due()] == [Deliver], "the worker is told"
    step = context.hear("M9|W1>O1|S|T1|P1|D|-|0|S1|B1|late=1")
    assert (step.outcome, step.code) == ("refused", "E42")


@pytest.mark.req("PR-552")
def test_what_was_heard_already_is_a_repeat_even_after_its_context_is_closed():
    context = Context()
    context.ask()
    context.start("W1")
    line = "M2|W1>O1|S|T1|P1|D|-|0|S1|B400|found=1"
    context.hear(line)
    context.do(answered, text="found: 1")
    assert context.exchange.status == "closed"
    before = context.exchange

    assert context.hear(line).outcome == "duplicate"
    assert context.last("message.repeated")["said"] == "M2"
    assert context.hear(line.replace("=1", "=2")).code == "E42"
    assert context.exchange.tasks == before.tasks


@pytest.mark.req("PR-571")
def test_a_context_is_closed_when_its_time_is_over():
    context = Context(ends_at=NOW + HOUR)
    context.ask()

    context.beat(HOUR)

    assert context.exchange.status is ContextStatus.CLOSED
    assert context.exchange.closed_reason == "timeout"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"text": " \n"}, InvalidInputError),
        ({"complexity": "huge"}, InvalidInputError),
        ({"priority": "P3"}, InvalidInputError),
    ],
)
def test_a_request_with_a_wrong_value_is_refused(options: dict[str, str], error: type[Exception]):
    context = Context(registered("W1"))

    with pytest.raises(error):
        request(context.on(context.exchange), **{"text": "x", **options})


def test_a_request_in_a_closed_context_is_refused():
    context = Context(registered("W1"))
    context.do(close)

    with pytest.raises(ConflictError):
        request(context.on(context.exchange), "x")


@pytest.mark.req("PR-309", "PR-410")
def test_what_is_owed_comes_by_priority_and_then_by_age():
    context = Context(registered(W1="x", W2="x", W3="x", W4="x"), kept_open=True)
    for priority in ("P2", "P1", "P0"):
        context.ask(f"{priority} first", priority=priority, caps=("x",))
        context.deliver()
        context.now += SECOND
    context.ask("P1 later", priority="P1", caps=("x",))
    context.deliver()

    due = [(one.priority, one.task) for one in context.due()]

    assert due == [("P0", "T3"), ("P1", "T2"), ("P1", "T4"), ("P2", "T1")]
    assert all(isinstance(one, Work) for one in context.due())


@pytest.mark.req("PR-554", "PR-574", "PR-577")
def test_a_question_of_a_worker_goes_to_the_user_and_the_answer_back():
    context = Context()
    context.ask()

    context.work("W1", "C|R|-|0|B400|question=format?;options=json,txt,md")
    assert context.lines[-1] == (
        "M3|O1>User|D|T1|P1|R|-|0|S1|-|question=format?;opt1=json;opt2=txt;opt3=md"
    )
    [asked] = context.due()
    assert (type(asked), asked.options) == (AskUser, ("json", "txt", "md"))
    context.deliver()
    assert context.runs() == [], "the worker waits"
    context.hear("M4|User>O1|C|T1|P1|R|-|0|S1|-|choice=opt2")

    assert context.lines[-1] == "M5|O1>W1|C|T1|P1|R|-|0|S1|B400|answer=txt"
    context.work("W1", "S|D|-|0|B100|written=1")
    assert context.task().state is TaskState.D
