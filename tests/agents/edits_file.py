"""Takes part with Read and Edit alone: it never calls `council`, it edits the file.

It follows the six steps of the protocol. `--status` says where it sets its
status: in the state block (`json`) or in the readable line of the participants
(`line`). `--save` says how it saves: `in-place`, by `rename`, in `two-writes`
with a moment between them in which the file is cut short, or in `two-saves`,
first the text and then the status. What it says comes from its script, a file
in the form of the scripted driver. It prints what it did.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

HEADINGS = ("## Responses - Phase ", "## Réponses - Phase ")
OPENS, CLOSES = "\n<!--council-state\n", "\n-->"


def main() -> int:
    given = options()
    text = given.file.read_text(encoding="utf-8")
    state = state_of(text)
    mine = state["participants"][given.agent]
    if state["status"] == "ACTIVE" or state["currentPhase"] == "SYNTHESIZE":
        is_due = mine["status"] == "WAITING" and not mine.get("sealed")
    else:
        is_due = False
    if not is_due:
        print("nothing to do")
        return 0
    phase, tour = state["currentPhase"], state["tour"]
    said, status = script(given.script)[given.speaks_as or given.agent, phase]
    label = f"{mine['emoji']} {mine['name']}"
    with_text = inserted(text, phase, label, f"[Tour {tour}]: {said}")
    with_status = with_its_status(with_text, given, label, status)
    if given.save == "two-saves":
        given.file.write_text(with_text, encoding="utf-8")
    save(given.file, with_status, given.save)
    print(f"{phase} {tour}")
    return 0


def options() -> argparse.Namespace:
    words = argparse.ArgumentParser()
    words.add_argument("file", type=Path)
    words.add_argument("agent")
    words.add_argument("script", type=Path)
    words.add_argument("--speaks-as", default="")
    words.add_argument("--status", choices=("json", "line"), default="json")
    words.add_argument(
        "--save", choices=("in-place", "rename", "two-writes", "two-saves"), default="in-place"
    )
    return words.parse_args()


def state_of(text: str) -> dict:
    return json.loads(text.split(OPENS, 1)[1].split(CLOSES, 1)[0])


def script(path: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """Return what is said in each phase, and the status that goes with it."""
    answers: dict[tuple[str, str], list[str]] = {}
    last = ("", "")
    for part in ("\n" + path.read_text(encoding="utf-8")).split("\n## ")[1:]:
        heading, _, said = part.partition("\n")
        agent, *rest = heading.split()
        if rest and rest[0].isupper():
            last = (agent, rest[0])
            answers[last] = [said, (rest[1:] or ["responded"])[0].upper()]
        else:  # a heading inside the answer
            answers[last][0] += "\n## " + part
    return {key: (said.strip("\n"), status) for key, (said, status) in answers.items()}


def inserted(text: str, phase: str, label: str, said: str) -> str:
    """Add below what stands in the own section of the phase, found by its headings."""
    start = max(text.find(heading + phase) for heading in HEADINGS)
    assert start >= 0, f"no heading of {phase}"
    own = text.index(f"\n### {label}\n", start) + 1
    ends = [place for mark in ("\n### ", "\n## ") if (place := text.find(mark, own)) >= 0]
    end = min(ends)
    return text[:end].rstrip("\n") + f"\n{said}\n" + text[end:]


def with_its_status(text: str, given: argparse.Namespace, label: str, status: str) -> str:
    if given.status == "line":
        waiting = f"- {label} (agent:{given.agent}): "
        assert waiting + "WAITING" in text
        return text.replace(waiting + "WAITING", waiting + status, 1)
    before, rest = text.split(OPENS, 1)
    block, after = rest.split(CLOSES, 1)
    there = f'"{given.agent}": {{"status": "WAITING"'
    assert there in block
    return before + OPENS + block.replace(there, there.replace("WAITING", status)) + CLOSES + after


def save(path: Path, text: str, how: str) -> None:
    if how == "rename":
        draft = path.with_name(f".{path.name}.{os.getpid()}")
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


sys.exit(main())
