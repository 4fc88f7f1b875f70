"""The heartbeat: whatever is due in any conversation is done, once.

Three steps. Look at every open conversation without a lock and without
writing; most of the time nothing is due and that is all. Otherwise, under the
heartbeat's own lock, advance what is due and claim the runs that are owed,
oldest first and as many as there are places. Then, with no lock held, start
what was claimed. A process that dies anywhere in between leaves a state from
which the next heartbeat goes on.

Source: C0-021 to C0-037, XC-007, XC-016, `architecture.md` section 3.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from council.core import machine, owed
from council.core.conversation import Conversation
from council.core.errors import CouncilError
from council.core.owed import Archive, Notify, Wake
from council.core.record import Record
from council.core.step import Step
from council.core.times import render_instant
from council.operations.place import Place
from council.store.lock import Lock
from council.store.slots import Slots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_LOOK_AGAIN_S = 0.2


class Beaten(Record):
    """What a heartbeat found and did in one conversation."""

    name: str
    conversation_id: str
    status: str
    phase: str
    tour: int
    moved_from: str = ""
    moved_to: str = ""
    reason: str = ""
    woken: list[str] = []  # noqa: RUF012 - Record copies it
    waiting: list[str] = []  # noqa: RUF012 - Record copies it
    archived: str = ""
    edited: bool = False

    def to_record(self) -> dict[str, Any]:
        """Return the conversation's part of `heartbeat --json`."""
        moved = {"from": self.moved_from, "to": self.moved_to, "reason": self.reason}
        return {
            "name": self.name,
            "conversationId": self.conversation_id,
            "status": self.status,
            "phase": self.phase,
            "tour": self.tour,
            "transition": moved if self.moved_to else None,
            "woken": self.woken,
            "waiting": self.waiting,
            "archived": self.archived or None,
        }

    def to_text(self) -> str:
        """Return the line that tells a person what was found and done."""
        said = [f"{self.phase} (round {self.tour})"]
        if self.moved_to:
            said = [f"{self.moved_from} → {self.moved_to} ({self.reason})"]
        if self.woken:
            said.append(f"woke {', '.join(self.woken)}")
        waiting = [agent for agent in self.waiting if agent not in self.woken]
        if waiting:
            said.append(f"waiting for {', '.join(waiting)}")
        if self.archived:
            said.append(f"minutes in {self.archived}")
        return f"{self.name}: " + "; ".join(said)

    @property
    def changed(self) -> bool:
        """Whether the heartbeat did anything here."""
        return bool(self.moved_to or self.woken or self.archived or self.edited)


class Report(Record):
    """What one heartbeat found and did."""

    now: datetime
    conversations: list[Beaten] = []  # noqa: RUF012 - Record copies it
    errors: list[tuple[str, CouncilError]] = []  # noqa: RUF012 - Record copies it

    @property
    def changed(self) -> bool:
        """Whether anything was done."""
        return any(one.changed for one in self.conversations)

    def take_over(self, later: Report) -> None:
        """Add what a later heartbeat did to this report."""
        known = {one.name: one for one in self.conversations}
        for seen in later.conversations:
            before = known.get(seen.name)
            if before is None:
                self.conversations.append(seen)
                continue
            seen.woken = before.woken + seen.woken
            seen.edited = before.edited or seen.edited
            seen.moved_from = before.moved_from or seen.moved_from
            seen.moved_to = seen.moved_to or before.moved_to
            seen.reason = seen.reason or before.reason
            self.conversations[self.conversations.index(before)] = seen
        self.errors = later.errors

    def to_record(self) -> dict[str, Any]:
        """Return the JSON object of `heartbeat --json`."""
        return {
            "now": render_instant(self.now),
            "conversations": [one.to_record() for one in self.conversations],
            "channels": [],
            "tasks": [],
            "changed": self.changed,
            "errors": [{"name": name, **error.to_record()} for name, error in self.errors],
        }

    def to_text(self) -> str:
        """Return one line for each conversation, for people."""
        return "\n".join(one.to_text() for one in self.conversations)


def beat(place: Place, only: str = "", *, dry_run: bool = False) -> Report:
    """Advance what is due, wake who is owed a start, archive what is finished.

    Args:
        place: The workspace.
        only: Serve just this conversation; "" serves all.
        dry_run: Say what would be done and do nothing.
    """
    now = place.now()
    report = Report(now=now)
    names = [only] if only else place.conversations.names()
    busy = []
    for name in names:
        try:
            seen, due = _look(place, name, now)
        except CouncilError as error:
            if only:
                raise
            report.errors.append((name, error))
            continue
        report.conversations.append(seen)
        if due:
            busy.append(seen)
    if dry_run:
        return report
    if not busy:
        place.mark_beat()
        return report
    from council.operations.runs import start
    from council.operations.serving import serve

    with Lock(place.paths.heartbeat_lock):
        jobs = serve(place, busy, now, report)
    for job in jobs:
        start(place, job)
    place.mark_beat()
    return report


def _look(place: Place, name: str, now: datetime) -> tuple[Beaten, bool]:
    """Look at one conversation without writing; tell whether anything is due in it."""
    view = place.conversations.page(name, now)
    state = view.state
    step = machine.advance(state, now)
    owed = owed_by(place, step.state, now)
    seen = seen_of(name, state, step)
    wakes = [one for one in owed if isinstance(one, Wake)]
    seen.woken = [one.agent for one in wakes if one.task not in step.state.tasks]
    queued = [one for one in wakes if one.task in step.state.tasks]
    seen.edited = view.standing != "clean"
    due = bool(step.events) or len(owed) > len(queued) or seen.edited
    if queued and not due:
        slots = Slots(place.paths.places, place.settings.max_runs)
        due = slots.taken() < place.settings.max_runs and any(
            one.agent not in slots.running_agents() for one in queued
        )
    return seen, due


def seen_of(name: str, before: Conversation, step: Step) -> Beaten:
    """Return what a step did to a conversation."""
    after = step.state
    seen = Beaten(
        name=name,
        conversation_id=after.conversation_id,
        status=str(after.status),
        phase=after.phase,
        tour=after.tour,
        waiting=list(owed.owing(after)),
    )
    for event in step.events:
        if event.type == "phase.changed":
            seen.moved_from, seen.moved_to = before.phase, after.phase
            seen.reason = event.data["reason"]
    return seen


def owed_by(
    place: Place, state: Conversation, now: datetime
) -> tuple[Wake | Notify | Archive, ...]:
    """Return what a conversation owes to the world, with the pauses the settings ask for."""
    return owed.pending(state, now, backoff=place.settings.retry_backoff)


def wait(
    place: Place, only: str, longest: timedelta, tell: Callable[[str], None]
) -> tuple[Report, bool]:
    """Beat until nothing is open (or `only` is not), or the time is up.

    Args:
        place: The workspace.
        only: Wait for just this conversation; "" waits for all.
        longest: How long to wait.
        tell: Takes a line for people whenever something was done.

    Returns:
        The report of everything that was done, and whether the time ran out.
    """
    ends_at = time.monotonic() + longest.total_seconds()
    whole = Report(now=place.now())
    while True:
        report = beat(place, only)
        for seen in report.conversations:
            if seen.changed:
                tell(seen.to_text())
        whole.take_over(report)
        names = place.conversations.names()
        still_open = only in names if only else bool(names)
        if not still_open or time.monotonic() >= ends_at:
            return whole, still_open
        time.sleep(min(_LOOK_AGAIN_S, max(0.0, ends_at - time.monotonic())))
