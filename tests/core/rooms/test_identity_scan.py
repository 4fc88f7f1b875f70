"""Taking over identities from an ego.json: what is added, what is kept, what is no source."""

from __future__ import annotations

import pytest

from council.core.rooms.identities import is_source, registry_of, scan

EGO = {
    "columns": ["discord-id", "..."],
    "publicColumns": ["..."],
    "publicScope": {},
    "agentScope": {
        "home-developer": {"discord-id": "123456789012345678"},
        "home-researcher": {"discord-id": "987654321098765432"},
    },
}


def ego(scope, *columns: str) -> dict:
    return {"columns": ["discord-id", *columns], "agentScope": scope}


@pytest.mark.req("DG-019", "DG-020", "DG-021")
def test_the_sample_of_the_document_gives_both_agents_by_their_ids():
    done = scan(registry_of([]), EGO)

    assert done.registry.items == [
        {
            "discordUserId": "123456789012345678",
            "agentId": "home-developer",
            "agentName": "home-developer",
        },
        {
            "discordUserId": "987654321098765432",
            "agentId": "home-researcher",
            "agentName": "home-researcher",
        },
    ]
    assert scan(done.registry, EGO).added == []


@pytest.mark.req("DG-018")
@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "discord-id",
        {},
        {**EGO, "columns": ["slack-id"]},
        {**EGO, "columns": "discord-id"},
        {"agentScope": EGO["agentScope"]},
    ],
)
def test_without_the_column_the_source_counts_as_absent(document):
    assert not is_source(document)
    assert scan(registry_of([]), document).registry.items == []


@pytest.mark.req("DG-020")
def test_an_entry_that_stands_is_kept_and_what_differs_is_reported():
    standing = {
        "discordUserId": "1",
        "agentId": "home-developer",
        "agentName": "Dev",
        "since": 2024,
    }

    done = scan(registry_of([standing]), EGO)

    assert done.registry.items[0] == standing
    assert [one.to_record() for one in done.kept] == [
        {"agentId": "home-developer", "found": "123456789012345678", "standing": "1"}
    ]
    assert [one.agent for one in done.added] == ["home-researcher"]


@pytest.mark.req("DG-020")
@pytest.mark.parametrize("value", ["", "  ", None, [], {}, True])
def test_an_agent_without_an_account_in_the_source_is_passed_over(value):
    done = scan(registry_of([]), ego({"owl": {"discord-id": value}, "fox": {}, "gecko": 3}))

    assert (done.added, done.skipped) == ([], [])


@pytest.mark.req("DG-021")
@pytest.mark.parametrize("column", ["name", "agent-name"])
def test_a_column_of_names_gives_the_name(column: str):
    scope = {"owl": {"discord-id": "1", column: "The Owl"}, "fox": {"discord-id": "2"}}

    named = scan(registry_of([]), ego(scope, column))
    unnamed = scan(registry_of([]), ego(scope))

    assert [one.name for one in named.added] == ["The Owl", "fox"]
    assert [one.name for one in unnamed.added] == ["owl", "fox"]


def test_what_cannot_be_taken_over_is_said_and_stops_nobody():
    scope = {
        "../evil": {"discord-id": "1"},
        "owl": {"discord-id": "2"},
        "fox": {"discord-id": "2"},
        "gecko": {"discord-id": "owl"},
        "newt": {"discord-id": "a b"},
        "toad": {"discord-id": "moderator"},
        "moderator": {"discord-id": "3"},
        "bat": {"discord-id": 123456789012345678},
    }

    done = scan(registry_of([]), ego(scope))

    assert [(one.agent, one.account) for one in done.added] == [
        ("owl", "2"),
        ("bat", "123456789012345678"),
    ]
    assert len(done.skipped) == 6


@pytest.mark.parametrize("scope", [None, [], "x", 5])
def test_a_source_without_agents_adds_nobody(scope):
    assert scan(registry_of([]), ego(scope)).added == []
