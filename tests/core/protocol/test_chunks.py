"""Answers in numbered parts: held, joined, refused, dropped."""

from __future__ import annotations

import pytest

from council.core.protocol.answering import answer_of
from council.core.protocol.exchange_runs import run_ended
from tests.core.exchanges import MINUTE, Context, registered


def asked() -> Context:
    context = Context()
    context.ask()
    context.deliver()
    return context


def part(data: str, number: int = 2) -> str:
    return f"M{number}|W1>O1|S|T1|P1|D|-|0|S1|B400|{data}"


@pytest.mark.req("PR-548")
@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("part=1/2;result=Alpha", "part=2/2;result=Omega"), "AlphaOmega"),
        (("part=2/2;result=Omega", "part=1/2;result=Alpha"), "AlphaOmega"),
        (("part=1/3;result=Al", "part=2/3;pha and ", "part=3/3;Omega"), "Alpha and Omega"),
        (("part=1/2;a=1;", "part=2/2;b=2"), "a: 1\nb: 2"),
        (("part=1/2;x", "part=1/2;result=a", "part=1/2;result=b", "part=2/2;c"), "bc"),
        (("part=1/3;result=a", "part=1/2;result=b", "part=2/2;c"), "bc"),
        (("part=1/1;result=all",), "all"),
        (("part=one;result=the first",), "the first"),
    ],
)
def test_an_answer_in_parts_is_one_answer_once_all_are_there(parts: tuple[str, ...], text: str):
    context = asked()
    *first, last = parts
    for number, one in enumerate(first, 2):
        assert context.hear(part(one, number)).outcome == "taken"
        assert context.task().state == "R"

    context.hear(part(last, len(parts) + 1))

    assert context.task().state == "D"
    assert context.task().hops[0].attempts[0].parts == {}
    assert answer_of(context.exchange, lambda name: "") == text


@pytest.mark.req("PR-548")
def test_who_handed_on_gets_the_whole_answer_once_even_if_no_line_can_hold_it():
    context = Context(registered(W1="web_search", W2="summarize"))
    context.ask()
    due = context.start("W1")
    context.hear("M2|W1>W2|X|T1|P1|R|-|1|S1|B50|call=summarize", due.run)
    context.start("W2", lease=None)
    context.hear(f"M3|W2>W1|S|T1|P1|D|-|1|S1|B9|part=1/2;result={'a' * 180}")
    assert [one.worker for one in context.runs()] == [], "its source waits for the rest"

    context.hear(f"M4|W2>W1|S|T1|P1|D|-|1|S1|B9|part=2/2;{'b' * 180}")

    context.deliver()
    (due,) = context.runs()
    posted = context.exchange.posted_as(due.message)
    assert (due.worker, posted.message.data) == ("W1", "result=#CTX:t1h2s")
    assert context.exchange.values["t1h2s"] == "a" * 180 + "b" * 180
    assert context.task().fields["result"] == "a" * 180 + "b" * 180


@pytest.mark.req("PR-548")
@pytest.mark.parametrize("data", ["part=0/2;a", "part=3/2;a", "part=1/0;a", "part=1/100;a"])
def test_a_part_with_a_false_number_is_refused(data: str):
    context = asked()

    refused = context.hear(part(data))

    assert (refused.outcome, refused.code) == ("refused", "E10")
    assert context.task().state == "R"


@pytest.mark.req("PR-548")
def test_who_answers_by_itself_has_the_time_of_a_worker_for_each_next_part():
    context = asked()
    context.start(lease=None)
    context.beat(14 * MINUTE)
    context.hear(part("part=1/2;result=Alpha"))
    context.beat(14 * MINUTE)
    assert context.task().hops[0].attempts[0].state == "R"
    context.beat(MINUTE)

    assert context.task().hops[0].attempts[0].code == "E21"


@pytest.mark.req("PR-548")
def test_parts_of_a_failed_attempt_do_not_go_into_the_next_one():
    context = Context(registered(W1="web_search"))
    context.ask()
    due = context.start()
    context.hear(part("part=1/2;result=Alpha"), due.run)
    context.do(run_ended, due.run)
    context.beat()
    context.beat(MINUTE)
    due = context.start()

    context.hear(part("part=2/2;Omega", 5), due.run)

    assert (
        context.task().hops[0].attempts[0].reason == "no answer that can be taken: parts 1/2 alone"
    )
    assert context.task().hops[0].attempts[1].parts == {"2/2": "part=2/2;Omega"}
