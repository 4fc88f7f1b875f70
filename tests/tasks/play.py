"""A context played by hand: what happens, and what follows from it, on one clock."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from council.agents.registry import Worker
from council.kernel import codec
from council.runs import work as runs
from council.tasks import decisions, rules
from council.tasks.model import Context, Event, Rules
from council.tasks.wire import lines
from council.tasks.wire.writing import message_of

AT = "2026-11-28T09:00:00Z"
BEGAN = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
WORKERS = {
    "W1": Worker(agent_id="ada", caps=["web_search", "plan"]),
    "W2": Worker(agent_id="bea", caps=["web_search", "test"], load=10),
}


class Played:
    """A context, and all events so far; each event survives JSON and what follows is final."""

    def __init__(self, workers: dict[str, Worker] | None = None, **more: Any) -> None:
        self.state, self.now, self.events = rules.new(), BEGAN, list[Event]()
        opened = {"type": "context.opened", "name": "S1", "lang": "en", "at": AT}
        self.do([{**opened, "rules": Rules(**more).to_json()}])
        self.know(workers or WORKERS)

    def know(self, workers: dict[str, Worker], *down: str, **groups: list[str]) -> None:
        rows = {ident: one.to_json() for ident, one in workers.items()}
        known = {"type": "context.known", "workers": rows, "down": [*down], "groups": groups}
        self.do([{**known, "at": AT}])

    def do(self, more: list[Event]) -> None:
        """Let something happen, and all that follows from it."""
        while more:
            for event in more:
                assert event["type"] in rules.EVENTS
                rules.evolve(self.state, codec.loads(codec.encoded(event)))
            self.events += more
            assert len(self.events) < 200
            more = rules.due(self.state, self.now)
        again = rules.new()
        for event in self.events:
            rules.evolve(again, event)
        assert again == self.state == Context.from_json(codec.loads(codec.encoded(again.to_json())))

    def later(self, seconds: int) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)
        self.do(rules.due(self.state, self.now))

    def ask(self, text: str = "Find kettles", *caps: str, **more: Any) -> None:
        priority, budget = more.get("priority", "P1"), more.get("budget", 500)
        self.act(decisions.request, text, [*caps], priority, budget)

    def act(self, decide: Callable[..., Any], *args: Any, and_then: Sequence[Event] = ()) -> None:
        """Decide something, and let it happen."""
        play = decisions.Play(self.state, self.now)
        decide(play, *args)
        self.do([*play.events, *and_then])

    def wanted(self) -> list[str]:
        return [f"{one.agent} {one.task}" for one in rules.work(self.state, self.now)]

    def run(self, output: str = "", code: str = "", seconds: int = 0) -> None:
        """Let the first run that is wanted end with an output or a failure."""
        one = rules.work(self.state, self.now)[0]
        begun = runs.claimed(one, "S1", self.now, timedelta(minutes=5))
        self.do([begun])
        self.now += timedelta(seconds=seconds)
        at = self.now.isoformat()[:19] + "Z"
        if code:
            self.do([runs.failed(begun["id"], at, code, "words")])
            return
        hop = next(h for h in self.state.hops.values() if h.asked == one.tour)
        heard = lines.read_line(output, decisions.expected(self.state, hop))
        end = runs.answered(begun["id"], at, runs.Use())
        self.act(decisions.hear, hop.number, heard, and_then=[end])

    def flow(self) -> list[str]:
        """Return the messages so far, as `O1>W1 R`."""
        said = [message_of(event["line"]) for event in self.events if "line" in event]
        return [f"{one.sender}>{one.receiver} {one.kind} {one.code}".strip() for one in said]

    def line(self, number: int) -> str:
        return self.state.lines[str(number)]
