"""One queue for all that a heartbeat starts: the oldest comes first, whatever it is for.

Agents are real little programs; each run is a process of its own.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.protocol.registering import Joining
from council.core.reasons import read_reason
from council.operations.delegation import delegating
from council.operations.delegation.handing_over import Request
from council.operations.detach import detach
from council.operations.heartbeat import running
from council.operations.heartbeat.beat import beat
from council.operations.heartbeat.gate import halt, note_failure, resume_all
from council.operations.heartbeat.scans import ContextScan
from council.operations.protocol import registry
from council.operations.protocol.asking import request
from council.operations.protocol.exchanging import contexts
from council.operations.report import Report
from council.store.heartbeat import survey
from council.store.slots import Slot, Slots
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

    def post(self, text: str = "Will it rain?", by: str = "alice", name: str = "weather") -> Queue:
        """Post; under the halt the heartbeat that this has done, at its own time, is waited for."""
        super().post(text, by, name)
        if Path(self.place.paths.halt_mark).exists():
            all_is_quiet()
        return self

    def ask(self, agent: str, priority: str = "P1", context: str = "") -> str:
        """Ask for something that one agent alone can do; return its context."""
        caps = (f"as_{agent}",)
        asked = request(self.place, "Plan it", caps=caps, priority=priority, context=context)
        self.beat(SECOND)
        return asked.context

    def call_owl(self, seconds: int = 60) -> None:
        """Call the owl from outside of any run, and wait for its answer."""
        limits = {"timeoutMs": 1000 * seconds}
        request = Request(sender="user", receiver="owl", message="Well?", trace="t1", limits=limits)
        assert delegating.call(self.place, request).status == "ok"

    def look(self, *, contested: bool) -> list[str]:
        """Return the contexts that a heartbeat would serve."""
        look = ContextScan(self.place, self.now, Report(now=self.now))
        look.each(contested=contested)
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
def stopped_call(queue: Queue) -> Iterator[Callable[..., int]]:
    """Return how to begin a call of the owl that has to wait, and stop it while it waits."""
    handles: list[int] = []

    def begin(slot: Slot, seconds: int = 60) -> int:
        call = forked(lambda: (slot.release(), queue.call_owl(seconds)))
        handles.append(os.pidfd_open(call))
        until(lambda: stands_in_line(queue), "the call stands in line")
        os.kill(call, signal.SIGSTOP)
        return call

    yield begin
    for handle in handles:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let contexts be noted as if there were many, and had stood a while."""
    monkeypatch.setattr(survey, "TICK_NS", -(10**9))
    monkeypatch.setattr(survey, "CROWD", 1)


@pytest.mark.long
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


@pytest.mark.long
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
    slot = taken(queue, "owl")
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
        note_failure(queue.place, "gecko", read_reason("broken"), "")

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


@pytest.mark.req("XC-016", "P8-060")
@pytest.mark.parametrize("wants", ["agent", "place"])
def test_a_place_is_left_to_a_call_that_has_waited_longer(
    queue: Queue, stopped_call: Callable[..., int], wants: str
):
    queue.open("owl", "gecko", max_runs=2 if wants == "agent" else 1)
    resume_all(queue.place)
    slot = taken(queue, "owl" if wants == "agent" else "fox")
    call = stopped_call(slot)
    queue.now += SECOND
    context = queue.ask("owl" if wants == "agent" else "gecko")

    slot.release()
    queue.beat()

    assert queue.kinds("task.started") == []
    os.kill(call, signal.SIGCONT)
    assert status_of(call) == 0
    queue.beat_to_rest()
    assert queue.order() == ["t1", context]


@pytest.mark.req("XC-016")
def test_a_call_that_was_stopped_keeps_nobody_waiting_beyond_its_time(
    queue: Queue, stopped_call: Callable[..., int]
):
    queue.open("owl")
    resume_all(queue.place)
    slot = taken(queue, "owl")
    call = stopped_call(slot, seconds=5)
    slot.release()
    queue.now += SECOND
    queue.ask("owl")
    assert queue.kinds("task.started") == []

    queue.beat(5 * SECOND)

    assert len(queue.kinds("task.started")) == 1
    os.kill(call, signal.SIGKILL)
    assert status_of(call) == -signal.SIGKILL
    all_is_quiet()
    queue.ask("owl")
    all_is_quiet()
    assert stands_in_line(queue) == []


@pytest.mark.req("XC-016")
def test_what_was_left_to_a_call_that_gives_up_is_passed_on(
    queue: Queue, stopped_call: Callable[..., int]
):
    queue.open("owl", "gecko", max_runs=1)
    resume_all(queue.place)
    queue.now = None  # type: ignore[assignment]
    slot = taken(queue, "fox")
    call = stopped_call(slot)
    began = int(time.time())
    until(lambda: int(time.time()) > began, "the clock shows another second")
    context = request(queue.place, "Plan it", caps=("as_gecko",)).context
    slot.release()
    beat(queue.place)
    assert queue.kinds("task.started") == []

    os.kill(call, signal.SIGTERM)
    os.kill(call, signal.SIGCONT)

    assert status_of(call) == 1
    all_is_quiet()
    assert queue.order() == [context]


NAPS = (
    'cat >/dev/null; cd "$COUNCIL_ROOT"; [ -e napping ] || { touch napping; sleep 60; }; echo Up.'
)


@pytest.mark.req("PR-410", "XC-016")
def test_what_is_urgent_is_started_though_whoever_started_the_other_run_is_held_up(queue: Queue):
    queue.open("owl", does=NAPS)
    resume_all(queue.place)
    all_is_quiet()
    request(queue.place, "Plan it", caps=("as_owl",))

    def start() -> None:
        held = os.getpid()

        def held_up(*given: object, **more: object) -> None:
            detach(*given, **more)  # type: ignore[arg-type]
            until(lambda: os.getpid() != held or (queue.root / "go").exists(), "it goes on")

        running.detach = held_up  # type: ignore[assignment]
        queue.beat()

    starter = forked(start)
    until((queue.root / "napping").exists, "the owl is at work")
    urgent = request(queue.place, "Now", caps=("as_owl",), priority="P0").context
    queue.beat()

    until(lambda: contexts(queue.place).answer(urgent), "the answer")

    (queue.root / "go").touch()
    assert status_of(starter) == 0
    all_is_quiet()


def taken(queue: Queue, agent: str) -> Slot:
    """Take a place as a run of an agent would."""
    slot = Slots(queue.place.paths.places, queue.place.settings.max_runs).take(agent)
    assert slot is not None
    return slot


def stands_in_line(queue: Queue) -> list[str]:
    """Return the marks of calls that wait."""
    return [one for one in os.listdir(queue.place.paths.places) if one.startswith("call-")]


def halt_is_over(queue: Queue) -> None:
    """Take the mark of the halt away, and start nothing."""
    Path(queue.place.paths.halt_mark).unlink()
