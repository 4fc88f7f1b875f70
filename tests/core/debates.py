"""Deliberations for tests, played through the machine in few words.

    debate = Debate("ann", "bob", "cid")
    debate.turn("ann", "We build it.")
    debate.turn("bob", "We build it.", ann="agree")

A stance may be a pair of stance and comment. All answers come a minute after
another.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from council.core.conversations import answers, machine, steering
from council.core.conversations.conversation import (
    Conversation,
    Entry,
    EntryKind,
    Origin,
    Participant,
    Step,
)
from council.core.conversations.due import awaited, due_agents
from council.core.conversations.handles import pseudonyms
from council.core.conversations.procedures import Rules

START = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
REASONS = "It is cheap and it is known.\n\nWe can change it later."

Stances = Mapping[str, str | tuple[str, str]]


class Debate:
    """A deliberation under way; `state` is how it stands, `now` the last thing that happened."""

    def __init__(self, *agents: str, sealed: bool = False, **more: object) -> None:
        rules = more.pop("rules", None)
        models = more.pop("models", {})
        values: dict[str, object] = {
            "conversation_id": "1f0e7c1a-5e0e-4c1e-9a44-3f0d3c6ad001",
            "session_id": "cm6v0f8o0abcdefghijklmnop",
            "name": "active",
            "topic": "Should we build a weather bot?",
            "brief": "Families ask for the weather.\n\nThere are two days.",
            "procedure": "deliberation",
            "phases": ("DELIBERATE", "VOTE", "SYNTHESIZE"),
            "phase": "DELIBERATE",
            "created_at": START,
            "updated_at": START,
            "timeout_at": START + timedelta(hours=1),
            "rules": rules or Rules(max_rounds=2),
            "sealed_phases": sealed,
            "participants": {
                agent: Participant(
                    id=agent,
                    name=agent.capitalize(),
                    emoji="🦉",
                    model=models.get(agent, f"model-of-{agent}"),
                )
                for agent in agents
            },
        }
        self.now = START
        self.state = machine.begin(Conversation(**{**values, **more}), START).state  # type: ignore[arg-type]

    def step(self, step: Step) -> None:
        self.state = machine.advance(step.state, self.now).state

    def say(self, agent: str, text: str, origin: Origin = Origin.CLAIMED) -> None:
        """Let an agent answer with this very text."""
        self.now += timedelta(minutes=1)
        nonce = f"salt-{agent}"
        self.step(
            answers.respond(self.state, agent, text, now=self.now, nonce=nonce, origin=origin)
        )

    def turn(
        self,
        agent: str,
        position: str,
        confidence: int = 4,
        reasoning: str = REASONS,
        **stances: str | tuple[str, str],
    ) -> None:
        self.say(agent, turn_text(position, stances, confidence, reasoning))

    def vote(self, position: str | Mapping[str, str], matrix: Mapping[str, Stances]) -> None:
        """Let all who are awaited vote: what `matrix` says, and agree where it says nothing."""
        for agent in awaited(self.state):
            others = {one: "agree" for one in self.state.participants if one != agent}
            said = position if isinstance(position, str) else position[agent]
            self.turn(agent, said, **{**others, **matrix.get(agent, {})})

    def round(self, position: str | Mapping[str, str], matrix: Mapping[str, Stances]) -> None:
        """Let all who are awaited take their turn, each answering those who spoke before it."""
        spoken: list[str] = []
        for agent in awaited(self.state):
            stances = {one: matrix.get(agent, {}).get(one, "agree") for one in spoken}
            said = position if isinstance(position, str) else position[agent]
            self.turn(agent, said, **stances)
            spoken.append(agent)

    def synthesize(self, text: str, agent: str = "") -> None:
        self.say(agent or due_agents(self.state)[0], text)

    def wait(self, hours: int = 2) -> None:
        """Let time pass: the one that has the floor misses it."""
        self.now += timedelta(hours=hours)
        self.state = machine.advance(self.state, self.now).state

    def finish(self) -> None:
        """Let time pass until nothing is open any more."""
        while self.state.finished_at is None:
            self.wait()

    def inject(self, message: str, target: str = "") -> None:
        self.now += timedelta(minutes=1)
        self.step(answers.inject(self.state, message, author="anna", now=self.now, target=target))

    def cancel(self) -> None:
        self.state = steering.cancel(self.state, self.now).state

    def alias(self, author: str, agent: str) -> str:
        """Return the pseudonym under which `author` knows `agent`."""
        return pseudonyms(self.state, author)[agent]

    def entries(self, kind: EntryKind) -> list[Entry]:
        return [one for one in self.state.entries if one.kind is kind]


def turn_text(
    position: str, stances: Stances, confidence: int = 4, reasoning: str = REASONS
) -> str:
    """Return a turn in the form of DL-017."""
    lines = []
    for agent, said in stances.items():
        stance, comment = said if isinstance(said, tuple) else (said, "")
        lines.append(f"- @{agent}: {stance}" + (f" — {comment}" if comment else ""))
    responses = f"## Responses to Others\n{chr(10).join(lines)}\n\n" if lines else ""
    return (
        f"## Position\n{position}\n\n{responses}"
        f"## Reasoning\n{reasoning}\n\n## Confidence\n{confidence}\n"
    )


SYNTHESIS = """## Consensus Summary

We build it as a script.

## Disagreement Summary

Cid wants a service.

## Key Insights

- @ann: it is cheap
- @cid: load may come

## Recommendation

Start small and look at the load in spring.
"""


def soft_debate(**more: object) -> Debate:
    """Return one that is over: ann and bob agree on a script, cid disagrees."""
    debate = Debate("ann", "bob", "cid", **{"rules": Rules(max_rounds=1), **more})  # type: ignore[arg-type]
    debate.round(
        {"ann": "A script is enough.", "bob": "A script, with tests.", "cid": "A service."},
        {"cid": {"ann": ("disagree", "it does not scale"), "bob": "disagree"}},
    )
    debate.vote(
        {"ann": "We build a script.", "bob": "A tested script.", "cid": "We need a service."},
        {
            "ann": {"cid": "partial"},
            "bob": {"cid": "disagree"},
            "cid": {"ann": ("disagree", "it still does not scale"), "bob": "disagree"},
        },
    )
    debate.synthesize(SYNTHESIS)
    return debate
