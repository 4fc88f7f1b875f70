"""Rooms over machines: every message once, in one order, whoever wrote it and how.

Source: EN-001.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from council.operations.place import Place
from council.store.engine.messages import SharedLog
from council.store.rooms.channel_places import ChannelPlaces
from tests.engine.machines import Machine, Machines, Maker
from tests.engine.pairs import spoil, told

pytestmark = pytest.mark.engine


@pytest.fixture
def two(machines: Maker) -> Machines:
    both = machines(2)
    both[0].do("channel", "create", "chat", "den", "--participants", "owl,fox", "--as", "owl")
    both.quiet()
    return both


def log(machine: Machine) -> Path:
    return machine.root / "memory/shared/channels/den.jsonl"


def texts(machine: Machine) -> list[str]:
    shown = machine.do("channel", "show", "den", "--json").json()
    return [one["content"] for one in shown["messages"]]


def post(machine: Machine, *texts: str) -> None:
    who = "owl" if machine.name == "m1" else "fox"
    for text in texts:
        machine.do("channel", "post", "den", "--as", who, text)


def add(machine: Machine, text: str) -> None:
    """Add to a log as a person does."""
    with log(machine).open("a", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def shared(machine: Machine) -> Iterator[SharedLog]:
    """The log of the room as a process of a machine has it."""
    place = Place(str(machine.root), {}, None)
    places = ChannelPlaces(place.paths, "den")
    assert place.engine is not None
    try:
        yield SharedLog(place.engine, places.messages, places.folder)
    finally:
        place.engine.close()


def while_it_waits(url: str, mode: str, end: Callable[[], object], act: Callable[[], None]) -> None:
    """Act while something waits for the rows, which are locked in a mode; then wait for its end."""
    with psycopg.connect(url) as holder, psycopg.connect(url, autocommit=True) as looker:
        holder.execute(f"LOCK TABLE council.revision IN {mode} MODE")
        ended = threading.Thread(target=end)
        ended.start()
        asked = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        while looker.execute(asked).fetchone() == (0,):
            assert ended.is_alive()
        act()
        holder.rollback()
        ended.join()


@pytest.mark.req("EN-001")
def test_messages_of_both_machines_stand_in_one_order(two: Machines):
    here, there = two
    for at in range(3):
        here.do("channel", "post", "den", "--as", "owl", f"owl {at}")
        there.do("channel", "post", "den", "--as", "fox", f"fox {at}")
    two.quiet()

    assert two.same_everywhere() == []
    assert texts(here) == [f"{who} {at}" for at in range(3) for who in ("owl", "fox")]
    numbers = [json.loads(line)["id"] for line in log(there).read_text().splitlines()]
    assert numbers == list(range(1, 7))


@pytest.mark.req("EN-001")
def test_a_line_that_a_person_adds_here_stands_there_too(two: Machines):
    here, there = two
    here.do("channel", "post", "den", "--as", "owl", "first")
    two.quiet()
    with log(here).open("a", encoding="utf-8") as file:
        file.write("a person says this")
    there.do("channel", "post", "den", "--as", "fox", "meanwhile")

    here.do("channel", "post", "den", "--as", "owl", "after")
    two.quiet()

    assert two.same_everywhere() == []
    assert texts(there) == ["first", "meanwhile", "a person says this", "after"]


@pytest.mark.req("EN-001", "EN-008")
def test_a_line_whose_writer_died_before_its_note_is_said_once(two: Machines):
    here, there = two
    here.do("channel", "post", "den", "--as", "owl", "first")
    note = here.root / "memory/shared/.council/channels/den/rows"
    before = note.read_text()
    here.do("channel", "post", "den", "--as", "owl", "second")
    note.write_text(before)

    here.do("channel", "post", "den", "--as", "owl", "third")
    two.quiet()

    assert two.same_everywhere() == []
    assert texts(there) == ["first", "second", "third"]


@pytest.mark.req("EN-001")
def test_a_log_that_was_cut_here_comes_again(two: Machines):
    here, there = two
    for text in ("one", "two", "three"):
        there.do("channel", "post", "den", "--as", "fox", text)
    here.do("engine", "pull")
    lines = log(here).read_text().splitlines(keepends=True)
    log(here).write_text(lines[0])

    here.do("channel", "post", "den", "--as", "owl", "four")
    two.quiet()

    assert two.same_everywhere() == []
    assert texts(here) == ["one", "two", "three", "four"]


@pytest.mark.req("EN-001", "EN-008")
@pytest.mark.parametrize("is_overtaken", [False, True])
def test_messages_that_the_database_lost_are_given_back(
    two: Machines, database: str, is_overtaken: bool
):
    here, there = two
    post(here, "one", "two")
    two.quiet()
    post(here, "three", "four")
    stream = "channels/den.jsonl"
    spoil(database, "DELETE FROM revision WHERE stream = %s AND seq > 2", stream)
    spoil(database, "UPDATE head SET seq = 2 WHERE stream = %s", stream)
    post(there, *(["far", "farther", "farthest"] if is_overtaken else ["far"]))

    post(here, "five")
    two.quiet()

    assert two.same_everywhere() == []
    own = ["one", "two", "three", "four", "five"]
    assert [one for one in texts(there) if one in own] == own
    said = told(Place(str(here.root), {}, None), "engine.behind")
    assert [one["data"]["lines"] for one in said] == [2]


@pytest.mark.req("EN-001")
def test_a_line_saved_while_rows_are_asked_for_becomes_one(two: Machines, database: str):
    here, there = two
    post(here, "first")
    two.quiet()
    post(there, "far")

    with shared(here) as messages:
        while_it_waits(database, "ACCESS EXCLUSIVE", messages.bring, lambda: add(here, "hi\n"))
    two.quiet()

    assert two.same_everywhere() == []
    assert texts(there) == ["first", "far", "hi"]


@pytest.mark.req("EN-001")
def test_a_line_saved_while_a_message_is_recorded_becomes_a_row(two: Machines, database: str):
    here, there = two
    post(here, "first")
    two.quiet()

    def end() -> None:
        post(here, "mine")

    while_it_waits(database, "SHARE", end, lambda: add(here, "hi\n"))
    post(here, "after")
    two.quiet()

    assert two.same_everywhere() == []
    assert texts(there) == ["first", "mine", "hi", "after"]


@pytest.mark.req("EN-001")
def test_a_line_saved_while_the_log_is_replaced_becomes_a_row(
    two: Machines, monkeypatch: pytest.MonkeyPatch
):
    here, there = two
    post(here, "first")
    two.quiet()
    post(there, "far")
    add(here, "hi\n")
    real = os.rename

    def rename(source: str, target: str) -> None:
        if target == str(log(here)):
            add(here, "late\n")
        real(source, target)

    with monkeypatch.context() as patched, shared(here) as messages:
        patched.setattr(os, "rename", rename)
        messages.bring()
    two.quiet()

    assert two.same_everywhere() == []
    assert texts(there) == ["first", "far", "hi", "late"]


@pytest.mark.req("EN-001")
def test_a_line_changed_in_the_middle_is_said_again_and_nothing_is_torn(two: Machines):
    here, there = two
    post(here, "one", "two", "three")
    log(here).write_text(log(here).read_text().replace('"one"', '"one, rather"'))

    post(here, "four")
    two.quiet()

    assert two.same_everywhere() == []
    assert texts(there) == ["one", "two", "three", "one, rather", "four"]


@pytest.mark.req("EN-001", "EN-008")
def test_rows_of_which_only_a_part_was_written_stand_once(two: Machines):
    here, there = two
    post(here, "one")
    two.quiet()
    post(there, "two", "three")
    log(here).write_bytes(log(there).read_bytes()[:-20])

    post(here, "four")
    two.quiet()

    assert two.same_everywhere() == []
    assert texts(there) == ["one", "two", "three", "four"]


@pytest.mark.req("EN-001")
def test_what_is_large_goes_in_parts(two: Machines, database: str):
    here, there = two
    for at in range(9):
        add(here, f"{at}" + 400_000 * "x" + "\n")

    here.do("engine", "pull")
    post(here, "after")
    there.do("engine", "pull")

    assert log(there).read_bytes() == log(here).read_bytes()
    with psycopg.connect(database) as looker:
        asked = "SELECT sum(length(line)) FROM council.revision GROUP BY xmin"
        parts = [size for (size,) in looker.execute(asked)]
    assert sum(parts) > 3_600_000
    assert max(parts) < 1_200_000
