"""Commands over HTTP: what the command line prints, done once, for a revision, refused well."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from threading import Timer
from typing import Any

import jsonschema
import pytest

from tests.cli.commands import at_rest
from tests.conftest import Council
from tests.scenarios.test_inside_a_run import HOLDS, SPEAKS, say, seat, variables_of
from tests.web.serving import API, Reply, Served, serving

AGENTS = "owl,gecko"
OFTEN = [pytest.param(count / 200, marks=pytest.mark.long) for count in range(30)]
KILLED_AFTER_S = [0.03, *OFTEN]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all: each test makes what it works with."""
    folder = tmp_path_factory.mktemp("served")
    council = Council(folder / "workspace", folder)
    (folder / "workspace").mkdir()
    assert council("init", "--agents", AGENTS).code == 0
    with serving(council, folder) as found:
        yield found


@pytest.fixture
def tea(served: Served, request: pytest.FixtureRequest) -> str:
    """The path of a council that is open, which has the name of the test."""
    name = (
        re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_"))
        .strip("-")[-60:]
        .strip("-")
    )
    wanted = {"topic": "Tea?", "name": name, "agents": AGENTS}
    assert served.post(f"{API}/councils", wanted).status == 201
    return f"{API}/councils/{name}"


def refusal(reply: Reply, status: int) -> dict[str, Any]:
    """Return the problem that a request was answered with."""
    assert reply.status == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert problem["status"] == status
    assert isinstance(problem, dict)
    return problem


@pytest.mark.req("P8-005", "XC-005")
def test_what_a_route_answers_is_what_its_command_prints(served: Served):
    council = served.council
    for name in ("tea", "wine"):
        assert council("convene", "Tea?", "--agents", AGENTS, "--name", name).code == 0
    assert council("cancel", "wine").code == 0
    assert council("channel", "create", "chat", "hall", "--participants", AGENTS).code == 0
    artifact = council("artifact", "publish", "-", stdin="leaves").out.strip()
    both = {
        "councils": ("list",),
        "councils/tea": ("show", "tea"),
        "councils/tea/history": ("history", "tea"),
        "councils/tea/context?as=owl": ("context", "tea", "--as", "owl"),
        "minutes?last=1": ("list", "--archived", "--last", "1"),
        "minutes/wine": ("show", "wine", "--archived"),
        "minutes/wine?section=in+short": ("show", "wine", "--archived", "--section", "in short"),
        "agents": ("agent", "list"),
        "agents/owl": ("agent", "show", "owl"),
        "rooms/hall": ("channel", "show", "hall"),
        "rooms/hall/turn": ("turn", "status", "hall"),
        "artifacts": ("artifact", "list"),
        f"artifacts/{artifact}": ("artifact", "fetch", artifact),
        "messages/explain?what=E13": ("msg", "explain", "E13"),
        "events/story?wanted=tea&lines=3": ("events", "story", "tea", "--lines", "3"),
        "routing/explain?channel=hall&capability=a&capability=b": (
            *("route", "explain", "--channel", "hall", "--capability", "a", "--capability", "b"),
        ),
        "metrics": ("metrics",),
        "registry": ("agent", "query"),
    }
    for path, words in both.items():
        reply = served.get(f"{API}/{path}")
        assert reply.status == 200, reply.text
        assert reply.json() == council(*words, "--json").json(), path


@pytest.mark.req("P8-005")
def test_lists_and_pairs_are_arrays_and_objects(served: Served):
    wanted = {
        "topic": "Tea?",
        "name": "listed",
        "agents": ["owl", "gecko"],
        "role": {"owl": "Host"},
    }
    assert served.post(f"{API}/councils", {**wanted, "max_runs": 7}).status == 201
    shown = served.council("show", "listed", "--json").json()
    assert list(shown["participants"]) == ["owl", "gecko"]
    assert shown["participants"]["owl"]["role"] == "Host"
    again = {**wanted, "name": "two", "agents": AGENTS, "role": ["owl=Host"]}
    assert served.post(f"{API}/councils", again).status == 201


def test_a_dash_is_a_text_and_reads_no_standard_input(served: Served, tea: str):
    reply = served.post(f"{tea}/answers", {"as": "owl", "text": "-"})
    assert reply.status == 201, reply.text
    assert served.post(f"{tea}/inject", {"message": "-"}).status == 202
    shown = served.get(tea).json()
    assert [one["text"] for one in shown["guidance"]] == ["-"]


def test_contributions_come_in_pages(served: Served, tea: str):
    for agent in ("owl", "gecko"):
        said = {"as": agent, "text": f"{agent} says yes."}
        assert served.post(f"{tea}/answers", said).status == 201
    first, second = served.get(tea).json()["contributions"]
    assert served.get(f"{tea}?last=1").json()["contributions"] == [second]
    page = served.get(f"{tea}?after={first['id']}").json()
    assert page["contributions"] == [second]
    refusal(served.get(f"{tea}?after=nothing"), 404)


@pytest.mark.req("DL-063")
def test_either_id_names_a_council(served: Served, tea: str):
    known = served.get(tea).json()
    assert served.get(f"{API}/councils/{known['conversationId']}").json() == known


# --- Keys and revisions


@pytest.mark.req("OP-008")
def test_a_request_with_a_key_is_done_once_and_answered_alike(served: Served, tea: str):
    said = {"message": "Mind the budget."}
    first = served.post(f"{tea}/inject", said, Idempotency_Key=f"{tea}k1")
    served.restart()
    second = served.post(f"{tea}/inject", said, Idempotency_Key=f"{tea}k1")
    assert (first.status, first.body) == (second.status, second.body) == (202, first.body)
    assert len(served.get(tea).json()["guidance"]) == 1
    other = served.post(f"{tea}/inject", said, Idempotency_Key=f"{tea}k2")
    assert other.status == 202
    assert len(served.get(tea).json()["guidance"]) == 2


@pytest.mark.req("OP-008")
def test_a_key_stands_for_one_request(served: Served, tea: str):
    path = f"{tea}/inject"
    assert served.post(path, {"message": "One."}, Idempotency_Key=f"{tea}k").status == 202
    problem = refusal(served.post(path, {"message": "Two."}, Idempotency_Key=f"{tea}k"), 409)
    assert problem["code"] == "key-reused"
    assert len(served.get(tea).json()["guidance"]) == 1


@pytest.mark.req("OP-008")
def test_what_is_refused_under_a_key_can_be_asked_for_again(served: Served, tea: str):
    wanted = {"topic": "Tea?", "name": tea.rpartition("/")[2], "agents": AGENTS}
    refusal(served.post(f"{API}/councils", wanted, Idempotency_Key=f"{tea}k"), 409)
    assert served.delete(tea).status == 200
    assert served.post(f"{API}/councils", wanted, Idempotency_Key=f"{tea}k").status == 201


@pytest.mark.req("OP-008", "XC-018")
def test_a_purge_takes_kept_answers_with_it(served: Served, tea: str):
    said = {"as": "owl", "text": "Penguins vote for snow. @gecko: what of > rain?"}
    path = f"{tea}/answers"
    assert served.post(path, said, Idempotency_Key=f"{tea}k").status == 201
    kept = list((served.council.root / "memory/shared/.council/outbox").glob("*.answers/*"))
    assert kept
    assert served.delete(tea).status == 200
    assert served.post(f"{API}/purge", {"which": tea.rpartition("/")[2]}).status == 200
    assert not any(one.exists() for one in kept)


@pytest.mark.req("OP-008")
@pytest.mark.parametrize("after_s", KILLED_AFTER_S)
def test_a_request_that_a_kill_cut_off_is_done_once_when_it_is_sent_again(
    served: Served, tea: str, after_s: float
):
    path, said = f"{tea}/inject", {"message": "Mind the budget."}
    assert served.get(f"{API}/status").status == 200  # its worker is there
    worker, server = served.worker(), served.process
    assert server is not None

    def kill() -> None:
        os.kill(server.pid, signal.SIGKILL)
        os.kill(worker, signal.SIGKILL)

    killer = Timer(after_s, kill)
    killer.start()
    with suppress(OSError, HTTPException):
        served.post(path, said, Idempotency_Key=tea)
    killer.join()
    served.restart()
    assert served.post(path, said, Idempotency_Key=tea).status == 202
    assert len(served.get(tea).json()["guidance"]) == 1


def test_a_stale_change_is_refused_with_the_difference(served: Served, tea: str):
    tag = served.get(tea).headers["etag"]
    assert served.council("inject", "It rains.", "--name", tea.rpartition("/")[2]).code == 0
    late = served.post(f"{tea}/pause", If_Match=tag)
    problem = refusal(late, 412)
    assert any("It rains." in line for line in problem["difference"])
    assert served.get(tea).json()["pausedAt"] is None
    tag = served.get(tea).headers["etag"]
    assert served.post(f"{tea}/pause", If_Match=tag).status == 200


def test_a_stale_change_of_a_room_is_refused_with_the_difference(served: Served):
    wanted = {"mode": "chat", "channel": "hall", "participants": AGENTS}
    made = served.post(f"{API}/rooms", wanted)
    assert served.council("channel", "mode", "hall", "report").code == 0
    path, body = f"{API}/rooms/hall/mode", json.dumps({"mode": "none"}).encode()
    json_body = {"Content_Type": "application/json"}
    late = served.ask("PUT", path, body, If_Match=made.headers["etag"], **json_body)
    assert any("report" in line for line in refusal(late, 412)["difference"])
    assert served.get(path).json()["mode"] == "report"
    tag = served.get(f"{API}/rooms/hall").headers["etag"]
    assert served.ask("PUT", path, body, If_Match=tag, **json_body).json()["mode"] == "none"


def test_a_revision_that_nothing_has_is_never_passed_over(served: Served):
    refusal(served.post(f"{API}/halt", If_Match='"1"'), 412)
    assert served.get(f"{API}/status").json()["halted"] is None


# --- Artifacts


@pytest.mark.req("P8-005")
def test_artifacts_go_up_and_down_as_bytes_and_never_render(served: Served):
    page = b"\x00<script>alert(1)</script>\xff" * 10_000
    made = served.ask("POST", f"{API}/artifacts?as=owl", page, Content_Type="text/html")
    assert made.status == 201, made.text
    assert (made.json()["publisher"], made.json()["contentType"]) == ("owl", "text/html")
    artifact = made.json()["artifactId"]
    fetched = served.get(f"{API}/artifacts/{artifact}/content")
    assert fetched.body == page
    assert fetched.headers["content-type"] == "application/octet-stream"
    assert fetched.headers["content-disposition"] == f'attachment; filename="{artifact}"'
    assert fetched.headers["x-content-type-options"] == "nosniff"
    refusal(served.get(f"{API}/artifacts/art_{'0' * 64}/content"), 404)


def test_a_damaged_artifact_is_not_sent(served: Served):
    artifact = served.council("artifact", "publish", "-", stdin="leaves").out.strip()
    folder = served.council.root / "memory/shared/artifacts"
    (found,) = (one for one in folder.glob(f"{artifact}*") if not one.name.endswith("meta.json"))
    found.chmod(0o600)
    found.write_bytes(b"stones")
    problem = refusal(served.get(f"{API}/artifacts/{artifact}/content"), 409)
    assert problem["code"] == "damaged-artifact"


# --- What a run may do


@pytest.fixture
def at_work(council: Council, tmp_path: Path) -> Iterator[tuple[Served, dict[str, str]]]:
    """A server, and the headers of the run of owl, which is under way."""
    seat(council, owl=HOLDS, gecko="", fox=SPEAKS)
    assert council("convene", "Rain?", "--agents", AGENTS, "--name", "weather").code == 0
    told = variables_of(council.root, "owl")
    headers = {
        "Authorization": f"Bearer {told['COUNCIL_TOKEN']}",
        "Council_Task": told["COUNCIL_TASK_ID"],
        "Council_Agent": "owl",
        "Council_Name": "weather",
    }
    with serving(council, tmp_path) as served:
        yield served, headers
        say(council.root, "owl", "It will rain.")
    at_rest(council.root)


@pytest.mark.req("SC-002", "XC-015")
def test_a_run_may_do_what_a_command_may_inside_it(at_work):
    served, run = at_work
    assert served.get(f"{API}/councils/weather/context", **run).json()["agent"] == "owl"
    assert served.get(f"{API}/status", **run).status == 200
    left = {"text": "Look at the sky."}
    assert served.post(f"{API}/agents/fox/messages", left, **run).status == 201
    for path in ("stop", "pause", "inject", "adopt"):
        fields = {"message": "x"} if path == "inject" else {}
        problem = refusal(served.post(f"{API}/councils/weather/{path}", fields, **run), 403)
        assert "not allowed inside a run" in problem["detail"]
    refusal(served.post(f"{API}/debates", {"topic": "Mine?"}, **run), 403)
    refusal(served.delete(f"{API}/debates/weather", **run), 403)
    refusal(served.get(f"{API}/events/latest", **run), 403)


@pytest.mark.req("SC-002", "XC-014")
def test_a_run_speaks_for_itself_alone_and_is_verified(at_work):
    served, run = at_work
    path = f"{API}/councils/weather/answers"
    refusal(served.post(path, {"as": "gecko", "text": "I am gecko."}, **run), 403)
    gecko = {**run, "Council_Agent": "gecko"}
    refusal(served.post(path, {"text": "I am gecko."}, **gecko), 401)
    assert served.post(path, {"text": "Rain at noon."}, **run).status == 201
    (said,) = served.council("show", "weather", "--json").json()["contributions"] or [None]
    assert said is None or said["origin"] == "verified"


@pytest.mark.req("SC-002")
def test_a_token_is_of_its_run_and_ends_with_its_task(at_work):
    served, run = at_work
    status = f"{API}/status"
    refusal(served.get(status, **{**run, "Authorization": "Bearer " + "0" * 64}), 401)
    other = run["Council_Task"].replace(".owl.", ".gecko.")
    refusal(served.get(status, **{**run, "Council_Task": other}), 401)
    refusal(served.get(status, **{**run, "Council_Task": "nonsense"}), 401)
    assert served.get(status, **run).status == 200
    assert served.council("cancel", "weather").code == 0
    assert "over" in refusal(served.get(status, **run), 403)["detail"]


# --- Refusals


def test_a_refusal_speaks_of_fields_and_not_of_options(served: Served):
    problem = refusal(served.post(f"{API}/councils", {"topic": "Tea?", "agents": ["owl"]}), 400)
    assert "`agents`" in problem["hint"]
    assert "--" not in problem["hint"]


def test_a_path_that_knows_other_methods_names_them(served: Served, tea: str):
    reply = served.ask("PUT", tea, b"{}")
    refusal(reply, 405)
    assert reply.headers["allow"] == "DELETE, GET"


def test_an_answer_that_came_too_late_is_a_conflict_that_says_it_was_kept(served: Served, tea: str):
    task = served.get(f"{tea}/context?as=owl").json()["task"]
    for agent in ("owl", "gecko"):
        said = {"as": agent, "text": "Yes."}
        assert served.post(f"{tea}/answers", said).status == 201
    late = {"as": "owl", "text": "No, wait.", "task": task}
    problem = refusal(served.post(f"{tea}/answers", late), 409)
    assert problem["record"]["outcome"] == "late" or problem["code"] == "already-answered"


def test_faults_that_a_command_finds_are_its_answer(served: Served):
    reply = served.post(f"{API}/messages/parse", {"message": "rubbish"})
    assert (reply.status, reply.json()["valid"]) == (200, False)
    assert reply.headers["council-exit"] == "3"
    problem = refusal(served.post(f"{API}/messages/build", {"fields": {"x": "1"}}), 400)
    assert problem["detail"] == "V5 has no field x"


def test_a_call_whose_process_was_killed_is_unavailable(served: Served):
    assert served.get(f"{API}/status").status == 200
    os.kill(served.worker(), signal.SIGKILL)
    replies = [served.get(f"{API}/status").status for _ in range(3)]
    assert set(replies) <= {200, 503}
    assert replies[-1] == 200


def test_a_rating_by_a_name_that_minutes_cannot_hold_spoils_none(served: Served, tea: str):
    assert served.delete(tea).status == 200
    path = f"{API}/minutes/{tea.rpartition('/')[2]}/ratings"
    assert served.post(path, {"stars": 4, "as": "ann"}).status == 201
    refusal(served.post(path, {"stars": 3, "as": "i\x84\u0378"}), 422)
    assert served.post(path, {"stars": 5, "as": "bob"}).json()["ratings"] == [4, 5]


def test_every_answer_keeps_what_the_description_promises(served: Served, tea: str):
    described = served.get("/openapi.json").json()
    for path, template in (
        (tea, "councils/{name}"),
        (f"{API}/status", "status"),
        (f"{API}/agents", "agents"),
        (f"{tea}/history", "councils/{name}/history"),
        (f"{API}/events/latest", "events/latest"),
    ):
        told = described["paths"][f"{API}/{template}"]["get"]["responses"]["200"]
        schema = told["content"]["application/json"]["schema"]
        required = schema.get("items", schema)["required"]
        assert len(required) > 4
        jsonschema.validate(served.get(path).json(), schema)


@pytest.mark.req("P8-005")
def test_who_signed_on_at_a_proxy_is_the_author_in_rooms_too(served: Served):
    assert served.council("channel", "create", "chat", "lounge").code == 0
    anna = {"Council_Person": "anna"}
    post = f"{API}/rooms/lounge/messages"
    assert served.post(post, {"text": "One."}, **anna).status == 201
    assert served.post(f"{API}/say", {"message": "Two.", "to": "lounge"}, **anna).status == 200
    assert served.post(post, {"text": "Three.", "as": "owl"}, **anna).status == 403
    assert served.post(post, {"text": "Four."}).status == 400  # nothing says who speaks
    messages = served.get(f"{API}/rooms/lounge").json()["messages"]
    assert [(one["author"], one["content"]) for one in messages] == [
        ("anna", "One."),
        ("anna", "Two."),
    ]
    page = served.get("/rooms/lounge", **anna).text
    assert re.search(r'name="as"[^>]*value="anna"', page)


@pytest.mark.req("DL-100")
def test_what_changes_an_anonymous_council_is_answered_in_pseudonyms(served: Served):
    wanted = {"topic": "Tea?", "name": "masks", "agents": AGENTS, "procedure": "deliberation"}
    wanted |= {"anonymous": True, "open": True}
    began = served.post(f"{API}/councils", wanted, Idempotency_Key="masks-1")
    again = served.post(f"{API}/councils", wanted, Idempotency_Key="masks-1")
    assert (began.status, again.body) == (201, began.body)
    told = began.json()
    assert told["participants"] == ["member-1", "member-2"] and told["woken"]
    own = {"as": "owl", "text": "Yes.", "position": "Yes.", "confidence": 4}
    assert served.post(f"{API}/councils/masks/answers", own).json()["agent"] == "owl"
    beat = served.post(f"{API}/heartbeat").json()["conversations"]
    (row,) = [one for one in beat if one["name"] == "masks"]
    assert len(row["waiting"]) == 1 and row["waiting"][0].startswith("member-")
    assert served.council("cancel", "masks").code == 0
