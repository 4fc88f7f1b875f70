"""Accounts of Discord: registered by hand, scanned from `ego.json` (document 001, section 1)."""

import json
from pathlib import Path
from typing import Any

import pytest

from council.app import App
from council.kernel.errors import Refusal
from council.setup import agents, identities

FIRST, SECOND = "123456789012345678", "987654321098765432"
EGO: dict[str, Any] = {
    "columns": ["discord-id", "mail"], "publicColumns": [], "publicScope": {},
    "agentScope": {
        "home-developer": {"discord-id": FIRST}, "home-researcher": {"discord-id": SECOND},
        "mute": {"discord-id": ""},
    },
}  # fmt: skip
WITHOUT = json.dumps({**EGO, "columns": ["mail"]})


def shown(app: App) -> dict[str, list[str]]:
    rows = json.loads(Path(app.root, identities.FILE).read_text())
    return {row["discordUserId"]: [row["agentId"], row["agentName"]] for row in rows}


def test_registering_again_updates_the_own_entry(app: App) -> None:
    agents.add(app, "ann", discord="11")
    assert shown(app) == {"11": ["ann", "ann"]}
    agents.add(app, "ann", discord="12", name="Ann")
    assert shown(app) == {"12": ["ann", "Ann"]}
    with pytest.raises(Refusal):
        agents.add(app, "ann", discord="ann#1")


def test_a_heartbeat_scans_the_file_of_a_master(app: App, tmp_path: Path) -> None:
    ego, settings = tmp_path / ".openclaw/ego.json", Path(app.root, "council.toml")
    ego.parent.mkdir()
    slave = '[relay]\nrole = "slave"\nurl = "http://localhost:1"\n'
    for text, toml in (("broken", ""), (WITHOUT, ""), (json.dumps(EGO), slave)):
        ego.write_text(text)
        settings.write_text(toml)
        app.again()
        assert identities.look(app) == []
        assert not Path(app.root, identities.FILE).exists()
    settings.write_text("")
    app.again()
    app.after_beat(set())
    assert [*shown(app)] == [FIRST, SECOND]
    Path(app.root, identities.FILE).unlink()
    identities.look(app)  # nothing is new, so nothing is written
    assert not Path(app.root, identities.FILE).exists()


def test_a_scan_keeps_what_is_there(app: App, tmp_path: Path) -> None:
    identities.register(app, "other", FIRST)
    (tmp_path / "ego.json").write_text(json.dumps(EGO))
    made = agents.add(app, "ann", from_=str(tmp_path / "ego.json"))
    assert made["faults"] == [f"{FIRST} is other's already"]
    assert shown(app) == {FIRST: ["other", "other"], SECOND: ["home-researcher"] * 2}
    assert identities.look(app, f"{app.root}/{identities.FILE}") == []
    (tmp_path / "ego.json").write_text("[1]")
    with pytest.raises(Refusal):
        identities.look(app, str(tmp_path / "ego.json"))
