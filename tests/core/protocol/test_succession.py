"""How an exchange goes on when its numbers are used up."""

from __future__ import annotations

import pytest

from council.core.errors import ConflictError
from council.core.protocol.exchange import LAST_MESSAGE, LAST_TASK
from council.core.protocol.exchange_due import Continue, Work
from council.core.protocol.orchestrator import request
from council.core.protocol.succession import forwarded, succeed
from council.wire.carried import line_of, message_of
from tests.core.exchanges import Context, registered, saved


def at_the_end(number: int = 9999) -> Context:
    """Return a context in which W1 works and whose next message is the last one."""
    context = Context(registered(W1="plan", W2="plan"))
    context.ask("one", caps=("plan",))
    context.start("W1")
    context.exchange.next_message = number
    return context


@pytest.mark.req("PR-644")
def test_the_ten_thousandth_message_is_the_first_of_a_new_context():
    context = at_the_end()
    context.hear("M9999|W1>O1|U|T1|P1|R|-|0|S1|B400|progress=1%")
    assert context.lines[-1].startswith("M9999|")
    assert context.exchange.next_message <= LAST_MESSAGE + 1

    context.exchange = context.exchange.copy()
    run = next(iter(context.exchange.runs))
    context.lines.clear()
    context.exchange = _heard(context, "M1|W1>O1|C|T1|P1|R|-|0|S1|B300|question=q?", run)
    assert context.exchange.next_message > LAST_MESSAGE + 1
    assert [type(one) for one in context.due()] == [Continue]

    made = succeed(context.on(saved(context.exchange)), "S2")
    old, new = made.old.exchange, made.new.exchange

    assert (old.status, old.closed_reason, old.successor) == ("closed", "ids-used-up", "S2")
    assert [one.type for one in made.old.events] == ["context.continued", "context.closed"]
    assert new.values["prev"] == "S1"
    assert [line_of(one) for one in made.new.messages][-1] == (
        "M2|O1>User|C|T1|P1|R|-|0|S2|-|question=q?"
    )
    assert saved(old) == old
    assert saved(new) == new


def _heard(context: Context, line: str, run: str):
    from council.core.protocol.orchestrator import receive

    # Its line cannot be written before it has a number.
    return receive(context.on(saved(context.exchange)), message_of(line), run=run).exchange


@pytest.mark.req("PR-644")
def test_what_is_open_goes_on_there_to_its_end():
    context = at_the_end(10000)
    run = next(iter(context.exchange.runs))
    context.exchange = _heard(context, "M1|W1>O1|C|T1|P1|R|-|0|S1|B300|question=q?", run)
    old = succeed(context.on(context.exchange), "S2").old.exchange
    context.exchange = succeed(context.on(context.exchange), "S2").new.exchange

    context.deliver()
    answer = message_of("M3|User>O1|C|T1|P1|R|-|0|S1|-|answer=this one")
    context.hear(forwarded(old, answer))
    context.deliver()
    [due] = context.runs()
    assert isinstance(due, Work)
    assert (due.run, due.worker) == (f"S2.{due.message}.W1.1", "W1")
    line = "M9|W1>O1|S|T1|P1|D|-|0|S2|B1|result=done"
    context.start("W1")
    context.hear(line, due.run)

    assert context.exchange.tasks["T1"].state == "D"


@pytest.mark.req("PR-644")
def test_a_run_under_way_answers_in_the_new_context():
    context = at_the_end(10001)
    run = next(iter(context.exchange.runs))
    made = succeed(context.on(saved(context.exchange)), "S2")
    context.exchange = made.new.exchange
    assert context.runs() == [], "it is under way and not owed again"

    late = message_of("M2|W1>O1|S|T1|P1|D|-|0|S1|B1|result=done")
    context.hear(forwarded(made.old.exchange, late), run)

    assert context.exchange.tasks["T1"].state == "D"


@pytest.mark.req("PR-644")
def test_after_the_last_task_another_one_needs_a_new_context():
    context = Context(registered(W1="plan"), kept_open=True)
    context.exchange.next_task = 999
    context.ask("the last", caps=("plan",))
    assert context.exchange.next_task > LAST_TASK

    with pytest.raises(ConflictError):
        request(context.on(context.exchange), "one more")
    context.exchange.extra["goesOnIn"] = "S2"
    made = succeed(context.on(context.exchange), "S2")

    assert made.new.exchange.extra == {}, "what was noted of the old one is not of the new one"
    assert list(made.new.exchange.tasks) == ["T1"]
    assert made.old.exchange.moved == {"T999": "T1"}
    context.exchange = made.new.exchange
    context.deliver()
    context.ask("one more", caps=("plan",))
    assert list(context.exchange.tasks) == ["T1", "T2"]
