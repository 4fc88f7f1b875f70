"""Rooms through the installed command: hooks, programs, a discussion, a master and its slave."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from council.app import App
from council.kernel.errors import Refusal
from council.rooms import relay, service
from tests.runs.processes import until
from tests.scenarios.workspaces import Workspace

GUIDE = "## Topic\nTea.\n\n## Goals\nOne tea.\n\n## Completion criteria\nAll agree.\n"
TOKEN = "a-token-of-the-master"


def said(team: Workspace, room: str) -> list[tuple[str, str]]:
    shown = team.json("show", room)
    return [(one["author"], one["content"]) for one in shown["messages"]]


def test_hooks_take_turns_as_document_001_says(workspace: Callable[..., Workspace]) -> None:
    team = workspace("henry", "sage")
    made = team.json("channel", "create", "chat", "Kitchen", "--participants", "henry,sage,alice")
    assert (made["name"], made["turnState"], made["currentSpeaker"]) == (
        "kitchen", "normal", "henry",
    )  # fmt: skip
    assert made["members"] == ["moderator", "henry", "sage", "alice"]
    assert team.json("turn", "begin", "elsewhere", "--as", "sage")["reason"] == "disabled"
    team.run("channel", "post", "kitchen", "Which kettle?", "--as", "Alice")
    task = next((team.root / "memory/agents/henry/tasks").glob("kitchen*.md"))
    assert "Which kettle?" in task.read_text()
    silent = team.json("turn", "begin", "kitchen", "--as", "sage")
    assert (silent["allowed"], silent["model"]) == (False, "dirigent/no-reply")
    begun = team.json("turn", "begin", "kitchen", "--as", "henry", "--run-id", "r1")
    assert (begun["allowed"], begun["anchor"]) == (True, 1)
    messages = [
        {"role": "user", "content": "Speak."},
        {"role": "assistant", "content": [{"type": "text", "text": "The quiet one."}]},
    ]
    end = ["turn", "end", "kitchen", "--as", "henry", "--run-id", "r1", "--messages", "-"]
    ended = team.json(*end, stdin=json.dumps(messages))
    assert ended["outcome"] == "awaiting-delivery"
    assert team.json("channel", "post", "kitchen", "The quiet one.", "--as", "henry")[
        "currentSpeaker"
    ] == ("sage")
    assert team.json(*end, stdin=json.dumps(messages))["outcome"] == "already-ended"
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
    team.json("channel", "post", "den", "Which one?", "--as", "alice", "--key", "k")
    team.json("channel", "post", "den", "Which one?", "--as", "alice", "--key", "k")
    shown = until(lambda: (room := team.json("show", "den"))["dormant"] and room)
    assert [(one["author"], one["content"]) for one in shown["messages"]] == [
        ("alice", "Which one?"),
        ("henry", "Mine."),
    ]
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
    assert (
        team.run(*create, str(team.root / "henry.sh" if by_program else "council.toml")).returncode
        == 3
    )
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
        assert team.run(*done, path.replace("tea", "coffee"), "--as", "henry").returncode == 5
        team.json(*done, path, "--as", "henry")
    shown = until(lambda: (room := team.json("show", "tea"))["discussion"]["minutes"] and room)
    assert shown["turnState"] == "archived"
    minutes = (team.root / shown["discussion"]["minutes"]).read_text()
    assert "Green tea it is." in minutes
    assert "outcome: completed" in minutes
    row = team.json("list", "minutes")[0]
    assert (row["title"], row["decision"]) == ("tea", "Green tea it is.")
    assert said(team, "hall")[-1] == ("moderator", shown["discussion"]["summary"])
    made = team.json("channel", "post", "tea", "Coffee?", "--as", "alice")
    assert made["reply"] == "This discussion is closed."
    team.json("forget", "tea", "--yes")
    kept = [one for one in team.root.rglob("*") if one.is_file() and "henry.sh" not in one.name]
    assert not [one for one in kept if b"Green tea it is." in one.read_bytes()]


@pytest.fixture
def served() -> Iterator[Callable[[Workspace], str]]:
    """Serve the relay of a workspace; the pages of the product do the same."""
    servers: list[ThreadingHTTPServer] = []

    def made(team: Workspace) -> str:
        class Master(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = 200 if self.headers["Authorization"] == f"Bearer {TOKEN}" else 401
                try:
                    rule = self.path.removeprefix(f"{relay.PATH}/")
                    app = App(str(team.root), env={})
                    found = service.answer(app, rule, body) if status == 200 else {}
                except Refusal as refusal:
                    status, found = 404, refusal.to_json()
                data = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None: ...

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Master))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield made
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_slave_asks_its_master(
    workspace: Callable[..., Workspace], served: Callable[[Workspace], str], tmp_path: Path
) -> None:
    master = workspace("henry", "sage")
    master.json("channel", "create", "chat", "den", "--participants", "henry,sage,alice")
    master.json("channel", "post", "den", "Go.", "--as", "alice")
    folder = tmp_path / "slave"
    folder.mkdir()
    slave = Workspace(folder)
    assert slave.run("init", str(folder), "--agents", "henry,sage", COUNCIL_ROOT="").returncode == 0
    slave.env |= {"COUNCIL_ROOT": str(folder), "COUNCIL_RELAY_TOKEN": TOKEN}
    settings = folder / "council.toml"
    url = served(master)
    before = settings.read_text()
    settings.write_text(f'{before}\n[relay]\nrole = "slave"\nurl = "{url}"\n')
    begin = ["turn", "begin", "den", "--as"]
    assert slave.json(*begin, "sage")["allowed"] is False
    assert slave.json(*begin, "henry", "--run-id", "r1")["allowed"] is True
    end = ["turn", "end", "den", "--as", "henry", "--run-id", "r1", "--anchor", "1"]
    assert slave.json(*end, "--text", "Said elsewhere.")["outcome"] == "awaiting-delivery"
    made = master.json("channel", "post", "den", "Said elsewhere.", "--as", "henry")
    assert made["currentSpeaker"] == "sage"
    assert slave.json(*end, "--text", "Said elsewhere.")["outcome"] == "already-ended"
    assert slave.run("channel", "post", "den", "No.", "--as", "henry").returncode == 6
    assert slave.run("agent", "add", "henry", "--discord", "123").returncode == 6
    assert not list(folder.glob("memory/shared/channels/*"))
    state = service.answer(App(str(master.root), env={}), "get-channel-state", {"channelId": "den"})
    assert (state["mode"], state["tmState"], state["currentSpeaker"]) == ("chat", "normal", "sage")
    away = settings.read_text().replace(url, "http://127.0.0.1:9")
    settings.write_text(away)
    refused = slave.json(*begin, "sage")
    assert (refused["allowed"], refused["reason"]) == (False, "master_unreachable")
    assert slave.run(*end, "--text", "x").returncode == 1
    settings.write_text(away.replace("http://127.0.0.1:9", "http://example.org"))
    assert "neither https" in slave.run(*begin, "sage").stdout
