"""What happened, as one envelope.

Every change, refusal, retry, late answer and accepted edit is an event. The
rules make events; the store gives them their id and writes them.

Source: XC-008, issue-wide envelope of `requirements.md` (eventId, traceId, agentId, type).
"""

from __future__ import annotations

from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = 1


class Event(Record):
    """One thing that happened.

    `type` is `noun.past`. `agent` is who did it or whom it concerns, "" for
    nobody. `data` holds JSON values only.
    """

    type: str
    agent: str = ""
    data: dict[str, Any] = {}  # noqa: RUF012 - Record copies it

    def to_record(self, event_id: str, trace: str, conversation: str, at: str) -> dict[str, Any]:
        """Return the event as the JSON object of one line of the event log."""
        return {
            "schemaVersion": SCHEMA_VERSION,
            "eventId": event_id,
            "traceId": trace,
            "conversationId": conversation,
            "agentId": self.agent or None,
            "type": self.type,
            "at": at,
            "data": self.data,
        }
