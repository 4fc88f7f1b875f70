"""`task`, `ctx` and the sending half of `msg`: what people and programs read."""

from __future__ import annotations

import pytest

from tests.cli.commands import at_rest, tree
from tests.scenarios.office import Office


@pytest.fixture
def office(council) -> Office:
    made = Office(council)
    made.hire(outside=([], "plan,web_search"))
    return made


def _widest(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_a_list_of_tasks_fits_a_terminal_and_says_who_is_waited_for(office):
    office.ask("Make a plan for the whole of next year, month by month, please", "--caps", "plan")
    shown = office.council("task", "list").out
    assert _widest(shown) <= 80
    assert "P1  S1/T1  running" in shown
    assert "W1" in shown
    assert "S1/T1" in office.council("status").out
    assert office.do("status")["tasks"][0]["task"] == "T1"


def test_without_tasks_the_list_says_so(office):
    assert office.council("task", "list").out == "no task is open\n"
    assert office.do("task", "list") == {"tasks": [], "errors": []}


@pytest.mark.req("PR-412", "PR-551", "PR-552", "PR-561")
def test_a_task_is_shown_as_a_tree_with_times_and_why_this_worker(office):
    context = office.ask("Make a plan", "--caps", "plan")
    office.do("msg", "send", f"M2|W1>O1|U|T1|P1|R|-|0|{context}|B400|progress=50%")
    office.do("msg", "send", f"M2|W1>O1|U|T1|P1|R|-|0|{context}|B400|progress=50%")
    shown = office.council("task", "show", "T1").out
    assert _widest(shown) <= 80
    for part in ("T1 running", "hop 1 of O1", "attempt 1: W1 running", "progress=50%", "score 1"):
        assert part in shown
    task = office.do("task", "show", context)["tasks"][0]
    assert [task["state"], task["hops"][0]["attempts"][0]["state"]] == ["R", "R"]
    office.do("msg", "send", f"M3|W1>O1|S|T1|P1|D|-|0|{context}|B300|result=done")
    again = office.do("msg", "send", f"M3|W1>O1|S|T1|P1|D|-|0|{context}|B300|result=x", code=6)
    assert again["outcome"] == "refused"
    assert "done" in office.council("task", "show", context).out


@pytest.mark.req("PR-551")
def test_a_step_that_is_no_transition_is_refused_with_e15(office):
    context = office.ask("Make a plan", "--caps", "plan")
    wrong = f"M3|W1>O1|S|T1|P1|F|-|0|{context}|B300|result=x"
    assert office.do("msg", "send", wrong, code=6)["code"] == "E15"
    assert office.inbox("W1")[-1].split("|")[6] == "E15"


def test_a_target_is_a_task_in_a_context_a_task_or_a_context(office):
    first, second = office.ask("One", "--caps", "plan"), office.ask("Two", "--caps", "plan")
    assert office.council("task", "show", "T1").code == 2
    assert office.do("task", "show", f"{second}/T1")["tasks"][0]["text"] == "Two"
    assert office.council("task", "show", "T7").code == 5
    assert office.council("task", "show", f"{first}/T7").code == 5
    assert office.council("task", "show", "S99").code == 5
    assert office.do("task", "cancel", first)["cancelled"] == ["T1"]
    assert office.council("task", "cancel", first).code == 4
    listed = office.do("task", "list", "--all")["tasks"]
    assert [(one["context"], one["state"]) for one in listed] == [(first, "X"), (second, "R")]


def test_a_broken_context_is_reported_and_the_others_are_listed(office):
    broken, fine = office.ask("One", "--caps", "plan"), office.ask("Two", "--caps", "plan")
    path = office.root / f"memory/shared/protocol/contexts/{broken}.jsonl"
    at_rest(office.root)
    path.write_text("{")
    found = office.do("task", "list", code=3)
    assert [one["context"] for one in found["tasks"]] == [fine]
    beat = office.do("heartbeat", code=3)
    assert [one["name"] for one in beat["errors"]] == [broken]
    assert office.council("task", "show", broken).code == 3
    assert path.read_text() == "{"


@pytest.mark.req("PR-545")
def test_values_of_a_context_are_set_shown_resolved_and_taken_away(office):
    context = office.do("ctx", "open", "--for", "1h")["ctx"]
    assert office.do("ctx", "set", context, "style=short", "lang=fr")["values"] == {
        "style": "short",
        "lang": "fr",
    }
    assert office.council("msg", "resolve", "#CTX:style", "--ctx", context).out == "short\n"
    assert "#CTX:style = short" in office.council("ctx", "show", context).out
    assert office.do("ctx", "set", context, "style=")["values"] == {"lang": "fr"}
    assert office.council("msg", "resolve", "#CTX:style", "--ctx", context).code == 3
    for wrong in ("a b=c", "=c", "prev=S1"):
        assert office.council("ctx", "set", context, wrong).code == 3
    assert office.council("ctx", "set", context, "words").code == 2
    assert office.council("ctx", "open", context).code == 3


def test_a_context_with_a_time_is_closed_when_that_is_over(office):
    context = office.do("ctx", "open", "--for", "1h", now="2026-02-08T20:00:00Z")["ctx"]
    office.do("heartbeat", now="2026-02-08T20:59:00Z")
    assert office.shown(context)["status"] == "open"
    office.do("heartbeat", now="2026-02-08T21:00:01Z")
    assert (office.shown(context)["status"], office.shown(context)["closedReason"]) == (
        "closed",
        "timeout",
    )


@pytest.mark.req("XC-007")
def test_a_second_heartbeat_changes_no_file_while_tasks_wait(office):
    office.ask("One", "--caps", "plan")
    at_rest(office.root)
    office.do("heartbeat")
    before = tree(office.root)
    assert office.do("heartbeat")["changed"] is False
    assert tree(office.root) == before


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("msg", "send"), 2),
        (("msg", "send", "--user", " "), 3),
        (("msg", "send", "--user", "x", "--complexity", "huge"), 3),
        (("msg", "send", "--user", "x", "--priority", "P7"), 3),
        (("msg", "send", "--user", "x", "--ctx", "S9"), 5),
        (("msg", "send", "M1|O1>W1|R|T1|P1|N|-|0|-|-|x", "--user", "x"), 2),
        (("msg", "send", "M1|O1>W1|R"), 3),
        (("msg", "send", "no message"), 3),
        (("msg", "send", "M1|O1>W1|U|T4|P1|R|-|0|-|-|x"), 5),
        (("msg", "answer", "S9", "1"), 5),
        (("msg", "inbox", "--as", "W44"), 5),
        (("msg", "inbox", "--as", "nobody"), 5),
        (("msg", "inbox", "--as", "../x"), 3),
        (("msg", "log", "--level", "LOUD"), 2),
        (("msg", "resolve", "nothing"), 5),
        (("ctx", "show", "s1"), 5),
        (("ctx", "close", "S9"), 5),
    ],
)
def test_wrong_words_get_one_line_and_their_code(office, words, code):
    done = office.council(*words)
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) <= 1


@pytest.mark.req("OP-004")
def test_waiting_ends_with_a_line_of_its_own_or_says_that_no_answer_came_in_time(office):
    office.hire(writer=(["words", "All is well."], "text_gen"), outside=([], "plan,web_search"))
    done = office.council("msg", "send", "--user", "Write", "--caps", "text_gen", "--wait")
    last = "S1: done by writer · memory/shared/protocol/answers/S1.md"
    assert (done.code, done.out) == (0, f"All is well.\n\n{last}\n")
    words = ("msg", "send", "--user", "Plan", "--caps", "plan", "--wait", "--timeout", "1s")
    late = office.council(*words)
    assert late.code == 7
    assert "no answer in S2 within 1s" in late.err


@pytest.mark.req("HR-017", "OP-004")
def test_waiting_ends_with_what_happened_to_the_request(office):
    office.hire(
        broken=(["exits", "3"], "plan"),
        careful=(["fails", "E33", "no such page"], "web_search"),
        writer=(["result", "result=fine"], "text_gen"),
    )
    words = ("msg", "send", "--wait", "--user", "Do it", "--caps")
    crashed = office.council(*words, "plan")
    said = "Not done: no worker gave an answer that could be used"
    assert crashed.out == f"S1: T1: {said} · memory/shared/protocol/answers/S1.md\n"
    refused = office.council(*words, "web_search")
    assert refused.out.startswith("S2: T1: Not done: a file was not found · ")
    assert (crashed.code, refused.code) == (1, 1)
    assert office.do(*words, "plan", code=1)["done"] is False
    done = office.do(*words, "text_gen")
    assert (done["answer"], done["done"]) == ("fine", True)


def test_bad_settings_of_tasks_are_named(office):
    path = office.root / "council.toml"
    text = path.read_text()
    for wrong in ('choice_policy = "last"', "max_depth = 9", 'task_timeout = "soon"', "colour = 1"):
        path.write_text(f"{text}\n[tasks]\n{wrong}\n")
        done = office.council("msg", "send", "--user", "x")
        assert done.code == 3
        assert f"tasks.{wrong.split(' ')[0]}" in done.err


def test_what_is_sent_to_nobody_in_the_protocol_is_told_to_the_user(office):
    context = office.ask("Sing", "--caps", "sing")
    assert office.answer(context) == "Not done: nobody here can do this (no worker for sing)."


def test_a_wait_that_ends_without_an_answer_names_its_context_in_json(office):
    words = ("msg", "send", "--user", "Plan", "--caps", "plan", "--wait", "--timeout", "1s")
    assert office.council(*words[:-1], "soon").code == 2
    assert office.do(*words, code=7)["error"]["context"] == "S1"


def test_a_capability_that_nobody_can_have_is_refused(office):
    done = office.council("msg", "send", "--user", "x", "--caps", "BAD CAP")
    assert (done.code, "'BAD CAP' is no capability" in done.err) == (3, True)
    assert office.do("task", "list")["tasks"] == []


@pytest.mark.req("PR-545")
@pytest.mark.parametrize(
    ("data", "told", "way"),
    [
        ("a=#CTX:style", "E43: nothing is known as #CTX:style", "council ctx set S1 style=VALUE"),
        ("a=#MSG:M7", "E43: nothing is known as #MSG:M7", "council msg log --ctx S1"),
        ("a=#REF:art_0", "E43: nothing is known as #REF:art_0", "council artifact list"),
    ],
)
def test_a_refused_line_says_which_reference_is_missing_and_what_to_do(office, data, told, way):
    context = office.do("ctx", "open")["ctx"]
    done = office.council("msg", "send", f"M1|O1>W1|R|T1|P1|N|-|0|{context}|B9|{data}")
    assert (done.code, told in done.err, way in done.err) == (3, True, True), done.err


@pytest.mark.req("PR-545")
def test_a_refused_line_says_which_agent_or_task_is_missing_and_what_to_do(office):
    context = office.ask("Plan", "--caps", "plan")
    line = f"M1|O1>W8|U|T9|P1|R|-|0|{context}|B9|x"
    done = office.council("msg", "send", line)
    assert "E41: nobody is registered as W8, E40: no task T9" in done.err
    assert "council agent query" in done.err
    faults = office.do("msg", "send", line, code=3)["error"]["faults"]
    assert [one["code"] for one in faults] == ["E41", "E40"]
    assert (
        "rule state; write agents, tasks" in office.council("msg", "validate", "--known", line).err
    )


@pytest.mark.req("PR-551")
def test_a_task_is_shown_after_its_context_was_closed_the_newest_first(office):
    for text in ("One", "Two"):
        context = office.ask(text, "--caps", "plan")
        office.do("msg", "send", f"M2|W1>O1|S|T1|P1|D|-|0|{context}|B9|result={text}")
    shown = office.council("task", "show", "T1")
    assert (shown.code, shown.out.splitlines()[0].startswith("S2 · closed at")) == (0, True)
    assert office.council("task", "cancel", "T1").code == 5
    open_one = office.ask("Three", "--caps", "plan")
    assert office.do("task", "show", "T1")["context"] == open_one


@pytest.mark.req("PR-551")
def test_what_the_user_answered_is_shown_in_its_words_and_not_where_they_are_kept(office):
    context = office.ask("Make a plan", "--caps", "plan")
    office.do("msg", "send", f"M2|W1>O1|C|T1|P1|R|-|0|{context}|B400|question=For whom?")
    office.do("msg", "answer", context, "for all | and sundry, and " + "more " * 40)
    assert office.inbox("W1")[-1].split("answer=")[1].startswith("#REF:art_")
    for words in (("task", "show"), ("ctx", "show")):
        shown = office.council(*words, context).out
        assert "answered: for all | and sundry, and more" in shown
        assert _widest(shown) <= 80


def test_siblings_of_the_tree_of_a_task_hang_on_one_trunk(office):
    context = office.ask("Plan", "--caps", "plan")
    office.do("msg", "send", f"M2|W1>O1|E|T1|P1|F|E30|0|{context}|B9|desc=not today")
    office.do("heartbeat")
    shown = office.council("task", "show", context).out
    assert "      ├─ attempt 1: W1 failed" in shown
    assert "      │  E30" in shown
    assert "      └─ next: " in shown or "      └─ attempt 2" in shown


def test_doctor_names_each_context_that_cannot_be_read(office):
    office.ask("One", "--caps", "plan")
    office.do("ctx", "close", office.do("ctx", "open")["ctx"])
    folder = office.root / "memory/shared/protocol/contexts"
    at_rest(office.root)
    for path in (folder / "S1.jsonl", folder / "closed/S2.jsonl"):
        path.write_text("garbage")
    status = office.council("status").out
    found = office.council("doctor", "--json").json()["findings"]
    wrong = {one["what"]: one for one in found if one["what"] in ("S1", "S2")}
    assert sorted(wrong) == ["S1", "S2"]
    assert not any(one["ok"] for one in wrong.values())
    assert wrong["S1"]["fix"] in status


@pytest.mark.req("XC-005")
def test_what_workers_and_requests_say_does_not_reach_the_terminal(office):
    office.hire(writer=(["words", "\033]0;pwn\007\033[31mred\n\u202etwo"], "text_gen"))
    words = ("msg", "send", "--user", "Write\033[31m \u202eit", "--caps", "text_gen", "--wait")
    answer = office.council(*words)
    assert (answer.code, answer.out.split("\n\n")[0]) == (0, "red\ntwo")
    shown = [office.council("task", *one).out for one in (("show", "S1"), ("list", "--all"))]
    assert all(one.replace("\n", "").isprintable() for one in shown), shown
    assert "Write [31m it" in shown[1]


def test_a_request_without_an_available_worker_says_when_it_is_looked_for_again(office):
    early, late = "2026-02-08T20:00:00Z", "2026-02-08T21:00:00Z"
    office.do("agent", "liveness", "W1", "--load", "0", now=early)
    office.do("heartbeat", now=late)
    context = office.do("msg", "send", "--user", "x", "--caps", "plan", now=late)["context"]
    shown = " ".join(office.council("explain", context, now=late).out.split())
    assert f"(in 1m): a worker for {context}/T1 is looked for again" in shown
    assert f"2026-02-08T22:00:00Z (in 1h): {context}/T1 is given up, if no worker" in shown
    assert "dans 1m" in office.council("explain", context, "--lang", "fr", now=late).out
