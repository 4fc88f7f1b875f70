"""Taking what was delegated in the traces of a scope out of a workspace, for good.

Its ledger, its briefs, the logs of its runs and the transcripts of its
workflows go. Of files that hold other things as well, its lines are overwritten
in their place. Calls that were made for it in the trace of another one stay
in that ledger without a word of what was said, since they count there.

Source: XC-018, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from council.core.delegation.delegation import Call, Sent, Trace, workflow_session
from council.core.errors import CouncilError
from council.core.events import is_w3c
from council.core.ids import is_name
from council.store import files
from council.store.delegation import briefs
from council.store.delegation.traces import (
    delegation_folder,
    edit_sent,
    edit_trace,
    read_trace,
    trace_files,
    trace_path,
    traces,
)
from council.store.delegation.transcripts import END
from council.store.paths import Workspace
from council.store.purging.erasing import Scope, erase_events, erase_lines


def call_runs(workspace: Workspace, scope: Scope) -> list[str]:
    """Return the files of the runs that answered calls in the traces of a scope, or for it."""
    names = [*(f"call.{one}" for one in scope.traces), *scope.calls]
    return [path for one in names for path in files.paths_in(workspace.runs, f"{one}.")]


def with_calls(workspace: Workspace, scope: Scope) -> Scope:
    """Return a scope with the calls that were made for it in traces of others."""
    found = [f"call.{trace}.{one.number}" for trace, one in _lent(workspace, scope)]
    return scope.copy(calls=tuple(found))


def _lent(workspace: Workspace, scope: Scope) -> Iterator[tuple[str, Call]]:
    for trace in traces(workspace):
        if trace in scope.traces:
            continue
        calls = _calls_of(workspace, trace) or ()
        yield from ((trace, one) for one in calls if one.owner in scope.owners)


def _calls_of(workspace: Workspace, trace: str) -> list[Call] | None:
    """Return the calls in a ledger, None where it cannot be read: `doctor` names it."""
    try:
        return read_trace(workspace, trace).calls
    except CouncilError:
        return None


def ledgers_of(workspace: Workspace, scope: Scope) -> list[str]:
    """Return the ledgers of a scope, with their locks, and its briefs."""
    found = []
    for trace in scope.traces:
        found += trace_files(workspace, trace)
        # A short trace begins the names of others, too: such a brief says itself whose it is.
        own = {one.path for one in briefs.briefs(workspace, trace)}
        found += [
            path
            for path in files.paths_in(workspace.briefs, f"{trace}-")
            if path in own or is_w3c(trace)
        ]
    return found


def handed_briefs(workspace: Workspace, scope: Scope) -> list[str]:
    """Return the briefs of the calls that were made for a scope in traces of others."""
    found = (f"{workspace.briefs}/{one.brief}.json" for _, one in _lent(workspace, scope))
    return [path for path in found if os.path.lexists(path)]


def lent_ledgers(workspace: Workspace, scope: Scope) -> list[str]:
    """Return the ledgers of others in which calls for a scope stand."""
    return sorted({trace_path(workspace, trace) for trace, _ in _lent(workspace, scope)})


def forget_calls(workspace: Workspace, scope: Scope) -> list[str]:
    """Take away what was delegated in the traces of a scope; return the files.

    Raises:
        CouncilError: The system refuses; repeated, it goes on.
    """
    lent = list(_lent(workspace, scope))
    handed = handed_briefs(workspace, scope)
    scope = with_calls(workspace, scope)
    own = [*ledgers_of(workspace, scope), *call_runs(workspace, scope), *handed]
    for folder in files.paths_in(workspace.agents):
        agent = os.path.basename(folder)
        if not is_name(agent):
            continue
        workflows = {workflow_session(agent, one) + END for one in scope.traces}
        for path in files.paths_in(workspace.sessions(agent)):
            if os.path.basename(path) in workflows:
                own.append(path)
            elif path.endswith(END):
                erase_lines(path, scope)
    for path in files.paths_in(f"{workspace.protocol}/inbox"):
        if path.endswith(END):
            erase_lines(path, scope)
    if lent:
        erase_events(workspace, scope)
    for path in own:
        with files.explaining("remove", path):
            os.unlink(path)
    if os.path.isdir(delegation_folder(workspace)):
        edit_sent(workspace, lambda sent: (_without(sent, scope), None), anew=True)
    for trace in {trace for trace, _ in lent}:
        edit_trace(workspace, trace, lambda ledger: _blank(ledger, scope), anew=True)
    return own


def _blank(ledger: Trace, scope: Scope) -> None:
    """Leave of calls that they were made, and when."""
    for one in ledger.calls:
        if one.owner in scope.owners:
            one.message = one.brief = one.owner = one.task_hash = ""
            one.refs, one.result, one.expected = [], None, {}


def old_ledgers(workspace: Workspace, before_s: float) -> list[tuple[str, int]]:
    """Return the ledgers of traces in which no call is made any more, with their sizes.

    Args:
        workspace: Where.
        before_s: Only those last written before this POSIX time.
    """
    found = []
    for trace in traces(workspace):
        own = [(path, os.lstat(path)) for path in trace_files(workspace, trace)]
        if not own or own[0][1].st_mtime >= before_s:
            continue
        calls = _calls_of(workspace, trace)
        owners = {one.owner for one in calls or () if one.owner}
        is_used = any(os.path.isdir(f"{workspace.control}/{owner}") for owner in owners)
        if calls is not None and not is_used:
            found += [(path, facts.st_size) for path, facts in own]
    return found


def _without(sent: list[Sent], scope: Scope) -> list[Sent]:
    return [one for one in sent if one.trace not in scope.traces]
