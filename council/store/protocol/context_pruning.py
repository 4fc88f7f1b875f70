"""What may go of contexts that are over, and taking it away.

The answer to the user stays, and so do the events, the log and the letters that
say who did what and when. What goes is the document of the context with its
messages and attempts, and the files of its runs. Its number is given to no
other one.

Source: XC-018, PR-571, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
import stat
from datetime import datetime

from council.core.errors import CouncilError, NotFoundError
from council.store import files
from council.store.conversations.closing import Files
from council.store.paths import Workspace
from council.store.protocol.contexts import Contexts


class Over(Files):
    """The files of one context that may go, by kind, with their sizes in bytes."""

    context: str
    closed_at: datetime


def over_before(
    workspace: Workspace, before: datetime
) -> tuple[list[Over], list[tuple[str, CouncilError]]]:
    """Find the contexts that ended before an instant, the oldest end first. Changes nothing.

    One that goes on in a context that is not over stays as well: runs that were
    started in it find their way by it.

    Returns:
        Them, and what is wrong with those that cannot be read, by their ids.
    """
    contexts = Contexts(workspace)
    runs = _runs_of(workspace)
    found: list[Over] = []
    wrong: list[tuple[str, CouncilError]] = []
    for context in sorted(contexts.closed_ids()):
        try:
            exchange = contexts.read(context).exchange
            ended = exchange.closed_at or exchange.updated_at
            if exchange.is_open or ended > before or _goes_on(contexts, exchange.successor):
                continue
            with files.explaining("look at", context):
                history = [(one, os.lstat(one).st_size) for one in contexts.closed_files(context)]
            its_files = {"history": history, "runs": runs.get(context, [])}
            found.append(Over(context=context, closed_at=ended, files=its_files))
        except CouncilError as error:
            wrong.append((context, error))
    return sorted(found, key=lambda one: (one.closed_at, one.context)), wrong


def prune(workspace: Workspace, found: list[Over]) -> list[tuple[str, CouncilError]]:
    """Take away what may go of contexts. Repeatable, wherever it was cut off.

    Returns:
        What kept any of them from going, by their ids.

    Raises:
        CouncilError: The system refuses.
    """
    contexts = Contexts(workspace)
    if found:
        contexts.keep_numbers()
    wrong: list[tuple[str, CouncilError]] = []
    for one in found:
        try:
            for path, _ in one.files["runs"]:
                files.remove(path)
            contexts.drop(one.context)
        except CouncilError as error:
            wrong.append((one.context, error))
    return wrong


def _goes_on(contexts: Contexts, successor: str) -> bool:
    while successor:
        try:
            exchange = contexts.read(successor).exchange
        except NotFoundError:
            return False
        if exchange.is_open:
            return True
        successor = exchange.successor
    return False


def _runs_of(workspace: Workspace) -> dict[str, list[tuple[str, int]]]:
    """Return the files of runs by what they were for."""
    found: dict[str, list[tuple[str, int]]] = {}
    with files.explaining("list", workspace.runs):
        for name in files.names_in(workspace.runs):
            path = f"{workspace.runs}/{name}"
            facts = os.lstat(path)
            if stat.S_ISREG(facts.st_mode):
                found.setdefault(name.partition(".")[0], []).append((path, facts.st_size))
    return found
