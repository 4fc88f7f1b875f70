"""Rooms through the installed command: hooks, programs, a discussion, a master and its slave."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from council.rooms import relay
from tests.runs.processes import until
from tests.scenarios.test_serve import serving
from tests.scenarios.workspaces import Workspace

GUIDE = "## Topic\nTea.\n\n## Goals\nOne tea.\n\n## Completion criteria\nAll agree.\n"


def said(team: Workspace, room: str) -> list[tuple[str, str]]:
    shown = team.json("show", room)
    return [(one["author"], one["content"]) for one in shown["messages"]]


def test_hooks_take_turns_as_document_001_says(workspace: Callable[..., Workspace]) -> None:
    team = workspace("henry", "sage")
    made = team.json("channel", "create", "chat", "Kitchen", "--participants", "henry,sage,alice")
    told = [made[key] for key in ("name", "turnState", "currentSpeaker")]
    assert told == ["kitchen", "normal", "henry"]
    assert made["members"] == ["moderator", "henry", "sage", "alice"]
    assert team.json("turn", "begin", "elsewhere", "--as", "sage")["reason"] == "disabled"
    team.run("channel", "post", "kitchen", "Which kettle?", "--as", "Alice")
    task = next((team.root / "memory/agents/henry/tasks").glob("kitchen*.md"))
    assert "Which kettle?" in task.read_text()
    silent = team.json("turn", "begin", "kitchen", "--as", "sage")
    assert (silent["allowed"], silent["model"]) == (False, "dirigent/no-reply")
    begun = team.json("turn", "begin", "kitchen", "--as", "henry", "--run-id", "r1")
    assert (begun["allowed"], begun["anchor"]) == (True, 1)
    messages = json.dumps([{"role": "assistant", "content": "The quiet one."}])
    end = ["turn", "end", "kitchen", "--as", "henry", "--run-id", "r1", "--messages", "-"]
    ended = team.json(*end, stdin=messages)
    assert ended["outcome"] == "awaiting-delivery"
    made = team.json("channel", "post", "kitchen", "The quiet one.", "--as", "henry")
    assert made["currentSpeaker"] == "sage"
    assert team.json(*end, stdin=messages)["outcome"] == "already-ended"
    for agent in ("sage", "henry", "sage"):
        ended = team.json("turn", "end", "kitchen", "--as", agent, "--text", "NO_REPLY")
        assert ended["outcome"] == "advanced"
    assert (ended["dormant"], ended["currentSpeaker"]) == (True, None)
    assert team.run("channel", "mode", "kitchen", "work").returncode == 6
    assert not list((team.root / "memory/shared/channels").glob("*.signal"))
    page = team.root / "memory/shared/channels/kitchen.md"
    mark = "<!--council:draft message-->\n\n"
    page.write_text(page.read_text().replace(mark, f"{mark}Bob: I like it, too.\n\n"))
    team.run("heartbeat")
    assert said(team, "kitchen")[2:] == [("bob", "I like it, too.")]
    assert team.json("show", "kitchen")["currentSpeaker"] == "henry"


def test_programs_talk_until_all_pass(workspace: Callable[..., Workspace]) -> None:
    team = workspace("henry", "sage")
    team.program("henry", 'if mkdir "$0.once" 2>/dev/null; then echo "henry: Mine."; fi')
    team.program("sage", "echo NO_REPLY")
    team.json("channel", "create", "chat", "den", "--participants", "henry,sage")
    for _ in range(2):
        team.json("channel", "post", "den", "Which one?", "--as", "alice", "--key", "k")
    shown = until(lambda: (room := team.json("show", "den"))["dormant"] and room)
    assert said(team, "den") == [("alice", "Which one?"), ("henry", "Mine.")]
    assert shown["messages"][1]["origin"] == "verified"
    assert shown["cycle"] == 2


@pytest.mark.parametrize("by_program", [True, False])
def test_a_discussion_ends_in_minutes(
    workspace: Callable[..., Workspace], by_program: bool
) -> None:
    team = workspace("henry", "sage")
    if by_program:
        summary = 'if grep -q "Now you sum it up" "$0.told"; then echo "Green tea it is."; fi'
        team.program("henry", summary)
        script = team.root / "henry.sh"
        script.write_text(script.read_text().replace("cat >/dev/null", 'cat > "$0.told"'))
        team.program("sage", "echo NO_REPLY")
    (team.root / "guide.md").write_text(GUIDE)
    team.json("channel", "create", "chat", "hall", "--participants", "sage,alice")
    create = ["channel", "create", "discussion", "tea", "--participants", "henry,sage"]
    create += ["--as", "henry", "--callback", "hall", "--guide"]
    assert team.run(*create, "council.toml").returncode == 3  # it has no headings
    team.json(*create, "guide.md")
    if not by_program:
        for agent in ("henry", "sage"):
            team.json("turn", "end", "tea", "--as", agent)
        task = max((team.root / "memory/agents/henry/tasks").glob("tea*.md"), key=lambda p: p.name)
        assert "Discussion is idle. Please summarize" in task.read_text()
        done = ["channel", "complete", "tea", "--summary"]
        folder = team.root / "memory/shared/discussion-summary"
        folder.mkdir(exist_ok=True)
        (folder / "tea.md").write_text("Green tea it is.\n")
        path = "memory/shared/discussion-summary/tea.md"
        assert team.run(*done, path, "--as", "sage").returncode == 6
        assert team.run(*done, "council.toml", "--as", "henry").returncode == 6
        assert team.run(*done, folder, "--as", "henry").returncode == 3
        assert team.run(*done, path.replace("tea", "coffee"), "--as", "henry").returncode == 5
        team.json(*done, path, "--as", "henry")
    shown = until(lambda: (room := team.json("show", "tea"))["minutes"] and room)
    assert shown["turnState"] == "archived"
    minutes = (team.root / shown["minutes"]).read_text()
    assert "Green tea it is." in minutes
    assert "outcome: completed" in minutes
    row = team.json("list", "minutes")[0]
    assert (row["title"], row["decision"]) == ("tea", "Green tea it is.")
    assert said(team, "hall")[-1] == ("moderator", shown["summary"])
    made = team.json("channel", "post", "tea", "Coffee?", "--as", "alice")
    assert made["reply"] == "This discussion is closed."
    page = team.root / "memory/shared/channels/tea.md"
    page.with_stem("tea (1)").write_bytes(page.read_bytes())
    team.json("forget", "tea", "--yes")
    kept = [one for one in team.root.rglob("*") if one.is_file() and "henry.sh" not in one.name]
    assert not [one for one in kept if b"Green tea it is." in one.read_bytes()]


@pytest.mark.slow
def test_a_slave_asks_its_master(workspace: Callable[..., Workspace], tmp_path: Path) -> None:
    master = workspace("henry", "sage")
    master.json("channel", "create", "chat", "den", "--participants", "henry,sage,alice")
    master.json("channel", "post", "den", "Go.", "--as", "alice")
    folder = tmp_path / "slave"
    folder.mkdir()
    slave = Workspace(folder)
    assert slave.run("init", str(folder), "--agents", "henry,sage", COUNCIL_ROOT="").returncode == 0
    settings, end = folder / "council.toml", ["turn", "end", "den", "--as", "henry"]
    before, begin, end = (
        settings.read_text(),
        ["turn", "begin", "den", "--as"],
        [*end, "--run-id", "r1"],
    )
    end += ["--anchor", "1", "--text", "Said elsewhere."]

    def ask(url: str) -> None:
        settings.write_text(f'{before}\n[relay]\nrole = "slave"\nurl = "{url}"\n')

    with serving(master) as server:
        slave.env["COUNCIL_RELAY_TOKEN"] = server.token
        ask(server.said["url"])
        assert slave.json(*begin, "sage")["allowed"] is False
        assert slave.json(*begin, "henry", "--run-id", "r1")["allowed"] is True
        assert slave.json(*end)["outcome"] == "awaiting-delivery"
        made = master.json("channel", "post", "den", "Said elsewhere.", "--as", "henry")
        assert made["currentSpeaker"] == "sage"
        assert slave.json(*end)["outcome"] == "already-ended"
        state = server.ask("POST", f"{relay.PATH}/get-channel-state", {"channelId": "den"})
        found = json.loads(state.read())
        told = [found[key] for key in ("mode", "tmState", "currentSpeaker")]
        assert told == ["chat", "normal", "sage"]
        slave.env["COUNCIL_RELAY_TOKEN"] = "another"
        assert slave.json(*begin, "henry")["reason"] == "master_unreachable"
    refused = slave.json(*begin, "sage")
    assert (refused["allowed"], refused["reason"]) == (False, "master_unreachable")
    assert slave.run(*end).returncode == 1
    assert slave.run("channel", "post", "den", "No.", "--as", "henry").returncode == 6
    assert slave.run("agent", "add", "henry", "--discord", "123").returncode == 6
    assert not list(folder.glob("memory/shared/channels/*"))
    ask("http://example.org")
    assert "neither https" in slave.run(*begin, "sage").stdout
