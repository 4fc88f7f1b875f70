"""The driver of agents that nothing wakes: a person, or a tool that looks by itself.

The prompt already lies in the agent's folder; the answer comes by `council
respond` or by editing the file, whenever it comes.

Source: XC-011, `cli.md` section 5.
"""

from __future__ import annotations

from council.drivers.runs import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from council.core.agents import AgentSettings
    from council.drivers.runs import Run


def hand_over(run: Run, settings: AgentSettings, base: Mapping[str, str]) -> Answer:  # noqa: ARG001
    """Leave the turn with the agent."""
    return Answer(ok=True, waits=True)
