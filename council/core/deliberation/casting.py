"""Casting: the agents and roles a deliberation has unless others are named.

Source: DL-003 to DL-005, DL-055, DL-101.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation, Participant
from council.core.reading import by_language
from council.core.record import Record

SYNTHESIZER = "Synthesizer"
ROLES = by_language("""
Reasoner || deep analysis, nuance, structured argument
    || analyse en profondeur, nuance, argumentation structurée
Pragmatist || practical solutions, implementation, balance
    || solutions pratiques, mise en œuvre, équilibre
Synthesizer || efficiency, common ground, summary || efficacité, terrain d'entente, synthèse
""")


class Cast(Record):
    """One of the agents that the document names; model and role may be set otherwise."""

    name: str
    model: str
    role: str

    def role_in(self, lang: str) -> str:
        """Return the role with what it is good at, as prompts show it."""
        return f"{self.role}: {ROLES[lang][self.role]}"


CAST = {
    "claude": Cast(name="Claude", model="anthropic/claude-opus-4-5", role="Reasoner"),
    "gpt": Cast(name="GPT", model="openai/gpt-4o", role="Pragmatist"),
    "glm": Cast(name="GLM", model="zai/glm-4.7", role=SYNTHESIZER),
}


def role_parts(role: str, lang: str) -> tuple[str, str]:
    """Return name and description of a role such as `Reasoner: deep analysis`.

    A role that is only named gets its usual description if it is a known one.
    """
    name, _, description = role.partition(":")
    usual = ROLES.get(lang, {}).get(name.strip(), "")
    return name.strip(), description.strip() or usual


def named_synthesizer(participants: dict[str, Participant]) -> str:
    """Return who has the role of the synthesizer, "" for none (DL-005)."""
    for one in participants.values():
        if role_parts(one.role, "en")[0].casefold() in ("synthesizer", "synthétiseur"):
            return one.id
    return ""


def only_model(state: Conversation) -> str:
    """Return the model that all participants declare, "" when they differ or one says none."""
    models = {one.model for one in state.participants.values()}
    return models.pop() if len(models) == 1 else ""
