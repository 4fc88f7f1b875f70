"""Runs that are given up: none begins afterwards, and no answer that was given is lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from council.core.conversations.conversation import TaskState
from council.operations.conversations.convene import Convened, Invitation, convene
from council.operations.conversations.steer import cancel, interrupt
from council.operations.ended_runs import still_running
from council.operations.forget import purge
from council.operations.heartbeat import beat
from council.operations.heartbeat.queue import serve
from council.operations.place import Place
from council.operations.report import Report
from council.store.slots import is_held, mark_path, under_way
from tests.cli.commands import wait_until

AGENTS = ("owl", "gecko")
PROGRAM = """
[agents.{0}]
argv = ["/bin/sh", "-c", "touch begun-{0}; until [ -e go ]; do sleep 0.05; done; echo Yes."]
"""


@pytest.fixture
def place(workspace: Path) -> Place:
    text = "".join(PROGRAM.format(one) for one in AGENTS)
    (workspace / "council.toml").write_text(text)
    return Place(str(workspace), dict(os.environ), None)


def opened(place: Place) -> Convened:
    invited = Invitation(topic="Tea?", name="tea", agents=("owl", "gecko"))
    return convene(place, invited, wakes=False)


def all_over(place: Place) -> bool:
    """Return true if no process supervises a run any more."""
    return not any(under_way(mark_path(place.paths.runs, one)) for one in AGENTS)


@pytest.mark.req("FW-003.1")
@pytest.mark.parametrize("wish", ["leave", "cancel"])
def test_a_run_that_is_given_up_before_it_begins_does_not_begin(place: Place, wish: str):
    state = opened(place).state
    now, report = place.now(), Report(now=place.now())
    scans = beat._scans(place, "tea", [], now)
    for scan in scans:
        scan.each(report, must_exist=True)
    claimed = serve(place, beat._to_serve(place, scans), now, report)
    assert len(claimed) == 2

    if wish == "leave":
        interrupt(place, "tea", state.conversation_id)
    else:
        cancel(place, "tea")
    for one, slot in claimed:
        one.of.start(one, slot)

    places = Path(place.paths.places)
    slots = [f"{places}/agent-{one}" for one in AGENTS]
    wait_until(lambda: not any(map(is_held, slots)))
    assert not list(Path(place.root).glob("begun-*"))
    if wish == "leave":
        after = place.conversations.read("tea")
        assert {one.state for one in after.tasks.values()} == {TaskState.X}


@pytest.mark.req("FW-003.1")
def test_an_answer_that_came_before_its_run_was_ended_is_written_down(place: Place):
    state = opened(place).state
    beat.beat(place, "tea")
    root = Path(place.root)
    wait_until(lambda: len(list(root.glob("begun-*"))) == 2)
    marks = [mark_path(place.paths.runs, one) for one in AGENTS]
    supervisors = [found.pid for found in map(under_way, marks) if found is not None]

    with place.conversations.session("tea", state.conversation_id, place.now()):
        (root / "go").touch()
        wait_until(lambda: all_over(place))
        for pid in supervisors:
            os.kill(pid, signal.SIGTERM)

    wait_until(lambda: place.conversations.read("tea").tour == 2)
    interrupt(place, "tea", state.conversation_id)
    wait_until(lambda: all_over(place))
    said = [one.agent for one in place.conversations.read("tea").entries if one.tour == 1]
    assert sorted(said) == ["gecko", "owl"]


@pytest.mark.req("FW-003.1")
def test_only_the_runs_of_that_conversation_are_ended(place: Place):
    state = opened(place).state
    beat.beat(place, "tea")
    wait_until(lambda: len(list(Path(place.root).glob("begun-*"))) == 2)
    other = convene(
        place, Invitation(topic="Milk?", name="milk", agents=("owl", "gecko")), wakes=False
    ).state

    assert interrupt(place, "milk", other.conversation_id) == {}
    tasks = place.conversations.read("tea").tasks.values()
    given_up = {one.agent: one.id for one in tasks if one.state is TaskState.R}
    assert sorted(still_running(place, given_up)) == ["gecko", "owl"]
    cancel(place, "tea")
    wait_until(lambda: not still_running(place, given_up))
    assert state.name == "tea"


@pytest.mark.req("FW-003.1")
def test_a_run_whose_supervisor_was_killed_leaves_no_trace_of_what_is_purged(place: Place):
    state = opened(place).state
    beat.beat(place, "tea")
    wait_until(lambda: len(list(Path(place.root).glob("begun-*"))) == 2)
    marks = [mark_path(place.paths.runs, one) for one in AGENTS]
    for found in map(under_way, marks):
        assert found is not None
        os.kill(found.pid, signal.SIGKILL)
    wait_until(lambda: not any(is_held(f"{place.paths.places}/agent-{one}") for one in AGENTS))
    assert any(state.conversation_id in Path(one).read_text() for one in marks)
    cancel(place, "tea")

    purge(place, state.conversation_id, "conversation")

    assert not any(state.conversation_id in Path(one).read_text() for one in marks)
