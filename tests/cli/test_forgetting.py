"""`purge` as a command: what it asks, says, prints and exits with, for each kind of thing."""

from __future__ import annotations

import pytest


@pytest.fixture
def staffed(council):
    """The command in a workspace with a context and a channel."""
    (council.root / "council.toml").write_text("schemaVersion = 1\n[agents.owl]\n[agents.gecko]\n")
    for words in (
        ("agent", "join", "W1", "--caps", "plan"),
        ("msg", "send", "--user", "Where is the heron?", "--caps", "plan"),
        ("channel", "create", "chat", "den", "--participants", "owl,gecko", "--as", "owl"),
        ("channel", "post", "den", "A heron!", "--as", "alice"),
    ):
        assert council(*words).code == 0
    return council


def holding(council, word: str) -> list[str]:
    return [
        path.name
        for path in council.root.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes()
    ]


@pytest.mark.req("XC-018", "XC-006")
def test_a_context_is_closed_asked_about_and_purged(staffed):
    still_open = staffed("purge", "S1", "--yes")
    assert (still_open.code, still_open.out) == (4, "")
    assert still_open.err == "council: S1 is still open (first: council ctx close S1)\n"
    assert staffed("ctx", "close", "S1").code == 0

    asked = staffed("purge", "S1")
    assert asked.code == 2
    assert "S1 (Where is the heron?) for good" in asked.err
    assert "--yes" in asked.err

    done = staffed("purge", "S1", "--yes")
    assert done.code == 0, done.err
    assert "S1 is forgotten" in done.out
    assert "removed memory/shared/protocol/contexts/closed/S1.jsonl" in done.out
    assert staffed("purge", "S1", "--yes").code == 5


@pytest.mark.req("XC-018", "XC-005")
def test_what_was_purged_is_told_as_json(staffed):
    assert staffed("ctx", "close", "S1").code == 0
    for name, kind in (("S1", "context"), ("den", "channel")):
        done = staffed("purge", name, "--yes", "--json")
        assert done.code == 0, done.err
        record = done.json()
        assert (record["name"], record["kind"], record["conversationId"]) == (name, kind, name)
        assert record["removed"]["events"] > 0
        assert record["bytes"] > 0
        assert record["left"] == []
    assert holding(staffed, "heron") == []
    shown = staffed("channel", "show", "den")
    assert (shown.code, "nobody has used it yet" in shown.out) == (0, True)


def test_a_task_is_forgotten_with_its_context_only(staffed):
    refused = staffed("purge", "S1/T1", "--yes")
    assert refused.code == 2
    assert "council purge S1" in refused.err
    assert holding(staffed, "heron") != []
