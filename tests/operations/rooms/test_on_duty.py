"""Keeping a workspace going: one process is on duty, the others stand by."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from council.operations.watch import Duty
from tests.operations.halls import Hall
from tests.operations.tables import until


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "workspace").seat({"owl": {}, "gecko": {}})


@pytest.mark.req("DG-005")
def test_of_many_that_register_one_is_on_duty_and_start_and_stop_are_told_once(hall: Hall):
    duties = [Duty(hall.place) for _ in range(5)]

    assert [one.is_mine() for one in duties] == [True, False, False, False, False]
    assert [one.is_mine() for one in duties] == [True, False, False, False, False]
    assert hall.kinds("service.started", "service.stopped") == ["service.started"]

    duties[0].end()
    duties[0].end()
    assert hall.kinds("service.started", "service.stopped") == [
        "service.started",
        "service.stopped",
    ]
    assert duties[3].is_mine()
    assert not duties[4].is_mine()
    duties[3].end()


@pytest.mark.req("DG-005")
def test_several_watchers_start_the_service_once_and_another_takes_over(council):
    assert council("init", "--agents", "owl,gecko").code == 0
    hall = Hall(council.root)
    watchers = [council.start("watch", "--advance") for _ in range(3)]
    try:
        for one in watchers:
            assert one.stdout.readline()  # it has looked once
        until(hall.has("service.started"), "one is on duty")
        assert len(hall.kinds("service.started")) == 1

        (started,) = {one["data"]["process"] for one in hall.events("service.started")}
        (first,) = [one for one in watchers if one.pid == started]
        first.send_signal(signal.SIGTERM)
        assert first.wait(300) == 0
        assert len(hall.kinds("service.stopped")) == 1
        assert council("channel", "create", "chat", "tea", "--participants", "owl,gecko").code == 0
        until(hall.has("service.started", times=2), "another takes over")
        assert len(hall.kinds("service.started")) == 2
    finally:
        for one in watchers:
            one.kill()
            one.communicate()
