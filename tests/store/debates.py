"""Deliberations for the tests of the store: convened, and played in few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from council.core.conversations import answers, machine
from council.core.conversations.conversation import Conversation, Participant
from council.core.conversations.procedures import Rules

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
AGENTS = ("claude", "gpt", "glm")


def debate(*agents: str, **more: object) -> Conversation:
    """Return a deliberation that has just begun, open unless stated otherwise."""
    values: dict[str, object] = {
        "conversation_id": "3f2b8f2e-5d1c-4c58-9f0e-0d6a3c1f2b11",
        "name": "active",
        "topic": "Tea or coffee?",
        "brief": "Say which, and why.",
        "procedure": "deliberation",
        "phases": ("DELIBERATE", "VOTE", "SYNTHESIZE"),
        "phase": "DELIBERATE",
        "created_at": NOW,
        "updated_at": NOW,
        "timeout_at": NOW + HOUR,
        "session_id": "ck0f8fad5b0000d9cb469fa165",
        "sealed_phases": False,
        "rules": Rules(),
        "participants": {
            agent: Participant(id=agent, name=agent.title()) for agent in agents or AGENTS
        },
    }
    return machine.begin(Conversation(**{**values, **more}), NOW).state


def turn(stances: str = "", *, position: str = "Tea.", confidence: object = 4) -> str:
    """Return a turn in the form that is asked for; `stances` is like `claude=agree gpt=partial`."""
    lines = "".join(
        f"- @{agent}: {stance} — as it says\n"
        for agent, _, stance in (one.partition("=") for one in stances.split())
    )
    return (
        f"## Position\n{position}\n\n## Responses to Others\n{lines}\n"
        f"## Reasoning\nOne reason.\n\nAnother one.\n\n## Confidence\n{confidence}"
    )


def spoken(
    state: Conversation, agent: str, stances: str = "", now: datetime = NOW, **said: object
) -> Conversation:
    """Let an agent take its turn, then whatever is due happen."""
    text = said.pop("text", None) or turn(stances, **said)
    step = answers.respond(state, agent, text, now=now, nonce="n" * 32)
    return machine.advance(step.state, now).state


def passed(state: Conversation, now: datetime) -> Conversation:
    """Let time pass."""
    return machine.advance(state, now).state


def round_of(state: Conversation, stance: str = "agree") -> Conversation:
    """Let everybody take its turn in order, with one stance towards all who spoke before."""
    from council.core.conversations.due import due_agents

    tour = state.tour
    while state.tour == tour and due_agents(state):
        agent = due_agents(state)[0]
        others = [one for one in state.participants if one != agent]
        state = spoken(state, agent, " ".join(f"{one}={stance}" for one in others))
    return state
