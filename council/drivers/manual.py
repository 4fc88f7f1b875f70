"""The driver that runs nothing: the prompt is written, and the agent answers when it likes.

Source: XC-011, `cli.md` section 5.
"""

from __future__ import annotations

from council.drivers.runs import Answer


def wake(*_: object) -> Answer:
    """Leave the turn with the agent."""
    return Answer(ok=True, waits=True)
