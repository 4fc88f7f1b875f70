"""The installed command in the corners: streams, errors, runs, names, steering."""

import json
import re
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.scenarios.workspaces import COMMAND, Workspace

Make = Callable[..., Workspace]
pytestmark = pytest.mark.slow


def test_control_characters_of_others_never_reach_a_terminal(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Tea \x1b[31mor\x07 coffee?", "--agents", "ann,ben", "--open")
    w.run("respond", "-", "--as", "ann", stdin="\x1b]0;title\x07 \x9b31m red \u202e abc")
    for words in (["show"], ["status"], ["list"], ["context", "--as", "ben"], ["log"]):
        shown = w.run(*words).stdout
        assert not set(shown) & set("\x1b\x07\x9b\u202e")


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_watch_draws_anew_on_a_terminal(workspace: Make, words: list[str]) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Tea?", "--agents", "ann,ben", "--name", "k")
    watch = w.terminal("watch", *words)
    watch.until('^{"root":' if words else "^\x1b\\[2J\x1b\\[Hk: Tea")
    watch.process.send_signal(signal.SIGINT)
    assert "council: interrupted" in watch.until() and watch.process.returncode == 130


@pytest.mark.parametrize("verb", ["init", "ask", "convene", "say", "stop", "heartbeat", "status"])
def test_inside_a_run_only_its_own_verbs_work(workspace: Make, verb: str) -> None:
    w = workspace("ann", "ben")
    words = [verb, *["Tea?"] * (verb == "convene"), "--json"]
    done = w.run(*words, COUNCIL_TOKEN="t", COUNCIL_AGENT="ann")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (6, "in-run")


def test_a_run_speaks_only_for_its_own_agent(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.program("ann", '"$COUNCIL" respond --as ben "I, Ben." 2>/dev/null; echo "Ann here: $?."')
    w.env["COUNCIL"] = " ".join(COMMAND)
    w.program("ben", "sleep 2; echo Ben here, too.")
    w.run("ask", "Who?", "--name", "k", "--phases", "collect", "--synthesizer", "ben")
    said = {one["agent"]: one for one in w.json("show", "k")["contributions"]}
    assert "I, Ben" not in said["ben"]["text"]
    assert said["ann"]["origin"] == "verified"


def test_names_are_ids_beginnings_and_parts_of_titles(workspace: Make) -> None:
    w = workspace("ann", "ben")
    for name, topic in (("roof", "Tiles or tin?"), ("room", "Which colour?")):
        w.run("convene", topic, "--name", name, "--agents", "ann,ben")
    assert w.json("show", "tiles")["name"] == "roof"
    ambiguous = w.run("show", "ro", "--json")
    assert ambiguous.returncode == 2
    assert json.loads(ambiguous.stdout)["error"]["candidates"] == ["roof", "room"]


def test_a_closed_stream_and_an_unread_pipe_are_quiet(workspace: Make) -> None:
    w = workspace("ann", "ben")
    line = " ".join([*COMMAND, "list >&- 2>&-"])
    assert subprocess.run(["sh", "-c", line], env=w.env, cwd=w.root, check=False).returncode == 0
    w.run("convene", "Tea?", "--agents", "ann,ben", "--brief-file", "-", stdin="x" * 200_000)
    line = " ".join([*COMMAND, "show --json | head -c 1 >/dev/null"])
    done = subprocess.run(
        ["sh", "-c", line], env=w.env, cwd=w.root, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_a_sealed_answer_is_in_no_output_until_the_round_closes(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Tea?", "--agents", "ann,ben")
    w.run("respond", "--as", "ann", "ZANZIBAR")
    page = (w.root / "memory/shared/council-active-conversation.md").read_text()
    looks = ("show", "log", "status", "list", "explain", "show --format debate-session")
    outputs = [w.run(*one.split(), *more).stdout for one in looks for more in ((), ("--json",))]
    assert not any("ZANZIBAR" in one for one in [page, *outputs])
    assert "ZANZIBAR" not in w.run("context", "--as", "ben").stdout
    w.run("respond", "--as", "ben", "Tea.")
    assert "ZANZIBAR" in w.run("context", "--as", "ben").stdout


@pytest.mark.parametrize("at", ["opened", "shown"])
def test_an_interrupted_ask_pauses_and_ends_its_runs(workspace: Make, at: str) -> None:
    w = workspace("ann", "ben")
    journal = w.root / "memory/shared/.council/conversations/k/journal.jsonl"
    for agent in ("ann", "ben"):
        w.program(agent, f"echo $$ > {w.root}/{agent}.pid; exec sleep 60")
    asking = w.start("ask", "A kettle?", "--name", "k")
    assert asking.stderr is not None
    while not journal.exists():
        pass
    if at == "shown":
        next(line for line in asking.stderr if "COLLECT" in line)
    asking.send_signal(signal.SIGINT)
    assert asking.wait(30) == 130
    assert w.json("heartbeat", "--wait")["errors"] == []
    found = w.json("status")
    assert found["conversations"][0]["pausedAt"]
    assert (found["conversations"][0]["failures"], found["problems"]) == ({}, [])
    assert re.search("paused since .*Z\n  council resume --name k\n", w.run("status").stdout)


def test_a_run_that_answers_by_command_starts_the_next_round_at_once(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.env["COUNCIL"] = " ".join(COMMAND)
    log = w.root / "log"
    for agent, slow in (("ann", "sleep 3"), ("ben", ":")):
        say = f'echo {agent} $COUNCIL_PHASE >> {log}; $COUNCIL respond "Tea: $COUNCIL_PHASE."'
        w.program(agent, f"{say} >/dev/null; {slow}; echo {agent} $COUNCIL_PHASE over >> {log}")
        with (w.root / "council.toml").open("a") as file:
            file.write('answer = "tool"\nenv = ["COUNCIL"]\n')
    asked = w.run("ask", "Tea?", "--name", "k", "--phases", "collect,challenge")
    assert asked.returncode == 0, asked.stderr
    lines = log.read_text().splitlines()
    assert "ann COLLECT over" not in lines[: lines.index("ben CHALLENGE")]
    said = w.json("show", "k")
    assert [one["text"] for one in said["contributions"] + said["late"] if not one["text"]] == []


def test_a_broken_conversation_is_never_called_nothing(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Tea?", "--agents", "ann,ben")
    assert w.run("convene", "Tea?", "--agents", "ann,ben", "--timeout", "5m").returncode == 4
    assert w.run("list", "--search", "rum").stdout == "Nothing matches.\n"
    (w.root / "memory/shared/.council/conversations/active/journal.jsonl").write_text("x\n")
    done = w.run("show")
    assert (done.returncode, done.stderr.count("\n"), done.stderr[:9]) == (3, 1, "council: ")
    assert "Nothing is open" not in w.run("status").stdout
    assert "broken" in w.run("list").stdout
    assert w.json("explain")["status"] == "broken"


def test_a_copy_of_a_page_takes_no_minutes_away(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Tea?", "--people", "ann,ben", "--open")
    page = w.root / "memory/shared/council-active-conversation.md"
    (w.root / "memory/shared/council-two-conversation.md").write_bytes(page.read_bytes())
    w.run("respond", "--as", "ann", "SAID-IN-TWO", "--name", "two")
    w.run("respond", "--as", "ann", "SAID-IN-ACTIVE", "--name", "active")
    assert w.run("cancel", "two").returncode == 0
    assert w.run("stop", "--now", "--name", "active").returncode == 0
    texts = [one.read_text() for one in sorted((w.root / "conseils").glob("*.md"))]
    assert len(texts) == len(w.json("list", "minutes")) == 2
    for word in ("SAID-IN-TWO", "SAID-IN-ACTIVE"):
        assert [word in text for text in texts].count(True) == 1
    assert ["Stopped — Tea?" in text for text in texts].count(True) == 1
    assert w.json("explain", "active")["kind"] == "minutes"  # not only a word of ours
    assert w.json("explain", "ACTIVE")["kind"] != "minutes"
    for many in ("options Yes,yes!", "max-rounds 0", "max-rounds 21", "threshold 3", "max-cost 0"):
        done = w.run("convene", "Rum?", "--procedure", "deliberation", *f"--{many}".split())
        assert done.returncode == 2 and ("cannot be" in done.stderr or "twice" in done.stderr), many


def test_explain_names_the_person_who_has_the_last_word(workspace: Make) -> None:
    w = workspace("ann", "ben")
    words = ["--people", "ann,ben,tom", "--phases", "collect", "--coordinator", "ann"]
    w.run("convene", "Tea?", *words, "--sign-off", "tom")
    for agent, why in (("ann", 1), ("ben", 2), ("tom", 3), ("ann", 4)):
        w.run("respond", "--as", agent, f"{agent} says yes, for reason {why}.")
        doing = w.json("status")["conversations"][0]["participants"]["tom"]["doing"]
        assert doing == ("asked only if ann does not write" if agent == "tom" else doing)
    assert [one["what"] for one in w.json("explain")["waitsFor"]] == ["tom's approval"]
