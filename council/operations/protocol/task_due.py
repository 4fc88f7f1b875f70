"""A run that is due in a context, with what has to be known before it is started.

Source: PR-309, PR-410, XC-016.
"""

from __future__ import annotations

from council.core.agents import Agent
from council.core.protocol.exchange import Exchange
from council.core.protocol.exchange_due import RunDue
from council.core.record import Record

MANUAL = "manual"
# Who is registered and no agent of the workspace answers by itself, with `msg send`.
OUTSIDE = "inbox"


class Due(Record):
    """A run that is due in a context; `agent` is None for a worker that cannot be started here.

    `started_in` is the context that it was started in, where another one goes on with it.
    """

    context: str
    exchange: Exchange
    action: RunDue
    agent: Agent | None
    started_in: str = ""

    @property
    def by_hand(self) -> bool:
        """Whether nothing is run: the worker answers by itself."""
        return self.agent is None or self.agent.driver == MANUAL

    @property
    def driver(self) -> str:
        """By which driver it is woken."""
        return self.agent.driver if self.agent is not None else OUTSIDE
