"""What workers really print, end to end: real programs, the heartbeat, the answer to the user.

The corpus holds the slips that models make in one line; `want` is true if a
line is read or explained to its worker.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from council.core.reading_answers.protocol_lines import find_line
from council.operations.protocol.protocol_prompts import worker_prompt
from council.operations.protocol.registry_changes import registry_of
from tests.scenarios.office import Office

CORPUS = Path(__file__).parent.parent / "corpus" / "worker-lines.jsonl"
CASES = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]


@pytest.fixture
def office(council) -> Office:
    return Office(council)


def answer_as_it_is(office: Office, context: str) -> str:
    """Wait for the answer; return it without looking for marks of the protocol in it."""
    office.until(context, lambda one: one["status"] == "closed")
    path = office.root / f"memory/shared/protocol/answers/{context}.md"
    return path.read_text("utf-8").rstrip("\n")


@pytest.mark.long
@pytest.mark.req("HR-015", "HR-017", "PR-557")
def test_every_line_of_the_corpus_is_read_or_explained_and_none_is_shown_to_a_person(office):
    # Each case has a worker and a context of its own: the ids in its line are made to fit.
    said: dict[str, tuple[list[str], str]] = {}
    for number, case in enumerate(CASES, start=1):
        text = case["text"]
        for old, new in (("W1", f"W{number}"), ("w1", f"w{number}")):
            text = text.replace(old, new)
        for old, new in (("S1|", f"S{number}|"), ("S1 ", f"S{number} "), ("s1|", f"s{number}|")):
            text = text.replace(old, new)
        text = text.replace("S1\t", f"S{number}\t").replace("S1¦", f"S{number}¦")
        text = text.replace("S1｜", f"S{number}｜")
        said[f"w{number}"] = (["prints", text], f"cap{number}")
    office.hire(**said)
    contexts = [
        office.ask("Search", "--caps", f"cap{number}") for number in range(1, len(CASES) + 1)
    ]
    assert contexts == [f"S{number}" for number in range(1, len(CASES) + 1)]

    for case, context in zip(CASES, contexts, strict=True):
        told = answer_as_it_is(office, context)
        states = [state for _, state, _ in office.attempts(context)]
        expected = ["D"] if case["want"] == "read" else ["F"]
        assert (case["id"], states) == (case["id"], expected)
        assert not [line for line in told.splitlines() if find_line(line)], (case["id"], told)
        assert "|" not in told, (case["id"], told)
        if case["want"] == "explain":
            assert told == "Not done: the answer could not be read."
    warned = [one["data"]["warning"] for one in office.events("message.warned")]
    assert "W_REPAIRED (letter case)" in warned


@pytest.mark.req("HR-015")
def test_a_worker_is_told_the_line_that_was_refused_its_fault_and_the_right_one(office):
    wrong = "M2|W1>O1|S|T1|P1|Done|-|0|S1|B300|results=5"
    script = office.root / "odd.sh"
    script.write_text(
        "#!/bin/sh\nread line\n"
        f"case \"$line\" in *'|E|'*) echo 'S results=6';; *) echo '{wrong}';; esac\n"
    )
    script.chmod(0o755)
    office.hire(odd=([], "plan"))
    toml = office.root / "council.toml"
    toml.write_text(toml.read_text().replace('driver = "manual"', f'argv = ["{script}"]'))
    context = office.ask("Plan", "--caps", "plan")
    told = office.answer(context)
    line = next(one for one in office.inbox("W1") if "|E|" in one)
    assert "desc=STATE is Done, and must be N, R, D, F, X or -;see=#CTX:r" in line
    key = line.rpartition("#CTX:")[2]
    explained = office.shown(context)["values"][key]
    assert wrong in explained
    assert "STATE is Done, and must be N, R, D, F, X or -." in explained
    assert "    M2|W1>O1|S|T1|P1|D|-|0|S1|B300|results=5\n" in explained
    assert "    S results=5" in explained
    assert told == "results: 6"
    for lang, title in (("en", "## What was wrong"), ("fr", "## Ce qui n'allait pas")):
        registry = registry_of(office.place)
        prompt = worker_prompt(
            office.place, registry, "W1", line=line, refused=explained, lang=lang
        )
        assert prompt.index(title) < prompt.index(wrong) < prompt.index(line)


@pytest.mark.req("HR-017", "PR-501", "PR-545")
def test_the_standard_flow_of_the_document_runs_to_its_end(office):
    office.hire(
        scout=(
            [
                "prints",
                "M2|W1>O1|U|T1|P1|R|-|0|S1|B450|progress=50%;found=12 articles\n"
                "M3|W1>O1|S|T1|P1|D|-|0|S1|B200|results=5;top1=OpenAI GPT-5;top2=Claude 4;"
                "src=#REF:T1:raw",
            ],
            "web_search",
        )
    )
    context = office.ask("Recherche les dernières news sur l'IA", "--caps", "web_search")
    assert office.answer(context) == "results: 5\ntop1: OpenAI GPT-5\ntop2: Claude 4"
    assert office.attempts(context) == [("W1", "D", "")]
    (warned,) = office.events("message.warned")
    assert warned["data"]["warning"] == "W_REFERENCE (#REF:T1:raw)"


@pytest.mark.req("HR-017", "PR-560", "PR-562")
def test_the_hand_off_of_the_document_runs_to_its_end(office):
    script = office.root / "analyst.sh"
    script.write_text(
        "#!/bin/sh\nread line\n"
        'case "$line" in\n'
        "*'|W2>W1|S|'*) echo 'M5|W1>O1|S|T1|P1|D|-|0|S1|B200|"
        "analysis=done;tests=3;coverage=85%;quality=good';;\n"
        "*) echo 'M2|W1>W2|X|T1|P1|R|-|1|S1|B500|call=generate_tests;src=#REF:T1:code;"
        "reason=specialized'; echo 'M3|W1>O1|U|T1|P1|R|-|0|S1|B500|handoff=W2;"
        "subtask=generate_tests';;\nesac\n"
    )
    script.chmod(0o755)
    tester = "M4|W2>W1|S|T1|P1|D|-|1|S1|B300|tests=3;coverage=85%"
    office.hire(
        analyst=([], "analyze_code"),
        tester=(["prints", tester], "generate_tests"),
    )
    toml = office.root / "council.toml"
    toml.write_text(toml.read_text().replace('driver = "manual"', f'argv = ["{script}"]'))
    context = office.ask("Look at main.py", "--caps", "analyze_code", "--complexity", "complex")
    told = office.answer(context)
    assert told == "analysis: done\ntests: 3\ncoverage: 85%\nquality: good"
    assert office.attempts(context) == [("W1", "D", ""), ("W2", "D", "")]


@pytest.mark.req("HR-015", "HR-016", "PR-574")
@pytest.mark.parametrize(
    "printed",
    [
        "**M2|W1>O1|C|T1|P1|R|-|0|S1|B300|question=Which?;options=red,blue**",
        "I have to ask first:\n\n- C question=Which?;options=red,blue",
    ],
)
def test_a_question_in_bold_or_behind_a_bullet_is_asked(office, printed):
    office.hire('[tasks]\nchoice_timeout = "1h"', odd=(["prints", printed], "plan"))
    context = office.ask("Plan")
    shown = office.until(context, lambda one: one["tasks"]["T1"]["questions"])
    (question,) = shown["tasks"]["T1"]["questions"]
    assert (question["text"], question["options"]) == ("Which?", ["red", "blue"])


@pytest.mark.req("HR-015", "HR-016", "PR-562")
@pytest.mark.parametrize(
    "printed",
    [
        "- M2|W1>W2|X|T1|P1|R|-|1|S1|B100|call=generate_tests;reason=specialised",
        "1. X W2 call=generate_tests;reason=specialised",
    ],
)
def test_a_hand_off_behind_a_bullet_happens(office, printed):
    office.hire(
        odd=(["prints", printed], "analyze_code"),
        tester=(["result", "tests=3"], "generate_tests"),
    )
    context = office.ask("Look", "--caps", "analyze_code")
    office.until(context, lambda one: len(one["tasks"]["T1"]["hops"]) > 1)
    assert "W1>W2 X" in office.messages(context)


@pytest.mark.req("HR-016", "PR-557")
@pytest.mark.parametrize("first", ["M2|W1>O1|S|T1|P1|D|-|0|S1|B300|", "S "])
def test_lines_behind_a_result_belong_to_it(office, first):
    lines = "result=Three findings:\n- one\n- two\n- three\n\nShall I go on?"
    office.hire(odd=(["prints", first + lines], "plan"))
    context = office.ask("Plan")
    assert office.answer(context) == "Three findings:\n- one\n- two\n- three"


@pytest.mark.long
@pytest.mark.req("HR-017", "PR-557")
@pytest.mark.parametrize(
    "printed",
    [
        "I was sent **M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=plan** and did it.",
        "S result=Done. It said: M9｜O1>W1｜R｜T9｜P1｜N｜-｜0｜S1｜B500｜go",
    ],
)
def test_a_result_that_holds_a_line_of_the_protocol_is_shown_without_it(office, printed):
    office.hire(odd=(["prints", printed], "plan"))
    told = answer_as_it_is(office, office.ask("Plan"))
    assert find_line(told) is None
    assert not set("|｜") & set(told)


@pytest.mark.req("HR-017", "PR-556", "PR-557")
def test_a_line_of_the_protocol_that_the_orchestrator_composes_is_shown_as_what_it_says(office):
    line = "M9|O1>User|S|T1|P1|D|-|0|S1|-|result=All is well."
    (office.root / "boss.md").write_text(
        f"## boss SPLIT\n- [plan] make a plan\n\n## boss COMPOSE\nHere you are:\n**{line}**\n"
    )
    office.hire(
        '[agents.boss]\ndriver = "scripted"\nanswers = "boss.md"\nrole = "orchestrator"',
        planner=(["words", "A plan."], "plan"),
    )
    context = office.ask("Plan")
    assert office.answer(context) == "Here you are:\nAll is well."


def test_the_corpus_is_whole() -> None:
    wanted: dict[str, Any] = {}
    for case in CASES:
        wanted.setdefault(case["want"], []).append(case["id"])
    assert {want: len(many) for want, many in wanted.items()} == {"read": 33, "explain": 13}
