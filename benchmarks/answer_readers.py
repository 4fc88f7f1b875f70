"""The readers of answers as the benchmark and the tests use them: one small function for each kind.

A kind whose reader does not exist is read as None: all of it counts as lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from jsonschema import Draft202012Validator

from council.core.reading_answers.cleaning import clean
from council.core.reading_answers.turns import missing_responses, parse_turn
from council.wire.carried import message_of
from council.wire.working import read_output

AUTHOR = "glm"
PEERS = ("claude", "gpt")
REQUEST = "M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=web_search"
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


def read_contribution(text: str) -> Heard | None:
    """Read the blockers and the status of a contribution to a council."""
    blockers_in = _reader("core.reading_answers.cleaning", "blockers_in")
    split_status = _reader("core.reading_answers.cleaning", "split_status")
    if blockers_in is None or split_status is None:
        return None
    blockers, (_, stated) = blockers_in(text), split_status(text)
    is_asked = stated == "done" or (stated == "agreed" and bool(blockers))
    status = "responded" if is_asked else stated or "responded"
    return Heard({"blockers": blockers, "status": status}, is_asked)


def read_result(text: str, schema: Any) -> Heard | None:
    """Read a result that has to have the form of a schema."""
    result_in = _reader("core.reading_answers.json_fields", "result_in")
    if result_in is None:
        return None
    found = result_in(text, Draft202012Validator(schema).is_valid)
    return Heard({}, is_asked=True) if found is None else Heard({"json": json.loads(found)})


def read_room_message(text: str) -> Heard | None:
    """Read whether a message to a room is a pass."""
    is_pass = _reader("core.reading_answers.cleaning", "is_pass")
    return None if is_pass is None else Heard({"pass": is_pass(text)})


def read_worker_line(text: str) -> Heard | None:
    """Read whether a line of a worker is understood (`read`) or refused with words (`explain`)."""
    if _reader("wire.worker_lines", "line_in") is None:
        return None
    said = read_output(text, message_of(REQUEST), worker="W1")
    if said.faulty:
        is_whole = all(one.said and one.fault and one.right for one in said.faulty)
        return Heard({"read as": "explain"} if is_whole else {})
    is_read = any(one.message.kind == "S" and one.message.task == "T1" for one in said.messages)
    return Heard({"read as": "read" if is_read else "shown as it is"})


def _reader(module: str, name: str) -> Any:
    try:
        return getattr(import_module(f"council.{module}"), name, None)
    except ModuleNotFoundError:
        return None
