"""Conversations for tests of the rules: convened, in a given standing, answered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from council.core.conversations.answers import respond
from council.core.conversations.conversation import (
    Conversation,
    Participant,
    ParticipantStatus,
    Round,
    Step,
    TaskState,
)
from council.core.conversations.due import Wake, pending
from council.core.conversations.machine import begin

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
CONVERSATION_ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
FOUR = ("henry", "sage", "nova", "blaise")
PHASES = ("COLLECT", "CHALLENGE", "RESOLVE", "SYNTHESIZE")


def convened(*agents: str, **fields: object) -> Conversation:
    """Return a conversation that has just begun, with `agents` or the four of the example."""
    given = {
        "conversation_id": CONVERSATION_ID,
        "name": "active",
        "topic": "Should we build a weather bot?",
        "brief": "The family asks for the weather each morning.",
        "created_at": NOW,
        "updated_at": NOW,
        "timeout_at": NOW + HOUR,
        "participants": {agent: Participant(id=agent) for agent in agents or FOUR},
    }
    return begin(Conversation(**{**given, **fields}), NOW).state


def standing(phase: str, statuses: list[str], **fields: object) -> Conversation:
    """Return a conversation in `phase` whose participants a, b, c … have these statuses."""
    tour = PHASES.index(phase) + 1
    state = convened(*"abcdefgh"[: len(statuses)], phase=phase, tour=tour, **fields)
    for one, status in zip(state.participants.values(), statuses, strict=True):
        one.status = ParticipantStatus(status)
    state.rounds = [Round(tour=tour, phase=phase, started_at=NOW)]
    return state


def statuses_of(state: Conversation) -> list[str]:
    return [str(one.status) for one in state.participants.values()]


def answer(state: Conversation, agent: str, text: str = "", **options: object) -> Step:
    """Let `agent` answer a minute after the start, with a text of its own unless given."""
    given = {"now": NOW + MINUTE, "nonce": f"salt-{agent}", **options}
    return respond(state, agent, text or f"{agent} on round {state.tour}", **given)


def all_answer(state: Conversation, *agents: str, **options: object) -> Conversation:
    for agent in agents or state.participants:
        state = answer(state, agent, **options).state
    return state


def types_of(step: Step) -> list[str]:
    return [event.type for event in step.events]


def wakes(state: Conversation, now: datetime = NOW) -> list[Wake]:
    return [action for action in pending(state, now) if isinstance(action, Wake)]


def woken(state: Conversation, now: datetime = NOW) -> list[str]:
    return [wake.agent for wake in wakes(state, now)]


def states_of_tasks(state: Conversation) -> dict[str, TaskState]:
    return {task.id: task.state for task in state.tasks.values()}
