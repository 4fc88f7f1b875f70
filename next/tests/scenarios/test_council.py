"""Councils from convene to minutes, as people and programs see them."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

from workspaces import Workspace

Make = Callable[..., Workspace]
YES = 'case $COUNCIL_PHASE in SYNTHESIZE) printf "## Recommendation\\n\\nBuy it.\\n";; '
YES += 'COLLECT) echo "Buy it, for a reason.";; *) printf "Buy it.\\n\\nSTATUS: AGREED\\n";; esac'


def test_answers_and_their_exit_codes(workspace: Make) -> None:
    w = workspace("ann", "ben", "cleo")
    assert w.run("convene", "Tea?", "--agents", "ann,ben").returncode == 0
    assert w.run("respond", "--as", "ann", "Tea, please.").returncode == 0
    again = w.run("respond", "-", "--as", "ann", "--json", stdin="Tea, please.  \n\n")
    assert (again.returncode, json.loads(again.stdout)["outcome"]) == (0, "already-recorded")
    other = w.run("respond", "--as", "ann", "Coffee.", "--json")
    assert (other.returncode, json.loads(other.stdout)["error"]["code"]) == (4, "already-answered")
    assert other.stderr.count("\n") == 1
    assert w.run("respond", "--as", "ann", "Coffee.", "--amend").returncode == 0
    assert w.run("respond", "--as", "cleo", "Me too.").returncode == 6
    assert w.run("respond", "--as", "ben", "--status", "nonsense", "Tea.").returncode == 3
    assert w.run("respond", "--as", "ben").returncode == 2
    assert w.run("respond", "--as", "ben", "--name", "nowhere", "Tea.").returncode == 5
    moved = w.json("respond", "--as", "ben", "Tea.")["transition"]
    assert moved == {"from": "COLLECT", "to": "CHALLENGE"}
    first = w.json("show")["rounds"][0]["mark"]
    late = w.run("respond", "--as", "ben", "--round", first, "Late tea.")
    assert late.returncode == 4
    assert [one["text"] for one in w.json("show")["late"]] == ["Late tea."]


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


def test_ask_tells_the_whole_outcome(workspace: Make) -> None:
    w = workspace("ann", "ben", "cleo")
    w.program("ann", YES)
    w.program("ben", YES)
    w.program("cleo", "exit 1")
    toml = w.root / "council.toml"
    toml.write_text('retry_backoff = ["1s", "1s"]\n' + toml.read_text())
    done = w.run("ask", "A kettle?", "--phases", "collect", "--name", "k", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["decision"] == "Buy it."
    assert told["absent"].keys() == {"cleo"}
    assert told["absent"]["cleo"].keys() == {"code", "words"}
    assert told["used"].keys() >= {"runs", "tokens", "usd"}
    assert told.keys() >= {"outcome", "dissent", "blockers", "line", "verdict", "minutes"}
    assert Path(told["minutes"]).read_text().startswith("---\n")
    assert not w.json("list")
    assert w.json("show", "k")["contributions"][0]["phase"] == "COLLECT"
    assert w.run("wait", "--as", "ann", "--name", "k").returncode == 5


def test_an_interrupted_ask_pauses_and_ends_its_runs(workspace: Make) -> None:
    w = workspace("ann", "ben")
    for agent in ("ann", "ben"):
        w.program(agent, f"echo $$ > {w.root}/{agent}.pid; exec sleep 60")
    asking = w.start("ask", "A kettle?", "--name", "k")
    assert asking.stderr is not None
    for line in asking.stderr:
        if "COLLECT" in line:
            break
    asking.send_signal(signal.SIGINT)
    assert asking.wait(30) == 130
    assert w.json("status")["conversations"][0]["pausedAt"]


def test_the_gate_says_by_its_exit_code_what_won(workspace: Make) -> None:
    w = workspace("ann", "ben")
    for word, code in (("Tin", 0), ("Tiles", 8)):
        vote = f"## Position\\n\\n{word}.\\n\\n## Confidence\\n\\n4\\n"
        stance = "## Responses to Others\\n\\n- @ann: agree\\n- @ben: agree\\n\\n"
        for agent in ("ann", "ben"):
            w.program(f"{agent}", f'printf "{stance}{vote}"')
        asked = ["ask", "Which?", "--gate", "--options", "Tin,Tiles", "--max-rounds", "1"]
        done = w.run(*asked, "--sealed", "--name", f"k{code}")
        assert done.returncode == code, done.stdout + done.stderr
        toml = w.root / "council.toml"
        toml.write_text(toml.read_text().partition("\n[agents.")[0])


def test_stopping_cancelling_and_extending(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "One?", "--name", "one", "--agents", "ann,ben")
    w.run("respond", "--name", "one", "--as", "ann", "Yes.")
    assert w.run("pause", "one").returncode == 0
    assert w.run("resume", "one").returncode == 0
    before = w.json("show", "one")["timeoutAt"]
    assert w.json("extend", "30m", "--name", "one")["timeoutAt"] > before
    stopped = w.json("stop", "one", "--now")
    assert Path(stopped["minutes"]).is_file()
    w.run("convene", "Two?", "--name", "two", "--agents", "ann,ben")
    assert w.json("cancel", "two", "--reason", "Asked twice.")["minutes"]
    assert [row["outcome"] for row in w.json("list", "minutes")].count("cancelled") == 1
    assert w.run("cancel", "two").returncode == 5
    assert w.json("say", "one", "--stars", "4")["ratings"] == {"tester": 4}
