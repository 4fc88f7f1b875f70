"""The table of drivers, and the one way to use it.

A driver is a function from what is to be run to what came back. It raises
nothing for what an agent does: that is a failed attempt with its reason.

Source: `cli.md` section 5, XC-011.
"""

from __future__ import annotations

from council.drivers.command import run_command
from council.drivers.runs import Answer, Run, failed
from council.drivers.scripted import read_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from council.core.agents import AgentSettings
    from council.drivers.runs import Run

# --- The driver of agents that nothing wakes: a person, or a tool that looks by itself


def hand_over(run: Run, settings: AgentSettings, base: Mapping[str, str]) -> Answer:  # noqa: ARG001
    """Leave the turn with the agent."""
    return Answer(ok=True, waits=True)


if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from council.core.agents import AgentSettings

    Driver = Callable[[Run, AgentSettings, Mapping[str, str]], Answer]

DRIVERS: dict[str, Driver] = {
    "command": run_command,
    "manual": hand_over,
    "scripted": read_answer,
}


def run(
    driver: str, wanted: Run, agent_settings: AgentSettings, environment: Mapping[str, str]
) -> Answer:
    """Wake an agent by its driver and wait for what comes back.

    Args:
        driver: A name in `DRIVERS`; another is a failed attempt.
        wanted: The turn.
        agent_settings: What the settings say of the agent.
        environment: The variables of the caller; a run sees a part of them.
    """
    wake = DRIVERS.get(driver)
    if wake is None:
        return failed(f"no driver {driver!r}, only {', '.join(DRIVERS)}", hopeless=True)
    return wake(wanted, agent_settings, environment)
