"""The line of calls that wait for a place."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from council.store.delegation.line import Mark, Standing, in_line, stand_in_line
from tests.store.processes import forked, status_of

SINCE, UNTIL = 1000, 2000


def stand(folder: Path, agent: str, since: int = SINCE, *, has_place: bool = False) -> Mark:
    return stand_in_line(str(folder), agent, since=since, until=UNTIL, has_place=has_place)


@pytest.mark.req("XC-016")
def test_who_has_waited_longest_is_first_and_who_has_ended_is_gone(tmp_path: Path):
    younger = stand(tmp_path, "owl", SINCE + 1)
    older = stand(tmp_path, "a.gecko", 999, has_place=True)

    assert in_line(str(tmp_path), SINCE + 1) == [
        Standing(since=999, agent="a.gecko", has_place=True),
        Standing(since=SINCE + 1, agent="owl", has_place=False),
    ]
    older.end()
    assert [one.agent for one in in_line(str(tmp_path), SINCE + 1)] == ["owl"]
    younger.end()
    assert list(tmp_path.iterdir()) == []


def test_a_mark_counts_until_its_time_is_over(tmp_path: Path):
    mark = stand(tmp_path, "owl")

    assert len(in_line(str(tmp_path), UNTIL)) == 1
    assert in_line(str(tmp_path), UNTIL + 1) == []
    mark.end()


@pytest.mark.req("XC-002")
def test_a_mark_whose_process_was_killed_counts_for_nothing_and_goes(tmp_path: Path):
    def killed() -> None:
        stand(tmp_path, "owl")
        os.kill(os.getpid(), signal.SIGKILL)

    assert status_of(forked(killed)) == -signal.SIGKILL

    assert in_line(str(tmp_path), SINCE) == []
    assert in_line(str(tmp_path), UNTIL + 1) == []
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_mark_is_left_alone(tmp_path: Path):
    for name in ("call-1.2", "call-1.x.0.ab.owl", "call-y.z.0.ab.owl", "place-1"):
        (tmp_path / name).touch()

    assert in_line(str(tmp_path), SINCE) == []
    assert len(list(tmp_path.iterdir())) == 4
    assert in_line(str(tmp_path / "nowhere"), SINCE) == []
