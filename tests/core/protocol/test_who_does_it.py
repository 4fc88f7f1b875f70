"""Requests that name no capability: whom they go to, and whom they never go to."""

from __future__ import annotations

import pytest

from council.core.protocol.exchange import TaskRules
from council.core.protocol.registry import EntryStatus
from council.core.protocol.selection import named_in
from tests.core.exchanges import MINUTE, SECOND, Context, registered

REGISTRY = registered(W1="web_search", W2="code_read,plan", W3="plan")


def workers(context: Context) -> list[str]:
    return [one.worker for hop in context.task().hops for one in hop.attempts]


@pytest.mark.req("OP-015")
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("code_read: read main.py please", ("code_read",)),
        ("Please do a web search on herons.", ("web_search",)),
        ("CODE-READ and plan it", ("code_read", "plan")),
        ("plan a web_search", ("plan",)),
        ("planning websearch replan", ()),
        ("read the code", ()),
        ("…", ()),
    ],
)
def test_a_capability_is_named_by_whole_words(text: str, named: tuple[str, ...]):
    assert named_in(text, REGISTRY) == named


@pytest.mark.req("OP-015")
def test_a_request_goes_to_a_worker_whose_capability_it_names():
    context = Context(REGISTRY)
    context.ask("code_read: read main.py please", caps=())
    assert workers(context) == ["W2"]
    assert context.task().caps == ("code_read",)


@pytest.mark.req("OP-015")
@pytest.mark.parametrize(("lang", "said"), [("en", "Who is to do this?"), ("fr", "Qui le fera ?")])
def test_where_it_names_none_the_user_is_asked_and_only_who_was_chosen_gets_it(
    lang: str, said: str
):
    context = Context(REGISTRY, lang=lang)
    context.ask("read main.py please", caps=())
    (question,) = context.task().questions
    assert said in question.text
    assert "W2 (code_read, plan)" in question.text
    assert question.options == ("W1", "W2", "W3")
    context.beat(60 * MINUTE)
    assert workers(context) == []

    context.hear("M2|User>O1|C|T1|P1|R|-|0|S1|-|choice=opt3")
    assert workers(context) == ["W3"]
    assert context.lines[-1].endswith("|query=read main.py please")
    context.work("W3", "E|F|E30|0|B400|desc=no")
    context.beat(30 * MINUTE)
    assert set(workers(context)) == {"W3"}


@pytest.mark.req("OP-015")
def test_who_was_chosen_and_is_away_is_waited_for():
    context = Context(REGISTRY)
    context.ask("read main.py please", caps=())
    context.deliver()
    away = REGISTRY.entries["W3"].copy(status=EntryStatus.UNAVAILABLE)
    context.registry = REGISTRY.with_entry(away)
    context.hear("M2|User>O1|C|T1|P1|R|-|0|S1|-|choice=opt3")
    assert workers(context) == []
    context.registry = REGISTRY
    context.beat(MINUTE)
    assert workers(context) == ["W3"]


@pytest.mark.req("OP-015")
def test_a_default_never_says_who_does_it():
    context = Context(REGISTRY, rules=TaskRules(choice_policy="first"))
    context.ask("read main.py please", caps=())
    context.deliver()
    context.beat(60 * SECOND)
    assert workers(context) == []
    assert (context.task().state, context.task().code) == ("F", "E23")


@pytest.mark.req("OP-015", "PR-553")
def test_an_orchestrator_splits_what_names_nothing():
    context = Context(REGISTRY)
    context.ask("read main.py please", caps=(), orchestrator="comet")
    assert context.task().questions == []
