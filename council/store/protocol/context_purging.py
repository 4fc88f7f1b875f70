"""Forgetting one context for good, with those that it went on in or goes on from.

What is said in them goes: their documents, answers and letters, their lines of
log and events, the files of their runs, what was called in their trace, and
artifacts that nothing else refers to. Their numbers are given to no others.

Source: XC-018, PR-571, PR-644, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
import re

from council.core.errors import ConflictError, CouncilError, NotFoundError
from council.core.protocol.protocol_ids import is_context
from council.store import events, files, forgetting, slots
from council.store.conversations.erasing import overwrite_lines
from council.store.conversations.purging import Purged, refuse_running, walked
from council.store.forgetting import CONTEXT
from council.store.heartbeat.survey import doubt_contexts
from council.store.protocol.contexts import Contexts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from council.core.protocol.exchange import Exchange
    from council.store.conversations.erasing import Matter
    from council.store.paths import Workspace

_ERASED = b"- erased"
_PREVIOUS = "prev"


def find(workspace: Workspace, wanted: str) -> str:
    """Return the id of a context of which something is left.

    Raises:
        NotFoundError: There is nothing of it.
    """
    contexts = Contexts(workspace)
    known = (
        contexts.exists(wanted)
        or os.path.lexists(contexts.answer_path(wanted))
        or os.path.lexists(forgetting.note_path(workspace, CONTEXT, wanted))
        or any(_events_naming(workspace, wanted, f'"conversationId":"{wanted}"'))
    )
    if not known:
        raise NotFoundError(f"no context {wanted}", "see: council task list --all")
    return wanted


def topic_of(workspace: Workspace, context: str) -> str:
    """Return what people know a context by: its first request, "" when nothing says."""
    exchange = _exchange(Contexts(workspace), context)
    return next((one.text for one in exchange.tasks.values()), "") if exchange else ""


def purge(workspace: Workspace, context: str, max_runs: int) -> Purged:
    """Take away everything that is kept of a context. Repeatable, wherever it was cut off.

    Raises:
        ConflictError: It is open, or a run for it is under way.
        LockTimeoutError: Somebody works on it for too long.
        CouncilError: The system refuses; repeated, it goes on.
    """
    contexts = Contexts(workspace)
    doom = forgetting.read_note(workspace, CONTEXT, context)
    matter = doom.matter if doom is not None else _matter_of(workspace, contexts, context)
    for one in matter.owners:
        contexts.refuse_open(one)
    refuse_running(workspace, matter, max_runs)
    _refuse_marked(workspace, matter)
    done = Purged(conversation_id=context, begun=doom is not None)
    with files.explaining("purge", workspace.protocol):
        if os.path.isdir(contexts.folder):
            contexts.keep_numbers()
        if doom is None:
            sources = [path for one in matter.owners for path in contexts.closed_files(one)]
            doom = forgetting.write_note(workspace, CONTEXT, context, matter, sources)
        for path, size in (gone for one in matter.owners for gone in contexts.forget(one)):
            done.files.append(path)
            done.size_bytes += size
        for path in files.paths_in(f"{workspace.protocol}/log"):
            overwrite_lines(path, lambda line: _instead(line, matter))
        doubt_contexts(workspace)  # its note tells of what was found in them
        for path in _marks(workspace):
            slots.blot_mark(path, matter.owners)
        forgetting.sweep(workspace, doom, done)
        forgetting.end_note(workspace, CONTEXT, context)
    done.left = sorted(_mentions(workspace, matter))
    return done


def _matter_of(workspace: Workspace, contexts: Contexts, context: str) -> Matter:
    """Return what goes with a context: all that it went on in, and their trace if it is theirs."""
    linked: dict[str, set[str]] = {}
    for record in _events_naming(workspace, context, '"context.continued"'):
        data = record.get("data")
        if isinstance(data, dict) and is_context(str(data.get("next"))):
            _link(linked, str(data.get("ctx")), str(data["next"]))
    owners: list[str] = []
    ahead, traces = [context], []
    while ahead:
        one = ahead.pop()
        if one in owners or not is_context(one):
            continue
        owners.append(one)
        exchange = _exchange(contexts, one)
        ahead += sorted(linked.get(one, ()))
        if exchange is not None:
            traces.append(exchange.trace_id)
            ahead += [exchange.successor, str(exchange.values.get(_PREVIOUS, ""))]
    if not traces:  # their documents are pruned
        wanted = f'"conversationId":"{context}"'
        traces = [str(one["traceId"]) for one in _events_naming(workspace, context, wanted)]
    own = [one for one in dict.fromkeys(traces) if not _is_shared(workspace, contexts, one, owners)]
    # Somebody may have named a trace after the context, such as `--trace S1`.
    return forgetting.matter(owners, [*own, *owners])


def _link(linked: dict[str, set[str]], one: str, other: str) -> None:
    linked.setdefault(one, set()).add(other)
    linked.setdefault(other, set()).add(one)


def _is_shared(workspace: Workspace, contexts: Contexts, trace: str, owners: list[str]) -> bool:
    """Tell whether a trace, one a caller had, holds something besides these contexts."""
    mine = {"", *owners}
    for record in _events_naming(workspace, trace, f'"traceId":"{trace}"'):
        if record.get("conversationId") not in mine:
            return True
    for one in (*contexts.ids(), *contexts.closed_ids()):
        exchange = None if one in mine else _exchange(contexts, one)
        if exchange is not None and exchange.trace_id == trace:
            return True
    return False


def _events_naming(workspace: Workspace, name: str, words: str) -> Iterator[dict[str, Any]]:
    """Yield the events that hold a name and some words of JSON."""
    needles = (name.encode(), words.encode())
    for day in events.days(workspace):
        lines, _ = events.lines_from(f"{workspace.events}/{day}", 0)
        for line in lines:
            record = events.parsed(line) if all(one in line for one in needles) else None
            if record is not None:
                yield record


def _exchange(contexts: Contexts, context: str) -> Exchange | None:
    try:
        return contexts.read(context).exchange
    except CouncilError:
        return None


def _refuse_marked(workspace: Workspace, matter: Matter) -> None:
    """Refuse while the supervisor of a run for it lives.

    Raises:
        ConflictError: One does.
    """
    for path in _marks(workspace):
        found = slots.under_way(path)
        if found is not None and found.owner in matter.owners:
            raise ConflictError(
                f"the run {found.task} is under way", "wait until it has ended: council status"
            )


def _marks(workspace: Workspace) -> list[str]:
    return files.paths_in(workspace.places, os.path.basename(slots.mark_path("", "")))


def _instead(line: bytes, matter: Matter) -> tuple[bytes, bool] | None:
    words = line.split(b" ", 3)
    if len(words) < 4 or words[2][1:-1].decode("ascii", "replace") not in matter.owners:
        return None
    return _ERASED[: len(line)].ljust(len(line)), True


def _mentions(workspace: Workspace, matter: Matter) -> list[str]:
    """Return the files that others wrote and that name it; logs of all say only that it was."""
    names = "|".join(map(re.escape, (*matter.owners, *matter.traces)))
    word = re.compile(rf"(?<![\w.#-])(?:{names})(?![\w-])".encode())
    apart = {workspace.events, f"{workspace.protocol}/log", f"{workspace.control}/channels"}
    return [path for path in walked(workspace, apart) if word.search(files.content_of(path))]
