"""Questions: how many, to whom, in which form, and what happens when no one answers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from council.core.protocol.answering import answer_of
from council.core.protocol.exchange import ExchangeStep, TaskRules
from council.core.protocol.exchange_due import AskUser, Work, next_due
from council.core.protocol.orchestrator import settle
from council.core.protocol.questions import are_offered, ask
from council.core.protocol.registry import EntryStatus, Registry
from council.core.protocol.transaction import Transaction
from tests.core.exchanges import HOUR, MINUTE, SECOND, Context, registered

FIRST = TaskRules(choice_policy="first")
ASKS = "C|R|-|0|B400|question=format?;options=json,txt"


def ask_user(tx: Transaction, task: str, text: str, options: tuple[str, ...]) -> ExchangeStep:
    """Put a choice to the user before anybody works on a task."""
    ask(tx, tx.exchange.tasks[task], text, options)
    settle(tx)
    return tx.step("asked")


@pytest.mark.req("PR-575")
def test_the_third_question_of_a_task_is_refused_and_its_worker_decides_alone():
    context = Context()
    context.ask()
    for _ in range(2):
        context.work("W1", ASKS)
        context.deliver()
        context.hear("M9|User>O1|C|T1|P1|R|-|0|S1|-|choice=1")

    context.work("W1", ASKS)

    assert context.step.code == "E18"
    assert context.lines[-1].endswith("|O1>W1|E|T1|P1|-|E18|0|S1|B400|desc=max_clarify;max=2")
    assert context.task().clarifications == 2
    context.work("W1", "S|D|-|0|B300|decided=json")
    assert context.task().state == "D"


@pytest.mark.req("PR-575")
def test_who_goes_on_asking_fails():
    context = Context()
    context.ask()
    for _ in range(2):
        context.work("W1", ASKS)
        context.deliver()
        context.hear("M9|User>O1|C|T1|P1|R|-|0|S1|-|choice=1")

    for _ in range(3):
        context.work("W1", ASKS)

    assert (context.task().state, context.task().code) == ("F", "E18")


@pytest.mark.req("PR-576")
def test_after_its_time_the_first_option_is_taken_and_it_is_logged():
    context = Context(rules=FIRST)
    context.ask()
    context.work("W1", ASKS)
    context.deliver()

    context.beat(59 * SECOND)
    assert context.task().questions[0].is_open
    context.beat(SECOND)

    assert context.last("question.expired")["code"] == "E23"
    assert context.lines[-1].endswith("|O1>W1|C|T1|P1|R|-|0|S1|B400|answer=json")
    assert [one.worker for one in context.runs()] == ["W1"]


@pytest.mark.req("PR-576")
def test_the_time_of_a_question_begins_when_it_is_put():
    context = Context(rules=FIRST)
    context.ask()
    context.work("W1", ASKS)

    context.now += timedelta(hours=2)
    assert context.task().questions[0].ends_at is None
    context.deliver()

    assert context.task().questions[0].ends_at == context.now + 60 * SECOND


@pytest.mark.req("PR-576")
def test_the_task_can_be_abandoned_instead():
    context = Context(rules=TaskRules(choice_policy="abandon"))
    context.ask()
    context.work("W1", ASKS)
    context.deliver()

    context.beat(60 * SECOND)

    assert (context.task().state, context.task().code) == ("F", "E23")
    assert "|O1>W1|U|T1|P1|X|" in context.lines[-1]


@pytest.mark.req("PR-576")
def test_a_worker_whose_open_question_nobody_answers_decides_itself():
    context = Context(rules=FIRST)
    context.ask()
    context.work("W1", "C|R|-|0|B400|question=which folder?")
    assert context.lines[-1] == "M3|O1>User|C|T1|P1|R|-|0|S1|-|question=which folder?"
    context.deliver()

    context.beat(60 * SECOND)

    assert context.lines[-1].endswith("|C|T1|P1|R|-|0|S1|B400|answer=decide yourself")


@pytest.mark.req("PR-577")
def test_an_open_question_takes_any_text_however_long():
    context = Context()
    context.ask()
    context.work("W1", "C|R|-|0|B400|question=which folder?")
    context.deliver()

    context.hear("M4|User>O1|C|T1|P1|R|-|0|S1|-|answer=" + "the one with the drafts " * 7)

    assert context.lines[-1].endswith("|answer=#CTX:a3")
    assert context.exchange.values["a3"].startswith("the one with the drafts the one")


@pytest.mark.req("PR-577")
@pytest.mark.parametrize("said", ["choice=opt2", "choice=2", "choice=TXT", "answer=txt", "txt"])
def test_an_option_may_be_named_in_any_of_its_ways(said: str):
    context = Context()
    context.ask()
    context.work("W1", ASKS)
    context.deliver()

    context.hear(f"M4|User>O1|C|-|P1|-|-|0|S1|-|{said}")

    assert context.task().questions[0].answer == "txt"


@pytest.mark.req("PR-577")
def test_what_is_no_option_is_refused_and_the_question_stays():
    context = Context()
    context.ask()
    context.work("W1", ASKS)
    context.deliver()

    step = context.hear("M4|User>O1|C|T1|P1|R|-|0|S1|-|choice=xml")

    assert (step.outcome, step.code) == ("refused", "E10")
    assert context.task().questions[0].is_open


@pytest.mark.req("PR-577")
def test_an_answer_to_nothing_is_refused():
    context = Context()
    context.ask()

    assert context.hear("M4|User>O1|C|T1|P1|R|-|0|S1|-|choice=1").outcome == "refused"


@pytest.mark.req("PR-554", "PR-574")
@pytest.mark.parametrize("kind", ["C|T1|P1|R", "S|T1|P1|-"])
def test_an_orchestrator_may_answer_for_the_user_by_either_type(kind: str):
    context = Context()
    context.ask()
    context.work("W1", ASKS)
    context.deliver()

    context.order(f"M4|O1>W1|{kind}|-|0|S1|B400|answer=json")
    context.deliver()

    assert (context.task().questions[0].answer, context.task().questions[0].by) == ("json", "O1")
    assert [one.message for one in context.runs()] == [4]


@pytest.mark.req("PR-576")
def test_a_choice_before_the_work_holds_the_task_and_goes_into_its_request():
    context = Context()
    context.registry = context.registry.copy(entries={})
    context.ask(orchestrator="comet")

    context.do(ask_user, "T1", "Which report?", ("short", "long one"))
    context.deliver()
    assert not any(isinstance(one, Work) for one in context.due())
    context.hear("M2|User>O1|C|T1|P1|R|-|0|S1|-|choice=opt2")

    assert context.task().choice == "long one"


@pytest.mark.req("PR-553", "PR-576")
def test_nobody_is_asked_to_work_before_the_user_has_chosen():
    context = Context()
    away = {
        name: one.copy(status=EntryStatus.UNAVAILABLE)
        for name, one in context.registry.entries.items()
    }
    here, context.registry = context.registry, Registry(entries=away)
    context.ask()
    context.do(ask_user, "T1", "Which report?", ("short", "long"))
    context.registry = here

    context.beat(59 * SECOND)
    context.beat(SECOND)
    assert context.task().questions[0].is_open
    assert context.task().hops[0].attempts == []
    context.hear("M2|User>O1|C|T1|P1|R|-|0|S1|-|choice=opt2")

    assert context.lines[-1].endswith("|call=web_search;query=latest AI news;choice=long")


@pytest.mark.req("PR-552", "PR-576")
def test_the_choice_of_the_document_is_put_answered_and_goes_to_a_worker():
    context = Context(kept_open=True)

    context.order("M1|O1>User|D|T1|P1|R|-|0|S1|-|question=Format?;opt1=court;opt2=long;opt3=brut")
    assert [type(one) for one in context.due()] == [AskUser]
    assert context.task().state == "R"
    context.deliver()
    context.hear("M2|User>O1|C|T1|P1|R|-|0|S1|-|choice=opt2")
    context.order("M3|O1>W1|R|T1|P1|R|-|0|S1|B1000|query=report;format=long")
    context.deliver()

    assert context.task().choice == "long"
    assert [one.worker for one in context.runs()] == ["W1"]


@pytest.mark.req("PR-576")
@pytest.mark.parametrize(
    ("options", "fits"),
    [
        (("a", "b"), True),
        (("a", "b", "c", "three short words"), True),
        (("a",), False),
        (("a", "b", "c", "d", "e"), False),
        (("a", "four words are many"), False),
        (("a", "b|c"), False),
    ],
)
def test_a_choice_has_two_to_four_short_options(options: tuple[str, ...], fits: bool):
    assert are_offered(options) is fits


@pytest.mark.req("PR-574")
def test_too_many_options_are_put_as_an_open_question():
    context = Context()
    context.ask()

    context.work("W1", "C|R|-|0|B400|question=which?;options=a,b,c,d,e")

    assert context.lines[-1] == ("M3|O1>User|C|T1|P1|R|-|0|S1|-|question=which?;options=a,b,c,d,e")


@pytest.mark.req("PR-555", "PR-576")
def test_a_question_whose_worker_is_replaced_waits_for_nobody_any_more():
    context = Context()
    context.ask()
    context.work("W1", ASKS)
    context.deliver()

    context.order("M4|O1>W1|E|T1|P1|F|E20|0|S1|B400|desc=timeout")

    [question] = context.task().questions
    assert (question.is_open, question.answer, question.by) == (False, "-", "nobody")
    assert context.task().hops[0].attempts[-1].worker == "W2"


@pytest.mark.req("PR-555", "PR-560")
@pytest.mark.parametrize("answered", [True, False])
def test_the_own_time_of_a_task_stands_still_while_the_user_is_asked(answered: bool):
    context = Context(rules=FIRST.copy(choice_timeout=3 * HOUR, worker_timeout=9 * HOUR))
    context.ask()
    context.start(lease=None)
    ends_at = context.task().ends_at
    context.hear("M2|W1>O1|C|T1|P1|R|-|0|S1|B400|question=format?;options=json,txt")
    context.deliver()

    context.beat(2 * HOUR)
    assert context.task().questions[0].is_open
    if answered:
        context.hear("M9|User>O1|C|T1|P1|R|-|0|S1|-|choice=1")
        waited = 2 * HOUR
    else:
        context.beat(HOUR)
        waited = 3 * HOUR

    assert context.task().hops[0].attempts[0].state == "R"
    assert context.task().ends_at == ends_at + waited
    context.beat(HOUR)
    assert context.task().hops[0].attempts[0].code == "E20"


@pytest.mark.req("OP-007", "PR-576")
def test_a_question_waits_for_its_person_for_days_and_uses_up_nothing_of_the_task():
    context = Context()
    context.ask()
    context.start(lease=None)
    ends_at = context.task().ends_at
    context.hear("M2|W1>O1|C|T1|P1|R|-|0|S1|B400|question=format?;options=json,txt")
    context.deliver()

    for _ in range(3):
        context.beat(24 * HOUR)
    logged = [one.data for one in context.events if one.type == "question.expired"]
    assert [(one["code"], one["policy"]) for one in logged] == [("E23", "wait")]
    assert context.task().questions[0].is_open
    assert next_due(context.exchange) is None
    context.hear("M9|User>O1|C|T1|P1|R|-|0|S1|-|choice=2")

    assert context.task().questions[0].answer == "txt"
    assert context.task().ends_at == ends_at + 72 * HOUR
    assert answer_of(context.exchange, str) == "Done."


@pytest.mark.req("OP-007")
def test_a_question_holds_up_the_clock_of_those_that_wait_for_who_asks_it():
    context = Context(registered(W1="plan", W2="paint"))
    context.ask(caps=("plan",))
    plan = context.start("W1")
    context.hear("M2|W1>W2|X|T1|P1|R|-|1|S1|B200|call=paint", plan.run)
    paint = context.start("W2")
    context.hear("M3|W2>O1|C|T1|P1|R|-|1|S1|B200|question=format?;options=json,txt", paint.run)
    context.deliver()

    context.beat(24 * HOUR)
    context.hear("M9|User>O1|C|T1|P1|R|-|0|S1|-|choice=2")
    context.beat()

    attempts = [(one.worker, one.state) for hop in context.task().hops for one in hop.attempts]
    assert attempts == [("W1", "R"), ("W2", "R")]
    assert [one.worker for one in context.runs()] == ["W2"]


@pytest.mark.req("OP-007", "PR-555")
def test_who_is_looked_for_after_a_long_choice_is_looked_for_as_long_as_ever():
    context = Context()
    away = {
        name: one.copy(status=EntryStatus.UNAVAILABLE)
        for name, one in context.registry.entries.items()
    }
    context.registry = Registry(entries=away)
    context.ask()
    context.do(ask_user, "T1", "Which report?", ("short", "long"))
    context.beat(24 * HOUR)
    context.hear("M2|User>O1|C|T1|P1|R|-|0|S1|-|choice=opt2")

    context.beat(30 * MINUTE)
    assert context.task().state != "F"
    context.beat(30 * MINUTE)
    assert context.task().code == "E30"


@pytest.mark.req("OP-007")
@pytest.mark.parametrize("composed", [False, True])
@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("en", "Nobody answered “format?” in time: “json” was taken."),
        ("fr", "Personne n’a répondu à temps à « format? » : « json » a été retenu."),
    ],
)
def test_a_default_that_was_taken_is_said_in_the_answer(lang: str, said: str, composed: bool):
    context = Context(rules=FIRST)
    context.ask()
    context.work("W1", ASKS)
    context.deliver()
    context.beat(60 * SECOND)
    context.work("W1", "S|D|-|0|B300|result=here")
    exchange = context.exchange.copy(composed=composed, answer="here" if composed else "")

    assert answer_of(exchange, str, lang) == f"here\n\n{said}"
