"""A server in a workspace that breaks under it: each answer is a true refusal, none a failure."""

from __future__ import annotations

import json
import re

import pytest

from tests.web.serving import API, Served
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
    for path in addresses(served, "tea", record.get("conversationId", "none")):
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
