"""A post or the end of a turn killed at every system call, then tried again."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

# What these commands load when they run: a child must not spend its calls on it.
import council.commands.rooms
import council.operations.rooms.channels
import council.operations.rooms.discussing
import council.operations.rooms.turns
import council.store.rooms.channel_edits  # noqa: F401
from council.store.documents import journal
from tests.faults import tracing
from tests.faults.commands import Runner
from tests.faults.invariants import faults_of_journal

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
POST = ("channel", "post", "weather", "It rains.", "--as", "alice", "--key", "k1", "--json")
END = ("turn", "end", "weather", "--as", "owl", "--run-id", "r1", "--text", "It rains.")
END_AND_POST = (*END, "--post", "--json")
COMPLETE = ("discussion", "complete", "umbrellas", "--as", "owl", "--summary", "u.md", "--json")
PASS = ("turn", "end", "weather", "--as", "owl", "--run-id", "r1", "--text", "NO", "--json")

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(bool(tracing.missing()), reason=tracing.missing() or "-"),
]


class Room:
    """A workspace with one chat, put up again for each point."""

    def __init__(self, folder: Path) -> None:
        self.runner = Runner(folder / "workspace", folder / "beside")
        self.ready = folder / "ready"
        (self.runner.root / "memory" / "shared").mkdir(parents=True)
        table = "schemaVersion = 1\n[agents.owl]\nname = 'Owl'\n[agents.gecko]\nname = 'Gecko'\n"
        (self.runner.root / "council.toml").write_text(table)
        self.do("channel", "create", "chat", "weather", "--participants", "owl,gecko,alice")
        self.do("turn", "begin", "weather", "--as", "owl", "--run-id", "r1")
        self.prepare()
        shutil.move(self.runner.root, self.ready)

    def prepare(self) -> None:
        """Bring the rooms to where the fault strikes."""

    def put_up(self) -> None:
        shutil.rmtree(self.runner.root, ignore_errors=True)
        shutil.copytree(self.ready, self.runner.root, symlinks=True)

    def do(self, *words: str) -> str:
        ran = self.runner.run(*words, now=NOW)
        assert ran.code == 0, (words, ran)
        return ran.out

    def wrong(self, command: tuple[str, ...]) -> list[str]:
        """Return what is wrong after the command was killed and given again."""
        shown = json.loads(self.do("channel", "show", "weather", "--json"))
        told = [one["content"] for one in shown["messages"]]
        posts = command is not PASS
        ends = command is not POST
        wrong = []
        if told != ["It rains."] * posts:
            wrong.append(f"messages: {told}")
        if shown["currentSpeaker"] != ("gecko" if ends else "owl"):
            wrong.append(f"speaker: {shown['currentSpeaker']}")
        if [one["agentId"] for one in shown["results"]] != ["owl"] * ends:
            wrong.append(f"results: {shown['results']}")
        if shown["seen"] != len(told):
            wrong.append(f"seen: {shown['seen']}")
        left = [one.name for one in (self.runner.root / "memory/shared/channels").iterdir()]
        if "weather.signal" in left:
            wrong.append("a signal is left")
        return wrong + self.faults_of_journals()

    def faults_of_journals(self) -> list[str]:
        """Return what is wrong with the chain of the revisions, or their texts, of any channel."""
        found = list(self.runner.root.glob(f"memory/shared/.council/channels/*/{journal.FILE}"))
        assert found
        return [one for path in found for one in faults_of_journal(path)]


@pytest.mark.req("XC-001", "DG-003", "DG-004")
@pytest.mark.parametrize("command", [POST, END_AND_POST, PASS], ids=["post", "end", "pass"])
def test_what_is_killed_at_any_call_is_done_once(
    folder: Path, every: int, command: tuple[str, ...]
):
    room = Room(folder)
    room.put_up()
    points = room.runner.points(*command, now=NOW)
    assert len(points) > 3
    faults = []
    for point in tracing.each(points, every):
        room.put_up()
        killed = room.runner.run(*command, now=NOW, rule=tracing.kill_at(point))
        assert killed.was_killed or killed.code == 0, (point, killed)
        room.do("channel", "show", "weather", "--json")  # readable at once, whatever happened
        room.do(*command)
        faults += [f"{point}: {one}" for one in room.wrong(command)]
    assert faults == []


GUIDE = "## Topic\nUmbrellas\n## Goals\nA list.\n## Completion criteria\nAll agree.\n"


class Discussed(Room):
    """The same with a discussion of owl's, to be called back to the chat."""

    def prepare(self) -> None:
        (self.runner.root / "guide.md").write_text(GUIDE)
        words = ("discussion", "create", "umbrellas", "--as", "owl", "--guide")
        guide = str(self.runner.root / "guide.md")
        self.do(*words, guide, "--participants", "owl,gecko", "--callback", "weather")
        folder = self.runner.root / "memory/shared/discussion-summary"
        folder.mkdir()
        (folder / "u.md").write_text("We buy two.")

    def wrong(self, command: tuple[str, ...]) -> list[str]:
        shown = json.loads(self.do("channel", "show", "umbrellas", "--json"))
        chat = json.loads(self.do("channel", "show", "weather", "--json"))
        wrong = []
        if (shown["turnState"], shown["discussion"]["closedReason"]) != ("archived", "completed"):
            wrong.append(f"it is not sealed: {shown['turnState']}")
        if len([one for one in chat["messages"] if one["kind"] == "summary"]) != 1:
            wrong.append(f"told: {chat['messages']}")
        minutes = list((self.runner.root / "conseils").glob("*.md"))
        if len(minutes) != 1 or "We buy two." not in minutes[0].read_text():
            wrong.append(f"minutes: {minutes}")
        if not (self.runner.root / shown["discussion"]["minutes"]).is_file():
            wrong.append(f"the minutes are not {shown['discussion']['minutes']}")
        return wrong + self.faults_of_journals()


@pytest.mark.req("DG-123", "DG-124", "XC-001")
@pytest.mark.parametrize("then", [COMPLETE, ("heartbeat", "--json")], ids=["again", "heartbeat"])
def test_a_discussion_whose_completion_is_killed_at_any_call_is_completed_once(
    folder: Path, every: int, then: tuple[str, ...]
):
    room = Discussed(folder)
    room.put_up()
    points = room.runner.points(*COMPLETE, now=NOW)
    assert len(points) > 10
    faults = []
    for point in tracing.each(points, every):
        room.put_up()
        killed = room.runner.run(*COMPLETE, now=NOW, rule=tracing.kill_at(point))
        assert killed.was_killed or killed.code == 0, (point, killed)
        shown = json.loads(room.do("channel", "show", "umbrellas", "--json"))
        room.do(*(then if shown["turnState"] == "archived" else COMPLETE))
        faults += [f"{point}: {one}" for one in room.wrong(COMPLETE)]
    assert faults == []
