"""How a request falls into tasks.

Source: PR-553, issue 6.
"""

from __future__ import annotations

from datetime import datetime

from council.core.exchange import RULES, Exchange, ExchangeStep, TaskRules
from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from council.core.registry import Registry


class Part(Record):
    """One task of a request: what is to be done, and which capabilities it needs."""

    text: str
    caps: tuple[str, ...] = ()


def divided(
    exchange: Exchange,
    parts: Sequence[Part],
    registry: Registry,
    now: datetime,
    *,
    run: str = "",
    rules: TaskRules = RULES,
) -> ExchangeStep:
    """Split the request as its orchestrator said; the budget is shared among the parts."""
    raise NotImplementedError


def undivided(
    exchange: Exchange, registry: Registry, now: datetime, *, rules: TaskRules = RULES
) -> ExchangeStep:
    """Give the request whole to the best worker."""
    raise NotImplementedError
