"""A context played by hand: what happens, and what follows from it, on one clock."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from council.agents.registry import Worker
from council.kernel import codec
from council.runs import work as runs
from council.tasks import decisions, rules
from council.tasks.model import Context, Event, Rules
from council.tasks.wire import lines
from council.tasks.wire.conversion import message_of

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
        self.do(lambda _: [{**opened, "rules": Rules(**more).to_json()}])
        self.know(workers or WORKERS)

    def know(self, workers: dict[str, Worker], *down: str, **groups: list[str]) -> None:
        rows = {ident: one.to_json() for ident, one in workers.items()}
        known = {"type": "context.known", "workers": rows, "down": [*down], "groups": groups}
        self.do(lambda _: [{**known, "at": AT}])

    def do(self, decide: Callable[[Context], list[Event]], seconds: int = 0) -> None:
        """Do something after so many seconds, and all that follows from it."""
        self.now += timedelta(seconds=seconds)
        more = decide(self.state)
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

    def ask(self, text: str = "Find kettles", *caps: str, **more: Any) -> None:
        priority, budget = more.get("priority", "P1"), more.get("budget", 500)
        self.act(decisions.request, text, [*caps], priority, budget)

    def play(self, decide: Callable[..., Any], *args: Any) -> decisions.Play:
        """Return a play in which this was decided."""
        play = decisions.Play(self.state, self.now)
        decide(play, *args)
        return play

    def act(self, decide: Callable[..., Any], *args: Any) -> None:
        """Decide something, and let follow what does."""
        play = self.play(decide, *args)
        self.do(lambda _: play.events)

    def wanted(self) -> list[str]:
        return [f"{one.agent} {one.task}" for one in rules.work(self.state, self.now)]

    def run(self, output: str = "", code: str = "", seconds: int = 0) -> None:
        """Let the first run that is wanted end with an output or a failure."""
        one = rules.work(self.state, self.now)[0]
        begun = runs.claimed(one, "S1", self.now, timedelta(minutes=5))
        self.do(lambda _: [begun])
        self.now += timedelta(seconds=seconds)
        at = self.now.isoformat()[:19] + "Z"
        if code:
            self.do(lambda _: [runs.failed(begun["id"], at, code, "words")])
            return
        hop = next(h for h in self.state.hops.values() if h.asked == one.tour)
        heard = lines.read_line(output, decisions.expected(self.state, hop))
        play = self.play(decisions.hear, hop.number, heard)
        self.do(lambda _: [*play.events, runs.answered(begun["id"], at, runs.Use())])

    def flow(self) -> list[str]:
        """Return the messages so far, as `O1>W1 R`."""
        said = [message_of(event["line"]) for event in self.events if "line" in event]
        codes = [f" {one.code}" if one.code else "" for one in said]
        rows = zip(said, codes, strict=True)
        return [f"{one.sender}>{one.receiver} {one.kind}{code}" for one, code in rows]

    def line(self, number: int) -> str:
        return self.state.lines[str(number)]
