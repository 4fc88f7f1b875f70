"""One queue for all that a heartbeat starts: the oldest comes first, whatever it is for.

Agents are real little programs; each run is a process of its own.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from council.core.protocol.registering import Joining
from council.operations.halting import halt, resume_all
from council.operations.protocol import registry
from council.operations.protocol.asking import request
from tests.operations.halls import Hall
from tests.operations.tables import all_is_quiet, script

SECOND = timedelta(seconds=1)
# Says for what it runs, and has something new to say each time.
TALKS_ON = (
    'cat >/dev/null; echo "$COUNCIL_AGENT $COUNCIL_NAME" >>"$COUNCIL_ROOT/order"; '
    'echo "As $COUNCIL_TASK_ID"'
)
BUSY = "[channels]\nmax_cycles = 6\nmax_repeats = 0\nalike = 1.0\n"


class Queue(Hall):
    """A workspace in which everything waits for places until it is let go."""

    def open(self, *agents: str, max_runs: int = 4) -> Queue:
        """Seat agents that can all do tasks, and halt."""
        self.seat(dict.fromkeys(agents, script(TALKS_ON)), max_runs=max_runs)
        path = self.root / "council.toml"
        path.write_text(path.read_text() + BUSY)
        for one in agents:
            registry.join(self.place, Joining(agent=one, capabilities=(f"as_{one}",)))
        halt(self.place)
        return self

    def ask(self, agent: str, priority: str = "P1") -> str:
        """Ask for something that one agent alone can do; return its context."""
        asked = request(self.place, "Plan it", caps=(f"as_{agent}",), priority=priority)
        self.beat(SECOND)
        return asked.context

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
