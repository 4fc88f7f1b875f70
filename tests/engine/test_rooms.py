"""Rooms over machines: every message once, in one order, whoever wrote it and how.

Source: EN-001.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.machines import Machine, Machines, Maker

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
