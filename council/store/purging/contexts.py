"""Forgetting one context for good, with those that it went on in or goes on from.

What is said in them goes: their documents, answers and letters, their lines of
log and events, the files of their runs, what was called in their trace, and
artifacts that nothing else refers to. Their numbers are given to no others.

Source: XC-018, PR-571, PR-644, `trust.md` (forgetting).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from council.core.errors import ConflictError, CouncilError, NotFoundError
from council.core.protocol.exchange import Exchange
from council.core.protocol.protocol_ids import is_context
from council.store import events, files, slots
from council.store.heartbeat.survey import doubt_contexts
from council.store.paths import Workspace
from council.store.protocol.contexts import Contexts
from council.store.purging.erasing import Scope, overwrite_lines
from council.store.purging.subjects import Subject, note_path, walked

_ERASED = b"- erased"
_PREVIOUS = "prev"
_LOG = "protocol/log/"


class Context(Subject):
    """A context of document 002, by its id."""

    kind = "context"
    hint = "see: council task list --all"

    def __init__(self, workspace: Workspace, name: str) -> None:
        super().__init__(workspace, name)
        self._contexts = Contexts(workspace)

    def _place(self) -> str:
        """Return the folder of the protocol."""
        return self.workspace.protocol

    def _found(self) -> Scope:
        """Return all that it went on in, and their trace if it is theirs."""
        linked: dict[str, set[str]] = {}
        for record in events.holding(self.workspace, self.name, '"context.continued"'):
            data = record.get("data")
            if isinstance(data, dict) and is_context(str(data.get("next"))):
                one, other = str(data.get("ctx")), str(data["next"])
                linked.setdefault(one, set()).add(other)
                linked.setdefault(other, set()).add(one)
        owners: list[str] = []
        ahead, traces = [self.name], []
        while ahead:
            one = ahead.pop()
            if one in owners or not is_context(one):
                continue
            owners.append(one)
            exchange = _exchange(self._contexts, one)
            ahead += sorted(linked.get(one, ()))
            if exchange is not None:
                traces.append(exchange.trace_id)
                ahead += [exchange.successor, str(exchange.values.get(_PREVIOUS, ""))]
        if not traces:  # their documents are pruned
            found = events.holding(self.workspace, self.name, f'"conversationId":"{self.name}"')
            traces = [str(one["traceId"]) for one in found]
        own = [one for one in dict.fromkeys(traces) if not self._is_shared(one, owners)]
        # A caller may have named a trace after the context, such as `--trace S1`.
        return Scope(owners=tuple(owners), traces=(*own, *owners))

    def _is_shared(self, trace: str, owners: list[str]) -> bool:
        """Return true if a trace, one a caller had, holds something besides these contexts."""
        mine = {"", *owners}
        for record in events.holding(self.workspace, trace, f'"traceId":"{trace}"'):
            if record.get("conversationId") not in mine:
                return True
        for one in (*self._contexts.ids(), *self._contexts.closed_ids()):
            exchange = None if one in mine else _exchange(self._contexts, one)
            if exchange is not None and exchange.trace_id == trace:
                return True
        return False

    def _check(self, max_runs: int) -> None:
        """Refuse while it is open, or while the supervisor of a run for it lives.

        Raises:
            ConflictError: It is, or one does.
        """
        for one in self.scope.owners:
            self._contexts.refuse_open(one)
        super()._check(max_runs)
        for path in slots.marks(self.workspace.places):
            found = slots.under_way(path)
            if found is not None and found.owner in self.scope.owners:
                raise ConflictError(
                    f"the run {found.task} is under way", "wait until it has ended: council status"
                )

    def _sources(self) -> list[str]:
        """Return the documents of the contexts."""
        return [path for one in self.scope.owners for path in self._contexts.closed_files(one)]

    def _shared(self) -> list[str]:
        """Return their journals."""
        return [f"{self._contexts.closed_folder}/{one}.jsonl" for one in self.scope.owners]

    def _locks(self) -> list[str]:
        """Return their locks."""
        return [f"{self.workspace.protocol}/.locks/{one}" for one in self.scope.owners]

    def _instead(self, log: str, line: bytes) -> bytes | None:
        """Return b"" for a line that goes, of the log of messages as well."""
        if log.startswith(_LOG) and _instead(line, self.scope) is not None:
            return b""
        return super()._instead(log, line)

    def _take_away(self) -> None:
        """Take away documents, answers and letters, and the lines of the log."""
        if os.path.isdir(self._contexts.folder):
            self._contexts.keep_numbers()
        for owner in self.scope.owners:
            for path, size in self._contexts.forget(owner):
                self.done.files.append(path)
                self.done.size_bytes += size
        for path in files.paths_in(f"{self.workspace.protocol}/log"):
            overwrite_lines(path, lambda line: _instead(line, self.scope))
        doubt_contexts(self.workspace)  # its note says what was found in them
        for path in slots.marks(self.workspace.places):
            slots.blot_mark(path, self.scope.owners)

    def _mentions(self) -> Iterable[str]:
        """Return the files that name it; logs of all say only that it was."""
        workspace = self.workspace
        names = "|".join(map(re.escape, (*self.scope.owners, *self.scope.traces)))
        word = re.compile(rf"(?<![\w.#-])(?:{names})(?![\w-])".encode())
        apart = {workspace.events, f"{workspace.protocol}/log", f"{workspace.control}/channels"}
        return (path for path in walked(workspace, apart) if word.search(files.content_of(path)))


def find(workspace: Workspace, wanted: str) -> str:
    """Return the id of a context of which something is left.

    Raises:
        NotFoundError: There is nothing of it.
    """
    contexts = Contexts(workspace)
    known = (
        contexts.exists(wanted)
        or os.path.lexists(contexts.answer_path(wanted))
        or os.path.lexists(note_path(workspace, Context.kind, wanted))
        or any(events.holding(workspace, wanted, f'"conversationId":"{wanted}"'))
    )
    if not known:
        raise NotFoundError(f"no context {wanted}", Context.hint)
    return wanted


def topic_of(workspace: Workspace, context: str) -> str:
    """Return what people know a context by: its first request, "" when nothing says."""
    exchange = _exchange(Contexts(workspace), context)
    return next((one.text for one in exchange.tasks.values()), "") if exchange else ""


def _exchange(contexts: Contexts, context: str) -> Exchange | None:
    try:
        return contexts.read(context).exchange
    except CouncilError:
        return None


def _instead(line: bytes, scope: Scope) -> tuple[bytes, bool] | None:
    words = line.split(b" ", 3)
    if len(words) < 4 or words[2][1:-1].decode("ascii", "replace") not in scope.owners:
        return None
    return _ERASED[: len(line)].ljust(len(line)), True
