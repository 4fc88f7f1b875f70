"""The one way to wake an agent: by the driver that its facts name, loaded only then.

A driver is a row of `DRIVERS` (`core.agents`) and the module of this folder that has its name.
Its function `wake` goes from what is to be run, what the settings say of the agent and the
variables of the caller to what came back. What an agent or a program does wrong is a failed
attempt with a reason, never an exception. If the row says `is_tried`, the function `look_up` of
the module says what is missing before the agent is woken.

Source: C0-046, XC-011, `cli.md` section 5.
"""

from __future__ import annotations

from collections.abc import Mapping

from council.core.agents import DRIVERS, Agent, AgentSettings
from council.core.reasons import Reason
from council.core.record import Any
from council.drivers.runs import Answer, Run, failed


def run_driver(
    driver: str, wanted: Run, agent_settings: AgentSettings, environment: Mapping[str, str]
) -> Answer:
    """Wake an agent by its driver and wait for what comes back.

    Args:
        driver: A name in `DRIVERS`; another is a failed attempt.
        wanted: The turn.
        agent_settings: What the settings say of the agent.
        environment: The variables of the caller; a run sees a part of them.
    """
    if driver not in DRIVERS:
        known = ", ".join(sorted(DRIVERS))
        return failed(Reason.of("no-driver", driver=driver, known=known), hopeless=True)
    return _module(driver).wake(wanted, agent_settings, environment)  # type: ignore[no-any-return]


def look_up(agent: Agent, root: str, environ: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Look for what the driver of an agent needs to wake it.

    Returns:
        The cause that it cannot, "" for none; what its sentence names, and as `path` the
        program that will be run, if there is one.
    """
    if agent.driver not in DRIVERS:
        return "no-driver", {"driver": agent.driver, "known": sorted(DRIVERS)}
    if not DRIVERS[agent.driver].is_tried:
        return "", {}
    wanted = agent.settings.copy(model=agent.model)
    return _module(agent.driver).look_up(wanted, root, environ)  # type: ignore[no-any-return]


def variables_of(agent: Agent) -> list[str]:
    """Return the names of the variables of the caller that decide about a run of an agent."""
    from council.drivers.programs import PRESETS

    settings = agent.settings
    preset = PRESETS.get(settings.preset if not settings.argv else settings.output)
    usual = {"openai": "OPENAI_API_KEY", "openclaw": "OPENCLAW_GATEWAY_TOKEN"}.get(agent.driver, "")
    own = settings.api_key_env or ("" if settings.base_url else usual)
    return sorted({*settings.env, *(preset.env if preset else ()), *filter(None, [own])})


def _module(driver: str) -> Any:
    return __import__(f"council.drivers.{driver}", fromlist=("",))
