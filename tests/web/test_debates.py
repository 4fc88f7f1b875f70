"""Document 003 word for word: debates are started, listed, shown, spoken into and cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from tests.conftest import Council
from tests.web.serving import Served, serving
from tests.web.test_api import refusal

DEBATES = "/api/council/debates"
AGENTS = [{"agentId": "owl", "role": "Skeptic"}, {"agentId": "gecko"}, {"agentId": "fox"}]
CONFIG = {"maxRounds": 2, "agents": AGENTS, "consensusThreshold": 2}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all: each test starts the debates that it works with."""
    folder = tmp_path_factory.mktemp("debates")
    (folder / "workspace").mkdir()
    council = Council(folder / "workspace", folder)
    assert council("init", "--agents", "owl,gecko,fox").code == 0
    with serving(council, folder) as found:
        yield found


@pytest.fixture(scope="module")
def shape(served: Served) -> dict[str, Any]:
    """What the description says of a session."""
    described = served.get("/openapi.json").json()
    return {"$ref": "#/components/schemas/DebateSession", "components": described["components"]}


@pytest.fixture
def debate(served: Served) -> dict[str, Any]:
    """A debate that was just started."""
    made = served.post(DEBATES, {"topic": "Tea?", "context": "For ten.", "config": CONFIG})
    assert made.status == 201, made.text
    found = made.json()
    assert made.headers["location"] == f"{DEBATES}/{found['id']}"
    assert isinstance(found, dict)
    return found


@pytest.mark.req("DL-061")
def test_a_debate_is_started_as_it_is_asked_for(debate: dict[str, Any]):
    assert (debate["topic"], debate["context"], debate["status"]) == ("Tea?", "For ten.", "active")
    config = debate["config"]
    assert (config["maxRounds"], config["consensusThreshold"]) == (2, 2)
    assert [one["agentId"] for one in config["agents"]] == ["owl", "gecko", "fox"]
    assert config["agents"][0]["role"] == "Skeptic"


@pytest.mark.req("DL-061")
def test_a_topic_alone_starts_a_debate_and_each_has_a_name_of_its_own(served: Served):
    ids = [served.post(DEBATES, {"topic": "Coffee?"}).json()["id"] for _ in range(2)]
    assert len(set(ids)) == 2
    refusal(served.post(DEBATES, {}), 422)
    refusal(served.post(DEBATES, {"topic": "x", "config": {"agents": [{"agentId": "ox"}]}}), 400)


@pytest.mark.req("DL-062")
def test_debates_are_an_array_of_those_that_are_open_and_those_that_are_over(
    served: Served, debate: dict[str, Any], shape: dict[str, Any]
):
    assert served.council("convene", "A council?", "--agents", "owl,fox").code == 0
    over = served.post(DEBATES, {"topic": "Milk?", "config": CONFIG}).json()
    assert served.delete(f"{DEBATES}/{over['id']}").status == 200
    listed = served.get(DEBATES).json()
    for one in listed:
        jsonschema.validate(one, shape)
    ids = [one["id"] for one in listed]
    assert ids.index(debate["id"]) < ids.index(over["id"])
    assert "A council?" not in [one["topic"] for one in listed]
    cancelled = served.get(f"{DEBATES}?status=cancelled&last=1").json()
    assert [one["id"] for one in cancelled] == [over["id"]]


@pytest.mark.req("DL-063")
def test_a_debate_is_found_by_either_id_and_an_unknown_one_is_not(
    served: Served, debate: dict[str, Any]
):
    known = served.get("/api/council/councils").json()
    ours = next(one for one in known if served.get(f"{DEBATES}/{one['name']}").json() == debate)
    assert served.get(f"{DEBATES}/{ours['conversationId']}").json() == debate
    assert served.get(f"{DEBATES}/{debate['id']}").json() == debate
    refusal(served.get(f"{DEBATES}/cnothing0000000000000000"), 404)


@pytest.mark.req("DL-064")
def test_what_a_person_says_is_taken_in_while_the_debate_is_open(
    served: Served, debate: dict[str, Any]
):
    said = {"message": "Mind the budget.", "targetAgent": "owl"}
    taken = served.post(f"{DEBATES}/{debate['id']}/inject", said)
    assert taken.status == 202
    assert {**said, "round": 1, "place": 0}.items() <= taken.json().items()
    shown = served.get(f"{DEBATES}/{debate['id']}").json()
    assert shown["humanInjections"] == [taken.json()]
    refusal(served.post(f"{DEBATES}/unknown/inject", said), 404)
    assert served.delete(f"{DEBATES}/{debate['id']}").status == 200
    refusal(served.post(f"{DEBATES}/{debate['id']}/inject", said), 409)


@pytest.mark.req("DL-065")
def test_a_cancelled_debate_says_so_and_its_file_stays(served: Served, debate: dict[str, Any]):
    path = f"{DEBATES}/{debate['id']}"
    ended = served.delete(path).json()
    assert ended["status"] == "cancelled"
    assert "completedAt" in ended
    assert served.get(path).json() == ended
    kept = [one["id"] for one in served.council("list", "--archived", "--json").json()]
    assert debate["id"] in kept
    refusal(served.delete(path), 409)


@pytest.mark.req("DL-065", "OP-008")
def test_a_change_that_is_sent_again_with_its_key_is_done_once(
    served: Served, debate: dict[str, Any]
):
    path = f"{DEBATES}/{debate['id']}"
    said = [
        served.post(f"{path}/inject", {"message": "Once."}, Idempotency_Key=path).json()
        for _ in range(2)
    ]
    assert said[0] == said[1]
    assert len(served.get(path).json()["humanInjections"]) == 1
    ended = [served.delete(path, Idempotency_Key=f"{path}-off") for _ in range(2)]
    assert [one.status for one in ended] == [200, 200]
    assert ended[0].body == ended[1].body


@pytest.mark.req("DL-051", "DL-056", "DL-067")
def test_sessions_have_the_shape_that_is_described_at_every_stage(
    served: Served, debate: dict[str, Any], shape: dict[str, Any]
):
    path, agents = f"{DEBATES}/{debate['id']}", ("owl", "gecko", "fox")
    name = next(
        one["name"]
        for one in served.get("/api/council/councils").json()
        if served.get(f"{DEBATES}/{one['name']}").json() == debate
    )
    council = f"/api/council/councils/{name}"
    seen = []
    for _ in range(20):
        session = served.get(path).json()
        jsonschema.validate(session, shape)
        shown = served.get(council)
        if shown.status == 404 or session["status"] in ("complete", "cancelled"):
            break
        seen.append(session["status"])
        for agent in agents:
            peers = {one: "partial" for one in agents if one != agent}
            said = {
                "as": agent,
                "position": "Tea.",
                "stance": peers,
                "confidence": 3,
                "text": "So.",
            }
            way = {"voting": "votes", "synthesizing": "synthesis"}.get(session["status"], "answers")
            fields = (
                {"as": agent, "text": "## Recommendation\nTea."} if way == "synthesis" else said
            )
            served.post(f"{council}/{way}", fields)
    assert session["status"] == "complete"
    assert {"active", "voting", "synthesizing"} <= set(seen)
    assert session["votingRound"]["votes"]
    assert session["synthesis"]["recommendation"]
