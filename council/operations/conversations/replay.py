"""The revisions of a conversation that can be seen, each with its text.

A revision whose text the journal still has is shown as it was. One whose text was pruned, by
archiving, `gc` or `purge`, is rebuilt from the contributions and the events of the journal
(`core.conversations.replaying`). A revision that cannot be rebuilt either is not offered.

An ended conversation without a journal is replayed from its minutes alone: one revision for the
opening, one for each contribution, one for the end.

Source: FW-012, C0-078, `cli.md` section 2 (`history`, `diff`, `show`).
"""

from __future__ import annotations

from council.core.conversations.conversation import Conversation
from council.core.conversations.replaying import Moment, Replay
from council.core.errors import CouncilError, InvalidInputError, NotFoundError
from council.core.record import Any
from council.core.times import parse_instant, render_instant
from council.operations.conversations.recalling import Recalled, recall
from council.operations.place import Place
from council.store.conversations.views import Revision
from council.store.statefile import statefile

_NO_JOURNAL = "no journal"


class Replayed:
    """A conversation with its revisions.

    Attributes:
        state: The conversation as it is now, None where only its journal is left.
        known: How the store knows it: its name while it is open, then its id.
        revisions: Those that can be seen, oldest first.
        missing: How many revisions the journal names and nothing shows any more.
    """

    def __init__(
        self, place: Place, known: str, revisions: list[Revision], found: Recalled | None
    ) -> None:
        self._place = place
        self.known = known
        self.state = found.state if found else None
        self._replay = None
        if found is not None:
            self._replay = Replay(found.state, [_moment(one) for one in revisions])
            if not revisions:
                revisions = [_made_up(one) for one in self._replay.moments]
        self.revisions = [one for one in revisions if self._can_show(one)]
        self.missing = len(revisions) - len(self.revisions)

    def _can_show(self, one: Revision) -> bool:
        return not one.hole or (self._replay is not None and self._replay.can_show(one.rev))

    def revision(self, rev: int) -> Revision:
        """Return one of the revisions.

        Raises:
            NotFoundError: There is none of that number, or it cannot be seen any more.
        """
        for one in self.revisions:
            if one.rev == rev:
                return one
        name = self.state.name if self.state is not None else self.known
        numbers = [one.rev for one in self.revisions]
        offered = f"they go from {numbers[0]} to {numbers[-1]}; " if numbers else ""
        raise NotFoundError(
            f"{name} has no revision {rev} that can be shown", f"{offered}see: council history"
        )

    def text_at(self, rev: int) -> str:
        """Return the file of the conversation as it was at a revision; with a `hole`, rebuilt.

        Raises:
            NotFoundError: There is no such revision, or it cannot be seen any more.
            InvalidStateError: The journal is damaged.
            RefusedError: It names who said what, which is hidden.
        """
        if not self.revision(rev).hole:
            return self._place.conversations.text_at(self.known, rev)
        if self.state is not None and self.state.finished_at is None:
            self._place.conversations.refuse_veiled(self.known)
        return statefile.render(self.state_at(rev))

    def state_at(self, rev: int) -> Conversation:
        """Return the conversation as it was at a revision.

        Raises:
            CouncilError: As for `text_at`.
        """
        if not self.revision(rev).hole:
            return statefile.load(self.text_at(rev), f"revision {rev}")[0]
        assert self._replay is not None  # a hole is offered where it can be rebuilt
        return self._replay.state_at(rev)

    def recalled_at(self, rev: int) -> Recalled:
        """Return the conversation as it was at a revision, to be shown like any other.

        Raises:
            CouncilError: As for `text_at`.
        """
        path = self._place.paths.conversation_file(self.state.name) if self.state else ""
        state, text = self.state_at(rev), self.text_at(rev)
        return Recalled(state=state, path=path, archived=False, text=text)

    def contributions_of(self, rev: int) -> list[str]:
        """Return the ids of the texts that were given in a revision, sealed ones included."""
        return [one.id for one in self._replay.answers_of(rev)] if self._replay else []


def replayed(place: Place, wanted: str) -> Replayed:
    """Return a conversation, open or ended, with the revisions of it that can be seen.

    Args:
        place: The workspace.
        wanted: As for `recall`.

    Raises:
        NotFoundError: There is no such conversation, and no journal of it.
    """
    store, found = place.conversations, None
    error: CouncilError | None = None
    try:
        found = recall(place, wanted)
        known = found.state.conversation_id if found.archived else found.state.name
    except CouncilError as problem:  # its journal can still be read
        known, error = wanted, problem
    try:
        revisions = store.history(known)
    except (NotFoundError, InvalidInputError):
        if error is not None:
            raise error from None
        if found is None or not found.archived:
            raise
        revisions = []
    return Replayed(place, known, revisions, found)


def _moment(one: Revision) -> Moment:
    return Moment(
        rev=one.rev, at=parse_instant(one.at), phase=one.phase, tour=one.tour, events=one.events
    )


def _made_up(one: Moment) -> Revision:
    """Return a revision of a conversation that has no journal."""
    events: list[dict[str, Any]] = [
        {"eventId": "", "at": render_instant(one.at), **event} for event in one.events
    ]
    speakers = [str(event["agentId"]) for event in events if event["agentId"]]
    return Revision(
        seq=one.rev,
        rev=one.rev,
        at=render_instant(one.at),
        actor=speakers[0] if speakers else "",
        op_id="",
        phase=one.phase,
        tour=one.tour,
        outcome="",
        digest="",
        hole=_NO_JOURNAL,
        events=events,
    )
