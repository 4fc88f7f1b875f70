"""Adding, editing, removing agents: each fact in its place, and nothing half done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from council.core.errors import ConflictError, CouncilError
from council.operations.agent_profiles import profile, profiles
from council.operations.agents import add, edit, remove
from council.operations.conversations.convene import Invitation, convene
from council.operations.place import Place
from council.store.rooms import identities
from tests.cli.commands import tree


@pytest.fixture
def place(workspace: Path, now) -> Place:
    return Place(str(workspace), {}, now)


def soul(place: Place, agent: str) -> Path:
    return Path(place.root) / "memory" / "agents" / agent / "SOUL.md"


def written(place: Place, agent: str, text: str) -> Path:
    path = soul(place, agent)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.req("DG-016")
def test_adding_makes_a_page_and_an_entry_and_a_second_time_nothing(place: Place):
    facts = {"name": "Owl", "preset": "claude", "capabilities": ["review"]}

    first = add(place, "owl", facts, "1")
    before = tree(Path(place.root))
    again = add(place, "owl", facts, "1")

    one = profile(place, "owl").agent
    assert (first.outcome, again.outcome) == ("added", "unchanged")
    assert (one.name, one.driver, one.capabilities) == ("Owl", "command", ["review"])
    assert tree(Path(place.root)) == before


def test_adding_never_changes_what_a_person_wrote(place: Place):
    path = written(place, "owl", "---\nname: Owl # mine\n---\nI doubt.\n")
    before = path.read_bytes()

    add(place, "owl", {"name": "Owl"}, "1")
    with pytest.raises(ConflictError, match="another name") as other:
        add(place, "owl", {"name": "Owlet"})
    with pytest.raises(ConflictError) as moved:
        add(place, "owl", {}, "2")

    assert "council agent edit owl" in other.value.hint
    assert "council agent edit owl --account 2" in moved.value.hint
    assert path.read_bytes() == before
    assert identities.load(place.paths).account_of("owl") == "1"


def test_editing_changes_the_fact_alone(place: Place):
    path = written(place, "owl", "---\nname: Owl # mine\n---\nI doubt.\n")

    edit(place, "owl", {"role": "Skeptic", "handles": ["W3"]})

    assert path.read_text() == (
        "---\nname: Owl # mine\nrole: Skeptic\nhandles: [W3]\n---\nI doubt.\n"
    )


@pytest.mark.parametrize(
    ("facts", "account"), [({"name": "Owl"}, "2"), ({"role": "x"}, "gecko"), ({"role": "x"}, "7")]
)
def test_an_edit_that_is_refused_is_not_half_done(place: Place, facts: dict, account: str):
    add(place, "gecko", {}, "7")
    text = "---\nname: [\n---\n" if account == "2" else "---\nname: Owl\n---\n"
    written(place, "owl", text)
    before = tree(Path(place.root))

    with pytest.raises(CouncilError):
        edit(place, "owl", facts, account)

    after = tree(Path(place.root))
    assert {path for path in after if after[path] != before.get(path)} <= {
        "memory/shared/.council/README",
        "memory/shared/.council/souls.lock",
    }


def test_how_an_agent_is_run_is_changed_where_it_stands(workspace: Path, now):
    settings = workspace / "council.toml"
    settings.write_text('[agents.owl]\nargv = ["owl"]\nname = "Owl"\n')
    place = Place(str(workspace), {}, now)
    before = settings.read_bytes()

    with pytest.raises(ConflictError) as refused:
        edit(place, "owl", {"driver": "manual"})
    add(place, "owl", {"role": "Skeptic"})

    assert "[agents.owl]" in refused.value.hint
    assert "name:" not in soul(place, "owl").read_text()
    assert settings.read_bytes() == before


@pytest.mark.parametrize(
    ("facts", "account"),
    [
        ({"driver": "none"}, ""),
        ({"preset": "none"}, ""),
        ({"name": "a\nb"}, ""),
        ({"role": "x" * 201}, ""),
        ({"handles": ["ok", " "]}, ""),
        ({}, "a,b"),
        ({}, "gecko"),
    ],
)
def test_what_cannot_be_is_refused_and_adds_nobody(place: Place, facts: dict, account: str):
    add(place, "gecko", {})

    with pytest.raises(CouncilError):
        add(place, "owl", facts, account)

    assert [one.agent.id for one in profiles(place)[0]] == ["gecko"]


@pytest.mark.parametrize("agent", ["Not-Legal", "../owl", "", "a b"])
def test_no_agent_has_an_illegal_id(place: Place, agent: str):
    for change in (
        lambda: add(place, agent, {}),
        lambda: edit(place, agent, {"role": "x"}),
        lambda: remove(place, agent, folder=True),
    ):
        with pytest.raises(CouncilError) as refused:
            change()
        assert refused.value.exit_code == 3
    assert tree(Path(place.root)) == {}


def test_removing_with_the_folder_moves_it_aside_and_loses_nothing(place: Place):
    for _ in range(2):
        add(place, "owl", {}, "1")
        soul(place, "owl").write_text("precious")
        remove(place, "owl", folder=True)

    aside = Path(place.root) / "memory/agents/.removed"
    assert not soul(place, "owl").parent.exists()
    assert [one.read_text() for one in sorted(aside.rglob("SOUL.md"))] == ["precious"] * 2
    assert profiles(place)[0] == []


def test_a_folder_that_is_a_link_is_not_moved(place: Place, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "SOUL.md").write_text("precious")
    soul(place, "owl").parent.parent.mkdir(parents=True)
    soul(place, "owl").parent.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(CouncilError):
        add(place, "owl", {"name": "Owl"})

    assert (tmp_path / "elsewhere" / "SOUL.md").read_text() == "precious"


def test_removing_says_what_still_names_the_agent(workspace: Path, now):
    (workspace / "council.toml").write_text('[agents.owl]\ndriver = "manual"\n')
    place = Place(str(workspace), {}, now)
    add(place, "owl", {}, "1")
    convene(place, Invitation(topic="A bot?", agents=("owl",), people=("gecko",)))

    assert remove(place, "owl").left == [
        "takes part in active",
        "memory/agents/owl/ is untouched",
        "council.toml has [agents.owl]",
    ]


@pytest.mark.req("DG-016")
def test_one_of_several_accounts_can_be_removed(place: Place):
    add(place, "owl", {}, "1")
    path = Path(place.paths.identities)
    second = {"discordUserId": "2", "agentId": "owl", "agentName": "Owl"}
    path.write_text(json.dumps([*json.loads(path.read_text()), second]))

    assert profile(place, "owl").to_record()["accounts"] == ["1", "2"]
    remove(place, "owl", "1")

    assert json.loads(path.read_text()) == [second]


def test_entries_that_cannot_be_used_are_named_and_stop_nobody(place: Place):
    Path(place.paths.identities).write_text(
        '[{"agentId": "gecko"}, {"agentId": "owl", "discordUserId": "1"}]'
    )

    found, faults = profiles(place)

    assert [one.agent.id for one in found] == ["owl"]
    assert faults == ["memory/shared/identities.json: entry 1 has no usable discordUserId"]
