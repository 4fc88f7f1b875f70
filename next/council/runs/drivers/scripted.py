"""The driver that reads its answers from a file, for the demo, rehearsals and tests.

The file is Markdown. A heading names whose answer follows and when it is due; the answer is
everything up to the next such heading::

    ## henry COLLECT
    Build it, small and soon.

    ## sage 3 done after 2s
    I have nothing to add.

When it is due is a phase or the number of a round; a number counts before a phase. `*` is
everybody. A status (`agreed`) is that of the answer; `after` delays it. Of several answers under
the same heading the first one counts.
"""

from __future__ import annotations

import os
import time

from council.agents.settings import AgentSettings
from council.kernel import times
from council.kernel.errors import Refusal
from council.runs.drivers.output import Output, RunPlace

STATUSES = ("responded", "agreed", "done")


def run(agent: AgentSettings, _prompt: str, place: RunPlace) -> Output:
    """Return the answer that the agent's file has for this turn."""
    path = os.path.join(place.root, agent.answers or f"memory/agents/{agent.id}/answers.md")
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            rows = script(file.read(16 << 20))
    except OSError as error:
        return Output(code="bad-settings", words=f"{path}: {error.strerror}")
    for due in (str(place.tour), place.phase):
        for who in (agent.id, "*"):
            fits = [row for row in rows if row[:2] == (who, due)]
            if fits:
                _, _, status, after, text = fits[0]
                time.sleep(min(after, place.seconds))
                if after >= place.seconds:
                    return Output(code="timed-out", words=f"no answer within {place.seconds:g}s")
                return Output(text=text, status=status)
    return Output(code="no-answer", words="its file has no answer for this turn")


def script(text: str) -> list[tuple[str, str, str, float, str]]:
    """Return the answers of a file: agent, when due, status, delay in seconds, text."""
    rows: list[tuple[str, str, str, float, list[str]]] = []
    for line in text.splitlines():
        head = _heading(line)
        if head is not None:
            rows.append((*head, []))
        elif rows:
            rows[-1][4].append(line)
    return [(*row[:4], "\n".join(row[4]).strip()) for row in rows]


def _heading(line: str) -> tuple[str, str, str, float] | None:
    """Return agent, when due, status and delay that a heading names; None for other lines."""
    words = line.split()
    if len(words) < 3 or words[0] != "##" or not (words[2].isdigit() or words[2].isupper()):
        return None
    status, after, rest = "", 0.0, words[3:]
    if rest and rest[0] in STATUSES:
        status = rest.pop(0).upper()
    if len(rest) == 2 and rest[0] == "after":
        try:
            after = times.duration(rest[1]).total_seconds()
        except Refusal:
            return None
        rest = []
    return None if rest else (words[1], words[2], status, after)
