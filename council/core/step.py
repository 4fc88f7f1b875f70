"""What a rule answers: the next state and what happened on the way.

Source: `architecture.md` section 3.
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation, SealedText
from council.core.events import Event
from council.core.record import Record


class Step(Record):
    """The result of one rule: a new state, its events, and what to seal first.

    `outcome` is `recorded`, `already-recorded` or `late` for an answer, ""
    otherwise. `seal` holds the texts that must lie in `sealed/` before the
    state is committed. `faults` are what the form of an answer lacks, None
    where no form is asked for; those of a sealed answer are for its author alone.
    """

    state: Conversation
    events: list[Event] = []
    outcome: str = ""
    seal: list[SealedText] = []
    faults: list[dict[str, str]] | None = None

    def then(self, following: Step) -> Step:
        """Return this step followed by another one that started from its state."""
        return Step(
            state=following.state,
            events=self.events + following.events,
            outcome=self.outcome or following.outcome,
            seal=self.seal + following.seal,
            faults=self.faults,
        )
