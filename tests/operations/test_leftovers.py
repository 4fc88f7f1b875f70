"""What a command left that was killed on its way goes with the next one that cleans up."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from council.operations import forget
from tests.operations.test_forget import OTHER, finish, place
from tests.store.processes import at_call, die, forked, status_of
from tests.store.rooms.samples import NOW, Room


def _torn(root: Path) -> list[Path]:
    return sorted(root.rglob(".tmp-*"))


def _left_by_a_kill(room: Room) -> Path:
    """Archive in processes that die one call later each time, until one leaves a file."""
    for number in range(1, 200):

        def dying(number: int = number) -> None:
            at_call(number, die)
            finish(room)

        status_of(forked(dying))
        found = _torn(room.root / "conseils") if (room.root / "conseils").exists() else []
        if found:
            return found[0]
    raise AssertionError("no kill left anything")


@pytest.mark.req("XC-018", "OP-016")
@pytest.mark.parametrize("cleaner", ["gc", "archive"])
def test_minutes_that_never_got_their_name_are_removed_once_they_are_old(
    tmp_path: Path, cleaner: str
):
    room = Room(tmp_path).open()
    left = _left_by_a_kill(room)
    if cleaner == "archive":
        finish(room)
        room.conversations.create(room.state.copy(conversation_id=OTHER), now=NOW)

    def clean() -> None:
        if cleaner == "gc":
            forget.gc(place(tmp_path), timedelta(days=30))
        else:
            finish(room)

    if cleaner == "gc":
        clean()
        assert left.exists(), "its writer may be about to name it"
    os.utime(left, (0, 0))
    people_s = left.with_name(".tmp-minutes-of-the-board")
    people_s.write_text("Not yet.")
    os.utime(people_s, (0, 0))
    clean()
    assert _torn(tmp_path) == [people_s]
