"""Minutes are read in a terminal: what was decided stands on the first screen of the raw file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

KEYS = ["schemaVersion", "title", "date", "conversation", "outcome", "participants", "tags", "data"]
AGREED = "printf 'Yes.\\n'"
WRITES = "printf '## Decision\\nWe build it.\\n\\n## Next step\\nAn owner.\\n'"
PROSE = "printf 'We build it after all.\\n'"
FAILS = "exit 3"


def settle(council, **programs: str) -> None:
    lines = ["retry_backoff = []\n"]
    for agent, program in programs.items():
        argv = json.dumps(["/bin/sh", "-c", f"cat >/dev/null; {program}"])
        lines.append(f"[agents.{agent}]\nargv = {argv}\n")
    (council.root / "council.toml").write_text("".join(lines), encoding="utf-8")


def measured(path: Path, decision: str) -> None:
    """Assert that front matter, verdict and decision stand where HR-027 wants them."""
    lines = path.read_text(encoding="utf-8").splitlines()
    end = lines.index("---", 1)
    assert [one.partition(":")[0] for one in lines[1:end]] == KEYS
    assert end - 1 <= 8
    first = lines[:15]
    assert any(one.startswith(("**Outcome**", "**Verdict**")) for one in first)
    assert any(decision in one for one in first), first
    named = dict(one.split(": ", 1) for one in lines[1:end])
    beside = path.parent / named["data"]
    data = json.loads(beside.read_bytes())
    assert data["conversationId"] == named["conversation"]
    assert data["ledger"] and data["rounds"] and data["texts"]


@pytest.mark.req("HR-027", "C0-030")
@pytest.mark.parametrize(
    ("writer", "decision", "code"),
    [(WRITES, "> We build it.", 0), (PROSE, "> We build it after all.", 0), (FAILS, "## ", 1)],
)
def test_a_council_shows_its_decision_on_the_first_screen(
    council, writer: str, decision: str, code: int
):
    settle(council, owl=writer, gecko=writer)
    words = ("--phases", "collect,synthesize", "--synthesizer", "owl", "--timeout", "20s")
    done = council("ask", "A bot?", "--agents", "owl,gecko", "--json", *words)
    assert done.code == code, done.err
    path = Path(done.json()["minutes"])
    if code == 0:
        measured(path, decision)
        body = path.read_text(encoding="utf-8").split("## Round 1")[0]
        assert body.count("We build it") == 1, "nothing is said twice"
    else:
        assert "- Gecko: NO RESPONSE (failed)" in path.read_text(encoding="utf-8").replace(
            "gecko", "Gecko"
        )


@pytest.mark.req("HR-026", "HR-027")
def test_ask_prints_the_decision_once_and_the_verdict_last(council):
    settle(council, owl=WRITES, gecko=AGREED)
    words = ("--phases", "collect,synthesize", "--synthesizer", "owl")
    shown = council("ask", "A bot?", "--agents", "owl,gecko", *words)
    assert shown.code == 0, shown.err
    lines = shown.out.rstrip().splitlines()
    assert shown.out.count("We build it.") == 1
    last = "\n".join(lines[-24:])
    assert "We build it." in last
    assert "Outcome: no agreement" in last.replace("*", "")
    verdict, path = lines[-1].split(" · ")
    assert verdict == "No agreement"
    assert Path(path).is_file()


@pytest.mark.req("HR-026")
def test_ask_exits_with_7_where_nobody_was_heard_in_time(council):
    words = ("--phases", "collect,synthesize", "--timeout", "1s")
    done = council("ask", "A bot?", "--agents", "owl,gecko", *words)
    assert done.code == 7, done.err
    assert "Timed out" in done.out
    assert "7 where the time ran out" in " ".join(council("ask", "--help").out.split())


@pytest.mark.req("HR-027", "XC-018")
def test_data_beside_minutes_are_listed_rated_shown_and_purged_with_them(council):
    settle(council, owl=WRITES, gecko=AGREED)
    words = ("--phases", "collect,synthesize", "--synthesizer", "owl")
    path = Path(
        council("ask", "A bot?", "--agents", "owl,gecko", "--json", *words).json()["minutes"]
    )
    renamed = path.with_name("renamed.md")
    path.rename(renamed)
    (listed,) = council("list", "--archived", "--json").json()
    assert (listed["procedure"], listed["rounds"]) == ("council", 2)
    assert council("rate", "renamed", "4").code == 0
    record = council("show", "--name", "conseils/renamed.md", "--json").json()
    assert [one["text"].strip() for one in record["contributions"]][-1].startswith("## Decision")
    assert council("doctor", "--json").code in (0, 3)
    gone = council("purge", "conseils/renamed.md", "--yes", "--json")
    assert gone.code == 0, gone.err
    assert not list((council.root / "conseils").iterdir())


@pytest.mark.req("HR-026")
def test_a_deliberation_shows_no_mode_and_who_speaks_next_is_one(council):
    assert council("init", "--agents", "owl,chief").code == 0
    words = ("--procedure", "deliberation", "--agents", "owl,chief")
    assert council("convene", "A bot?", *words).code == 0
    assert "- Mode:" not in council("show").out
    assert "then chief speaks" in council("explain", "active").out
    assert council("convene", "Tea?", "--name", "tea", "--agents", "owl,chief").code == 0
    assert "- Mode: debate" in council("show", "--name", "tea").out
