"""Blind phases over two machines: each text is on one disk and in the database until the reveal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from council.core.conversations.machine import advance
from council.operations.engine.replica import push_all
from council.operations.place import Place
from tests.engine.pairs import Pair, holding, joined_pair, leave, spoil, tables_holding
from tests.store.rooms.samples import NOW, Room

pytestmark = [pytest.mark.engine, pytest.mark.req("EN-007")]

SECRET, OTHER = "The weather bot shall wait.", "Build it on Monday."


@pytest.fixture
def pair(roles, tmp_path: Path) -> Iterator[Pair]:
    made = joined_pair(roles.owner, tmp_path, roles.daily)
    yield made
    leave(made)


def _room(place: Place, **fields: object) -> Room:
    return Room(Path(place.root), "henry", "sage", sealed_phases=True, **fields)


def _close(room: Room) -> None:
    """Do what is due: the phase in which all have answered is closed, and its texts are shown."""
    room.conversations.edit("active", lambda state: advance(state, NOW), now=NOW)


def test_a_blind_text_is_on_the_disk_of_its_machine_alone_until_the_other_reveals_it(
    pair: Pair, roles
) -> None:
    here, there = _room(pair.a).open(), _room(pair.b)
    pair.pull()
    here.answer("henry", SECRET, nonce="salt")
    pair.pull()
    there.touch()

    (only,) = holding(pair.a.root, SECRET)
    assert os.path.basename(os.path.dirname(only)) == "sealed"
    assert holding(pair.b.root, SECRET) == []
    assert there.conversations.read("active", with_sealed=True).sealed == {}
    # A daily role can read what it writes: the table keeps texts from readers of journals alone.
    assert tables_holding(roles.daily, SECRET) == ["sealed"]

    there.answer("sage", OTHER, nonce="pepper")
    _close(there)
    assert there.said() == [("henry", SECRET), ("sage", OTHER)]
    assert "seal.missing" not in there.events()
    pair.pull()
    assert here.said() == there.said()
    assert here.live.read_bytes() == there.live.read_bytes()


def _answered_by_hand(text: str, agent: str, answer: str) -> str:
    empty = f"### {agent}\n*(to answer: write below, then set the status above to RESPONDED)*\n"
    assert empty in text
    said = text.replace(empty, f"### {agent}\n{answer}\n")
    return said.replace(f"(agent:{agent}): WAITING", f"(agent:{agent}): RESPONDED")


def test_what_a_person_writes_into_the_file_of_another_machine_is_sealed_there(
    pair: Pair, roles
) -> None:
    here, there = _room(pair.a).open(), _room(pair.b)
    pair.pull()
    there.edit_by_hand(lambda text: _answered_by_hand(text, "sage", OTHER))
    there.touch()
    pair.pull()

    assert there.read().participants["sage"].sealed
    assert {os.path.basename(os.path.dirname(one)) for one in holding(pair.b.root, OTHER)} == {
        "sealed"
    }
    assert holding(pair.a.root, OTHER) == []
    assert tables_holding(roles.daily, OTHER) == ["sealed"]
    here.answer("henry", SECRET, nonce="salt")
    _close(here)
    pair.pull()
    assert sorted(here.said()) == sorted(there.said()) == [("henry", SECRET), ("sage", OTHER)]


def test_the_texts_of_a_phase_under_way_come_into_an_engine_with_their_council(
    roles, tmp_path: Path
) -> None:
    pair = joined_pair(roles.owner, tmp_path, roles.daily)
    leave(pair)
    here = _room(pair.a).open()
    here.answer("henry", SECRET, nonce="salt")
    again = Pair(*(Place(one.root, {}, NOW) for one in pair))
    try:
        assert push_all(again.a) == {}
        again.pull()
        there = _room(again.b)
        there.answer("sage", OTHER, nonce="pepper")
        _close(there)
        assert there.said() == [("henry", SECRET), ("sage", OTHER)]
    finally:
        leave(again)


@pytest.mark.req("EN-008")
@pytest.mark.parametrize("is_brought", [False, True], ids=["itself", "the other machine"])
def test_a_blind_text_that_the_database_lost_comes_back_whoever_gives_the_lines_back(
    pair: Pair, database: str, is_brought: bool
) -> None:
    here, there = _room(pair.a).open(), _room(pair.b)
    pair.pull()
    here.answer("henry", SECRET, nonce="salt")
    if is_brought:
        pair.pull()
    _lose_the_last(database)
    if is_brought:
        there.touch()
        Path(pair.a.paths.pulled).unlink()  # as the mark of another life of the database
        pair.pull()
    else:
        here.touch()

    there.answer("sage", OTHER, nonce="pepper")
    _close(there)
    assert there.said() == [("henry", SECRET), ("sage", OTHER)]
    assert "seal.missing" not in there.events()


def _lose_the_last(database: str) -> None:
    """Put the database back by its last revision, as the loss of its last second does."""
    last = "(SELECT max(seq) FROM revision WHERE stream = head.stream)"
    spoil(database, "DELETE FROM revision USING head WHERE head.stream = revision.stream"
          " AND head.seq = revision.seq AND revision.seq > 1")  # fmt: skip
    spoil(database, f"UPDATE head SET seq = {last}")
    spoil(database, "DELETE FROM sealed")
