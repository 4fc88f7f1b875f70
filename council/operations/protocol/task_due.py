"""A run that a context is owed, with what has to be known before it is started.

Source: PR-309, PR-410, XC-016.
"""

from __future__ import annotations

from council.core.agents import Agent
from council.core.protocol.exchange import Exchange
from council.core.protocol.exchange_owed import RunDue
from council.core.record import Record

MANUAL = "manual"
# Who is registered and no agent of the workspace answers by itself, with `msg send`.
OUTSIDE = "inbox"


class Due(Record):
    """A run that a context is owed; `agent` is None for a worker that nobody here can start.

    `refusal` is why it may not be started now, `elsewhere` whether another worker may be asked.
    `started_in` is the context that it was started in, where another one goes on with it.
    """

    context: str
    exchange: Exchange
    owed: RunDue
    agent: Agent | None
    refusal: str = ""
    elsewhere: bool = False
    started_in: str = ""

    @property
    def by_hand(self) -> bool:
        """Whether nothing is run: the worker answers by itself."""
        return self.agent is None or self.agent.driver == MANUAL

    @property
    def driver(self) -> str:
        """By which driver it is woken."""
        return self.agent.driver if self.agent is not None else OUTSIDE

    @property
    def order(self) -> tuple[str, str, str]:
        """Who comes first: P0, P1, P2, then who has waited longest."""
        return self.owed.priority, self.owed.due_at.isoformat(), self.owed.run
