"""Takes part in a deliberation with Read and Edit alone: it never calls `council`.

    python debates_file.py FILE AGENT SAVE [FORGETS]

It follows the protocol: it speaks when it is its turn, in its own subsection of
the round under way, responds to all whose answers it can see, and sets its
status. `SAVE` says how it saves. With `FORGETS` it leaves out in that round
whom it should respond to, until it is asked once more. It prints what it did.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

OPENS, CLOSES = "\n<!--council-state\n", "\n-->"
HEADINGS = ("## Responses - Phase ", "## Réponses - Phase ")
STANCES = {1: "partial", 2: "partial", 3: "disagree", 4: "agree"}


def take_part(file: Path, agent: str, how: str, forgets: int = 0) -> str:
    """Do what is due, and return what was done."""
    text = file.read_text(encoding="utf-8")
    state = json.loads(text.split(OPENS, 1)[1].split(CLOSES, 1)[0])
    asked_again = state["participants"][agent].get("again") == state["tour"]
    if not is_due(state, agent) and not asked_again:
        return "nothing to do"
    phase, tour = state["currentPhase"], state["tour"]
    lines = text.split("\n")
    peers = seen(lines, state, agent)
    said = answer(phase, tour, agent, [] if forgets == tour and not asked_again else peers)
    at = end_of_section(lines, phase, tour, label(state, agent))
    while not lines[at - 1].strip():
        at -= 1
    after = "\n".join([*lines[:at], f"[Tour {tour}]: {said}", *lines[at:]])
    waits = f'"{agent}": {{"status": "WAITING"'
    if waits in after:
        after = after.replace(waits, waits.replace("WAITING", "RESPONDED"))
    save(file, after, how)
    return f"{phase} {tour}{' again' if asked_again else ''}"


def is_due(state: dict, agent: str) -> bool:
    """Return true if it is this agent's turn: all at once, or it has the floor."""
    mine = state["participants"][agent]
    if mine["status"] != "WAITING" or mine["sealed"]:
        return False
    if state["currentPhase"] == "SYNTHESIZE":
        return state["synthesizer"] == agent
    return state["rounds"][-1].get("speaker", agent) == agent


def seen(lines: list[str], state: dict, agent: str) -> list[str]:
    """Return whom to respond to: who stands above it in this round, or everybody in a vote."""
    others = [one for one in state["participants"] if one != agent]
    if state["currentPhase"] != "DELIBERATE":
        return others
    mark = f"tour={state['tour']} "
    spoke = [line for line in lines if line.startswith("<!--council:entry ") and mark in line]
    return [one for one in others if any(f"-{one}" in line for line in spoke)]


def answer(phase: str, tour: int, agent: str, peers: list[str]) -> str:
    if phase == "SYNTHESIZE":
        insights = "\n".join(f"- @{one}: a thought of {one}" for one in ("claude", "gpt", "glm"))
        return (
            "## Consensus Summary\nTea, with milk.\n\n## Key Insights\n"
            f"{insights}\n\n## Recommendation\nServe tea."
        )
    stances = "\n".join(f"- @{one}: {STANCES[tour]} — as I see it" for one in peers)
    if phase == "VOTE":
        return (
            f"## Final Position\nTea, says {agent}.\n\n## Confidence\n5\n\n"
            f"## Agreement with Others\n{stances}"
        )
    return (
        f"## Position\nTea in round {tour}, says {agent}.\n\n## Responses to Others\n{stances}\n\n"
        f"## Reasoning\nThe reason of {agent} in round {tour}.\n\nIt is warm.\n\n## Confidence\n4"
    )


def label(state: dict, agent: str) -> str:
    mine = state["participants"][agent]
    return f"{mine['emoji']} {mine['name'] or agent}".strip()


def end_of_section(lines: list[str], phase: str, tour: int, mine: str) -> int:
    """Return the line before which to write: the next heading that is in no one's text."""
    headings, marked = [], False
    for at, line in enumerate(lines):
        marked = not line.startswith("<!--council:end-->") and (
            marked or line.startswith(("<!--council:entry ", "<!--council:brief"))
        )
        if not marked and line.startswith(("## ", "### ")):
            headings.append(at)
    rounds = [f"{phase}, round {tour}", f"{phase}, tour {tour}", phase]
    wanted = {heading + one for heading in HEADINGS for one in rounds}
    start = next(at for at in headings if lines[at] in wanted)
    own = next(at for at in headings if at > start and lines[at] == f"### {mine}")
    return next(at for at in headings if at > own)


def save(path: Path, text: str, how: str) -> None:
    if how == "rename":
        draft = path.with_name(f".{path.name}.tmp")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
        return
    with path.open("w", encoding="utf-8") as file:
        half = len(text) // 2 if how == "two-writes" else len(text)
        file.write(text[:half])
        file.flush()
        if half < len(text):
            time.sleep(0.02)
        file.write(text[half:])


if __name__ == "__main__":
    print(take_part(Path(sys.argv[1]), *sys.argv[2:4], *map(int, sys.argv[4:])))
