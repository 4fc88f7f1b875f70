"""One trace over everything that one request causes, with the names of the W3C."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from council.core.events import context_of, parse_traceparent
from tests.cli.commands import wait_until

AGENTS = Path(__file__).parents[1] / "agents"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
AROUND = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}


def events(council) -> list[dict]:
    done = council("events", "tail", "--json", "--lines", "1000")
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture
def showing(council):
    """A workspace whose owl prints the environment of its run."""
    program = f'[agents.owl]\nargv = ["{sys.executable}", "{AGENTS / "shows_environment.py"}"]\n'
    (council.root / "council.toml").write_text(program)
    return council


def seen_by_owl(council) -> dict[str, str]:
    """Return the environment that owl's run has printed, from the log of the run."""
    wait_until(lambda: any(one["type"] == "contribution.recorded" for one in events(council)))
    (log,) = (council.root / "memory/shared/.council/runs").glob("*owl.1.log")
    printed = log.read_text().partition("--- standard output ---\n")[2]
    return json.loads(printed)["environment"]


@pytest.mark.req("IO-002")
def test_a_run_sees_the_trace_that_its_council_was_convened_in(showing):
    assert showing("convene", "Hm?", "--agents", "owl,gecko", env=AROUND).code == 0

    given = parse_traceparent(seen_by_owl(showing)["traceparent"])

    assert given is not None
    assert given.trace == TRACE
    assert {one["traceId"] for one in events(showing)} == {TRACE}
    assert showing("events", "story", TRACE, "--json").json()["events"]
    shown = showing("status", "--json").json()["conversations"][0]
    assert shown["traceId"] == TRACE


@pytest.mark.req("IO-002", "XC-102")
def test_a_council_that_is_convened_by_itself_has_a_trace_of_its_own(showing):
    assert showing("convene", "Hm?", "--agents", "owl,gecko").code == 0
    shown = showing("status", "--json").json()["conversations"][0]

    given = parse_traceparent(seen_by_owl(showing)["traceparent"])

    assert given is not None
    assert given.trace == shown["traceId"] == shown["conversationId"].replace("-", "")
    assert {one["traceId"] for one in events(showing)} == {given.trace}


def test_a_traceparent_that_is_not_valid_is_as_good_as_none(showing):
    words = ("convene", "Hm?", "--agents", "owl,gecko")
    assert showing(*words, env={"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"}).code == 0

    shown = showing("status", "--json").json()["conversations"][0]

    assert shown["traceId"] == shown["conversationId"].replace("-", "")


@pytest.mark.req("XC-102")
def test_a_conversation_shows_its_id_its_context_and_its_trace(opened):
    shown = opened("status", "--json").json()["conversations"][0]
    plain, usual = opened("status", "-v").out, opened("status").out

    narrow = opened("explain", "active", "-v", env={"COLUMNS": "60"}).out.splitlines()

    for key in ("conversationId", "ctx", "traceId"):
        assert shown[key] not in usual
        assert shown[key] in plain
        assert any(line.endswith(f" {shown[key]}") for line in narrow), "an id in one piece"
    assert max(map(len, narrow[:4])) <= 60
    assert len(shown["ctx"]) <= 8
    assert shown["ctx"] == context_of(shown["conversationId"])
    line = f"M1|O1>W1|R|T1|P1|N|-|0|{shown['ctx']}|-|call=plan"
    assert opened("msg", "parse", line, "--json").json()["valid"]


@pytest.mark.req("XC-103")
def test_each_store_keeps_its_own_words_and_explain_says_what_they_mean(opened):
    words = ("channel", "create", "chat", "weather", "--participants", "owl,gecko,alice")
    assert opened(*words, "--as", "owl").code == 0

    status = opened("status", "--json").json()

    assert status["conversations"][0]["status"] == "ACTIVE"
    (told,) = status["channels"]
    shown = opened("channel", "show", "weather", "--json").json()
    assert told["tmState"] == shown["turnState"] == "normal"
    council = opened("explain", "active", "--json").json()
    room = opened("explain", "weather", "--json").json()
    assert (council["status"], council["meaning"]) == ("ACTIVE", "under-way")
    assert (room["status"], room["meaning"]) == ("normal", "created")


@pytest.mark.long
@pytest.mark.req("IO-002", "P8-082")
def test_that_an_agent_rests_belongs_to_the_trace_in_which_it_failed(council):
    (council.root / "council.toml").write_text(
        'retry_backoff = ["1s", "1s"]\n[limits]\nfailures_before_rest = 1\n'
        '[agents.owl]\nargv = ["/bin/false"]\n'
    )
    assert council("convene", "Hm?", "--agents", "owl,gecko", env=AROUND).code == 0

    wait_until(lambda: any(one["type"] == "agent.rested" for one in events(council)))

    assert {one["traceId"] for one in events(council)} == {TRACE}


@pytest.mark.req("XC-102")
def test_a_council_is_found_by_the_context_that_its_status_shows(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    assert council("convene", "Hm?").code == 0
    shown = council("status", "--json").json()["conversations"][0]

    explained = council("explain", shown["ctx"], "--json").json()
    story = council("events", "story", shown["ctx"], "--json").json()

    assert (explained["id"], story["id"]) == (shown["conversationId"],) * 2
    assert council("explain", "S0000000").code == 5


@pytest.mark.req("HR-026", "XC-103")
def test_a_trace_with_a_failed_call_in_it_is_not_said_to_have_ended_well(council):
    (council.root / "council.toml").write_text(
        '[agents.owl]\nargv = ["/bin/echo", "Yes."]\n[agents.bad]\nargv = ["/bin/false"]\n'
    )
    for agent in ("bad", "owl"):
        asked = ("agent", "call", "--to", agent, "--as", "user", "--trace", "t1", "do it")
        council(*asked)
    shown = council("explain", "t1", "--json").json()
    assert set(shown["status"].split(", ")) == {"error", "ok"}
    assert shown["meaning"] == "ended-in-part"
    plain = council("explain", "t1").out
    assert "ended well" not in plain and "ended, not every call well" in plain
