"""The heartbeat over a crowd of idle rooms: it opens what is due or changed, only that.

What is opened is a fact: this process hears of every file that it opens.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from council.operations.heartbeat.gate import halt, resume_all
from council.operations.rooms import channels
from council.store.heartbeat.survey import CROWD
from tests.operations.halls import MINUTE, PASSES, Hall, woken
from tests.operations.tables import all_is_quiet, script

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
_HEARD: list[str] = []
_LISTENING = [False]


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if _LISTENING[0] and event == "open":
        _HEARD.append(str(arguments[0]))


sys.addaudithook(_hear)


class Crowd(Hall):
    """A workspace with so many idle rooms that it pays to note them."""

    @property
    def note(self) -> Path:
        return self.root / "memory/shared/.council/room-deadlines.json"

    def opened(self, after: timedelta = timedelta(0)) -> set[str]:
        """Run one heartbeat; return the rooms whose documents it has opened."""
        _HEARD.clear()
        _LISTENING[0] = True
        try:
            self.report = self.beat(after)
        finally:
            _LISTENING[0] = False
        found = (path.rpartition("/channels/") for path in _HEARD)
        return {name.removesuffix(".md") for _, cut, name in found if cut and name.endswith(".md")}

    def settle(self) -> Crowd:
        """Note all who are idle, as if nothing had been changed just before.

        The board, which shows rooms as well, is taken for up to date.
        """
        self.beat()
        later_ns = time.time_ns() + 60 * 10**9
        for path in (self.note, self.place.paths.board):
            os.utime(path, ns=(later_ns, later_ns))
        return self


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    hall = Hall(tmp_path_factory.mktemp("made"))
    hall.seat({"owl": {}, "gecko": {}, "ann": script(PASSES), "bob": script(PASSES)})
    for number in range(CROWD - 3):
        hall.room(name=f"r{number}")
    hall.room("owl", "alice", name="alone").room(name="report", mode="report")
    hall.room("ann", "bob", name="programs")
    hall.room(name="waits").post(name="waits")
    hall.beat()
    return hall.root


@pytest.fixture
def crowd(tmp_path: Path, made: Path) -> Crowd:
    root = tmp_path / "workspace"
    shutil.copytree(made, root)
    return Crowd(root).settle()


@pytest.mark.req("XC-007")
def test_idle_rooms_are_not_opened_and_reported_all_the_same(crowd: Crowd):
    assert crowd.opened(MINUTE) == set()

    rooms = {one["channelId"]: one for one in crowd.report.to_record()["channels"]}
    assert len(rooms) == CROWD + 1
    assert (rooms["waits"]["currentSpeaker"], rooms["waits"]["waiting"]) == ("owl", ["owl"])
    assert rooms["report"]["tmState"] == "dead"
    assert not crowd.report.changed
    assert "waits: owl has the floor (cycle 1); waiting for owl" in crowd.report.to_text()


@pytest.mark.req("XC-007")
def test_an_idle_heartbeat_over_rooms_writes_nothing(crowd: Crowd):
    before = crowd.digest_of_the_tree()
    crowd.beat(SECOND)

    assert crowd.digest_of_the_tree() == before


def test_a_post_opens_that_room_alone(crowd: Crowd):
    crowd.post("Hello", name="r7")

    assert crowd.opened() == {"r7"}
    assert woken(crowd.report) == {"r7": ["owl"]}
    crowd.settle()
    assert crowd.opened() == set()


def test_a_line_that_a_person_appends_opens_the_room(crowd: Crowd):
    with (crowd.root / "memory/shared/channels/r3.jsonl").open("a") as log:
        log.write("Is anybody there?\n")

    assert crowd.opened() == {"r3"}
    assert woken(crowd.report) == {"r3": ["owl"]}


def test_an_edit_of_the_document_opens_the_room(crowd: Crowd):
    live = crowd.root / "memory/shared/channels/r4.md"
    live.write_text(live.read_text().replace("- **Topic:** -", "- **Topic:** Frost"))

    assert crowd.opened() == {"r4"}
    assert crowd.standing("r4").topic == "Frost"


def test_a_room_is_opened_when_time_alone_makes_something_due(crowd: Crowd):
    assert crowd.opened(HOUR - SECOND) == set()
    assert crowd.opened(SECOND) == {"waits"}

    assert crowd.kinds("turn.missed", about="waits") == ["turn.missed owl"]
    assert woken(crowd.report) == {"waits": ["gecko"]}


def test_other_rules_of_the_floor_open_everything(crowd: Crowd):
    with (crowd.root / "council.toml").open("a") as file:
        file.write('[channels]\nturn_timeout = "1m"\n')

    assert len(crowd.opened(MINUTE)) == CROWD + 1
    assert crowd.kinds("turn.missed") == ["turn.missed owl"]


def test_a_new_room_and_one_that_is_gone_are_seen(crowd: Crowd):
    channels.create(crowd.place, "chat", "new", ("owl", "gecko"))
    (crowd.root / "memory/shared/channels/r1.md").unlink()

    assert crowd.opened() == {"new"}
    names = {one["channelId"] for one in crowd.report.to_record()["channels"]}
    assert "new" in names
    assert "r1" not in names


def test_a_torn_note_opens_everything_and_is_written_anew(crowd: Crowd):
    crowd.note.write_bytes(crowd.note.read_bytes()[:-20])
    assert len(crowd.opened()) == CROWD + 1

    assert crowd.settle().opened() == set()


def test_who_waits_for_a_place_is_never_noted(crowd: Crowd):
    halt(crowd.place)
    crowd.post("Hello", name="programs")
    all_is_quiet()  # the post has had a heartbeat done
    crowd.settle()
    assert crowd.opened(MINUTE) == {"programs"}
    assert crowd.kinds("task.queued") == ["task.queued ann"]

    resume_all(crowd.place)
    all_is_quiet()

    assert crowd.kinds("turn.ended", about="programs") == ["turn.ended ann", "turn.ended bob"]


def test_conversations_and_rooms_have_notes_of_their_own(crowd: Crowd):
    crowd.convene(name="r7", agents=("owl", "gecko"))
    crowd.settle()

    assert crowd.opened() == set()
    assert len(json.loads(crowd.note.read_text().splitlines()[1])[0]) == CROWD + 1
