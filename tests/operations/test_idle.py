"""The heartbeat over a crowd of idle conversations: it opens what is due or changed, only that.

What is opened is a fact: this process hears of every file that it opens.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from benchmarks.crowds import AGENTS, make_idle
from council.core.conversations.conversation import Conversation, Step, TaskState
from council.operations.conversations.answer import respond
from council.operations.conversations.steer import cancel, pause, resume
from council.operations.heartbeat.beat import Report, beat, wait
from council.operations.heartbeat.gate import halt, resume_all
from council.store.heartbeat.survey import CROWD
from tests.operations.tables import NOW, Table, all_is_quiet

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
_HEARD: list[str] = []
_LISTENING = [False]


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if _LISTENING[0] and event == "open":
        _HEARD.append(str(arguments[0]))


sys.addaudithook(_hear)


class Crowd(Table):
    """A workspace with so many idle conversations that it pays to note them."""

    def __init__(self, root: Path, names: list[str]) -> None:
        super().__init__(root)
        self.names = names
        self.note = root / "memory/shared/.council/deadlines.json"

    def opened(self, after: timedelta = timedelta(0)) -> set[str]:
        """Run one heartbeat; return the names of the conversations whose files it has opened."""
        _HEARD.clear()
        _LISTENING[0] = True
        try:
            self.report = self.beat(after)
        finally:
            _LISTENING[0] = False
        files = (os.path.basename(path) for path in _HEARD)
        begin, end = "council-", "-conversation.md"
        return {
            name[len(begin) : -len(end)]
            for name in files
            if name.startswith(begin) and name.endswith(end)
        }

    def settle(self) -> Crowd:
        """Note all who are idle, as if nothing had been changed just before."""
        self.beat()
        later_ns = time.time_ns() + 60 * 10**9
        shared = self.root / "memory/shared"
        for note in (self.note, shared / "BOARD.md", shared / ".council/board.json"):
            os.utime(note, ns=(later_ns, later_ns))
        return self

    def change(self, name: str, change: Callable[[Conversation], object]) -> None:
        def changed(state: Conversation) -> Step:
            new = state.copy()
            change(new)
            return Step(state=new)

        self.place.conversations.edit(name, changed, now=self.now)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A workspace to copy, and the names of its conversations."""
    root = tmp_path_factory.mktemp("made")
    return root, make_idle(root, CROWD + 2, now=NOW)


@pytest.fixture
def crowd(tmp_path: Path, made: tuple[Path, list[str]]) -> Crowd:
    root = tmp_path / "workspace"
    shutil.copytree(made[0], root)
    return Crowd(root, list(made[1]))


@pytest.fixture
def one(crowd: Crowd) -> str:
    """The name of one of the crowd."""
    return crowd.names[7]


# --- what is not opened ----------------------------------------------------------------------


def test_whom_nothing_has_happened_to_is_not_opened(crowd: Crowd):
    assert crowd.opened() == set(crowd.names)
    crowd.settle()

    assert crowd.opened() == set()
    assert crowd.opened(HOUR) == set()
    assert not crowd.report.changed
    assert [seen.name for seen in crowd.report.everything()] == sorted(crowd.names)


def test_only_the_one_who_has_answered_is_opened_and_only_once(crowd: Crowd, one: str):
    crowd.settle()
    respond(crowd.place, one, AGENTS[0], "Yes.")
    all_is_quiet()

    assert crowd.opened() == {one}
    crowd.settle()
    assert crowd.opened() == set()
    (seen,) = [seen for seen in crowd.report.everything() if seen.name == one]
    assert seen.waiting == [AGENTS[1]]


@pytest.mark.req("XC-007")
@pytest.mark.parametrize("settled", [True, False])
def test_second_heartbeat_leaves_every_name_and_byte(crowd: Crowd, one: str, settled: bool):
    crowd.change(one, lambda state: setattr(state, "topic", "Shall we wait?"))
    crowd.beat()
    if settled:
        crowd.settle()
    before = crowd.digest_of_the_tree()

    for _ in range(2):
        assert not crowd.beat().changed
        assert crowd.digest_of_the_tree() == before


@pytest.mark.req("XC-007")
def test_heartbeat_after_one_that_served_leaves_every_name_and_byte(crowd: Crowd, one: str):
    crowd.settle()
    for agent in AGENTS:
        respond(crowd.place, one, agent, "Yes.")
    all_is_quiet()
    crowd.change(crowd.names[9], lambda state: setattr(state, "timeout_at", NOW + MINUTE))
    assert crowd.beat(HOUR).changed
    before = crowd.digest_of_the_tree()

    assert not crowd.beat().changed
    assert crowd.digest_of_the_tree() == before


def test_few_conversations_are_not_noted(tmp_path: Path):
    table = Table(tmp_path)
    make_idle(tmp_path, CROWD - 1, now=NOW)
    table.beat()

    assert not (tmp_path / "memory/shared/.council/deadlines.json").exists()


def test_an_idle_heartbeat_loads_neither_the_machine_nor_what_reads_conversations(crowd: Crowd):
    crowd.settle()
    code = "import sys; from council.__main__ import run; run(['heartbeat']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=crowd.root,
        env={**crowd.environ, "COUNCIL_NOW": NOW.isoformat()},
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(done.stdout.split())
    assert "council.store.heartbeat.survey" in loaded
    assert not loaded & {
        "council.core.conversations.machine",
        "council.core.conversations.conversation",
        "council.operations.heartbeat.looks",
        "council.operations.heartbeat.queue",
        "council.store.conversations.conversations",
        "council.store.conversations.views",
        "council.store.conversations.naming",
    }


# --- what is opened again --------------------------------------------------------------------


def test_edit_in_place_of_the_same_size_is_seen(crowd: Crowd, one: str):
    crowd.settle()
    data = crowd.live(one).read_bytes()
    with crowd.live(one).open("r+b") as file:
        file.write(data.replace(b"What becomes", b"Who becomes?", 1))

    assert crowd.opened() == {one}
    assert crowd.read(one).topic.startswith("Who becomes?")


def test_what_was_changed_just_before_the_look_is_opened_once_more(crowd: Crowd, one: str):
    """A second change within the same tick of the clock would leave the same stamp."""
    soon_ns = time.time_ns() + 10 * 10**9
    for name in crowd.names:
        os.utime(crowd.live(name), ns=(soon_ns, soon_ns))
    crowd.beat()

    assert crowd.opened() == set(crowd.names)
    assert not crowd.report.changed
    crowd.settle()
    assert crowd.opened() == set()


def test_file_that_was_replaced_by_its_like_is_opened(crowd: Crowd, one: str):
    crowd.settle()
    copy = crowd.root / "copy.md"
    copy.write_bytes(crowd.live(one).read_bytes())
    copy.replace(crowd.live(one))

    assert crowd.opened() == {one}
    assert not crowd.report.changed


def test_journal_that_went_on_without_its_file_is_seen(crowd: Crowd, one: str):
    folder = crowd.live(one).parent / ".council" / crowd.read(one).conversation_id
    crowd.settle()
    line = (folder / "revisions.jsonl").read_bytes().splitlines(keepends=True)[-1]
    with (folder / "revisions.jsonl").open("ab") as file:
        file.write(line)

    assert crowd.opened() == {one}


def test_missing_file_is_put_back(crowd: Crowd, one: str):
    crowd.settle()
    crowd.live(one).unlink()

    assert crowd.opened() == {one}
    assert crowd.live(one).exists()


def test_deadline_that_passes_is_met(crowd: Crowd, one: str):
    crowd.change(one, lambda state: setattr(state, "timeout_at", NOW + HOUR))
    crowd.settle()

    assert crowd.opened(HOUR - SECOND) == set()
    assert crowd.opened(SECOND) == {one}
    assert [(seen.name, seen.moved_to) for seen in crowd.report.conversations] == [
        (one, "CHALLENGE")
    ]


def test_lease_that_is_over_is_seen(crowd: Crowd, one: str):
    def lease(state: Conversation) -> None:
        for task in state.tasks.values():
            task.driver, task.ends_at = "command", NOW + 5 * MINUTE

    crowd.change(one, lease)
    crowd.settle()

    assert crowd.opened(4 * MINUTE) == {one}, "its processes may have gone"
    assert crowd.events("task.lost") == []
    assert crowd.opened(MINUTE) == {one}
    assert len(crowd.events("task.lost")) == len(AGENTS)


def test_pause_after_a_failure_ends(crowd: Crowd, one: str):
    def fail(state: Conversation) -> None:
        for task in state.tasks.values():
            task.state, task.at = TaskState.F, NOW

    crowd.change(one, fail)
    crowd.settle()

    assert crowd.opened(9 * SECOND) == set()
    assert crowd.opened(SECOND) == {one}
    assert sorted(crowd.report.conversations[0].woken) == sorted(AGENTS)


def test_other_pauses_in_the_settings_hold_at_once(crowd: Crowd, one: str):
    def fail(state: Conversation) -> None:
        for task in state.tasks.values():
            task.state, task.at = TaskState.F, NOW

    crowd.change(one, fail)
    crowd.settle()
    settings = crowd.root / "council.toml"
    settings.write_text('retry_backoff = ["1s"]\n' + settings.read_text())

    assert crowd.opened(2 * SECOND) == set(crowd.names)
    assert crowd.report.changed


def test_who_waits_under_a_halt_is_looked_at_until_it_is_over(crowd: Crowd):
    crowd.settle()
    halt(crowd.place)
    crowd.convene(name="late", agents=AGENTS)
    crowd.settle()

    assert crowd.opened() == {"late"}
    assert crowd.report.halted
    assert not crowd.report.changed
    resume_all(crowd.place)
    all_is_quiet()
    started = [one["agentId"] for one in crowd.events("task.started")]
    assert sorted(started[-2:]) == sorted(AGENTS)
    crowd.settle()
    assert crowd.opened() == set()


def test_who_is_paused_never_is_due_and_goes_on_when_resumed(crowd: Crowd, one: str):
    pause(crowd.place, one)
    crowd.settle()
    crowd.now += timedelta(days=29)
    assert crowd.opened() == set()

    resume(crowd.place, one)
    all_is_quiet()
    assert crowd.opened() == {one}


def test_new_conversation_under_the_name_of_an_ended_one_is_opened(crowd: Crowd, one: str):
    crowd.settle()
    first = crowd.read(one).conversation_id
    cancel(crowd.place, one)
    crowd.convene(name=one, agents=AGENTS)

    assert crowd.opened() == {one}
    (seen,) = [seen for seen in crowd.report.everything() if seen.name == one]
    assert seen.conversation_id == crowd.read(one).conversation_id != first


def test_ended_conversation_is_not_reported_any_more(crowd: Crowd, one: str):
    crowd.settle()
    cancel(crowd.place, one)

    assert crowd.opened() == set()
    assert one not in [seen.name for seen in crowd.report.everything()]
    assert one not in json.loads(crowd.note.read_bytes().partition(b"\n")[2])[0]


def test_clock_that_was_set_back_is_not_trusted(crowd: Crowd):
    crowd.settle()

    assert crowd.opened(-HOUR) == set(crowd.names)
    crowd.settle()
    assert crowd.opened() == set()
    assert crowd.opened(2 * HOUR) == set()


def test_copy_of_the_whole_workspace_is_looked_at_anew(crowd: Crowd, tmp_path: Path):
    crowd.settle()
    subprocess.run(["cp", "-a", str(crowd.root), str(tmp_path / "copy")], check=True)
    crowd.root = tmp_path / "copy"

    assert crowd.opened() == set(crowd.names)


def test_nothing_is_noted_where_other_machines_write(crowd: Crowd):
    settings = crowd.root / "council.toml"
    settings.write_text("force_network_fs = true\n" + settings.read_text())
    crowd.beat()

    assert not crowd.note.exists()
    assert crowd.opened() == set(crowd.names)


# --- the note itself -------------------------------------------------------------------------


def _torn(note: Path) -> None:
    data = note.read_bytes()
    note.write_bytes(data[: len(data) * 2 // 3])


def _newer(note: Path) -> None:
    head, _, body = note.read_bytes().partition(b"\n")
    said = json.loads(head)
    said["of"][0] += 1
    note.write_bytes(json.dumps(said).encode() + b"\n" + body)


def _a_folder(note: Path) -> None:
    note.unlink()
    note.mkdir()


def _a_pipe(note: Path) -> None:
    note.unlink()
    os.mkfifo(note)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "torn": _torn,
    "empty": lambda note: note.write_bytes(b""),
    "garbage": lambda note: note.write_bytes(bytes(range(256)) * 9),
    "one letter": lambda note: note.write_bytes(
        note.read_bytes().replace(b'"2026-03', b'"2027-03', 1)
    ),
    "deep": lambda note: note.write_bytes(b"[" * 99999),
    "newer": _newer,
    "folder": _a_folder,
    "pipe": _a_pipe,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_note_that_cannot_be_used_is_as_good_as_none(
    crowd: Crowd, one: str, damage: Callable[[Path], object]
):
    crowd.change(one, lambda state: setattr(state, "timeout_at", NOW + HOUR))
    whole = crowd.settle().beat().to_record()
    damage(crowd.note)

    assert crowd.opened() == set(crowd.names)
    assert crowd.report.to_record() == whole
    assert [seen.moved_to for seen in crowd.beat(HOUR).conversations if seen.changed] == [
        "CHALLENGE"
    ]


def test_what_a_killed_heartbeat_left_is_no_obstacle(crowd: Crowd):
    left = crowd.note.with_name("deadlines.json.new")
    left.write_bytes(b"half of it")
    os.utime(left, (1, 1))
    crowd.beat()

    assert crowd.note.exists()
    assert not left.exists()


def test_dry_run_and_a_heartbeat_for_one_note_nothing(crowd: Crowd, one: str):
    beat(crowd.place, dry_run=True)
    beat(crowd.place, one)

    assert not crowd.note.exists()


def test_waiting_for_one_of_the_crowd_ends_when_it_does(crowd: Crowd, one: str):
    crowd.settle()
    cancel(crowd.place, one)
    crowd.convene(name="late", agents=AGENTS)

    _, timed_out = wait(crowd.place, "late", timedelta(seconds=0.3), lambda line: None)

    assert timed_out


# --- the report ------------------------------------------------------------------------------


@pytest.fixture
def mixed(crowd: Crowd) -> Iterator[Crowd]:
    """A crowd in which not all are idle: some have answered, some are broken."""
    names = iter(crowd.names)
    respond(crowd.place, next(names), AGENTS[0], "Sealed.")
    pause(crowd.place, next(names))
    challenged, overdue, finished, edited, broken = (next(names) for _ in range(5))
    for agent in AGENTS:
        respond(crowd.place, challenged, agent, "Yes.")
    all_is_quiet()
    halt(crowd.place)
    crowd.convene(name="queued", agents=AGENTS)
    crowd.settle()
    crowd.change(overdue, lambda state: setattr(state, "timeout_at", NOW - HOUR))
    crowd.change(finished, lambda state: setattr(state, "finished_at", NOW))
    text = crowd.live(edited).read_text(encoding="utf-8")
    crowd.live(edited).write_text(text.replace("What becomes", "Who becomes?", 1))
    folder = crowd.live(broken).parent / ".council" / crowd.read(broken).conversation_id
    (folder / "revisions.jsonl").unlink()
    crowd.live(broken).write_text("<!--council-state\n{]\n-->\n")
    yield crowd


def test_report_is_the_same_with_the_note_and_without(mixed: Crowd):
    def looked() -> Report:
        return beat(mixed.place, dry_run=True)

    with_note = looked()
    mixed.note.unlink()
    without = looked()

    assert len(with_note.idle) >= CROWD - 6
    assert without.idle == []
    assert with_note.to_record() == without.to_record()
    assert with_note.to_text() == without.to_text()
    assert [name for name, _ in with_note.errors] == [mixed.names[6]]
    names = [seen.name for seen in without.conversations]
    assert names == sorted(names)


def test_report_of_two_heartbeats_holds_what_the_first_did(crowd: Crowd, one: str):
    crowd.change(one, lambda state: setattr(state, "timeout_at", NOW + HOUR))
    crowd.settle()
    whole = crowd.beat(HOUR)
    crowd.settle()
    later = crowd.beat()
    assert len(later.idle) == len(crowd.names)

    whole.take_over(later)

    assert [(seen.name, seen.moved_to) for seen in whole.everything() if seen.changed] == [
        (one, "CHALLENGE")
    ]
    assert [seen.name for seen in whole.everything()] == sorted(crowd.names)
