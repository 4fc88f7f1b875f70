"""Calls out of turns, rooms and tasks: one trace, one depth, whatever they were begun for."""

from __future__ import annotations

import json

import pytest

from tests.cli.commands import wait_until
from tests.scenarios.office import Office

ASKS = 'cat >/dev/null; council agent call --to helper "from $COUNCIL_AGENT" || echo "exit $?"'
HELPS = 'cat >/dev/null; echo "Helped."'


def shell(agent: str, text: str, caps: str = "") -> str:
    argv = json.dumps(["/bin/sh", "-c", text])
    return f"[agents.{agent}]\nargv = {argv}\ncapabilities = {json.dumps(caps.split(','))}\n"


@pytest.fixture
def office(council) -> Office:
    return Office(council)


@pytest.mark.req("XC-106")
def test_a_call_of_a_worker_lies_one_deeper_than_its_task(office):
    office.hire(shell("asker", ASKS, "ask_around") + shell("helper", HELPS))
    office.do("agent", "join", "--as", "asker")

    context = office.ask("Ask around", "--caps", "ask_around")

    assert "Helped." in office.answer(context)
    (hop,) = office.shown(context)["tasks"]["T1"]["hops"]
    (start,) = office.events("agent.call.start")
    assert (hop["depth"], start["data"]["depth"]) == (0, 1)
    assert start["conversationId"] == context
    assert start["traceId"] == office.events("task.created")[0]["traceId"]


@pytest.mark.req("P8-061", "P8-082", "P8-083")
def test_a_refusal_belongs_to_what_its_caller_works_for(office):
    itself = 'cat >/dev/null; council agent call --to asker "Me?" >/dev/null 2>&1; echo "Done."'
    office.hire(shell("asker", itself, "ask_around"))
    office.do("agent", "join", "--as", "asker")

    context = office.ask("Ask around", "--caps", "ask_around")

    assert "Done." in office.answer(context)
    (refused,) = office.events("guard.rejected")
    assert (refused["conversationId"], refused["agentId"]) == (context, "asker")
    assert refused["traceId"] == office.events("task.created")[0]["traceId"]
    assert (refused["data"]["guard"], refused["data"]["depth"]) == ("cycle", 1)


@pytest.mark.req("XC-106", "P8-053")
def test_a_call_after_a_hand_off_counts_on_from_its_depth(office):
    office.hire(
        shell("asker", ASKS, "ask_around") + shell("helper", HELPS),
        analyst=(["hands", "W2", "ask_around"], "analyze_code"),
    )
    office.do("agent", "join", "--as", "asker")

    context = office.ask("Look at main.py", "--caps", "analyze_code")

    office.answer(context)
    first, second = office.shown(context)["tasks"]["T1"]["hops"]
    (start,) = office.events("agent.call.start")
    assert (first["depth"], second["depth"], start["data"]["depth"]) == (0, 1, 2)


FORGES = (
    'cat >/dev/null; COUNCIL_TOKEN=forged council agent call --to helper "free" >/dev/null 2>&1; '
    'env > "$COUNCIL_ROOT/seen"; echo "Done."'
)


@pytest.mark.req("P8-053", "P8-061")
def test_a_worker_that_is_not_what_it_says_calls_nobody(office):
    office.hire(shell("asker", FORGES, "ask_around") + shell("helper", HELPS))
    office.do("agent", "join", "--as", "asker")
    office.answer(office.ask("Ask around", "--caps", "ask_around"))

    seen = (office.root / "seen").read_text().splitlines()
    run = dict(line.split("=", 1) for line in seen if line.startswith("COUNCIL_"))
    later = office.council("agent", "call", "--to", "helper", "now?", "--json", env=run)

    assert office.events("agent.call.start") == []
    codes = [one["data"]["code"] for one in office.events("guard.rejected")]
    assert codes == ["E90", "E15"]  # a token of no run; a run that is over
    assert (later.code, later.json()["error"]["guard"]) == (6, "chain")


@pytest.mark.req("XC-106", "XC-109")
def test_a_call_out_of_the_turn_of_a_room_begins_at_depth_0(council):
    settings = shell("asker", ASKS) + shell("other", HELPS) + shell("helper", HELPS)
    (council.root / "council.toml").write_text(settings)
    made = council(
        "channel", "create", "chat", "weather", "--participants", "asker,other", "--json"
    )
    assert made.code == 0, made.err
    channel = made.json()["channelId"]

    assert council("say", "What is new?", "--to", channel).code == 0
    office = Office(council)
    council("heartbeat")
    (start,) = wait_until(lambda: office.events("agent.call.start")[:1])

    assert (start["data"]["depth"], start["conversationId"]) == (0, channel)
    assert start["data"]["path"] == ["asker", "helper"]
    wait_until(lambda: office.events("agent.call.end"))
