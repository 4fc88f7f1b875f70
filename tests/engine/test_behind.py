"""A live file that another machine has overtaken is behind; one that a person put back is not.

Source: EN-001, EN-004.
"""

from __future__ import annotations

import os

import pytest

from council.operations.engine.replica import engine_of
from council.operations.place import Place
from council.store.conversations.naming import Places, pointer_of
from council.store.lock import Lock
from tests.engine.machines import Machine, Machines, Maker
from tests.engine.pairs import told

pytestmark = pytest.mark.engine

REVERTED = ("edit.reverted", "edit.accepted", "edit.refused", "file.restored")


@pytest.fixture
def two(machines: Maker) -> Machines:
    both = machines(2)
    both[0].do("convene", "Where?", "--agents", "a,b", "--people", "a,b", "--open")
    both.quiet()
    return both


@pytest.mark.req("EN-001", "EN-008")
def test_a_disk_that_is_full_once_the_engine_has_recorded_is_told_of_as_that(two: Machines):
    here, there = two
    here.do("respond", "--as", "a", "Said here.")
    places = Places(here.place.paths, "active", pointer_of(here.place.paths, "active"))
    room = f"--fsize={os.stat(places.journal).st_size}"  # as if no journal could grow any more
    # Python would leave half of what it compiles, and read that the next time.
    through = ("env", "PYTHONDONTWRITEBYTECODE=1", "prlimit", room)
    full = Machine(here.root, here.name, here.url, through=through)

    ran = full("respond", "--as", "b", "Said on a full disk.")

    assert ran.code != 0
    assert "the engine has recorded it" in ran.err, ran
    there.do("engine", "pull")
    here.do("engine", "pull")
    here.do("respond", "--as", "b", "Said on a full disk.")
    two.quiet()
    assert two.same_everywhere() == []
    assert there.do("show").out.count("Said on a full disk.") == 1


def events(machine: Machine) -> list[object]:
    return [one["type"] for one in told(machine.place, *REVERTED)]


def brought_only(place: Place) -> None:
    """Bring the lines of the conversation and show none: as a process that dies in between."""
    places = Places(place.paths, "active", pointer_of(place.paths, "active"))
    with Lock(places.lock):
        assert engine_of(place).bring(places.journal)
    engine_of(place).close()


@pytest.mark.req("EN-001", "EN-004")
def test_what_another_machine_committed_takes_the_place_of_the_file_in_silence(two: Machines):
    here, there = two
    there.do("respond", "--as", "a", "Said there.")

    here.do("engine", "pull")

    assert here.watched().live.read_bytes() == there.watched().live.read_bytes()
    assert "Said there." in here.watched().live.read_text()
    assert events(here) == []


@pytest.mark.req("EN-004")
def test_an_earlier_revision_is_behind_as_long_as_the_head_was_never_shown_here(two: Machines):
    here, there = two
    there.do("respond", "--as", "a", "Said there.")
    brought_only(here.place)
    assert "Said there." not in here.watched().live.read_text()

    here.do("heartbeat")

    assert here.watched().live.read_bytes() == there.watched().live.read_bytes()
    assert events(here) == []


@pytest.mark.req("EN-004")
def test_an_earlier_revision_put_back_after_the_head_was_shown_is_a_step_back(two: Machines):
    here, there = two
    earlier = here.watched().live.read_bytes()
    there.do("respond", "--as", "a", "Said there.")
    here.do("engine", "pull")

    here.watched().live.write_bytes(earlier)
    here.do("heartbeat")

    assert "Said there." in here.watched().live.read_text()
    assert events(here) == ["edit.reverted"]


@pytest.mark.req("EN-004")
def test_an_edit_of_the_file_that_was_overtaken_is_merged(two: Machines):
    here, there = two
    there.do("respond", "--as", "a", "Said there.")
    brought_only(here.place)
    here.save("A person wrote this meanwhile.")

    here.do("heartbeat")
    two.quiet()

    for one in two:
        text = one.watched().live.read_text()
        assert "Said there." in text
        assert "A person wrote this meanwhile." in text
    assert two.same_everywhere() == []


@pytest.mark.req("EN-001")
def test_two_that_say_something_at_once_stand_in_one_order_everywhere(two: Machines):
    here, there = two
    first = here.start("respond", "--as", "a", "Said here.")
    second = there.start("respond", "--as", "b", "Said there.")
    assert (first.wait(30), second.wait(30)) == (0, 0)
    two.quiet()

    assert two.same_everywhere() == []
    text = here.watched().live.read_text()
    assert text.count("Said here.") == 1
    assert text.count("Said there.") == 1


@pytest.mark.req("EN-001")
def test_one_name_stands_for_one_conversation_over_all_machines(two: Machines):
    here, there = two
    here.do("convene", "Tea?", "--name", "tea", "--agents", "a,b", "--people", "a,b")

    refused = there("convene", "Coffee?", "--name", "tea", "--agents", "a,b", "--people", "a,b")

    assert refused.code == 4
    assert "'tea'" in refused.err
    two.quiet()
    assert two.same_everywhere() == []
    assert "Tea?" in (there.root / "memory/shared/council-tea-conversation.md").read_text()
