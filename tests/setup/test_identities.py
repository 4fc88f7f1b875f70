"""Accounts of Discord: registered by hand, scanned from `ego.json` (document 001, section 1)."""

import json
from pathlib import Path
from typing import Any

import pytest

from council.app import App
from council.kernel.errors import Refusal
from council.setup import agents, identities, init

EGO: dict[str, Any] = {
    "columns": ["discord-id", "mail"], "publicColumns": [], "publicScope": {},
    "agentScope": {
        "home-developer": {"discord-id": "123456789012345678"},
        "home-researcher": {"discord-id": "987654321098765432"}, "mute": {"discord-id": ""},
    },
}  # fmt: skip


def team(root: Path) -> App:
    init.init(str(root), ["henry"], "en", {})
    app = App(str(root), env={"HOME": str(root)})
    app.check_format()
    return app


def shown(root: Path) -> dict[str, list[str]]:
    rows = json.loads((root / identities.FILE).read_text())
    return {row["discordUserId"]: [row["agentId"], row["agentName"]] for row in rows}


def test_registering_again_updates_the_own_entry(tmp_path: Path) -> None:
    app = team(tmp_path)
    agents.add(app, "henry", discord="11")
    assert shown(tmp_path) == {"11": ["henry", "henry"]}
    agents.add(app, "henry", discord="12", name="Henry")
    assert shown(tmp_path) == {"12": ["henry", "Henry"]}
    with pytest.raises(Refusal):
        agents.add(app, "henry", discord="henry#1")


def test_a_heartbeat_scans_the_file_of_a_master(tmp_path: Path) -> None:
    app, ego = team(tmp_path), tmp_path / ".openclaw/ego.json"
    identities.register(app, "other", "123456789012345678")
    ego.parent.mkdir()
    for text in ("broken", json.dumps({**EGO, "columns": []})):
        ego.write_text(text)
        identities.look(app)
        assert len(shown(tmp_path)) == 1
    ego.write_text(json.dumps(EGO))
    (tmp_path / "council.toml").write_text('[relay]\nrole = "slave"\nurl = "http://localhost:1"\n')
    app.again()
    identities.look(app)
    assert len(shown(tmp_path)) == 1
    (tmp_path / "council.toml").write_text("")
    app.again()
    app.after_beat(set())
    (tmp_path / identities.FILE).rename(tmp_path / "rows.json")
    identities.look(app)  # nothing is new, so nothing is written
    assert not (tmp_path / identities.FILE).exists()
    assert len(json.loads((tmp_path / "rows.json").read_text())) == 2


def test_a_scan_keeps_what_is_there(tmp_path: Path) -> None:
    app = team(tmp_path)
    identities.register(app, "other", "123456789012345678")
    (tmp_path / "ego.json").write_text(json.dumps(EGO))
    made = agents.add(app, "henry", from_=str(tmp_path / "ego.json"))
    assert made["faults"] == ["123456789012345678 is other's already"]
    assert shown(tmp_path) == {
        "123456789012345678": ["other", "other"],
        "987654321098765432": ["home-researcher", "home-researcher"],
    }
    (tmp_path / "rows.json").write_text((tmp_path / identities.FILE).read_text())
    assert identities.scan(app, str(tmp_path / "rows.json")) == []


def test_a_source_without_the_column_counts_as_absent(tmp_path: Path) -> None:
    app = team(tmp_path)
    path = tmp_path / "ego.json"
    path.write_text(json.dumps({**EGO, "columns": ["mail"]}))
    assert identities.scan(app, str(path)) == []
    assert not (tmp_path / identities.FILE).exists()
    path.write_text("[1]")
    with pytest.raises(Refusal):
        identities.scan(app, str(path))
