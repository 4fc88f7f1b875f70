"""What follows on requests, answers, failures and time: the orchestrator of document 002."""

import pytest

from council.kernel.errors import Invalid, NotFound, Refused
from council.tasks import decisions, rules
from council.tasks.wire.conversion import message_of
from council.tasks.wire.model import Message
from council.tasks.wire.parsing import parse
from tests.tasks.play import AT, WORKERS, Played


def said(kind: str, data: str, route: str = "W1>O1", **more: str) -> str:
    state = {"S": "D", "E": "F"}.get(kind, "R")
    told = {"err": "-", "depth": "0", "budget": "B300", **more}
    head = f"M9|{route}|{kind}|T1|P1|{state}"
    return f"{head}|{told['err']}|{told['depth']}|S1|{told['budget']}|{data}"


def asked(text: str = "Find", cap: str = "web_search", budget: int = 500) -> Played:
    it = Played()
    it.ask(text, cap, budget=budget)
    return it


def test_a_hand_off_comes_back_to_its_source() -> None:
    it = Played()
    it.ask("Look at main.py", "plan", budget=1000)
    x = said("X", "call=test;reason=specialized", "W1>W2", depth="1", budget="B500")
    it.run(x + "\n" + said("U", "handoff=W2"))
    assert it.wanted() == ["bea task"]
    child = it.state.hops["2"]
    assert (child.depth, child.budget, child.source) == (1, 500, 1)
    assert it.state.hops["1"].budget == 300  # what it told with its U
    it.run(said("S", "tests=3", "W2>W1", depth="1"))
    assert it.wanted() == ["ada task"]
    it.run(said("S", "result=All is well, 3 tests"))
    assert it.flow() == ["O1>W1 R", "W1>W2 X", "W1>O1 U", "W2>W1 S", "W1>O1 S"]
    assert it.state.answer.startswith("All is well, 3")


def test_a_context_ends_before_its_numbers_do() -> None:
    it = asked("Look", "plan")
    assert not it.state.is_full()
    state = it.state.copy(count=9_960)
    ended = rules.due(state, it.now)
    assert state.is_full() and [one["type"] for one in ended] == ["task.ended"]


REJECTED = [
    ("W7", {}, "call=test", "E41"), ("W2", {}, "call=fly", "E19"),
    ("W2", {"depth": "4"}, "call=test", "E16"), ("W2", {"budget": "B900"}, "call=test", "E17"),
    ("W2", {}, "call=test;src=#REF:T9:x", "E43"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "more", "data", "code"), REJECTED)
def test_a_hand_off_that_is_rejected_never_reaches_its_target(
    target: str, more: dict[str, str], data: str, code: str
) -> None:
    it = asked("Look", "plan")
    it.run(said("X", data, f"W1>{target}", **{"depth": "1", **more}))
    assert it.flow() == ["O1>W1 R", f"O1>W1 E {code}"]
    assert it.wanted() == ["ada task"]
    for _ in range(2):
        it.run(said("X", data, f"W1>{target}", **{"depth": "1", **more}))
    assert it.state.tasks["T1"].state == "F" or code == "E17"


def test_a_failed_hand_off_is_told_to_its_source() -> None:
    it = asked("Look", "plan")
    it.run(said("X", "call=test", "W1>W2", depth="1", budget="B100"))
    it.run(code="missing-program")
    assert it.flow()[-2:] == ["O1>W2 E E30", "O1>W1 E E30"]
    it.run(said("S", "result=Without tests"))
    assert it.state.answer == "Without tests"


def test_a_question_is_put_to_the_user_twice_at_most() -> None:
    it = Played()
    it.ask("Paint", "plan")
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
    it.do(lambda s: rules.due(s, it.now), seconds=61)
    assert it.flow()[-len(flow) :] == flow and it.state.tasks["T1"].state == state
    assert "task.unanswered" in [event["type"] for event in it.events]


CODES: list[tuple[str, list[str], str]] = [
    ("E31", ["O1>W2 R"], "R"), ("E32", ["O1>W2 R"], "R"), ("E20", ["O1>W1 R"], "R"),
    ("E33", [], "F"), ("E40", [], "F"), ("E19", [], "F"), ("E99", [], "F"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "flow", "state"), CODES)
def test_what_follows_on_a_code(code: str, flow: list[str], state: str) -> None:
    it = asked()
    it.run(said("E", "desc=no luck", err=code))
    assert it.flow()[2:] == flow and it.state.tasks["T1"].state == state
    if state == "F":
        assert it.state.answer.startswith("No result: ") and "no luck" in it.state.answer
        assert "|" not in it.state.answer and "E" + code[1:] not in it.state.answer


def test_timeouts_are_retried_twice_then_another_worker_is_asked() -> None:
    it = asked()
    for n in (1, 2):
        it.run(code="timed-out", seconds=300)
        assert it.line(it.state.count).endswith(f"query=Find;retry={n};max=2")
    it.run(code="timed-out", seconds=300)
    assert it.line(it.state.count).endswith("query=Find;fallback_from=W1;reason=E21")
    it.run(said("S", "results=5", "W2>O1"))
    assert it.state.answer == "5" and it.state.tasks["T1"].state == "D"


def test_who_answers_by_hand_is_waited_for_until_its_time_is_up() -> None:
    it = Played(reply_timeout=100)
    it.ask("Find", "web_search")
    it.do(lambda s: rules.due(s, it.now), seconds=99)
    assert it.flow() == ["O1>W1 R"]
    it.do(lambda s: rules.due(s, it.now), seconds=1)
    assert it.flow()[1:] == ["O1>W1 E E20", "O1>W1 R"]


def test_a_program_that_cannot_be_run_is_replaced_at_once() -> None:
    it = asked()
    it.run(code="missing-program")
    assert it.flow() == ["O1>W1 R", "O1>W1 E E30", "O1>W2 R"]
    it.run(code="crashed")
    assert it.wanted() == ["bea task"]  # nobody else is there: it is tried again
    it.run(code="crashed")
    it.run(code="crashed")
    assert it.state.tasks["T1"].code == "E30" and it.state.closed_at


def test_who_leaves_or_falls_silent_is_replaced() -> None:
    it = asked()
    it.know(WORKERS, "W1")
    assert it.flow()[1:] == ["O1>W1 E E22", "O1>W2 R"]
    it.know({"W1": WORKERS["W1"]}, "W1")
    assert it.flow()[3:] == ["O1>W2 E E30"] and it.state.closed_at


def test_who_rests_is_passed() -> None:
    it = asked()
    it.do(lambda _: [{"type": "task.passed", "tour": 1, "words": "rests", "at": AT}])
    assert it.flow()[1:] == ["O1>W1 E E30", "O1>W2 R"]


def test_a_budget_is_raised_once() -> None:
    it = asked(budget=100)
    it.run(said("E", "desc=too little;needed=150;have=100", err="E17", budget="B100"))
    assert it.line(3) == ("M3|O1>W1|R|T1|P1|N|-|0|S1|B200|call=web_search;query=Find;reason=E17")
    it.run(said("E", "desc=too little;needed=900;have=200", err="E17", budget="B200"))
    assert it.state.tasks["T1"].code == "E17"


BAD = [
    "Five of them.", said("S", "results=5").replace("|D|", "|Done|"),
    said("S", "results=5").replace("S1", "S7"), said("S", "results=5").replace("T1", "T8"),
    said("S", "results=5").replace("W1>", "W2>"), said("S", "see=#REF:T9:x"),
    said("U", "progress=50%"),
]  # fmt: skip


@pytest.mark.parametrize("line", BAD)
def test_what_cannot_be_read_is_asked_again_once(line: str) -> None:
    it = asked()
    it.run(line)
    assert it.wanted() == ["ada question"]
    refusal = it.state.hops["1"].refusal
    right = [one.strip() for one in refusal.split("\n") if one.count("|") == 10][-1]
    assert parse(right, "V5", strict=True).errors == []
    it.run(right)
    assert it.state.tasks["T1"].state == "D"


def test_what_cannot_be_read_twice_fails() -> None:
    it = asked()
    it.run("Five.")
    it.run("M2|W1>O1|S|T1|P1|D|0|S1|B300|results=5")
    assert it.flow()[1:] == ["O1>W1 E E10"]
    assert it.state.answer == "No result: bad message format." and "|" not in it.state.answer


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
    it = Played()
    it.ask("x " * 500, "web_search")
    assert it.line(1).endswith("|call=web_search;query=#REF:T1:text")
    assert it.state.fields["T1:text"] == "x " * 500


def test_a_task_is_cancelled() -> None:
    it = asked()
    it.act(decisions.cancel, "T1", "not needed")
    assert it.flow() == ["O1>W1 R", "O1>W1 U"] and "|X|" in it.line(2)
    assert it.state.answer == "Cancelled." and it.wanted() == []


@pytest.mark.parametrize(
    ("caps", "words"), [(["fly"], "no worker is there for fly"), ([], "no worker is there")]
)
def test_a_request_that_nobody_can_do_is_refused(caps: list[str], words: str) -> None:
    it = Played({} if not caps else WORKERS)
    it.state.workers = it.state.workers if caps else {}
    with pytest.raises(Refused, match=words):
        it.ask("Go", *caps)


def test_more_budget_than_given_is_a_warning() -> None:
    it = asked(budget=100)
    it.run(said("S", "results=5"))
    assert it.state.warnings == ["W1 gave back more budget than it had"]
    assert it.state.hops["1"].budget == 100


def test_a_group_and_a_router() -> None:
    it = Played()
    it.know(WORKERS, G1=["W1", "W2"])
    for target, data, ends in (
        ("G1", "task=a", ["W1", "W2"]),
        ("W*", "task=b", ["W1", "W2"]),
        ("R1", "task=c;to=W2", ["W2"]),
    ):
        play = decisions.Play(it.state, it.now)
        created = {"text": data, "caps": [], "priority": "P1"}
        play.add("task.created", task="T1", **created)
        message = Message(sender="O1", receiver=target, kind="R", task="T1", state="N", data=data)
        decisions.send(play, message)
        sent = [message_of(one["line"]) for one in play.events[1:]]
        assert [one.receiver for one in sent] == ends and {one.data for one in sent} == {data}
    with pytest.raises(Refused):
        decisions.send(play, message.copy(data="task=c;to=W9"))


def test_results_of_a_group_are_collected() -> None:
    it = Played()
    play = decisions.Play(it.state, it.now)
    play.add("task.created", task="T1", text="Count", caps=[], priority="P1")
    message = Message(sender="O1", receiver="W*", kind="R", task="T1", state="N", data="task=c")
    decisions.send(play, message)
    it.do(lambda _: play.events)
    it.run(said("S", "result=one"))
    it.run(said("E", "desc=none", "W2>O1", err="E33"))
    assert it.state.answer == "one" and it.state.tasks["T1"].state == "D"
