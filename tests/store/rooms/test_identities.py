"""The registry on the disk: where it lies, what is kept of it, who may change it at once."""

from __future__ import annotations

import json
import os

import pytest

from council.core.errors import CouncilError, InvalidStateError
from council.core.rooms.identities import register
from council.store.paths import Workspace
from council.store.rooms.identities import account_of, change, load, resolve
from council.store.settings import Settings
from tests.store.looking import as_written
from tests.store.processes import together

ENTRY = {"discordUserId": "1", "agentId": "owl", "agentName": "Owl"}


def registering(agent: str, account: str):
    return lambda registry: register(registry, agent, account).registry


@pytest.mark.req("DG-011")
def test_the_registry_is_one_file_that_may_lie_elsewhere(tmp_path):
    usual = Workspace(str(tmp_path / "a"))
    moved = Workspace(str(tmp_path / "b"), {"identities": str(tmp_path / "else" / "who.json")})

    for place in (usual, moved):
        change(place, registering("owl", "1"))

    usual_file = tmp_path / "a" / "memory" / "shared" / "identities.json"
    assert json.loads(usual_file.read_text()) == [{**ENTRY, "agentName": "owl"}]
    assert (tmp_path / "else" / "who.json").read_bytes() == usual_file.read_bytes()
    assert not (tmp_path / "b").exists()


@pytest.mark.req("DG-007")
def test_without_its_file_every_agent_is_known_by_its_own_id(tmp_path):
    workspace = Workspace(str(tmp_path))
    (tmp_path / "memory" / "agents" / "owl").mkdir(parents=True)

    assert load(workspace).items == []
    assert resolve(workspace, Settings(), ["owl", "1"]) == {"owl": "owl", "1": ""}
    assert account_of(workspace, "owl") == "owl"

    change(workspace, registering("owl", "1"))
    assert resolve(workspace, Settings(), ["owl", "1"]) == {"owl": "owl", "1": "owl"}
    assert account_of(workspace, "owl") == "1"

    os.unlink(workspace.identities)
    assert resolve(workspace, Settings(), ["owl", "1"]) == {"owl": "owl", "1": ""}


def test_order_unknown_fields_and_strange_entries_survive_a_change(tmp_path):
    workspace = Workspace(str(tmp_path))
    path = tmp_path / "memory" / "shared" / "identities.json"
    path.parent.mkdir(parents=True)
    items = [{"z": 1, **ENTRY, "a": {"é": [None]}}, "a word", {"agentId": "fox"}]
    path.write_text(json.dumps(items))
    os.chmod(path, 0o640)

    change(workspace, registering("gecko", "3"))

    found = json.loads(path.read_text())
    assert found[:3] == items
    assert list(found[0]) == ["z", "discordUserId", "agentId", "agentName", "a"]
    assert found[3]["agentId"] == "gecko"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1,", b"{}", b'"x"', b"\xff[]", b"[" * 100_000, b"[]]"]
)
def test_a_broken_file_is_said_in_one_line_and_never_written_over(tmp_path, content: bytes):
    workspace = Workspace(str(tmp_path))
    path = tmp_path / "memory" / "shared" / "identities.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    with pytest.raises(InvalidStateError, match=r"identities\.json is n") as refused:
        change(workspace, registering("owl", "1"))

    assert "\n" not in refused.value.message
    assert refused.value.hint
    assert path.read_bytes() == content


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path):
    workspace = Workspace(str(tmp_path))
    shared = tmp_path / "memory" / "shared"
    shared.mkdir(parents=True)
    target = tmp_path / "target.json"
    target.write_text("[]")
    (shared / "identities.json").symlink_to(target)

    with pytest.raises(CouncilError):
        change(workspace, registering("owl", "1"))

    assert target.read_text() == "[]"


def test_what_stays_the_same_is_not_written(tmp_path):
    workspace = Workspace(str(tmp_path))
    change(workspace, registering("owl", "1"))
    before = as_written(workspace.identities)

    change(workspace, registering("owl", "1"))

    assert as_written(workspace.identities) == before


def test_half_a_surrogate_pair_in_the_file_stops_nobody(tmp_path):
    workspace = Workspace(str(tmp_path))
    path = tmp_path / "memory" / "shared" / "identities.json"
    path.parent.mkdir(parents=True)
    path.write_text('[{"odd": "\\ud800"}]')

    change(workspace, registering("owl", "1"))

    assert json.loads(path.read_text())[0] == {"odd": "\ud800"}
    assert load(workspace).account_of("owl") == "1"


@pytest.mark.long
@pytest.mark.req("DG-014")
def test_fifty_who_register_at_once_lose_none(tmp_path):
    agents = [f"agent-{number}" for number in range(50)]
    workspace = Workspace(str(tmp_path))

    def work(agent: str):
        return lambda: change(workspace, registering(agent, f"account-of-{agent}"))

    assert together([work(agent) for agent in agents]) == [0] * 50

    registry = load(workspace)
    assert sorted(one.agent for one in registry.identities) == sorted(agents)
    left = [name for name in os.listdir(workspace.shared) if name.startswith(".tmp")]
    assert left == []
