"""The ways to run an agent: one module a driver, each with the function `run`."""

from __future__ import annotations

from council.runs.drivers.output import Output, RunPlace
from council.runs.work import Use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from council.agents.settings import AgentSettings


def run(
    agent: AgentSettings, prompt: str, place: RunPlace, *, now: datetime, deadline: datetime,
    stop: Callable[[], bool] | None = None,
) -> Output:  # fmt: skip
    """Run an agent once by its driver and return what came of it, at the deadline at the latest.

    `stop` is asked several times a second whether the run has to end.
    """
    if agent.faults:
        return Output(code="bad-settings", words=agent.faults[0])
    place.now, place.stop = now, stop
    place.seconds = max(0.0, (deadline - now).total_seconds())
    if agent.driver == "scripted":
        from council.runs.drivers import scripted  # late: each brings what only it needs

        return scripted.run(agent, place)
    if agent.driver == "openai":
        from council.runs.drivers import openai as driver
    elif agent.driver == "command":
        from council.runs.drivers import command as driver  # type: ignore[no-redef]
    else:  # `runs.starting` puts the prompt where a person finds it
        return Output(code="bad-settings", words=f"{agent.id} answers by hand")
    output = driver.run(agent, prompt, place)
    if output.use.tokens is None and output.code not in ("missing-program", "bad-settings"):
        output.use = Use(usd=output.use.usd, estimated=(len(prompt) + len(output.text)) // 4 + 1)
    return output
