"""One queue for all that a heartbeat starts: the oldest comes first, whatever it is for.

Agents are real little programs; each run is a process of its own.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from council.core.protocol.registering import Joining
from council.operations.delegation import delegating
from council.operations.delegation.handing_over import Request
from council.operations.gate import note_failure
from council.operations.halting import halt, resume_all
from council.operations.protocol import registry
from council.operations.protocol.asking import request
from council.operations.protocol.task_looks import TaskLook
from council.operations.report import Report
from council.store.protocol import context_survey
from council.store.slots import Slots
from tests.operations.halls import Hall
from tests.operations.tables import all_is_quiet, script, until
from tests.store.processes import forked, status_of

SECOND = timedelta(seconds=1)
# Says for what it runs, and has something new to say each time.
TALKS_ON = (
    'cat >/dev/null; echo "$COUNCIL_AGENT $COUNCIL_NAME" >>"$COUNCIL_ROOT/order"; '
    'echo "As $COUNCIL_TASK_ID"'
)
BUSY = "[channels]\nmax_cycles = 6\nmax_repeats = 0\nalike = 1.0\n"


class Queue(Hall):
    """A workspace in which everything waits for places until it is let go."""

    def open(self, *agents: str, max_runs: int = 4, does: str = TALKS_ON, more: str = "") -> Queue:
        """Seat agents that can all do tasks, and halt."""
        self.seat(dict.fromkeys(agents, script(does)), max_runs=max_runs, retry_backoff=[])
        path = self.root / "council.toml"
        path.write_text(path.read_text() + BUSY + more)
        for one in agents:
            registry.join(self.place, Joining(agent=one, capabilities=(f"as_{one}",)))
        halt(self.place)
        return self

    def ask(self, agent: str, priority: str = "P1", context: str = "") -> str:
        """Ask for something that one agent alone can do; return its context."""
        caps = (f"as_{agent}",)
        asked = request(self.place, "Plan it", caps=caps, priority=priority, context=context)
        self.beat(SECOND)
        return asked.context

    def call_owl(self) -> None:
        """Call the owl from outside of any run, and wait for its answer."""
        request = Request(sender="user", receiver="owl", message="Well?", trace="t1")
        assert delegating.call(self.place, request).status == "ok"

    def look(self, *, contested: bool) -> list[str]:
        """Return the contexts that a heartbeat would serve."""
        look = TaskLook(self.place, self.now, Report(now=self.now))
        look.at_all(contested=contested)
        return look.busy

    def let_go(self) -> list[str]:
        """Let everything run; return for what runs were started, in order."""
        self.now += SECOND
        resume_all(self.place)
        all_is_quiet()
        return self.order()

    def order(self, by: str = "") -> list[str]:
        """Return for what runs were started, in order: those of one agent, or all."""
        lines = [one.split() for one in (self.root / "order").read_text().splitlines()]
        return [name for agent, name in lines if by in ("", agent)]


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return Queue(tmp_path / "workspace")


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let contexts be noted as if there were many, and had stood a while."""
    monkeypatch.setattr(context_survey, "_TICK_NS", -(10**9))
    monkeypatch.setattr(context_survey, "CROWD", 1)


@pytest.mark.req("XC-016")
def test_a_task_gets_its_agent_although_rooms_want_it_without_end(queue: Queue):
    queue.open("owl", "gecko")
    rooms = [f"room-{number}" for number in range(4)]
    for name in rooms:
        queue.room("owl", "gecko", name=name).post(name=name)
    queue.beat(SECOND)
    context = queue.ask("owl")

    queue.let_go()

    assert len(queue.order()) > 20
    assert queue.order(by="owl")[:5] == [*rooms, context]


@pytest.mark.req("XC-016")
def test_a_task_gets_the_only_place_although_a_room_wants_it_without_end(queue: Queue):
    queue.open("owl", "gecko", "fox", max_runs=1)
    queue.room("owl", "gecko").post()
    queue.beat(SECOND)
    context = queue.ask("fox")

    order = queue.let_go()

    assert len(order) > 5
    assert order[:3] == ["weather", context, "weather"]


@pytest.mark.req("PR-410", "XC-016")
def test_what_is_critical_goes_first_and_what_may_wait_lets_tasks_alone_pass(queue: Queue):
    queue.open("owl", "gecko", max_runs=1)
    deferred = queue.ask("owl", "P2")
    usual = queue.ask("owl")
    queue.room("owl", "gecko").post()
    queue.beat(SECOND)
    later = queue.ask("gecko")
    critical = queue.ask("gecko", "P0")

    order = queue.let_go()

    assert order[:5] == [critical, usual, "weather", later, deferred]
    assert len(order) > 6


@pytest.mark.req("XC-016")
@pytest.mark.parametrize("places", [1, 2])
def test_a_place_that_becomes_free_during_a_look_goes_to_whoever_waits(
    queue: Queue, noted: None, places: int
):
    queue.open("owl", "gecko", max_runs=places)
    context = queue.ask("owl")
    halt_is_over(queue)
    slot = Slots(queue.place.paths.places, places).take("owl")
    assert slot is not None
    queue.beat()

    assert queue.look(contested=False) == []
    assert queue.look(contested=True) == [context]

    slot.release()
    assert queue.look(contested=False) == [context]


@pytest.mark.req("XC-016", "XC-109")
def test_who_has_reached_a_cap_keeps_nobody_else_waiting(queue: Queue, noted: None):
    queue.open("owl", max_runs=1, more="[limits]\nmax_runs_per_council = 1\n")
    first = queue.ask("owl")
    queue.ask("owl", context=first)
    others = [queue.ask("owl") for _ in range(3)]

    order = queue.let_go()

    assert order == [first, *others]
    assert len(queue.events("task.refused")) == 1
    assert not queue.beat().changed


@pytest.mark.req("XC-016", "XC-109")
def test_who_rests_keeps_nobody_else_waiting_until_the_clock_beats(queue: Queue, noted: None):
    queue.open("owl", "gecko", max_runs=1)
    queue.ask("gecko")
    context = queue.ask("owl")
    for _ in range(3):
        note_failure(queue.place, "gecko", "broken", "")

    assert queue.let_go() == [context]


WAITS = 'until [ -e "$COUNCIL_ROOT/go" ]; do sleep 0.02; done; '


@pytest.mark.req("XC-016")
@pytest.mark.parametrize("kind", ["task", "room"])
def test_who_waits_for_an_agent_that_is_called_is_started_when_the_call_is_over(
    queue: Queue, kind: str
):
    queue.open("owl", "gecko", does=WAITS + TALKS_ON)
    resume_all(queue.place)
    call = forked(queue.call_owl)
    until(queue.has("agent.call.start"), "the call began")
    if kind == "task":
        queue.ask("owl")
    else:
        queue.room("owl", "gecko").post()
        queue.beat(SECOND)
    assert len(queue.kinds("task.queued")) == 1
    assert queue.kinds("task.started") == []

    (queue.root / "go").touch()

    assert status_of(call) == 0
    all_is_quiet()
    assert queue.order(by="owl")[0] == "t1"
    assert len(queue.order(by="owl")) > 1


def halt_is_over(queue: Queue) -> None:
    """Take the mark of the halt away, and start nothing."""
    Path(queue.place.paths.halt_mark).unlink()
