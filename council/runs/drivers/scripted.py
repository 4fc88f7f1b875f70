"""The driver that reads its answers from a file, for the demo, rehearsals and tests.

The file is `memory/agents/ID/answers.md`. A heading such as `## henry COLLECT` or `## sage 3 done`
names whose answer follows, when it is due and its status; the answer is all up to the next one. It
is due in a phase or in the round of a number, which counts first. `*` is everybody. Of several
answers under the same heading the first one counts.
"""

from __future__ import annotations

import re

from council.agents.settings import AgentSettings
from council.runs.drivers import Output, RunPlace

_HEADING = re.compile(r"^## (\S+) (\d+|[A-Z]+)(?: (responded|agreed|done))?[ \t]*$", re.M)


def run(agent: AgentSettings, place: RunPlace) -> Output:
    """Return the answer that the agent's file has for this turn."""
    path = f"{place.root}/memory/agents/{agent.id}/answers.md"
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            rows = script(file.read(16 << 20))
    except OSError as error:
        return Output(code="bad-settings", words=f"{path}: {error.strerror}")
    found = {row[:2]: row for row in reversed(rows)}
    for due in (place.variables.get(f"COUNCIL_{one}", "") for one in ("TOUR", "PHASE")):
        if row := found.get((agent.id, due)) or found.get(("*", due)):
            return Output(status=row[2], text=row[3])
    return Output(code="no-answer", words="its file has no answer for this turn")


def script(text: str) -> list[tuple[str, str, str, str]]:
    """Return the answers of a file: agent, when due, status, text."""
    _, *parts = _HEADING.split(text)
    rows = zip(*(parts[at::4] for at in range(4)), strict=True)
    return [(who, due, (status or "").upper(), answer.strip()) for who, due, status, answer in rows]
