"""What a live file can be: known by readers without a lock, and settled by the next writer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from council.store import events as event_log
from council.store import files
from council.store.documents import journal, live
from council.store.documents.journal import FILE
from council.store.statefile import statefile
from tests.store.boots import boot
from tests.store.processes import at_call, die, forked, status_of
from tests.store.rooms.samples import NOW, Room

_OURS = [("henry", "henry says so."), ("sage", "sage says so.")]


class AnsweredRoom(Room):
    """A room in which henry and sage have answered; `texts` are its first three revisions."""

    def open(self) -> AnsweredRoom:
        super().open()
        self.texts = [self.live.read_bytes()]
        for agent in ("henry", "sage"):
            self.answer(agent)
            self.texts.append(self.live.read_bytes())
        return self

    def tail_rev(self) -> int:
        tail = journal.read_tail(str(self.folder / FILE))
        return 0 if tail is None else tail.head["rev"]

    def published_rev(self) -> int:
        return statefile.load(self.live.read_text(), "the live file")[0].rev

    def conflicts(self) -> bytes:
        return b"\n".join(one.read_bytes() for one in (self.folder / "conflicts").iterdir())


def _leave(room: AnsweredRoom) -> None:
    pass


def _kill_between_line_and_exchange(room: AnsweredRoom) -> None:
    before, shown = room.tail_rev(), room.live.read_bytes()
    for number in range(1, 60):

        def answering(at: int = number) -> None:
            at_call(at, die)
            room.answer("nova")

        status_of(forked(answering))
        if room.tail_rev() > before:
            assert room.live.read_bytes() == shown
            return
    raise AssertionError("no kill fell between line and exchange")


def _lose_the_exchange_to_a_power_cut(room: AnsweredRoom) -> None:
    room.live.write_bytes(room.texts[1])
    boot(room.root)


def _check_out(room: AnsweredRoom) -> None:
    room.live.write_bytes(room.texts[1])


def _copy_an_older_file(room: AnsweredRoom) -> None:
    older = room.root / "backup.md"
    older.write_bytes(room.texts[0])
    os.utime(older, (1, 1))
    shutil.copy2(older, room.live)


def _remove(room: AnsweredRoom) -> None:
    room.live.unlink()


def _empty(room: AnsweredRoom) -> None:
    os.truncate(room.live, 0)


def _cut_by_a_power_cut(room: AnsweredRoom) -> None:
    os.truncate(room.live, 700)
    boot(room.root)


def _cut_since_the_boot(room: AnsweredRoom) -> None:
    os.truncate(room.live, 700)


def _zeros(room: AnsweredRoom) -> None:
    data = room.live.read_bytes()
    room.live.write_bytes(data[:600] + bytes(len(data) - 600))


def _zeros_that_a_power_cut_left(room: AnsweredRoom) -> None:
    _zeros(room)
    boot(room.root)


def _restore_an_older_control_folder(room: AnsweredRoom) -> None:
    aside = room.root / "aside"
    shutil.copytree(room.folder.parent, aside)
    room.answer("nova")
    shutil.rmtree(room.folder.parent)
    shutil.move(aside, room.folder.parent)


def _raise_rev(room: AnsweredRoom) -> None:
    room.edit_by_hand(lambda text: text.replace('"rev": 3', '"rev": 99'))


def _edit(room: AnsweredRoom) -> None:
    room.edit_by_hand(lambda text: text.replace("weather bot?", "wind sock?"))


def _edit_before_a_boot(room: AnsweredRoom) -> None:
    _edit(room)
    boot(room.root)


def _edit_with_a_torn_tail(room: AnsweredRoom) -> None:
    _edit(room)
    path = room.folder / FILE
    path.write_bytes(path.read_bytes() + b'{"sum":"0","head":{"v":2,"se')


def _edit_after_a_kill(room: AnsweredRoom) -> None:
    _kill_between_line_and_exchange(room)
    _edit(room)


def _kill_over_an_edit(room: AnsweredRoom) -> None:
    _edit(room)
    _kill_between_line_and_exchange(room)


def _save_the_same_again(room: AnsweredRoom) -> None:
    _edit(room)
    saved = room.live.read_bytes()
    room.touch()
    room.live.write_bytes(saved)


def _lose_the_journal(room: AnsweredRoom) -> None:
    (room.folder / FILE).unlink()


class Row(NamedTuple):
    """How a live file came about, what it is, and what the next writer makes of it."""

    come: Callable[[AnsweredRoom], None]
    standing: str
    events: list[str]
    rev: int = 3
    kept: str = ""
    topic: str = "weather bot"
    agents: str = "henry sage"


_ROWS = [
    Row(_leave, live.HEAD, []),
    Row(
        _kill_between_line_and_exchange,
        live.BEHIND,
        ["contribution.recorded"],
        rev=4,
        agents="henry sage nova",
    ),
    Row(_lose_the_exchange_to_a_power_cut, live.BEHIND, []),
    Row(_check_out, live.BACK, ["edit.reverted"]),
    Row(_copy_an_older_file, live.BACK, ["edit.reverted"]),
    Row(_save_the_same_again, live.BACK, ["edit.reverted"], rev=4, topic="wind sock"),
    Row(_remove, live.MISSING, ["file.restored"]),
    Row(_empty, live.DAMAGED, ["file.restored"]),
    Row(_cut_by_a_power_cut, live.DAMAGED, ["file.restored"], kept="power cut"),
    Row(_zeros, live.DAMAGED, ["file.restored"], kept="\0"),
    Row(_zeros_that_a_power_cut_left, live.DAMAGED, ["file.restored"], kept="\0"),
    Row(
        _restore_an_older_control_folder,
        live.AHEAD,
        ["journal.behind"],
        rev=4,
        agents="henry sage nova",
    ),
    Row(_raise_rev, live.EDITED, ["edit.refused"], rev=4),
    Row(_edit, live.EDITED, ["edit.accepted"], rev=4, topic="wind sock"),
    Row(_edit_before_a_boot, live.EDITED, ["edit.accepted"], rev=4, topic="wind sock"),
    Row(_edit_with_a_torn_tail, live.EDITED, ["edit.accepted"], rev=4, topic="wind sock"),
    Row(
        _edit_after_a_kill,
        live.EDITED,
        ["contribution.recorded", "edit.accepted"],
        rev=5,
        topic="wind sock",
        agents="henry sage nova",
    ),
    Row(
        _kill_over_an_edit,
        live.BEHIND,
        ["edit.accepted", "contribution.recorded"],
        rev=5,
        topic="wind sock",
        agents="henry sage nova",
    ),
    Row(_lose_the_journal, live.UNKNOWN, ["history.lost"]),
]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AnsweredRoom:
    monkeypatch.setattr(live, "started_ns", lambda: 0)
    return AnsweredRoom(tmp_path).open()


@pytest.mark.req("XC-001", "C0-034", "C0-078")
@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.come.__name__.strip("_"))
def test_a_reader_and_the_next_writer_take_a_live_file_for_the_same(
    room: AnsweredRoom, row: Row
) -> None:
    row.come(room)
    before, said = room.tree(), len(room.events())
    page = room.conversations.page("active", NOW)
    assert page.standing == row.standing
    assert [entry.agent for entry in page.state.entries] == row.agents.split()
    assert row.topic in page.state.topic
    assert room.tree() == before

    room.touch()
    state = statefile.load(room.live.read_text(), "the live file")[0]
    assert state.rev == room.tail_rev() == row.rev
    assert [entry.agent for entry in state.entries] == row.agents.split()
    assert row.topic in state.topic
    assert room.events()[said:] == row.events
    assert row.kept.encode() in room.conflicts()
    assert bool(row.kept) == bool(room.conflicts())
    assert room.conversations.page("active", NOW).standing == live.HEAD
    after = room.tree()
    room.touch()
    assert room.tree() == after


@pytest.mark.req("XC-001", "C0-078")
def test_a_reader_whom_an_exchange_overtakes_looks_again(
    room: AnsweredRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has read the old text, which by then is neither live nor about to give way."""
    _kill_between_line_and_exchange(room)
    read, passed = files.read_stable, []

    def overtaken(path: str) -> files.Reading | None:
        reading = read(path)
        if path == str(room.live) and not passed:
            passed.append(path)
            (prepared,) = (room.folder / "displaced").glob("new-*")
            prepared.rename(room.live)
        return reading

    monkeypatch.setattr(files, "read_stable", overtaken)
    page = room.conversations.page("active", NOW)

    assert passed
    assert page.standing == live.HEAD
    assert [entry.agent for entry in page.state.entries] == ["henry", "sage", "nova"]


def test_a_file_that_was_cut_since_the_boot_is_no_damage(room: AnsweredRoom) -> None:
    """A slow editor leaves such a file, too: what stands in it counts as its edit (C0-078)."""
    _cut_since_the_boot(room)
    assert room.conversations.page("active", NOW).standing == live.EDITED
    assert room.said() == _OURS
    room.touch()
    assert room.said() == _OURS


@pytest.mark.req("C0-078")
@pytest.mark.parametrize("come", [_check_out, _copy_an_older_file])
def test_a_step_back_is_taken_whole_by_adopt(
    room: AnsweredRoom, come: Callable[[AnsweredRoom], None]
) -> None:
    come(room)
    entries = statefile.load(room.live.read_text(), "the live file")[0].entries
    room.conversations.adopt("active", now=NOW)
    state = statefile.load(room.live.read_text(), "the live file")[0]
    assert (state.rev, state.entries) == (4, entries)
    assert room.events()[-1] == "conversation.adopted"


@pytest.mark.req("C0-078", "XC-008")
def test_adopt_says_what_a_writer_that_died_had_no_time_to_say(room: AnsweredRoom) -> None:
    _kill_between_line_and_exchange(room)
    assert room.events().count("contribution.recorded") == 2
    room.conversations.adopt("active", now=NOW)
    assert room.events().count("contribution.recorded") == 3


@pytest.mark.req("C0-078")
def test_nothing_is_lost_of_a_file_that_is_ahead_and_of_what_follows(room: AnsweredRoom) -> None:
    _restore_an_older_control_folder(room)
    room.answer("blaise")
    assert [agent for agent, _ in room.said()] == ["henry", "sage", "nova", "blaise"]
    assert [one.rev for one in room.conversations.history("active")] == [1, 2, 3, 4, 5]
    assert "nova says so." in room.conversations.text_at("active", 4)
    (behind,) = [one for one in _records(room) if one["type"] == "journal.behind"]
    assert (behind["data"]["rev"], behind["data"]["known"]) == (4, 3)


def _records(room: AnsweredRoom) -> list[dict]:
    return list(event_log.tail(room.workspace))


@pytest.mark.req("C0-078")
def test_a_number_that_was_set_by_hand_is_put_back_and_reported(room: AnsweredRoom) -> None:
    _raise_rev(room)
    room.touch()
    (refused,) = [one for one in _records(room) if one["type"] == "edit.refused"]
    assert refused["data"]["field"] == "rev"
    assert room.published_rev() == 4


@pytest.mark.req("C0-078")
def test_words_of_others_cannot_come_in_under_a_later_number_while_ours_are_dropped(
    room: AnsweredRoom, tmp_path: Path
) -> None:
    """An agent saves a file as we write it, of a later number and without henry's words."""
    (tmp_path / "elsewhere").mkdir()
    forger = AnsweredRoom(tmp_path / "elsewhere").open()
    for agent in ("nova", "blaise"):
        forger.answer(agent, f"{agent} never said so.")
    forged, page = statefile.load(forger.live.read_text(), "a forged file")
    dropped = forged.copy(entries=[one for one in forged.entries if one.agent != "henry"])
    room.live.write_text(statefile.render(dropped.copy(rev=9), page))

    assert room.conversations.page("active", NOW).standing == live.EDITED
    room.touch()
    assert [one for one in room.said() if one in _OURS] == _OURS
    assert not [text for _, text in room.said() if "never said so" in text]
    assert "journal.behind" not in room.events()


@pytest.mark.req("XC-001")
def test_a_text_whose_line_was_torn_leaves_what_somebody_saved_before_it_taken_in_once(
    room: AnsweredRoom,
) -> None:
    """A writer dies in the middle of two lines of one sync: the first is there, not the second."""
    _edit(room)
    room.answer("nova")
    path = room.folder / FILE
    data = path.read_bytes()
    found = list(journal.read(str(path)))
    displaced = room.folder / "displaced"
    saved = journal.Past(str(path)).saved(found[-2].head["seen"])
    assert saved is not None
    (displaced / f"new-{found[-1].head['digest']}-0").write_bytes(room.live.read_bytes())
    room.live.write_bytes(saved)
    path.write_bytes(data[: found[-1].start + 100])

    said = len(room.events())
    assert room.conversations.page("active", NOW).standing == live.BEHIND
    room.answer("nova")
    assert [agent for agent, _ in room.said()] == ["henry", "sage", "nova"]
    assert "wind sock" in room.read().topic
    assert "edit.reverted" not in room.events()[said:]


@pytest.mark.req("XC-001", "C0-077")
def test_an_answer_whose_line_lies_behind_a_damaged_one_is_recorded_anew(
    room: AnsweredRoom,
) -> None:
    """A power cut may bring the second of two lines of one sync to the disk, and not the first."""
    _edit(room)
    saved = room.live.read_bytes()
    room.answer("nova")
    path = room.folder / FILE
    data = bytearray(path.read_bytes())
    first = list(journal.read(str(path)))[-2]
    data[first.end - 20] ^= 1
    path.write_bytes(data)
    room.live.write_bytes(saved)

    assert [agent for agent, _ in room.said()] == ["henry", "sage"]
    assert not room.answer("nova").repeated
    assert room.answer("nova").repeated
    assert [agent for agent, _ in room.said()] == ["henry", "sage", "nova"]
    assert "wind sock" in room.read().topic
    assert b"lines cut off the end of the journal" in room.conflicts()


@pytest.mark.req("XC-001")
def test_what_goes_to_the_disk_with_a_line_in_doubt_holds_only_with_that_line(
    room: AnsweredRoom,
) -> None:
    _edit_after_a_kill(room)
    room.answer("blaise")
    path = room.folder / FILE
    found = list(journal.read(str(path)))
    assert [one.head["rev"] for one in found] == [1, 2, 3, 4, 5, 6]
    data = bytearray(path.read_bytes())
    data[found[3].end - 20] ^= 1
    path.write_bytes(data)
    assert room.tail_rev() == 3


@pytest.mark.req("XC-008")
def test_events_that_a_power_cut_took_are_in_their_log_again_once(tmp_path: Path) -> None:
    room = AnsweredRoom(tmp_path).open()
    said = room.events()
    (log,) = (tmp_path / "memory/shared/events").iterdir()
    first = log.read_bytes().splitlines(keepends=True)[0]

    def after_the_cut() -> None:
        log.write_bytes(first)
        boot(tmp_path)
        room.touch()
        assert sorted(room.events()) == sorted(said)
        log.write_bytes(first)
        room.touch()  # since the start of the machine that was done
        assert room.events() == said[:1]

    assert status_of(forked(after_the_cut)) == 0
