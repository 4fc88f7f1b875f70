"""Deliberations for tests of sight and prompts: convened, spoken in, voted in."""

from __future__ import annotations

from collections.abc import Mapping

from council.core.conversations.answers import respond
from council.core.conversations.conversation import Conversation, Participant
from council.core.conversations.due import due_agents
from council.core.conversations.machine import advance
from council.core.conversations.procedures import Rules
from tests.core.conversations.samples import MINUTE, NOW, convened

THREE = ("claude", "gpt", "glm")
FIVE = ("aster", "birch", "cedar", "dahlia", "elm")


def debate(*agents: str, rules: Mapping[str, object] | None = None, **fields: object):
    """Return a deliberation that has just begun, of `agents` or the three of the document."""
    people = {
        agent: Participant(
            id=agent, name=f"Dame {agent.capitalize()}", emoji="🦊", role=f"Role-{agent}"
        )
        for agent in agents or THREE
    }
    for one in people.values():
        one.model = f"vendor/{one.id}-9"
    given = {
        "procedure": "deliberation",
        "phases": ("DELIBERATE", "VOTE", "SYNTHESIZE"),
        "phase": "DELIBERATE",
        "sealed_phases": False,
        "rules": Rules(**{"stability": False, **(rules or {})}),
        "participants": people,
    }
    return convened(**{**given, **fields})


def form(
    stances: Mapping[str, str] | None = None,
    position: str = "Build it.",
    *,
    confidence: object = 4,
    reasoning: str = "",
) -> str:
    """Return the text of a turn."""
    lines = [f"- @{agent}: {stance}" for agent, stance in (stances or {}).items()]
    return "\n".join(
        [
            f"## Position\n{position}\n",
            "## Responses to Others",
            *lines,
            f"\n## Reasoning\n{reasoning or 'One reason.'}\n",
            f"## Confidence\n{confidence}",
        ]
    )


def ballot(stances: Mapping[str, str], position: str = "Build it.", confidence: int = 4) -> str:
    """Return the text of a vote."""
    lines = [f"- @{agent}: {stance}" for agent, stance in stances.items()]
    return "\n".join(
        [
            f"## Final Position\n{position}\n",
            f"## Confidence\n{confidence}\n",
            "## Agreement with Others",
            *lines,
        ]
    )


def say(state: Conversation, agent: str, text: str, **options: object) -> Conversation:
    """Let an agent answer, and take every step that is due then."""
    given = {"now": NOW + MINUTE, "nonce": f"salt-{agent}", **options}
    return advance(respond(state, agent, text, **given).state, NOW + MINUTE).state


def speaks(state: Conversation, stance: str = "partial", **more: object) -> Conversation:
    """Let who has the floor take a complete turn, `stance` towards all before it."""
    agent = due_agents(state)[0]
    before = [one.agent for one in state.entries if one.tour == state.tour]
    words = {"position": f"{agent} says {state.tour}.", "reasoning": f"{agent} {state.tour}."}
    stances = {one: stance for one in dict.fromkeys(before) if one in state.participants}
    return say(state, agent, form({**stances, "human": "acknowledged"}, **{**words, **more}))


def round_of(state: Conversation, stance: str = "partial", **more: object) -> Conversation:
    """Let everybody speak once."""
    for _ in state.participants:
        state = speaks(state, stance, **more)
    return state


def voting(**more: object) -> Conversation:
    """Return a deliberation of three in which the vote has begun after one round."""
    state = round_of(debate(rules={"max_rounds": 1}, **more), "partial")
    assert state.phase == "VOTE"
    return state


def all_vote(state: Conversation, stances: Mapping[str, Mapping[str, str]]) -> Conversation:
    for agent in list(state.participants):
        state = say(state, agent, ballot(stances[agent], f"{agent} ends here."))
    return state


def at_synthesis(**more: object) -> Conversation:
    """Return a deliberation of three with a soft consensus: glm stands apart."""
    votes = {
        "claude": {"gpt": "agree", "glm": "partial"},
        "gpt": {"claude": "agree", "glm": "agree"},
        "glm": {"claude": "partial — too dear", "gpt": "disagree"},
    }
    state = all_vote(voting(**more), votes)
    assert state.phase == "SYNTHESIZE"
    return state
