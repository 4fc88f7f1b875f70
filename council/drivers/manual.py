"""The driver that runs nothing: the prompt is written, and the agent answers when it likes.

Source: XC-011, `cli.md` section 5.
"""

from __future__ import annotations

from council.drivers.runs import Answer, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from council.core.agents import AgentSettings


def wake(run: Run, settings: AgentSettings, base: Mapping[str, str]) -> Answer:  # noqa: ARG001
    """Leave the turn with the agent."""
    return Answer(ok=True, waits=True)
