"""Inboxes: what was sent to whom, one file for each who receives, only ever added to.

`protocol/inbox/<receiver>.jsonl`, one letter a line. A receiver is an id of
the protocol (`W3`), an agent of the workspace, or `User`. A letter has an id of
its own; delivered twice, it stands there once.

Source: PR-304, PR-309, PR-503, PR-517, P8-012, P8-015.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

from council.core.errors import InvalidInputError
from council.core.ids import is_name
from council.core.reading import read_json
from council.core.record import Any, Record, json_form
from council.store import added_lines
from council.store.paths import Workspace, resolve_inside
from council.wire.identifiers import USER, is_agent

SCHEMA_VERSION = 1


class Letter(Record):
    """Something that was sent.

    Args:
        id: Names it for ever; the same letter delivered again has the same.
        at: The instant, as files write it.
        sender: Who sent it.
        receiver: Whom it was sent to: an id, a group, `*`, `W*` or `User`.
        text: A line in the version that the receiver speaks, or plain words.
        priority: `P0`, `P1` or `P2`.
        context: The context it belongs to, "" for none.
        task: The task it belongs to, "" for none.
        trace: The trace it belongs to, "" for none.
        refs: Artifacts that go with it.
    """

    _keys = "sender:from receiver:to context? task? trace:traceId? refs:artifactRefs"

    id: str
    at: str
    sender: str
    receiver: str
    priority: str = "P1"
    context: str = ""
    task: str = ""
    trace: str = ""
    refs: tuple[str, ...] = ()
    text: str

    def to_record(self) -> dict[str, Any]:
        """Return the letter as the JSON object of one line."""
        return {"schemaVersion": SCHEMA_VERSION, **super().to_record()}

    def to_line(self) -> bytes:
        """Return the line that stands in the inbox, without its end."""
        return json.dumps(self.to_record(), separators=(",", ":"), ensure_ascii=True).encode()


def inbox_path(workspace: Workspace, receiver: str) -> str:
    """Return the file of an inbox.

    Raises:
        InvalidInputError: No agent can have that name.
    """
    if not (receiver == USER or is_name(receiver) or is_agent(receiver)):
        raise InvalidInputError(
            f"nobody is called {receiver!r}", "name an agent, an id such as W1, or User"
        )
    return resolve_inside(os.path.join(workspace.protocol, "inbox"), f"{receiver}.jsonl")


def inbox_size(workspace: Workspace, receiver: str) -> int:
    """Return how long an inbox is: what is delivered from now on stands behind that."""
    return added_lines.size_of(inbox_path(workspace, receiver))


def deliver(
    workspace: Workspace, receiver: str, letters: Sequence[Letter], *, since: int | None = None
) -> None:
    """Put letters into an inbox; they are on the disk afterwards.

    Args:
        workspace: Where it lies.
        receiver: Whose inbox.
        letters: The letters.
        since: The size of the inbox before they may have been delivered by
            a process that died; None when none can have.

    Raises:
        CouncilError: The system refuses.
    """
    lines = [letter.to_line() for letter in letters]
    added_lines.add(inbox_path(workspace, receiver), lines, since=since, durably=True)


def read_inbox(workspace: Workspace, receivers: Iterable[str]) -> list[Letter]:
    """Return what was sent to these, oldest first, each letter once; torn lines are left out.

    Raises:
        CouncilError: The system refuses.
    """
    found: dict[str, Letter] = {}
    for receiver in receivers:
        for line in added_lines.read_lines(inbox_path(workspace, receiver)):
            with suppress(ValueError):
                letter = letter_of(read_json(line))
                found.setdefault(letter.id, letter)
    return sorted(found.values(), key=lambda one: one.at)


def letter_of(record: object) -> Letter:
    """Return the letter that a JSON object stands for.

    Raises:
        ValueError: It stands for none.
    """
    given = record if isinstance(record, dict) else {}
    said: dict[str, Any] = {
        name: given[key]
        for name, key in json_form(Letter)[0]
        if isinstance(given.get(key), str) and name != "refs"
    }
    if not {"id", "at", "sender", "receiver", "text"} <= said.keys():
        raise ValueError("this is no letter")
    refs = given.get("artifactRefs")
    return Letter(refs=tuple(map(str, refs)) if isinstance(refs, list) else (), **said)
