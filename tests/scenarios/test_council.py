"""Councils from the question to the minutes, as people and programs see them."""

import json
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.scenarios.workspaces import Workspace

Make = Callable[..., Workspace]
FAMILY = ("henry", "sage", "nova")
PAGE = "memory/shared/council-active-conversation.md"
TURN = "## Position\n\n{0}.\n\n## Responses to Others\n\n{1}\n\n## Confidence\n\n4\n"
INSTANT = """case $COUNCIL_PHASE in
SYNTHESIZE) printf '## Recommendation\\n\\nBuy it.\\n';;
COLLECT) echo 'Buy it, for a reason.';;
*) printf 'Buy it.\\n\\nSTATUS: AGREED\\n';; esac"""


def test_the_same_text_is_read_anew_in_a_new_round(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.json("convene", "Tin?", "--procedure", "deliberation", "--agents", "ann,ben")
    text = TURN.format("Tin", "").rstrip("\n") + "\n\n## Choice\n\nB"
    w.json("respond", "--as", "ann", text)
    stances = [w.json("respond", "--as", "ben", TURN.format("Zinc", "- @ann: agree, if cheap"))]
    stances += [w.json("respond", "--as", "ben", "- @ann: partial") for _ in range(2)]
    assert [one["understood"]["stances"] for one in stances] == [{}, *[{"ann": "partial"}] * 2]
    assert (stances[2]["outcome"], stances[2]["faults"]) == ("already-recorded", [])
    again = w.json("respond", "--as", "ann", text)
    assert (again["outcome"], again["tour"], again["faults"]) == ("already-recorded", 1, [])
    w.run("stop")
    vote = w.json("vote", "--as", "ann", text)
    assert (vote["understood"]["choice"], vote["askedAgain"]) == ("B", True)


def test_document_000_by_hand(workspace: Make) -> None:
    w = workspace(*FAMILY, "maman")
    opened = w.json(
        *("convene", "A weather bot?", "--brief", "The family asks every morning."),
        *("--agents", "henry,sage,nova", "--coordinator", "maman"),
    )
    assert (opened["phase"], opened["tour"], opened["woken"]) == ("COLLECT", 1, [*FAMILY])
    assert w.json("respond", "--as", "henry", "ZANZIBAR")["outcome"] == "recorded"
    assert w.json("respond", "--as", "henry", "ZANZIBAR  \n")["outcome"] == "already-recorded"
    assert w.run("respond", "--as", "zoe", "Me too.").returncode == 6
    seen = [w.run("context", "--as", "sage").stdout, w.run("show", "--json").stdout]
    assert not any("ZANZIBAR" in text for text in [*seen, (w.root / PAGE).read_text()])

    stale = (w.root / PAGE).read_text()
    w.run("respond", "--as", "sage", "No, nobody keeps it.")
    (w.root / PAGE).write_text(stale.replace("## Notes\n", "## Notes\n\nAsk grandma.\n"))
    moved = w.json("respond", "--as", "nova", "-", stdin="Yes, but small.")["transition"]
    assert moved == {"from": "COLLECT", "to": "CHALLENGE"}
    shown = w.json("show")
    assert [one["agent"] for one in shown["contributions"]] == [*FAMILY]
    assert "Ask grandma." in shown["notes"]
    late = ["--as", "sage", "--task", f"{shown['conversationId']}.1", "Late."]
    assert w.run("respond", *late).returncode == 4
    assert [one["text"] for one in w.json("show")["late"]] == ["Late."]

    w.run("say", "The budget is 40 EUR.")
    assert "40 EUR" in w.run("context", "--as", "nova").stdout
    for agent in FAMILY:
        w.run("respond", "--as", agent, "--status", "agreed", "A small one.")
    assert w.json("show")["currentPhase"] == "SYNTHESIZE"
    assert w.json("synthesize", "--as", "maman", "## Decision\n\nNO_REPLY")["askedAgain"]
    ended = w.json("synthesize", "--as", "maman", "## Recommendation\n\nA small one, in May.")
    minutes = Path(ended["minutes"]).read_text()
    assert "A small one, in May." in minutes and "Ask grandma." in minutes
    assert not (w.root / PAGE).exists()
    assert w.json("list", "minutes")[0]["outcome"] == "consensus"
    assert w.run("wait", "--as", "nova").returncode == 8
    assert w.json("say", "weather", "--stars", "5")["ratings"] == {"tester": 5}


def test_what_a_page_made_due_is_started_by_the_next_command_that_writes(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Tea?", "--agents", "ann,ben")
    served = w.json("heartbeat")["conversations"][0]
    assert served["wake"] == w.json("show")["timeoutAt"]  # nobody is run before
    w.run("respond", "--as", "ann", "Yes.")
    page = w.root / PAGE
    draft = "<!--council:draft 1-ben-->\n"
    text = page.read_text().replace(draft, f"{draft}\nNo.\n")
    page.write_text(text.replace("(agent:ben): WAITING", "(agent:ben): RESPONDED"))
    assert w.json("show")["currentPhase"] == "CHALLENGE"
    assert not list(w.root.glob("memory/agents/*/tasks/*.2.*"))
    assert w.json("respond", "--as", "ann", "Still yes.")["woken"] == ["ben"]
    assert len(list(w.root.glob("memory/agents/ben/tasks/*.2.*"))) == 1


def test_a_deliberation_with_a_vote(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.json(
        *("convene", "Tiles or tin?", "--name", "roof", "--procedure", "deliberation"),
        *("--agents", "ann,ben", "--max-rounds", "1", "--options", "Tiles,Tin", "--open"),
    )
    assert w.run("respond", "--as", "ben", "Me first.").returncode == 6
    turn = ["--position", "Tin", "--confidence", "4"]
    w.json("respond", "--as", "ann", *turn)
    assert w.run("wait", "--as", "ben").returncode == 0
    assert w.run("vote", "--as", "ben", "--choice", "B").returncode == 6
    said = w.json("respond", "--as", "ben", *turn, "--stance", "ann=agree:cheap")
    assert said["understood"]["stances"] == {"ann": "agree"}
    for agent, peer in (("ann", "ben"), ("ben", "ann")):
        if w.json("show")["currentPhase"] == "VOTE":
            w.json("vote", "--as", agent, "--choice", "B", *turn, "--stance", f"{peer}=agree")
    tally = w.json("show", "roof", "--consensus")
    assert (tally["type"], tally["winners"]) == ("strong", ["B"])
    assert "\nB: Tin\n" in w.run("show", "roof", "--consensus").stdout
    w.json("synthesize", "--as", "ann", "## Recommendation\n\nTin, since it is cheap.")
    session = w.json("show", "roof", "--format", "debate-session")
    assert session["votingRound"]["consensusReached"]
    assert w.json("list", "minutes")[0]["decision"].startswith("Tin")


def test_ask_with_three_instant_agents(workspace: Make) -> None:
    w = workspace("ann", "ben", "cleo")
    for agent in ("ann", "ben"):
        w.program(agent, INSTANT)
    w.program("cleo", "exit 1")
    toml = w.root / "council.toml"
    toml.write_text('retry_backoff = ["1s", "1s"]\n' + toml.read_text())
    done = w.run("ask", "A kettle?", "--phases", "collect", "--name", "k", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["decision"] == "Buy it."
    assert told["absent"]["cleo"].keys() == {"code", "words"}
    assert told["used"].keys() >= {"runs", "tokens", "usd"}
    assert told.keys() >= {"outcome", "dissent", "blockers", "line", "verdict", "minutes"}
    assert w.json("show", "k")["used"] == told["used"]
    assert "no-place" not in done.stderr


def test_a_terminal_shows_who_is_running_and_lines_that_fit(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.program(
        "ann", "while ! [ -e go ]; do sleep 0.1; done; printf 'Yes.\\n@ben\\n> Never said.\\n'"
    )
    w.program("ben", "[ $COUNCIL_PHASE = COLLECT ] && echo $(seq 1001 1099); echo Yes, the end.")
    terminal = w.terminal("ask", "A kettle?", "--phases", "collect", "--synthesizer", "ben")
    terminal.until(r" Ben has answered \(sealed\)\r\n")
    assert re.search("waiting for [^\r]*ann [1-9]", terminal.until("ann [1-9]"))
    (w.root / "go").touch()
    lines = [one.rpartition("\x1b[2K")[2] for one in terminal.until().split("\r\n")]
    assert {"# COLLECT, round 1", "# SYNTHESIZE, round 2"} <= {*lines}
    assert any(one.endswith(" Ann: Yes.") for one in lines)
    assert "    nobody said “Never said.”" in lines
    assert re.search(r"\n  ✓ .* Ben: 1001( \d{4})+(\n    \d{4}( \d{4})+)+…\n", "\n".join(lines))
    assert max(len(one) for one in lines if " /" not in one) <= 80
    assert lines[-2].startswith("minutes: /") and terminal.process.returncode == 0


def test_who_types_an_answer_is_told_how_to_end_it(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Tea?")
    terminal = w.terminal("respond", "--as", "ann", "-")
    terminal.until("Ctrl-D on a line of its own ends it\r\n")
    os.write(terminal.end, b"Yes, please.\n\x04")
    assert "ann: COLLECT, round 1: recorded" in terminal.until()


def test_the_person_with_the_last_word(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.json("convene", "Tea?", "--phases", "collect", "--sign-off", "anna", "--synthesizer", "ben")
    for agent in ("ann", "ben"):
        w.json("respond", "--as", agent, "Tea.")
    assert w.run("approve", "--as", "anna").returncode == 6
    w.json("respond", "--as", "ben", "## Recommendation\n\nTea.")
    assert w.run("approve", "--as", "ann").returncode == 6
    assert Path(w.json("approve", "--as", "anna")["minutes"]).is_file()


def test_the_gate_says_by_its_exit_code_what_won(workspace: Make) -> None:
    w = workspace("ann", "ben")
    for agent, peer in (("ann", "ben"), ("ben", "ann")):
        w.program(agent, f"cat <<'E'\n{TURN.format('Tin', f'- @{peer}: agree')}E")
    for options, code in (("Tin,Tiles", 0), ("Tiles,Tin", 8)):
        asked = ["ask", "Which?", "--gate", "--options", options, "--max-rounds", "1", "--sealed"]
        done = w.run(*asked, "--name", f"k{code}")
        assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.slow
def test_asks_that_end_before_a_look_or_begin_together(workspace: Make) -> None:
    w = workspace("ann", "ben")
    done = w.run("ask", "Now?", "--gate", "--people", "tom", "--name", "k", "--timeout", "1s")
    assert done.returncode == 9 and "Absent: tom (timeout)" in done.stdout, done.stderr
    both = [("ask", topic, "--phases", "collect", "--timeout", "1s") for topic in ("Tea?", "Rum?")]
    with ThreadPoolExecutor() as pool:
        assert [one.returncode for one in pool.map(lambda words: w.run(*words), both)] == [0, 0]
    assert {one["topic"] for one in w.json("list", "minutes")} == {"Now?", "Tea?", "Rum?"}
