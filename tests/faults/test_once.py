"""Each changing command killed at every system call and given again: it counts once (OP-008)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import council.commands.convening
import council.commands.conversations
import council.commands.delegation
import council.commands.message_sending
import council.commands.rooms

# What these commands load when they run: a child must not spend its calls on it.
import council.commands.tasks
import council.operations.conversations.recalling
import council.operations.conversations.steer
import council.operations.delegation.delegating
import council.operations.protocol.asking
import council.operations.protocol.sending
import council.operations.protocol.tasks
import council.operations.rooms.channels
import council.store.outbox
import council.store.rooms.channel_edits  # noqa: F401
from council.core.conversations.conversation import EntryKind
from council.core.ids import task_id
from council.store.conversations.conversations import Conversations
from council.store.paths import Workspace
from tests.faults import bad_stores, tracing
from tests.faults.commands import Ran, Runner
from tests.faults.ledger import Ledger

PART = "each command counts once"
NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
_FEW = 3

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(bool(tracing.missing()), reason=tracing.missing() or "-"),
]


class Scene:
    """A workspace put up again for each point, the command that is killed, what it comes to."""

    name = ""
    command: tuple[str, ...] = ()
    # What others do between the kill and the retry.
    meanwhile: tuple[tuple[str, ...], ...] = ()
    options: tuple[str, ...] = ("--open", "--phases", "collect,challenge,synthesize")
    wanted: object = 1

    def __init__(self, folder: Path) -> None:
        self.runner = Runner(folder / "workspace", folder / "beside")
        self.ready = folder / "ready"
        (self.runner.root / "memory" / "shared").mkdir(parents=True)
        self.prepare()
        tracing.all_is_quiet()
        shutil.move(self.runner.root, self.ready)

    def prepare(self) -> None:
        """Bring the workspace to where the command is given."""
        self.do("convene", "Shall we?", "--people", "a,b,c", *self.options)

    def put_up(self) -> None:
        shutil.rmtree(self.runner.root, ignore_errors=True)
        shutil.copytree(self.ready, self.runner.root, symlinks=True)

    def do(self, *words: str) -> Ran:
        ran = self.runner.run(*words, now=NOW)
        assert ran.code == 0, (words, ran)
        tracing.all_is_quiet()
        return ran

    @property
    def state(self):
        return Conversations(Workspace(str(self.runner.root))).read("active", with_sealed=True)

    def events(self, kind: str) -> int:
        """Return how many revisions of the conversation hold an event of that kind."""
        history = Conversations(Workspace(str(self.runner.root))).history("active")
        return sum(event["type"] == kind for one in history for event in one.events)

    def count(self) -> object:
        """Return what the command has come to; `wanted` when it counts once."""
        raise NotImplementedError


class Inject(Scene):
    name = "inject"
    command = ("inject", "The budget is fixed.", "--json")

    def count(self) -> object:
        return sum(one.kind is EntryKind.INJECTION for one in self.state.entries)


class Say(Inject):
    name = "say"
    command = ("say", "The budget is fixed.", "--to", "active", "--json")


class Extend(Scene):
    name = "extend"
    command = ("extend", "1h", "--json")
    wanted = timedelta(hours=1)

    def prepare(self) -> None:
        super().prepare()
        self.before = self.state.timeout_at

    def count(self) -> object:
        return self.state.timeout_at - self.before


class Pause(Scene):
    """A person lets it go on before the retry, which must not let it stand again."""

    name = "pause"
    command = ("pause", "--json")
    meanwhile = (("resume",),)

    def count(self) -> object:
        return self.events("conversation.paused")


class Stop(Scene):
    """It goes on to the synthesis once; the vote of the procedure is not passed over."""

    name = "stop"
    command = ("stop", "--json")
    options = ("--procedure", "deliberation")
    wanted = "VOTE"

    def count(self) -> object:
        return self.state.phase


class Respond(Scene):
    """The others end the round before the retry."""

    name = "respond without a task"
    command = ("respond", "Yes.", "--as", "a", "--json")
    meanwhile = (("respond", "No.", "--as", "b"), ("respond", "Maybe.", "--as", "c"))

    def count(self) -> object:
        return sum((one.agent, one.text) == ("a", "Yes.") for one in self.state.entries)


class RespondTwoRoundsLater(Respond):
    """Two rounds pass: only its id says that it stood."""

    name = "respond, two rounds later"
    options = ("--open",)
    meanwhile = (
        *Respond.meanwhile,
        *(("respond", f"{one} again", "--as", one) for one in "abc"),
    )


class RespondToTask(Respond):
    name = "respond with a task"

    def prepare(self) -> None:
        super().prepare()
        task = task_id(self.state.conversation_id, 1, "a", 1)
        self.command = ("respond", "Yes.", "--as", "a", "--task", task, "--json")


class Vote(Scene):
    name = "vote"
    command = ("vote", "--as", "a", "--position", "Yes.", "--stance", "b=agree", "--json")
    options = ("--procedure", "deliberation")

    def prepare(self) -> None:
        super().prepare()
        self.do("stop")

    def count(self) -> object:
        sealed = "a" in self.state.sealed
        return sealed + sum(one.agent == "a" for one in self.state.entries)


class Archive(Scene):
    name = "archive"
    command = ("archive", "--json")
    wanted = (1, True)

    def count(self) -> object:
        minutes = [
            one for one in (self.runner.root / "conseils").glob("*.md") if one.name != "README.md"
        ]
        return len(minutes), not Conversations(Workspace(str(self.runner.root))).names()


class Restore(Scene):
    """An agent answers before the retry, which must not take that back."""

    name = "restore"
    command = ("restore", "1", "--json")
    meanwhile = (("respond", "No.", "--as", "b"),)

    def count(self) -> object:
        return self.events("conversation.restored")


class Convene(Scene):
    name = "convene"
    command = ("convene", "Shall we?", "--people", "a,b,c", "--open", "--json")

    def prepare(self) -> None:
        (self.runner.root / "memory" / "shared" / ".council").mkdir()

    def count(self) -> object:
        return len(Conversations(Workspace(str(self.runner.root))).names())


class Post(Scene):
    name = "channel post"
    command = ("channel", "post", "weather", "It rains.", "--as", "alice", "--json")
    meanwhile = (("channel", "post", "weather", "It rains.", "--as", "owl"),)

    def prepare(self) -> None:
        table = "schemaVersion = 1\n[agents.owl]\nname = 'Owl'\n[agents.gecko]\nname = 'Gecko'\n"
        (self.runner.root / "council.toml").write_text(table)
        self.do("channel", "create", "chat", "weather", "--participants", "owl,gecko,alice")

    def count(self) -> object:
        shown = json.loads(self.do("channel", "show", "weather", "--json").out)
        return sum(one["author"] == "alice" for one in shown["messages"])


class SayInChannel(Post):
    name = "say in a channel"
    command = ("say", "It rains.", "--to", "weather", "--as", "alice", "--json")


class SendRequest(Scene):
    name = "msg send --user"
    command = ("msg", "send", "--user", "The news, please.", "--json")

    def prepare(self) -> None:
        self.do("agent", "join", "W1", "--caps", "web_search")

    def count(self) -> object:
        shown = json.loads(self.do("task", "list", "--all", "--json").out)
        return len(shown if isinstance(shown, list) else shown["tasks"])


class CancelTask(SendRequest):
    """The task is over when its cancelling is asked for again; that is no error."""

    name = "task cancel"
    command = ("task", "cancel", "S1/T1", "--json")

    def prepare(self) -> None:
        super().prepare()
        self.do(*SendRequest.command)


class AgentMessage(Post):
    name = "agent message"
    command = ("agent", "message", "Hello.", "--to", "owl", "--as", "gecko", "--trace", "t1")
    meanwhile = ()

    def count(self) -> object:
        found = list((self.runner.root / "memory" / "agents").rglob("*.jsonl"))
        found += [one for one in self.runner.root.rglob("*.jsonl") if "sessions" in one.parts]
        return max(one.read_text().count("Hello.") for one in {*found})


SCENES = [
    Inject,
    Say,
    Extend,
    Pause,
    Stop,
    Respond,
    RespondTwoRoundsLater,
    RespondToTask,
    Vote,
    Archive,
    Restore,
    Convene,
    Post,
    SayInChannel,
    SendRequest,
    CancelTask,
    AgentMessage,
]


def kill_everywhere(
    scene: Scene, ledger: Ledger, every: int, worse: Callable[[], object] | None = None
) -> None:
    """Kill the command at each call, let others go on, give it again, count."""
    scene.put_up()
    points = scene.runner.points(*scene.command, now=NOW, alone=True, worse=worse)
    assert len(points) > _FEW, "nothing of this command was seen"
    for point in tracing.each(points, every):
        scene.put_up()
        rule = tracing.kill_at(point)
        scene.runner.run(*scene.command, now=NOW, rule=rule, alone=True, worse=worse)
        tracing.all_is_quiet()
        for words in scene.meanwhile:
            scene.runner.run(*words, now=NOW)
        tracing.all_is_quiet()
        again = scene.runner.run(*scene.command, now=NOW, worse=worse)
        tracing.all_is_quiet()
        wrong = [] if again.code == 0 else [f"the retry fails: {again.err.strip()[-200:]}"]
        come_to = scene.count()
        if come_to != scene.wanted:
            wrong.append(f"it came to {come_to}, not {scene.wanted}")
        left = list((scene.runner.root / "memory/shared/.council/outbox").glob("*/*"))
        if left:
            wrong.append(f"the outbox keeps {left}")
        ledger.point(wrong, point)
        if worse is not None and ledger.wrong:
            return


@pytest.mark.req("OP-008", "XC-001")
@pytest.mark.parametrize("kind", SCENES, ids=lambda kind: kind.name)
def test_a_command_killed_at_any_call_and_given_again_counts_once(
    folder: Path, ledger: Ledger, every: int, kind: type[Scene]
):
    kill_everywhere(kind(folder), ledger, every)
    ledger.assert_clean()


@pytest.mark.req("OP-008")
@pytest.mark.parametrize("kind", [Inject, Extend, RespondTwoRoundsLater], ids=lambda one: one.name)
def test_a_store_that_forgets_its_outbox_is_caught(folder: Path, ledger: Ledger, kind: type[Scene]):
    seen = Ledger(PART, ledger.title)
    kill_everywhere(kind(folder), seen, 1, worse=bad_stores.forgets_its_outbox)
    ledger.bad_store(bool(seen.wrong))
    assert seen.wrong
