"""The driver that runs nothing: the prompt is put where a person finds it."""

from __future__ import annotations

import os

from council.agents.settings import AgentSettings, replace
from council.runs.drivers.output import Output, RunPlace


def run(agent: AgentSettings, prompt: str, place: RunPlace) -> Output:
    """Put the prompt into `memory/agents/ID/tasks/`; a file that is there stays as it is."""
    folder = f"{place.root}/memory/agents/{agent.id}/tasks"
    if not os.path.lexists(f"{folder}/{place.id}.md"):
        os.makedirs(folder, exist_ok=True)
        replace(f"{folder}/{place.id}.md", prompt.encode("utf-8", "surrogatepass"))
    return Output(waits=True)
