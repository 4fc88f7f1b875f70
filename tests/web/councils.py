"""Deliberations and councils for the pictures: any number of agents, rounds, turns of mind."""

from __future__ import annotations

import random
from typing import Any

from council.core.conversations.conversation import Conversation
from council.core.conversations.due import due_agents
from council.core.conversations.procedures import Rules
from council.operations.conversations.judging import standing
from council.operations.view import shown
from tests.core.debates import Debate

NAMES = ("henry", "sage", "nova", "blaise", "maman", "gecko")
MORE_NAMES = (*NAMES, "owl", "finch", "ivy", "june", "kilo", "lima")
EMOJIS = ("🦊", "🦉", "🌟", "📐", "👩", "🦎", "🪶", "🐦", "🌿", "🌞", "🎐", "🍋")
POSITIONS = ("We build it as a script.", "We buy the service.", "We wait until spring.")
STANCES = ("agree", "partial", "disagree")


def record_of(state: Conversation) -> dict[str, Any]:
    """Return what the pictures are drawn from."""
    return {**shown(state), "consensus": standing(state).to_record()}


def random_debate(seed: int, *, agents: int = 0, rounds: int = 0) -> Debate:
    """Return a deliberation made by chance: it may be blind at first, under way, voted or over."""
    chance = random.Random(seed)
    names = MORE_NAMES[: agents or chance.choice((2, 3, 4, 5, 6))]
    rules = Rules(
        max_rounds=rounds or chance.choice((1, 2, 3)),
        stability=False,
        alike=1.0,
        threshold=chance.choice((0, 0, 2, len(names))),
        confidence_floor=chance.choice((0, 0, 2)),
        advocate=names[-1] if len(names) > 3 and chance.random() < 0.2 else "",
    )
    debate = Debate(*names, sealed=chance.random() < 0.5, rules=rules)
    for one, emoji in zip(debate.state.participants.values(), EMOJIS, strict=False):
        one.emoji = emoji
    mind = _Mind(chance, names)
    for _ in range(chance.choice((0, 1, 2, 500, 500, 500))):
        due = due_agents(debate.state)
        if not due or debate.state.phase == "SYNTHESIZE":
            break
        if chance.random() < 0.07:
            debate.wait()
        else:
            mind.speak(debate, due[0])
    if debate.state.phase == "SYNTHESIZE":
        debate.finish()
    return debate


class _Mind:
    """What all of them think, and how that changes."""

    def __init__(self, chance: random.Random, names: tuple[str, ...]) -> None:
        self.chance = chance
        self.names = names
        self.positions = {one: chance.choice(POSITIONS) for one in names}
        self.stances = {
            one: {other: chance.choice(STANCES) for other in names if other != one} for one in names
        }

    def speak(self, debate: Debate, agent: str) -> None:
        """Let an agent take its turn, perhaps after it changed its mind."""
        chance = self.chance
        for other in self.stances[agent]:
            if chance.random() < 0.3:
                self.stances[agent][other] = chance.choice(("agree", *STANCES))
        if chance.random() < 0.3:
            self.positions[agent] = chance.choice(POSITIONS)
        said = {
            other: (
                stance,
                chance.choice(("", "the load", f"as @{chance.choice(self.names)} says")),
            )
            for other, stance in self.stances[agent].items()
        }
        why = f" @{chance.choice(self.names)} convinced me." if chance.random() < 0.3 else ""
        reasons = "It is cheap. " * chance.randint(1, 20) + why
        debate.turn(agent, self.positions[agent], chance.randint(1, 5), reasons, **said)
