"""Which account belongs to whom: the rules of the registry, without a disk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from council.core.errors import ConflictError, CouncilError, InvalidInputError, RefusedError
from council.core.rooms.identities import register, registry_of, remove

SAMPLE = {
    "discordUserId": "123456789012345678",
    "agentId": "home-developer",
    "agentName": "Developer",
}


@pytest.mark.req("DG-012")
def test_the_sample_entry_of_the_document_loads():
    registry = registry_of([SAMPLE])

    assert registry.faults == []
    assert [one.to_record() for one in registry.identities] == [SAMPLE]
    assert registry.of_account("123456789012345678").agent == "home-developer"


@pytest.mark.req("DG-014")
def test_registering_again_updates_the_own_entry_and_keeps_what_else_stands_in_it():
    first = registry_of(
        [{"note": "mine", **SAMPLE}, {"discordUserId": "2", "agentId": "b", "agentName": "B"}]
    )

    again = register(first, "home-developer", "99")

    assert again.outcome == "updated"
    assert list(again.registry.items[0].items()) == [
        ("note", "mine"),
        ("discordUserId", "99"),
        ("agentId", "home-developer"),
        ("agentName", "Developer"),
    ]
    assert again.registry.items[1] == first.items[1]
    assert register(again.registry, "home-developer", "99").outcome == "unchanged"


@pytest.mark.req("DG-015")
def test_the_name_is_the_agents_id_unless_one_is_given():
    empty = registry_of([])

    assert register(empty, "owl", "1").identity.name == "owl"
    assert register(empty, "owl", "1", " Owl ").identity.name == "Owl"
    assert registry_of([{"discordUserId": "1", "agentId": "owl"}]).identities[0].name == "owl"


@pytest.mark.req("DG-013")
def test_no_agent_takes_the_account_or_the_id_of_another():
    registry = registry_of([SAMPLE])

    with pytest.raises(ConflictError):
        register(registry, "owl", "123456789012345678")
    with pytest.raises(RefusedError):
        register(registry, "owl", "home-developer")
    with pytest.raises(RefusedError):
        register(registry, "owl", "gecko", agents=("gecko", "owl"))


@pytest.mark.req("DG-051", "DG-066")
def test_no_agent_is_the_moderator_of_rooms():
    registry = registry_of([SAMPLE, {"discordUserId": "moderator", "agentId": "gecko"}])

    with pytest.raises(RefusedError):
        register(registry, "owl", "moderator")
    with pytest.raises(RefusedError):
        register(registry, "moderator", "99")

    assert registry.account_of("gecko") == "gecko"
    assert ["moderator" in fault for fault in registry.faults] == [True]


@pytest.mark.parametrize("account", ["", " ", "a b", "a,b", "a\nb", "x" * 201, "\x1b[1m"])
def test_what_cannot_be_an_account_is_refused(account: str):
    with pytest.raises(InvalidInputError):
        register(registry_of([]), "owl", account)


@pytest.mark.parametrize("name", ["a\nb", "x" * 201, "\x1b[1m"])
def test_what_cannot_be_a_name_is_refused(name: str):
    with pytest.raises(InvalidInputError):
        register(registry_of([]), "owl", "1", name)


def test_an_entry_that_cannot_be_used_is_named_and_stays_where_it_stands():
    items = [7, {"agentId": "owl"}, SAMPLE, {"discordUserId": "5", "agentId": "Not Legal"}]

    registry = registry_of(items)
    changed = register(registry, "owl", "1").registry

    assert [one.agent for one in registry.identities] == ["home-developer"]
    assert [fault.split()[1] for fault in registry.faults] == ["1", "2", "4"]
    assert changed.items[:4] == items


def test_an_account_that_stands_twice_is_the_first_ones():
    registry = registry_of([SAMPLE, {**SAMPLE, "agentId": "thief"}])

    assert registry.resolve(["123456789012345678"]) == {"123456789012345678": "home-developer"}
    assert registry.agents == {"home-developer"}
    assert "home-developer" in registry.faults[0]


def test_an_account_written_as_a_number_counts():
    registry = registry_of([{**SAMPLE, "discordUserId": 123456789012345678}])

    assert registry.account_of("home-developer") == "123456789012345678"


def test_accounts_and_ids_resolve_to_agents_and_strangers_to_nobody():
    registry = registry_of([SAMPLE, {"discordUserId": "2", "agentId": "home-developer"}])

    assert registry.resolve(["2", "home-developer", "owl", "person"], ("owl",)) == {
        "2": "home-developer",
        "home-developer": "home-developer",
        "owl": "owl",
        "person": "",
    }
    assert registry.account_of("home-developer") == "123456789012345678"
    assert registry.account_of("owl") == "owl"


def test_an_id_means_its_agent_even_where_a_file_gives_it_to_another():
    registry = registry_of([{"discordUserId": "gecko", "agentId": "owl"}])

    assert registry.resolve(["gecko"], ("gecko",)) == {"gecko": "gecko"}


def test_removing_takes_all_entries_of_an_agent_or_that_of_one_account():
    second = {"discordUserId": "2", "agentId": "home-developer"}
    registry = registry_of([SAMPLE, 7, second])

    assert remove(registry, "home-developer")[0].items == [7]
    assert remove(registry, "home-developer", "2")[0].items == [SAMPLE, 7]
    assert remove(registry, "owl") == (registry, [])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["owl", "gecko", "fox"]),
            st.sampled_from(["1", "2", "3", "owl", "fox"]),
            st.sampled_from(["", "A"]),
        ),
        max_size=12,
    )
)
def test_whatever_is_registered_no_account_and_no_agent_stands_twice(calls):
    registry = registry_of([])
    for agent, account, name in calls:
        try:
            registry = register(registry, agent, account, name).registry
        except CouncilError:
            continue
    accounts = [one.account for one in registry.identities]
    assert registry.faults == []
    assert len(set(accounts)) == len(accounts)
    assert len(registry.agents) == len(accounts)
    assert all(registry.of_agent(one) == [] for one in set(accounts) - registry.agents)
