"""What people met in their first week: sentences that were false, waits that were too long."""

from collections.abc import Callable

import pytest

from tests.scenarios.workspaces import Workspace

Make = Callable[..., Workspace]
pytestmark = pytest.mark.slow


def test_a_call_has_the_time_that_its_limit_says(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.program("ben", "exec sleep 60")
    done = w.run("agent", "call", "Look.", "--to", "ben", "--limit", "timeoutMs=1000", "--json")
    assert done.returncode == 7
    assert '"no answer within 1s"' in done.stdout
    (brief,) = (w.root / "memory/shared/briefs").iterdir()
    assert w.json("show", brief.stem)["goal"] == "Look."
    route = w.json("route", "explain", "peer=x", "channel=y, mode=z")
    assert route["facts"] == {"peer": ["x"], "channel": ["y"], "mode": ["z"]}
    (w.root / "ben.sh").write_text("#!/bin/sh\necho '<think>Why me?</think>'; echo Red.\n")
    assert w.run("agent", "call", "Which?", "--to", "ben").stdout == "Red.\n"
    settings = w.root / "council.toml"  # who answers councils by command prints what it is asked
    settings.write_text(
        settings.read_text().replace("[agents.ben]", '[agents.ben]\nanswer = "tool"')
    )
    assert w.run("agent", "call", "Which one?", "--to", "ben").stdout == "Red.\n"
    terminal = w.terminal("agent", "call", "Which, then?", "--to", "ben")
    assert terminal.until().startswith("waiting for ben\r\n")


def test_what_is_forgotten_is_nowhere(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Zanzibar?", "--name", "place")
    w.run("channel", "create", "chat", "den", "--participants", "ann,ben")
    w.run("channel", "post", "den", "To Zanzibar!", "--as", "anna")
    w.run("heartbeat")
    board = w.root / "memory/shared/BOARD.md"
    assert "Zanzibar?" in board.read_text()
    w.run("stop", "--now", "place")
    w.run("heartbeat")
    assert "Zanzibar?" not in board.read_text()
    for name in ("place", "den"):
        assert w.run("forget", name, "--yes").returncode == 0
    assert not [one for one in w.root.rglob("*") if one.is_file() and b"Zanzi" in one.read_bytes()]


def test_rooms_say_who_is_no_agent_and_what_differs(workspace: Make) -> None:
    w = workspace("ann", "ben")
    made = w.run("channel", "create", "chat", "den", "--participants", "ann,ben,zoe")
    told = "den: created; floor: ann\nzoe: no agent has that id; it takes part as a person\n"
    assert made.stdout == told
    assert "ann's turn (the first word)" in w.run("explain", "den").stdout
    w.run("turn", "end", "den", "--as", "ann", "--run-id", "R1", "--text", "It is not there.")
    assert "ann's text to arrive\n    until " in w.run("explain", "den").stdout
    w.program("ben", "echo Tea.")
    w.run("pause", "--all")
    w.run("channel", "create", "chat", "bar", "--participants", "ben,zoe")
    w.run("channel", "post", "bar", "Tea?", "--as", "zoe")
    assert "! all agents are paused" in w.run("explain", "bar").stdout
    w.run("resume", "--all")
    w.run("convene", "Milk?", "--name", "bar", "--people", "ann,ben")  # meant before the room
    assert "opened" in w.run("log", "bar").stdout
    assert w.run("forget", "bar", "--yes").returncode == 4
    (w.root / "g.md").write_text("## Topic\na\n## Goals\nb\n## Completion criteria\nc\n")
    tea = ["channel", "create", "discussion", "tea", "--as", "ann", "--participants", "ann,ben"]
    tea += ["--guide", "g.md"]
    codes = [w.run(*tea, *more).returncode for more in ([], [], ["--callback", "den"])]
    assert codes == [0, 0, 4]
    folder = w.root / "memory/shared/discussion-summary"
    folder.mkdir(exist_ok=True)
    (folder / "tea.md").write_text("Green tea.")
    assert w.run("channel", "complete", "tea", "--as", "ann", "--summary", "tea.md").returncode == 0
    assert "tea:" not in w.run("status").stdout
    assert "tea: discussion, archived" in w.run("list", "rooms").stdout
    w.run("channel", "tie", "den", "--discord", "123456789012345678")
    assert "COUNCIL_DISCORD_TOKEN is not set" in w.run("status", "--problems").stdout


def test_one_thing_is_shown_as_people_read_it(workspace: Make) -> None:
    w = workspace("ann", "ben")
    for at in range(9):
        w.run("agent", "message", f"Line {at} of the inbox.", "--to", "ann", "--as", f"p{at}")
    shown = w.run("show", "ann").stdout
    assert "agent id: ann" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("of the inbox.") == 9
    w.run("convene", "Tea?", "--open")
    for agent in ("ann", "ben"):
        w.run("respond", "--as", agent, f"I am {agent}.")
    assert w.run("show", "--last", "1").stdout.endswith("COLLECT, round 1, RESPONDED\nI am ben.\n")
    done = w.run("say", "--to", "tea", "--stars", "4", "Good.")
    assert (done.returncode, "a rating has no text" in done.stderr) == (2, True)
    assert "it is not retried; the message has to be corrected" in w.run("explain", "E13").stdout


def test_a_blocker_typed_on_the_page_has_no_author(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Tea?")
    page = w.root / "memory/shared/council-active-conversation.md"
    page.write_text(page.read_text().replace("blockers: none", "blockers: no kettle"))
    w.run("status")
    assert "- Identified blockers: 1\n  - no kettle\n" in page.read_text()
    assert w.run("show", "--consensus").stdout.endswith("\nblocker: no kettle\n")
    assert w.json("show", "--consensus")["blockingIssues"] == ["no kettle"]
    for agent in ("ann", "ben"):
        w.run("respond", "--as", agent, "Yes.")
    assert "## Open blockers\n\n- no kettle\n" in w.run("context", "--as", "ann").stdout
    w.run("stop", "--now")
    assert "## Open blockers\n\n- no kettle\n" in w.run("show", "tea").stdout


def test_a_ledger_without_a_line_stops_nobody(workspace: Make) -> None:
    w = workspace("ann", "ben")
    w.run("convene", "Tea?")
    (w.root / "memory/shared/.council/calls").mkdir()
    assert w.run("context", "--as", "ann").returncode == 0
    assert w.run("status", "--now", "9999-12-31T23:59:59Z").returncode == 2
