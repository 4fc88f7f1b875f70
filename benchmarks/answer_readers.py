"""The readers of answers as the benchmark and the tests use them: one small function for each kind.

A kind whose reader does not exist reads nothing: all of it counts as lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from council.core.deliberation.turns import missing_responses, parse_turn
from council.core.reading_answers.cleaning import clean
from council.operations.delegation.expected_results import mismatch

AUTHOR = "glm"
PEERS = ("claude", "gpt")
NAMES = {name: name for name in (*PEERS, AUTHOR)}


@dataclass(frozen=True)
class Heard:
    """What was read in an answer: its parts, and whether its author is asked again.

    A part that was not read is absent; `None` stands in none.
    """

    parts: dict[str, Any]
    is_asked: bool = False


def read_turn(text: str, *, vote: bool = False) -> Heard:
    """Read a turn, or a vote, of `AUTHOR` among `PEERS`."""
    turn = parse_turn(clean(text), NAMES, author=AUTHOR, vote=vote)
    parts: dict[str, Any] = {"position": turn.position, "confidence": turn.confidence}
    for agent in {*PEERS, *(one.agent for one in turn.responses)}:
        parts[f"@{agent}"] = turn.stance_to(agent)
    faults = [*turn.faults, *missing_responses(turn, PEERS)]
    return Heard({name: part for name, part in parts.items() if part}, bool(faults))


def read_vote(text: str) -> Heard:
    """Read a vote of `AUTHOR` about `PEERS`."""
    return read_turn(text, vote=True)


def read_contribution(text: str) -> Heard:
    """Read the blockers and the status of a contribution to a council."""
    blockers_in = _reader("contributions", "blockers_in")
    split_status = _reader("contributions", "split_status")
    if blockers_in is None or split_status is None:
        return Heard({})
    blockers = list(blockers_in(clean(text)))
    stated = str(split_status(clean(text))[1]).lower()
    is_agreed = stated == "agreed" and not blockers
    asked = stated == "done" or (stated == "agreed" and bool(blockers))
    return Heard({"blockers": blockers, "status": "agreed" if is_agreed else "responded"}, asked)


def read_result(text: str, schema: Any) -> Heard:
    """Read a result that has to have the form of a schema."""
    find = _reader("results", "find_result")
    if find is None:
        return Heard({}, is_asked=True)
    import json

    found = find(clean(text), lambda value: not mismatch(json.dumps(value), schema))
    return Heard({} if found is None else {"json": found}, found is None)


def read_room_message(text: str) -> Heard:
    """Read whether a message to a room is a pass."""
    is_pass = _reader("passes", "is_pass")
    return Heard({} if is_pass is None else {"pass": bool(is_pass(text))})


def read_worker_line(text: str) -> Heard:
    """Read whether a line of a worker is understood (`read`) or refused with words (`explain`)."""
    del text
    return Heard({})


def _reader(module: str, name: str) -> Any:
    try:
        return getattr(import_module(f"council.core.reading_answers.{module}"), name, None)
    except ModuleNotFoundError:
        return None
