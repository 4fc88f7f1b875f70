"""A turn or a vote written in its form, so that it is read back as it was meant.

Source: DL-011, DL-017, DL-025.
"""

from __future__ import annotations

from collections.abc import Sequence

from council.core.reading_answers.stances import stance_of
from council.core.reading_answers.structure import escaped
from council.core.reading_answers.turns import LABELS, Response

_TURN = ("position", "responses", "reasoning", "confidence")
_VOTE = ("final", "confidence", "agreements", "reasoning")
# In English and in French.
_TITLES = {
    "position": ("Position", "Position"),
    "final": ("Final Position", "Position finale"),
    "responses": ("Responses to Others", "Réponses aux autres"),
    "agreements": ("Agreement with Others", "Accords"),
    "reasoning": ("Reasoning", "Raisonnement"),
    "confidence": ("Confidence", "Confiance"),
}


def render_turn(
    *,
    position: str,
    responses: Sequence[Response],
    reasoning: str,
    confidence: int,
    vote: bool = False,
    lang: str = "en",
) -> str:
    """Write a turn in the form of DL-017, or a vote; `parse_turn` gives the same back.

    A comment is set in one line. What would be read as a part of the form
    inside the position or the reasoning is marked with a backslash. A part
    that is empty is left out, and so is confidence 0.
    """
    parts = {
        "position": escaped(position.strip(), LABELS),
        "responses": "\n".join([_response_line(one) for one in responses]),
        "reasoning": escaped(reasoning.strip(), LABELS, greedy=True),
        "confidence": str(confidence or ""),
    }
    parts |= {"final": parts["position"], "agreements": parts["responses"]}
    order = _VOTE if vote else _TURN
    stated = [(_TITLES[part][lang == "fr"], parts[part]) for part in order if parts[part]]
    return "\n".join([f"## {title}\n{said}\n" for title, said in stated])


def _response_line(one: Response) -> str:
    comment = " ".join(one.comment.split())
    # Beside another stance a comment such as "partial" would resemble an unfilled form.
    between = "\n  " if stance_of(comment.split(":")[0]) else " — "
    return f"- @{one.agent}: {one.stance}{between if comment else ''}{comment}"
