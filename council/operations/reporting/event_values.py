"""What stands in the data of events as people read it, English and French.

Source: P8-086, XC-012.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Words that data hold and people read: (English, French).
WORDS: dict[str, tuple[str, str]] = {
    "all-answered": ("all answered", "tous ont répondu"),
    "timeout": ("out of time", "délai écoulé"),
    "nobody-left": ("no agent was left to answer", "plus aucun agent pour répondre"),
    "agreed": ("all agreed", "tous d'accord"),
    "consensus": ("consensus", "consensus"),
    "max-rounds": ("the last round was played", "dernier tour joué"),
    "stopped": ("stopped by a person", "arrêté par une personne"),
    "ceiling": ("the ceiling was reached", "plafond atteint"),
    "phases_exhausted": ("all phases played", "toutes les phases jouées"),
    "cancelled": ("cancelled", "annulé"),
    "all-passed": ("all passed", "tous ont passé"),
    "all-left": ("all left", "tous sont partis"),
    "alone": ("the only agent has had its turn", "le seul agent a eu son tour"),
    "repetition": ("only repetitions", "que des répétitions"),
}

# What kinds of things are called whose story or explanation is told: (English, French).
KINDS: dict[str, tuple[str, str]] = {
    "conversation": ("conversation", "conversation"),
    "channel": ("channel", "salon"),
    "context": ("context", "contexte"),
    "task": ("task", "tâche"),
    "turn": ("turn", "tour"),
    "trace": ("trace", "trace"),
    "agent": ("agent", "agent"),
    "artifact": ("artifact", "artefact"),
}

_VERDICTS = {"strong": "fort", "soft": "faible", "none": "aucun"}
# Why an answer was refused, by its code; the message of the command is in English.
_REFUSALS = {
    "not-a-participant": "il ne participe pas à cette conversation",
    "not-your-turn": "ce n'est pas son tour",
    "finished": "la conversation est finie",
    "already-answered": "il a déjà répondu",
}


def kind_word(kind: str, lang: str) -> str:
    """Return what a kind of thing is called in a language."""
    return KINDS.get(kind, (kind, kind))[lang == "fr"]


def spoken(kind: str, values: Mapping[str, object], place: int) -> dict[str, str]:
    """Return the data of an event that are words of one language, in the other one.

    Args:
        kind: The type of the event.
        values: Its data.
        place: 0 for English, 1 for French.
    """
    if not place:
        return {}
    if kind == "consensus.checked" and str(values.get("type")) in _VERDICTS:
        return {"type": _VERDICTS[str(values["type"])]}
    if kind == "answer.refused" and str(values.get("code")) in _REFUSALS:
        return {"message": _REFUSALS[str(values["code"])]}
    return {}


def shown(value: object, place: int) -> str:
    """Return a value of an event's data as a sentence shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return (("no", "non"), ("yes", "oui"))[value][place]
    if isinstance(value, list):
        return ", ".join(shown(one, place) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {shown(one, place)}" for key, one in value.items())
    text = " ".join(str(value).split())
    return WORDS[text][place] if text in WORDS else text
