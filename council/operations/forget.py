"""Forgetting: old history by age; a conversation, a channel or a context for good.

And moving old files forward, and saying which cannot be.

Source: XC-013, XC-018, `trust.md` (forgetting, over time), `cli.md` section 2 (`gc`, `purge`,
`migrate`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from council.core.errors import ConflictError, CouncilError, NotFoundError, UsageError
from council.core.protocol.protocol_ids import is_context
from council.core.record import Record
from council.core.times import render_duration
from council.operations.conversations.steer import PERSON
from council.operations.place import Place
from council.operations.reporting.board import render_board
from council.store import files, kept_answers
from council.store.conversations import closing
from council.store.conversations.closing import Archived
from council.store.conversations.filed import Filed, newest_first
from council.store.maintenance import alone
from council.store.protocol import context_pruning
from council.store.protocol.context_pruning import Over
from council.store.protocol.contexts import Contexts
from council.store.purging import channels, contexts, conversations
from council.store.purging.calls import old_ledgers
from council.store.purging.channels import Channel
from council.store.purging.contexts import Context
from council.store.purging.conversations import Conversation
from council.store.purging.subjects import Purged, Subject, begun, remove_torn
from council.store.versions import KNOWN, STEPS, Dated, dated_files

_PAGE = ".md"
_SUBJECTS = {one.kind: one for one in (Conversation, Channel, Context)}


class Collected(Record):
    """What `gc` took away, or would; `called` are the minutes of conversations, by their ids."""

    older_than: timedelta
    dry_run: bool
    conversations: list[Archived] = []
    contexts: list[Over] = []
    called: dict[str, Filed] = {}
    orphaned: list[tuple[str, int]] = []
    errors: list[tuple[str, CouncilError]] = []

    @property
    def _pruned(self) -> list[Archived | Over]:
        return [*self.conversations, *self.contexts]

    @property
    def count(self) -> int:
        """How many files."""
        return sum(one.count for one in self._pruned) + len(self.orphaned)

    @property
    def total_bytes(self) -> int:
        """How much room they took."""
        taken = sum(one.total_bytes for one in self._pruned)
        return taken + sum(size for _, size in self.orphaned)

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `gc --json`."""
        return {
            "dryRun": self.dry_run,
            "olderThan": render_duration(self.older_than),
            **self.as_json("count:files total_bytes:bytes"),
            "conversations": [
                _counted(one, "conversation_id name")
                | {"title": self.called[one.conversation_id].title}
                | one.as_json("unmerged")
                if one.conversation_id in self.called
                else _counted(one, "conversation_id name") | one.as_json("unmerged")
                for one in self.conversations
            ],
            "contexts": [_counted(one, "context closed_at") for one in self.contexts],
            "orphanedRuns": [path for path, _ in self.orphaned],
            "errors": [{"name": name, **error.to_record()} for name, error in self.errors],
        }


def _counted(one: Archived | Over, fields: str) -> dict[str, Any]:
    """Return fields of what was pruned, how many files of each kind it had, and their size."""
    files = {kind: len(found) for kind, found in one.files.items()}
    return {**one.as_json(fields), "files": files, **one.as_json("total_bytes:bytes")}


def gc(place: Place, older_than: timedelta, *, dry_run: bool = False) -> Collected:
    """Prune the conversations and contexts that ended longer ago than `older_than`.

    Journals, minutes, answers and what could not be merged stay, whatever their age.

    Raises:
        LockTimeoutError: Another process maintains the workspace already.
    """
    before = place.now() - older_than
    found = Collected(older_than=older_than, dry_run=dry_run)
    if dry_run:
        _collect(place, found, before)
        return found
    with alone(place.paths):
        _collect(place, found, before)
        found.errors += context_pruning.prune(place.paths, found.contexts)
        for path, _ in found.orphaned:
            os.unlink(path)
        remove_torn(place.paths, ())
        for subject in _SUBJECTS.values():
            for wanted in begun(place.paths, subject.kind):
                subject(place.paths, wanted).purge(place.settings.max_runs)
        for wanted in conversations.leftovers(place.paths):
            Conversation(place.paths, wanted).purge(place.settings.max_runs)
    return found


def _collect(place: Place, found: Collected, before: datetime) -> None:
    look = closing.prunable if found.dry_run else closing.prune
    for one in closing.archived(place.paths):
        if one.closed_at > before:
            continue
        try:
            seen = look(place.paths, one)
        except CouncilError as error:
            found.errors.append((one.conversation_id, error))
            continue
        if seen.count or seen.unmerged:
            found.conversations.append(seen)
    if found.conversations:
        # The oldest last: of copies of minutes the first page names its conversation.
        filed = newest_first(place.paths)[::-1]
        found.called = {one.conversation: one for one in filed if one.conversation}
    found.contexts, wrong = context_pruning.over_before(place.paths, before)
    found.errors += wrong
    contexts = Contexts(place.paths)
    orphaned = closing.orphaned_runs(place.paths, before.timestamp())
    found.orphaned = [
        *(one for one in orphaned if not _is_of_context(contexts, one[0])),
        *old_ledgers(place.paths, before.timestamp()),
    ]


def _is_of_context(contexts: Contexts, path: str) -> bool:
    owner = os.path.basename(path).partition(".")[0]
    return is_context(owner) and contexts.exists(owner)


class Doomed(Record):
    """What is about to be purged, as people know it.

    `kind` is `conversation`, `channel` or `context`. `key` is a name that means a conversation
    alone, "" where its id or file was given. `is_whole` says that what was given is a whole name,
    id or path, and no beginning or part of a title.
    """

    conversation_id: str
    topic: str
    kind: str = Conversation.kind
    key: str = ""
    ended_at: datetime | None = None
    is_whole: bool = True


def doomed(place: Place, wanted: str) -> Doomed:
    """Return what a name, an id, a file, a beginning of a name or a part of a title means.

    Raises:
        NotFoundError: There is no such thing.
        UsageError: Several conversations had that name, or it means several things.
        ConflictError: It is still open and has to be ended first.
    """
    context, _, task = wanted.partition("/")
    if is_context(context) and not wanted.endswith(_PAGE):
        if task:
            raise UsageError(
                "a task is forgotten with its context", f"for all of it: council purge {context}"
            )
        found = contexts.find(place.paths, context)
        Contexts(place.paths).refuse_open(found)
        topic = contexts.topic_of(place.paths, found)
        return Doomed(conversation_id=found, topic=topic, kind=Context.kind)
    if "/" in wanted or wanted.endswith(_PAGE):
        path = os.path.join(os.getcwd(), wanted)
        for one in (path, os.path.join(place.root, wanted)):
            channel = channels.find(place.paths, one)
            if channel:
                return _channel(place, channel)
        from council.store.conversations.filed import archived_conversation

        with suppress(NotFoundError):
            state = archived_conversation(place.paths, wanted)[0]
            return _conversation(place, state.conversation_id)
    is_channel = channels.is_there(place.paths, wanted)
    try:
        found = conversations.find(place.paths, wanted)
    except (NotFoundError, UsageError):
        if is_channel:
            return _channel(place, wanted)
        if (by_name := _called(place, wanted)) is not None:
            return by_name
        raise NotFoundError(
            f"no conversation and no channel is called {wanted!r}",
            "give a name, an id or the file of minutes: "
            "council list --archived; council channel list",
        ) from None
    if is_channel:
        page = os.path.relpath(f"{place.paths.channels}/{wanted}{_PAGE}", place.root)
        raise UsageError(
            f"a conversation and a channel are called {wanted!r}",
            f"say which: {found} for the conversation, {page} for the channel",
        )
    return _conversation(place, found)


def _called(place: Place, wanted: str) -> Doomed | None:
    """Return what a name that several had, a beginning or a part of a title means.

    Raises:
        AmbiguousError: It fits several.
    """
    from council.operations.conversations.finding import find

    found = find(place, wanted, newest=False)
    if found is None:
        return None
    one = found.candidate
    doomed = _conversation(place, one.conversation or one.name)
    return doomed.copy(key=one.key, ended_at=one.ended_at, is_whole=found.is_whole)


def _conversation(place: Place, conversation_id: str) -> Doomed:
    return Doomed(
        conversation_id=conversation_id, topic=conversations.topic_of(place.paths, conversation_id)
    )


def _channel(place: Place, channel_id: str) -> Doomed:
    from council.core.rooms.channels import TurnState
    from council.operations.rooms import rooms

    try:
        channel = rooms.channels(place).see(channel_id).channel
    except CouncilError:  # broken, or half of it has gone already
        return Doomed(conversation_id=channel_id, topic="", kind=Channel.kind)
    if channel.discussion is not None and channel.state is not TurnState.ARCHIVED:
        raise ConflictError(
            f"the discussion {channel_id} is still open",
            f"first: council discussion complete {channel_id}",
        )
    return Doomed(conversation_id=channel_id, topic=channel.topic, kind=Channel.kind)


def purge(place: Place, wanted: str, kind: str = Conversation.kind) -> Purged:
    """Remove a conversation, a channel or a context from everywhere in the workspace, for good.

    Raises:
        NotFoundError: There is nothing of it.
        ConflictError: It is open, or a run for it is under way.
        RefusedError: The engine is another role's; nothing was removed.
    """
    subject = _SUBJECTS[kind]
    _prepare(place, wanted)
    done = _alone(place, lambda: subject(place.paths, wanted).purge(place.settings.max_runs))
    if done.is_empty:
        raise NotFoundError(f"there is nothing of {wanted}", subject.hint)
    return done


def purge_entry(place: Place, one: Doomed, wanted: str, entry_id: str) -> Purged:
    """Take one contribution of a conversation out everywhere; a named hole takes its place.

    Args:
        place: The workspace.
        one: What `doomed` found.
        wanted: How it was named.
        entry_id: The contribution.

    Raises:
        UsageError: It is no conversation.
        NotFoundError: There is no such contribution.
        ConflictError: A run for the conversation is under way.
        RefusedError: The engine is another role's; nothing was taken out.
    """
    if one.kind != Conversation.kind:
        raise UsageError(
            f"{wanted} is a {one.kind}: --entry takes out a contribution of a conversation",
            f"for all of it: council purge {wanted}",
        )
    from council.store.purging.entries import purge_entry as take_out

    _prepare(place, one.conversation_id)
    return _alone(
        place,
        lambda: take_out(
            place.paths,
            one.conversation_id,
            conversations.name_of(place.paths, one.conversation_id) or wanted,
            entry_id,
            by=PERSON,
            now=place.now(),
            max_runs=place.settings.max_runs,
        ),
    )


def follow(place: Place, stream: str) -> None:
    """Take away here what was purged on another machine.

    Args:
        place: The workspace.
        stream: What the database calls a journal of it.

    Raises:
        ConflictError: A run for it is under way here.
        LockTimeoutError: Another process maintains the workspace for too long.
        CouncilError: The system refuses; repeated, it goes on.
    """
    from council.operations.engine.replica import engine_of
    from council.store.documents.stored import lock_path
    from council.store.engine.streams import CONTEXT, CONVERSATION, ROOM, kind_of

    kind, owner = kind_of(stream)
    kinds = {CONVERSATION: Conversation, ROOM: Channel, CONTEXT: Context}
    if kind not in kinds:  # it goes with one of these
        path = engine_of(place).path_of(stream)
        for one in (path, lock_path(path)):
            files.remove(one)
        return
    subject: Subject = kinds[kind](place.paths, owner)
    _alone(place, lambda: subject.purge(place.settings.max_runs, is_followed=True))


def _prepare(place: Place, owner: str) -> None:
    """Have all here that the other machines have of what is to go, and the right to purge it.

    Raises:
        ConflictError: A run for it is under way on any machine.
        RefusedError: The role of the engine may not.
        UnreachableError: The engine is not reached.
    """
    if place.engine is None:
        return
    from council.operations.engine.leases import leased_tasks
    from council.operations.engine.replica import catch_up
    from council.store.purging.shared_rows import refuse_others

    refuse_others(place.engine)
    catch_up(place)
    if any(task.startswith(f"{owner}.") for task in leased_tasks(place) or ()):
        raise ConflictError(
            "a run for this is under way", "wait until it has ended: council status"
        )


def _alone(place: Place, work: Callable[[], Purged]) -> Purged:
    """Forget something while no other process maintains the workspace; make the board anew."""
    had_board = os.path.lexists(place.paths.board)
    with alone(place.paths):
        done = work()
    kept_answers.forget(place.paths.outbox)
    if had_board:
        render_board(place, place.now())
    return done


# --- Moving old files forward, and saying which cannot be


class Verdict(Record):
    """What is to be done about one file, in words; `ok` when that is nothing, or is done.

    `moved` says that the file was brought forward, or would be.
    """

    dated: Dated
    path: str
    ok: bool
    said: str
    moved: bool

    def to_record(self) -> dict[str, Any]:
        """Return the file's part of `migrate --json`."""
        one = self.dated
        return {
            "path": self.path,
            **one.as_json("kind version:schemaVersion"),
            "knows": KNOWN[one.kind],
            "standing": one.standing,
            "said": self.said,
            "bytes": one.size_bytes,
            "bytesAfter": one.after_bytes if self.moved else one.size_bytes,
        }


def migrate(place: Place, *, dry_run: bool = False) -> list[Verdict]:
    """Bring every file forward that is of an older version, and say what becomes of each.

    Killed at any point and called again, it goes on. What a person or another command writes
    meanwhile is not touched: each file is brought over under its own lock.

    Raises:
        LockTimeoutError: The workspace is maintained already, or a file is held for too long.
        CouncilError: The system refuses.
    """
    if dry_run:
        return [_verdict(place, one, dry_run=True) for one in dated_files(place.paths)]
    with alone(place.paths):
        return [_verdict(place, one, dry_run=False) for one in list(dated_files(place.paths))]


def _verdict(place: Place, one: Dated, *, dry_run: bool) -> Verdict:
    """Bring a file forward, unless that is only asked about, and say what becomes of it."""
    known = KNOWN[one.kind]
    moved = one.standing == "older" and one.missing_step is None
    for version in range(one.version or 0, known) if moved and not dry_run else ():
        STEPS[one.kind][version](one.path)
    said = {
        "current": "nothing to do",
        "unmarked": f"says no schemaVersion and is read as {known}",
        "newer": f"is of a newer council; it is read and never written: install one that knows "
        f"schemaVersion {one.version}",
        "older": f"{'would be' if dry_run else 'was'} brought to schemaVersion {known}: "
        f"{one.size_bytes:,} bytes before, {one.after_bytes:,} after"
        if moved
        else f"this council has no step forward from schemaVersion {one.missing_step}",
        "unreadable": one.fault,
    }[one.standing]
    return Verdict(
        dated=one,
        path=os.path.relpath(one.path, place.root),
        ok=moved or one.standing in ("current", "unmarked"),
        said=said,
        moved=moved,
    )
