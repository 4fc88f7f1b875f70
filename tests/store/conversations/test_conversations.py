"""Conversations on the disk: written by many, killed at any moment, edited by anybody."""

from __future__ import annotations

import errno
import gc
import hashlib
import os
import shutil
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.conversations.answers import respond
from council.core.conversations.conversation import Conversation, Step
from council.core.errors import (
    AlreadyAnsweredError,
    ConflictError,
    CouncilError,
    InvalidStateError,
    NewerVersionError,
    NotFoundError,
    RefusedError,
    StorageError,
)
from council.core.events import Event
from council.store.conversations import naming
from council.store.conversations.conversations import Conversations
from council.store.documents import live
from council.store.documents.journal import FILE
from council.store.paths import Workspace
from council.store.statefile import statefile
from tests.store.journals import damage, whole_texts
from tests.store.processes import at_call, die, fail, forked, status_of, together
from tests.store.rooms.samples import CONVERSATION_ID, FOUR, NOW, Room


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path).open()


def _loads(room: Room) -> Conversation:
    return statefile.load(room.live.read_text(), "the live file")[0]


# Opening


@pytest.mark.req("C0-002", "C0-034")
def test_a_new_conversation_lies_in_its_file_and_explains_its_folder(room: Room) -> None:
    assert room.live.is_file()
    assert room.conversations.names() == ["active"]
    assert (_loads(room).rev, room.read().topic) == (1, room.state.topic)
    assert "council" in (room.folder.parent / "README").read_text()
    assert sorted(path.name for path in room.folder.iterdir()) == [
        "conflicts",
        "displaced",
        "lock",
        FILE,
        "sealed",
    ]
    for own in ("lock", FILE):
        assert stat.S_IMODE((room.folder / own).stat().st_mode) == 0o600
    assert room.events() == ["conversation.opened"]


def test_an_open_name_is_not_opened_twice(room: Room) -> None:
    other = room.state.copy(conversation_id="7a2f3c1e-0000-4000-8000-000000000001")
    before = room.tree()
    with pytest.raises(ConflictError) as caught:
        room.conversations.create(other, now=NOW)
    assert caught.value.exit_code == 4
    assert room.tree() == before
    assert room.conversations.create(room.state, now=NOW).repeated
    room.conversations.create(other.copy(name="plan"), now=NOW)
    assert room.conversations.names() == ["active", "plan"]


def test_of_many_who_open_one_name_at_once_exactly_one_does(tmp_path: Path) -> None:
    def create(number: int) -> None:
        state = Room(tmp_path).state.copy(
            conversation_id=f"7a2f3c1e-0000-4000-8000-00000000000{number}"
        )
        try:
            Conversations(Workspace(str(tmp_path))).create(state, now=NOW)
        except ConflictError:
            raise SystemExit(4) from None

    statuses = together([lambda number=one: create(number) for one in range(6)])
    assert statuses.count(0) == 1
    room = Room(tmp_path)
    assert len(list(room.folder.parent.glob("7a2f*"))) == 1
    assert room.conversations.names() == ["active"]
    assert room.read().conversation_id[-1] == str(statuses.index(0))


def test_a_file_that_a_person_put_there_keeps_its_name(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.live.parent.mkdir(parents=True)
    room.live.write_text("# my own notes\n")
    with pytest.raises(ConflictError):
        room.open()
    assert room.live.read_text() == "# my own notes\n"


# Many at once


@pytest.mark.req("C0-077", "C0-044", "XC-002")
def test_eight_who_answer_at_once_lose_nothing(tmp_path: Path) -> None:
    agents = [f"agent{number}" for number in range(8)]
    room = Room(tmp_path, *agents).open()
    assert together([lambda agent=one: room.answer(agent) for one in agents]) == [0] * 8
    assert sorted(room.said()) == [(agent, f"{agent} says so.") for agent in agents]
    assert _loads(room).rev == 9


@pytest.mark.req("C0-077")
def test_forty_who_answer_at_once_twice_each_stand_there_once(tmp_path: Path) -> None:
    agents = [f"agent{number}" for number in range(40)]
    room = Room(tmp_path, *agents).open()

    def answer(agent: str) -> None:
        assert room.answer(agent).outcome == "recorded"
        assert room.answer(agent).repeated

    assert together([lambda agent=one: answer(agent) for one in agents]) == [0] * 40
    assert sorted(room.said()) == sorted((agent, f"{agent} says so.") for agent in agents)
    assert [one.rev for one in room.conversations.history("active")] == list(range(1, 42))
    assert room.events().count("contribution.recorded") == 40


@pytest.mark.req("XC-001")
def test_a_reader_never_sees_half_a_file_nor_an_older_one_again(tmp_path: Path) -> None:
    agents = [f"agent{number}" for number in range(12)]
    room = Room(tmp_path, *agents).open()

    def write() -> None:
        for agent in agents:
            room.answer(agent, "x" * 20_000)

    writer = forked(write)
    revisions = list[int]()
    while not revisions or revisions[-1] < 13:
        revisions.append(room.read().rev)
        assert _loads(room).rev <= 13
    assert status_of(writer) == 0
    assert revisions == sorted(revisions)


# The write path


def test_an_unchanged_file_is_not_touched(room: Room) -> None:
    room.answer("henry")
    before = room.tree()
    assert not room.touch().changed
    assert room.answer("henry").repeated
    moved = room.conversations.edit(
        "active",
        lambda state: Step(state=state.copy(updated_at=NOW + timedelta(days=1), rev=77)),
        now=NOW + timedelta(days=1),
    )
    assert (moved.changed, moved.state.rev) == (False, 2)
    assert room.tree() == before
    assert (room.folder / "lock").read_bytes() == b""


def test_a_name_that_is_written_anew_with_the_same_words_still_stands(room: Room) -> None:
    pointer = room.folder.parent / "open" / "active"
    known = naming.pointer_of(room.workspace, "active")

    text = pointer.read_bytes()
    pointer.unlink()
    pointer.write_bytes(text)

    assert naming.pointer_of(room.workspace, "active") == known
    pointer.write_bytes(b"another\n")
    assert naming.pointer_of(room.workspace, "active") != known
    pointer.unlink()
    assert naming.pointer_of(room.workspace, "active") != known


@pytest.mark.req("C0-042")
def test_the_same_operation_again_gets_the_stored_answer(room: Room) -> None:
    first = room.answer("henry", "Yes.")
    room.answer("sage", "No.")
    again = room.answer("henry", "Yes.")
    assert (first.repeated, again.repeated) == (False, True)
    assert (again.outcome, again.result) == ("recorded", first.result)
    assert again.events == first.events
    assert again.state.rev == 3
    with pytest.raises(AlreadyAnsweredError):
        room.answer("henry", "Perhaps.")
    assert len(room.said()) == 2


def test_a_refused_change_leaves_everything_as_it_was(room: Room) -> None:
    before = room.tree()
    with pytest.raises(CouncilError):
        room.answer("stranger")
    assert room.tree() == before


@pytest.mark.req("XC-008")
def test_a_change_that_cannot_be_noted_leaves_nothing_behind(room: Room) -> None:
    gc.collect()  # what other tests have left open is not closed in between
    before, open_before = room.tree(), os.listdir("/dev/fd")
    event = Event(type="edit.accepted", data={"new": object()})

    with pytest.raises(TypeError):
        room.conversations.edit(
            "active",
            lambda state: Step(state=state.copy(topic="Another"), events=[event]),
            now=NOW,
        )

    assert room.tree() == before
    assert os.listdir("/dev/fd") == open_before
    assert room.touch().changed is False


def test_events_of_a_change_that_changes_nothing_are_still_written(room: Room) -> None:
    before = room.live.read_bytes()
    room.conversations.edit(
        "active", lambda state: Step(state=state, events=[Event(type="guard.refused")]), now=NOW
    )
    assert room.live.read_bytes() == before
    assert room.events() == ["conversation.opened", "guard.refused"]


def test_mode_of_the_live_file_is_kept(room: Room) -> None:
    room.live.chmod(0o600)
    room.answer("henry")
    assert stat.S_IMODE(room.live.stat().st_mode) == 0o600


def test_a_conversation_nobody_opened_is_not_found(tmp_path: Path) -> None:
    room = Room(tmp_path)
    for call in (room.read, room.touch, lambda: room.conversations.history("active")):
        with pytest.raises(NotFoundError) as caught:
            call()
        assert caught.value.exit_code == 5
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("C0-034")
def test_reading_works_where_nothing_can_be_written(room: Room) -> None:
    room.answer("henry")
    for folder, _, _ in os.walk(room.root):
        os.chmod(folder, 0o555)
    lock = room.folder / "lock"
    lock.chmod(0)
    try:

        def read() -> None:
            if os.getuid() == 0:
                os.setuid(65534)
            assert len(room.read().entries) == 1
            assert room.conversations.names() == ["active"]
            with pytest.raises(RefusedError, match="ermission denied") as caught:
                room.answer("sage")
            assert caught.value.exit_code == 6

        # Folders of the test run itself may be closed to strangers.
        above = [parent for parent in room.root.parents if not parent.stat().st_mode & 0o001]
        modes = {parent: stat.S_IMODE(parent.stat().st_mode) for parent in above}
        for parent in above:
            parent.chmod(modes[parent] | 0o011)
        assert status_of(forked(read)) == 0
        for parent in above:
            parent.chmod(modes[parent])
    finally:
        for folder, _, _ in os.walk(room.root):
            os.chmod(folder, 0o755)


# Sealed texts


@pytest.mark.req("C0-048")
def test_a_sealed_answer_is_in_no_file_but_its_own(tmp_path: Path) -> None:
    room = Room(tmp_path, sealed_phases=True).open()
    room.answer("henry", "My secret position.", nonce="salt")
    holding = [path for path, facts in room.tree().items() if b"secret" in facts[0]]
    assert [Path(path).parent for path in holding] == [room.folder / "sealed"]
    assert stat.S_IMODE(Path(holding[0]).stat().st_mode) == 0o600
    assert stat.S_IMODE((room.folder / "sealed").stat().st_mode) == 0o700
    assert room.read().sealed == {}
    assert room.conversations.read("active", with_sealed=True).sealed["henry"].text == (
        "My secret position."
    )
    seen = list[Conversation]()
    room.conversations.edit(
        "active", lambda state: (seen.append(state), Step(state=state))[1], now=NOW
    )
    assert list(seen[0].sealed) == ["henry"]


def _refuse_to_open(ending: str) -> None:
    real = os.open

    def opening(path: str, *given: int, **options: int) -> int:
        if str(path).endswith(ending):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return real(path, *given, **options)

    os.open = opening


@pytest.mark.req("C0-077", "XC-001")
def test_a_sealed_text_that_cannot_be_read_now_is_not_taken_for_lost(tmp_path: Path) -> None:
    room = Room(tmp_path, "henry", "sage", sealed_phases=True).open()
    room.answer("henry", "One.", nonce="x")
    before = room.tree()

    def answer_from_a_failing_disk() -> None:
        _refuse_to_open(".json")
        with pytest.raises(StorageError, match=r"cannot read .*json"):
            room.answer("sage", "Two.", nonce="y")

    assert status_of(forked(answer_from_a_failing_disk)) == 0
    assert room.tree() == before
    room.answer("sage", "Two.", nonce="y")
    held = room.conversations.read("active", with_sealed=True).sealed
    assert {agent: one.text for agent, one in held.items()} == {"henry": "One.", "sage": "Two."}


def test_a_sealed_file_that_was_altered_or_lost_is_left_out(tmp_path: Path) -> None:
    room = Room(tmp_path, sealed_phases=True).open()
    room.answer("henry", "One.", nonce="a")
    room.answer("sage", "Two.", nonce="b")
    one, two = sorted(
        (room.folder / "sealed").iterdir(), key=lambda path: b"Two" in path.read_bytes()
    )
    one.write_bytes(one.read_bytes().replace(b"One.", b"Eno."))
    assert list(room.conversations.read("active", with_sealed=True).sealed) == ["sage"]
    two.unlink()
    assert room.conversations.read("active", with_sealed=True).sealed == {}


# Killed


def _killed_everywhere(room: Room, root: Path, work: str) -> int:
    """Kill an answer at each of its calls; retry, and see that it stands exactly once."""
    template = root.with_name("template")
    shutil.copytree(root, template)
    number = 0
    while True:
        number += 1
        shutil.rmtree(root)
        shutil.copytree(template, root)

        def answer(at: int = number) -> None:
            at_call(at, die)
            room.answer("henry", work)

        status = status_of(forked(answer))
        seen = room.read()
        assert [entry.text for entry in seen.entries if entry.agent == "henry"] in ([], [work])
        assert statefile.parse(room.live.read_text()).complete
        # Another one comes first, then the retry.
        room.answer("sage")
        room.answer("henry", work)
        texts = room.said()
        assert texts.count(("henry", work)) == 1
        assert texts.count(("sage", "sage says so.")) == 1
        assert _loads(room) == room.read()
        assert room.events().count("contribution.recorded") == len(texts)
        history = [one.rev for one in room.conversations.history("active")]
        assert history == list(range(1, len(history) + 1))
        if status == 0:
            shutil.rmtree(template)
            return number


@pytest.mark.req("XC-001", "C0-077")
def test_killed_at_any_call_and_retried_an_answer_stands_exactly_once(tmp_path: Path) -> None:
    root = tmp_path / "root"
    room = Room(root).open()
    assert _killed_everywhere(room, root, "Yes.") > 15


@pytest.mark.req("XC-001")
def test_killed_at_any_call_while_a_persons_edit_waits_nothing_is_lost(tmp_path: Path) -> None:
    root = tmp_path / "root"
    room = Room(root).open()
    room.answer("nova")
    room.edit_by_hand(lambda text: text.replace("weather bot?", "weather station?"))
    assert _killed_everywhere(room, root, "Yes.") > 20
    assert room.read().topic == "Should we build a weather station?"


@pytest.mark.long
@pytest.mark.req("XC-001")
def test_killed_at_any_call_a_conversation_is_open_or_not(tmp_path: Path) -> None:
    number = 0
    while True:
        number += 1
        room = Room(tmp_path / str(number))

        def create(at: int = number, room: Room = room) -> None:
            room.root.mkdir()
            at_call(at, die)
            room.open()

        status = status_of(forked(create))
        if room.conversations.names():
            assert room.read().topic == room.state.topic
        else:
            other = room.state.copy(conversation_id="7a2f3c1e-0000-4000-8000-000000000001")
            room.conversations.create(other, now=NOW)
        room.answer("henry")
        assert len(_loads(room).entries) == 1
        if status == 0:
            break
    assert number > 30


@pytest.mark.req("XC-001")
def test_two_hundred_writes_killed_in_the_middle_leave_a_file_that_parses(tmp_path: Path) -> None:
    agents = [f"agent{number}" for number in range(200)]
    room = Room(tmp_path, *agents).open()
    reading, writing = os.pipe()

    def write() -> None:
        for agent in agents:
            room.answer(agent)
            os.write(writing, b".")

    for part in (20, 40):
        child = forked(write)
        told = 0
        while told < part:
            told += len(os.read(reading, 1))
        os.kill(child, 9)
        status_of(child)
        assert len(_loads(room).entries) >= part - 1
        assert len(room.read().entries) >= part


# A disk that fails


@pytest.mark.long
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_error_at_any_call_is_said_and_a_retry_succeeds(tmp_path: Path, code: int) -> None:
    root, template = tmp_path / "root", tmp_path / "template"
    room = Room(root).open()
    shutil.copytree(root, template)
    number, silent = 0, 0
    while True:
        number += 1
        shutil.rmtree(root)
        shutil.copytree(template, root)

        def answer(at: int = number) -> None:
            gc.disable()  # what other tests have left open is not closed in between
            open_before = os.listdir("/dev/fd")
            at_call(at, fail(code))
            try:
                room.answer("henry", "Yes.")
            except CouncilError as error:
                assert os.strerror(code) in error.message
                assert str(root) in error.message
                assert os.listdir("/dev/fd") == open_before
                os._exit(3)

        status = status_of(forked(answer))
        assert status in (0, 3)
        assert room.said() in ([], [("henry", "Yes.")])
        if status and not room.said():
            assert not list((room.folder / "displaced").glob("new-*"))
        assert statefile.parse(room.live.read_text()).complete
        if status == 0:
            assert room.said() == [("henry", "Yes.")]
            silent += 1
        room.answer("henry", "Yes.")
        assert room.said() == [("henry", "Yes.")]
        if silent > 8:  # the lock's words for people, the tidying up, then the end
            break
    assert number > 20


# Other hands


@pytest.mark.req("C0-078")
def test_what_a_person_saves_becomes_a_revision_of_its_own(room: Room) -> None:
    theirs = room.edit_by_hand(lambda text: text.replace("weather bot?", "rain gauge?"))
    assert room.read().topic == "Should we build a rain gauge?"
    assert room.live.read_text() == theirs
    room.answer("henry")
    assert (_loads(room).topic, room.said()) == (
        "Should we build a rain gauge?",
        [("henry", "henry says so.")],
    )
    history = room.conversations.history("active")
    assert [one.actor for one in history] == ["tests", "external", "henry"]
    assert room.conversations.foreign_text_at("active", 2) == theirs
    assert "edit.accepted" in room.events() or "topic.changed" in room.events()


def test_a_save_by_rename_in_the_moment_of_the_exchange_is_taken_in(tmp_path: Path) -> None:
    room = Room(tmp_path).open()
    room.answer("sage")

    def answer() -> None:
        real = live.exchange

        def exchange(one: str, other: str) -> bool:
            mine = room.live.with_name("editor.tmp")
            mine.write_text(room.live.read_text().replace("weather bot?", "sun dial?"))
            mine.rename(room.live)
            return real(one, other)

        live.exchange = exchange
        room.answer("henry")

    assert status_of(forked(answer)) == 0
    room.touch()
    assert room.read().topic == "Should we build a sun dial?"
    assert room.said() == [("sage", "sage says so."), ("henry", "henry says so.")]


def test_where_files_cannot_be_exchanged_a_link_and_a_rename_do(tmp_path: Path) -> None:
    agents = [f"agent{number}" for number in range(8)]
    room = Room(tmp_path, *agents).open()

    def answer(agent: str) -> None:
        live.exchange = lambda _one, _other: False
        room.answer(agent)
        room.answer(agent)

    first = room.live.read_text()
    with room.live.open("r+") as slow:
        assert together([lambda agent=one: answer(agent) for one in agents]) == [0] * 8
        slow.write(first.replace("weather bot?", "wind sock?"))
        slow.truncate()
    room.touch()
    assert sorted(agent for agent, _ in room.said()) == agents
    assert room.read().topic == "Should we build a wind sock?"


@pytest.mark.req("C0-078")
def test_a_save_that_was_seen_half_done_is_not_taken_in_twice(room: Room) -> None:
    line = "A thought of mine.\n\nAnd another one.\n"
    text = room.live.read_text().replace("\n## Participants", f"\n{line}\n## Participants")
    half = text.index("And another")
    with room.live.open("w") as slow:
        slow.write(text[:half])
        slow.flush()
        room.answer("henry")
        assert room.live.read_text().count("A thought of mine.") == 1
        room.edit_by_hand(
            lambda now: now.replace("A thought of mine.", "Somebody else's.\n\nA thought of mine.")
        )
        room.answer("sage")
        slow.write(text[half:])
    room.touch()
    text = room.live.read_text()
    for said in ("A thought of mine.", "And another one.", "Somebody else's."):
        assert text.count(said) == 1, said
    assert [agent for agent, _ in room.said()] == ["henry", "sage"]


@pytest.mark.req("C0-077", "C0-078")
@pytest.mark.parametrize("how", ["rename", "in place", "in two steps"])
def test_a_person_who_saves_while_agents_answer_loses_nothing(tmp_path: Path, how: str) -> None:
    agents = [f"agent{number}" for number in range(16)]
    room = Room(tmp_path, *agents).open()

    def edit() -> None:
        for number in range(8):
            text = room.live.read_text()
            while not statefile.parse(text).complete:
                text = room.live.read_text()
            line = f"A thought of mine, number {number}."
            text = text.replace("\n## Participants", f"\n{line}\n\n## Participants")
            if how == "rename":
                mine = tmp_path / "memory" / "shared" / ".council.md.swp"
                mine.write_text(text)
                mine.rename(room.live)
            elif how == "in place":
                room.live.write_text(text)
            else:
                with room.live.open("w") as file:
                    file.write(text[: len(text) // 2])
                    file.flush()
                    os.sched_yield()
                    file.write(text[len(text) // 2 :])

    def answer(group: list[str]) -> None:
        for agent in group:
            assert room.answer(agent).outcome == "recorded"

    groups = [agents[:8], agents[8:]]
    works = [edit, *(lambda group=one: answer(group) for one in groups)]
    assert together(works) == [0, 0, 0]
    room.touch()
    assert sorted(agent for agent, _ in room.said()) == sorted(agents)
    assert _loads(room).entries == room.read().entries
    text = room.live.read_text()
    kept = "".join(path.read_text() for path in (room.folder / "conflicts").iterdir())
    for number in range(8):
        line = f"A thought of mine, number {number}."
        assert text.count(line) == 1 or line in kept, line


@pytest.mark.parametrize("dated_s", [None, -315_619_200], ids=["now", "before 1970"])
def test_what_is_written_through_an_old_descriptor_is_taken_in(
    room: Room, dated_s: int | None
) -> None:
    text = room.live.read_text()
    if dated_s is not None:
        os.utime(room.live, (dated_s, dated_s))
    with room.live.open("r+") as slow:
        room.answer("henry")
        room.answer("sage")
        slow.write(text.replace("weather bot?", "wind sock?"))
        slow.truncate()
    room.touch()
    assert room.read().topic == "Should we build a wind sock?"
    assert [agent for agent, _ in room.said()] == ["henry", "sage"]
    before = room.tree()
    room.touch()
    assert room.tree() == before


def test_what_a_newer_council_wrote_too_late_is_kept_and_stops_nobody(room: Room) -> None:
    text = room.live.read_text().replace('"schemaVersion": 1', '"schemaVersion": 99')
    with room.live.open("r+") as slow:
        room.answer("henry")
        assert not room.conversations.must_settle(room.conversations.page("active"))
        slow.write(text)
        slow.truncate()
    assert room.conversations.must_settle(room.conversations.page("active"))
    room.answer("sage")
    assert [agent for agent, _ in room.said()] == ["henry", "sage"]
    assert room.events().count("edit.refused") == 1
    assert any(text in path.read_text() for path in (room.folder / "conflicts").iterdir())
    assert not room.conversations.must_settle(room.conversations.page("active"))


def test_what_is_still_being_written_through_an_old_descriptor_is_waited_for(room: Room) -> None:
    text = room.live.read_text().replace("weather bot?", "wind sock?")
    with room.live.open("w") as slow:
        slow.write(text[:300])
        slow.flush()
        room.answer("henry")
        slow.write(text[300:])
    room.touch()
    assert room.read().topic == "Should we build a wind sock?"
    assert room.said() == [("henry", "henry says so.")]


def test_a_file_put_back_to_an_older_revision_is_not_undone_in_silence(room: Room) -> None:
    oldest = room.live.read_text()
    room.answer("henry")
    for number, agent in enumerate(("sage", "nova"), 1):
        older = room.live.read_text()
        room.answer(agent)
        for text in (older, oldest):
            room.live.write_text(text)
            assert len(room.said()) == number + 1
            room.touch()
            assert len(_loads(room).entries) == number + 1
    assert room.events().count("edit.reverted") == 4


def test_adopt_takes_the_file_as_it_stands(room: Room) -> None:
    older = room.live.read_text()
    room.answer("henry")
    room.live.write_text(older.replace("weather bot?", "barometer?"))
    room.conversations.adopt("active", now=NOW)
    state = _loads(room)
    assert (state.entries, state.rev, state.topic) == ([], 3, "Should we build a barometer?")
    assert "conversation.adopted" in room.events()
    room.live.write_text("nothing of use\n")
    with pytest.raises(InvalidStateError):
        room.conversations.adopt("active", now=NOW)


def test_restore_makes_an_older_revision_the_newest(room: Room) -> None:
    room.answer("henry")
    room.answer("sage")
    room.conversations.restore("active", 2, now=NOW)
    assert (_loads(room).rev, [agent for agent, _ in room.said()]) == (4, ["henry"])
    assert "sage says so." in room.conversations.text_at("active", 3)
    with pytest.raises(NotFoundError):
        room.conversations.restore("active", 99, now=NOW)


def test_other_line_ends_are_no_edit_and_stay_until_the_next_change(room: Room) -> None:
    room.answer("henry")
    room.live.write_bytes(b"\xef\xbb\xbf" + room.live.read_bytes().replace(b"\n", b"\r\n"))
    before = room.tree()
    assert not room.touch().changed
    assert room.tree() == before
    room.answer("sage")
    assert len(_loads(room).entries) == 2


# Salvage


@pytest.mark.parametrize("rest", [0, 1, 100, 700])
def test_an_emptied_or_cut_file_is_published_again(room: Room, rest: int) -> None:
    room.answer("henry")
    whole = room.live.read_bytes()
    room.live.write_bytes(whole[:rest])
    assert room.said() == [("henry", "henry says so.")]
    room.touch()
    assert _loads(room).entries == room.read().entries
    assert len(room.said()) == 1


def test_a_deleted_file_is_published_again(room: Room) -> None:
    room.answer("henry")
    whole = room.live.read_bytes()
    room.live.unlink()
    assert room.conversations.names() == ["active"]
    assert room.said() == [("henry", "henry says so.")]
    room.touch()
    assert room.live.read_bytes() == whole
    assert "file.restored" in room.events()


def test_a_broken_state_block_is_rebuilt_and_kept(room: Room) -> None:
    room.answer("henry")
    room.edit_by_hand(lambda text: text.replace('"schemaVersion"', '"schema', 1))
    room.touch()
    assert _loads(room).entries[0].text == "henry says so."
    kept = [path.read_text() for path in (room.folder / "conflicts").iterdir()]
    assert any('"schema' in text for text in kept)


def test_marks_that_were_removed_are_put_back(room: Room) -> None:
    room.answer("henry")
    room.edit_by_hand(lambda text: text.replace("<!--council:end-->\n", ""))
    room.touch()
    assert room.said() == [("henry", "henry says so.")]
    assert _loads(room).brief == room.state.brief


def test_a_torn_journal_is_cut_to_the_last_good_line(room: Room) -> None:
    room.answer("henry")
    journal = room.folder / FILE
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"sum":"0","head":{"rev":3,"par')
    room.answer("sage")
    assert [one.rev for one in room.conversations.history("active")] == [1, 2, 3]
    assert b'"par{' not in journal.read_bytes()
    assert len(room.said()) == 2


def test_lines_of_a_journal_that_were_altered_are_kept_apart(room: Room) -> None:
    room.answer("henry")
    damage(room.folder, b'"by":"henry"', b'"by":"sage"')
    for _ in range(2):
        assert room.said() == [("henry", "henry says so.")]
        room.touch()
    assert [one.rev for one in room.conversations.history("active")] == [1, 2]
    assert room.events().count("journal.behind") == 1
    kept = [path.read_text() for path in (room.folder / "conflicts").iterdir()]
    assert any('"by":"sage"' in text for text in kept)


@pytest.mark.req("C0-001")
def test_without_its_folder_a_file_goes_on_from_itself(room: Room) -> None:
    room.answer("henry")
    shutil.rmtree(room.folder.parent)
    assert room.said() == [("henry", "henry says so.")]
    assert room.conversations.names() == ["active"]
    room.answer("sage")
    state = _loads(room)
    assert (state.rev, state.conversation_id) == (3, CONVERSATION_ID)
    assert [entry.agent for entry in state.entries] == ["henry", "sage"]
    assert "history.lost" in room.events()


def test_a_lost_journal_alone_is_begun_anew_with_a_warning(room: Room) -> None:
    room.answer("henry")
    (room.folder / FILE).unlink()
    room.touch()
    assert room.said() == [("henry", "henry says so.")]
    assert [one.rev for one in room.conversations.history("active")] == [2]
    assert "history.lost" in room.events()


def test_a_text_that_is_not_what_was_written_is_never_used(room: Room) -> None:
    room.answer("henry")
    damage(room.folder, b'"whole":"# Active', b'"whole":"# Actual')
    room.answer("sage")  # the live file is good: no earlier text is needed
    room.live.unlink()
    for call in (room.read, room.touch):
        with pytest.raises((InvalidStateError, NotFoundError), match="revision"):
            call()


@pytest.mark.req("XC-001")
@pytest.mark.parametrize(
    "left",
    [b"\nhalf a li", bytes(4000), b"\nhalf a li" + bytes(900)],
    ids=["torn", "zeros", "both"],
)
def test_a_text_that_a_power_cut_left_torn_before_its_commit_is_nobody_s_edit(
    room: Room, left: bytes
) -> None:
    room.answer("henry")
    never = hashlib.sha256(b"a revision whose journal line never came").hexdigest()
    torn = room.folder / "displaced" / f"new-{never}-0123456789abcdef"
    torn.write_bytes(room.live.read_bytes()[:400] + left)
    long_ago = torn.stat().st_mtime - 3600  # its writer is gone
    os.utime(torn, (long_ago, long_ago))
    before = room.live.read_bytes()

    room.touch()

    assert room.live.read_bytes() == before
    assert list((room.folder / "conflicts").iterdir()) == []
    room.answer("sage")
    assert [agent for agent, _ in room.said()] == ["henry", "sage"]
    assert "half a li" not in room.live.read_text()


@pytest.mark.req("C0-015")
def test_a_file_written_by_hand_is_taken_up(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.live.parent.mkdir(parents=True)
    room.live.write_text(
        "# Active conversation: A boat?\n\n## Metadata\n- Mode: debate\n"
        "- Created: 2026-02-08T20:00:00Z\n- Timeout: 2026-02-08T21:00:00Z\n\n"
        "## Brief (immutable)\nShall we buy one?\n\n"
        "## Participants\n- 🦉 Henry (agent:henry): RESPONDED\n- Sage (agent:sage): WAITING\n\n"
        "## Responses - Phase COLLECT\n### 🦉 Henry\n[Tour 1]: No.\n\n### Sage\n\n"
    )
    original = room.live.read_text()
    assert room.said() == [("henry", "No.")]
    assert room.live.read_text() == original
    assert not (room.live.parent / ".council").exists()
    room.answer("sage", "Yes.", nonce="y")
    state = room.conversations.read("active", with_sealed=True)
    assert (state.topic, state.brief) == ("A boat?", "Shall we buy one?")
    assert [entry.text for entry in state.entries] == ["No."]
    assert [one.text for one in state.sealed.values()] == ["Yes."]
    assert "conversation.imported" in room.events()
    first = room.conversations.history("active")[0]
    assert (first.rev, room.conversations.text_at("active", 0)) == (0, original)


def test_what_is_no_regular_file_is_refused_at_once(room: Room, tmp_path: Path) -> None:
    whole = room.live.read_bytes()
    target = tmp_path / "target"
    target.write_bytes(whole)

    def put(kind: str) -> None:
        room.live.unlink()
        if kind == "pipe":
            os.mkfifo(room.live)
        elif kind == "link":
            room.live.symlink_to(target)
        else:
            room.live.mkdir()

    for kind in ("pipe", "link", "folder"):
        put(kind)
        for call in (room.read, room.touch):
            with pytest.raises(InvalidStateError) as caught:
                call()
            assert caught.value.exit_code == 3
        if kind == "folder":
            room.live.rmdir()
            room.live.write_bytes(whole)
    room.answer("henry")


@pytest.mark.req("XC-009")
def test_a_link_on_the_way_to_the_folder_is_refused(room: Room, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    room.folder.rename(elsewhere)
    room.folder.symlink_to(elsewhere)
    for call in (room.read, room.touch):
        with pytest.raises(RefusedError) as caught:
            call()
        assert caught.value.exit_code == 6


@pytest.mark.req("XC-013")
def test_a_file_of_a_newer_version_is_read_and_never_written(room: Room) -> None:
    room.answer("henry")
    room.edit_by_hand(lambda text: text.replace('"schemaVersion": 1', '"schemaVersion": 2', 1))
    before = room.tree()
    view = room.conversations.page("active")
    assert (view.standing, view.state.schema_version) == ("newer", 2)
    assert [entry.text for entry in view.state.entries] == ["henry says so."]
    for call in (lambda: room.answer("sage"), room.touch):
        with pytest.raises(NewerVersionError) as caught:
            call()
        assert caught.value.exit_code == 3
    assert room.tree() == before


def test_a_copy_under_another_name_does_not_speak_for_the_original(room: Room) -> None:
    copy = room.live.with_name("council-plan-conversation.md")
    copy.write_bytes(room.live.read_bytes())
    with pytest.raises(InvalidStateError, match="copy"):
        room.conversations.edit("plan", lambda state: Step(state=state), now=NOW)
    room.answer("henry")
    assert len(room.said()) == 1


# The end


def _finished(room: Room) -> str:
    return room.conversations.close("active", "conseils/2026-02-08-bot", "the minutes", now=NOW)


@pytest.mark.req("C0-030", "C0-031")
def test_minutes_never_take_the_place_of_others(room: Room) -> None:
    path = _finished(room)
    assert path == str(room.root / "conseils" / "2026-02-08-bot.md")
    assert Path(path).read_text() == "the minutes"
    assert (room.live.exists(), room.conversations.names()) == (False, [])
    with pytest.raises(NotFoundError):
        room.touch()
    again = room.state.copy(conversation_id="7a2f3c1e-0000-4000-8000-000000000001")
    room.conversations.create(again, now=NOW)
    assert _finished(room).endswith("/2026-02-08-bot-2.md")
    assert Path(path).read_text() == "the minutes"
    assert "conversation.archived" in room.events()


@pytest.mark.req("XC-018")
def test_archiving_keeps_the_journal_one_snapshot_a_phase_and_what_was_not_merged(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path, sealed_phases=True).open()
    room.answer("henry", "One.", nonce="a")
    for phase in ("CHALLENGE", "RESOLVE"):
        for number in range(5):
            room.conversations.edit(
                "active",
                lambda state, phase=phase, number=number: Step(
                    state=state.copy(phase=phase, extra={"n": number}, sealed_phases=False)
                ),
                now=NOW,
            )
    room.edit_by_hand(lambda text: text.replace("The family asks", "Nobody asks"))
    room.touch()
    _finished(room)
    assert whole_texts(room.folder) == 3
    assert list((room.folder / "displaced").iterdir()) == []
    kept = [path.read_text() for path in (room.folder / "conflicts").iterdir()]
    assert any("Nobody asks" in text for text in kept)
    assert len(room.conversations.history(CONVERSATION_ID)) == 13


def _with_data(room: Room) -> str:
    data = f'{{"conversationId": "{CONVERSATION_ID}"}}'
    return room.conversations.close(
        "active", "conseils/2026-02-08-bot", "---\ndata: x\n---\n", now=NOW, data=data
    )


@pytest.mark.long
@pytest.mark.req("HR-027", "C0-031")
def test_killed_at_any_call_minutes_and_their_data_are_there_once(tmp_path: Path) -> None:
    root, template = tmp_path / "root", tmp_path / "template"
    room = Room(root).open()
    shutil.copytree(root, template)
    number, status = 0, 1
    while status:
        number += 1
        shutil.rmtree(root)
        shutil.copytree(template, root)

        def close(at: int = number) -> None:
            at_call(at, die)
            _with_data(room)

        status = status_of(forked(close))
        names = sorted(path.name for path in (root / "conseils").glob("2*"))
        assert names != ["2026-02-08-bot.md"], "minutes that are there have their data"
        if "active" in room.conversations.names():
            _with_data(room)
        names = sorted(path.name for path in (root / "conseils").glob("2*"))
        assert names == ["2026-02-08-bot.json", "2026-02-08-bot.md"], number
    assert number > 15


@pytest.mark.req("HR-027", "C0-031")
def test_data_of_others_are_never_replaced(room: Room) -> None:
    folder = room.root / "conseils"
    folder.mkdir(exist_ok=True)
    (folder / "2026-02-08-bot.json").write_text("mine")
    path = Path(_with_data(room))
    assert path.name == "2026-02-08-bot-2.md"
    assert path.read_text() == "---\ndata: 2026-02-08-bot-2.json\n---\n"
    assert (folder / "2026-02-08-bot.json").read_text() == "mine"


@pytest.mark.long
@pytest.mark.req("C0-031")
def test_killed_at_any_call_an_archive_is_finished_once(tmp_path: Path) -> None:
    root, template = tmp_path / "root", tmp_path / "template"
    room = Room(root).open()
    room.answer("henry")
    shutil.copytree(root, template)
    number = 0
    while True:
        number += 1
        shutil.rmtree(root)
        shutil.copytree(template, root)

        def close(at: int = number) -> None:
            at_call(at, die)
            _finished(room)

        status = status_of(forked(close))
        if "active" in room.conversations.names():
            room.answer("sage")
            later = "the minutes, a little later"
            room.conversations.close("active", "conseils/2026-02-08-bot", later, now=NOW)
        room.conversations.create(
            room.state.copy(conversation_id="7a2f3c1e-0000-4000-8000-000000000001"), now=NOW
        )
        assert [path.name for path in (root / "conseils").glob("*.md")] == ["2026-02-08-bot.md"]
        assert room.said() == []
        assert room.events().count("conversation.archived") == 1
        if status == 0:
            break
    assert number > 15


def test_a_save_after_the_end_is_kept_and_opens_nothing(room: Room) -> None:
    text = room.live.read_text()
    _finished(room)
    room.live.write_text(text.replace("weather bot?", "late idea?"))
    assert room.conversations.names() == []
    with pytest.raises(NotFoundError, match="has ended"):
        room.touch()
    assert not room.live.exists()
    kept = [path.read_text() for path in (room.folder / "conflicts").iterdir()]
    assert any("late idea?" in one for one in kept)


def test_a_change_sees_what_stands_and_cannot_change_it_by_accident(room: Room) -> None:
    def spoil(state: Conversation) -> Step:
        state.participants.clear()
        raise ConflictError("changed my mind")

    with pytest.raises(ConflictError):
        room.conversations.edit("active", spoil, now=NOW)
    assert tuple(room.read().participants) == FOUR
    assert respond(room.read(), "henry", "x", now=NOW).outcome == "recorded"
