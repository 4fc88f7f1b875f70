"""The answer to the user: short, and without a trace of the protocol.

Source: PR-556, PR-557.
"""

from __future__ import annotations

from datetime import datetime

from council.core.exchange import RULES, Exchange, ExchangeStep, TaskRules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def answer_of(exchange: Exchange, payload: Callable[[str], str], lang: str = "en") -> str:
    """Return the text for the user: what was composed, else the results and what failed.

    `payload` returns the text of a stored payload by its id, "" when it is gone.
    """
    raise NotImplementedError


def composed(
    exchange: Exchange, text: str, now: datetime, *, run: str = "", rules: TaskRules = RULES
) -> ExchangeStep:
    """Take the answer that the orchestrator's agent composed; "" leaves it to the results."""
    raise NotImplementedError


def answered(exchange: Exchange, now: datetime, *, text: str = "") -> ExchangeStep:
    """Note that the user got `text`, and close the context (PR-556)."""
    raise NotImplementedError
