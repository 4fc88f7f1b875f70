"""The sequences of document 002 with real workers, inboxes and the heartbeat.

Each ends in an answer to the user that shows nothing of the protocol.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from council.core.protocol import orchestrator
from council.core.protocol.transaction import Transaction
from council.operations.protocol.exchanging import contexts
from council.store.protocol.context_outbox import Change
from council.store.slots import Slots
from tests.cli.commands import at_rest, wait_until
from tests.event_lines import lines_under
from tests.scenarios.office import Office
from tests.store.records import put, value_in


@pytest.fixture
def office(council) -> Office:
    return Office(council)


@pytest.mark.req("PR-501", "PR-553", "PR-556", "PR-557")
def test_a_request_goes_to_the_best_worker_and_its_result_to_the_user(office):
    office.hire(
        writer=(["result", "no"], "text_gen"),
        scout=(["result", "results=5;top1=Rain"], "web_search"),
    )
    context = office.ask("What is new?", "--caps", "web_search")
    assert office.answer(context) == "results: 5\ntop1: Rain"
    assert office.attempts(context) == [("W2", "D", "")]
    assert office.messages(context) == ["O1>W2 R", "W2>O1 S", "O1>User S"]
    assert office.shown(context)["status"] == "closed"
    assert office.inbox("User") == [office.inbox("User")[0]]


@pytest.mark.req("PR-560")
def test_the_standard_sequence_is_request_progress_success_and_the_result_for_the_user(office):
    progress = "M2|W1>O1|U|T1|P1|R|-|0|S1|B400|progress=50%"
    success = "M3|W1>O1|S|T1|P1|D|-|0|S1|B300|results=5"
    office.hire(scout=(["prints", f"{progress}\n{success}"], "web_search"))
    context = office.ask("What is new?", "--caps", "web_search")
    assert office.answer(context) == "results: 5"
    assert office.messages(context) == ["O1>W1 R", "W1>O1 U", "W1>O1 S", "O1>User S"]
    states = [one["data"]["to"] for one in office.events("attempt.changed")]
    assert states == ["R", "D"]


@pytest.mark.req("PR-553", "PR-585")
def test_the_steps_of_a_request_are_told_in_the_order_in_which_the_document_names_them(office):
    office.hire(scout=(["result", "results=5"], "web_search"))
    context = office.ask()
    office.answer(context)
    kinds = [json.loads(line)["type"] for line in lines_under(office.root)]
    wanted = [
        *("task.created", "context.opened", "budget.set"),
        *("capabilities.matched", "worker.chosen", "message.sent", "message.delivered"),
    ]
    assert set(wanted) <= set(kinds)
    order = [kinds.index(one) for one in wanted[2:]]
    assert order == sorted(order)
    (sent,) = [one for one in office.events("message.sent") if one["data"]["kind"] == "R"]
    assert (sent["data"]["ctx"], sent["data"]["tid"], sent["data"]["msg"]) == (context, "T1", "M1")
    assert office.events("message.received")[0]["data"]["pid"] == "M1"


@pytest.mark.req("PR-560", "PR-562", "PR-563", "PR-566")
def test_a_hand_off_goes_through_the_coordinator_and_comes_back_to_its_source(office):
    office.hire(
        analyst=(["hands", "W2", "generate_tests"], "analyze_code"),
        tester=(["result", "tests=3;coverage=85%"], "generate_tests"),
    )
    context = office.ask("Look at main.py", "--caps", "analyze_code")
    assert "own part and tests=3" in office.answer(context)
    first, second = office.shown(context)["tasks"]["T1"]["hops"]
    assert (first["depth"], second["depth"], second["source"]) == (0, 1, "W1")
    assert second["budget"] == 250
    assert office.messages(context) == [
        *("O1>W1 R", "W1>W2 X", "W1>O1 U", "W2>W1 S", "W1>O1 S", "O1>User S")
    ]
    assert [text.split("|")[1] for text in office.inbox("W2")][1:] == ["W1>W2"]


@pytest.mark.req("PR-563")
def test_a_hand_off_that_is_refused_never_reaches_its_target(office):
    office.hire(
        analyst=(["hands", "W2", "fly_to_mars"], "analyze_code"),
        tester=(["result", "no"], "generate_tests"),
    )
    context = office.ask("Look at main.py", "--caps", "analyze_code")
    assert "the other failed with E19" in office.answer(context)
    assert [text.split("|")[2] for text in office.inbox("W2")] == ["A"]
    assert office.events("handoff.refused")[0]["data"]["code"] == "E19"


@pytest.mark.req("PR-554", "PR-574", "PR-576", "PR-577")
def test_a_question_of_a_worker_is_put_to_the_user_and_the_choice_goes_back(office):
    office.hire(
        '[tasks]\nchoice_timeout = "1h"', painter=(["asks", "Which?", "red,dark blue"], "paint")
    )
    context = office.ask("Paint it")
    office.until(context, lambda one: one["tasks"]["T1"]["questions"])
    (question,) = office.inbox("User")
    assert question.endswith("question=Which?;opt1=red;opt2=dark blue")
    wrong = office.council("msg", "answer", f"{context}/T1", "3")
    assert wrong.code == 3
    assert "1 red, 2 dark blue" in wrong.err
    assert office.do("msg", "answer", context, "dark blue")["outcome"] == "taken"
    assert office.answer(context) == "with dark blue"
    assert "User>O1 C" in office.messages(context)
    assert office.council("msg", "answer", context, "1").code == 5


@pytest.mark.req("OP-015")
def test_a_request_goes_to_whom_it_names_or_to_whom_the_user_chooses(office):
    office.hire(
        scout=(["result", "result=searched"], "web_search"),
        reader=(["result", "result=read"], "code_read"),
    )
    named = office.ask("code_read: read main.py please")
    assert office.answer(named) == "read"
    context = office.ask("have a look at it")
    explained = " ".join(office.council("explain", context).out.split())
    assert "Who is to do this? scout (web_search), reader (code_read)" in explained
    assert "the next heartbeat starts" not in explained
    assert "User" in office.council("status").out
    assert [one for one in office.messages(context) if ">W" in one] == []
    office.do("msg", "answer", context, "reader")
    assert office.answer(context) == "read"


@pytest.mark.req("OP-007")
def test_an_answer_that_comes_after_the_hour_of_its_task_still_counts(office):
    office.hire(painter=(["asks", "Which?", "red,blue"], "paint"))
    context = office.ask("Paint it", "--caps", "paint")
    asked = office.until(context, lambda one: one["tasks"]["T1"]["questions"])
    at_rest(office.root)
    put = datetime.fromisoformat(asked["tasks"]["T1"]["questions"][0]["askedAt"])
    for hours in (1, 2, 30):
        office.do("heartbeat", now=put + timedelta(hours=hours))
    office.do("msg", "answer", context, "2", now=put + timedelta(hours=30))
    assert office.answer(context) == "with blue"


@pytest.mark.req("OP-007", "PR-576")
def test_a_default_is_taken_where_the_settings_say_so_and_the_answer_says_it(office):
    office.hire(
        '[tasks]\nchoice_policy = "first"', painter=(["asks", "Which?", "red,blue"], "paint")
    )
    context = office.ask("Paint it")
    asked = office.until(context, lambda one: one["tasks"]["T1"]["questions"])
    at_rest(office.root)  # no run keeps the place that is needed later
    put = datetime.fromisoformat(asked["tasks"]["T1"]["questions"][0]["askedAt"])
    office.do("heartbeat", now=put + timedelta(seconds=50))
    assert office.shown(context)["tasks"]["T1"]["questions"][0]["answeredAt"] is None
    office.do("heartbeat", now=put + timedelta(seconds=61))
    assert office.answer(context) == (
        "with red\n\nNobody answered “Which?” in time: “red” was taken."
    )
    assert "E23" in str(office.events("question.expired") + office.events("choice.expired"))


@pytest.mark.req("PR-504", "PR-509", "PR-512")
def test_a_worker_that_joins_by_message_is_registered_and_gets_work(office):
    office.hire(scout=(["result", "results=1"], "web_search"))
    line = "M1|W7>O1|J|T0|P1|N|-|0|S0|-|caps=translate;desc=From outside"
    joined = office.do("msg", "send", line)
    assert (joined["outcome"], joined["answers"]) == (
        "registered",
        ["M2|O1>W7|A|T0|P1|D|-|0|S0|-|registered;id=W7;status=active"],
    )
    context = office.ask("Translate it", "--caps", "translate")
    request = office.inbox("W7")[-1]
    assert request.split("|")[1:4] == ["O1>W7", "R", "T1"]
    office.do("msg", "send", f"M2|W7>O1|S|T1|P1|D|-|0|{context}|B400|result=traduit")
    assert office.answer(context) == "traduit"


@pytest.mark.req("PR-554", "PR-579", "PR-580")
def test_a_busy_worker_is_passed_over_for_the_next_one(office):
    office.hire(
        busy=(["fails", "E31", "BUSY"], "web_search"),
        free=(["result", "result=done"], "web_search"),
    )
    context = office.ask("Search", "--caps", "web_search")
    assert office.answer(context) == "done"
    assert office.attempts(context) == [("W1", "F", "E31"), ("W2", "D", "")]
    assert office.inbox("W2")[-1].endswith("fallback_from=W1;reason=E31")


@pytest.mark.req("PR-554", "PR-580")
def test_a_program_that_fails_is_no_answer_and_another_worker_gets_the_task(office):
    office.hire(
        broken=(["exits", "3"], "web_search"), free=(["words", "All is well."], "web_search")
    )
    context = office.ask("Search", "--caps", "web_search")
    assert office.answer(context) == "All is well."
    assert office.attempts(context)[0][:2] == ("W1", "F")
    assert "exit 3" in office.shown(context)["tasks"]["T1"]["hops"][0]["attempts"][0]["reason"]


@pytest.mark.req("PR-555", "XC-105")
def test_a_dead_worker_is_tried_again_twice_then_the_user_is_told(office):
    office.hire(outside=([], "web_search"))
    context = office.ask("Search", "--caps", "web_search")
    at = office.begun(context)
    for minutes in (15, 30, 45):
        office.do("heartbeat", now=at + timedelta(minutes=minutes, seconds=minutes))
        office.do("heartbeat", now=at + timedelta(minutes=minutes, seconds=minutes + 2))
    assert [one[1:] for one in office.attempts(context)] == [("F", "E21")] * 3
    assert "no answer came in time" in office.answer(context)


@pytest.mark.req("PR-555")
def test_a_task_whose_time_is_over_is_told_so_by_e20_and_goes_to_the_next_worker(office):
    office.hire(
        '[tasks]\nworker_timeout = "5h"',
        outside=([], "web_search"),
        free=(["result", "result=found"], "web_search"),
    )
    context = office.ask("Search", "--caps", "web_search")
    at = office.begun(context)
    office.do("heartbeat", now=at + timedelta(minutes=61))
    assert office.answer(context) == "found"
    assert office.inbox("W1")[-1].split("|")[6] == "E20"
    assert [one[0] for one in office.attempts(context)] == ["W1", "W2"]


@pytest.mark.req("PR-583", "PR-584")
def test_a_refusal_for_the_budget_is_answered_by_raising_it_once(office):
    office.hire(dear=(["needs", "700"], "reason"))
    context = office.ask("Reason")
    assert office.answer(context) == "paid for"
    hop = office.shown(context)["tasks"]["T1"]["hops"][0]
    assert [one["code"] for one in hop["attempts"]] == ["E17", ""]
    assert hop["budget"] >= 700


@pytest.mark.req("PR-584")
def test_where_the_budget_may_not_be_raised_the_user_is_told_what_it_needs(office):
    office.hire('[tasks]\nbudget_policy = "give-up"', dear=(["needs", "700"], "reason"))
    context = office.ask("Reason")
    assert "more than its budget" in office.answer(context)


@pytest.mark.req("PR-412", "PR-551")
def test_a_cancelled_task_tells_its_worker_and_a_late_answer_changes_nothing(office):
    office.hire(outside=([], "web_search"))
    context = office.ask("Search", "--caps", "web_search")
    office.do("task", "cancel", f"{context}/T1", "--reason", "not needed")
    told = office.inbox("W1")[-1].split("|")
    assert (told[2], told[5]) == ("U", "X")
    assert office.answer(context) == "This was cancelled."
    late = f"M9|W1>O1|S|T1|P1|D|-|0|{context}|B400|result=late"
    assert office.council("msg", "send", late).code == 6
    assert office.attempts(context) == [("W1", "X", "")]


@pytest.mark.req("PR-304", "PR-504")
def test_a_broadcast_reaches_everybody_but_its_sender(office):
    office.hire(**{one: ([], "plan") for one in ("ant", "bee", "cat")})
    done = office.do("msg", "send", "M1|O1>*|B|-|P1|-|-|0|-|-|maintenance 5min")
    assert sorted(done["to"]) == ["W1", "W2", "W3"]
    for worker in ("W1", "W2", "W3"):
        assert [text.split("|")[-1] for text in office.inbox(worker)][-1] == "maintenance 5min"
    assert office.do("msg", "send", "M1|O1>W*|B|-|P1|-|-|0|-|-|only you")["to"] == done["to"]


@pytest.mark.req("PR-517")
def test_a_message_to_a_group_reaches_each_of_its_members_once_and_nobody_else(office):
    office.hire(**{one: ([], "plan") for one in ("ant", "bee", "cat", "dog")})
    assert office.council("agent", "group", "add", "G1", "W1", "W2", "W3").code == 0
    before = {one: len(office.inbox(one)) for one in ("W1", "W2", "W3", "W4")}
    office.do("msg", "send", "M1|O1>G1|B|-|P1|-|-|0|-|-|news for three")
    gained = {one: len(office.inbox(one)) - number for one, number in before.items()}
    assert gained == {"W1": 1, "W2": 1, "W3": 1, "W4": 0}


@pytest.mark.req("PR-536", "PR-548")
def test_a_long_answer_comes_back_whole_by_way_of_an_artifact(office):
    text = "First line.\n" + "A word | and > marks. " * 60
    office.hire(writer=(["words", text], "text_gen"))
    context = office.ask("Write", "--caps", "text_gen")
    path = office.root / f"memory/shared/protocol/answers/{context}.md"
    wait_until(path.exists)
    assert path.read_text().rstrip("\n") == text.strip()
    (line,) = [
        one for one in office.do("msg", "log", "--ctx", context)["lines"] if "W1>" in one["route"]
    ][:1]
    assert "#REF:art_" in line["summary"]


@pytest.mark.req("PR-548")
def test_an_answer_in_numbered_parts_reaches_the_user_as_one(office):
    parts = [
        f"M{number + 1}|W1>O1|S|T1|P1|D|-|0|S1|B9|part={number}/3;result={text}"
        for number, text in enumerate(("Alpha, ", "beta, ", "Omega"), 1)
    ]
    office.hire(
        writer=(["prints", "\n".join(parts)], "text_gen"),
        outside=([], "plan"),
    )
    assert office.answer(office.ask("Write", "--caps", "text_gen")) == "Alpha, beta, Omega"
    context = office.ask("Plan", "--caps", "plan")
    for part in parts:
        office.do("msg", "send", part.replace("W1", "W2").replace("S1", context))
    assert office.answer(context) == "Alpha, beta, Omega"


@pytest.mark.req("PR-554", "PR-580")
@pytest.mark.parametrize(
    "line",
    [
        "M2|W2>O1|S|T1|P1|D|-|0|S1|B9|result=forged",
        "M2|W1>O1|S|T1|P1|D|-|0|S77|B9|result=of another context",
        "M2|W1>O1|S|T9|P1|D|-|0|S1|B9|result=of another task",
        "M2|W1>O1|A|T1|P1|-|-|0|S1|B9|ready",
        "M2|W1>O1|U|T1|P1|R|-|0|S1|B9|progress=10%",
        "M2|W1>O1|S|T1|P1|D|-|0|S1|B9|part=1/2;result=half of it",
    ],
)
def test_a_run_that_answers_nothing_is_a_failed_attempt_and_another_worker_is_asked(office, line):
    office.hire(
        odd=(["prints", line], "web_search"),
        free=(["result", "result=done"], "web_search"),
    )
    context = office.ask("Search", "--caps", "web_search")
    assert office.answer(context) == "done"
    assert office.attempts(context) == [("W1", "F", "E30"), ("W2", "D", "")]
    assert [one["state"] for one in office.shown(context)["runs"].values()] == ["F", "D"]
    (failed,) = office.events("task.failed")
    assert failed["data"]["reason"]["code"] == "unusable"


@pytest.mark.req("PR-545", "PR-557")
@pytest.mark.parametrize(
    "printed",
    [
        "M2|W1>O1|S|T1|P1|D|-|0|S1|B9|result=#MSG:M777",
        "M2|W1>O1|S|T1|P1|D|-|0|S1|B9|result=#REF:art_0000",
        "#REF:art_0000",
    ],
)
def test_an_answer_that_refers_to_nothing_is_refused_and_never_called_done(office, printed):
    office.hire(odd=(["prints", printed], "plan"))
    context = office.ask("Plan")
    told = office.answer(context)
    assert told == "Not done: the answer named something that cannot be found."
    assert office.attempts(context) == [("W1", "F", "E43")]
    assert office.messages(context).count("O1>W1 E E43") == 3


@pytest.mark.req("PR-545")
def test_words_that_speak_of_references_are_the_answer_as_they_stand(office):
    office.hire(writer=(["words", "Write #REF:x for a payload."], "plan"))
    context = office.ask("Plan")
    path = office.root / f"memory/shared/protocol/answers/{context}.md"
    wait_until(path.exists)
    assert path.read_text() == "Write #REF:x for a payload.\n"


@pytest.mark.req("PR-537", "PR-557")
def test_lines_with_faults_are_told_to_the_user_without_codes_and_rules(office):
    office.hire(odd=(["prints", "M2|W1>O1|S|T1|P1|D|-|0|S1|B9|result=42|43"], "plan"))
    context = office.ask("Plan")
    assert office.answer(context) == "Not done: the answer could not be read."
    assert office.attempts(context) == [("W1", "F", "E10")]


@pytest.mark.req("PR-503", "PR-598")
def test_a_v4_worker_reads_and_writes_v4_and_v4_lines_to_others_arrive_as_v5(office):
    office.hire(old=(["--log", "read.txt", "result", "results=4"], "plan"), new=([], "reason"))
    assert office.council("agent", "join", "W1", "--as", "old", "--version", "V4").code == 0
    context = office.ask("Plan", "--caps", "plan")
    assert office.answer(context) == "results: 4"
    read = (office.root / "read.txt").read_text().strip()
    assert read.count("|") == 7
    assert office.inbox("W1")[-1].count("|") == 7
    office.do("msg", "send", "M1|O1>W2|R|T1|P1|N|-|think about it")
    assert office.inbox("W2")[-1].count("|") == 10


@pytest.mark.req("PR-598", "PR-643")
@pytest.mark.parametrize(
    "line",
    ["MSG_02|W|S|TASK_01|done", "MSG_02|W1>O1|S|TASK_01|P1|D|done", "M2|W1>O1|S|T1|P1|D|-|done"],
)
def test_an_answer_by_hand_is_taken_in_every_version(office, line):
    office.hire(outside=([], "plan"))
    context = office.ask("Plan", "--caps", "plan")
    office.do("msg", "send", line)
    assert office.answer(context) == "done"


@pytest.mark.req("PR-309", "PR-410")
def test_p0_interrupts_what_its_worker_does_and_that_is_done_again_afterwards(office):
    office.hire(sleeper=(["naps", str(office.root / "napping"), "600"], "plan"))
    slow = office.ask("Plan slowly", "--priority", "P2")
    wait_until((office.root / "napping").exists)
    urgent = office.ask("Plan fast", "--priority", "P0")
    assert office.answer(urgent) == "awake for P0"
    assert office.answer(slow) == "awake for P2"
    assert office.attempts(slow) == [("W1", "D", "")]
    assert [one["state"] for one in office.shown(slow)["runs"].values()] == ["X", "D"]
    assert [one["data"]["ctx"] for one in office.events("task.set-aside")] == [slow]


@pytest.mark.req("PR-551", "PR-571")
@pytest.mark.parametrize("words", [("task", "cancel"), ("ctx", "close")])
def test_the_program_of_a_cancelled_task_is_ended_and_its_worker_is_free(office, words):
    office.hire(sleeper=(["naps", str(office.root / "napping"), "600"], "plan"))
    slow = office.ask("Plan slowly")
    wait_until((office.root / "napping").exists)
    office.do(*words, slow)
    assert office.answer(office.ask("Plan quickly")) == "awake for P1"
    assert office.attempts(slow) == [("W1", "X", "")]
    assert [one["state"] for one in office.shown(slow)["runs"].values()] == ["X"]
    assert not office.events("task.failed")


@pytest.mark.req("PR-551")
def test_a_line_of_the_orchestrator_that_cancels_ends_the_program(office):
    office.hire(sleeper=(["naps", str(office.root / "napping"), "600"], "plan"))
    slow = office.ask("Plan slowly")
    wait_until((office.root / "napping").exists)
    office.do("msg", "send", f"M9|O1>W1|U|T1|P1|X|-|0|{slow}|-|cancel;reason=enough")
    assert office.answer(office.ask("Plan quickly")) == "awake for P1"
    assert office.attempts(slow) == [("W1", "X", "")]


@pytest.mark.req("PR-551", "XC-002")
def test_a_program_is_ended_later_when_whoever_cancelled_its_task_died_before(office):
    office.hire(sleeper=(["naps", str(office.root / "napping"), "600"], "plan"))
    slow = office.ask("Plan slowly")
    wait_until((office.root / "napping").exists)
    now = datetime.now(UTC)
    contexts(office.place).edit(
        slow,
        lambda one: Change(exchange=orchestrator.cancel(Transaction(one, now), "T1").exchange),
        now,
    )
    assert office.answer(office.ask("Plan quickly")) == "awake for P1"


@pytest.mark.req("PR-551", "PR-555")
def test_the_program_of_a_task_that_is_out_of_time_is_ended_and_its_worker_is_free(office):
    office.hire(
        '[tasks]\ntask_timeout = "5m"',
        sleeper=(["naps", str(office.root / "napping"), "600"], "plan,reason"),
        free=(["result", "result=found"], "plan"),
    )
    slow = office.ask("Plan slowly", "--caps", "plan,reason")
    wait_until((office.root / "napping").exists)
    office.do("heartbeat", now=office.begun(slow) + timedelta(minutes=6))
    assert office.answer(slow) == "found"
    assert office.attempts(slow) == [("W1", "F", "E20"), ("W2", "D", "")]
    wait_until(lambda: not Slots(office.place.paths.places, 4).running_agents())
    assert not office.events("task.failed")


@pytest.mark.req("PR-503")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("S|T1|P1|D|-|0|S1|B500|result=from within", "from within"),
        ("E|T1|P1|F|E33|0|S1|B500|desc=no such page", "Not done: a file was not found."),
        ("S|T1|P1|F|-|0|S1|B500|result=x", "Not done: the answer could not be read."),
    ],
)
def test_a_worker_that_answers_from_within_its_run_is_not_ended(office, line, told):
    finished = office.root / "finished"
    send = f"council msg send 'M2|W1>O1|{line}'"
    script = f"{send}; {send}; {send}; sleep 0.5; touch {finished}"
    (office.root / "tool.sh").write_text(f"#!/bin/sh\ncat >/dev/null\n{script}\n")
    (office.root / "tool.sh").chmod(0o755)
    office.hire(outside=([], "plan"))
    toml = office.root / "council.toml"
    argv = json.dumps([str(office.root / "tool.sh")])
    toml.write_text(toml.read_text().replace('driver = "manual"', f"argv = {argv}"))
    assert office.answer(office.ask("Plan")) == told
    wait_until(finished.exists)


@pytest.mark.req("XC-018")
def test_gc_prunes_closed_contexts_by_their_age_and_their_story_is_still_told(office):
    office.hire(scout=(["result", "results=5"], "web_search"), hand=([], "translate"))
    old, open_one = (
        office.ask("Old", "--caps", "web_search"),
        office.ask("By", "--caps", "translate"),
    )
    told = office.answer(old)
    wait_until(lambda: not Slots(office.place.paths.places, 4).running_agents())
    later = datetime.now(UTC) + timedelta(days=31)

    assert office.do("gc", "--dry-run")["contexts"] == []
    would, done = (office.do("gc", *more, now=later) for more in (("--dry-run",), ()))
    assert {**would, "dryRun": False} == done
    (one,) = done["contexts"]
    assert (one["context"], one["files"]) == (old, {"history": 1, "runs": 1})
    assert (done["files"], done["orphanedRuns"]) == (2, [])

    assert office.do("gc", now=later)["files"] == 0
    assert office.answer(old) == told
    assert "was pruned" in office.council("task", "show", old).err
    assert "task.created" in [one["type"] for one in office.do("events", "story", old)["events"]]
    assert office.do("task", "show", open_one)["status"] == "open"
    assert office.ask("New", "--caps", "web_search") == "S3"


@pytest.mark.req("PR-309", "PR-410")
def test_tasks_and_letters_stand_in_the_order_p0_p1_p2_then_age(office):
    office.hire(outside=([], "plan"))
    for priority in ("P2", "P1", "P0", "P1"):
        office.ask(f"Plan {priority}", "--priority", priority)
    rows = office.do("task", "list")["tasks"]
    assert [(row["priority"], row["context"]) for row in rows] == [
        *(("P0", "S3"), ("P1", "S2"), ("P1", "S4"), ("P2", "S1"))
    ]
    requests = [text for text in office.inbox("W1") if "|R|" in text]
    assert [text.split("|")[4] for text in requests] == ["P0", "P1", "P1", "P2"]


@pytest.mark.req("PR-516", "PR-518")
def test_a_router_passes_a_message_on_unchanged_and_reports_who_cannot_be_reached(office):
    office.hire(outside=([], "plan"))
    assert office.council("agent", "join", "R1", "--role", "R").code == 0
    context = office.do("ctx", "open")["ctx"]
    line = f"M1|O1>R1|R|T1|P1|N|-|0|{context}|B100|to=W1;call=plan"
    office.do("msg", "send", line)
    assert office.inbox("W1")[-1] == office.inbox("R1")[-1] == line
    assert office.attempts(context) == [("W1", "R", "")]
    lost = office.do("msg", "send", line.replace("to=W1", "to=W9"), code=6)
    assert (lost["code"], "W9" in lost["answers"][0]) == ("E41", True)


@pytest.mark.req("PR-545", "PR-571")
def test_a_line_that_names_what_does_not_exist_is_refused_with_its_code(office):
    office.hire(outside=([], "plan"))
    context = office.do("ctx", "open")["ctx"]
    line = f"M1|O1>W1|R|T1|P1|N|-|0|{context}|B100|src=#CTX:style;prev=#MSG:M7"
    assert "E43" in office.council("msg", "send", line).err
    assert office.council("msg", "validate", "--known", line).code == 3
    office.do("ctx", "set", context, "style=short")
    fine = line.replace(";prev=#MSG:M7", "")
    assert office.council("msg", "validate", "--known", fine).code == 0
    assert office.council("msg", "resolve", fine).out == "short\n"
    office.do("msg", "send", fine)
    assert office.council("msg", "send", fine.replace(context, "Snone")).code == 5
    assert "E41" in office.council("msg", "send", fine.replace("W1", "W8")).err


@pytest.mark.req("PR-571")
def test_a_worker_opens_no_context_and_a_closed_one_takes_nothing_more(office):
    office.hire(outside=([], "plan"))
    assert office.council("msg", "send", "M1|W1>O1|U|-|P1|-|-|0|-|-|hello").code == 2
    context = office.do("ctx", "open", "Sabc12")["ctx"]
    assert context == "Sabc12"
    assert office.do("ctx", "close", context)["status"] == "closed"
    late = office.do("msg", "send", f"M1|O1>W1|R|T1|P1|N|-|0|{context}|-|go", code=6)
    assert late["code"] == "E42"
    assert office.council("ctx", "close", context).code == 4


@pytest.mark.req("XC-110")
def test_a_person_answers_a_task_by_say_as_everything_else(office):
    office.hire('[tasks]\nchoice_timeout = "1h"', painter=(["asks", "Which?", "red,blue"], "paint"))
    context = office.ask("Paint it")
    office.until(context, lambda one: one["tasks"]["T1"]["questions"])
    office.do("say", "2", "--to", f"{context}/T1")
    assert office.answer(context) == "with blue"


@pytest.mark.req("PR-504", "PR-559")
def test_a_request_of_a_worker_is_ignored_and_an_event_says_so(office):
    office.hire(one=([], "plan"), two=([], "plan"))
    context = office.ask("Plan", "--caps", "plan")
    sent = office.do("msg", "send", f"M3|W1>W2|R|T1|P1|N|-|0|{context}|B10|do it for me")
    assert sent["outcome"] == "ignored"
    assert [text.split("|")[2] for text in office.inbox("W2")] == ["A"]
    assert office.events("message.ignored")[0]["data"]["kind"] == "R"


@pytest.mark.req("PR-303", "PR-581")
def test_complexity_is_the_budget_and_the_sender_is_o1(office):
    office.hire(outside=([], "plan"))
    found = []
    for word in ("simple", "medium", "complex", "unlimited"):
        context = office.ask("Plan", "--complexity", word)
        posted = office.shown(context)["posted"][0]["message"]
        found.append((posted["from"], posted["budget"]))
    assert found == [("O1", 100), ("O1", 500), ("O1", 2000), ("O1", None)]


@pytest.mark.req("PR-586")
def test_the_log_is_one_line_a_message_in_the_form_of_the_document(office):
    office.hire(scout=(["result", "results=5;top1=x"], "web_search"))
    context = office.ask("News", "--caps", "web_search")
    office.answer(context)
    lines = office.council("msg", "log", "--ctx", context).out.splitlines()
    assert [line[8:] for line in lines] == [
        f"[INFO] [{context}] [T1] O1>W1 R - call=web_search",
        f"[INFO] [{context}] [T1] W1>O1 S - results=5",
        f"[INFO] [{context}] [T1] O1>User S - result=results: 5 top1: x",
    ]
    assert lines[0][0] == "[" and lines[0][1:6].isdigit()


@pytest.mark.req("PR-644")
def test_after_the_last_number_it_goes_on_in_a_new_context_that_names_the_old_one(office):
    office.hire(outside=([], "plan"))
    context = office.ask("Plan", "--caps", "plan")
    at_rest(office.root)
    path = office.root / f"memory/shared/protocol/contexts/{context}.jsonl"
    document = value_in(path)
    document["exchange"]["nextMessage"] = 9998
    put(path, document)
    for step in (1, 2, 3):
        line = f"M{step + 1}|W1>O1|U|T1|P1|R|-|0|{context}|B400|progress={step}0%"
        office.do("msg", "send", line)
    office.do("heartbeat")
    old = office.shown(context)
    assert (old["status"], old["successor"]) == ("closed", "S2")
    new = office.shown("S2")
    assert new["values"]["prev"] == context
    office.do("msg", "send", f"M9|W1>O1|S|T1|P1|D|-|0|{context}|B300|result=whole")
    assert office.answer("S2") == "whole"
    assert office.events("context.continued")[0]["data"]["next"] == "S2"


@pytest.mark.req("PR-553", "PR-556")
def test_an_orchestrator_agent_splits_the_request_and_composes_the_answer(office):
    script = (
        "## boss SPLIT\n- [web_search] find news\n- [plan] make a plan\n\n"
        "## boss COMPOSE\nNews and a plan.\n"
    )
    (office.root / "boss.md").write_text(script)
    office.hire(
        '[agents.boss]\ndriver = "scripted"\nanswers = "boss.md"\nrole = "orchestrator"',
        scout=(["result", "results=5"], "web_search"),
        planner=(["words", "First this, then that."], "plan"),
    )
    context = office.ask("News and a plan, please")
    assert office.answer(context) == "News and a plan."
    tasks = office.shown(context)["tasks"]
    assert [(one["text"], one["caps"]) for one in tasks.values()] == [
        ("find news", ["web_search"]),
        ("make a plan", ["plan"]),
    ]
    assert sum(one["budget"] for one in tasks.values()) == 500


@pytest.mark.req("PR-594", "PR-559")
def test_a_person_who_is_a_worker_finds_the_prompt_of_a_worker_and_how_to_answer(office):
    office.hire(alice=([], "plan"))
    context = office.ask("Plan\nthis", "--caps", "plan")
    office.do("heartbeat")
    (path,) = (office.root / "memory/agents/alice/tasks").glob("*.md")
    text = path.read_text()
    assert "#CTX:request" in text
    assert "Plan\nthis" in text
    line = text.rsplit("msg send '", 1)[1].split("'")[0]
    office.do("msg", "send", line.replace("…", "planned"))
    assert office.answer(context) == "planned"
    assert not path.exists(), "there is nothing left to be done"


@pytest.mark.req("PR-594", "XC-001")
def test_what_a_person_has_to_read_lies_there_while_it_counts_and_no_longer(office):
    office.hire(alice=([], "plan"))
    folder = office.root / "memory/agents/alice/tasks"

    def lies(name: str) -> bool:
        return [one.name for one in folder.glob("*.md")] == ([name] if name else [])

    context = office.ask("Plan this", "--caps", "plan")
    at_rest(office.root)
    assert lies("S1.1.W1.1.md")
    office.do("msg", "send", f"M2|W1>O1|U|T1|P1|R|-|0|{context}|B400|progress=10%")
    assert lies("S1.1.W1.1.md")
    office.do("msg", "send", f"M3|W1>O1|C|T1|P1|R|-|0|{context}|B400|question=How?")
    assert lies("")
    office.do("msg", "answer", context, "slowly")
    at_rest(office.root)
    assert lies("S1.6.W1.1.md")
    office.do("ctx", "close", context)
    assert lies("")


@pytest.mark.req("XC-015", "PR-590")
def test_inside_a_run_a_worker_sends_as_itself_and_needs_no_signature(office):
    office.hire(one=([], "plan"), two=([], "plan"))
    context = office.ask("Plan", "--caps", "plan")
    line = f"M2|W1>O1|S|T1|P1|D|-|0|{context}|B400|result=mine"
    run = {"COUNCIL_TASK_ID": "x", "COUNCIL_AGENT": "two"}
    assert office.council("msg", "send", line, env=run).code == 6
    assert office.council("task", "cancel", context, env=run).code == 6
    assert office.council("msg", "inbox", "--as", "W1", env=run).code == 6
    assert office.council("msg", "send", line, env={**run, "COUNCIL_AGENT": "one"}).code == 0
    assert office.answer(context) == "mine"


@pytest.mark.req("PR-589", "PR-590")
def test_where_lines_must_be_signed_only_a_signed_one_is_taken_and_only_once(office):
    office.hire("[protocol]\nsigned = true", one=([], "plan"))
    context = office.ask("Plan", "--caps", "plan")
    line = f"M2|W1>O1|S|T1|P1|D|-|0|{context}|B400|result=mine"
    progress = f"M2|W1>O1|U|T1|P1|R|-|0|{context}|B400|progress=1"

    office.do("msg", "send", line, code=5)  # there is no key yet
    signed = office.do("msg", "sign", progress)["text"]
    plain = office.do("msg", "send", progress, code=6)
    changed = office.do("msg", "send", signed.replace("=1", "=9"), code=6)
    older = office.do("msg", "send", "M2|W1>O1|U|T1|P1|R|-|progress=1", code=6)
    assert office.do("msg", "send", signed)["outcome"] == "taken"
    again = office.do("msg", "send", signed, code=6)

    for refused in (plain, changed, older, again):
        assert (refused["outcome"], refused["code"]) == ("refused", "E90")
    assert plain["answers"] == [f"M3|O1>W1|E|T1|P1|F|E90|0|{context}|B400|desc=auth"]
    told = [one["data"]["reason"] for one in office.events("message.refused")]
    assert [reason.split()[-1] for reason in told] == ["sign", "key", "V5", "before"]
    office.do("msg", "send", office.do("msg", "sign", line)["text"])
    assert office.answer(context) == "mine"


@pytest.mark.req("PR-590")
def test_where_lines_must_be_signed_a_run_needs_no_signature(office):
    office.hire("[protocol]\nsigned = true", one=(["prints", "words"], "plan"))

    assert office.answer(office.ask("Plan", "--caps", "plan"))


@pytest.mark.req("XC-015", "XC-110")
def test_inside_a_run_nobody_asks_or_answers_as_the_user(office):
    office.hire(one=([], "plan"))
    context = office.ask("Plan", "--caps", "plan")
    ask = f"M2|W1>O1|C|T1|P1|R|-|0|{context}|B400|question=Which?;options=a,b"
    office.do("msg", "send", ask)
    run = {"COUNCIL_TASK_ID": "x", "COUNCIL_AGENT": "one"}
    assert office.council("msg", "answer", "T1", "1", env=run).code == 6
    assert office.council("msg", "send", "--user", "More", env=run).code == 6
    forged = f"M3|User>O1|C|T1|P1|R|-|0|{context}|-|choice=opt1"
    assert office.council("msg", "send", forged, env=run).code == 6
    assert office.do("msg", "answer", "T1", "1")["outcome"] == "taken"


@pytest.mark.req("XC-014")
def test_where_trust_is_strict_only_a_run_answers_for_a_worker(office):
    tool = ["prints", "words"]
    office.hire('trust = "strict"', one=([], "plan"), two=(tool, "reason"))
    context = office.ask("Plan", "--caps", "plan")
    line = f"M2|W1>O1|S|T1|P1|D|-|0|{context}|B400|result=mine"
    refused = office.council("msg", "send", line)
    assert (refused.code, "trust is strict" in refused.err) == (6, True)
    assert office.answer(office.ask("Reason", "--caps", "reason")) == "words"


@pytest.mark.req("XC-016")
def test_under_a_halt_tasks_wait_and_go_on_afterwards(office):
    office.hire(one=(["result", "result=done"], "plan"))
    assert office.council("halt").code == 0
    context = office.ask("Plan", "--caps", "plan")
    office.do("heartbeat")
    assert [one["state"] for one in office.shown(context)["runs"].values()] == ["N"]
    assert office.council("resume", "--all").code == 0
    office.do("heartbeat")
    assert office.answer(context) == "done"


@pytest.mark.req("XC-016")
def test_twelve_tasks_of_two_workers_are_all_served_two_at_once(office):
    office.hire(
        "max_runs = 2",
        one=(["--log", str(office.root / "read.txt"), "result", "result=1"], "plan"),
        two=(["--log", str(office.root / "read.txt"), "result", "result=2"], "plan"),
    )
    assert office.council("halt").code == 0
    asked = [office.ask(f"Plan {number}", "--caps", "plan") for number in range(12)]
    assert office.council("resume", "--all").code == 0
    for context in asked:
        office.answer(context)
    lines = (office.root / "read.txt").read_text().splitlines()
    assert len(lines) == len(set(lines)) == 12
    shares = [sum(f"O1>W{one}" in line for line in lines) for one in (1, 2)]
    assert shares == [6, 6]


@pytest.mark.req("XC-008", "XC-109")
def test_a_cap_refuses_runs_for_tasks_and_an_event_says_so(office):
    office.hire("[limits]\nmax_runs_per_day = 1", one=(["result", "result=1"], "plan"))
    noon = datetime.now(UTC).replace(hour=12)  # all of it on one day
    office.answer(office.ask("Plan", "--caps", "plan", now=noon))
    context = office.ask("Again", "--caps", "plan", now=noon)
    office.do("heartbeat", now=noon)
    office.do("heartbeat", now=noon)
    (refused,) = office.events("task.refused")
    reason = refused["data"]["reason"]
    assert (reason["code"], reason["limit"]) == ("cap", "max_runs_per_day")
    assert office.attempts(context) == [("W1", "R", "")]


@pytest.mark.req("PR-554", "PR-559")
def test_a_worker_that_speaks_for_another_one_is_not_heard(office):
    forged = "M2|W2>O1|S|T1|P1|D|-|0|S1|B400|result=forged"
    own = "M3|W1>O1|S|T1|P1|D|-|0|S1|B400|result=own"
    office.hire(liar=(["prints", f"{forged}\n{own}"], "plan"), honest=([], "reason"))
    assert office.answer(office.ask("Plan", "--caps", "plan")) == "own"
    (refused,) = office.events("message.refused")
    assert "sent as W2 in a run of W1" in refused["data"]["reason"]


@pytest.mark.req("PR-532", "PR-536")
def test_data_that_a_worker_wrote_too_long_comes_back_whole(office):
    long = "word " * 99 + "end"
    office.hire(writer=(["result", long], "plan"))
    assert office.answer(office.ask("Plan", "--caps", "plan")) == long


@pytest.mark.req("PR-537", "PR-554", "PR-580")
def test_who_answers_with_faults_is_asked_again_twice_then_it_has_failed(office):
    office.hire(clumsy=(["prints", "M2|W1>O1|S|T1|P9|D|-|0|S1|B400|result=x"], "plan"))
    context = office.ask("Plan", "--caps", "plan")
    office.answer(context)
    assert office.attempts(context) == [("W1", "F", "E11")]
    assert [text.split("|")[6] for text in office.inbox("W1") if "|E|" in text] == ["E11"] * 3
    assert len(office.shown(context)["runs"]) == 3


@pytest.mark.req("PR-561")
def test_work_goes_to_whoever_was_used_longest_ago(office):
    office.hire(one=([], "plan"), two=([], "plan"), three=([], "plan"))
    asked = [office.ask("Plan", "--caps", "plan") for _ in range(3)]
    assert [office.attempts(context)[0][0] for context in asked] == ["W1", "W2", "W3"]


@pytest.mark.req("PR-644")
def test_a_run_that_began_before_the_numbers_were_used_up_answers_in_the_new_context(office):
    gate = office.root / "gate"
    office.hire(sleeper=(["--until", str(gate), "result", "result=late but whole"], "plan"))
    context = office.ask("Plan", "--caps", "plan")
    office.until(context, lambda one: [run["state"] for run in one["runs"].values()] == ["R"])
    path = office.root / f"memory/shared/protocol/contexts/{context}.jsonl"
    document = value_in(path)
    document["exchange"]["nextMessage"] = 9999
    put(path, document)
    for step in (1, 2):
        line = f"M{step + 1}|W1>O1|U|T1|P1|R|-|0|{context}|B400|progress={step}0%"
        office.do("msg", "send", line)
    office.do("heartbeat")
    assert office.shown(context)["successor"] == "S2"
    gate.touch()
    assert office.answer("S2") == "late but whole"


@pytest.mark.req("PR-558")
def test_a_scripted_worker_asks_and_answers_by_its_script(office):
    script = (
        "## actor TASK\nU progress=10%\nC question=Which?;options=a,b\n\n"
        "## actor ANSWER\nS result=so be it\n"
    )
    (office.root / "actor.md").write_text(script)
    office.hire(
        '[tasks]\nchoice_timeout = "1h"\n'
        '[agents.actor]\ndriver = "scripted"\nanswers = "actor.md"\ncapabilities = ["plan"]'
    )
    assert office.council("agent", "join", "--as", "actor").code == 0
    context = office.ask("Plan", "--caps", "plan")
    office.until(context, lambda one: one["tasks"]["T1"]["questions"])
    assert office.messages(context) == ["O1>W1 R", "W1>O1 U", "W1>O1 C", "O1>User D"]
    office.do("msg", "answer", context, "b")
    assert office.answer(context) == "so be it"
