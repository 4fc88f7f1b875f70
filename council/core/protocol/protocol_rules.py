"""What may be chosen of the message protocol: the table `[protocol]` of the settings.

Source: PR-414, PR-422, PR-561, PR-590, PR-591.
"""

from __future__ import annotations

from datetime import timedelta

from council.core.record import Record

V4, V5 = "V4", "V5"
VERSIONS = (V5, V4)


class ProtocolRules(Record):
    """What may be chosen of the message protocol.

    Args:
        threshold: From 0 to 1, the least share of the required capabilities that a worker
            must have to be chosen (PR-561).
        liveness_cycle: Of the liveness messages of one agent within this time only the
            first counts (PR-414).
        liveness_timeout: Who must show signs of life and showed none for that long is
            unavailable (PR-422).
        versions: The versions that the orchestrator speaks, the one it prefers first.
        signed: Whether lines that are not sent from a run must be signed (PR-590).
    """

    threshold: float = 0.5
    liveness_cycle: timedelta = timedelta(seconds=60)
    liveness_timeout: timedelta = timedelta(minutes=15)
    versions: tuple[str, ...] = VERSIONS
    signed: bool = False
