"""Forgetting: old history by age, one conversation for good.

Source: XC-018, `trust.md` (forgetting), `cli.md` section 2 (`gc`, `purge`).
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from council.core.errors import CouncilError, NotFoundError
from council.core.protocol.context_ids import is_context
from council.core.record import Record
from council.core.times import render_duration, render_instant
from council.operations.place import Place
from council.operations.telling.board import render_board
from council.store import files
from council.store.conversations import pruning, purging
from council.store.conversations.pruning import Prunable
from council.store.conversations.purging import Purged
from council.store.delegation import forgotten_calls
from council.store.maintenance import alone
from council.store.protocol import context_pruning
from council.store.protocol.context_pruning import Over
from council.store.protocol.contexts import Contexts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Collected(Record):
    """What `gc` took away, or would."""

    older_than: timedelta
    dry_run: bool
    conversations: list[Prunable]
    contexts: list[Over] = []  # noqa: RUF012 - Record copies it
    orphaned: list[tuple[str, int]]
    errors: list[tuple[str, CouncilError]]

    @property
    def count(self) -> int:
        """How many files."""
        known = sum(one.count for one in self.conversations)
        return known + sum(one.count for one in self.contexts) + len(self.orphaned)

    @property
    def total_bytes(self) -> int:
        """How much room they took."""
        taken = sum(one.total_bytes for one in self.conversations)
        taken += sum(one.total_bytes for one in self.contexts)
        return taken + sum(size for _, size in self.orphaned)

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `gc --json`."""
        return {
            "dryRun": self.dry_run,
            "olderThan": render_duration(self.older_than),
            "files": self.count,
            "bytes": self.total_bytes,
            "conversations": [
                {
                    "conversationId": one.conversation_id,
                    "name": one.name,
                    "files": {kind: len(found) for kind, found in one.files.items()},
                    "bytes": one.total_bytes,
                    "unmerged": one.unmerged,
                }
                for one in self.conversations
            ],
            "contexts": [
                {
                    "context": one.context,
                    "closedAt": render_instant(one.closed_at),
                    "files": {kind: len(found) for kind, found in one.files.items()},
                    "bytes": one.total_bytes,
                }
                for one in self.contexts
            ],
            "orphanedRuns": [path for path, _ in self.orphaned],
            "errors": [{"name": name, **error.to_record()} for name, error in self.errors],
        }


def gc(place: Place, older_than: timedelta, *, dry_run: bool = False) -> Collected:
    """Prune the conversations and contexts that ended longer ago than `older_than`.

    Journals, minutes, answers and what could not be merged stay, whatever their age.

    Raises:
        LockTimeoutError: Somebody maintains the workspace already.
    """
    before = place.now() - older_than
    found = Collected(
        older_than=older_than, dry_run=dry_run, conversations=[], orphaned=[], errors=[]
    )
    if dry_run:
        _collect(place, found, before)
        return found
    with alone(place.paths):
        _collect(place, found, before)
        found.errors += context_pruning.prune(place.paths, found.contexts)
        for path, _ in found.orphaned:
            os.unlink(path)
        for folder in purging.leftovers(place.paths):
            wanted = os.path.basename(folder).removeprefix(purging.SET_ASIDE)
            purging.purge(place.paths, wanted, place.settings.max_runs)
    return found


def _collect(place: Place, found: Collected, before: datetime) -> None:
    look = pruning.prunable if found.dry_run else pruning.prune
    for one in pruning.archived(place.paths):
        if one.closed_at > before:
            continue
        try:
            seen = look(place.paths, one)
        except CouncilError as error:
            found.errors.append((one.conversation_id, error))
            continue
        if seen.count or seen.unmerged:
            found.conversations.append(seen)
    found.contexts, wrong = context_pruning.over_before(place.paths, before)
    found.errors += wrong
    contexts = Contexts(place.paths)
    orphaned = pruning.orphaned_runs(place.paths, before.timestamp())
    found.orphaned = [
        *(one for one in orphaned if not _is_of_context(contexts, one[0])),
        *forgotten_calls.old_ledgers(place.paths, before.timestamp()),
    ]


def _is_of_context(contexts: Contexts, path: str) -> bool:
    owner = os.path.basename(path).partition(".")[0]
    return is_context(owner) and contexts.exists(owner)


class Doomed(Record):
    """A conversation that is about to be purged, as people know it."""

    conversation_id: str
    topic: str


def doomed(place: Place, wanted: str) -> Doomed:
    """Return which conversation a name, an id or the file of minutes means.

    Raises:
        NotFoundError: There is none.
        UsageError: Several archived ones had that name.
    """
    if "/" in wanted or wanted.endswith(".md"):
        from council.store.minutes.minutes_folder import archived_conversation

        conversation_id = archived_conversation(place.paths, wanted)[0].conversation_id
    else:
        conversation_id = purging.find(place.paths, wanted)
    return Doomed(
        conversation_id=conversation_id, topic=purging.topic_of(place.paths, conversation_id)
    )


def purge(place: Place, conversation_id: str) -> Purged:
    """Remove a conversation from everywhere in the workspace, for good.

    Raises:
        NotFoundError: There is nothing of it.
        ConflictError: A run for it is under way.
    """
    with alone(place.paths):
        done = purging.purge(place.paths, conversation_id, place.settings.max_runs)
    if os.path.lexists(place.paths.board):
        files.remove(place.paths.board)  # no time stamp vouches for one that names what is gone
        render_board(place, place.now())
    if done.is_empty:
        raise NotFoundError(
            f"there is nothing of {conversation_id}", "see: council list --archived"
        )
    return done
