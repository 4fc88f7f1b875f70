"""The interface for programs: document 003's routes, and those of councils, rooms and messages."""

import pytest

API = "/api/council"
TURN = {"text": "## Position\nGreen.\n\n## Reasoning\nIt is mild.\n\n## Confidence\n4\n"}


def test_a_debate_from_its_start_to_its_end(served) -> None:
    program, agents = (
        served.program,
        [{"agentId": one, "role": "Judge", "roleDescription": "Strict."} for one in ("ada", "bob")],
    )
    config = {"maxRounds": 2.0, "agents": agents, "consensusThreshold": 2}
    asked = {"topic": " Tea\n?", "context": "Hot.", "config": config}
    made = program.post(f"{API}/debates", json=asked)
    session = made.json()
    assert made.headers["location"] == f"{API}/debates/{session['id']}"
    assert len(session["id"]) == 25
    assert (session["topic"], session["context"], session["status"]) == ("Tea ?", "Hot.", "active")
    assert session["config"]["maxRounds"] == session["config"]["consensusThreshold"] == 2
    assert {one["role"] for one in session["config"]["agents"]} == {"Judge: Strict."}
    name = program.get(f"{API}/councils").json()[0]["name"]
    told = program.post(f"{API}/councils/{name}/answers", json={"as": "ada", **TURN})
    assert (told.status_code, told.json()["outcome"]) == (201, "recorded")
    where = f"{API}/debates/{session['id']}"
    turn = program.get(where).json()["rounds"][0]["turns"][0]
    assert (turn["agentId"], turn["position"], turn["confidence"]) == ("ada", "Green.", 4)
    said = program.post(f"{where}/inject", json={"message": "Mind the cost.", "targetAgent": "bob"})
    assert (said.status_code, said.json()["targetAgent"]) == (202, "bob")
    nobody = {"message": "x", "targetAgent": "zed"}
    assert program.post(f"{where}/inject", json=nobody).status_code == 404
    for again in ("Mind the cost.\n", "Mind the cost. \r"):
        again = {"message": again, "targetAgent": "bob"}
        assert program.post(f"{where}/inject", json=again).json() == said.json()
    assert program.get(f"{API}/debates/{name}").json()["humanInjections"] == [said.json()]
    assert program.delete(where).json()["status"] == "cancelled"
    for again in (program.delete(where), program.post(f"{where}/inject", json={"message": "x"})):
        assert (again.status_code, again.json()["code"]) == (409, "over")
    assert program.get(where).json()["completedAt"]
    assert [one["id"] for one in program.get(f"{API}/debates").json()] == [session["id"]]
    for path in (f"debates/c{'0' * 24}", "councils/none/events", "rooms/none/events"):
        assert program.get(f"{API}/{path}").status_code == 404


def test_a_repeated_start_makes_one_debate(served) -> None:
    def start(topic: str, key: str = "k1", **config) -> object:
        body = {"topic": topic, "config": config}
        return served.program.post(f"{API}/debates", json=body, headers={"Idempotency-Key": key})

    first = start("Tea?").json()
    assert start("Tea?").json()["id"] == first["id"]
    others = start("Milk?"), start("Tea?", maxRounds=3), start("Tea?", agents=[{"agentId": "ada"}])
    assert [one.status_code for one in others] == [422, 422, 422]
    assert start("Tea?", "k2").json()["id"] != first["id"]
    assert served.debate()["id"] != served.debate()["id"]
    served.program.delete(f"{API}/debates/{first['id']}")
    assert start("Tea?").json()["status"] == "cancelled"


BAD = [
    ("debates", {}), ("debates", {"topic": "  "}), ("debates", {"topic": "x", "more": 1}),
    ("debates", {"topic": "a\x1b[31m"}), ("debates", {"topic": "x", "config": {"maxRounds": "2"}}),
    ("debates", '{"topic": "\\ud800"}'), ("debates", "{"), ("debates", '{"topic": NaN}'),
    ("councils/debate/answers", {"as": "ada"}),
    ("councils/debate/answers", {"as": "ada", "text": "x" * (1 << 20) + "y"}),
    ("councils/debate/inject", {"message": ""}), ("messages", {"line": "x", "user": "y"}),
    ("rooms", {"name": "den", "mode": "discussion"}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body"), BAD)
def test_what_cannot_be_accepted_is_a_problem(served, path, body) -> None:
    served.debate()
    sent = {"json": body} if isinstance(body, dict) else {"content": body}
    headers = {"Content-Type": "application/json"}
    got = served.program.post(f"{API}/{path}", **sent, headers=headers)
    assert got.status_code == 422, got.text
    assert {"type", "title", "status", "detail", "code", "hint"} <= got.json().keys()
    assert "--" not in got.json()["hint"]


def test_a_change_is_meant_for_a_revision(served) -> None:
    served.debate()
    where = f"{API}/councils/debate"  # the beginning of its name
    tag = served.program.get(where).headers["etag"]

    def say(text: str, match: str) -> int:
        body, headers = {"message": text}, {"If-Match": match}
        return served.program.post(f"{where}/inject", json=body, headers=headers).status_code

    for known, status in ((tag, 304), (f'"x", W/{tag}', 304), ("*", 304), ('"1.0"', 200)):
        found = served.program.get(where, headers={"If-None-Match": known})
        assert (found.status_code, found.headers["etag"]) == (status, tag)
    stale = [say("one", "W/" + tag), *(say("two", one) for one in (tag, 'W/"0"', "x"))]
    assert stale == [202, 412, 412, 412]
    tag = served.program.get(where).headers["etag"]
    assert say("three", f'"0", "{tag[1:-1]}-gzip"') == 202
    assert say("four", "*") == 202
    assert say("two", served.program.get(where).headers["etag"]) == 202
    assert served.program.post(f"{where}/stop", headers={"If-Match": tag}).status_code == 412
    history = served.app.conversation(served.app.find("debate")).history()
    assert {line.via for line in history} == {"http"}
    assert served.program.post(f"{where}/stop", json={"now": True}).json()["outcome"] == "changed"


def test_a_room_records_a_message_once(served) -> None:
    program, room = served.program, {"name": "den", "mode": "chat", "participants": ["ada"]}
    assert program.post(f"{API}/rooms", json=room).status_code == 201

    def post(person: str, text: str = "Agreed.") -> int:
        headers = {"Idempotency-Key": "1", "Council-Person": person}
        where, body = f"{API}/rooms/den/messages", {"text": text}
        return program.post(where, json=body, headers=headers).status_code

    assert [post("anna"), post("anna"), post("ben"), post("anna", "No.")] == [201, 201, 409, 409]
    assert [one["name"] for one in program.get(f"{API}/rooms").json()] == ["den"]
    assert program.post(f"{API}/rooms/den/mode", json={"mode": "work"}).status_code == 403
    asked = {"channelId": "den", "agentId": "ada"}
    assert program.post(f"{API}/relay/check-turn", json=asked).json()["allowed"] in (True, False)


def test_the_description_is_whole(served) -> None:
    found = served.program.get("/openapi.json").json()
    assert found["openapi"].startswith("3.1")
    names, text = found["components"]["schemas"], str(found)
    used = {one.partition("'")[0] for one in text.split("#/components/schemas/")[1:]}
    assert used <= names.keys()
    assert {"get", "post"} <= found["paths"][f"{API}/debates"].keys()
    shown = names["DebateSession"]["properties"]
    assert served.debate().keys() <= shown.keys()
