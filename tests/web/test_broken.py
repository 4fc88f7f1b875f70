"""A server in a workspace that breaks under it: each answer is a true refusal, none a failure."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import Council
from tests.faults.mounts import in_memory, missing
from tests.web.serving import API, Served, serving
from tests.web.test_privacy import addresses

NEWER = {"schemaVersion": 99, "unheardOf": True}


@pytest.mark.req("XC-013")
@pytest.mark.parametrize(
    "block", [pytest.param("a newer field", marks=pytest.mark.long), "nothing known"]
)
def test_of_a_file_of_a_newer_version_every_address_tells_the_truth(served: Served, block: str):
    council = served.council
    assert council("convene", "Tea?", "--agents", "owl,gecko", "--name", "tea").code == 0
    file = council.root / "memory/shared/council-tea-conversation.md"
    head, _, rest = file.read_text().partition("<!--council-state\n")
    state, end, rest = rest.partition("\n-->")
    record = json.loads(state) if block == "a newer field" else {}
    file.write_text(f"{head}<!--council-state\n{json.dumps(record | NEWER)}{end}{rest}")
    paths = list(addresses(served, "tea", record.get("conversationId", "none")))
    for path in paths if record else filter(re.compile("[^?]*tea").match, paths):
        reply = served.get(path)
        assert reply.status < 500, (path, reply)
        if reply.status == 409:
            assert "schemaVersion 99" in reply.text, path
    for path, given in (("answers", {"as": "owl", "text": "Yes."}), ("pause", {})):
        refused = served.post(f"{API}/councils/tea/{path}", given)
        assert (refused.status, refused.json()["code"]) == (409, "newer-version")
    home = served.get("/")
    assert home.status == 200
    assert re.search(r"tea: its file has schemaVersion 99", re.sub("<[^>]*>", "", home.text))


@pytest.mark.req("DG-162", "DG-155")
def test_on_a_slave_the_control_page_and_rooms_send_people_to_the_master(served: Served) -> None:
    relay = '[relay]\nrole = "slave"\nurl = "http://127.0.0.1:9"\n'
    (served.council.root / "council.toml").open("a").write(relay)
    for path in ("/dirigent", "/rooms", "/rooms/hall", f"{API}/rooms"):
        reply = served.get(path)
        assert reply.status == 403, path
        assert "master at http://127.0.0.1:9" in reply.text
    said = served.post(f"{API}/rooms/hall/messages", {"text": "Hello.", "as": "owl"})
    assert (said.status, said.json()["code"]) == (403, "refused")
    assert served.get("/").status == served.get("/agents").status == 200
    assert not (served.council.root / "memory/shared/channels").exists()


def test_a_server_whose_workspace_was_moved_away_leaves_nothing_where_it_was(
    opened: Council, tmp_path: Path
) -> None:
    with serving(opened, tmp_path) as served:
        aside, token = opened.root.with_name("aside"), f"Bearer {served.token}"
        opened.root.rename(aside)
        for path in ("/", "/councils/active", f"{API}/status"):
            assert served.get(path, Authorization=token).status == 404
        assert served.end() == 0
        assert not opened.root.exists()
        aside.rename(opened.root)


def test_a_path_that_ends_with_a_slash_leads_to_the_page_by_whatever_name_it_was_reached(
    served: Served,
) -> None:
    assert served.get("/councils/active/?lang=fr").headers["location"] == "/councils/active?lang=fr"
    assert served.get("/rooms/").status == 308
    assert served.get(f"{API}/status/").status == 404


@pytest.mark.long
@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.req("OP-008")
def test_where_the_disk_is_full_pages_come_and_changes_are_refused_then_done_once(
    council: Council, tmp_path: Path
) -> None:
    small = Council(tmp_path / "small", council.home)
    with in_memory(small.root, "size=4m"):
        assert small("init", "--agents", "owl,gecko").code == 0
        assert small("convene", "Tea?", "--agents", "owl,gecko").code == 0
        with serving(small, tmp_path) as served:
            filler = small.root / "filler"
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(b"x" * 4096)
            for path in ("/", "/councils/active", "/events", f"{API}/status"):
                assert served.get(path).status == 200, path
            inject = f"{API}/councils/active/inject"
            for headers in ({}, {"Idempotency_Key": "tea-1"}):
                refused = served.post(inject, {"message": "Mind the milk."}, **headers)
                assert (refused.status, refused.json()["code"]) == (507, "storage")
            filler.unlink()
            for _ in range(2):
                done = served.post(inject, {"message": "Mind the milk."}, Idempotency_Key="tea-1")
                assert done.status == 202
            guidance = served.get(f"{API}/councils/active").json()["guidance"]
            assert [one["text"] for one in guidance] == ["Mind the milk."]
