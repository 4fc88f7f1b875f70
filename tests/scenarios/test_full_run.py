"""Everything that was built, once through, and every event of it held to the published schema."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime

import pytest

from council.core.event_types import EVENTS
from tests.cli.commands import at_rest, wait_until
from tests.conftest import Council
from tests.event_lines import faults_of, lines_under
from tests.scenarios.office import Office

TOOLS = """
[agents.bold]
argv = ["/bin/sh", "-c", "cat >/dev/null; echo No doubt about it."]
capabilities = ["judge"]
[agents.gone]
argv = ["/opt/nope/agent"]
[hooks]
phase_changed = ["/opt/nope/hook"]
"""


def types(council) -> list[str]:
    return [json.loads(line)["type"] for line in lines_under(council.root)]


def do(council, *words: str, code: int = 0, **options) -> str:
    done = council(*words, **options)
    assert done.code == code, f"{words}: {done.err}{done.out}"
    return done.out


def a_council(council) -> None:
    """One council that is paused, edited, extended, answered late and wrongly, and archived."""
    do(council, "convene", "A bot?", "--agents", "owl,elk", "--name", "first")
    do(council, "pause", "--name", "first")
    do(council, "resume", "--name", "first")
    do(council, "inject", "Mind the rain.", "--name", "first")
    do(council, "extend", "5m", "--name", "first")
    file = council.root / "memory/shared/council-first-conversation.md"
    at_rest(council.root)
    text = file.read_text().replace("\nA bot?\n", "\nA cat?\n", 1)
    file.write_text(re.sub(r"- Timeout: \S+", "- Timeout: 2099-01-01T00:00:00Z", text, count=1))
    do(council, "heartbeat")
    do(council, "respond", "Mine.", "--as", "zoe", "--name", "first", code=6)
    for agent in ("owl", "elk"):
        do(council, "respond", f"{agent} says yes.", "--as", agent, "--name", "first")
    do(council, "restore", "1", "--name", "first")
    do(council, "archive", "--name", "first")


def a_deliberation(council) -> None:
    stances = {"owl": "elk=agree", "elk": "owl=agree"}
    words = ("--procedure", "deliberation", "--agents", "owl,elk", "--name", "second")
    do(council, "convene", "Shall we?", *words, "--phases", "deliberate,vote,synthesize")
    for agent, stance in stances.items():
        given = ("--position", "Yes.", "--stance", stance, "--confidence", "5")
        do(council, "respond", "Because.", "--as", agent, "--name", "second", *given)
    do(council, "cancel", "--name", "second")


def rooms(council) -> None:
    do(council, "channel", "create", "chat", "hall", "--participants", "owl,elk,zoe", "--as", "owl")
    do(council, "say", "Rain?", "--to", "hall")
    for agent, said in (("owl", "NO_REPLY"), ("elk", "NO_REPLY")):
        do(council, "turn", "begin", "hall", "--as", agent, "--run-id", agent)
        do(council, "turn", "end", "hall", "--as", agent, "--run-id", agent, "--text", said)
    do(council, "channel", "members", "hall", "remove", "zoe")
    do(council, "channel", "mode", "hall", "none")
    guide = council.root / "guide.md"
    guide.write_text("## Topic\nRain\n\n## Goals\nKnow\n\n## Completion criteria\nAll spoke\n")
    summary = council.root / "memory/shared/discussion-summary"
    summary.mkdir(parents=True, exist_ok=True)
    (summary / "rain.md").write_text("It rains.\n")
    made = ("--guide", str(guide), "--participants", "owl,elk", "--as", "owl")
    do(council, "discussion", "create", "rain", *made)
    do(council, "heartbeat")
    do(council, "discussion", "complete", "rain", "--as", "owl", "--summary", "rain.md")
    do(council, "heartbeat")


def delegation(council) -> None:
    who = ("--as", "owl", "--trace", "t1")
    now = datetime.now(UTC)  # of a pair so many messages are let through in one minute
    do(council, "agent", "message", "--to", "elk", *who, "x" * 5000, now=now)
    do(council, "agent", "call", "--to", "cap:judge", *who, "Judge this.")
    do(council, "agent", "call", "--to", "cap:judge", *who, "Judge this.")
    do(council, "agent", "call", "--to", "gone", *who, "Judge that.", code=1)
    for number in range(5):
        do(council, "agent", "message", "--to", "elk", *who, f"Hello {number}.", now=now)
    do(council, "agent", "message", "--to", "elk", *who, "Once more.", code=6, now=now)
    art = json.loads(do(council, "artifact", "publish", "-", "--json", stdin="Rain."))
    (file,) = (council.root / "memory/shared/artifacts").glob(f"{art['artifactId']}.json")
    do(council, "artifact", "fetch", art["artifactId"])
    file.chmod(0o644)
    file.write_text("Snow.")
    do(council, "artifact", "fetch", art["artifactId"], code=3)


def tasks(council) -> None:
    office = Office(council)
    habits = {
        "painter": (["asks", "Which?", "red,blue"], "paint"),
        "scout": (["result", "results=1"], "web_search"),
    }
    office.hire(TOOLS, **habits)
    asked = office.ask("Paint it", "--caps", "paint")
    office.until(asked, lambda one: one["tasks"]["T1"]["questions"])
    do(council, "msg", "answer", asked, "1")
    office.answer(asked)
    office.answer(office.ask("Look", "--caps", "web_search"))
    do(council, "agent", "group", "add", "G1", "W1", "W2")
    do(council, "agent", "leave", "--as", "scout")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Council:
    """A workspace in which everything has happened once."""
    root, home = tmp_path_factory.mktemp("workspace"), tmp_path_factory.mktemp("home")
    (root / "memory" / "shared").mkdir(parents=True)
    council = Council(root, home)
    Office(council).hire(TOOLS)
    do(council, "halt")
    do(council, "resume", "--all")
    a_council(council)
    a_deliberation(council)
    rooms(council)
    delegation(council)
    tasks(council)
    for name in ("third", "thirteenth", "thirtieth"):  # a turn that failed for good counts once
        do(council, "convene", "More?", "--agents", "owl,gone", "--name", name)
    wait_until(lambda: "agent.rested" in types(council))
    do(council, "convene", "Gone?", "--agents", "owl,elk", "--name", "fourth")
    do(council, "purge", "fourth", "--yes")
    wait_until(lambda: "hook.failed" in types(council))
    return council


@pytest.mark.long
@pytest.mark.req("P8-081", "P8-082", "P8-083", "P8-084", "P8-085", "P8-086")
def test_every_event_of_a_run_of_everything_keeps_to_the_published_schema(everything):
    lines = lines_under(everything.root)

    assert len(lines) > 100
    assert [one for line in lines for one in faults_of(line)] == []
    seen = [json.loads(line) for line in lines]
    named = {one["type"] for one in seen}
    assert named >= {
        "routing.decision",
        "agent.call.start",
        "agent.call.end",
        "agent.call.error",
        "agent.message",
        "artifact.publish",
        "artifact.fetch",
        "guard.rejected",
        "brief.restored",
        "consensus.checked",
    }
    families = {one.partition(".")[0] for one in named}
    assert families >= {
        *("conversation", "turn", "discussion", "phase", "channel", "message", "task", "edit")
    }
    started = [one["data"]["task"] for one in seen if one["type"] == "agent.call.start"]
    ended = [
        one["data"]["task"] for one in seen if one["type"] in ("agent.call.end", "agent.call.error")
    ]
    assert sorted(started) == sorted(ended)


@pytest.mark.long
def test_every_event_has_its_sentence_and_every_line_can_be_exported(everything):
    plain = everything("events", "tail", "--lines", "1000").out
    assert len(plain.splitlines()) > 100
    exported = everything("events", "export", "--format", "cloudevents").out.splitlines()
    assert {json.loads(one)["type"].removeprefix("dev.council.") for one in exported} <= set(EVENTS)
    whole = everything("events", "export", "--format", "otlp-json")
    assert whole.code == 0
    assert sys.getsizeof(whole.out) > 1000
    for name in ("hall", "rain", "S1", "owl", "t1", "third"):
        assert everything("events", "story", name).code == 0, name
    for name in ("hall", "rain", "S1", "third"):
        assert everything("explain", name).code == 0, name
