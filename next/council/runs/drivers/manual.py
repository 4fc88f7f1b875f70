"""The driver that runs nothing: the prompt is put where a person finds it."""

from __future__ import annotations

import os
from datetime import datetime

from council.agents.settings import AgentSettings
from council.runs.drivers.output import Output, RunPlace


def run(
    agent: AgentSettings,
    prompt: str,
    place: RunPlace,
    *,
    seconds: float = 0,  # noqa: ARG001 - all drivers are called alike
    now: datetime | None = None,  # noqa: ARG001
    stop: object = None,  # noqa: ARG001
) -> Output:
    """Put the prompt into `memory/agents/ID/tasks/`; a file that is there stays as it is."""
    folder = f"{place.root}/memory/agents/{agent.id}/tasks"
    path = f"{folder}/{place.id}.md"
    if not os.path.lexists(path):
        os.makedirs(folder, exist_ok=True)
        beside = f"{path}.{os.getpid()}"
        with open(beside, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(prompt)
        os.replace(beside, path)
    return Output(waits=True)
