"""A run whose process is gone is taken back at the next look, long before its lease is over."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from council.store.slots import Slots
from tests.operations.halls import Hall
from tests.operations.tables import all_is_quiet, running_processes, script, until

# Waits at its first attempt until it is killed, and answers at the second.
SLEEPS_ONCE = (
    'cat >/dev/null; cd "$COUNCIL_ROOT"; '
    "[ -e once ] || { touch once; echo $PPID $$ >pids; mv pids killable; sleep 600; }; "
    'echo "Here I am."'
)
SECOND = timedelta(seconds=1)


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    made = Hall(tmp_path / "workspace")
    sleeps = {**script(SLEEPS_ONCE), "timeout": "15m"}
    made.seat({"owl": sleeps, "gecko": {}}, retry_backoff=[])
    return made


def kill_all(hall: Hall) -> None:
    """Kill supervisor, keeper and program of the run that is under way, and nobody else."""
    until((hall.root / "killable").exists, "the owl is at work")
    slots = Slots(hall.place.paths.places, 4)
    supervisor, program = map(int, (hall.root / "killable").read_text().split())
    os.kill(supervisor, signal.SIGKILL)
    os.kill(program, signal.SIGKILL)
    until(lambda: slots.is_free("owl"), "the place is free")
    all_is_quiet()


@pytest.mark.req("OP-006")
def test_turn_in_a_council_is_tried_again_at_the_next_look(hall: Hall):
    hall.convene(agents=("owl", "gecko"))
    kill_all(hall)
    hall.beat_to_rest(SECOND)
    assert hall.kinds("task.lost") == ["task.lost owl"]
    assert hall.read().participants["owl"].status == "RESPONDED"


@pytest.mark.req("OP-006")
def test_turn_in_a_room_is_tried_again_at_the_next_look(hall: Hall):
    hall.room("owl", "gecko").post()
    kill_all(hall)
    hall.beat_to_rest(SECOND)
    assert hall.kinds("task.lost") == ["task.lost owl"]
    assert "owl: Here I am." in hall.said()


@pytest.mark.req("OP-006")
@pytest.mark.parametrize("unseen", ["no place", "a network"])
def test_run_that_cannot_be_seen_is_not_gone(hall: Hall, unseen: str):
    hall.convene(agents=("owl", "gecko"))
    kill_all(hall)
    if unseen == "no place":
        (Path(hall.place.paths.places) / "agent-owl").unlink()
    else:
        path = hall.root / "council.toml"
        path.write_text("force_network_fs = true\n" + path.read_text())
    hall.beat_to_rest(SECOND)
    assert hall.kinds("task.lost") == []
    hall.beat_to_rest(timedelta(minutes=16))
    assert hall.kinds("task.lost") == ["task.lost owl"]


@pytest.mark.req("OP-006")
def test_run_that_goes_on_is_left_alone(hall: Hall):
    hall.convene(agents=("owl", "gecko"))
    until((hall.root / "killable").exists, "the owl is at work")
    hall.beat(SECOND)
    assert hall.kinds("task.lost") == []
    assert any("sleep 600" in one for one in running_processes(hall.root))
    kill_all(hall)
