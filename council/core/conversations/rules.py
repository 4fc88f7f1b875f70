"""What may be chosen of a procedure that is judged by stances.

Source: DL-022, DL-042, DL-082, DL-083, DL-095, DL-099 to DL-102, A-82, A-88.
"""

from __future__ import annotations

from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from council.core.record import Positive

EARLY_STOPS = ("strong", "soft")
MAX_ROUNDS = 1000


class Rules(Record):
    """What may be chosen of a procedure that is judged by stances; part of the state.

    Args:
        max_rounds: Most rounds before the vote, from 1 (DL-022).
        threshold: How many must agree for a soft consensus; 0 means two thirds,
            rounded up (DL-042).
        early_stop: The consensus that ends the rounds early: `strong` or `soft` (A-82).
        stability: Whether the same stances in two rounds running end them (DL-099).
        alike: From 0 to 1, how alike a reasoning is a repetition (DL-082).
        domination: Above this times 1 / N of all words an agent dominates (DL-083).
        confidence_floor: Whose confidence is below counts as absent; 0 for none (DL-102).
        anonymous: Whether peers stand under pseudonyms in prompts (DL-100).
        advocate: Who always contradicts and counts for no consensus, "" for nobody.
        search: Whether agents are told that they may search (DL-095).
        verify: Whether agents are told to verify by running code (DL-095).
    """

    _keys = "threshold:consensusThreshold stability:stabilityStop"

    max_rounds: Positive = 5
    threshold: int = 0
    early_stop: str = "strong"
    stability: bool = True
    alike: float = 0.9
    domination: float = 1.5
    confidence_floor: int = 0
    anonymous: bool = False
    advocate: str = ""
    search: bool = False
    verify: bool = False
    extra: dict[str, Any] = {}
