"""The harness of the rules: commands are played as the document does it, and checked each time.

After every command: what is due is added, the same command again gives nothing, folding all events
anew gives the same state, every event survives JSON, and due and work are empty before `wake`.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from council.councils import decisions, evolution, rules
from council.councils.hearing import Stated, Understood
from council.councils.model import Config, Event, Fault, Heard, Participant, Stance, State
from council.kernel import times
from council.runs import work as runs

START = datetime(2026, 11, 28, 9, tzinfo=UTC)
FAULTY = Heard(position="?", faults=[Fault(part="confidence", code="no-confidence")])


class Play:
    """One conversation, its clock in minutes, and all its events."""

    def __init__(self, procedure: str = "council", agents: str = "a,b,c", **more: Any) -> None:
        people = more.pop("people", "").split(",")
        advocate, lang = more.pop("advocate", ""), more.pop("lang", "en")
        self.state, self.events, self.minute = State(), list[Event](), 0.0
        blind = {"blind": procedure == "council"}
        order = {"order": "rotate" if procedure == "deliberation" else "parallel"}
        who = {
            one: Participant(name=one.upper(), person=one in people, advocate=one == advocate)
            for one in agents.split(",")
        }
        config = Config(**{"backoff": [10, 60], **blind, **order, **more})
        new = State(conversation_id="c-1", name="k", topic="Tiles or tin?", participants=who)
        self.do(decisions.opened, new.copy(procedure=procedure, lang=lang, config=config))

    @property
    def now(self) -> datetime:
        return START + timedelta(minutes=self.minute)

    def do(self, decide: Callable[..., list[Event]], *args: Any, **more: Any) -> list[Event]:
        repeats = more.pop("repeats", True)
        if "at" not in more:
            more["at"] = self.now
        done = self.take(decide(self.state.copy(), *args, **more))
        if repeats and not self.state.ended_at:
            assert decide(self.state.copy(), *args, **more) == []
        return done

    def take(self, events: list[Event]) -> list[Event]:
        done = list(events)
        for event in events:
            evolution.evolve(self.state, event)
        while more := rules.due(self.state.copy(), self.now):
            for event in more:
                evolution.evolve(self.state, event)
            done += more
            assert len(done) < 200, "it does not end"
        self.events += json.loads(json.dumps(done))
        self.check()
        return done

    def check(self) -> None:
        again = State()
        for event in self.events:
            evolution.evolve(again, event)
        assert again == self.state
        assert State.from_json(json.loads(json.dumps(self.state.to_json()))) == self.state
        wake = rules.wake(self.state)
        if not self.state.ended_at and (wake is None or wake > self.now):
            before = (wake or self.now + timedelta(days=9)) - timedelta(seconds=1)
            assert rules.due(self.state.copy(), before) == []
            assert rules.work(self.state, before) == []

    def later(self, minutes: float) -> list[Event]:
        self.minute += minutes
        return self.take([])

    def says(self, agent: str, text: str = "", **more: Any) -> str:
        heard, question = more.pop("heard", Heard()), more.pop("question", "")
        text = text or f"{agent} in round {self.state.tour}"
        said = Understood(text=text, heard=heard, question=question)
        stated = Stated(**{key: more.pop(key) for key in Stated._kinds if key in more})
        return decisions.outcome_of(self.do(decisions.respond, agent, said, stated, **more))

    def turn(self, agent: str, position: str = "", choice: str = "", **stances: str) -> str:
        words = {peer: Stance(word=word) for peer, word in stances.items()}
        heard = Heard(position=position, choice=choice, confidence=4, stances=words)
        text = f"{position or choice} says {agent} in round {self.state.tour}"
        return self.says(agent, text, heard=heard)

    def all_say(self, **more: Any) -> None:
        for agent in list(self.state.round().order):
            self.says(agent, **more)

    def claim(self) -> list[runs.Work]:
        """Start what is due but by hand; return it."""
        hands, made = self.state.config.by_hand, list[runs.Work]()
        for one in rules.work(self.state, self.now):
            if one.agent not in hands and one in rules.work(self.state, self.now):
                self.take([runs.claimed(one, "c-1", self.now, timedelta(minutes=2))])
                made.append(one)
        return made

    def fails(self, one: runs.Work, code: str = "crashed") -> list[Event]:
        at = times.text(self.now)
        return self.take([runs.failed(one.ident("c-1"), at, code, f"it {code}")])

    @property
    def place(self) -> tuple[str, int]:
        return self.state.phase, self.state.tour

    @property
    def reasons(self) -> list[str]:
        return [one.reason for one in self.state.rounds]

    def absent(self, tour: int) -> dict[str, str]:
        return {agent: one.code for agent, one in self.state.rounds[tour - 1].absent.items()}
