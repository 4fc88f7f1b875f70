"""How an exchange goes on in a new context when its numbers are used up.

Source: PR-644, A-72.
"""

from __future__ import annotations

from datetime import datetime

from council.core.exchange import Exchange, ExchangeStep
from council.core.messages import Message
from council.core.record import Record

PREVIOUS = "prev"


class Succession(Record):
    """The old context, closed, and the new one that goes on with what was open in it."""

    old: ExchangeStep
    new: ExchangeStep


def is_used_up(exchange: Exchange) -> bool:
    """Tell whether a message or another task finds no number any more."""
    raise NotImplementedError


def succeed(exchange: Exchange, context: str, now: datetime) -> Succession:
    """Go on in context `context`; `#CTX:prev` there names this one (PR-644)."""
    raise NotImplementedError


def forwarded(exchange: Exchange, message: Message) -> Message:
    """Return a message to a context that was succeeded as one to its successor."""
    raise NotImplementedError
