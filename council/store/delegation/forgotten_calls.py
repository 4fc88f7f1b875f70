"""Taking what was delegated in the trace of a conversation out of a workspace, for good.

Its ledger, its briefs, the logs of its runs and the transcripts of its
workflows go. Of files that hold other things as well, its lines are overwritten
in their place.

Source: XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import os

from council.core.delegation.session_keys import workflow_session
from council.core.errors import CouncilError
from council.core.ids import is_name
from council.core.telling.trace_context import trace_of
from council.store import files
from council.store.conversations.erasing import erase_lines
from council.store.delegation.traces import edit_sent, read_trace, trace_path, traces
from council.store.delegation.transcripts import END

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from council.core.delegation.delegation import Sent
    from council.store.paths import Workspace


def call_runs(workspace: Workspace, conversation_id: str) -> list[str]:
    """Return the files of the runs that answered calls in the trace of a conversation."""
    return list(_listed(workspace.runs, f"call.{trace_of(conversation_id)}."))


def forget_calls(workspace: Workspace, conversation_id: str) -> list[str]:
    """Take away what was delegated in the trace of a conversation; return the files.

    Raises:
        CouncilError: The system refuses; repeated, it goes on.
    """
    trace = trace_of(conversation_id)
    ledger = trace_path(workspace, trace)
    own = [
        *(path for path in (ledger, f"{ledger}.lock") if os.path.lexists(path)),
        *_listed(workspace.briefs, f"{trace}-"),
        *call_runs(workspace, conversation_id),
    ]
    for folder in _listed(workspace.agents):
        agent = os.path.basename(folder)
        if not is_name(agent):
            continue
        workflow = workflow_session(agent, trace) + END
        for path in _listed(workspace.sessions(agent)):
            if os.path.basename(path) == workflow:
                own.append(path)
            elif path.endswith(END):
                erase_lines(path, conversation_id)
    for path in _listed(f"{workspace.protocol}/inbox"):
        if path.endswith(END):
            erase_lines(path, conversation_id)
    for path in own:
        with files.explaining("remove", path):
            os.unlink(path)
    if os.path.isdir(os.path.dirname(os.path.dirname(ledger))):
        edit_sent(workspace, lambda sent: (_without(sent, trace), None))
    return own


def old_ledgers(workspace: Workspace, before_s: float) -> list[tuple[str, int]]:
    """Return the ledgers of traces that nobody calls in any more, with their sizes.

    Args:
        workspace: Where.
        before_s: Only those last written before this POSIX time.
    """
    found = []
    for trace in traces(workspace):
        path = trace_path(workspace, trace)
        facts = os.lstat(path)
        if facts.st_mtime >= before_s:
            continue
        try:
            calls = read_trace(workspace, trace).calls
        except CouncilError:
            continue  # `doctor` names it
        owners = {one.owner for one in calls if one.owner}
        if any(os.path.isdir(f"{workspace.control}/{owner}") for owner in owners):
            continue
        lock = f"{path}.lock"
        found.append((path, facts.st_size))
        found += [(lock, 0)] if os.path.lexists(lock) else []
    return found


def _without(sent: list[Sent], trace: str) -> list[Sent]:
    return [one for one in sent if one.trace != trace]


def _listed(folder: str, prefix: str = "") -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    yield from (f"{folder}/{one}" for one in names if one.startswith(prefix))
