"""Rooms under processes that die at a chosen call: no agent is lost, none speaks twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from council.core.rooms.channels import TurnState, is_asleep
from council.operations.heartbeat.beat import beat
from council.operations.heartbeat.gate import halt
from council.operations.rooms import discussing
from tests.operations.crashes import killed_at
from tests.operations.halls import Hall, talks
from tests.operations.tables import LEASE, all_is_quiet


@pytest.mark.long
@pytest.mark.req("XC-001", "DG-003", "DG-004")
@pytest.mark.parametrize(("heirs", "step"), [(False, 7), (True, 13)], ids=["heartbeat", "runs"])
def test_killed_at_any_call_nobody_is_lost_and_nobody_speaks_twice(
    tmp_path: Path, heirs: bool, step: int
):
    number, died = 0, True
    while died:
        number += step
        hall = Hall(tmp_path / str(number)).seat_all(talks(1)["argv"][2], ("owl", "gecko"))
        halt(hall.place)
        hall.room().post().beat_to_rest()  # what the post has had done is done under the halt
        os.unlink(hall.root / "memory/shared/.council/halted")
        died = killed_at(number, lambda hall=hall: beat(hall.place), heirs=heirs)
        all_is_quiet()
        died = died if not heirs else number < 150

        for _ in range(6):
            hall.beat_to_rest(LEASE)

        said = hall.said()
        assert sorted(said[1:]) == ["gecko: gecko in cycle 1", "owl: owl in cycle 1"], number
        assert is_asleep(hall.standing()), number
        assert len(hall.kinds("turn.ended")) == len(set(hall.kinds("turn.ended"))) * 2, number


@pytest.mark.req("DG-123", "DG-124")
def test_whoever_completes_a_discussion_may_die_the_heartbeat_does_the_rest(tmp_path: Path):
    number, died, finished_later = 0, True, 0
    while died:
        number += 7
        hall = Hall(tmp_path / str(number)).seat({"owl": {}, "gecko": {}})
        hall.room("owl", "gecko").discuss("owl", "gecko", callback="weather")
        folder = hall.root / "memory/shared/discussion-summary"
        folder.mkdir()
        (folder / "s.md").write_text("We buy two.")
        path = str(folder / "s.md")
        died = killed_at(
            number, lambda h=hall, p=path: discussing.complete(h.place, "umbrellas", "owl", p)
        )
        if hall.standing("umbrellas").state is not TurnState.ARCHIVED:
            discussing.complete(hall.place, "umbrellas", "owl", path)
        else:
            report = hall.beat()
            assert report.errors == []
            finished_later += report.changed

        assert len(hall.minutes()) == 1, number
        told = [one for one in hall.said() if one.startswith("moderator")]
        assert told == [
            "moderator: The discussion umbrellas is completed. "
            "Its summary: memory/shared/discussion-summary/s.md"
        ], number
        assert not hall.beat().changed
    assert finished_later > 3
