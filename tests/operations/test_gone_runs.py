"""A run whose process is gone is taken back at the next scan, long before its lease is over."""

from __future__ import annotations

import os
import signal
import time
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.protocol.exchange import Exchange
from council.core.protocol.registering import Joining
from council.operations.heartbeat.gate import halt
from council.operations.protocol import registry
from council.operations.protocol.asking import request
from council.operations.reporting.explaining import explain, find_problems
from council.operations.view import status
from council.store.heartbeat.survey import CROWD
from council.store.protocol.contexts import Contexts
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
    """Kill supervisor, keeper and program of the run that is under way, and no other."""
    until((hall.root / "killable").exists, "the owl is at work")
    slots = Slots(hall.place.paths.places, 4)
    supervisor, program = map(int, (hall.root / "killable").read_text().split())
    os.kill(supervisor, signal.SIGKILL)
    os.kill(program, signal.SIGKILL)
    until(lambda: slots.is_free("owl"), "the place is free")
    all_is_quiet()


def exchange_of(hall: Hall, context: str = "S1") -> Exchange:
    """Return a context, open or closed."""
    return Contexts(hall.place.paths).read(context).exchange


@pytest.mark.req("OP-006")
def test_turn_in_a_council_is_tried_again_at_the_next_look(hall: Hall):
    hall.convene(agents=("owl", "gecko"))
    kill_all(hall)
    hall.beat_to_rest(SECOND)
    assert hall.kinds("task.lost") == ["task.lost owl"]
    assert hall.read().participants["owl"].status == "RESPONDED"


@pytest.mark.req("OP-006", "OP-011")
def test_run_that_ended_while_others_scanned_is_not_called_lost(hall: Hall):
    hall.convene(agents=("owl", "gecko"))
    kill_all(hall)
    seen = status(hall.place)
    assert "lost" in [one.code for one in find_problems(hall.place, seen).found]
    hall.beat_to_rest(SECOND)
    assert "lost" not in [one.code for one in find_problems(hall.place, seen).found]


@pytest.mark.req("OP-006")
def test_turn_in_a_room_is_tried_again_at_the_next_look(hall: Hall):
    hall.room("owl", "gecko").post()
    kill_all(hall)
    hall.beat_to_rest(SECOND)
    assert hall.kinds("task.lost") == ["task.lost owl"]
    assert "owl: Here I am." in hall.said()


@pytest.mark.req("OP-006")
def test_run_for_a_task_is_tried_again_at_the_next_look(hall: Hall):
    registry.join(hall.place, Joining(agent="owl", capabilities=("plan",)))
    request(hall.place, "Plan the day", caps=("plan",))
    hall.beat()
    kill_all(hall)
    hall.now += SECOND
    found = explain(hall.place, "S1")
    assert [one.code for one in found.hindrances if one.code == "lost"] == ["lost"]
    assert [one.at for one in found.nexts if one.said.kind == "next-lease"] == [hall.now]
    hall.beat_to_rest()
    assert [one.split()[0] for one in hall.kinds("task.lost")] == ["task.lost"]
    hall.beat_to_rest(timedelta(minutes=1))
    assert [str(one.state) for one in exchange_of(hall).tasks.values()] == ["D"]


@pytest.mark.long
@pytest.mark.req("OP-006")
def test_run_for_a_task_is_seen_to_be_gone_among_many_that_wait(hall: Hall):
    registry.join(hall.place, Joining(agent="owl", capabilities=("plan",)))
    for number in range(CROWD + 1):
        request(hall.place, f"Plan the day {number}", caps=("plan",))
    hall.beat()
    until((hall.root / "killable").exists, "the owl is at work")
    note = Path(hall.place.paths.protocol) / ".due"
    # Once nothing has changed for two seconds the note vouches for those that wait.
    changed = max(one.stat().st_ctime for one in note.parent.rglob("*"))
    until(lambda: time.time() > changed + 2.1, "the files have stood for a while")
    hall.beat()
    assert note.exists()
    kill_all(hall)
    halt(hall.place)  # what would be started now would scan as well
    hall.beat_to_rest(SECOND)
    assert [one.split()[0] for one in hall.kinds("task.lost")] == ["task.lost"]


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
