"""One contribution is forgotten everywhere, and a named hole stays in its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from council.core.errors import NotFoundError
from council.store.documents import journal
from council.store.purging import entries
from tests.operations.test_forget import everywhere, finish
from tests.store.processes import at_call, die, forked, status_of
from tests.store.rooms.samples import CONVERSATION_ID, NOW, Room

WORD = "pangolin"
SAID = 'The pangolin said:\n\t"Yes — «naïve»"\n\nBLOCKING: where shall the pangolin sleep?'


def take_out(room: Room, entry: str = "1-henry"):
    return entries.purge_entry(
        room.workspace, CONVERSATION_ID, "active", entry, by="person", now=NOW, max_runs=4
    )


@pytest.fixture
def said(tmp_path: Path) -> Room:
    """An open conversation with a contribution, an edit of it that was put back, and two others."""
    room = Room(tmp_path).open()
    room.answer("sage", "Before it.")
    room.answer("henry", SAID)
    room.edit_by_hand(lambda text: text.replace("The pangolin said", "The pangolin never said"))
    room.touch()
    room.answer("nova", "After it.")
    return room


def chain(room: Room) -> None:
    """Every line names the one before it, and every text that is kept is the one it was."""
    past = journal.Past(str(room.folder / journal.FILE))
    for before, line in zip(past.lines, past.lines[1:], strict=False):
        assert line.head["parent"] == before.sum
        assert line.head["seq"] == before.head["seq"] + 1
    for at in range(len(past.lines)):
        past.known_text(at)


@pytest.mark.req("OP-016", "XC-018")
def test_no_byte_of_a_purged_contribution_is_found_and_the_rest_stands(said: Room):
    assert len(everywhere(said.root, WORD)) > 2
    count = len(said.conversations.history("active"))

    done = take_out(said)

    assert everywhere(said.root, WORD) == []
    assert done.left == []
    assert done.history >= 2
    state = said.read()
    assert [one.agent for one in state.entries] == ["sage", "henry", "nova"]
    hole = state.entries[1]
    assert hole.text == "[purged 2026-02-08T20:00:00Z by person: this contribution was taken out]"
    assert hole.extra["purged"] == {"at": "2026-02-08T20:00:00Z", "by": "person"}
    assert state.blocking_issues == []
    assert said.events()[-1] == "contribution.purged"
    chain(said)
    history = said.conversations.history("active")
    assert len(history) == count + 1
    assert "Before it." in said.conversations.text_at("active", 2)
    with pytest.raises(NotFoundError, match="taken out"):
        said.conversations.text_at("active", 3)
    assert hole.text in said.conversations.text_at("active", history[-1].rev)
    said.answer("blaise", "It goes on.")
    assert "It goes on." in said.conversations.text_at("active", history[-1].rev + 1)
    assert everywhere(said.root, WORD) == []


@pytest.mark.req("OP-016")
def test_an_archived_conversation_loses_it_in_minutes_and_data(council):
    root = council.root
    assert council("convene", "Tea?", "--agents", "owl,gecko", "--open").code == 0
    for agent, text in (("owl", SAID), ("gecko", "No.")):
        assert council("respond", "--as", agent, text).code == 0
    assert council("cancel").code == 0
    (page,) = (root / "conseils").glob("*.md")
    page.write_text(page.read_text() + "\nA remark by hand.\n")
    assert len(everywhere(root, WORD)) > 2

    done = council("purge", "active", "--entry", "1-owl", "--yes", "--json")

    assert done.code == 0, done.err
    assert everywhere(root, WORD) == []
    assert "A remark by hand." in page.read_text()
    assert "> [purged " in page.read_text()
    data = json.loads(page.with_suffix(".json").read_text())
    assert data["texts"]["1-owl"].startswith("[purged ")
    assert data["texts"]["1-gecko"] == "No."
    assert data["convergence"]["blockingIssues"] == []
    shown = council("show", str(page), "--json")
    assert shown.code == 0, shown.err
    again = council("purge", "active", "--entry", "1-owl", "--yes")
    assert (again.code, "taken out before" in again.out) == (0, True)
    history = council("history").out
    assert "contribution.purged" in history


@pytest.mark.long
@pytest.mark.req("OP-016", "XC-001")
@pytest.mark.parametrize("archived", [False, True], ids=["open", "archived"])
def test_a_purge_of_a_contribution_killed_at_any_call_is_finished_by_the_next(
    tmp_path: Path, archived: bool
):
    killed, number = True, 0
    while killed:
        number += 1
        room = Room(tmp_path / str(number)).open()
        room.answer("sage", "Before it.")
        room.answer("henry", SAID)
        room.edit_by_hand(lambda text: text.replace("The pangolin said", "The pangolin sang"))
        room.touch()
        if archived:
            finish(room)

        def dying(room: Room = room, number: int = number) -> None:
            at_call(number, die)
            take_out(room)

        killed = status_of(forked(dying)) != 0
        take_out(room)
        assert everywhere(room.root, WORD) == [], f"killed at call {number}"
        chain(room)
        if not archived:
            assert [one.agent for one in room.read().entries] == ["sage", "henry"]
            assert room.events().count("contribution.purged") == 1
    assert number > 10


@pytest.mark.req("OP-016")
def test_what_others_quote_of_it_is_named_and_left(said: Room):
    said.answer("blaise", "Henry says:\n> The pangolin said:\nSo be it.")
    notes = said.live.with_name("notes.md")
    notes.write_text("> BLOCKING: where shall the pangolin sleep?\n")

    done = take_out(said)

    assert done.left == [str(notes), "1-blaise of blaise"]
    assert "The pangolin said:" in said.read().entries[3].text
    assert notes.exists()
    with pytest.raises(NotFoundError, match="1-gecko"):
        take_out(said, "1-gecko")


@pytest.mark.req("OP-016")
def test_a_save_from_before_the_purge_brings_nothing_back(said: Room):
    old = said.live.read_text()
    take_out(said)
    said.live.write_text(old)
    said.touch()
    assert everywhere(said.root, WORD) == []
    assert said.read().entries[1].text.startswith("[purged ")


@pytest.mark.req("OP-016")
def test_a_text_from_before_a_step_back_is_found_as_well(said: Room):
    said.conversations.restore("active", 2, now=NOW)
    said.answer("henry", "Something else: the okapi.")
    said.conversations.restore("active", 2, now=NOW)
    assert [one.id for one in said.read().entries] == ["1-sage"]

    take_out(said)

    assert everywhere(said.root, WORD, "okapi") == []
    assert [one.id for one in said.read().entries] == ["1-sage"]
    rev = said.read().rev
    again = take_out(said)
    assert again.is_empty
    assert said.read().rev == rev
    holes = [one.hole for one in said.conversations.history("active") if one.hole]
    assert set(holes) == {"purged 1-henry"}


@pytest.mark.req("OP-016", "C0-078")
def test_a_short_text_leaves_the_journal_too_and_its_hole_outlives_the_archiving(council):
    assert council("convene", "Tea?", "--agents", "owl,gecko", "--open").code == 0
    assert council("respond", "--as", "owl", "No").code == 0
    assert council("respond", "--as", "gecko", "No").code == 0
    assert council("purge", "active", "--entry", "1-owl", "--yes").code == 0
    shown = council("show", "--json").json()["contributions"]
    assert [one["text"] for one in shown if one["agent"] == "gecko"] == ["No"]
    before = council("history", "--json").json()
    assert {one["hole"] for one in before} == {None, "purged 1-owl"}

    rebuilt = council("diff", "1", "3")
    assert (rebuilt.code, "rebuilt" in rebuilt.out, "[purged " in rebuilt.out) == (0, True, True)
    assert council("cancel").code == 0

    holes = [one["seq"] for one in before if one["hole"]]
    after = council("history", "--json").json()
    assert [one["seq"] for one in after if one["hole"] == "purged 1-owl"] == holes
    assert "phase.changed (purged 1-owl)" in council("history").out
    last = str(after[-1]["rev"])
    compared = council("diff", last, last)
    assert (compared.code, compared.out) == (0, "no difference\n"), "of an ended one as well"
