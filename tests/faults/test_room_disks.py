"""Rooms on a disk that is full, fails, or loses its power: one clear line, and nothing lost."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from council.operations.place import Place
from council.operations.rooms import channels, rooms
from council.store.documents import journal
from tests.faults import tracing
from tests.faults.invariants import faults_of_journal
from tests.faults.ledger import Ledger
from tests.faults.test_failing_disk import CALLS, said_clearly
from tests.faults.test_power_cuts import disk
from tests.faults.test_room_kills import COMPLETE, END_AND_POST, PASS, POST, Discussed, Room
from tests.store.boots import boot

PART = "rooms"
NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
_CUTS = 12
_WRITERS = 3

pytestmark = pytest.mark.faults


@pytest.mark.skipif(bool(tracing.missing()), reason=tracing.missing() or "-")
@pytest.mark.req("XC-001", "DG-003")
@pytest.mark.parametrize(
    "command", [POST, END_AND_POST, PASS, COMPLETE], ids=["post", "end", "pass", "complete"]
)
@pytest.mark.parametrize("error", CALLS)
def test_what_meets_a_fault_of_the_disk_says_so_and_can_be_done_again(
    folder: Path, every: int, error: str, command: tuple[str, ...]
):
    room = Discussed(folder) if command is COMPLETE else Room(folder)
    room.put_up()
    points = room.runner.points(*command, now=NOW, calls=CALLS[error], alone=True)
    faults = []
    for point in tracing.each(points, every):
        room.put_up()
        ran = room.runner.run(*command, now=NOW, rule=tracing.fail_at(point, error), alone=True)
        wrong = said_clearly(ran)
        room.do("channel", "show", "weather", "--json")
        room.do(*command)
        faults += [f"{error} at {point}: {one}" for one in (*wrong, *room.wrong(command))]
    assert faults == []


@pytest.mark.req("XC-001", "DG-003")
@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_acknowledged_posts_survive_power_cuts(
    tmp_path: Path, ledger: Ledger, every: int, kind: str
):
    image = disk(tmp_path, kind)
    with image:
        for cut in range(max(3, _CUTS // every)):
            root = image.place / f"workspace-{cut}"
            (root / "memory/shared").mkdir(parents=True)
            place = Place(str(root), {}, NOW)
            channels.create(place, "chat", "weather", ("owl", "gecko", "alice"))
            os.sync()
            heard = _post_until_the_cut(image, place, 1 + cut)
            image.come_back()
            boot(image.file.parent)
            ledger.point(_aftermath(place, heard), f"cut {cut} after {len(heard)} posts")
    ledger.assert_clean()


def _post_until_the_cut(image, place: Place, enough: int) -> list[str]:
    """Let three writers post; cut the power as soon as `enough` posts are acknowledged."""
    reading, writing = os.pipe()

    def working(writer: int):
        def work() -> int:
            for number in range(200):
                word = f"w{writer}-{number}"
                try:
                    channels.post(place, "weather", "alice", word, key=word)
                except Exception:
                    return 0  # the disk is gone
                os.write(writing, word.encode().ljust(8))
            return 0

        return work

    writers = [tracing.forked(working(number)) for number in range(_WRITERS)]
    os.close(writing)
    heard = []
    while len(heard) < enough and (said := os.read(reading, 8)):
        heard.append(said.decode().strip())
    image.cut_the_power()
    while said := os.read(reading, 8):
        heard.append(said.decode().strip())
    os.close(reading)
    for writer in writers:
        tracing.status_of(writer)
    return heard


def _aftermath(place: Place, heard: list[str]) -> list[str]:
    try:
        store = rooms.channels(place)
        said = [one.content for one in store.newest(store.see("weather").channel)]
        wrong = [f"{word} was acknowledged and is gone" for word in heard if word not in said]
        wrong += [f"{word} is there twice" for word in set(said) if said.count(word) > 1]
        _, step = channels.post(place, "weather", "alice", "after all", key="last")
        if step.channel.seen != len(said) + 1:
            wrong.append(f"it counts {step.channel.seen} of {len(said) + 1} messages")
        path = Path(place.root, "memory/shared/.council/channels/weather", journal.FILE)
        return wrong + faults_of_journal(path)
    except Exception as error:
        return [f"it cannot go on: {type(error).__name__}: {error}"]
