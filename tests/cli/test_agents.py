"""The commands on agents: who may do what, where each fact goes, what is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import tree

EGO = """{
"columns": ["discord-id", "..."],
"publicColumns": ["..."],
"publicScope": {},
"agentScope": {
"home-developer": { "discord-id": "123456789012345678" },
"home-researcher": { "discord-id": "987654321098765432" }
}
}"""


def registry(council) -> list[dict]:
    return json.loads((council.root / "memory/shared/identities.json").read_text())


def soul(council, agent: str) -> Path:
    return council.root / "memory" / "agents" / agent / "SOUL.md"


# register


@pytest.mark.req("DG-013", "DG-014", "DG-015")
def test_an_agent_registers_itself_by_name_by_environment_or_by_its_folder(council):
    assert council("init", "--agents", "owl,gecko,fox").code == 0

    said = council("agent", "register", "1", "--as", "owl", "--json")
    council("agent", "register", "2", env={"COUNCIL_AGENT": "gecko"})
    council("agent", "register", "3", "--name", "The Fox", cwd=soul(council, "fox").parent)
    council("agent", "register", "11", "--as", "owl")

    assert said.json() == {
        "outcome": "added",
        "agentId": "owl",
        "agentName": "owl",
        "discordUserId": "1",
        "soul": None,
    }
    assert registry(council) == [
        {"discordUserId": "11", "agentId": "owl", "agentName": "owl"},
        {"discordUserId": "2", "agentId": "gecko", "agentName": "gecko"},
        {"discordUserId": "3", "agentId": "fox", "agentName": "The Fox"},
    ]


@pytest.mark.req("DG-013")
def test_an_agent_cannot_register_another_one(council):
    assert council("init", "--agents", "owl,gecko").code == 0

    by_environment = council(
        "agent", "register", "1", "--as", "owl", env={"COUNCIL_AGENT": "gecko"}
    )
    by_folder = council("agent", "register", "1", "--as", "owl", cwd=soul(council, "gecko").parent)
    its_id = council("agent", "register", "owl", "--as", "gecko")
    nobody = council("agent", "register", "1")

    assert [by_environment.code, by_folder.code, its_id.code, nobody.code] == [6, 6, 6, 2]
    assert "gecko cannot register owl" in by_environment.err
    assert not (council.root / "memory/shared/identities.json").exists()


@pytest.mark.req("DG-013")
def test_an_account_of_another_agent_is_a_conflict(council):
    council("agent", "register", "1", "--as", "owl")
    before = registry(council)

    refused = council("agent", "register", "1", "--as", "gecko")

    assert refused.code == 4
    assert "registered for owl" in refused.err
    assert registry(council) == before


@pytest.mark.parametrize("verb", ["register 1", "remove owl"])
def test_no_run_changes_agents(council, verb: str):
    env = {"COUNCIL_AGENT": "owl", "COUNCIL_TASK_ID": "x.1.owl.1"}
    council.env(env=env)  # makes the key with which runs are claimed
    before = tree(council.root)

    refused = council("agent", *verb.split(), env=env)

    assert refused.code == 6
    assert "not allowed inside a run" in refused.err
    assert tree(council.root) == before


# add, edit, remove


@pytest.mark.req("DG-016")
def test_a_person_adds_edits_and_removes_an_entry(council):
    added = council("agent", "add", "owl", "--account", "1", "--name", "Owl", "--role", "Skeptic")
    again = council("agent", "add", "owl", "--account", "1", "--json")
    edited = council("agent", "edit", "owl", "--account", "2", "--name", "Great Owl")
    between = registry(council)
    removed = council("agent", "remove", "owl", "--json")

    assert [one.code for one in (added, again, edited, removed)] == [0, 0, 0, 0]
    assert again.json()["outcome"] == "unchanged"
    assert between == [{"discordUserId": "2", "agentId": "owl", "agentName": "Great Owl"}]
    assert registry(council) == []
    assert removed.json()["removed"] == between
    assert "name: Great Owl\n" in soul(council, "owl").read_text()
    assert "role: Skeptic\n" in soul(council, "owl").read_text()


@pytest.mark.req("CL-004")
def test_a_model_behind_a_server_is_added_by_one_command(council):
    (council.root / "council.toml").write_text('language = "en"\n# mine\n\n\n')
    words = ("--model", "small", "--base-url", "http://127.0.0.1:1/v1", "--api-key-env", "MY_KEY")
    added = council("agent", "add", "lama", "--driver", "openai", "--role", "Skeptic", *words)
    settings = (council.root / "council.toml").read_text()
    again = council("agent", "add", "lama", *words, "--json")
    other = council("agent", "add", "lama", "--base-url", "http://127.0.0.1:2/v1")

    assert added.code == 0
    assert "wrote [agents.lama] into council.toml" in added.out
    assert settings == (
        'language = "en"\n# mine\n\n[agents.lama]\ndriver = "openai"\n'
        'base_url = "http://127.0.0.1:1/v1"\napi_key_env = "MY_KEY"\n'
    )
    assert "model: small\n" in soul(council, "lama").read_text()
    assert again.json()["outcome"] == "unchanged"
    assert (other.code, other.err) == (
        4,
        "council: council.toml says how lama is run (change [agents.lama] there)\n",
    )
    assert (council.root / "council.toml").read_text() == settings
    shown = council("agent", "show", "lama", "--json").json()
    assert (shown["driver"], shown["model"]) == ("openai", "small")


@pytest.mark.req("CL-004")
def test_what_can_be_no_server_is_refused_and_leaves_nothing(council):
    for words in (
        ("--base-url", "localhost:11434"),
        ("--base-url", "http://me:key@host/v1"),
        ("--base-url", 'http://host/"\n[agents.x]'),
        ("--api-key-env", "MY-KEY"),
        ("--base-url", "http://host/v1", "--preset", "claude"),
        ("--base-url", "http://host/v1", "--driver", "manual"),
    ):
        done = council("agent", "add", "lama", *words)
        assert done.code in (2, 3), words
        assert done.err.count("\n") == 1, done.err
    assert not soul(council, "lama").exists()
    assert not (council.root / "council.toml").exists()


@pytest.mark.req("CL-004")
def test_many_that_add_agents_at_once_lose_none(council):
    base = "http://127.0.0.1:1/v1"
    started = [
        council.start("agent", "add", f"m{number}", "--model", "x", "--base-url", base)
        for number in range(8)
    ]
    assert [one.wait() for one in started] == [0] * 8
    for one in started:
        one.communicate()

    found = council("agent", "list", "--json").json()
    assert sorted(one["agentId"] for one in found if one["driver"] == "openai") == [
        f"m{number}" for number in range(8)
    ]


def test_settings_that_have_no_place_for_a_table_stay_as_they_are(council):
    settings = council.root / "council.toml"
    settings.write_text('agents = {owl = {model = "x"}}\n')

    done = council("agent", "add", "lama", "--model", "m", "--base-url", "http://127.0.0.1:1/v1")

    assert done.code == 3
    assert "write that there by hand" in done.err
    assert settings.read_text() == 'agents = {owl = {model = "x"}}\n'
    assert not soul(council, "lama").exists()


@pytest.mark.req("CL-004")
def test_a_soul_names_no_server_that_a_key_could_go_to(council):
    council("agent", "add", "lama", "--driver", "openai", "--model", "small")
    page = soul(council, "lama")
    page.write_text(page.read_text().replace("---\n", "---\nbase_url: http://127.0.0.1:1/v1\n", 1))

    said = council("doctor").out

    assert "OPENAI_API_KEY" in said


# list, show


@pytest.mark.req("XC-101")
def test_all_ids_of_an_agent_are_shown_together(council):
    council("agent", "add", "owl", "--account", "123", "--handle", "W3", "--handle", "@owl")
    council("agent", "add", "gecko")
    council("convene", "A bot?", "--agents", "owl,gecko", "--role", "owl=Critic")

    listed = council("agent", "list", "--json").json()
    shown = council("agent", "show", "owl", "--json").json()
    text = council("agent", "show", "owl").out

    assert shown == listed[1]
    assert listed[0]["agentId"] == "gecko"
    assert (shown["agentId"], shown["protocolId"], shown["discordUserId"], shown["handles"]) == (
        "owl",
        "W3",
        "123",
        ["W3", "@owl"],
    )
    assert shown["conversations"] == [{"name": "active", "role": "Critic"}]
    assert all(word in text for word in ("owl", "W3", "123", "@owl", "active as Critic"))


@pytest.mark.req("DG-015")
def test_the_list_shows_the_id_where_nobody_gave_a_name(council):
    council("agent", "register", "1", "--as", "home-owl")

    assert council("agent", "list", "--json").json()[0]["agentName"] == "home-owl"
    assert council("agent", "list").out.splitlines()[1].split() == [
        "home-owl",
        "home-owl",
        "1",
        "manual",
    ]


@pytest.mark.req("DG-007")
def test_a_registry_that_is_broken_or_gone_stops_no_conversation(council):
    council("init", "--agents", "owl,gecko")
    council("agent", "register", "1", "--as", "owl")
    path = council.root / "memory/shared/identities.json"
    path.write_text("{")

    assert council("agent", "list").code == 3
    assert council("convene", "A bot?", "--agents", "owl,gecko").code == 0
    assert council("respond", "yes", "--as", "owl").code == 0
    assert path.read_text() == "{"
    path.unlink()
    assert council("respond", "no", "--as", "gecko").code == 0
    assert council("agent", "register", "1", "--as", "owl").code == 0


# scan


@pytest.mark.req("DG-002", "DG-018", "DG-022")
def test_without_a_source_a_scan_does_nothing_and_is_not_offered(council):
    before = tree(council.root)

    scanned = council("agent", "scan", "--json")
    listed = council("agent", "list")

    assert scanned.code == 0
    assert scanned.json()["detected"] is False
    assert "agent scan" not in listed.out
    assert tree(council.root) == before


@pytest.mark.req("DG-018", "DG-022")
def test_a_source_without_the_column_changes_nothing(council):
    path = council.home / ".openclaw" / "ego.json"
    path.parent.mkdir()
    path.write_text(EGO.replace("discord-id", "slack-id"))
    before = tree(council.root)

    scanned = council("agent", "scan")

    assert scanned.code == 0
    assert "no identity source" in scanned.out
    assert "agent scan" not in council("agent", "list").out
    assert tree(council.root) == before


@pytest.mark.req("DG-017", "DG-019", "DG-022")
def test_the_sample_source_is_offered_and_taken_over(council):
    path = council.home / ".openclaw" / "ego.json"
    path.parent.mkdir()
    path.write_text(EGO)
    council("agent", "register", "5", "--as", "home-developer", "--name", "Developer")

    offered = council("agent", "list").out
    scanned = council("agent", "scan", "--json").json()

    assert "council agent scan" in offered
    assert scanned["detected"] is True
    assert [one["agentId"] for one in scanned["added"]] == ["home-researcher"]
    assert scanned["kept"] == [
        {"agentId": "home-developer", "found": "123456789012345678", "standing": "5"}
    ]
    assert registry(council)[0] == {
        "discordUserId": "5",
        "agentId": "home-developer",
        "agentName": "Developer",
    }
    assert "kept home-developer: 5" in council("agent", "scan").out


# folders


@pytest.mark.req("P8-002")
def test_every_agent_gets_a_folder_with_its_parts_and_a_policy(council):
    made = council("init", "--agents", "owl", "--json").json()["made"]
    assert council("agent", "add", "gecko").code == 0

    for agent in ("owl", "gecko"):
        home = soul(council, agent).parent
        assert {one.name for one in home.iterdir()} == {
            *("SOUL.md", "policy.json"),
            *("skills", "memory", "tasks", "notes"),
        }
        assert json.loads((home / "policy.json").read_text())["call"]["allow"] == ["*"]
    assert "memory/agents/owl/policy.json" in made


@pytest.mark.req("P8-002")
def test_what_stands_in_the_folder_of_an_agent_stays_and_what_lacks_is_added(council):
    council("init", "--agents", "owl")
    home = soul(council, "owl").parent
    (home / "policy.json").write_text('{"call": {"deny": ["*"]}}')
    (home / "notes").rmdir()
    (home / "skills/fly.md").write_text("how to fly")

    assert council("agent", "add", "owl").code == 0

    assert (home / "policy.json").read_text() == '{"call": {"deny": ["*"]}}'
    assert (home / "notes").is_dir()
    assert (home / "skills/fly.md").read_text() == "how to fly"


@pytest.mark.req("P8-003")
def test_init_makes_what_agents_share(council):
    assert council("init").code == 0
    shared = council.root / "memory/shared"
    assert (shared / "artifacts").is_dir()
    assert (shared / "briefs").is_dir()
    assert "Nothing is open." in (shared / "BOARD.md").read_text()


@pytest.mark.req("P8-004")
@pytest.mark.parametrize(
    ("setting", "where"),
    [
        ("", "memory/agents/owl"),
        ('[paths]\nrun_state = "state/{agent}"\n', "state/owl"),
        ('[paths]\nrun_state = "state"\n', "state/owl"),
    ],
)
def test_folders_of_what_runs_leave_behind_are_there_after_the_first_run(council, setting, where):
    council("init", "--agents", "owl,fox")
    says = 'argv = ["sh", "-c", "echo $COUNCIL_AGENT_DIR"]'
    (council.root / "council.toml").write_text(f"{setting}[agents.owl]\n{says}\n")
    assert not (council.root / where / "sessions").exists()

    council("convene", "Weather", "--agents", "owl,fox", "--phases", "collect", "--open")
    council("respond", "Rain.", "--as", "fox")
    assert council("heartbeat", "--wait", "4m").code == 0

    assert (council.root / where / "agent").is_dir()
    assert (council.root / where / "sessions").is_dir()
    (minutes,) = (council.root / "conseils").glob("*.md")
    assert str(council.root / where / "agent") in minutes.read_text()
