"""What a run may do, and who is believed: the table of verbs and the tokens."""

from __future__ import annotations

import json

import pytest

from tests.cli.commands import all_commands, shortest, tree, wait_until

IN_RUN = {"COUNCIL_TASK_ID": "6f8d2b1e-0000-4000-8000-000000000000.1.owl.1"}
# The table of the specification, word for word; what does not exist yet is let through, too.
ALLOWED = frozenset(
    {"context", "respond", "vote", "synthesize", "show", "status"}
    | {"mcp"}  # of which it is offered what stands here: tests/mcp
    | {"agent call", "agent message", "channel post"}
)
ALLOWED_GROUPS = frozenset({"artifact", "msg", "turn"})


def is_allowed(name: str) -> bool:
    return name in ALLOWED or name.split(maxsplit=1)[0] in ALLOWED_GROUPS


def test_the_table_is_met_by_commands():
    names = set(all_commands())

    assert {"context", "respond", "synthesize", "show", "status"} <= names
    assert {"convene", "cancel", "stop", "inject", "extend", "restore", "heartbeat"} <= names


@pytest.mark.req("XC-015")
@pytest.mark.parametrize("name", [one for one in sorted(all_commands()) if not is_allowed(one)])
def test_inside_a_run_every_other_command_is_refused(council, name: str):
    council.env(env=IN_RUN)  # makes the key with which runs are claimed
    before = tree(council.root)

    refused = council(*shortest(name), env=IN_RUN)

    assert refused.code == 6
    assert f"`council {name}`" in refused.err
    assert "respond" in refused.err
    assert tree(council.root) == before


@pytest.mark.req("XC-015")
def test_inside_a_run_the_verbs_of_the_table_pass(opened, now):
    task = opened("context", "--as", "owl", "--json", now=now).json()["task"]
    env = {"COUNCIL_TASK_ID": task, "COUNCIL_AGENT": "owl"}

    for words in (["context"], ["show"], ["status"], ["respond", "Yes."]):
        done = opened(*words, "--json", env=env, now=now)
        assert done.code == 0, done.err

    assert opened("synthesize", "All is well.", env=env, now=now).code == 6
    assert opened("stop", env=env, now=now).code == 6
    assert (
        opened("status", "--json", now=now).json()["conversations"][0]["currentPhase"] == "COLLECT"
    )


def with_tools(council, trust: str) -> None:
    """Let owl answer by `council respond` inside its run, and gecko by hand."""
    (council.root / "council.toml").write_text(
        f'trust = "{trust}"\n\n[agents.owl]\nanswer = "tool"\n'
        f'argv = ["/bin/sh", "-c", "{council.argv()[0]} respond Yes."]\n\n[agents.gecko]\n'
    )


def contributions(council) -> dict[str, str]:
    """Return the origin of what each agent has said."""
    said = council("show", "--json").json()["contributions"]
    return {one["agent"]: one["origin"] for one in said}


@pytest.mark.req("XC-014", "XC-008")
def test_under_strict_trust_a_claimed_answer_is_refused_and_a_run_is_believed(council):
    with_tools(council, "strict")
    assert council("convene", "A bot?", "--open").code == 0

    claimed = council("respond", "I am gecko.", "--as", "gecko", "--json")
    wait_until(lambda: contributions(council))
    waited = council("heartbeat", "--wait", "1s")
    events = [json.loads(line) for line in council("events", "tail", "--json").out.splitlines()]

    assert claimed.code == 6
    assert "strict" in claimed.err
    assert waited.code == 7
    assert contributions(council) == {"owl": "verified"}
    refusals = [one for one in events if one["type"] == "answer.refused"]
    assert [(one["agentId"], one["data"]["code"]) for one in refusals] == [("gecko", "refused")]


@pytest.mark.req("XC-014")
def test_under_open_trust_both_are_taken_and_told_apart(council):
    with_tools(council, "open")
    assert council("convene", "A bot?", "--open").code == 0
    assert council("respond", "I am gecko.", "--as", "gecko").code == 0

    wait_until(lambda: len(contributions(council)) == 2)

    assert contributions(council) == {"owl": "verified", "gecko": "claimed"}


@pytest.mark.req("XC-014")
def test_a_forged_token_verifies_nothing(opened, now):
    (opened.root / "council.toml").write_text('trust = "strict"\n')
    task = opened("context", "--as", "owl", "--json", now=now).json()["task"]
    env = {"COUNCIL_TASK_ID": task, "COUNCIL_AGENT": "owl", "COUNCIL_TOKEN": "0" * 64}

    assert opened("respond", "Yes.", env=env, now=now).code == 6
