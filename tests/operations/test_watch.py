"""Watching: the intervals, and that changes are served without waiting for them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from council.operations.watch import beat_interval
from tests.cli.commands import wait_until


@pytest.mark.req("C0-022")
def test_a_quiet_workspace_has_a_heartbeat_every_half_hour():
    assert beat_interval(anything_open=False) == timedelta(seconds=1800)


@pytest.mark.req("C0-023")
def test_an_open_council_has_one_every_five_minutes():
    assert beat_interval(anything_open=True) == timedelta(seconds=300)


@pytest.mark.req("DG-088")
def test_a_room_on_discord_is_asked_for_every_few_seconds_though_no_file_changes():
    assert beat_interval(anything_open=False, is_tied=True) == timedelta(seconds=10)


@pytest.mark.req("C0-022", "C0-023")
def test_the_command_has_these_intervals_unless_told_otherwise(council):
    shown = council("watch", "--help").out.split()

    defaults = [shown[at + 1] for at, word in enumerate(shown) if word == "[default:"]
    assert defaults == ["30m]", "5m]"]


def phase_of(council) -> str:
    return council("show", "--json").json()["currentPhase"]


@pytest.mark.req("C0-081")
def test_a_watcher_that_advances_serves_an_edit_without_waiting_for_the_clock(council, workspace):
    assert council("init", "--agents", "ann,bob").code == 0
    assert council("convene", "Tea?", "--agents", "ann,bob", "--open").code == 0
    file = workspace / "memory/shared/council-active-conversation.md"
    watcher = council.start("watch", "--advance", "--interval", "1h", "--active-interval", "1h")
    try:
        assert watcher.stdout.readline()  # it has looked once
        text = file.read_text(encoding="utf-8")
        for agent, name in (("ann", "Ann"), ("bob", "Bob")):
            text = text.replace(f"(agent:{agent}): WAITING", f"(agent:{agent}): RESPONDED")
            at = text.index(f"{name}\n", text.index("## Responses")) + len(name) + 1
            text = text[:at] + f"[Tour 1]: {name} says yes.\n" + text[at:]
        file.write_text(text, encoding="utf-8")

        wait_until(lambda: list(workspace.glob("memory/agents/ann/tasks/*.2.ann.1.md")))
    finally:
        watcher.terminate()
        watcher.communicate()
    assert phase_of(council) == "CHALLENGE"


@pytest.mark.req("DL-076")
def test_a_watcher_sees_who_speaks_how_each_stands_and_how_near_a_verdict_is(council):
    assert council("init", "--agents", "owl,fox").code == 0
    assert council("agent", "edit", "owl", "--emoji", "🦉").code == 0
    words = ("--procedure", "deliberation", "--order", "parallel", "--max-rounds", "3")
    assert council("convene", "Tea?", "--agents", "owl,fox", *words).code == 0
    watcher = council.start("watch")
    seen = b""
    try:
        for agent, peer, stance in (("owl", "fox", "agree"), ("fox", "owl", "disagree")):
            said = ("--as", agent, "--position", "Tea.", "--stance", f"{peer}={stance}")
            assert council("respond", *said, "--confidence", "4", "Because.").code == 0
        while "✓ agrees".encode() not in seen:
            seen += watcher.stdout.readline()
    finally:
        watcher.terminate()
        seen += watcher.communicate()[0]
    shown = seen.decode()
    last = shown[shown.index("round 2 of 3") :]
    assert "no consensus so far (1 of 2 agree)" in last and "🦉 Owl" in last
    assert "Fox  … waiting  ✓ agrees" in last and "Owl  … waiting  ≈ agrees in part" in last
