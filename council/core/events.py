"""What happened, as one envelope.

Every change, refusal, retry, late answer and accepted edit is an event. The
rules make events; the store gives them their id and writes them. Which types
there are and what their data hold stands in `event_types`.

Source: XC-008, P8-082 to P8-084, issue-wide envelope of `requirements.md`.
"""

from __future__ import annotations

from council.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = 1


class Event(Record):
    """One thing that happened.

    `type` is `noun.past`; those that document 004 names keep their names.
    `agent` is who did it or whom it concerns, "" for nobody. `data` holds JSON
    values only.

    `trace` is set where an event belongs to another trace than what it is
    written for. One that passes between two agents names both, the limits that
    hold for it and the hash of its task; one about artifacts bears their ids.
    """

    type: str
    agent: str = ""
    data: dict[str, Any] = {}
    trace: str = ""
    from_agent: str = ""
    to_agent: str = ""
    limits: dict[str, Any] = {}
    task_hash: str = ""
    artifacts: list[str] = []

    def to_line(self, event_id: str, trace: str, conversation: str, at: str) -> dict[str, Any]:
        """Return the event as the JSON object of one line of the event log."""
        record: dict[str, Any] = {
            "schemaVersion": SCHEMA_VERSION,
            "eventId": event_id,
            "traceId": self.trace or trace,
            "conversationId": conversation,
            "agentId": self.agent or None,
            "type": self.type,
            "at": at,
        }
        if self.from_agent or self.to_agent:
            record["fromAgentId"] = self.from_agent or None
            record["toAgentId"] = self.to_agent or None
            record["limits"] = self.limits
            record["taskHash"] = self.task_hash or None
        if self.artifacts:
            record["artifactIds"] = list(self.artifacts)
        record["data"] = self.data
        return record
