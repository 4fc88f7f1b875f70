"""Where a fault strikes: a workspace made ready, the command that is struck, what must follow."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from council.core.ids import task_id
from tests.faults import tracing
from tests.faults.commands import Ran, Runner
from tests.faults.invariants import Expected, Watched, acknowledged

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
PAST_LEASE = timedelta(minutes=6)
_SPEAKS = 'cat >/dev/null; echo "said by $COUNCIL_AGENT in round $COUNCIL_TOUR"'
_MOST_BEATS = 6


class Scene:
    """A workspace that is put up again for each point.

    Args:
        folder: Where to work.
    """

    name = ""
    options: tuple[str, ...] = ("--open",)
    phases = "collect,challenge,synthesize"
    answering = "a"

    def __init__(self, folder: Path) -> None:
        self.runner = Runner(folder / "workspace", folder / "beside")
        self.ready = folder / "ready"
        self.watched = Watched(self.runner.root)
        self.now = NOW
        self.expected = Expected()
        self._build()

    def _build(self) -> None:
        self.make()
        self.do("convene", "Shall we?", "--people", "a,b,c", "--phases", self.phases, *self.options)
        self.conversation_id = self.watched.conversation_id
        self.prepare()
        self.do("status")
        tracing.all_is_quiet()
        self.set_aside()
        self._said = dict(self.expected.said)
        self._edits = list(self.expected.edits)
        self._ready_at = self.now

    def make(self) -> None:
        """Make the empty workspace."""
        (self.runner.root / "memory" / "shared").mkdir(parents=True)

    def configure(self, tables: str) -> None:
        """Add tables to the settings."""
        settings = self.runner.root / "council.toml"
        standing = settings.read_text() if settings.exists() else "schemaVersion = 1\n"
        settings.write_text(f"{standing}{tables}", encoding="utf-8")

    def prepare(self) -> None:
        """Bring the conversation to where the fault strikes."""

    def set_aside(self) -> None:
        """Keep what was made ready."""
        shutil.move(self.runner.root, self.ready)

    def bring_back(self) -> None:
        """Put a copy of what was made ready in the place of what is there."""
        shutil.rmtree(self.runner.root, ignore_errors=True)
        shutil.copytree(self.ready, self.runner.root, symlinks=True)

    def put_up(self) -> None:
        """Put the workspace back as it was made ready."""
        self.bring_back()
        self.expected = Expected()
        self.expected.said = dict(self._said)
        self.expected.edits = list(self._edits)
        self.now = self._ready_at

    @property
    def command(self) -> tuple[str, ...]:
        """The command that is struck; the same words are its retry."""
        return self.answer(self.answering, 1)

    def answer(self, agent: str, tour: int) -> tuple[str, ...]:
        task = task_id(self.conversation_id, tour, agent, 1)
        text = text_of(agent, tour)
        return ("respond", text, "--as", agent, "--task", task, "--name", "active", "--json")

    def do(self, *words: str) -> Ran:
        ran = self.runner.run(*words, now=self.now)
        assert ran.code == 0, (words, ran)
        tracing.all_is_quiet()
        return ran

    def say(self, agent: str, tour: int = 1) -> None:
        self.do(*self.answer(agent, tour))
        self.expected.acknowledge(agent, tour, text_of(agent, tour))

    def strike(
        self,
        rule: list[str],
        *,
        heirs: bool = False,
        alone: bool = False,
        worse: Callable[[], object] | None = None,
    ) -> Ran:
        """Give the command and let the fault strike it; note what it promised."""
        agent, tour = self.answering, 1
        if self.command[0] == "respond":
            self.expected.maybe[agent, tour] = text_of(agent, tour)
        ran = self.runner.run(
            *self.command, now=self.now, rule=rule, heirs=heirs, alone=alone, worse=worse
        )
        self.note(ran)
        tracing.all_is_quiet()
        return ran

    def note(self, ran: Ran) -> None:
        """Take what a command printed for a promise, however it ended."""
        if self.command[0] == "respond" and acknowledged(ran.out):
            self.expected.acknowledge(self.answering, 1, text_of(self.answering, 1))

    def retry(self, worse: Callable[[], object] | None = None) -> list[str]:
        """Give the same command again; return what is wrong with what it says."""
        ran = self.runner.run(*self.command, now=self.now, worse=worse)
        self.note(ran)
        tracing.all_is_quiet()
        if ran.code != 0:
            return [f"the retry fails: {ran.code} {ran.err.strip()[-200:]}"]
        if self.command[0] == "respond" and not acknowledged(ran.out):
            return [f"the retry is not acknowledged: {ran.out.strip()}"]
        return []

    def go_on(self, worse: Callable[[], object] | None = None) -> list[str]:
        """Beat twice, past every lease; return what is wrong."""
        wrong = []
        for _ in range(2):
            self.now += PAST_LEASE
            ran = self.runner.run("heartbeat", "--json", now=self.now, worse=worse)
            tracing.all_is_quiet()
            if ran.code != 0:
                wrong.append(f"a later heartbeat fails: {ran.code} {ran.err.strip()[-200:]}")
        return wrong

    def edit(self, change: Callable[[str], str], *, by_rename: bool = False) -> None:
        """Save the live file as a person does."""
        live = self.watched.live
        text = change(live.read_text(encoding="utf-8"))
        target = live.with_name(".draft") if by_rename else live
        target.write_text(text, encoding="utf-8")
        if by_rename:
            target.rename(live)


def text_of(agent: str, tour: int) -> str:
    return f"said by {agent} in round {tour}"


class OpenAnswer(Scene):
    name = "answer, open phase"

    def prepare(self) -> None:
        self.say("b")


class BlindAnswer(OpenAnswer):
    name = "answer, blind phase"
    options = ("--sealed",)


class Reveal(Scene):
    """The answer that completes a blind phase: the seal is opened, the next are woken."""

    name = "answer that opens the seal"
    options = ("--sealed",)

    def prepare(self) -> None:
        self.say("b")
        self.say("c")


class EditPending(OpenAnswer):
    """A person has saved words of their own, and b's answer by hand, when a answers."""

    name = "answer over a pending edit"
    by_rename = False

    def prepare(self) -> None:
        self.say("b")
        self.expected.edits = ["Somebody reads along."]
        # A person who writes by hand sets the status line, too.
        self.edit(self._by_hand, by_rename=self.by_rename)
        self.expected.said["c", 1] = text_of("c", 1)

    def _by_hand(self, text: str) -> str:
        lines = text.split("\n")
        lines.insert(1, f"\n{self.expected.edits[0]}\n")
        waiting = next(at for at, one in enumerate(lines) if one.endswith("(agent:c): WAITING"))
        lines[waiting] = lines[waiting].replace("WAITING", "RESPONDED")
        heading = [at for at, one in enumerate(lines) if one.startswith("### ") and "C" in one[4:]]
        lines.insert(heading[0] + 1, f"[Tour 1]: {text_of('c', 1)}")
        return "\n".join(lines)


class EditPendingByRename(EditPending):
    name = "answer over a pending edit, renamed"
    by_rename = True


class BlindEditPending(EditPending):
    name = "answer over a pending edit, blind"
    options = ("--sealed",)


class HeartbeatByHand(Scene):
    """The deadline has passed: the phase ends, prompts are handed over."""

    name = "heartbeat at a deadline"
    command = ("heartbeat", "--json")

    def prepare(self) -> None:
        self.say("b")
        self.now += timedelta(hours=2)


class HeartbeatWithRuns(Scene):
    """The deadline has passed and the agents are programs: the council plays to its end."""

    name = "heartbeat that starts runs"
    command = ("heartbeat", "--json")

    def prepare(self) -> None:
        self.say("b")
        table = f"argv = {json.dumps(['/bin/sh', '-c', _SPEAKS])}\n"
        seats = "".join(f"[agents.{agent}]\n{table}" for agent in "abc")
        self.configure(seats)
        self.now += timedelta(hours=2)

    def go_on(self, worse: Callable[[], object] | None = None) -> list[str]:
        wrong: list[str] = []
        for _ in range(_MOST_BEATS):
            wrong += super().go_on(worse)
            if self.watched.is_archived():
                for agent in "abc":
                    self.expected.said[agent, 2] = text_of(agent, 2)
                return wrong
        return [*wrong, "the council does not come to its end"]


class Archiving(Scene):
    """Everything is said: the minutes are written, the files are cleared away."""

    name = "archiving"
    phases = "collect,synthesize"
    command = ("heartbeat", "--json")

    def prepare(self) -> None:
        for agent in "abc":
            self.say(agent)
        self._finish()

    def _finish(self) -> None:
        # Recorded, and its process gone before the heartbeat that archives.
        words = ("synthesize", "So be it.", "--as", "a", "--name", "active", "--json")
        ran = self.runner.run(*words, now=self.now, worse=_without_heartbeat)
        assert ran.code == 0, ran

    def go_on(self, worse: Callable[[], object] | None = None) -> list[str]:
        wrong = super().go_on(worse)
        return wrong if self.watched.is_archived() else [*wrong, "it is not archived"]


class Synthesis(Archiving):
    """The synthesis itself: recorded, and archived by the same command."""

    name = "synthesis and archiving"
    command = ("synthesize", "So be it.", "--as", "a", "--name", "active", "--json")

    def _finish(self) -> None:
        return None

    def retry(self, worse: Callable[[], object] | None = None) -> list[str]:
        ran = self.runner.run(*self.command, now=self.now, worse=worse)
        tracing.all_is_quiet()
        if self.watched.is_archived() and ran.code == 5:
            return []  # it has ended; the answer names the minutes
        return [] if ran.code == 0 else [f"the retry fails: {ran.code} {ran.err.strip()[-200:]}"]


def _without_heartbeat() -> None:
    from council.operations import detach
    from council.operations.conversations import answer

    detach.wake_next = lambda place: None
    answer._minutes = lambda place, state: ""


SCENES = (
    OpenAnswer,
    BlindAnswer,
    Reveal,
    EditPending,
    EditPendingByRename,
    BlindEditPending,
    HeartbeatByHand,
    HeartbeatWithRuns,
    Archiving,
    Synthesis,
)
