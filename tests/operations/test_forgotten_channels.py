"""Forgetting a channel for good: after it nothing of it is found."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.bounds import Spent
from council.core.errors import ConflictError, NotFoundError, UsageError
from council.core.events import trace_of
from council.operations.forget import doomed, gc, purge
from council.operations.rooms import discussing
from council.store.delegation import artifacts
from council.store.purging.subjects import note_path
from council.store.slots import Slots
from council.store.tally import edit_tally
from tests.operations.halls import Hall, talks
from tests.operations.tables import all_is_quiet
from tests.store.processes import at_call, die, forked, status_of

SECRET = "violet-heron"
CHANNEL = "channel"


def everywhere(root: Path, *words: str) -> list[str]:
    """Return the files under a workspace in whose name or bytes any of the words stands."""
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if any(one in path.name for one in words)
        or (path.is_file() and any(one.encode() in path.read_bytes() for one in words))
    )


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    """Two rooms in which programs and a person have spoken."""
    hall = Hall(tmp_path / "workspace").seat_all(talks(1)["argv"][2], ("owl", "gecko"))
    for name, text in (("weather", f"Does a {SECRET} fly?"), ("kitchen", "Is there cake?")):
        hall.room(name=name).post(text, name=name)
    hall.beat()
    all_is_quiet()
    hall.beat_to_rest()
    return hall


@pytest.mark.req("XC-018", "P8-006")
def test_after_a_purge_nothing_of_a_channel_is_found_and_nothing_of_others_is_missing(hall: Hall):
    kitchen = everywhere(hall.root, "kitchen", "cake")
    told = [one for one in hall.events() if one["conversationId"] == "kitchen"]
    page = hall.root / "memory/shared/channels/weather.md"
    page.write_text(page.read_text().replace("## Members", f"A {SECRET}?\n\n## Members"))
    own = artifacts.publish(hall.place.paths, b"A heron.", trace=trace_of("weather"), now=hall.now)
    hall.beat_to_rest()
    edit_tally(hall.place.paths, lambda tally: tally.councils.update(weather=Spent(runs=1)))
    assert len(everywhere(hall.root, SECRET)) > 3
    assert len(everywhere(hall.root, "weather")) > 6

    done = purge(hall.place, doomed(hall.place, "weather").conversation_id, CHANNEL)

    assert done.left == []
    assert everywhere(hall.root, SECRET, "weather", own.artifact_id) == []
    assert everywhere(hall.root, "kitchen", "cake") == kitchen
    assert [one for one in hall.events() if one["conversationId"] == "kitchen"] == told
    assert {Path(one).name for one in done.files} >= {"weather.md", "weather.jsonl"}
    assert done.runs and done.history and done.events
    with pytest.raises(NotFoundError):
        doomed(hall.place, "weather")
    hall.beat_to_rest(timedelta(hours=1))
    assert everywhere(hall.root, SECRET, "weather") == []
    hall.room(name="weather").post("Anew.")
    assert [one for one in hall.said() if "heron" in one] == []


@pytest.mark.req("XC-018")
def test_a_discussion_is_completed_before_it_is_forgotten_with_its_minutes(tmp_path: Path):
    hall = Hall(tmp_path).seat({"owl": {}, "gecko": {}})
    hall.room("owl", "gecko").discuss("owl", "gecko", callback="weather")
    with pytest.raises(ConflictError, match="still open") as caught:
        doomed(hall.place, "umbrellas")
    assert caught.value.hint == "first: council discussion complete umbrellas"
    summary = hall.root / "memory/shared/discussion-summary/s.md"
    summary.parent.mkdir()
    summary.write_text("We buy two.")
    discussing.complete(hall.place, "umbrellas", "owl", str(summary))
    (minutes,) = (hall.root / "conseils").glob("*.md")

    found = doomed(hall.place, str(minutes.relative_to(hall.root)))
    assert (found.kind, found.conversation_id) == (CHANNEL, "umbrellas")
    done = purge(hall.place, found.conversation_id, CHANNEL)

    assert done.minutes == [str(minutes)]
    weather = hall.root / "memory/shared/channels/weather.jsonl"
    assert done.left == sorted([str(summary), str(weather)]), "others wrote these"
    (there,) = everywhere(hall.root, "umbrellas")
    assert there == str(weather.relative_to(hall.root))


def test_a_channel_whose_run_is_under_way_is_not_purged(hall: Hall):
    log = Path(hall.place.paths.runs) / "weather.9.owl.1.log"
    log.write_text("task: …\n")
    slot = Slots(hall.place.paths.places, 4).take("owl")
    assert slot is not None
    with pytest.raises(ConflictError, match="owl"):
        purge(hall.place, "weather", CHANNEL)
    assert hall.standing().channel_id == "weather"
    slot.release()
    assert str(log) in purge(hall.place, "weather", CHANNEL).runs


def test_a_name_of_a_conversation_and_a_channel_is_not_guessed(tmp_path: Path):
    hall = Hall(tmp_path).seat({"owl": {}, "gecko": {}})
    hall.room("owl", "gecko").convene("Tea?", name="weather", agents=("owl", "gecko"))
    known = hall.read("weather").conversation_id
    with pytest.raises(UsageError) as caught:
        doomed(hall.place, "weather")
    page = "memory/shared/channels/weather.md"
    assert caught.value.hint == f"say which: {known} for the conversation, {page} for the channel"
    assert doomed(hall.place, known).kind == "conversation"
    assert doomed(hall.place, page).kind == CHANNEL


def test_a_channel_that_cannot_be_read_is_forgotten_as_well(hall: Hall):
    (hall.root / "memory/shared/channels/weather.md").write_bytes(b"\xff\n")
    journal = hall.root / "memory/shared/.council/channels/weather/revisions.jsonl"
    journal.write_bytes(b"")
    purge(hall.place, doomed(hall.place, "weather").conversation_id, CHANNEL)
    assert everywhere(hall.root, SECRET, "weather") == []


@pytest.mark.req("XC-018")
@pytest.mark.parametrize(
    ("by", "step"), [pytest.param("purge", 2, marks=pytest.mark.long), ("purge", 11), ("gc", 9)]
)
def test_a_purge_of_a_channel_that_was_killed_at_any_call_is_finished_by_the_next(
    tmp_path: Path, by: str, step: int
):
    killed, number, finished = True, 0, 0
    while killed:
        number += step
        hall = Hall(tmp_path / str(number)).seat({"owl": {}, "gecko": {}})
        hall.room("owl", "gecko").post(f"Does a {SECRET} fly?").beat()

        def dying(hall: Hall = hall, number: int = number) -> None:
            at_call(number, die)
            purge(hall.place, "weather", CHANNEL)

        killed = status_of(forked(dying)) != 0
        begun = os.path.isfile(note_path(hall.place.paths, CHANNEL, "weather"))
        if by == "gc" and begun:
            gc(hall.place, timedelta(days=30))
            finished += 1
        elif by == "gc" and everywhere(hall.root, SECRET):
            continue  # nothing had begun yet
        elif by == "purge" and (begun or everywhere(hall.root, SECRET)):
            purge(hall.place, doomed(hall.place, "weather").conversation_id, CHANNEL)
        assert everywhere(hall.root, SECRET, "weather") == [], f"killed at {number}"
    assert number > 30
    assert finished > 2 or by == "purge"
