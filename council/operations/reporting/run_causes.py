"""What is in the way of a run, or of what it answers: why it failed, what it waits for.

Each cause is added to an explanation. Nothing is changed.

Source: `trust.md` (bounds), `cli.md` section 2 (`explain`).
"""

from __future__ import annotations

import os
import shutil
import time

from council.core import bounds
from council.core.bounds import NOT_STARTED
from council.core.errors import CouncilError
from council.core.times import parse_instant, render_duration
from council.operations.place import Place
from council.operations.reporting.explained import Explained
from council.operations.reporting.run_logs import RunLog
from council.store.events import tail
from council.store.slots import Slots
from council.store.tally import read_tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any

_HELD_LONG_S = 60

# How the reasons of failed runs begin, and which sentence tells of them.
_BEGINNINGS = (
    ("not found: ", "no-program"),
    ("not executable: ", "no-right"),
    ("timed out", "too-slow"),
    ("lost", "lost"),
    ("no answer", "no-answer"),
    ("no such folder: ", "no-folder"),
    ("the prompt template ", "template"),
    ("answer longer than ", "too-long"),
    ("exit ", "exit"),
    ("ended by ", "exit"),
)

# What had no program or folder to run, and whether there is one now.
_ABSENT: dict[str, Callable[[str], object]] = {
    "no-program": shutil.which,
    "no-right": shutil.which,
    "no-folder": os.path.isdir,
}


def of_cap(place: Place, found: Explained, owner: str) -> None:
    """Add the cap on runs or tokens of one council that is reached.

    Daily caps, and agents that rest, are causes of the whole workspace.
    """
    limits = place.settings.limits
    own = {
        one: limits[one] for one in bounds.CAPS if one.endswith("_per_council") and one in limits
    }
    if own:
        cap = bounds.reached(read_tally(place.paths), own, owner, place.now())
        if cap is not None:
            found.hinder("cap", cap=f"{cap[0]} = {cap[1]}")


def of_failure(
    found: Explained, agent: str, reason: str, log: RunLog, *, by_tool: bool = False
) -> None:
    """Add why a run failed, by the words of whoever ran it.

    `by_tool` says that its answer is not what it prints.
    """
    if reason.startswith(NOT_STARTED):
        return  # a bound: said as it stands now
    known = (one for one in _BEGINNINGS if reason.startswith(one[0]))
    beginning, kind = next(known, ("", "attempt-failed"))
    if kind == "no-answer" and by_tool:
        kind = "no-answer-tool"
    output = log.output[-1] if log.output else ""
    program = reason.removeprefix(beginning) if beginning.endswith(": ") else ""
    if kind in _ABSENT and _ABSENT[kind](program):
        kind = "attempt-failed"  # it is there again, and is tried in the next round
    found.hinder(kind, agent, reason=reason, program=program, output=output, log=log.path)


def of_places(place: Place, found: Explained, agent: str, **told: str) -> None:
    """Add who takes the places that a run waits for; `told` goes with it."""
    slots = Slots(place.paths.places, place.settings.max_runs)
    running = slots.running_agents()
    where = {} if found.brief else _runs_of(place, running)
    if slots.taken() >= slots.max_runs:
        runs = [where.get(one, one) for one in running]
        found.hinder("no-place", places=slots.max_runs, runs=runs, **told)
    elif agent in running:
        found.hinder("busy", agent, runs=where.get(agent, ""), **told)


def of_lock(found: Explained, lock: str, code: str = "locked") -> None:
    """Add who holds a lock just now; one that is held for long is something to look into."""
    from council.store.lock import holder_of
    from council.store.slots import is_held

    if os.path.exists(lock) and is_held(lock):
        # Whoever takes it writes its name there, by the clock of the machine.
        if time.time() - os.stat(lock).st_mtime > _HELD_LONG_S:
            code = "lock-stuck"
        found.hinder(code, holder=holder_of(lock) or "?")


def of_refusals(place: Place, found: Explained, owner: str, asked: dict[str, datetime]) -> None:
    """Add why the last answer of an agent that still owes one was not taken.

    Args:
        place: The workspace.
        found: Takes what is found.
        owner: The conversation.
        asked: The agents that owe an answer, and since when.
    """
    if found.brief:
        return
    refused: dict[str, str] = {}
    for event in tail(place.paths):
        agent = str(event.get("agentId") or "")
        if event.get("conversationId") != owner or agent not in asked:
            continue
        if event.get("type") == "answer.refused" and _at(event) >= asked[agent].replace(
            microsecond=0
        ):
            refused[agent] = str((event.get("data") or {}).get("message") or "?")
    for agent, message in refused.items():
        found.hinder("refused", agent, message=message)


def _at(event: dict[str, Any]) -> datetime:
    from datetime import UTC, datetime

    try:
        return parse_instant(str(event.get("at")))
    except CouncilError:
        return datetime.min.replace(tzinfo=UTC)


def _runs_of(place: Place, agents: tuple[str, ...]) -> dict[str, str]:
    """Return for agents that run what for and since when, as far as the log tells."""
    found: dict[str, str] = {}
    names: dict[str, str] = {}
    for event in tail(place.paths):
        data: dict[str, Any] = event.get("data") or {}
        if event.get("type") == "conversation.opened":
            names[str(event.get("conversationId"))] = str(data.get("name"))
        agent = str(event.get("agentId") or "")
        if event.get("type") == "agent.call.start":
            agent = str(event.get("toAgentId") or "")
        elif event.get("type") not in ("task.started", "run.started"):
            continue
        if agent in agents:
            owner = str(event.get("conversationId") or event.get("traceId"))
            try:
                age = render_duration(place.now() - parse_instant(str(event.get("at"))))
            except CouncilError:
                age = "?"
            found[agent] = f"{agent} in {names.get(owner, owner)} ({age})"
    return found
