"""A council of four for the tests of the state file, in few words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from council.core.conversations import answers, machine
from council.core.conversations.conversation import Conversation, Participant

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
PEOPLE = (
    ("henry", "Henry", "🦉"),
    ("sage", "Sage", "🦎"),
    ("nova", "Nova", "🌟"),
    ("blaise", "Blaise", "🧮"),
)


def opened(**more: object) -> Conversation:
    values: dict[str, object] = {
        "conversation_id": "3f2b8f2e-5d1c-4c58-9f0e-0d6a3c1f2b11",
        "name": "active",
        "topic": "Should we build a weather bot?",
        "brief": "The whole brief.\n\nIn two paragraphs.",
        "created_at": NOW,
        "updated_at": NOW,
        "timeout_at": NOW + timedelta(hours=1),
        "sealed_phases": False,
        "participants": {
            agent: Participant(id=agent, name=name, emoji=emoji) for agent, name, emoji in PEOPLE
        },
    }
    return machine.begin(Conversation(**{**values, **more}), NOW).state


def said(state: Conversation, agent: str, text: str, **more: str) -> Conversation:
    return answers.respond(state, agent, text, now=NOW, nonce="n" * 32, **more).state
