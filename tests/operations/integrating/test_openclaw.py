"""Taking in OpenClaw's agents; the plugin put in and out of a program that stands for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from council.core.errors import CouncilError, InvalidInputError, NotFoundError
from council.operations.conversations.prompting import prompt_of
from council.operations.integrating import openclaw
from council.operations.place import Place
from council.store.settings import settings_of
from tests.drivers.programs import AGENTS, with_openclaw
from tests.examples import one_in

RECORDED = AGENTS.parent / "drivers" / "recorded" / "openclaw"
LISTED = [
    one["id"]
    for one in json.loads(json.loads((RECORDED / "agents-list.json").read_text())["stdout"])
]


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    variables = with_openclaw(tmp_path)
    # Where programs are looked for before they are started.
    monkeypatch.setenv("PATH", variables["PATH"])
    return variables


def calls(environ: dict[str, str], *words: str) -> list[list[str]]:
    path = Path(environ["HOME"], "calls")
    found = [json.loads(one)["argv"] for one in path.read_text().splitlines() if path.exists()]
    return [one for one in found if one[: len(words)] == list(words)]


def configure(environ: dict[str, str], told: object) -> Path:
    path = Path(environ["HOME"], ".openclaw", "openclaw.json")
    path.write_text(json.dumps(told))
    return path


@pytest.mark.req("CL-001")
def test_its_agents_coordinator_skill_and_clock_are_taken_over(tmp_path, environ):
    root = tmp_path / "team"
    joined = openclaw.join(str(root), "", environ, shared=False)
    place = Place(str(root), environ, None)
    assert joined.left == []
    assert sorted(place.settings.agents) == sorted(LISTED)
    assert all(one.driver == "openclaw" for one in place.settings.agents.values())
    assert place.settings.coordinator == "henry"
    assert place.agent("henry").label == "🦉 Henry the Elder"
    assert Path(environ["HOME"], ".openclaw/skills/council/SKILL.md").is_file()
    (clock,) = calls(environ, "cron", "add")
    assert clock[clock.index("--agent") + 1] == "henry"
    assert (
        place.clock_job
        == json.loads(json.loads((RECORDED / "cron-add.json").read_text())["stdout"])["id"]
    )


@pytest.mark.req("CL-001")
def test_a_second_run_changes_nothing_and_what_a_person_wrote_stays(tmp_path, environ):
    root = tmp_path / "team"
    root.mkdir()
    own = '# mine\ncoordinator = "ann"\n\n[agents.sage]\nargv = ["my-sage"]   # not by OpenClaw\n'
    (root / "council.toml").write_text(own)
    first = openclaw.join(str(root), "", environ, shared=False)
    text = (root / "council.toml").read_text()
    assert text.startswith(own)
    assert "sage" not in first.added
    files = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    again = openclaw.join(str(root), "", environ, shared=False)
    assert again.added == []
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == files
    assert len(calls(environ, "cron", "add")) == len(calls(environ, "skills", "install")) == 1


@pytest.mark.req("CL-001")
@pytest.mark.parametrize("form", ["entries", "list"])
def test_a_configuration_of_either_form_is_read_where_openclaw_lists_nothing(
    tmp_path, environ, form
):
    told = {"henry": {"name": "Henry"}, "sage": {"identity": {"emoji": "🌿"}, "default": True}}
    older = [{"id": one, **facts} for one, facts in told.items()]
    configure(environ, {"agents": {form: told if form == "entries" else older}})
    joined = openclaw.join(
        str(tmp_path / "team"), "", {**environ, "LISTS": "gateway-down"}, shared=False
    )
    place = Place(joined.made.root, environ, None)
    assert joined.added == ["henry", "sage"]
    assert place.settings.coordinator == "sage"
    assert place.agent("sage").emoji == "🌿"


@pytest.mark.req("CL-001")
def test_an_agent_of_a_later_day_is_added_and_one_that_cannot_take_part_is_named(tmp_path, environ):
    away = {**environ, "LISTS": "gateway-down"}
    configure(environ, {"agents": {"entries": {"henry": {}}}})
    openclaw.join(str(tmp_path / "team"), "", away, shared=False)
    configure(environ, {"agents": {"entries": {"henry": {}, "sage": None, "Über-Agent": {}}}})
    joined = openclaw.join(str(tmp_path / "team"), "", away, shared=False)
    assert joined.added == ["sage"]
    assert joined.left == ["Über-Agent: left out (no legal agent id: Über-Agent)"]


def test_without_openclaw_nothing_is_made(tmp_path, environ):
    with pytest.raises(NotFoundError, match="names none"):
        openclaw.join(
            str(tmp_path / "team"), "", {**environ, "LISTS": "gateway-down"}, shared=False
        )
    assert not (tmp_path / "team").exists()


@pytest.mark.req("CL-001")
def test_what_a_gateway_that_is_down_cannot_do_is_named_and_done_the_next_time(tmp_path, environ):
    root = str(tmp_path / "team")
    joined = openclaw.join(root, "", {**environ, "CRON": "gateway-down"}, shared=False)
    (left,) = joined.left
    assert "Gateway not reachable" in left
    assert "Gateway target" not in left
    assert openclaw.join(root, "", environ, shared=False).left == []
    assert len(calls(environ, "cron", "add")) == 1


@pytest.mark.req("CL-006")
@pytest.mark.parametrize(
    "before",
    one_in(
        2, [{}, {"gateway": {"port": 1}}, {"plugins": {"entries": {"other": {"enabled": True}}}}]
    ),
    ids=["empty", "without plugins", "another plugin"],
)
def test_the_plugin_comes_and_goes_without_a_trace(tmp_path, environ, before):
    path = configure(environ, before)
    place = Place(
        openclaw.join(str(tmp_path / "team"), "", environ, shared=False).made.root, environ, None
    )
    openclaw.install(place, tries=False)
    entry = json.loads(path.read_text())["plugins"]["entries"]["council"]
    assert entry["hooks"] == {"allowConversationAccess": True}
    assert entry["config"]["workspaces"] == [{"root": place.root, "shared": place.paths.shared}]
    assert os.path.isabs(entry["config"]["command"][0])
    standing = path.read_bytes()
    assert openclaw.install(place, tries=False).steps == ["plugin: was in place already"]
    assert path.read_bytes() == standing
    openclaw.uninstall(place)
    assert json.loads(path.read_text()) == before
    assert not Path(environ["HOME"], ".openclaw/extensions/council").exists()
    assert openclaw.uninstall(place).steps == ["plugin: there was none"]


@pytest.mark.req("CL-006")
def test_one_plugin_serves_two_workspaces_and_stays_for_the_other(tmp_path, environ):
    path = configure(environ, {})
    places = [
        Place(
            openclaw.join(str(tmp_path / one), "", environ, shared=False).made.root, environ, None
        )
        for one in ("team", "other")
    ]
    for place in places:
        openclaw.install(place, tries=False)
    toml = Path(places[1].root, "council.toml")
    toml.write_text(f'dirigentRole = "slave"\n{toml.read_text()}[relay]\nurl = "https://m.org"\n')
    openclaw.install(Place(places[1].root, environ, None), tries=False)
    found = json.loads(path.read_text())["plugins"]["entries"]["council"]["config"]["workspaces"]
    assert [one.get("relayed", False) for one in found] == [False, True]
    assert openclaw.uninstall(places[0]).steps == ["plugin: stays, for other workspaces"]
    assert openclaw.uninstall(places[0]).steps == ["plugin: it does not serve this workspace"]
    assert openclaw.uninstall(places[1]).steps[0].startswith("plugin: removed")


def test_a_new_plugin_takes_the_place_of_an_older_one(tmp_path, environ):
    configure(environ, {})
    place = Place(
        openclaw.join(str(tmp_path / "team"), "", environ, shared=False).made.root, environ, None
    )
    openclaw.install(place, tries=False)
    Path(environ["HOME"], ".openclaw/extensions/council/index.js").write_text("// older\n")
    assert openclaw.install(place, tries=False).steps[0].startswith("plugin: installed")


def test_what_openclaw_refuses_is_one_line_in_its_words(tmp_path, environ):
    place = Place(
        openclaw.join(str(tmp_path / "team"), "", environ, shared=False).made.root, environ, None
    )
    Path(environ["PATH"].split(":")[0], "openclaw").write_text(
        "#!/bin/sh\necho no such >&2; exit 1\n"
    )
    with pytest.raises(CouncilError, match="openclaw plugins install: no such"):
        openclaw.install(place, tries=False)


@pytest.mark.req("HR-028", "CL-003")
@pytest.mark.parametrize("kind", ["turn", "vote", "synthesis"])
def test_the_command_in_a_prompt_is_one_that_the_shell_of_a_gateway_finds(tmp_path, kind):
    (tmp_path / "council.toml").write_text(
        '[agents.henry]\ndriver = "openclaw"\nanswer = "tool"\n'
        '[agents.nova]\ndriver = "openclaw"\n[agents.sage]\n'
    )
    place = Place(str(tmp_path), {"HOME": str(tmp_path)}, None)
    commands = {
        one: [
            line.split()[0]
            for line in prompt_of(place, kind, agent=one).splitlines()
            if f"--as {one} " in line
        ]
        for one in ("henry", "nova", "sage")
    }
    assert [os.path.isabs(one) for one in commands["henry"]] == [True]
    assert commands["nova"] == []  # it prints its answer
    assert commands["sage"] == ["council"]


def test_the_address_of_a_gateway_is_one():
    with pytest.raises(InvalidInputError, match="http"):
        settings_of({"agents": {"henry": {"gateway": "127.0.0.1:18789"}}})
    settings = settings_of({"agents": {"henry": {"gateway": "http://127.0.0.1:1"}}})
    assert settings.agent("henry").implied_driver == "openclaw"
    assert settings.timeout_of(settings.agent("henry")) == settings.preset_timeout
