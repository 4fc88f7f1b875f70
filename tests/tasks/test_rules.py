"""What follows on requests, answers, failures and time: the orchestrator of document 002."""

import re
from typing import Any

import pytest

from council.kernel.errors import Invalid, NotFound, Refused
from council.tasks import decisions, rules
from council.tasks.wire.model import Message, parse
from council.tasks.wire.writing import message_of
from tests.tasks.play import AT, WORKERS, Played
from tests.vectors.rows import tables_of

ROWS = tables_of("lines")


def said(kind: str, data: str, route: str = "W1>O1", **more: str) -> str:
    state = {"S": "D", "E": "F"}.get(kind, "R")
    told = {"err": "-", "depth": "0", "budget": "B300", **more}
    head = f"M9|{route}|{kind}|T1|P1|{state}"
    return f"{head}|{told['err']}|{told['depth']}|S1|{told['budget']}|{data}"


def asked(text: str = "Find", cap: str = "web_search", budget: int = 500) -> Played:
    it = Played()
    it.ask(text, cap, budget=budget)
    return it


def test_a_context_ends_before_its_numbers_do() -> None:
    it = asked("Look", "plan")
    assert not it.state.is_full()
    state = it.state.copy(count=9_960)
    ended = rules.due(state, it.now)
    assert state.is_full() and [one["type"] for one in ended] == ["task.ended"]


@pytest.mark.parametrize(("line", "code"), ROWS["rejected"])
def test_a_hand_off_that_is_rejected_never_reaches_its_target(line: str, code: str) -> None:
    it = asked("Look", "plan")
    it.run(line)
    assert it.flow() == ["O1>W1 R", f"O1>W1 E {code}"]
    assert it.wanted() == ["ada task"]
    it.run(line), it.run(line)
    assert it.state.tasks["T1"].state == "F" or code == "E17"


def test_a_question_is_put_to_the_user_twice_at_most() -> None:
    it = asked("Paint", "plan")
    with pytest.raises(NotFound):
        it.act(decisions.reply, "T1", "red")
    it.run(said("C", "question=Which?;options=red,dark blue"))
    assert it.line(3).endswith("|question=Which?;opt1=red;opt2=dark blue")
    assert it.wanted() == [] and it.state.pending() == ["T1"]
    with pytest.raises(Invalid, match="no option 3"):
        it.act(decisions.reply, "T1", "3")
    it.act(decisions.reply, "T1", "Dark blue")
    assert it.line(4).endswith("|choice=opt2") and it.line(5).endswith("|answer=dark blue")
    assert it.flow()[-2:] == ["User>O1 C", "O1>W1 C"] and it.wanted() == ["ada task"]
    it.run(said("C", "question=How much of it, and where exactly?;options=" + ",".join("abcdef")))
    assert it.state.tasks["T1"].options == []
    it.act(decisions.reply, "T1", "All | of > it")
    it.run(said("C", "question=Why?"))
    assert it.flow()[-1] == "O1>W1 E E18"
    assert it.state.answer.startswith("No result: maximum clarifications reached")


@pytest.mark.parametrize(
    ("policy", "flow", "state"),
    [("wait", ["O1>User D"], "R"), ("first", ["User>O1 C", "O1>W1 C"], "R"),
     ("abandon", ["O1>W1 E E23"], "F")],
)  # fmt: skip
def test_nobody_chooses_for_a_person(policy: str, flow: list[str], state: str) -> None:
    it = Played(choice_policy=policy)
    it.ask("Paint", "plan")
    it.run(said("C", "question=Which?;options=red,blue"))
    wake = rules.wake(it.state)
    assert wake and (wake - it.now).total_seconds() == 60
    it.later(61)
    assert it.flow()[-len(flow) :] == flow and it.state.tasks["T1"].state == state
    assert "task.unanswered" in [event["type"] for event in it.events]


@pytest.mark.parametrize("story", ROWS["stories"])
def test_what_follows_on_answers_and_failures(story: dict[str, Any]) -> None:
    it, steps, ends = asked(), story["steps"], story["state"]
    for step in steps:
        is_code = step.replace("-", "").isalpha()
        it.run(**{"code" if is_code else "output": step}, seconds=300 * is_code)
    assert it.flow() == ["O1>W1 R", *story["flow"]] and it.state.tasks["T1"].state == ends
    requests = [one.rpartition("query=Find;")[2] for one in it.state.lines.values() if "|R|" in one]
    assert requests[1:] == story["again"]
    if ends == "F":
        assert it.state.answer.startswith("No result: ")
        assert not re.search(r"\||\bE\d\d\b", it.state.answer)
    assert ("no luck" in it.state.answer) is ("no luck" in steps[0] and ends == "F")


def test_a_budget_is_raised_to_what_is_needed() -> None:
    for budget, needed, raised in ((100, 150, "B200"), (100, 900, "B900")):
        it = asked(budget=budget)
        it.run(said("E", f"needed={needed};have=100", err="E17", budget="B100"))
        assert f"|{raised}|" in it.line(3)


def test_who_answers_by_hand_is_waited_for_until_its_time_is_up() -> None:
    it = Played(reply_timeout=100)
    it.ask("Find", "web_search")
    it.later(99)
    assert it.flow() == ["O1>W1 R"]
    it.later(1)
    assert it.flow()[1:] == ["O1>W1 E E20", "O1>W1 R"]


def test_who_leaves_falls_silent_or_rests_is_replaced() -> None:
    it = asked()
    it.know(WORKERS, "W1")
    assert it.flow()[1:] == ["O1>W1 E E22", "O1>W2 R"]
    it.know({"W1": WORKERS["W1"]}, "W1")
    assert it.flow()[3:] == ["O1>W2 E E30"] and it.state.closed_at
    it = asked()
    it.do([{"type": "task.passed", "tour": 1, "words": "rests", "at": AT}])
    assert it.flow()[1:] == ["O1>W1 E E30", "O1>W2 R"]


def test_a_failed_hand_off_is_told_to_its_source() -> None:
    it = asked("Look", "plan")
    it.run(said("X", "call=test", "W1>W2", depth="1", budget="B100"))
    it.run(code="missing-program")
    assert it.flow()[-2:] == ["O1>W2 E E30", "O1>W1 E E30"]
    it.run(said("S", "result=Without tests"))
    assert it.state.answer == "Without tests"


@pytest.mark.parametrize("line", ROWS["unread"])
def test_what_cannot_be_read_is_asked_again_once(line: str) -> None:
    it = asked()
    it.run(line)
    assert it.wanted() == ["ada question"]
    right = it.state.hops["1"].refusal.strip().split("\n")[-1].strip()
    assert parse(right, "V5", strict=True).errors == []
    it.run(right)
    assert it.state.tasks["T1"].state == "D"


def test_the_whole_text_counts_and_shows_no_protocol() -> None:
    it = asked()
    it.run(said("S", "result=" + "x" * 300) + "\nmore\n\neven more")
    assert it.state.answer.endswith("x" * 300 + "\nmore\n\neven more")


def test_several_tasks_are_collected_p0_first() -> None:
    it = Played({"W1": WORKERS["W1"]})
    it.ask("Later", "plan", priority="P2")
    it.ask("Now", "plan", priority="P0")
    assert it.wanted() == ["ada task"]
    it.run(said("S", "result=at once").replace("T1", "T2"))
    assert not it.state.closed_at
    it.run(said("S", "result=in time"))
    assert it.state.answer == "Later\nin time\n\nNow\nat once"


def test_a_long_request_is_referred_to() -> None:
    it = asked("x " * 500)
    assert it.line(1).endswith("|call=web_search;query=#REF:T1:text")
    assert it.state.fields["T1:text"] == "x " * 500


def test_a_task_is_cancelled() -> None:
    it = asked()
    it.act(decisions.cancel, "T1", "not needed")
    assert it.flow() == ["O1>W1 R", "O1>W1 U"] and "|X|" in it.line(2)
    assert it.state.answer == "Cancelled." and it.wanted() == []


def test_a_request_that_nobody_can_do_is_refused() -> None:
    it = Played()
    with pytest.raises(Refused, match="no worker is there for fly"):
        it.ask("Go", "fly")
    it.state.workers = {}
    with pytest.raises(Refused, match=r"no worker is there$"):
        it.ask("Go")


def test_more_budget_than_given_is_a_warning() -> None:
    it = asked(budget=100)
    it.run(said("S", "results=5"))
    assert it.state.warnings == ["W1 gave back more budget than it had"]
    assert it.state.hops["1"].budget == 100


GROUPS = [("G1", "task=a", "W1 W2"), ("W*", "task=b", "W1 W2"), ("R1", "task=c;to=W2", "W2")]


@pytest.mark.parametrize(("target", "data", "ends"), GROUPS)
def test_a_group_gets_a_request_and_a_router_passes_it_on(
    target: str, data: str, ends: str
) -> None:
    it = Played()
    it.know(WORKERS, G1=["W1", "W2"])
    message = Message(sender="O1", receiver=target, kind="R", task="T1", state="N", data=data)
    with pytest.raises(Refused):
        it.act(decisions.send, message.copy(receiver="R1", data="task=c;to=W9"))
    created = {"type": "task.created", "task": "T1", "text": data, "caps": [], "priority": "P1"}
    it.do([{**created, "at": AT}])
    it.act(decisions.send, message)
    sent = [message_of(one) for one in it.state.lines.values()]
    assert " ".join(one.receiver for one in sent) == ends and {one.data for one in sent} == {data}
    if ends == "W1 W2":
        it.run(said("S", "result=one"))
        it.run(said("E", "desc=none", "W2>O1", err="E33"))
        assert it.state.answer == "one" and it.state.tasks["T1"].state == "D"
