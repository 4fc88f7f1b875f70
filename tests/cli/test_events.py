"""What happened, one line an event."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import council as package
from tests.cli.commands import wait_until


def events(council, *words: str) -> list[dict]:
    done = council("events", "tail", "--json", *words)
    assert done.code == 0
    return [json.loads(line) for line in done.out.splitlines()]


def types(council) -> list[str]:
    return [one["type"] for one in events(council, "--lines", "100")]


@pytest.mark.req("XC-005")
def test_each_line_is_one_event_in_its_envelope(opened):
    seen = events(opened)

    assert [one["type"] for one in seen] == ["conversation.opened", "task.started", "task.started"]
    for one in seen:
        assert set(one) >= {"eventId", "traceId", "agentId", "type", "at", "schemaVersion", "data"}
        assert one["at"] == "2026-02-08T20:00:00Z"
    assert len({one["eventId"] for one in seen}) == 3
    assert len({one["traceId"] for one in seen}) == 1


def test_only_the_newest_are_shown(opened):
    assert [one["type"] for one in events(opened, "--lines", "1")] == ["task.started"]
    assert events(opened, "--lines", "0") == []
    plain = opened("events", "tail").out.splitlines()
    assert len(plain) == 3
    assert all(line.startswith("2026-02-08T20:00:00Z  ") for line in plain)


def test_a_workspace_in_which_nothing_happened_has_no_events(council):
    quiet = council("events", "tail")

    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_following_prints_a_new_event_as_it_comes(opened, now):
    follower = opened.start("events", "tail", "--follow", "--json", "--lines", "1")
    try:
        assert json.loads(follower.stdout.readline())["type"] == "task.started"

        assert opened("respond", "Yes.", "--as", "owl", now=now).code == 0

        new = json.loads(follower.stdout.readline())
        assert new["type"] == "contribution.recorded"
        assert new["agentId"] == "owl"
        assert follower.poll() is None
    finally:
        follower.terminate()
        follower.communicate(timeout=300)


@pytest.mark.req("XC-008")
def test_refused_and_late_answers_are_events(opened, now):
    passed = "2026-02-08T21:00:01Z"
    task = opened("context", "--as", "owl", "--json", now=now).json()["task"]
    assert opened("respond", "x", "--as", "stranger", now=now).code == 6
    assert opened("heartbeat", now=passed).code == 0
    assert opened("respond", "Late.", "--as", "owl", "--task", task, now=passed).code == 4

    seen = types(opened)

    for wanted in ("answer.refused", "turn.missed", "phase.changed", "contribution.late"):
        assert wanted in seen, seen


@pytest.mark.req("XC-008")
def test_a_person_s_edit_and_a_brief_that_is_put_back_are_events(opened, now):
    file = opened.root / "memory" / "shared" / "council-active-conversation.md"
    text = file.read_text()
    topic = "Shall we build a weather bot?"
    assert text.count(f"\n{topic}\n") == 1
    file.write_text(
        text.replace(f"\n{topic}\n", "\nShall we buy one?\n").replace(
            "- Timeout: 2026-02-08T21:00:00Z", "- Timeout: 2026-02-08T23:00:00Z"
        )
    )

    assert opened("heartbeat", now=now).code == 0

    assert {"brief.restored", "edit.accepted"} <= set(types(opened))
    state = opened("show", "--json", now=now).json()
    assert state["brief"] == topic
    assert state["timeoutAt"] == "2026-02-08T23:00:00Z"


@pytest.mark.req("XC-008")
def test_runs_that_fail_and_are_tried_again_are_events(council):
    (council.root / "council.toml").write_text(
        'retry_backoff = ["1s", "1s"]\n[agents.owl]\nargv = ["/bin/false"]\n'
    )
    assert council("convene", "A bot?", "--agents", "owl,gecko").code == 0

    def attempts() -> list[int]:
        council("heartbeat")
        seen = events(council, "--lines", "100")
        tasks = [one["data"]["task"] for one in seen if one["type"] == "task.failed"]
        return [int(task.rpartition(".")[2]) for task in tasks]

    wait_until(lambda: len(attempts()) >= 2)

    assert attempts()[:2] == [1, 2]


def sleepy(council) -> None:
    """Let an agent that fails and one that answers by hand open a conversation."""
    (council.root / "council.toml").write_text(
        'retry_backoff = ["1h", "1h"]\n[agents.owl]\nargv = ["/bin/false"]\n'
    )
    assert council("convene", "A weather bot?", "--agents", "owl,gecko").code == 0
    wait_until(lambda: types(council).count("task.failed") == 2)  # it is tried again at once


@pytest.mark.req("P8-082", "P8-086", "P8-005")
def test_a_story_tells_when_who_what_and_why_in_order_and_without_json(council):
    sleepy(council)

    told = council("events", "story", "active", "--json").json()

    assert (told["kind"], told["name"]) == ("conversation", "active")
    assert told["events"][0]["type"] == "conversation.opened"
    assert [one["at"] for one in told["events"]] == sorted(one["at"] for one in told["events"])
    text = council("events", "story", "active").out
    lines = text.splitlines()
    assert lines[0] == f"conversation active ({told['id']})"
    assert any(line.endswith("owl    attempt 1 failed: exit 1") for line in lines)
    assert "{" not in text
    assert all(len(line) <= 80 for line in lines)
    assert "tentative 1 échouée" in council("events", "story", "active", "--lang", "fr").out


@pytest.mark.req("P8-082")
def test_everything_that_has_an_id_has_a_story(council):
    sleepy(council)
    whole = council("events", "story", "active", "--json").json()

    def story(wanted: str) -> list[tuple[str, str]]:
        told = council("events", "story", wanted, "--json").json()
        return [(told["kind"], one["type"]) for one in told["events"]]

    owner, trace = whole["id"], whole["traceId"]
    everything = [one["type"] for one in whole["events"]]
    assert [kind for _, kind in story(owner)] == everything
    assert story(trace) == [("trace", one) for one in everything]
    assert story(f"{owner}.1.owl.1") == [("task", "task.started"), ("task", "task.failed")]
    assert story(f"{owner}.1.gecko") == [("turn", "task.started")]
    assert story("owl") == 2 * [("agent", "task.started"), ("agent", "task.failed")]
    assert "[active] attempt 1 failed" in council("events", "story", "owl").out
    nothing = council("events", "story", "nobody", "--json")
    assert nothing.code == 5
    assert nothing.json()["error"]["code"] == "not-found"


@pytest.mark.req("P8-082")
@pytest.mark.parametrize("trace", ["my-trace", "T1", "0F8FAD5B-D9CB-469F-A165-70867728950E"])
def test_a_trace_is_found_by_the_name_that_was_given_to_it(council, trace):
    assert council("init", "--agents", "owl,gecko").code == 0
    letter = ("agent", "message", "--to", "owl", "--as", "gecko", "--trace", trace, "Hello.")
    assert council(*letter).code == 0

    told = council("events", "story", trace, "--json").json()
    out = council("events", "export", "--format", "cloudevents", "--about", trace).out

    assert [one["type"] for one in told["events"]] == ["agent.message"]
    assert [json.loads(one)["traceid"] for one in out.splitlines()] == [trace]
    other = council("events", "story", trace.swapcase(), "--json")
    assert other.code == 5


def test_only_the_newest_of_a_story_are_told_where_that_is_wanted(council):
    sleepy(council)

    told = council("events", "story", "active", "--lines", "1", "--json").json()

    assert [one["type"] for one in told["events"]] == ["task.failed"]


def test_the_story_of_an_archived_conversation_is_still_told(opened, now):
    assert opened("archive", now=now).code == 0

    told = opened("events", "story", "active", "--json").json()

    assert told["events"][-1]["type"] == "conversation.archived"


@pytest.mark.req("P8-081")
def test_the_schema_is_printed_as_it_is_published(council):
    published = Path(package.__file__).parent / "schemas" / "event.json"

    assert council("events", "schema").out == published.read_text(encoding="utf-8")
    assert council("events", "schema", "--json").json() == json.loads(published.read_text())
