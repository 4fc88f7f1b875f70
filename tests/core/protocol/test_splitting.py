"""How a request falls into tasks, and how their results become one answer."""

from __future__ import annotations

import pytest

from council.core.conversations.conversation import TaskState
from council.core.protocol.answering import answer_of, answered, composed, readable
from council.core.protocol.exchange_due import Answer, Deliver
from council.core.protocol.exchange_runs import run_failed
from council.core.protocol.orchestrator import Part, cancel, divided, receive_fault
from council.core.reasons import said
from council.wire.carried import message_of
from tests.core.exchanges import MINUTE, Context, registered

PARTS = (
    Part(text="find the news", caps=("web_search",)),
    Part(text="sum them up", caps=("summarize",)),
    Part(text="say it in French", caps=("translate",)),
)


def nothing(artifact: str) -> str:
    return ""


def split(context: Context, parts: tuple[Part, ...] = PARTS) -> None:
    context.ask("the news in French", orchestrator="comet", caps=())
    due = context.start("comet")
    context.do(divided, parts, run=due.run)


def three_workers() -> Context:
    return Context(registered(W1="web_search", W2="summarize", W3="translate"))


@pytest.mark.req("PR-553", "PR-566", "PR-585")
def test_each_part_is_a_task_for_who_can_do_it_with_a_share_of_the_budget():
    context = three_workers()

    split(context)

    assert [line.split("|", 1)[1] for line in context.lines] == [
        "O1>W1|R|T1|P1|N|-|0|S1|B168|call=web_search;query=find the news",
        "O1>W2|R|T2|P1|N|-|0|S1|B166|call=summarize;query=sum them up",
        "O1>W3|R|T3|P1|N|-|0|S1|B166|call=translate;query=say it in French",
    ]
    assert sum(task.budget or 0 for task in context.exchange.tasks.values()) == 500
    assert context.last("request.split")["tids"] == ["T1", "T2", "T3"]


@pytest.mark.req("PR-553", "PR-581")
def test_parts_that_would_have_next_to_no_budget_are_refused_and_the_request_goes_whole():
    context = three_workers()

    split(context, tuple(Part(text=f"step {number}") for number in range(40)))

    (task,) = context.exchange.tasks.values()
    assert (task.text, task.budget) == ("the news in French", 500)
    refused = context.last("message.refused")
    assert (refused["code"], refused["reason"]) == (
        "E17",
        "40 parts leave 12 tokens each, 50 are needed",
    )


@pytest.mark.req("PR-551", "PR-553")
@pytest.mark.parametrize("carried", [True, False])
def test_a_task_that_is_cancelled_while_it_is_split_stays_without_parts(carried: bool):
    context = three_workers()
    context.ask("the news in French", orchestrator="comet", caps=())
    due = context.start("comet")

    context.do(cancel, "T1")
    assert context.exchange.runs[due.run].state == "X"
    if carried:  # what an older version has left
        context.exchange.runs[due.run].state = TaskState.R
    context.do(run_failed, due.run, said("exit 1"), words="exit 1")
    context.beat(MINUTE)

    assert (context.task().state, context.task().hops) == ("X", [])


@pytest.mark.req("PR-553")
@pytest.mark.parametrize("parts", [(), PARTS[:1]])
def test_what_is_not_split_goes_whole(parts: tuple[Part, ...]):
    context = three_workers()

    split(context, parts)

    assert list(context.exchange.tasks) == ["T1"]
    assert context.task().budget == 500


@pytest.mark.req("PR-553")
def test_a_request_that_was_split_is_not_split_again():
    context = three_workers()
    split(context)
    before = context.exchange

    step = context.do(divided, ())

    assert (step.outcome, step.exchange.tasks) == ("", before.tasks)


@pytest.mark.req("PR-556")
def test_the_answer_is_due_when_all_tasks_are_over_and_closes_the_context():
    context = three_workers()
    split(context)
    context.work("W1", "S|D|-|0|B1|results=5")
    context.work("W2", "S|D|-|0|B1|summary=all is well")
    assert not any(isinstance(one, Answer) for one in context.due())
    context.work("W3", "E|F|E33|0|B1|desc=no dictionary")

    due = context.start("comet")
    context.do(composed, "All is well; I could not say it in French.", run=due.run)
    assert [type(one) for one in context.due()] == [Answer]
    text = answer_of(context.exchange, nothing)
    context.do(answered, text=text)

    assert text == "All is well; I could not say it in French."
    assert (context.exchange.status, context.exchange.closed_reason) == ("closed", "complete")
    assert [type(one) for one in context.due()] == [Deliver]
    assert context.exchange.posted[-1].to == ("User",)
    context.deliver()
    assert context.due() == ()


@pytest.mark.req("PR-556", "PR-557")
def test_without_a_composer_the_answer_names_each_part_and_what_failed():
    context = three_workers()
    split(context)
    context.work("W1", "S|D|-|0|B1|results=5;top_one=a, b;src=#REF:T1:raw")
    context.work("W2", "S|D|-|0|B1|all is well")
    context.work("W3", "E|F|E33|0|B1|desc=no dictionary")
    due = context.start("comet")
    context.do(composed, " \n", run=due.run)

    assert answer_of(context.exchange, nothing) == (
        "find the news:\nresults: 5\ntop one: a, b\n\n"
        "sum them up:\nall is well\n\n"
        "say it in French:\nNot done: a file was not found."
    )
    assert "Pas fait : un fichier est introuvable." in answer_of(context.exchange, nothing, "fr")


@pytest.mark.req("PR-536", "PR-557")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("result=All is well.", "All is well."),
        ("result=#REF:art_1", "a long text\nof two lines"),
        ("done", "done"),
        ("found=#REF:T1:S;note=#CTX:style", "found: 5 pages\nnote: short"),
        ("prev=#MSG:M3;result=fine;retry=1;max=2;pid=M4", "fine"),
        ('result="a; b"', "a; b"),
        ("result=#REF:art_2", "what was said\nand more"),
        ("result=#REF:gone", ""),
    ],
)
def test_a_result_reads_without_marks_of_the_protocol(data: str, text: str):
    context = three_workers()
    context.ask()
    context.exchange.values["style"] = "short"
    context.task().fields["S"] = "5 pages"
    stored = {
        "art_1": "a long text\nof two lines",
        "art_2": "M3|W1>O1|S|T1|P1|D|-|0|S1|B1|what was said\nand more",
    }

    assert readable(context.exchange, data, lambda name: stored.get(name, "")) == text


@pytest.mark.req("PR-557")
@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize("code", ["E10", "E16", "E17", "E18", "E19", "E20", "E30", "E43", "E99"])
def test_a_failure_is_told_without_its_code(code: str, lang: str):
    context = three_workers()
    context.ask()
    context.work("W1", f"E|F|{code}|0|B1|desc=no;needed=9")
    while context.runs():
        context.work(context.runs()[0].worker, f"E|F|{code}|0|B1|desc=no")

    told = answer_of(context.exchange, nothing, lang)

    assert told
    assert not {"|", code, "W1", "T1", "S1"} & set(told.split())


@pytest.mark.req("PR-557")
def test_what_nobody_could_read_is_told_in_words_and_never_as_our_own_reason():
    for lang, code, told in (
        ("en", "E10", "Not done: the answer could not be read."),
        ("fr", "E10", "Pas fait : la réponse n’a pas pu être lue."),
        ("en", "E43", "Not done: the answer named something that cannot be found."),
    ):
        context = three_workers()
        context.ask()
        due = context.start()
        line = message_of("M2|W1>O1|S|T1|P1|D|-|0|S1|B9|x")
        for _ in range(3):
            context.do(receive_fault, line, code, details=f"{code} V5-1")
            context.deliver()
        assert due.task == "T1"
        assert answer_of(context.exchange, nothing, lang) == told


@pytest.mark.req("PR-557")
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("E10", "Pas fait : cela a échoué (no paper left)."),
        ("E19", "Pas fait : personne ici ne sait le faire (no paper left)."),
        ("E99", "Pas fait : cela a échoué (no paper left)."),
    ],
)
def test_the_reason_of_a_failure_is_told_as_its_worker_wrote_it(code: str, told: str):
    context = three_workers()
    context.ask()
    context.work("W1", f"E|F|{code}|0|B1|desc=no paper left")

    assert answer_of(context.exchange, nothing, "fr") == told


@pytest.mark.req("PR-557")
@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("en", "Not done: nobody here can do this (no worker for sing)."),
        ("fr", "Pas fait : personne ici ne sait le faire (personne pour sing)."),
    ],
)
def test_that_nobody_can_do_it_is_told_in_the_language_of_the_user(lang: str, told: str):
    context = three_workers()
    context.ask(caps=("sing",))

    assert answer_of(context.exchange, nothing, lang) == told


@pytest.mark.req("PR-545", "PR-557")
@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("result=#REF:gone", "This was done, but its result cannot be found."),
        ("#CTX:gone", "This was done, but its result cannot be found."),
        ("result=#MSG:M2", "the first page"),
        ("result=#MSG:M777", "This was done, but its result cannot be found."),
        ("prev=#MSG:M2", "Done."),
        ("pid=M2", "Done."),
    ],
)
def test_a_result_that_cannot_be_found_is_never_called_done(data: str, told: str):
    context = three_workers()
    context.ask()
    due = context.start()
    context.hear("M2|W1>O1|U|T1|P1|R|-|0|S1|B9|result=the first page")
    context.hear(f"M3|W1>O1|S|T1|P1|D|-|0|S1|B9|{data}", due.run)

    assert answer_of(context.exchange, nothing) == told


@pytest.mark.req("PR-556")
def test_a_context_that_is_kept_open_answers_each_request_and_stays():
    context = Context(kept_open=True)
    for number, result in enumerate(("one", "two"), 1):
        context.ask(f"request {number}")
        worker = context.task(number).hops[0].attempts[0].worker
        context.work(worker, f"S|D|-|0|B1|result={result}")
        assert answer_of(context.exchange, nothing) == result
        context.do(answered, text=result)
        context.deliver()
        assert context.due() == ()
    assert context.exchange.is_open


def test_nothing_is_answered_twice():
    context = three_workers()
    context.ask()
    context.work("W1", "S|D|-|0|B1|result=one")
    context.do(answered, text="one")

    assert context.do(answered, text="one").outcome == ""
