"""Plays a room as commands do, with checks that hold for every room."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from council.kernel import codec, times
from council.kernel.page import revision
from council.rooms import decisions, model
from council.rooms import page as kind
from council.rooms.model import Event, Member, Room
from council.runs import work as runs

START, LEASE = datetime(2026, 11, 28, 9, 0, tzinfo=UTC), timedelta(minutes=2)
GUIDE = "## Topic\nTea.\n\n## Goals\nOne tea.\n\n## Completion criteria\nAll agree."


def member(ident: str) -> Member:
    """Return a member; a, b, c and others are agents, x is a person."""
    agent = ident if len(ident) == 1 and ident != "x" else None
    return Member(agent_id=agent, name=ident.title())


class Play:
    """A room, its events so far, and the clock."""

    def __init__(self, members: str = "a b", mode: str = "chat", **more: Any) -> None:
        self.state, self.events, self.now = kind.new(), list[Event](), START
        people = {one: member(one) for one in ("moderator", *members.split())}
        made = {"channel_id": "den-1", "name": "den", "mode": mode, "members": people}
        room = Room(**{**made, "created_at": times.text(START), **more})
        self.do(lambda state: decisions.create(state, room))

    def do(self, decide: Callable[[Room], list[Event]]) -> list[Event]:
        """Do what a command decides, and what is due then, as a document does."""
        state, made = self.state.copy(), list[Event]()
        more = decide(state) or kind.due(state, self.now)
        while more:
            for event in more:
                assert event["type"] in kind.EVENTS
                event = codec.loads(codec.dumps(event))
                kind.evolve(state, event)
                made.append(event)
            more = kind.due(state, self.now)
        state.rev, state.mark = self.state.rev + 1, "0" * 32
        self.state = state
        self.events += made
        return made

    def post(self, author: str, text: str = "Hello.", **more: str) -> list[Event]:
        agent = member(author).agent_id
        return self.do(lambda s: decisions.post(s, author, agent, text, self.now, **more))

    def end(self, agent: str, text: str = "NO_REPLY", run: str = "") -> list[Event]:
        return self.do(lambda s: decisions.end(s, agent, run, text, 0, self.now))

    def say(self, agent: str, text: str) -> list[Event]:
        """End a turn with a text that arrives."""
        made = self.end(agent, text)
        return made + self.post(agent, text)

    def run(self, text: str = "NO_REPLY", code: str = "") -> None:
        """Let the run that is wanted end with a text, or fail with a code."""
        one, at = kind.work(self.state, self.now)[0], times.text(self.now)
        self.do(lambda s: [runs.claimed(one, s.channel_id, self.now, LEASE)])
        assert kind.work(self.state, self.now) == []
        wake = kind.wake(self.state)
        assert wake and wake <= self.now + LEASE
        state, ident, agent = self.state, one.ident(self.state.channel_id), one.agent
        if code:
            self.do(lambda _: [runs.failed(ident, at, code, "It fell.")])
            return
        if one.task == "turn":
            more = [] if text == "NO_REPLY" else decisions.post(state, agent, agent, text, self.now)
            more += decisions.end(state, agent, ident, text, 0, self.now)
        else:
            more = decisions.complete(state, agent, "s.md", self.now)
        self.do(lambda _: [*more, runs.answered(ident, at, runs.Use())])

    def step(self, word: str) -> list[Event]:
        """Do a step of a script.

        `x` says something, `x@c` to c; `a.` passes, `a:` ends its turn with a text that has yet to
        arrive, `a!` with one that arrives; `+c` joins, `-c` leaves; `15s` go by.
        """
        if word[0] in "+-":
            one = member(word[1]) if word[0] == "+" else None
            return self.do(lambda s: decisions.join(s, word[1], one, self.now))
        if word[0].isdigit():
            return self.later(int(word[:-1]))
        end, who = {".": "NO_REPLY", ":": "Hello.", "!": "Hello."}.get(word[1:], ""), word[0]
        made = self.end(who, end) if end else []
        said = f"{word[1:]}: yours?" if "@" in word else "Hello."
        return made if word[1:] in (".", ":") else made + self.post(who, said)

    def later(self, seconds: int) -> list[Event]:
        self.now += timedelta(seconds=seconds)
        return self.do(lambda _: [])

    def floor(self) -> str:
        """Return who has the floor, who has it next, and the cycle."""
        state = self.state
        return f"{state.current_speaker or '-'} {''.join(state.queue) or '-'} {state.cycle}"

    def types(self, events: list[Event]) -> str:
        return " ".join(one["type"] for one in events)

    def check(self) -> None:
        """Check what holds for every room: it folds again, and its page is nobody's edit."""
        state = kind.new()
        for event in self.events:
            kind.evolve(state, event)
        state.rev, state.mark = self.state.rev, self.state.mark
        assert state == self.state
        assert Room.from_json(codec.loads(codec.dumps(state.to_json()))) == state
        assert kind.due(state, self.now) == []
        page = kind.render(state)
        assert revision(page) == (state.rev, state.mark)
        taken = kind.edits(state, state, page, self.now, True)
        assert (taken.events, taken.refused) == ([], [])
        adopted = kind.adopt(page)[0]["state"]
        assert adopted["count"] == state.count
        assert len(adopted["messages"]) == min(model.SHOWN, state.count)


def discussion(members: str = "a b", by_agent: bool = True) -> Play:
    about = {"initiator": "a", "guide": GUIDE, "callback": "hall", "by_agent": by_agent}
    return Play(members, "discussion", **about)
